# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl`: checks, proofs, synthesis and export of the hardware."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any, TypeVar

import click

from thalweg.commands.output import json_option, print_table, write_json
from thalweg.commands.per_system import ClusterCommand, commands
from thalweg.commands.random_programs import seed_option
from thalweg.errors import CheckFailed, InputError
from thalweg.launch import scratch
from thalweg.resources import find_root
from thalweg.rtl.coverage import coverage
from thalweg.rtl.crossings import crossings as found_crossings
from thalweg.rtl.project import Block, ParameterSet, Project, Result
from thalweg.rtl.proof import Mutant, Proof, ProofSet, Prover
from thalweg.rtl.proof import Result as ProofResult
from thalweg.rtl.synth import Node, Resources, Synthesizer
from thalweg.rtl.tools import BuildError
from thalweg.systems import systems


@click.group()
def command() -> None:
    """Lint, test, prove, synthesize and export the hardware, and compare clusters with the simulator.

    All but lint and export need a clone of the repository.
    """
    scratch.folder()  # creates and removes the temporary folder of the tools


command.add_command(ClusterCommand("rtl cosim", commands))
command.add_command(ClusterCommand("rtl export", commands, first=True))


def _with_hardware(_context: click.Context, _option: click.Parameter, system: str | None) -> str | None:
    if system and not (find_root(alone=True) / "rtl" / systems()[system].word).is_dir():
        raise InputError(f"{system} has no hardware blocks of its own")
    return system


blocks_argument = click.argument("blocks", nargs=-1, metavar="[BLOCK]...")
system_option = click.option(
    "--system",
    type=click.Choice(list(systems())),
    callback=_with_hardware,
    help="Only the blocks of this system, without shared ones.",
)


def _of(system: str | None, folder: str) -> bool:
    return system is None or systems()[system].word == folder


def _select(project: Project, names: tuple[str, ...], system: str | None = None) -> list[tuple[Block, ParameterSet]]:
    blocks = [project.block(name) for name in dict.fromkeys(names)] if names else project.blocks()
    return [(block, parameters) for block in blocks if _of(system, block.folder) for parameters in block.sets]


@command.command()
@blocks_argument
def lint(blocks: tuple[str, ...]) -> None:
    """Lint modules with Verilator, all warnings enabled.

    Without names, lints all modules, each in all its parameter sets.
    """
    project = Project(find_root(alone=True))
    chosen = _select(project, blocks)
    complaints = 0
    for block, parameters in chosen:
        text = project.lint(block, parameters)
        if text:
            complaints += 1
            click.echo(f"{block.name} ({parameters.name}):\n{text}")
    if complaints:
        raise CheckFailed(f"{complaints} of {len(chosen)} module variants have warnings")
    click.echo(f"{len(chosen)} module variants, no warning")


@command.command()
@blocks_argument
@system_option
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Random runs per variant.")
@click.option("--cycles", type=click.IntRange(1, 10**9), default=10_000, show_default=True, help="Cycles per run.")
@seed_option
@click.option("--coverage", "covers", is_flag=True, help="Measure line and toggle coverage.")
@json_option
def test(
    blocks: tuple[str, ...],
    system: str | None,
    runs: int,
    cycles: int,
    seed: int | None,
    covers: bool,
    json_file: Path | None,
) -> None:
    """Compare modules with their C++ models, cycle by cycle.

    Stimuli are random. Without names, tests all modules. --coverage makes runs slower and disables assertions; --json
    then lists coverage and all uncovered lines and toggles.
    """
    project = Project()
    chosen = [(block, parameters) for block, parameters in _select(project, blocks, system) if not block.whole]
    if not chosen:
        raise InputError(f"{', '.join(blocks)}: tested only in whole clusters, by thalweg rtl cosim --units")
    seed = secrets.randbelow(2**32) if seed is None else seed
    click.echo(f"seed {seed}; building {len(chosen)} test programs")
    try:
        project.build_tests(chosen, "covered" if covers else "model")
    except BuildError as error:
        click.echo(error.text, err=True)
        raise
    run = project.cover if covers else project.run
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        click.progressbar(
            pool.map(lambda variant: run(variant[0], variant[1], runs, cycles, seed), chosen),
            length=len(chosen),
            label="testing",
            show_pos=True,
        ) as bar,
    ):
        results = list(bar)
    compared = [sum(port.activity for port in result.ports.values()) for result in results]
    print_table(
        ("block", "variant", "runs", "cycles", "compared", "difference"),
        ((r.block, r.set, r.runs, r.total_cycles, n, r.difference) for r, n in zip(results, compared, strict=True)),
        left=("block", "variant", "difference"),
    )
    if covers:
        _show_coverage(project, {block.name: block for block, _ in chosen}, json_file, seed)
    else:
        write_json(json_file, [_row(result) for result in results], seeds={"stimuli": seed})
    differing = [result for result in results if result.difference]
    for result in differing if not covers else ():
        click.echo(f"{result.block} ({result.set}): cycles, shrunk stimulus and waves are in {result.report}")
    if differing:
        raise CheckFailed(f"{len(differing)} of {len(results)} variants differ from their models")
    if 0 in compared:
        raise CheckFailed(f"{compared.count(0)} of {len(results)} variants transferred no data: increase --cycles")


