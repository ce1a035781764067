# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster as a folder of hardware that stands by itself: `thalweg rtl export` (docs/export.md).

What is generated is the package of the cluster's parameters, the register block, a top whose ports have flat names, and what software
writes into the registers; all else is copied.
"""

from __future__ import annotations

import csv
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.resources import find_root
from thalweg.rtl.folders import rtl_folders
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.configuration import Numbers, numbers, table, unit_writes, word
from thalweg.systems.mpi_fpga.export_readme import readme
from thalweg.systems.mpi_fpga.rtl_engine import own_bytes
from thalweg.systems.mpi_fpga.top import TOP, core, top_level

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

    from thalweg.systems.mpi_fpga.rtl_engine import Pairs

#: Files of an exported node that are no copies.
GENERATED = ("tw_cluster_pkg", "tw_registers_pkg", "tw_registers", TOP)


def export(cluster: Cluster, output: Path, pairs: Pairs | None = None, operators: Path | None = None) -> None:
    """Writes the folder `output`, which is not there yet or empty, whole or not at all. Raises InputError.

    `pairs`: the operators of the collective unit's lanes, by type; None: all. `operators`: a folder with the user's own, where
    there are such among them.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{str(output)!r} is there already; give --output a folder that is not, or an empty one")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{str(output)!r} cannot be written: there is no directory {str(output.absolute().parent)!r}")
    root = find_root(alone=True)
    own = _own(pairs, operators)
    built = numbers(cluster, pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "export"
        _write(root, cluster, built, folder, pairs, own)
        try:
            with scratch.in_place_of(output) as new:
                shutil.copytree(folder, new)
        except OSError as error:
            raise InputError(f"{str(output)!r} cannot be written: {error.strerror or error}") from None


def _own(pairs: Pairs | None, operators: Path | None) -> list[Path]:
    """The sources of the user's own operators. Raises InputError where they are missing, or nothing combines with them."""
    names = [op.name.lower() for op in own_bytes(pairs or {})]
    if operators is None:
        if names:
            raise InputError(
                f"{names[0]} is an operator of your own: --operators gives the folder of its tw_user_operator.sv"
            )
        return []
    if not names:
        raise InputError("--operators: nothing is combined by user0, user1 or user2; --combine says of which types")
    if not (operators / "tw_user_operator.sv").is_file():
        raise InputError(f"{str(operators)!r} has no tw_user_operator.sv")
    return sorted(operators.glob("*.sv"))


def _write(
    root: Path, cluster: Cluster, built: Numbers, folder: Path, pairs: Pairs | None, own: Sequence[Path]
) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = [*needed(root, "tw_top", own), *own]
    for path in own:
        if sum(path.name == other.name for other in copied) > 1 or path.stem in GENERATED:
            raise InputError(f"{str(path)!r} has the name of a file of the hardware's")
    for path in copied:
        shutil.copy(path, rtl)
    package, top = rtl / "tw_cluster_pkg.sv", rtl / f"{TOP}.sv"
    registers = folder / "registers"
    map_ = _write_registers(root, built, registers, rtl)
    built = built.with_address_bits(int((map_.total_size - 1).bit_length()))
    package.write_text(_package(cluster, built))
    top.write_text(top_level(built))

    names = [path.name for path in copied]
    packages = [name for name in names if name.endswith("_pkg.sv")]
    modules = [name for name in names if name not in packages]
    files = [*packages, package.name, "tw_registers_pkg.sv", "tw_registers.sv", *modules, top.name]
    (folder / "files.f").write_text("".join(f"rtl/{name}\n" for name in files))
    (folder / "lint.vlt").write_text(
        (root / "rtl/lint.vlt").read_text() + (root / "rtl/mpi_fpga/top/registers.vlt").read_text()
    )
    (folder / f"{TOP}.core").write_text(core(cluster, files))

    tables = folder / "tables"
    tables.mkdir()
    with (tables / "routes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("node", "destination", "entry"))
        for node, entries in enumerate(table(cluster)):
            rows.writerows((node, destination, f"0x{entry:08x}") for destination, entry in enumerate(entries.tolist()))
    with (tables / "unit.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("node", "register", "address", "value"))
        for node, write in unit_writes(cluster, built):
            address, value = word(map_, write)
            rows.writerow((node, write.register, f"0x{address:05x}", f"0x{value:08x}"))
    with (tables / "links.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("node_a", "port_a", "node_b", "port_b"))
        rows.writerows(cluster.topology.links.tolist())

    (folder / "README.md").write_text(readme(root, cluster, built, map_, pairs))
    for name in ("LICENSE", "docs/packets.md"):
        shutil.copy(root / name, folder)


def needed(root: Path, top: str, own: Iterable[Path] = ()) -> list[Path]:
    """The files of `top` and of every module and package of the hardware that it names, or files of the user's `own` do, packages
    in front of who uses them."""
    there = {
        path.stem: path
        for part in (*rtl_folders("mpi_fpga"), "rtl/mpi_fpga/top")
        for path in (root / part).glob("tw_*.sv")
    }
    found: dict[str, Path] = {}

    def add(name: str) -> None:
        if name in found or name not in there:
            return
        add_all_of(there[name])
        found[name] = there[name]

    def add_all_of(path: Path) -> None:
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for other in dict.fromkeys(re.findall(r"\btw_\w+", text)):
            if other != path.stem:
                add(other)

    add(top)
    for path in own:
        add_all_of(path)
    return list(found.values())


def _package(cluster: Cluster, built: Numbers) -> str:
    lines = [
        f"// The numbers of the nodes of {Path(cluster.name).stem}, by `thalweg rtl export`. Those of a router are tw_vc_router's, those of a",
        "// link tw_link's, those from Units on tw_collective_unit's and tw_unit's; AddressBits are the registers'.",
        "package tw_cluster_pkg;",
    ]
    for name, value in built.values.items():
        if name == "VcMask":
            kind = "logic [MessageClasses*RouteClasses*Vcs-1:0]"
        elif name == "UnitMask":
            kind = "logic [63:0]"
        elif name == "Pairs":
            kind = "tw_reduce_pkg::pairs_t"
        elif name == "UserBytes":
            kind = "logic [2:0][31:0]"
        else:
            kind = "bit" if name == "Credits" else "int unsigned"
        lines.append(f"  localparam {kind} {name} = {value};")
    return "\n".join([*lines, "endpackage", ""])


def _write_registers(root: Path, built: Numbers, registers: Path, rtl: Path) -> AddrmapNode:
    """The register map with the cluster's numbers, what PeakRDL makes of it, and its block."""
    try:
        from peakrdl_cheader.exporter import CHeaderExporter
        from peakrdl_html import HTMLExporter
        from peakrdl_regblock import RegblockExporter
        from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
        from peakrdl_regblock.udps import ALL_UDPS
        from systemrdl.compiler import RDLCompiler
    except ImportError as error:
        raise InputError(
            f"the Python package {(error.name or '').split('.')[0]} is missing: pip install 'thalweg[export]'"
        ) from None

    source = (root / "rtl/mpi_fpga/top/tw_registers.rdl").read_text()
    chosen = {
        "NODES": built["Nodes"],
        "LINK_PORTS": built["LinkPorts"],
        "UNIT_PORTS": built["UnitPorts"],
        "VIRTUAL_CHANNELS": built["Vcs"],
        "ROWS": built["Rows"],
        "ROW_OPERATIONS": built["Places"],
        "EDGES": built["Edges"],
        "UNITS": built["Units"],
        "PLACES": built["StorePlaces"],
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
