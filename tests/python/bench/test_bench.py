# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg bench` measure right results, stay above its bounds, and refuse unmeasurable requests?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg.bench.operation import Row, parse_sizes
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import bench, bench_data, reduction
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.spec import Algorithm

KEYS = {
    "operation",
    "engine",
    "cluster",
    "ranks",
    "bytes",
    "time_kernel_us",
    "bound_kernel_us",
    "time_us",
    "bound_us",
    "verified",
}
TRAFFIC_KEYS = {"flit_hops", "router_cycles", "cycles", "cpu_s", "average_latency_cycles", "accepted_load"}

Bench = Callable[..., list[Row]]


@pytest.fixture
def measured(tmp_path: Path) -> Bench:
    """`thalweg bench WORDS`: its rows."""

    def run(*words: str) -> list[Row]:
        file = tmp_path / "rows.json"
        assert main(["bench", *words, "--json", str(file)]) == 0
        return json.loads(file.read_text())["rows"]

    return run


@pytest.mark.parametrize(
    "operation",
    bench.COLLECTIVES,
)
@pytest.mark.parametrize("cluster", ["mpi-fpga-torus-2x2x2", "torus:4x2", "ring:5"])
def test_a_collective_is_verified_and_above_its_bound(measured: Bench, operation: str, cluster: str) -> None:
    sizes = [] if operation == "barrier" else ["--sizes", "1,4,504,5000,64K"]
    rows = measured(operation, "--cluster", cluster, *sizes)
    assert all(row.keys() >= KEYS and row["verified"] for row in rows)
    assert [row["bytes"] for row in rows] == (
        [0]
        if operation == "barrier"
        else [4, 504, 5000, 65536]
        if operation in bench_data.REDUCTIONS
        else [1, 4, 504, 5000, 65536]
    )
    for row in rows:
        assert 0 < row["bound_kernel_us"] <= row["time_kernel_us"]
        assert row["time_kernel_us"] < row["time_us"]
        assert row["bound_kernel_us"] < row["bound_us"] <= row["time_us"]
        assert row["share"] == pytest.approx(row["bound_us"] / row["time_us"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "cluster", "size", "share"),
    [
        pytest.param("alltoall", "thalweg-torus-8x8", "8K", 0.85, marks=pytest.mark.long),
        pytest.param("alltoall", "thalweg-torus-4x4x4", "12K", 0.85, marks=pytest.mark.long),
        ("alltoall", "thalweg-fattree-32", "16K", 0.85),
        ("allgather", "mpi-fpga-fattree-8", "8", 0.65),
        ("allgather", "mpi-fpga-fattree-8", "1K", 0.7),
    ],
)
def test_blocks_keep_the_links_busy(measured: Bench, operation: str, cluster: str, size: str, share: float) -> None:
    (row,) = measured(operation, "--cluster", cluster, "--sizes", size)
    assert row["verified"] and row["share_kernel"] > share


def test_times_do_not_depend_on_the_data(measured: Bench) -> None:
    words = ["allreduce", "--cluster", "torus:2x2", "--sizes", "4:4K"]
    times = [[row["time_us"] for row in measured(*words, "--seed", str(seed))] for seed in range(3)]
    assert times[0] == times[1] == times[2]


@pytest.mark.parametrize("operation", ["allreduce", "alltoall", "latency"])
@pytest.mark.parametrize("cluster", ["mpi-fpga-torus-2x2x2", "torus:4x2"])
def test_results_do_not_depend_on_threads(measured: Bench, operation: str, cluster: str) -> None:
    words = [operation, "--cluster", cluster, "--sizes", "8,4K"]
    assert measured(*words) == measured(*words, "--threads", "3")


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("root", [0, -1])
def test_fewer_ranks_than_nodes_and_any_root(measured: Bench, ranks: int, root: int) -> None:
    for operation in ("broadcast", "reduce", "gather", "scatter"):
        rows = measured(
            operation, "--cluster", "torus:4x2", "--ranks", str(ranks), "--root", str(root % ranks), "--sizes", "8,1K"
        )
        assert all(row["verified"] and row["ranks"] == ranks for row in rows)


