# SPDX-License-Identifier: Apache-2.0
"""The virtual times and cycle counts that the simulator has to keep, whatever becomes of its parts: ticks/SYSTEM.txt.

python tests/end_to_end/ticks.py [SYSTEM ...] writes them anew: where a change is meant to change times, the difference shows which.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT
from thalweg import cli

FILES = Path(__file__).parent / "ticks"
COLLECTIVES = [
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "gather",
    "allgather",
    "scatter",
    "reduce_scatter",
    "alltoall",
    "scan",
    "exscan",
]
PROGRAMS = {
    "osu": sorted((ROOT / "apps/osu").glob("*.c")),
    "cg": [ROOT / "apps/cg/cg.c", *sorted((ROOT / "apps/common").glob("*.c"))],
}
"""What stands for itself in a command is built of these."""


@dataclass(frozen=True)
class Case:
    """A command, and whether it takes a second or two at most."""

    command: str
    quick: bool


def mpi_fpga() -> Iterator[Case]:
    """Every collective by every algorithm on every preset; messages, traffic, faults, jobs, and programs."""
    small = ("mpi-fpga-torus-2x2x2", "mpi-fpga-fattree-8")
    middle = ("torus:3x3", "ring:5", "mpi-fpga-torus-4x4x2", "mpi-fpga-fattree-16", "thalweg-fattree-32")
    large = (
        "mpi-fpga-torus-4x4x4",
        "mpi-fpga-torus-4x4x8",
        "mpi-fpga-fattree-28",
        "thalweg-torus-4x4x4",
        "thalweg-torus-8x8",
    )
    algorithms = ("tree", "exchange", "ring", "halving", "trees")
    for clusters, sizes in ((small, "8,2K,64K"), (middle, "8,4K"), (large, "8,1K")):
        for cluster, collective, algorithm in itertools.product(clusters, COLLECTIVES, algorithms):
            of_size = "" if collective == "barrier" else f" --sizes {sizes}"
            quick = cluster == small[0] and (algorithm == "tree" or collective == "allreduce")
            yield Case(f"bench {collective} --cluster {cluster} --algorithm {algorithm}{of_size}", quick)
    for cluster in (*small, *middle, *large):
        for operation in ("latency", "bandwidth"):
            yield Case(f"bench {operation} --cluster {cluster} --sizes 8,1K,64K", cluster == small[0])
        yield Case(f"bench traffic --cluster {cluster} --load 0.2 --cycles 5000", cluster == small[0])
    torus = small[0]
    for faults in (
        "bit_error_rate=1e-5",
        "frames_lost=0.01,frames_duplicated=0.01",
        "down=0-1@30,silence_us=5,rebuild_us=40",
    ):
        for collective in ("allreduce", "alltoall"):
            yield Case(
                f"bench {collective} --cluster {torus} --sizes 8,256K --faults {faults}", collective == "allreduce"
            )
    yield Case(f"bench allreduce --cluster {torus} --sizes 8,256K --faults reset=0-1@8,rebuild_us=40", True)
    yield Case(f"bench faults --cluster {torus} --rates 1e-4,1e-6 --cycles 200000", False)
    yield Case(f"bench jobs --cluster {torus} --operations allreduce,allgather --sizes 8,64K", True)
    yield Case(f"run -n 8 --cluster {torus} --compute none -- osu -m 8:4K", False)
    yield Case(f"run -n 8 --cluster {torus} --compute none --ranks-per-node 2 -- osu -m 8:4K allreduce", False)
    yield Case("run -n 16 --cluster thalweg-torus-4x4x4 --compute none --skew uniform:20:3 -- cg -n 8", True)
    yield Case(
        f"jobs --cluster {torus} --share sub-channels:1:3 --compute none -- osu -m 8:1K allreduce : osu -m 8:1K bcast",
        False,
    )


def peach2() -> Iterator[Case]:
    """Puts by every way and to every distance; reductions by hubs, hosts and processors, of one node and of several."""
    for cluster, most_hops, nodes in (("peach2-ring-4", 2, (2, 4)), ("peach2", 5, (2, 8, 16))):
        ways = [f"--source {memory} --by dma" for memory in ("cpu", "gpu")]
        ways += [*(f"{way} {more}" for way in ways for more in ("--descriptors host", f"--hops {most_hops}"))]
        for way in (*ways, "--source cpu --by store", "--source gpu --by copies"):
            yield Case(f"bench put --cluster {cluster} {way} --sizes 4,8,256,4K,64K", True)
        for way in ("hub", "host", "cpu", *(f"hub --nodes {count}" for count in nodes)):
            yield Case(f"bench reduce --cluster {cluster} --by {way} --sizes 32,1K,64K", True)


def smi() -> Iterator[Case]:
    """Messages of every size of element, distance and way of switching; every collective in every tree and order; in switches, too."""
    noctua = "smi-noctua"
    for cluster, arities in ((noctua, (0, 2)), ("smi-noctua-bus", (0, 2)), ("smi-torus-8x8", (2, 4))):
        quick, sizes = cluster == noctua, "--sizes 64,4K"
        for element, senders in itertools.product(("char", "int", "double"), (1, 4)):
            yield Case(f"bench push --cluster {cluster} --element {element} --senders {senders} {sizes}", quick)
        for operation, switching in itertools.product(
            ("push", "latency"), ("packet", "circuit", "circuit --circuit-packets 7")
        ):
            yield Case(f"bench {operation} --cluster {cluster} --switching {switching} --hops 2 {sizes}", quick)
        yield Case(f"bench injection --cluster {cluster} --messages 500", quick)
        for arity in arities:
            yield Case(f"bench broadcast --cluster {cluster} --arity {arity} --root 3 {sizes}", quick)
            for order in ("one", "any"):
                yield Case(f"bench reduce --cluster {cluster} --arity {arity} --{order}-order --root 3 {sizes}", quick)
        for collective in ("scatter", "gather"):
            yield Case(f"bench {collective} --cluster {cluster} --root 3 {sizes}", quick)
    for collective in ("broadcast", "reduce", "scatter", "gather"):
        yield Case(f"bench {collective} --cluster {noctua} --in-switch mpi-fpga-torus-2x2x2 --sizes 8,1K,64K", True)


SYSTEMS: Mapping[str, Callable[[], Iterable[Case]]] = {"mpi_fpga": mpi_fpga, "peach2": peach2, "smi": smi}

KEPT = (
    "share",
    "job",
    "function",
    "algorithm",
    "bytes",
    "load",
    "bit_error_rate",
    "calls",
    "time_kernel_us",
    "time_host_us",
    "time_whole_us",
    "time_alone_us",
    "time_together_us",
    "virtual_time_us",
    "time_us",
    "packets",
    "cycles",
    "flit_hops",
    "router_cycles",
    "max_latency_cycles",
    "average_latency_cycles",
    "goodput",
    "flits",
)
"""Those of a result's fields that time decides, and those that say of what."""


