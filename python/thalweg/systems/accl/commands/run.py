# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from thalweg.commands import completion
from thalweg.commands.in_switch import in_switch_option
from thalweg.commands.measured import cluster_option
from thalweg.commands.named_files import read_programs
from thalweg.commands.output import json_option, print_line, write_json
from thalweg.errors import InputError
from thalweg.launch import ending
from thalweg.launch.mpi import find_mpi, find_program
from thalweg.systems.accl.commands import options
from thalweg.systems.accl.drivers import load_zmq
from thalweg.systems.accl.engine import make_engine
from thalweg.systems.accl.run import MAX_PORT, run_program, settings_for, uses_library
from thalweg.systems.accl.server import Settings


@click.command(context_settings={"allow_interspersed_args": False, "max_content_width": 120})
@options.ranks
@cluster_option("accl-u280-udp")
@click.option(
    "--port",
    type=click.IntRange(1, MAX_PORT),
    help="First of 4 ports per rank. [default: free ones if {port} is in ARGUMENTS, else 5500]",
)
@options.loopback
@click.option(
    "--mpi",
    metavar="MPI",
    help="mpich: that of the extra mpi; else the folder of an installed MPICH or Open MPI. [default: the one that PROGRAM is linked with]",
)
@click.option(
    "--kernels",
    multiple=True,
    metavar="FILE.cpp:NAME[@RANK][:ARGUMENT=VALUE,...]",
    help="HLS kernel of each rank. Streams: commands, status, data_in, data_out.NUMBER, stream.NAME; numbers: also rank, ranks, communicator, arithmetic.TYPE.",
)
@click.option(
    "-I",
    "includes",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the kernels' headers.",
)
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro for kernels.")
@options.grace
@options.patience
@options.pcap
@in_switch_option
@json_option
@click.argument(
    "program",
    metavar="PROGRAM [ARGUMENTS]...",
    nargs=-1,
    type=click.UNPROCESSED,
    required=True,
    callback=read_programs,
    shell_complete=completion.files,
)
def command(
    ranks: int,
    cluster: str,
    port: int | None,
    loopback: bool,
    mpi: str | None,
    kernels: tuple[str, ...],
    includes: tuple[Path, ...],
    defines: tuple[str, ...],
    grace: float,
    patience: float,
    pcap: Path | None,
    in_switch: str | None,
    json_file: Path | None,
    program: Sequence[str],
) -> None:
    """Run a PROGRAM that uses ACCL's driver, unchanged: `thalweg accl run -n 4 --cluster accl-u280-udp -- ./test -p {port}
    -u`; or one that uses Thalweg's header accl.hpp.

    Each {port} in ARGUMENTS is replaced by the port of rank 0, which the program must pass to ACCL's driver. An MPI's
    mpiexec starts several ranks; a program with accl.hpp needs none. The server's report follows the program's output,
    on stderr. Exit code: the program's own; 1 if it succeeded but a request was refused, or a call had a return code
    other than 0, which ACCL's driver ignores; 124 after a deadlock without a time-out; 125 for bad input.
    """
    found = find_program(program[0])
    if not uses_library(found):
        load_zmq()
    launcher = find_mpi(mpi)[0] if mpi else None
    settings = settings_for(program, ranks, port, Settings(loopback=loopback, grace=grace, patience=patience))
    engine = make_engine(cluster, ranks, str(pcap or ""), in_switch)
    attached = None
    if kernels:
        from thalweg.systems.accl.attached_kernels import AttachedKernels, KernelOption

        attached = AttachedKernels(engine, [KernelOption.parse(each) for each in kernels], includes, defines)
        if (line := attached.missing()) and not uses_library(found):
            raise InputError(f"{line}; only a program with accl.hpp can start it")
    with ending.noticed() as notice:
        try:
            outcome = run_program(program, engine, settings, launcher, notice, attached)
        finally:
            engine.close()
        sys.stdout.flush()
        for line in outcome.complaint:
            print_line(f"thalweg: {line}", sys.stderr)
        options.show(outcome.report, sys.stderr)
        write_json(json_file, {"exit_code": outcome.exit_code, **outcome.report.as_json()})
    raise click.exceptions.Exit(outcome.exit_code)
