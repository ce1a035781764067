# SPDX-License-Identifier: Apache-2.0
"""Export of hardware as a self-contained folder (docs/export.md); common to all systems.

Copies sources in compilation order, and writes a top with flat port names, as tools expect for AXI, and a FuseSoC core
file.
"""

from __future__ import annotations

import csv
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.rtl.folders import rtl_folders, waivers


@dataclass(frozen=True)
class Port:
    """A port of the top, and the port of the inner module, without suffix, that it is connected to."""

    name: str
    inner: str
    bits: int
    is_output: bool
    clock: str = ""
    """Clock of the port in a top with several clocks, or "constant", for `thalweg rtl crossings`; asynchronous if empty."""

    def __str__(self) -> str:
        clock = f'(* clock = "{self.clock}" *) ' if self.clock else ""
        kind = f"{'output' if self.is_output else 'input '} wire"
        return f"{clock}{kind} {f'[{self.bits - 1}:0] ' if self.bits > 1 else ''}{self.name}"


@dataclass(frozen=True)
class Stream:
    """An AXI4-Stream of the top, and the wires of the inner module behind it."""

    name: str
    inner: str  #: wires are named {inner}_valid and so on
    data: int  #: bits
    ready: bool = True  #: supports back pressure; if not, there is no TREADY
    last: bool = True
    beside: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  #: additional signals: name of the inner signal, and bits
    clock: str = ""  #: clock of its ports

    @property
    def sends(self) -> bool:
        return self.name.startswith("m_")

    def ports(self) -> Iterator[Port]:
        def port(name: str, inner: str, bits: int, is_output: bool) -> Port:
            return Port(f"{self.name}_{name}", f"{self.inner}_{inner}", bits, is_output, self.clock)

        yield port("tvalid", "valid", 1, self.sends)
        if self.ready:
            yield port("tready", "ready", 1, not self.sends)
        yield port("tdata", "data", self.data, self.sends)
        if self.last:
            yield port("tlast", "last", 1, self.sends)
        for name, (inner, bits) in self.beside.items():
            yield port(name, inner, bits, self.sends)


