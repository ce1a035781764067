# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi run`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from thalweg.commands.in_switch import in_switch_option
from thalweg.commands.measured import engine_option
from thalweg.commands.named_files import ClusterName, InputFile
from thalweg.commands.output import json_option, print_line, print_table, write_json
from thalweg.commands.pictures import Pictures, picture_options
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.systems.smi import host as hosts
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import PROTOCOLS, Cluster
from thalweg.systems.smi.commands.extract import define_option, include_option
from thalweg.systems.smi.run import Run, Stuck
from thalweg.trace.page import Table


@click.command("run")
@click.argument("sources", type=InputFile(), nargs=-1)
@click.option(
    "-n",
    "--ranks",
    type=click.IntRange(1),
    metavar="N",
    help="Number of ranks, the first ones of the cluster. [default: all]",
)
@click.option(
    "--cluster",
    required=True,
    metavar="C",
    type=ClusterName(),
    help="Preset, e.g. smi-noctua, cluster file, or topology file (JSON).",
)
@click.option(
    "--host",
    type=InputFile(),
    metavar="FILE",
    help="Host description: a TOML file with buffers, kernels with arguments, and checks (docs/smi-programs.md).",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Numeric argument of all kernels that have one of this name; not with --host. May be repeated.",
)
@click.option(
    "--metadata",
    "described",
    type=InputFile(),
    metavar="FILE",
    help="Metadata of the program, from `thalweg smi extract`. [default: extracted from the sources]",
)
@include_option
@define_option
@engine_option("ranks")
@in_switch_option
@click.option(
    "--patience",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Seconds of processor time without access to channels or memory before the run ends as an endless loop; 0: never.",
)
@click.option(
    "--max-cycles",
    type=click.IntRange(1),
    metavar="N",
    help="Last cycle in which a kernel that does not serve may end; later, the run ends with exit code 3.  "
    "[default: the host description's max_cycles, or none]",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    help="Protocol of point-to-point channels. eager: back pressure only; degree: also credits, if a message exceeds "
    "its asynchronicity degree; synchronous: a push returns when its element has been popped, which reveals deadlocks hidden by buffers. "
    "[default: the cluster's, eager in the presets]",
)
@click.option("--werror", is_flag=True, help="Exit with code 1 if there are warnings, e.g. data that no kernel pops.")
@picture_options
@json_option
def command(
    sources: tuple[Path, ...],
    ranks: int | None,
    cluster: str,
    host: Path | None,
    settings: tuple[str, ...],
    described: Path | None,
    includes: tuple[Path, ...],
    defines: tuple[str, ...],
    engine: str,
    in_switch: str | None,
    patience: int,
    max_cycles: int | None,
    protocol: str | None,
    werror: bool,
    trace_file: Path | None,
    page_file: Path | None,
    json_file: Path | None,
) -> None:
    """Run the kernels of SOURCES, in OpenCL C, C or C++, on the ranks of a cluster, in simulated time.

    Without a host description, each kernel starts at every rank that has its source: according to a topology file, the
    ranks whose program has the source's name, otherwise all. With one, SOURCES are the files of its kernels, and may be
    omitted if it names them.

    Exit codes: 0 success; 1 a program used a channel wrongly, a check failed, or warnings with --werror; 2 bad input; 3
    a deadlock or an endless loop.
    """
    of = Cluster.load(cluster)
    program = metadata.read(described) if described else None
    pictures = Pictures(trace_file, page_file)
    run = Run(
        of,
        ranks,
        program,
        list(includes),
        list(defines),
        engine,
        in_switch,
        patience,
        protocol,
        max_cycles,
        record=bool(pictures),
    )
    if host:
        if settings:
            raise InputError("--set cannot be combined with --host: set arguments in the host description")
        description = hosts.read(host)
    else:
        if not sources:
            raise InputError("give sources or a host description")
        description = hosts.of_values(_everything(run, sources, settings))
    prepared = hosts.Prepared(run, description, sources)
    try:
        result, checks = prepared.execute()
    except Stuck as stuck:
        if run.recorded:
            pictures.write(run.recorded, stuck.lines)
        for line in stuck.lines[1:]:
            print(_broken(line), file=sys.stderr)
        write_json(json_file, {"stopped": stuck.lines[0], "blocked": [asdict(each) for each in stuck.blocked]}, of)
        raise FabricStopped(stuck.lines[0], stuck.blocked) from None
    for warning in result.warnings:
        print(f"thalweg: warning: {warning}", file=sys.stderr)
    rows = [
        [each.rank, each.name, each.cycle, f"{each.cycle / result.hertz * 1e6:.3f}"]
        if each.cycle is not None
        else [each.rank, each.name, "serves", ""]
        for each in result.kernels
    ]
    table = Table("Kernels", ["rank", "kernel", "cycles", "us"], rows, left=["kernel"])
    print_table(table.columns, table.rows)
    right = sum(check.right for check in checks)
    summary = f"{result.cycles} cycles, {result.time_us:.3f} us"
    summary += f"; {right} of {len(checks)} checks passed" if checks else ""
    print_line(summary)
    if run.recorded:
        pictures.write(run.recorded, [summary, *result.warnings], lambda: [table])
    record = {
        "in_switch": in_switch,
        "protocol": run.protocol,
        "cycles": result.cycles,
        "time_us": result.time_us,
        "elements": result.elements,
        "kernels": [asdict(each) for each in result.kernels],
        "warnings": result.warnings,
        "checks": [asdict(check) for check in checks],
    }
    write_json(json_file, record, of)
    if wrong := hosts.failed(checks):
        raise wrong
    if werror and result.warnings:
        count = len(result.warnings)
        raise CheckFailed(
            f"{count} warning{'s' * (count > 1)}, and --werror makes {'them errors' if count > 1 else 'it an error'}"
        )


def _broken(line: str) -> str:
    """Wraps a line at the width of the terminal, if stderr is one."""
    if not sys.stderr.isatty():
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False)


def _everything(run: Run, sources: tuple[Path, ...], settings: tuple[str, ...]) -> dict[str, Any]:
    """Returns a host description that starts all kernels of all sources."""
    given: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write NAME=VALUE")
        given[name] = value
    kernels = []
    known: set[str] = set()
    for source in sources:
        found = run.source(source).kernels
        if not found:
            raise InputError(f"{source} has no kernel")
        for kernel in found.values():
            names = {argument.name for argument in kernel.arguments}
            known |= names
            arguments = {name: value for name, value in given.items() if name in names}
            kernels.append({"file": str(source.absolute()), "name": kernel.name, "arguments": arguments})
    if strange := given.keys() - known:
        raise InputError(f"--set {min(strange)}: no kernel has this argument")
    return {"kernel": kernels}
