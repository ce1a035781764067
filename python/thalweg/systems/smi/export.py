# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: a rank, with a program's endpoints, as a self-contained folder of hardware (docs/export.md)."""

from __future__ import annotations

import shutil
import string
from collections.abc import Iterator
from pathlib import Path

from thalweg.resources import find_root
from thalweg.rtl.export import compiled, core_name, into, needed, write_project, write_table
from thalweg.spec import Datatype, Operator
from thalweg.systems.smi import generate, routes, top
from thalweg.systems.smi.cluster import Cluster, Node
from thalweg.systems.smi.metadata import Operation, Program
from thalweg.systems.smi.proved import ProvedRoutes

WHAT = "rank"
TOP = f"thalweg_{WHAT}"
DATATYPES = {
    "char": Datatype.INT8,
    "short": Datatype.INT16,
    "int": Datatype.INT32,
    "float": Datatype.FLOAT32,
    "double": Datatype.FLOAT64,
}
OPERATORS = {"add": Operator.SUM, "max": Operator.MAX, "min": Operator.MIN}

_COLLECTIVE = ("broadcast", "scatter", "gather", "reduce")
_USERS = {
    "count": ("all",),
    "datatype": ("reduce",),
    "size": ("push", *_COLLECTIVE),
    "op": ("reduce",),
    "per_packet": ("push", *_COLLECTIVE),
    "window": ("push", "pop"),
    "packets": ("push",),
    "peer": ("push", "pop"),
    "root": _COLLECTIVE,
    "own": _COLLECTIVE,
    "first": _COLLECTIVE,
    "stride": _COLLECTIVE,
    "ranks": _COLLECTIVE,
    "arity": _COLLECTIVE,
    "tile": ("reduce",),
    "any_order": ("reduce",),
}
"""Kinds of endpoints that use a field of an open."""


def export(cluster: Cluster, program: Program, output: Path) -> None:
    """Writes the folder `output` atomically; it must be new or empty. Raises InputError."""
    root = find_root(alone=True)
    hardware = generate.hardware(TOP, program, cluster.node)
    into(output, lambda folder: _write(root, cluster, program, hardware, folder))


def _write(root: Path, cluster: Cluster, program: Program, hardware: str, folder: Path) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = needed(root, "smi", "tw_node")
    for path in copied:
        shutil.copy(path, rtl)
    (rtl / f"{TOP}.sv").write_text(hardware)
    write_project(root, folder, cluster.name, "smi", WHAT, compiled(copied, [], TOP), {"aclk": cluster.mhz})

    tables = folder / "tables"
    tables.mkdir()
    for name, data in ProvedRoutes(cluster, cluster.send_tables, (), cluster.proof).files().items():
        (tables / name).write_bytes(data)
    write_table(tables / "links.csv", ("rank_a", "link_a", "rank_b", "link_b"), cluster.topology.links.tolist())

    name = generate.identifier(program.name)
    (folder / f"smi_{name}.h").write_text(generate.header(name, program, cluster.node))
    (folder / "README.md").write_text(_readme(root, cluster, program))


def _readme(root: Path, cluster: Cluster, program: Program) -> str:
    """Fills rtl/smi/top/README.template.md."""
    node, name = cluster.node, generate.identifier(program.name)
    fields = top.open_fields()
    return string.Template((root / "rtl/smi/top/README.template.md").read_text()).substitute(
        cluster=Path(cluster.name).stem,
        core=core_name(cluster.name),
        program=program.name,
        name=name,
        header=f"smi_{name}.h",
        ranks=cluster.topology.nodes,
        links=node.links,
        mhz=f"{cluster.mhz:g}",
        packet_bytes=node.packet_bytes,
        endpoints="\n".join(_endpoints(program, node)),
        ports="\n".join(_ports(program.operations, node)),
        link_stride=f"0x{top.LINK_STRIDE:x}",
        receive_offset=f"0x{top.RECEIVE_OFFSET:x}",
        send_entries=routes.SEND_ENTRIES,
        receive_entries=routes.RECEIVE_ENTRIES,
        rank=f"0x{top.RANK:x}",
        strays=f"0x{top.STRAYS:x}",
        unrouted=f"0x{top.UNROUTED:x}",
        links_at=f"0x{top.LINKS:x}",
        endpoints_at=f"0x{top.ENDPOINTS:x}",
        open_bits=sum(bits for _, bits, _ in fields.values()),
        fields="\n".join(
            f"| `{field}` | {at}{f'-{at + bits - 1}' if bits > 1 else ''} | {about} | {', '.join(_USERS[field])} |"
            for field, (at, bits, about) in fields.items()
        ),
        operators=", ".join(f"{operator:d} {name}" for name, operator in OPERATORS.items()),
        children=node.children,
        tile=node.tile,
    )


def _endpoints(program: Program, node: Node) -> Iterator[str]:
    for number, of in enumerate(program.operations):
        cells = (
            number,
            of.type,
            of.port,
            of.data_type,
            number % node.links,
            f"{DATATYPES[of.data_type]:d}",
            of.size,
            node.elements_per_packet(1 << of.size),
            of.buffer_packets,
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _ports(operations: tuple[Operation, ...], node: Node) -> Iterator[str]:
    for about, ports in top.ports(operations, node).items():
        for port in ports:
            yield f"| `{port.name}` | {'out' if port.is_output else 'in'} | {port.bits} | {about} |"
            about = ""