def test_sizes_that_are_no_whole_elements_are_named(measured: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measured("allreduce", "--cluster", "torus:2x2", "--sizes", "0,7,8", "--type", "int64")
    assert [row["bytes"] for row in rows] == [0, 8]
    assert capsys.readouterr().out.startswith(
        "allreduce of 4 ranks on torus:2x2: sum of int64, without 7 B, no whole int64\n"
    )


def test_no_bound_is_printed_where_none_is_proved(measured: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measured("allreduce", "--cluster", "mesh:3x3", "--sizes", "64")
    assert rows[0]["bound_kernel_us"] is None and rows[0]["bound_us"] is None and rows[0]["verified"]
    assert " - " in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["bit", "order"])
def test_wrong_results_are_seen(
    measured: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    if damage == "bit":
        honest = bench._run_collective

        def flip(*words: object) -> bench.Timed:
            timed = honest(*words)  # type: ignore[arg-type]
            timed.results[-1].view("u1")[-1] ^= 1
            return timed

        monkeypatch.setattr(bench, "_run_collective", flip)
    else:
        monkeypatch.setattr(
            reduction, "evaluate", lambda a, op, t, operands, *_: operands[::-1].sum(axis=0, dtype=operands.dtype)
        )
    assert main(["bench", "allreduce", "--cluster", "torus:4x2", "--sizes", "4K", "--type", "float32"]) == 1
    captured = capsys.readouterr()
    assert "NO" in captured.out and captured.err == "thalweg: allreduce returned wrong results at 4096\n"


def test_a_time_below_its_bound_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench.bounds, "collective_ticks", lambda *_: 1e9)
    assert main(["bench", "barrier", "--cluster", "ring:3"]) == 1
    assert "below its bound" in capsys.readouterr().err


def test_latency_grows_with_hops_and_bandwidth_meets_the_port(measured: Bench) -> None:
    near, far = (
        measured("latency", "--cluster", "mpi-fpga-torus-4x4x4", "--hops", hops, "--sizes", "8")[0]
        for hops in ("1", "6")
    )
    assert far["time_kernel_us"] - near["time_kernel_us"] == pytest.approx(5 * (0.440 + 4 * 0.004), abs=5 * 0.004)
    row = measured("bandwidth", "--cluster", "mpi-fpga-torus-2x2x2", "--sizes", "64K")[0]
    # 64 Gb/s at the port, 504 bytes of payload in packets of 512, and a gap of the router's pipeline after each packet.
    assert 0.8 * 64 < row["gbit_per_s"] <= 64 * 504 / 512


def test_traffic_row(measured: Bench) -> None:
    row = measured("traffic", "--cluster", "torus:4x4", "--packet", "8", "--load", "0.2", "--cycles", "20000")[0]
    assert row.keys() >= TRAFFIC_KEYS and row["verified"]
    assert row["cycles"] == 20000 and row["router_cycles"] == 16 * 20000
    assert row["accepted_load"] == pytest.approx(0.2, rel=0.05)
    # Uniform traffic on a 4x4 torus takes 2 hops on average, the source itself included.
    assert row["flit_hops"] == pytest.approx(0.2 * 2 * 16 * 20000, rel=0.05)


@pytest.mark.slow
@pytest.mark.long
def test_traffic_of_more_nodes_than_the_network_header_names(measured: Bench) -> None:
    """Its average path from a node to any, including itself, is 12 links in each of three dimensions."""
    words = ["traffic", "--cluster", "torus:48x48x48", "--load", "0.01", "--warmup", "300", "--cycles", "300"]
    (row,) = measured(*words)
    assert row["verified"] and row["ranks"] == 48**3
    assert row["average_hops"] == pytest.approx(36, rel=0.02)


def test_sweep_ends_at_saturation(measured: Bench, tmp_path: Path) -> None:
    rows = measured(
        "traffic", "--cluster", "ring:4", "--load", "sweep", "--cycles", "4000", "--plot", str(tmp_path / "sweep.svg")
    )
    loads = [row["load"] for row in rows]
    assert loads == sorted(loads) and loads[0] == 0.05
    saturated = [row for row in rows if row.get("saturation")]
    assert len(saturated) == 1
    beyond = [row for row in rows if row["load"] > saturated[0]["load"]]
    limit = 3 * rows[0]["average_latency_cycles"]
    assert saturated[0]["average_latency_cycles"] <= limit
    assert all(not row["complete"] or row["average_latency_cycles"] > limit for row in beyond)
    assert (tmp_path / "sweep.svg").read_text().startswith("<?xml")


def test_axes_of_a_plot_have_plain_numbers(measured: Bench, tmp_path: Path) -> None:
    """Also for times within a decade, from 1.4 to 4.7 us, where matplotlib's own labels are of the form 2 x 10^0."""
    picture = tmp_path / "plot.svg"
    measured("allreduce", "--cluster", "mpi-fpga-torus-2x2x2", "--sizes", "8,16K", "--plot", str(picture))
    labels = re.findall("<!-- (.*) -->", picture.read_text())  # matplotlib's, before each text that it draws
    assert labels[: labels.index("time in µs")] == ["8", "16K", "bytes", "2", "5"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["allredoce"], "No such command 'allredoce'"),
        (["allreduce"], "Missing option '--cluster'"),
        (["allreduce", "--cluster", "toros:4x4"], "toros:4x4"),
        (["allreduce", "--cluster", "ring:4", "--ranks", "5"], "5 ranks do not fit"),
        (["allreduce", "--cluster", "ring:4", "--sizes", "4:x"], "'x' is not a size"),
        (["allreduce", "--cluster", "ring:4", "--sizes", "8:4"], "contains no size"),
        (
            ["allreduce", "--cluster", "ring:4", "--sizes", "3", "--type", "float32"],
            "no size is a multiple of the 4 bytes",
        ),
        (["allreduce", "--cluster", "ring:4", "--op", "bxor", "--type", "float64"], "float64 has no bxor"),
        (["allreduce", "--cluster", "ring:4", "--engine", "magic"], "'magic' is not"),
        (
            ["allgather", "--cluster", "ring:3", "--algorithm", "exchange"],
            "allgather of 3 ranks on ring:3 has no exchange; it has tree",
        ),
        (
            ["reduce_scatter", "--cluster", "ring:3", "--algorithm", "halving"],
            "3 ranks on ring:3 has no halving; it has tree",
        ),
        (["allgather", "--cluster", "torus:8x8", "--sizes", "4G"], "GiB of buffers"),
        (["scan", "--cluster", "torus:13x13", "--sizes", "8"], "scan of 169 ranks on torus:13x13 is not supported"),
        (["broadcast", "--cluster", "ring:4", "--root", "4"], "root is 4"),
        (["broadcast", "--cluster", "ring:4", "--threads", "5"], "ring:4 has 1 to 4"),
        (
            ["broadcast", "--cluster", "ring:4", "--threads", "2", "--faults", "bit_error_rate=1e-6"],
            "a simulation with link faults has one thread",
        ),
        (
            ["broadcast", "--cluster", "ring:4", "--threads", "2", "--engine", "rtl"],
            "a simulation with RTL has one thread",
        ),
        (["broadcast", "--cluster", "ring:4", "--op", "sum"], "No such option"),
        (["barrier", "--cluster", "ring:4", "--sizes", "4"], "No such option"),
        (["latency", "--cluster", "ring:4", "--hops", "3"], "no node is 3 hops"),
        (["traffic", "--cluster", "ring:4", "--load", "1.5"], "'1.5' is not a load"),
        (["traffic", "--cluster", "ring:4", "--load", "nan"], "'nan' is not a load"),
        (["faults", "--cluster", "ring:4", "--rates", "nan"], "'nan' is not a list of bit error rates"),
        (["traffic", "--cluster", "ring:4", "--packet", "3"], "'3' is not"),
        (
            ["traffic", "--cluster", "ring:4", "--cycles", "9", "--warmup", "0", "--load", "0.001"],
            "no packet is created",
        ),
        (["traffic", "--cluster", "ring:4", "--cycles", "9", "--load", "sweep"], "a node creates less than one packet"),
        (["traffic", "--cluster", "ring:3", "--pattern", "transpose"], "transpose"),
        (["allreduce", "--cluster", "ring:4", "--json", "/nowhere/x.json"], "/nowhere"),
        (["allreduce", "--cluster", "ring:4", "--plot", "x.gif"], "unknown format"),
    ],
)
def test_bad_input_gets_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert line in captured.err and captured.err.count("\n") == 1 and captured.err.startswith("thalweg: ")


