# SPDX-License-Identifier: Apache-2.0
"""The README of an exported node, from rtl/mpi_fpga/top/README.template.md."""

from __future__ import annotations

import string
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.rtl.export import core_name
from thalweg.spec import SIZE, Datatype, Operator
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.configuration import Numbers, Write, word
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective, Descriptor, Kind, NetworkHeader

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

    from thalweg.systems.mpi_fpga.rtl_engine import Pairs


def readme(root: Path, cluster: Cluster, built: Numbers, map_: AddrmapNode, pairs: Pairs | None) -> str:
    from thalweg import _core

    template = string.Template((root / "rtl/mpi_fpga/top/README.template.md").read_text())
    links = built["LinkPorts"]
    return template.substitute(
        {name: str(value) for name, value in built.values.items()},
        cluster=Path(cluster.name).stem,
        nodes=cluster.topology.nodes,
        last_link=links - 1,
        last_port=built["UnitPorts"] - 1,
        last_unit=built["Units"] - 1,
        mhz=f"{cluster.values.clock.frequency_mhz:g}",
        latency=cluster.link_latency,
        gbps=f"{built['FrameBits'] * cluster.cycles_per_second / 1e9:.1f}",
        core=core_name(cluster.name),
        reach=_core.replay_reach(built["Window"]),
        slots_mb=_megabytes(2 * links * built["BankFlits"]),
        stages_mb=_megabytes(
            2 * built["Units"] * built["Rows"] * built["Entries"] * built["StageEntries"] * built["SlotFlits"]
        ),
        combined="all listed in `packets.md`" if pairs is None else _combined(pairs),
        **_example(cluster, map_, built, pairs),
    )


def _megabytes(flits: int) -> str:
    return f"{flits * FLIT_BYTES / 1e6:.3g}"


def _combined(pairs: Pairs) -> str:
    return ", ".join(f"{op.name.lower()} of {kind.name.lower()}" for kind, ops in pairs.items() for op in ops)


def _example(cluster: Cluster, map_: AddrmapNode, built: Numbers, pairs: Pairs | None) -> dict[str, str]:
    """An allreduce by exchange: register writes of software, and the packets of a rank."""
    kind, operators = next(iter((pairs or {Datatype.FLOAT64: [Operator.SUM]}).items()))
    operator = next(iter(operators))
    collective, algorithm = Collective.ALLREDUCE, Algorithm.EXCHANGE
    words = (
        Write(
            "unit.operation.kind",
            {
                "collective": collective,
                "algorithm": algorithm,
                "operator": operator,
                "datatype": kind,
                "size": SIZE[kind].bit_length() - 1,
                "shortest": built["PacketSize"],
                "longest": built["PacketSize"],
                "asks": 1,
            },
        ),
        Write("unit.operation.root", {}),
        Write("unit.operation.streams", {"together": 1, "burst": 1}),
        Write("unit.operation.start", {"operation": 0}),
    )
    descriptor = Descriptor(
        operation=operator,
        algorithm=algorithm,
        collective=collective,
        type=kind,
        ranks=cluster.topology.hosts,
        count=1,
    )
    data = NetworkHeader(operation=operator, algorithm=algorithm, collective=collective, kind=Kind.DATA, last=True)
    lines = ["| register | address | value |", "|---|---|---|"]
    for write in words:
        address, value = word(map_, write)
        lines.append(f"| `{write.register}` | 0x{address:05x} | 0x{value:08x} |")
    packets = "".join(
        f"    {packet.hex(' ', 8)}\n" for packet in (descriptor.pack(), data.pack().ljust(FLIT_BYTES, b"\0"))
    )
    return {
        "example": f"an allreduce by exchange, {operator.name.lower()} of {kind.name.lower()}",
        "words": "\n".join(lines),
        "packets": packets,
    }
