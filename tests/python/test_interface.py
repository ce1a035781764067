# SPDX-License-Identifier: Apache-2.0
"""Does `import thalweg` give the same results as the commands, and is its page correct?"""

from __future__ import annotations

import doctest
import inspect
import json
import multiprocessing
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import thalweg
from thalweg.bench import operation, sweep
from thalweg.errors import InputError
from thalweg.peach2 import Hubs
from thalweg.smi import Run
from thalweg.systems.mpi_fpga import SYSTEM, runs
from thalweg.systems.mpi_fpga.operations import OPERATIONS
from thalweg.systems.mpi_fpga.reproduce import reproduce

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python.md"
TORUS = "mpi-fpga-torus-2x2x2"


def written(folder: Path, name: str, *words: str) -> Any:
    """The output of a command with --json, without its origin."""
    file = folder / "rows.json"
    command = [sys.executable, "-m", "thalweg", *name.split(), "--cluster", TORUS, "--json", file, *words]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads(file.read_text())
    del found["thalweg"]
    return found.get("rows", found)


@pytest.mark.slow
def test_the_examples_of_the_page_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = re.sub("^```.*$", "", PAGE.read_text(), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 10
    said: list[str] = []
    doctest.DocTestRunner().run(examples, out=said.append)
    assert said == []


def test_the_page_names_all_functions() -> None:
    assert sorted(re.findall(r"^\| `(\w+)\(", PAGE.read_text(), re.MULTILINE)) == thalweg.__all__


COMMANDS = {
    **{f"bench {name}": (SYSTEM.operations, OPERATIONS[name].plan) for name in SYSTEM.operations},
    "run": (SYSTEM.commands, runs.run),
    "reproduce": (SYSTEM.commands, reproduce),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_has_the_options_of_its_command(name: str) -> None:
    table, function = COMMANDS[name]
    short = name.removeprefix("bench ")
    parameters = inspect.signature(function).parameters
    known = OPERATIONS[short].options if short in OPERATIONS else [each.name for each in operation.listed(function)]
    command = SYSTEM.command(table, short)
    options = {max(o.opts, key=len)[2:].replace("-", "_"): o for o in command.params if isinstance(o, click.Option)}
    files = {"cluster", "faults", "plot", "json", "trace", "report"}
    only = {"engine"} if name == "bench traffic" else set()  # it has one
    assert options.keys() - files - only == set(known) - {"record"}

    def default(option: click.Option, value: Any) -> Any:
        """The default as the command parses it; a text is converted to its value."""
        if isinstance(value, tuple) and not option.multiple:
            value = ",".join(map(str, value))
        made = option.type_cast_value(click.Context(command), value) if value and isinstance(value, str) else value
        return made or None

    for of in set(known) - {"record"}:
        assert default(options[of], parameters[of].default) == default(
            options[of], options[of].to_info_dict()["default"]
        )


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys, thalweg; print(*(name for name in sys.modules if name.startswith(('thalweg', 'numpy', 'click'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["thalweg"]
    measured = "thalweg.measure('barrier', 'mpi-fpga-torus-2x2x2'); thalweg.measure('put', 'peach2-ring-4', sizes=64)"
    heavy = "{'networkx', 'matplotlib', 'pandas'}"  # half of a short command's time
    code = f"import sys, thalweg; {measured}; print(*sys.modules.keys() & {heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_no_function_has_the_name_of_a_package() -> None:
    assert not {module.name for module in pkgutil.iter_modules(thalweg.__path__)} & set(thalweg.__all__)
    assert all(callable(getattr(thalweg, name)) for name in thalweg.__all__)


def test_measure_gives_the_rows_of_the_command(tmp_path: Path) -> None:
    words = ["--ranks", "7", "--sizes", "8,64", "--algorithm", "tree", "--placement", "random:3"]
    rows = written(tmp_path, "bench reduce", *words, "--root", "5", "--op", "max")
    options: dict[str, Any] = {"ranks": 7, "sizes": [8, 64], "algorithm": "tree", "placement": "random:3"}
    assert thalweg.measure("reduce", TORUS, **options, root=5, op="max") == rows


@pytest.mark.slow
def test_run_gives_the_report_of_the_command(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); MPI.COMM_WORLD.bcast(7)"]
    words = ["-n", "4", "--compute", "none", "--algorithm", "barrier=tree", "--instances"]
    data = written(tmp_path, "run", *words, "--", *program)
    report = thalweg.run(program, TORUS, ranks=4, compute="none", algorithm="barrier=tree", instances=True)
    assert report.as_json() == data
    assert ["tree"] in [row["algorithms"] for row in report.collectives if row["function"] == "MPI_Barrier"]
    plain(report.collectives + report.links + data["instances"])


@pytest.mark.slow
def test_a_program_that_fails_is_in_the_report() -> None:
    report = thalweg.run([sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); exit(3)"], ranks=2)
    assert (report.exit_code, report.complaint) == (3, [])
    report = thalweg.run(
        [sys.executable, "-c", "from mpi4py import MPI; w = MPI.COMM_WORLD; w.rank or w.Recv(bytearray(1), 1)"], ranks=2
    )
    assert report.exit_code == 124
    assert "rank 0" in " ".join(report.complaint)


def plain(rows: list[Any]) -> None:
    """Checks that a table accepts the rows."""
    assert rows
    for value in (value for row in rows for value in row.values()):
        assert type(value) in (str, int, float, bool, list, type(None)), value


def test_a_sweep_is_its_benches() -> None:
    clusters, algorithms = ["torus:2x2", TORUS], ["tree", "exchange"]
    rows = thalweg.sweep(["reduce", "allreduce"], clusters, sizes="8,64", algorithm=["tree"], seed=[1, 2])
    assert rows == [
        {"seed": seed, **row}
        for name in ("reduce", "allreduce")
        for of in clusters
        for seed in (1, 2)
        for row in thalweg.measure(name, of, sizes=[8, 64], algorithm="tree", seed=seed)
    ]
    rows = thalweg.sweep("allreduce", clusters, sizes=8, algorithm=algorithms)
    assert [(row["cluster"], row["algorithm"]) for row in rows] == [(of, by) for of in clusters for by in algorithms]
    plain(rows)


def test_numpys_numbers_are_pythons() -> None:
    rows = thalweg.sweep("reduce", TORUS, sizes=np.array([8, 64]), ranks=list(np.arange(4, 6)), root=np.int64(3))
    assert rows == thalweg.sweep("reduce", TORUS, sizes=[8, 64], ranks=[4, 5], root=3)
    plain(rows)
    plain(thalweg.measure("traffic", TORUS, load=np.float32(0.25), cycles=np.uint32(10_000)))
    far = thalweg.load(TORUS).replace(link={"latency_ns": np.float64(300)}, topology={"size": np.array([4, 2])})
    assert (far.name, far.topology.hosts) == (f"{TORUS} with link.latency_ns = 300 and topology.size = [4, 2]", 8)


def test_a_sweep_uses_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three plans, each of which ends when all have begun."""
    barrier = multiprocessing.get_context("fork").Barrier(3)

    def measure(progress: operation.Progress, workers: int) -> list[operation.Measured]:
        barrier.wait(60)
        return [operation.Measured(0, 1.0, None, True, {"process": os.getpid(), "workers": workers})]

    monkeypatch.setattr(sweep, "cores", lambda: 3)
    done: list[float] = []
    plans = [operation.Plan(thalweg.load("ring:3"), "", "", "", measure) for _ in range(3)]
    rows = [row for rows in sweep.measure(plans, done.append) for row in rows]
    assert len({row["process"] for row in rows} - {os.getpid()}) == 3
    assert {row["workers"] for row in rows} == {1}
    assert done == [1 / 3, 2 / 3, 1.0]


@pytest.mark.parametrize(
    ("name", "measured", "more"),
    [("peach2-ring-4", "put", 500), ("smi-noctua", "push", 1000), (TORUS, "latency", -200)],
)
def test_any_value_of_a_cluster_can_be_another(name: str, measured: str, more: int) -> None:
    """Data that cross a link are delayed by the link's additional latency."""
    cluster = thalweg.load(name)
    (link,) = getattr(cluster, "links", {"": getattr(cluster, "values", None)}).values()
    latency = getattr(link, "link", link).latency_ns + more
    far = cluster.replace(link={"latency_ns": latency})
    near, other = thalweg.sweep(measured, [cluster, far], sizes=[8])
    time = "time_kernel_us" if name == TORUS else "time_us"
    assert other[time] - near[time] == pytest.approx(more / 1e3, abs=0.005)
    assert (near["cluster"], other["cluster"]) == (name, f"{name} with link.latency_ns = {latency:g}")
    assert far.replace(topology={"size": [2, 4] if name == "smi-noctua" else [4]}).topology.hosts > 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"link": {"latency_ns": -1}}, r"latency_ns is -1; it should be greater"),
        ({"link": {"latncy_ns": 1}}, r"'latncy_ns' is not a key in \[link[.\w]*\]; did you mean 'latency_ns'"),
        ({"links": {"latency_ns": 1}}, r"'links' is not a key in a cluster file; did you mean 'link'"),
        ({"link": 1}, r"link is 1; it should be a table"),
        ({"link": {"latency_ns": "far"}}, r'latency_ns is "far"; it should be a valid number'),
        ({"topology": {"shape": "knot"}}, r'topology.shape is "knot"'),
        ({"base": "plain.toml"}, r"base is 'plain.toml'; replace\(\) cannot change the base"),
    ],
)
@pytest.mark.parametrize("name", ["peach2", "smi-noctua", TORUS])
def test_other_values_are_checked(name: str, values: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        thalweg.load(name).replace(**values)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: thalweg.measure("allreduce", "torus:4x4", size=8), "allreduce has no option 'size'; it has engine, "),
        (lambda: thalweg.run("./program"), "a command is a list of words, such as ['./program']"),
        (lambda: thalweg.measure("alreduce", "torus:4x4"), "mpi-fpga has no alreduce; it has barrier, "),
        (lambda: thalweg.measure("allreduce", "torus:4x4", sizes="8", algorithm="trie"), "unknown algorithm 'trie'; "),
        (lambda: thalweg.sweep("allreduce", ["torus:4x4", "taurus:4x4"]), "'taurus:4x4' is neither a preset, "),
        (lambda: thalweg.sweep("allreduce", "torus:4x4", algorithm=["tree", "trie"]), "unknown algorithm 'trie'; "),
        (lambda: thalweg.measure(["put"], "peach2"), "peach2 has no ['put']; it has put, "),
        (
            lambda: thalweg.measure("put", "peach2", sizes=None),
            "sizes of put is None; its type is str | int | Sequence[",
        ),
        (lambda: thalweg.measure("put", "peach2", sizes=[8, 16.0]), "sizes of put is [8, 16.0]; its type is str | "),
        (lambda: thalweg.measure("put", "peach2", hops="2"), "hops of put is '2'; its type is int"),
        (lambda: thalweg.measure("put", "peach2", hops=True), "hops of put is True; its type is int"),
        (lambda: thalweg.measure("put", "peach2", hops=np.float64(1)), "hops of put is 1.0; its type is int"),
        (lambda: thalweg.measure("put", "peach2", seed=-1), "seed is -1; it must be an integer of at least 0"),
        (lambda: thalweg.measure("reduce", TORUS, root="0"), "root of reduce is '0'; its type is int"),
        (
            lambda: thalweg.measure("reduce", TORUS, reproducible="no"),
            "reproducible of reduce is 'no'; its type is bool",
        ),
        (lambda: thalweg.measure("reduce", TORUS, reproducible=1), "reproducible of reduce is 1; its type is bool"),
        (lambda: thalweg.measure("reduce", TORUS, type=8), "type of reduce is 8; its type is str | None"),
        (lambda: thalweg.measure("faults", TORUS, rates="1e-5"), "rates of faults is '1e-5'; its type is float | Seq"),
        (
            lambda: thalweg.measure("jobs", TORUS, operations="reduce"),
            "operations of jobs is 'reduce'; its type is Seq",
        ),
        (lambda: thalweg.measure("broadcast", "smi-noctua", root="0"), "root of broadcast is '0'; its type is int"),
        (lambda: thalweg.sweep("put", "peach2", hops=[1, "2"]), "hops of put is '2'; its type is int"),
        (lambda: thalweg.run(["true"], ranks="2"), "ranks of run is '2'; its type is int | None"),
        (lambda: thalweg.run(["true"], record="no"), "record of run is 'no'; its type is bool"),
        (lambda: Hubs("peach2-ring-4").nodes[0].wait_for(-1, 0), "at is -1; it must be 0 to 2^64 - 1"),
        (
            lambda: thalweg.load(TORUS).replace(faults={"seed": 1 << 63}),
            f"{TORUS} with faults.seed = 9223372036854775808: faults.seed is 9223372036854775808; it should be less than 2^63 ",
        ),
        (lambda: thalweg.run([]), "a program is missing: "),
        (lambda: thalweg.run(["true"], rank=2), "run has no option 'rank'; it has ranks, "),
        (lambda: thalweg.run(["true"], ranks=0), "ranks is 0; it must be an integer of at least 1"),
        (lambda: thalweg.run(["true"], engine="rtll"), "unknown engine 'rtll'; known are sim, "),
        (lambda: thalweg.run(["true"], compute="some"), "'some' is not valid; give measured, none, or scale:X"),
        (lambda: thalweg.run(["true"], timeout=-1), "-1 is not valid; give seconds"),
        (lambda: thalweg.run(["true"], "torus:2x2", ranks=9), "9 ranks do not fit on torus:2x2"),
        (
            lambda: thalweg.reproduce("smi-fpga"),
            "unknown paper 'smi-fpga'; known are mpi-fpga, accl, peach2, smi",
        ),
        (
            lambda: thalweg.reproduce("mpi-fpga", only="alltoall"),
            "unknown collective 'alltoall'; known are allgather, ",
        ),
        (lambda: thalweg.routes("torus:4x4", routing="shortest"), "unknown algorithm 'shortest'; known are "),
    ],
)
def test_wrong_input_is_said(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError) as wrong:
        call()
    assert str(wrong.value).startswith(said)


@pytest.mark.parametrize("cluster", ["smi-noctua", TORUS, thalweg.load("smi-noctua")])
def test_a_cluster_of_another_system_is_refused(cluster: Any) -> None:
    name = getattr(cluster, "name", cluster)
    of = "smi" if name == "smi-noctua" else "mpi-fpga"
    said = f"{name} is a cluster of {of}; give a cluster of {{}}, such as {{}}"
    with pytest.raises(InputError) as wrong:
        Hubs(cluster)
    assert str(wrong.value) == said.format("peach2", "peach2-ring-4")
    if of == "mpi-fpga":
        with pytest.raises(InputError) as wrong:
            Run(cluster)
        assert str(wrong.value) == said.format("smi", "smi-noctua-bus")
        with pytest.raises(InputError) as wrong:
            Hubs("torus:2x2")
        assert (
            str(wrong.value)
            == "'torus:2x2' is neither a preset nor a file; give a cluster of peach2, such as peach2-ring-4"
        )
    else:
        with pytest.raises(InputError) as wrong:
            Run("smi-noctua", in_switch=cluster)
        assert str(wrong.value) == said.format("mpi-fpga", "mpi-fpga-fattree-16")