@given(first=st.integers(1, 1 << 20), factor=st.integers(1, 4096))
def test_ranges_double(first: int, factor: int) -> None:
    sizes = parse_sizes(f"{first}:{first * factor}")
    assert sizes[0] == first and sizes[-1] <= first * factor < 2 * sizes[-1]
    assert all(b == 2 * a for a, b in zip(sizes, sizes[1:], strict=False))


@pytest.mark.slow
@given(st.text(max_size=12))
def test_any_text_is_sizes_or_one_line(text: str) -> None:
    try:
        assert all(0 <= size <= 1 << 32 for size in parse_sizes(text))
    except InputError as error:
        assert str(error)


@settings(max_examples=25, deadline=None)
@given(
    ranks=st.integers(1, 8),
    size=st.integers(1, 80).map(lambda n: 16 * n),
    seed=st.integers(0, 1000),
    kind=st.sampled_from([(t, op) for t, ops in bench.OPERATORS.items() for op in sorted(ops)]),
    algorithm=st.sampled_from(["tree", "exchange"]),
)
def test_every_reduction_is_in_its_documented_order(
    ranks: int, size: int, seed: int, kind: tuple[Datatype, Operator], algorithm: str
) -> None:
    plan = bench.CollectivePlan(
        Cluster.load("torus:4x2"), "allreduce", ranks, [size], algorithm, kind[1], kind[0], seed=seed
    )
    one = next(bench.measure_collective(plan))
    assert one.verified and one.own["algorithm"] == algorithm


