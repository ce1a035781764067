# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: a node of a cluster as a self-contained folder of hardware (docs/export.md).

Generated are the package of parameters, the register block, a top with flat port names, and the register contents
written by software; all other files are copied.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import extras
from thalweg.errors import InputError
from thalweg.resources import find_root
from thalweg.rtl.export import cluster_package, compiled, into, needed, write_project, write_table
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.configuration import Numbers, numbers, table, unit_writes, word
from thalweg.systems.mpi_fpga.export_readme import readme
from thalweg.systems.mpi_fpga.rtl_engine import own_bytes
from thalweg.systems.mpi_fpga.top import TOP, top_level

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

    from thalweg.systems.mpi_fpga.rtl_engine import Pairs

#: generated files of an exported node
GENERATED = ("tw_cluster_pkg", "tw_registers_pkg", "tw_registers", TOP)


def export(cluster: Cluster, output: Path, pairs: Pairs | None = None, operators: Path | None = None) -> None:
    """Writes the folder `output` atomically; it must be new or empty. Raises InputError.

    `pairs` are the operators of the collective unit's lanes, by type (None: all). `operators` is a folder with
    user-defined operators.
    """
    root = find_root(alone=True)
    own = _own(pairs, operators)
    built = numbers(cluster, pairs)
    into(output, lambda folder: _write(root, cluster, built, folder, pairs, own))


def _own(pairs: Pairs | None, operators: Path | None) -> list[Path]:
    """Returns the sources of user-defined operators. Raises InputError if they are missing or unused."""
    names = [op.name.lower() for op in own_bytes(pairs or {})]
    if operators is None:
        if names:
            raise InputError(f"{names[0]} is user-defined: give the folder of tw_user_operator.sv with --operators")
        return []
    if not names:
        raise InputError("--operators is unused: give the types of user0, user1 or user2 with --combine")
    if not (operators / "tw_user_operator.sv").is_file():
        raise InputError(f"{str(operators)!r} has no tw_user_operator.sv")
    return sorted(operators.glob("*.sv"))


def _write(
    root: Path, cluster: Cluster, built: Numbers, folder: Path, pairs: Pairs | None, own: Sequence[Path]
) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = [*needed(root, "mpi_fpga", "tw_top", own), *own]
    for path in own:
        if sum(path.name == other.name for other in copied) > 1 or path.stem in GENERATED:
            raise InputError(f"{str(path)!r} has the name of one of the hardware's own files; rename it")
    for path in copied:
        shutil.copy(path, rtl)
    package, top = rtl / "tw_cluster_pkg.sv", rtl / f"{TOP}.sv"
    registers = folder / "registers"
    map_ = _write_registers(root, built, registers, rtl)
    built = built.with_address_bits(int((map_.total_size - 1).bit_length()))
    package.write_text(_package(cluster, built))
    top.write_text(top_level(built))

    files = compiled(copied, [package.name, "tw_registers_pkg.sv", "tw_registers.sv"], TOP)
    waivers = (root / "rtl/mpi_fpga/top/registers.vlt").read_text()
    clocks = {"aclk": cluster.values.clock.frequency_mhz}
    write_project(root, folder, cluster.name, "mpi_fpga", "node", files, clocks, further_waivers=waivers)

    tables = folder / "tables"
    tables.mkdir()
    write_table(
        tables / "routes.csv",
        ("node", "destination", "entry"),
        (
            (node, destination, f"0x{entry:08x}")
            for node, entries in enumerate(table(cluster))
            for destination, entry in enumerate(entries.tolist())
        ),
    )
    write_table(
        tables / "unit.csv",
        ("node", "register", "address", "value"),
        (
            (node, write.register, f"0x{address:05x}", f"0x{value:08x}")
            for node, write in unit_writes(cluster, built)
            for address, value in [word(map_, write)]
        ),
    )
    write_table(tables / "links.csv", ("node_a", "port_a", "node_b", "port_b"), cluster.topology.links.tolist())

    (folder / "README.md").write_text(readme(root, cluster, built, map_, pairs))


def _package(cluster: Cluster, built: Numbers) -> str:
    kinds = {
        "VcMask": "logic [MessageClasses*RouteClasses*Vcs-1:0]",
        "UnitMask": "logic [63:0]",
        "Pairs": "tw_reduce_pkg::pairs_t",
        "UserBytes": "logic [2:0][31:0]",
        "Credits": "bit",
    }
    return cluster_package(
        [
            f"The numbers of the nodes of {Path(cluster.name).stem}, by `thalweg rtl export`. Those of a router are tw_vc_router's, those of a",
            "link tw_link_end's, those from Units on tw_collective_unit's and tw_unit's; AddressBits are the registers'.",
        ],
        ((kinds.get(name, "int unsigned"), name, value) for name, value in built.values.items()),
    )


def _write_registers(root: Path, built: Numbers, registers: Path, rtl: Path) -> AddrmapNode:
    """Writes the register map with the cluster's parameters, PeakRDL's output and the register block."""
    try:
        from peakrdl_cheader.exporter import CHeaderExporter
        from peakrdl_html import HTMLExporter
        from peakrdl_regblock import RegblockExporter
        from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
        from peakrdl_regblock.udps import ALL_UDPS
        from systemrdl.compiler import RDLCompiler
    except ImportError as error:
        raise extras.missing(f"the Python package {(error.name or '').split('.')[0]} is missing", "export") from None

    source = (root / "rtl/mpi_fpga/top/tw_registers.rdl").read_text()
    chosen = {
        "NODES": built["Nodes"],
        "LINK_PORTS": built["LinkPorts"],
        "UNIT_PORTS": built["UnitPorts"],
        "VIRTUAL_CHANNELS": built["Vcs"],
        "ROWS": built["Rows"],
        "ROW_OPERATIONS": built["Entries"],
        "EDGES": built["Edges"],
        "UNITS": built["Units"],
        "PLACES": built["StoreEntries"],
        "PLACE_FLITS": built["StoreFlits"],
    }
    for name, value in chosen.items():
        source, count = re.subn(rf"(longint unsigned {name} = )\d+", rf"\g<1>{value}", source)
        assert count == 1, f"tw_registers.rdl has no parameter {name}"
    registers.mkdir()
    file = registers / "tw_registers.rdl"
    file.write_text(source)

    compiler = RDLCompiler()
    for property_ in ALL_UDPS:
        compiler.register_udp(property_)
    compiler.compile_file(str(file))
    design = compiler.elaborate()
    RegblockExporter().export(design, str(rtl), cpuif_cls=AXI4Lite_Cpuif_flattened, module_name="tw_registers")
    CHeaderExporter().export(design, str(registers / "tw_registers.h"))
    HTMLExporter().export(design, str(registers / "html"))
    return design.top