@command.command()
@blocks_argument
@system_option
@click.option("--mutants", is_flag=True, help="Insert known bugs (mutants) and check that a property fails for each.")
@json_option
def prove(blocks: tuple[str, ...], system: str | None, mutants: bool, json_file: Path | None) -> None:
    """Prove properties of the hardware with Yosys and ABC.

    Without names, proves those of all blocks.
    """
    prover = Prover()
    named = [prover.proof(name) for name in blocks] if blocks else prover.proofs()
    chosen = [proof for proof in named if _of(system, proof.folder)]
    jobs: list[tuple[Proof, ProofSet | Mutant]]
    if mutants:
        jobs = [(proof, mutant) for proof in chosen for mutant in proof.mutants]
    else:
        jobs = [(proof, parameters) for proof in chosen for parameters in proof.sets]

    def work(job: tuple[Proof, ProofSet | Mutant]) -> list[ProofResult]:
        proof, what = job
        return prover.hunt(proof, what) if isinstance(what, Mutant) else prover.prove(proof, what)

    try:
        with (
            ThreadPoolExecutor(os.cpu_count()) as pool,
            click.progressbar(pool.map(work, jobs), length=len(jobs), label="proving", show_pos=True) as bar,
        ):
            results = [result for found in bar for result in found]
    except BuildError as error:
        click.echo(error.text, err=True)
        raise
    print_table(
        (
            "block",
            *(["mutant"] if mutants else []),
            "property",
            "set",
            "method",
            "bound",
            "cycle",
            "seconds",
            "outcome",
        ),
        (
            (r.block, *([r.mutant] if mutants else []), r.name, r.set, r.method, r.bound, r.cycle, r.seconds, r.outcome)
            for r in results
        ),
        left=("block", "mutant", "property", "set", "method", "outcome"),
    )
    write_json(json_file, [asdict(result) for result in results])
    wrong = [result for result in results if not result.right]
    if wrong:
        raise CheckFailed(
            f"{len(wrong)} of {len(results)} {'mutants were not detected' if mutants else 'properties are not proved'}"
        )


def _show_coverage(project: Project, blocks: dict[str, Block], json_file: Path | None, seed: int) -> None:
    covered = [coverage(project, block) for block in blocks.values()]
    print_table(
        ("block", "lines", "covered %", "toggles", "toggled %"),
        ((c.block, c.lines, f"{c.line_percent:.1f}", c.toggles, f"{c.toggle_percent:.1f}") for c in covered),
        left=("block",),
    )
    percents = ({"line_percent": c.line_percent, "toggle_percent": c.toggle_percent} for c in covered)
    rows = [{**asdict(c), **percent} for c, percent in zip(covered, percents, strict=True)]
    write_json(json_file, rows, seeds={"stimuli": seed})


@command.command()
@blocks_argument
@system_option
@click.option(
    "--set", "sets", multiple=True, metavar="NAME", help="Parameter set of the blocks' tests; may be repeated."
)
@click.option(
    "--place",
    is_flag=True,
    help="Place and route on an ECP5 instead; print the clock frequency and critical path of each block.",
)
@click.option(
    "--levels",
    is_flag=True,
    help="Find the path with the most LUT levels instead; fail if a block exceeds its budget.",
)
@json_option
def synth(
    blocks: tuple[str, ...],
    system: str | None,
    sets: tuple[str, ...],
    place: bool,
    levels: bool,
    json_file: Path | None,
) -> None:
    """Map blocks to UltraScale+ and count resources.

    Counts LUTs, flip-flops, DSPs and block RAMs. Without names and --set, maps the parameter sets selected in each
    block.toml, and sums up nodes of which all blocks are mapped.
    """
    if place and levels:
        raise InputError("--place and --levels are exclusive; give one of them")
    synthesizer = Synthesizer()
    chosen = [variant for variant in synthesizer.select(blocks, sets) if _of(system, variant[0].folder)]
    try:
        (_place if place else _levels if levels else _map)(synthesizer, chosen, json_file)
    except BuildError as error:
        click.echo(error.text, err=True)
        raise