def _value(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _rows(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a result as JSON: the whole of a run, and what it lists."""
    if "rows" not in result:
        yield result
    for listed in ("rows", "jobs", "collectives", "links"):
        for row in result.get(listed, []):
            if listed == "jobs":
                yield from _rows(row)
            else:
                yield row


def _command(words: list[str]) -> tuple[int, str]:
    """Exit code and what is said of what went wrong, of a command in this process: a start takes longer than most."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = cli.main(words)
    return code, said.getvalue()


def _process(words: list[str]) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "thalweg", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def measured(command: str, programs: Mapping[str, Path]) -> list[str]:
    """What a command measures, a line for each row of its result; what it says, where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        front, *behind = command.split(" -- ")
        words = [*shlex.split(front), "--json", str(file)]
        if behind:
            words += ["--", *(str(programs.get(word, word)) for word in shlex.split(behind[0]))]
        code, said = _command(words) if words[0] == "bench" else _process(words)
        if not file.exists():
            return [f"exit code {code}: {said.strip()}"]
        return [
            " ".join(f"{name}={_value(row[name])}" for name in KEPT if row.get(name) is not None)
            for row in _rows(json.loads(file.read_text()))
        ]


def read(system: str) -> dict[str, list[str]]:
    """The lines of each command."""
    found: dict[str, list[str]] = {}
    for line in (FILES / f"{system}.txt").read_text().splitlines():
        if line.startswith("$ thalweg "):
            lines = found.setdefault(line.removeprefix("$ thalweg "), [])
        else:
            lines.append(line)
    return found


def build(folder: Path) -> dict[str, Path]:
    """The programs, by their names."""
    compiler = Path(sys.executable).with_name("mpicc")
    for name, sources in PROGRAMS.items():
        subprocess.run([compiler, "-O2", *sources, "-o", folder / name, "-lm"], check=True)
    return {name: folder / name for name in PROGRAMS}


def main(systems: list[str]) -> None:
    FILES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        programs = build(Path(folder))
        for system in systems or SYSTEMS:
            with (FILES / f"{system}.txt").open("w") as file:
                for case in SYSTEMS[system]():
                    print(
                        f"$ thalweg {case.command}", *measured(case.command, programs), sep="\n", file=file, flush=True
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
