# SPDX-License-Identifier: Apache-2.0
"""Do clusters with the hardware's routers behave, cycle by cycle, like the simulator: random programs, and programs of
MPI?

A failure names the seed; THALWEG_SEED=<seed> restarts there.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fst import Waves
from programs import ROOT, Thalweg
from thalweg.rtl.project import Project
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import bench, cosim
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.rtl_engine import in_rtl, router_parameters, shared_libraries

TORUS, FAT_TREE = "mpi-fpga-torus-2x2x2", "mpi-fpga-fattree-8"
SMALL_FAT_TREE = Path(__file__).with_name("two-level-fattree.toml")
CYCLES = 10_000
SUMS = {Datatype.FLOAT64: [Operator.SUM], Datatype.INT32: [Operator.SUM]}

BIT_ERRORS = "bit_error_rate=1e-4,frames_lost=0.01,frames_duplicated=0.01"
CUT = "bit_error_rate=1e-6,down=0-1@6,silence_us=3,rebuild_us=2"


def unoptimized(root: Path | None = None) -> Project:
    """For short runs: hardware compiles in half the time."""
    project = shared_libraries(root, original=Project(ROOT))
    project.for_models = " -O0"
    return project


def check(name: str, runs: int, seed: int, faults: str | None = None) -> list[cosim.Outcome]:
    cluster = Cluster.load(name, faults)
    outcomes = list(cosim.compare(cluster, in_rtl(cluster, compares=True), seed, runs, CYCLES))
    assert len(outcomes) == runs
    assert all(outcome.cycles >= CYCLES and outcome.operations > 0 for outcome in outcomes)
    return outcomes


@pytest.mark.long
@pytest.mark.parametrize(("name", "runs"), [(TORUS, 1), (FAT_TREE, 2)])
def test_clusters_are_equal(name: str, runs: int, seed: int) -> None:
    """On the fat tree, seed 3 ended a cycle later: the simulator credited relay buffers only when it was awake."""
    check(name, runs, seed)


@pytest.fixture(scope="module")
def small_torus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """2x2 with trees that follow the links, so that they include vertices without a rank, and two units per node."""
    file = tmp_path_factory.mktemp("cluster") / "small.toml"
    base = ROOT / "clusters/base/thalweg.toml"
    file.write_text(
        f'base = "{base}"\n[topology]\nshape = "torus"\nsize = [2, 2]\n[collective]\naggregation_units = 2\n'
    )
    return str(file)


@pytest.mark.long
def test_a_small_cluster_is_equal(small_torus: str, seed: int) -> None:
    check(small_torus, 1, seed)


@pytest.mark.long
@pytest.mark.parametrize(("faults", "runs"), [(None, 4), (CUT, 1)])
def test_collective_units_are_equal(small_torus: str, faults: str | None, runs: int) -> None:
    """With sums alone in the lanes, as all operators have tests of their own; the same programs in every run."""
    cluster = cosim.with_few_rows(Cluster.load(small_torus, faults))
    hardware = in_rtl(cluster, compares=True, units=True, pairs=SUMS)
    outcomes = list(cosim.compare(cluster, hardware, 7000, runs, CYCLES, SUMS))
    assert [bool(outcome.recoveries) for outcome in outcomes] == [faults is not None] * runs


@pytest.mark.long
def test_collective_units_of_two_levels_are_equal(seed: int) -> None:
    cluster = cosim.with_few_rows(Cluster.load(SMALL_FAT_TREE))
    hardware = in_rtl(cluster, compares=True, units=True, pairs=SUMS)
    assert len(list(cosim.compare(cluster, hardware, seed, 8, CYCLES, SUMS))) == 8


@pytest.mark.long
@pytest.mark.parametrize("faults", [None, BIT_ERRORS, CUT])
def test_collective_units_are_equal_with_all_operators(faults: str | None, seed: int) -> None:
    cluster = cosim.with_few_rows(Cluster.load(TORUS, faults))
    hardware = in_rtl(cluster, compares=True, units=True)
    runs = 1 if faults else 6
    assert len(list(cosim.compare(cluster, hardware, seed, runs, CYCLES))) == runs


@pytest.mark.long
def test_a_router_that_wakes_is_compared_in_the_cycles_that_it_slept() -> None:
    """Seed 20261249: a stop bit changes while the hardware sleeps and the simulator's router waits for a channel."""
    cluster = Cluster.load(FAT_TREE)
    assert len(list(cosim.compare(cluster, in_rtl(cluster, compares=True), 20261249, 1, 2_000))) == 1


@pytest.mark.long
@pytest.mark.parametrize(("faults", "runs"), [(BIT_ERRORS, 2), (CUT, 1)])
def test_clusters_are_equal_on_links_that_fail(faults: str, runs: int, seed: int) -> None:
    """The replay stalls the router; after a cut, routers are reset and get the tables of other routes."""
    assert any(outcome.recoveries for outcome in check(TORUS, runs, seed, faults)) == (faults == CUT)