@command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def crossings(folder: Path, json_file: Path | None) -> None:
    """Check clock and reset domain crossings of an exported FOLDER.

    Every signal that crosses clock domains must go from a flip-flop into a synchronizer, or through an asynchronous
    FIFO. Every reset must be synchronous to the clock of the flip-flops that it resets.
    """
    with tempfile.TemporaryDirectory() as work:
        try:
            found = found_crossings(folder, Path(work) / "netlist.json")
        except BuildError as error:
            click.echo(error.text, err=True)
            raise
    print_table(
        ("clock", "flip-flops", "memory bits", "of them reset", "by"),
        (
            (domain.clock, domain.flip_flops, domain.memory, sum(domain.resets.values()), ", ".join(domain.resets))
            for domain in found.domains
        ),
        left=("clock", "by"),
    )
    if found.crossings:
        click.echo()
        print_table(
            ("from", "its clock", "to", "and its", "through"),
            ((c.start, c.start_clock, c.end, c.end_clock, c.fault or c.way) for c in found.crossings),
            left=("from", "its clock", "to", "and its", "through"),
        )
    write_json(json_file, asdict(found))
    if wrong := [crossing for crossing in found.crossings if crossing.fault]:
        raise CheckFailed(f"{len(wrong)} of {len(found.crossings)} crossings are wrong")


T = TypeVar("T")
Chosen = list[tuple[Block, ParameterSet]]
RESOURCES = ("LUT", "of them memory", "FF", "DSP", "BRAM")


def _each(work: Callable[[Block, ParameterSet], T], chosen: Chosen, label: str) -> dict[tuple[str, str], T]:
    """Returns the result of `work` for each block and parameter set."""
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        click.progressbar(
            pool.map(lambda variant: work(*variant), chosen), length=len(chosen), label=label, show_pos=True
        ) as bar,
    ):
        return {(block.name, parameters.name): result for (block, parameters), result in zip(chosen, bar, strict=True)}


def _map(synthesizer: Synthesizer, chosen: Chosen, json_file: Path | None) -> None:
    found = _each(synthesizer.resources, chosen, "mapping")
    print_table(
        ("block", "set", *RESOURCES),
        ((*names, *astuple(resources)) for names, resources in found.items()),
        left=("block", "set"),
    )
    for block, parameters in chosen:
        if block.whole:
            click.echo(f"\n{block.name} ({parameters.name}) consists of:")
            parts = synthesizer.parts(block, parameters)
            print_table(
                ("", *RESOURCES), ((f"{number} x {part}", *astuple(taken)) for number, part, taken in parts), left=("",)
            )
    nodes = [node for node in synthesizer.nodes if node.parts.keys() <= found.keys()]
    for node in nodes:
        _print_node(node, found)
    rows = [{"block": block, "set": name, **asdict(resources)} for (block, name), resources in found.items()]
    sums = [{"node": node.name, "ours": asdict(node.sum(found)), "paper": node.paper} for node in nodes]
    write_json(json_file, {"blocks": rows, "nodes": sums})


def _place(synthesizer: Synthesizer, chosen: Chosen, json_file: Path | None) -> None:
    found = _each(synthesizer.critical_path, chosen, "placing")
    print_table(
        ("block", "set", "MHz", "from", "to", "levels", "logic ns", "routing ns"),
        ((*names, *astuple(path)) for names, path in found.items()),
        left=("block", "set", "from", "to"),
    )
    rows = [{"block": block, "set": name, **asdict(path)} for (block, name), path in found.items()]
    write_json(json_file, rows)


def _levels(synthesizer: Synthesizer, chosen: Chosen, json_file: Path | None) -> None:
    found = _each(synthesizer.levels, chosen, "mapping")
    budgets = {(block.name, parameters.name): parameters.levels for block, parameters in chosen}
    print_table(
        ("block", "set", "levels", "budget", "carries", "from", "to", "fan-out", "of", "bare RAMs"),
        (
            (*names, of.luts, budgets[names], of.carries, of.start, of.end, of.fan_out, of.fan_out_net, of.bare_rams)
            for names, of in found.items()
        ),
        left=("block", "set", "from", "to", "of"),
    )
    rows = [
        {"block": block, "set": name, "budget": budgets[block, name], **asdict(of)}
        for (block, name), of in found.items()
    ]
    write_json(json_file, rows)
    deep = [name for name, of in found.items() if (budget := budgets[name]) is not None and of.luts > budget]
    if deep:
        raise CheckFailed(f"more levels than the budget: {', '.join(f'{block} ({name})' for block, name in deep)}")


def _print_node(node: Node, resources: dict[tuple[str, str], Resources]) -> None:
    total = node.sum(resources)
    paper = {**dict.fromkeys(asdict(total)), **node.paper}
    click.echo(f"\n{node.name.capitalize()}, the sum of its blocks:")
    print_table(
        ("", *RESOURCES),
        [
            *(
                (f"{count} x {block} ({name})", *astuple(count * resources[block, name]))
                for (block, name), count in node.parts.items()
            ),
            ("in all", *astuple(total)),
            (node.source, *paper.values()),
        ],
        left=("",),
    )


def _row(result: Result) -> dict[str, Any]:
    return {**asdict(result), "report": str(result.report) if result.report else None}
