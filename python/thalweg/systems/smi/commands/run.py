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
    help="Ranks of SMI_COMM_WORLD, the cluster's first ones. [default: all of the cluster]",
)
@click.option(
    "--cluster",
    required=True,
    metavar="C",
    type=ClusterName(),
    help="A preset such as smi-noctua, a cluster file, or a topology file of SMI's own.",
)
@click.option(
    "--host",
    type=InputFile(),
    metavar="FILE",
    help="What stands for the host program: a TOML file of buffers, kernels with their arguments, and checks (docs/smi-programs.md).",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of all kernels that have one of this name, a number; with --host they are in its file. Repeatable.",
)
@click.option(
    "--metadata",
    "described",
    type=InputFile(),
    metavar="FILE",
    help="The program's operations, as JSON of `thalweg smi extract`. [default: they are found in the sources]",
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
    help="Seconds of processor time in which no kernel uses a channel or memory, until that is an endless loop; 0: never.",
)
@click.option(
    "--max-cycles",
    type=click.IntRange(1),
    metavar="N",
    help="Last cycle in which a kernel may end, unless it serves; the run then ends with its line and exit code 3. "
    "[default: the host description's max_cycles, or none]",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    help="Of point-to-point channels: eager, network buffers alone hold a sender back; degree, so do credits where a message is longer than "
    "its asynchronicity degree; synchronous, a push returns when its element has been popped, which finds deadlocks that buffers hide. "
    "[default: the cluster's, eager in the presets]",
)
@click.option(
    "--werror", is_flag=True, help="Leave with exit code 1 where there are warnings, such as data that no kernel takes."
)
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

    Without a host description each kernel of a source starts at every rank whose program it is: of a topology file, the ranks
    whose program has the source's name, otherwise all. With one, SOURCES are the files of its kernels, and may be left out where it names
    them.

    Exit codes: 0; 1, a program used a channel wrongly, a check failed, or there are warnings and --werror; 2, bad input; 3, a deadlock, or an endless loop.
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
            raise InputError("--set is for runs without --host, whose kernels have their arguments there")
        description = hosts.read(host)
    else:
        if not sources:
            raise InputError("give sources, or a host description")
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
    summary += f"; {right} of {len(checks)} checks right" if checks else ""
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
    """At the terminal's width, where stderr is one."""
    if not sys.stderr.isatty():
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False)


def _everything(run: Run, sources: tuple[Path, ...], settings: tuple[str, ...]) -> dict[str, Any]:
    """A description of all kernels of all sources."""
    given: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: it is NAME=VALUE")
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
        raise InputError(f"--set {min(strange)}: no kernel has such an argument")
    return {"kernel": kernels}