@pytest.mark.sample(6)
@pytest.mark.slow
def test_benches_take_the_same_time_where_links_fail_at_any_time(small_torus: str, seed: int) -> None:
    """A bench begins when the fabric is idle, and faults at fixed times: so the times are equal only if the hardware's
    routers become idle as early as the simulator's. Links are so short that replays need no larger margin: so the
    routers are those that other tests build."""
    draw = random.Random(seed)
    for _ in range(2):
        faults = f"bit_error_rate=1e-6,down=0-1@{draw.uniform(0.1, 6):.3f},silence_us={draw.uniform(1.8, 3):.3f}"
        faults += f",rebuild_us={draw.uniform(0, 2):.3f}"
        cluster = Cluster.load(small_torus, faults).replace(link={"latency_ns": 200})
        without = Cluster.load(small_torus)
        assert router_parameters(cluster.fabric_config()) == router_parameters(without.fabric_config())
        one, other = (
            next(iter(bench.measure_collective(bench.CollectivePlan(each, "allreduce", 4, [65536], "exchange"))))
            for each in (cluster, in_rtl(cluster, compares=False))
        )
        assert one.own["recoveries_kernel"], faults
        assert other == replace(one, own={**one.own, "engine": "rtl-routers"}), faults


@pytest.mark.long
@pytest.mark.parametrize(("name", "runs"), [(TORUS, 60), (FAT_TREE, 20)])
def test_clusters_are_equal_in_many_runs(name: str, runs: int, seed: int) -> None:
    check(name, runs, seed)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mpi-fpga-fattree-16", "mpi-fpga-fattree-28"])
def test_clusters_of_wide_switches_are_equal(name: str, seed: int) -> None:
    """Routers of 33 and 57 ports, as in every node of these clusters."""
    cluster = Cluster.load(name)
    (outcome,) = cosim.compare(cluster, in_rtl(cluster, compares=True, project=unoptimized()), seed, 1, 2_000)
    assert outcome.cycles >= 2_000 and outcome.operations > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("+:Vcs] & allowed_q[i]", "+:Vcs]", r"out_flit_o\[0\]: the simulator has"),
        (
            "endmodule",
            "  always_ff @(posedge clk_i) if (!rst_i) nothing_comes : assert (in_valid_i == '0);\nendmodule",
            r".*tw_vc_router.sv:\d+: .*nothing_comes",
        ),
    ],
    ids=["difference", "assertion"],
)
def test_a_bug_in_the_hardware_is_named(small_torus: str, tmp_path: Path, old: str, new: str, says: str) -> None:
    for folder in ("rtl", "sim", "spec", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    router = tmp_path / "rtl/switch/tw_vc_router.sv"
    router.write_text(router.read_text().replace(old, new))
    cluster = Cluster.load(small_torus)
    project = unoptimized(tmp_path)
    with pytest.raises(cosim.Difference, match=r"seed 1: cycle \d+, vc_router of node \d, " + says) as found:
        list(cosim.compare(cluster, in_rtl(cluster, compares=True, project=project), 1, 1, CYCLES))
    waves = Waves(cosim.record(cluster, found.value, CYCLES, tmp_path, project))
    if old == "endmodule":
        return
    end = 2 * found.value.cycle - 1  # the wires' values of a cycle appear after the edge of the previous one
    assert waves.end == end
    name = next(name for name in waves.names if name.startswith("TOP.out_flit_o"))
    flit = waves.value(name, end)[-262:]  # of port 0: 256 bits of data, 4 of the channel, head, tail
    assert f"the RTL {int(flit[:256], 2):064x}, channel {int(flit[256:260], 2)}" in str(found.value)


def takes_the_same_time(
    thalweg: Thalweg, osu: Path, cluster: str, engine: str, faults: str | None, ranks: int = 8
) -> None:
    words = [osu, "-m", "8:512", "-i", "1", "-x", "0", "collectives"]
    options = ("--compute", "none", *(("--faults", faults) if faults else ()))
    sim, rtl = (thalweg(ranks, cluster, words, *options, "--engine", which) for which in ("sim", engine))
    assert (sim.exit_code, rtl.exit_code) == (0, 0), rtl.stderr
    assert rtl.stdout == sim.stdout, "virtual times"
    assert rtl.stdout.count("yes") >= 7 * 15
    assert rtl.report == {**sim.report, "engine": engine}, "times, calls and links"
    assert bool(rtl.report["recoveries"]) == bool(faults)


@pytest.mark.sample(6)
@pytest.mark.slow
def test_every_collective_takes_the_same_time(thalweg: Thalweg, osu: Path, small_torus: str) -> None:
    takes_the_same_time(thalweg, osu, small_torus, "rtl-routers", None, ranks=4)


@pytest.mark.long
@pytest.mark.parametrize("faults", [None, CUT])
def test_every_collective_takes_the_same_time_on_three_dimensions(
    thalweg: Thalweg, osu: Path, faults: str | None
) -> None:
    takes_the_same_time(thalweg, osu, TORUS, "rtl-routers", faults)


@pytest.mark.long
@pytest.mark.parametrize("faults", [None, CUT])
def test_every_collective_takes_the_same_time_with_units(
    thalweg: Thalweg, osu: Path, faults: str | None, tmp_path: Path
) -> None:
    """The cluster has as many communicators as that of the random programs, so that both use the same build of the
    units."""
    few_rows = tmp_path / "few-rows.toml"
    few_rows.write_text(f'base = "{ROOT}/clusters/{TORUS}.toml"\n[collective]\ncontexts = {cosim.UNIT_CONTEXTS}\n')
    takes_the_same_time(thalweg, osu, str(few_rows), "rtl", faults)
