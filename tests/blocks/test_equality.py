# SPDX-License-Identifier: Apache-2.0
"""Does every hardware module behave, cycle by cycle, like its C++ twin? Random stimuli; docs/equality.md describes the
method.

A failure names the seed of the run; THALWEG_SEED=<seed> restarts there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from thalweg.launch.locks import alone
from thalweg.rtl.project import Block, ParameterSet, Project, Result

PROJECT = Project(Path(__file__).parents[2])
VARIANTS = [
    pytest.param(block, parameters, id=f"{block.name}-{parameters.name}", marks=[pytest.mark.long] * parameters.long)
    for block in PROJECT.modelled_blocks()
    for parameters in block.sets
]
QUICK = [variant for variant in VARIANTS if not variant.values[1].long]
CYCLES = 10_000
ENOUGH = 200  #: runs, to include every load and pause of a stimulus


def _chosen(request: pytest.FixtureRequest, fixture: str) -> list[tuple[Block, ParameterSet]]:
    """The variants of the chosen tests that have the fixture."""
    tests = [
        item for item in request.session.items if isinstance(item, pytest.Function) and fixture in item.fixturenames
    ]
    cases = [test.callspec.params for test in tests if hasattr(test, "callspec")]
    return [(case["block"], case["parameters"]) for case in cases if "block" in case]


@pytest.fixture(scope="session")
def programs(testrun_uid: str, request: pytest.FixtureRequest) -> Project:
    """Those of the chosen tests, built once per test run, by the first worker: all modules are elaborated for this, even if
    nothing has to be compiled."""
    chosen, fifo = _chosen(request, "programs"), PROJECT.block("common/fifo")
    if (fifo, quick(fifo)) not in chosen:
        chosen.append((fifo, quick(fifo)))
    folder = PROJECT.build / "brought_up_to_date"
    with alone(folder):
        run = folder / "run"
        if not run.exists() or run.read_text() != testrun_uid:
            PROJECT.build_tests(chosen)
            run.write_text(testrun_uid)
    return PROJECT


@pytest.fixture(scope="session")
def all_programs(request: pytest.FixtureRequest) -> Project:
    """The programs of the chosen tests: those of one system with --system."""
    PROJECT.build_tests(_chosen(request, "all_programs"))
    return PROJECT


def equal(project: Project, block: Block, parameters: ParameterSet, runs: int, first: int) -> Result:
    result = project.run(block, parameters, runs, CYCLES, first)
    print(f"seeds {first} to {first + runs - 1}, {result.total_cycles} cycles")
    assert result.difference is None, f"{result.difference}; see {result.report}"
    assert result.total_cycles == runs * CYCLES
    return result


def never_moved(*results: Result) -> list[str]:
    return sorted(name for name in results[0].ports if not any(result.ports[name].activity for result in results))


def check(project: Project, block: Block, parameters: ParameterSet, runs: int, first: int) -> None:
    result = equal(project, block, parameters, runs, first)
    silent, expected = never_moved(result), sorted(parameters.silent)
    if runs < ENOUGH and set(silent) > set(expected):
        print(f"{runs} runs have no load that moves {silent}")
        silent = never_moved(result, equal(project, block, parameters, ENOUGH, first + runs))
    assert silent == expected, f"the stimulus never moved {silent}: equality there says nothing"


@pytest.mark.sample(6)
@pytest.mark.slow
@pytest.mark.parametrize(("block", "parameters"), QUICK)
def test_equal(programs: Project, block: Block, parameters: ParameterSet, seed: int) -> None:
    check(programs, block, parameters, 20, seed)


@pytest.mark.long
@pytest.mark.parametrize(("block", "parameters"), VARIANTS)
def test_equal_in_many_runs(all_programs: Project, block: Block, parameters: ParameterSet, seed: int) -> None:
    check(all_programs, block, parameters, ENOUGH, seed)


def quick(block: Block) -> ParameterSet:
    return next(parameters for parameters in block.sets if not parameters.long)


@pytest.mark.slow
def test_a_seed_is_a_run(programs: Project) -> None:
    """The same seed makes the same run, bit by bit; another seed makes another run."""
    block = programs.block("common/fifo")
    first, again, other = (programs.run(block, quick(block), 3, 1000, seed).ports for seed in (7, 7, 8))
    assert first == again
    assert all(first[name].hash != other[name].hash for name in first)


@pytest.mark.slow
def test_the_prelude_is_read_compiled(programs: Project) -> None:
    """GCC ignores it silently if flags differ; then it is among the files read."""
    block = programs.block("common/fifo")
    compiled = programs.program(block, quick(block)).with_name("test.o")
    ninja = [sys.executable, "-m", "ninja", "-f", programs.build / "model.ninja", "-t", "deps", compiled]
    read = subprocess.run(ninja, text=True, stdout=subprocess.PIPE, check=True).stdout
    assert read.count("(VALID)") == 1
    assert "prelude" not in read


@pytest.mark.sample(3)
@pytest.mark.parametrize(("block", "parameters"), VARIANTS)
def test_lint(block: Block, parameters: ParameterSet) -> None:
    assert PROJECT.lint(block, parameters) == ""


@pytest.mark.long
@pytest.mark.parametrize("folder", sorted(path.parent.name for path in PROJECT.root.glob("rtl/*/lint.vlt")))
def test_every_waiver_is_needed(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of a system's lint.vlt: a signal that it names is unused in some parameter set."""
    monkeypatch.setattr("thalweg.rtl.project.waivers", lambda root, _: [root / "rtl/lint.vlt"])
    said = "".join(
        PROJECT.lint(block, parameters)
        for block in PROJECT.blocks()
        if block.folder == folder
        for parameters in block.sets
    )
    lines = (PROJECT.root / "rtl" / folder / "lint.vlt").read_text().splitlines()
    waived = [line.split('"') for line in lines if line.startswith("lint_off")]
    assert waived
    for rule, file, _, message, _ in waived:
        kind, name = rule.split()[2], message.strip("*")
        pattern = rf"%Warning-{kind}: \S*{re.escape(file.removeprefix('*'))}:[^\n]*{re.escape(name)}"
        assert re.search(pattern, said), f"{kind} of {file}, {name} is not reported"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "wrong", "complaint"),
    [
        ("common/fifo", {"Depth": 0}, "Depth must be at least 1"),
        ("common/fifo", {"Width": 0}, "Width must be at least 1"),
        ("common/skid", {"Width": 0}, "Width must be at least 1"),
        ("common/async_fifo", {"Depth": 12}, "power of two, at least 2"),
        ("common/async_fifo", {"Depth": 1}, "power of two, at least 2"),
        ("common/async_fifo", {"Stages": 1}, "Stages must be at least 2"),
        ("common/level_sync", {"Width": 0}, "Width must be at least 1"),
        ("common/reset_sync", {"Stages": 1}, "Stages must be at least 2"),
        ("common/arbiter", {"Inputs": 0}, "Inputs must be at least 1"),
        ("common/crc32", {"Width": 0}, "Width must be at least 1"),
        ("ethernet/frame_fifo", {"Depth": 24}, "Depth must be a power of two"),
        ("ethernet/frame_fifo", {"Depth": 16, "Room": 15}, "Room must be 1 to Depth - 2"),
        ("ethernet/frame_arbiter", {"Inputs": 1}, "Inputs must be at least 2"),
        ("ethernet/udp_sender", {"Words": 128}, "Words must have room for a frame of MostBytes"),
        ("ethernet/udp_sender", {"MostBytes": 65508, "Words": 2048}, "MostBytes must be at most 65507"),
        ("ethernet/udp_receiver", {"CountBits": 3}, "Bits must be even, at least 2"),
        ("ethernet/answers", {"FrameWords": 63}, "Words at least FrameWords + 2"),
        ("link/replay", {"Width": 0}, "Width must be at least 1"),
        ("link/replay", {"Window": 12}, "power of two"),
        ("link/replay", {"Window": 8, "Slack": 8}, "Slack must be below Window"),
        ("link/replay", {"DownCycles": 0}, "DownCycles must be at least 1"),
        ("link/replay_codec", {"Width": 0}, "Width must be at least 1"),
        ("link/replay_codec", {"SequenceBits": 1}, "SequenceBits must be at least 2"),
        ("link/replay_codec", {"Vcs": 17}, "1 to 16 virtual channels"),
        ("link/replay_codec", {"CountBits": 0}, "CountBits must be at least 1"),
        ("link/flow", {"Depth": 0}, "Depth must be at least 1"),
        ("link/flow", {"PeerDepth": 0}, "PeerDepth must be at least 1"),
        ("link/flow", {"Credits": 0, "Depth": 4, "MarginFlits": 4}, "MarginFlits must be below Depth"),
        ("link/rate", {"Flits": 0}, "Flits must be at least 1"),
        ("link/rate", {"Flits": 4, "Cycles": 3}, "Cycles at least Flits"),
        ("reduce/lane", {"Latency": 0}, "Latency must be at least 1"),
        ("reduce/lane", {"Pairs": "512'h0"}, "Pairs must name one at least"),
        ("reduce/lane", {"Pairs": "512'h4"}, "the specification does not support"),
        ("reduce/lane", {"Pairs": "512'h2000"}, "a type of another size than UserBytes"),
        ("switch/route", {"LinkPorts": 64}, "64 ports at most"),
        ("switch/route", {"Vcs": 17, "VcMask": "68'h0"}, "1 to 16 virtual channels"),
        ("switch/route", {"MessageClasses": 3, "VcMask": "24'h0"}, "1 or 2 message classes"),
        ("switch/route", {"Nodes": 0}, "1 to 65536 nodes"),
        ("switch/vc_router", {"BufferFlits": 0}, "Depth must be at least 1"),
    ],
)
def test_wrong_parameters_are_refused(name: str, wrong: dict[str, int | str], complaint: str) -> None:
    assert complaint in PROJECT.lint(PROJECT.block(name), ParameterSet("wrong", wrong))