@pytest.mark.parametrize("operation", ["scan", "exscan", "reduce_scatter"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 6, 7, 8])
def test_the_other_reductions_are_in_their_documented_order(measured: Bench, operation: str, ranks: int) -> None:
    words = [operation, "--cluster", "torus:4x2", "--ranks", str(ranks), "--sizes", "4K", "--type", "float32"]
    assert measured(*words)[0]["verified"]
    if operation == "reduce_scatter" and ranks in (2, 8):
        row = measured(*words, "--algorithm", "halving")[0]
        assert row["verified"] and row["algorithm"] == "halving"


def test_short_allreduce_exchanges_and_long_does_not_lose(measured: Bench) -> None:
    words = ["allreduce", "--cluster", "mpi-fpga-torus-2x2x2", "--sizes", "8,256K"]
    chosen = measured(*words)
    fixed = [measured(*words, "--algorithm", name) for name in ("tree", "exchange")]
    for row, *others in zip(chosen, *fixed, strict=True):
        assert row["time_kernel_us"] == min(other["time_kernel_us"] for other in others)
    assert Algorithm[chosen[0]["algorithm"].upper()] in Algorithm


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["thalweg-torus-8x8", "thalweg-torus-4x4x4"])
def test_small_exchanges_end_after_the_diameter(measured: Bench, cluster: str) -> None:
    """The bound is the network diameter in time; for an allreduce, plus a lane."""
    (barrier,) = measured("barrier", "--cluster", cluster)
    (allreduce,) = measured("allreduce", "--cluster", cluster, "--sizes", "8")
    for row in (barrier, allreduce):
        assert row["verified"] and row["algorithm"] == "exchange"
        assert row["time_kernel_us"] <= 1.3 * row["bound_kernel_us"]


@pytest.mark.long
def test_a_long_allreduce_fills_a_fat_trees_link(measured: Bench) -> None:
    (row,) = measured("allreduce", "--cluster", "thalweg-fattree-32", "--sizes", "1M")
    assert row["verified"] and row["share_kernel"] > 0.94


def test_a_message_over_a_long_link_is_right(measured: Bench, tmp_path: Path) -> None:
    """Credits return long after it has arrived."""
    file = tmp_path / "long.toml"
    file.write_text('[topology]\nshape = "torus"\nsize = [2, 2]\n[link]\nlatency_ns = 3000\n')
    (row,) = measured("latency", "--cluster", str(file), "--sizes", "8")
    assert row["verified"] and row["time_kernel_us"] >= 3


@pytest.mark.parametrize("operation", ["allreduce", "alltoall"])
def test_fabrics_side_by_side_give_the_same_rows(operation: str) -> None:
    plan = bench.CollectivePlan(Cluster.load("torus:3x2"), operation, 6, [8, 512, 4096, 65536])
    heard: list[float] = []
    one, three = list(bench.measure_collective(plan)), list(bench.measure_collective(plan, heard.append, 3))
    assert one == three
    assert [one.bytes for one in three] == plan.sizes
    assert heard[-1] == pytest.approx(1.0)


def test_auto_is_the_fastest_of_all_algorithms(measured: Bench) -> None:
    for size in ("8", "4096"):
        times = {
            name: measured("allreduce", "--cluster", "torus:3x3", "--sizes", size, "--algorithm", name)[0][
                "time_kernel_us"
            ]
            for name in ("tree", "exchange", "trees", "ring")
        }
        (auto,) = measured("allreduce", "--cluster", "torus:3x3", "--sizes", size)
        assert auto["time_kernel_us"] == min(times.values()) == times[auto["algorithm"]]