def into(output: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` fill a folder, which becomes `output` atomically. Raises InputError if `output` exists and is not
    empty."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{str(output)!r} exists already; give --output a new or empty folder")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{str(output)!r} cannot be written: there is no directory {str(output.absolute().parent)!r}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "export"
        write(folder)
        try:
            with scratch.in_place_of(output) as new:
                shutil.copytree(folder, new)
        except OSError as error:
            raise InputError(f"{str(output)!r} cannot be written: {error.strerror or error}") from None


def needed(root: Path, system: str, top: str, own: Iterable[Path] = ()) -> list[Path]:
    """Returns the files of `top` and of all modules and packages that it or the user's `own` files name, packages first."""
    there = {
        path.stem: path
        for part in (*rtl_folders(system), f"rtl/{system}/top")
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


def compiled(copied: Iterable[Path], generated: Sequence[str], top: str) -> list[str]:
    """Returns the files of an export's rtl/ in compilation order: packages, `generated` packages, modules, the top."""
    names = [path.name for path in copied]
    packages = [name for name in names if name.endswith("_pkg.sv")]
    return [*packages, *generated, *(name for name in names if name not in packages), f"{top}.sv"]


def flat_top(
    name: str,
    inner: str,
    about: str,
    wires: Mapping[str, str],
    groups: Mapping[str, Sequence[Port]],
    parameters: Mapping[str, int | str] = MappingProxyType({}),
    resets: Sequence[str] = (),
) -> str:
    """Returns the module `name` around `inner`.

    `about` is its header comment. `groups` are its ports, by description; `wires` are one-bit inputs such as clocks,
    and their names in `inner`. `resets` are clocks of `inner`, without `_clk_i`, each of which gets `aresetn` through
    its own synchronizer.
    """
    joined: dict[tuple[str, bool], list[str]] = {}
    for ports in groups.values():
        for port in ports:
            joined.setdefault((port.inner, port.is_output), []).append(port.name)
    declared = [f"    input  wire {wire}" for wire in wires]
    for what, ports in groups.items():
        first, *others = (f"    {port}" for port in ports)
        declared += [f"\n    // {what}\n{first}", *others]
    connections = [f"      .{clock}_rst_i({clock}_rst)" for clock in resets] + [
        f"      .{inner}_{'o' if is_output else 'i'}({', '.join(reversed(names)).join('{}' if len(names) > 1 else ('', ''))})"
        for (inner, is_output), names in joined.items()
    ]
    return "\n".join(
        [
            "// SPDX-License-Identifier: Apache-2.0",
            f"// {about}",
            f"module {name} (",
            ",\n".join(declared),
            ");",
            *_synchronizers(resets, wires),
            f"  {inner} {_assigned(parameters)}top (",
            ",\n".join([*(f"      {connection}" for connection in wires.values() if connection), *connections]),
            "  );",
            "endmodule",
            "",
        ]
    )


def _assigned(parameters: Mapping[str, int | str]) -> str:
    all_of = ",\n".join(f"      .{name}({value})" for name, value in parameters.items())
    return f"#(\n{all_of}\n  ) " if parameters else ""


def _synchronizers(resets: Sequence[str], wires: Mapping[str, str]) -> list[str]:
    lines = []
    for clock in resets:
        wire = next(wire for wire, connection in wires.items() if connection.startswith(f".{clock}_clk_i"))
        lines += [
            f"  wire {clock}_rst;",
            f"  tw_reset_sync {clock}_reset (.clk_i({wire}), .rst_i(!aresetn), .rst_o({clock}_rst));",
        ]
    return lines


def cluster_package(about: Sequence[str], constants: Iterable[tuple[str, str, object]]) -> str:
    """Returns tw_cluster_pkg; `constants` are tuples of kind, name and value."""
    lines = [*(f"// {line}" for line in about), "package tw_cluster_pkg;"]
    lines += [f"  localparam {kind} {name} = {value};" for kind, name, value in constants]
    return "\n".join([*lines, "endpackage", ""])


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes a table as CSV."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(rows)


def core_name(cluster: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", Path(cluster).stem.lower()).strip("-")


def write_project(
    root: Path,
    folder: Path,
    cluster: str,
    system: str,
    what: str,
    files: Sequence[str],
    clocks: Mapping[str, float],
    asynchronous: Sequence[str] = (),
    further_waivers: str = "",
) -> None:
    """Writes the files that tools read for a folder with the top thalweg_`what`.

    These are the list of `files`, the core file, lint waivers, the constraints of `clocks` (by port, in MHz) and of
    `asynchronous` inputs, the license, and the packet formats.
    """
    top = f"thalweg_{what}"
    (folder / "files.f").write_text("".join(f"rtl/{name}\n" for name in files))
    (folder / f"{top}.core").write_text(_core(cluster, what, top, files))
    (folder / "lint.vlt").write_text("".join(path.read_text() for path in waivers(root, system)) + further_waivers)
    (folder / f"{top}.xdc").write_text(_xdc(top, tuple(clocks), asynchronous))
    (folder / f"{top}.sdc").write_text(_sdc(clocks, asynchronous))
    for name in ("LICENSE", "spec/generated/packets.md"):
        shutil.copy(root / name, folder)


def _xdc(top: str, clocks: Sequence[str], asynchronous: Sequence[str]) -> str:
    """Returns constraints for Vivado, which apply to each instance of the top in a larger design and use the clocks of its
    ports."""
    if len(clocks) == 1:
        return "# All ports belong to one clock: there are no crossings.\n"
    lines = [f"# read_xdc -ref {top} {top}.xdc, after the constraints that make the clocks"]
    for clock in clocks:
        lines.append(f"set {clock} [get_clocks -of_objects [get_ports {clock}]]")
    for source, target in itertools.permutations(clocks, 2):
        lines.append(
            f"set_max_delay -datapath_only -from ${source} -to ${target} [get_property PERIOD ${source}]"
        )  # so that two bits of a Gray code never differ by more than one step
    lines += [f"set_false_path -from [get_ports {port}]" for port in asynchronous]
    return "\n".join([*lines, ""])


def _sdc(clocks: Mapping[str, float], asynchronous: Sequence[str]) -> str:
    """Returns constraints for other tools, for the top by itself, with its clocks."""
    lines = [
        f"create_clock -name {clock} -period {1000 / mhz:.3f} [get_ports {clock}]" for clock, mhz in clocks.items()
    ]
    for source, target in itertools.permutations(clocks, 2):
        between = f"-from [get_clocks {source}] -to [get_clocks {target}]"
        lines.append(f"set_max_delay {1000 / clocks[source]:.3f} {between}")
        lines.append(f"set_false_path -hold {between}")
    lines += [f"set_false_path -from [get_ports {port}]" for port in asynchronous]
    return "\n".join([*lines, ""])


def _core(cluster: str, what: str, top: str, files: Iterable[str]) -> str:
    """Returns a FuseSoC core file (CAPI2)."""
    return "\n".join(
        [
            "CAPI=2:",
            f"name: thalweg:{what}:{core_name(cluster)}:{metadata.version('thalweg')}",
            f"description: A {what} of the cluster {Path(cluster).stem}",
            "filesets:",
            "  rtl:",
            "    file_type: systemVerilogSource",
            "    files:",
            *(f"      - rtl/{file}" for file in files),
            "  waivers:",
            "    file_type: vlt",
            "    files:",
            "      - lint.vlt",
            "targets:",
            "  default: &default",
            "    filesets: [rtl]",
            f"    toplevel: {top}",
            "  lint:",
            "    <<: *default",
            "    filesets: [rtl, waivers]",
            "    flow: lint",
            "    flow_options:",
            "      tool: verilator",
            "      verilator_options: [-Wall]",
            "",
        ]
    )
