# SPDX-License-Identifier: Apache-2.0
"""HPCC FPGA's b_eff, compared with the paper's figures and with values computed by hand from a cluster's constants."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from thalweg import measure
from thalweg.accl import Rank, run
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.accl import b_eff
from thalweg.systems.accl.b_eff import OPERATIONS, neighbour
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.values import Array

# accl-u280-udp: a line of 12.5 GB/s, a memory of 14 GB/s and 106.7 ns, ports of 250 ns, two cables of 15 ns and a switch of 1 us.
LINE_GB, MEMORY_GB = 12.5, 14
COPY_US, LINK_US = 2 * 0.1067, 2 * 0.25 + 2 * 0.015 + 1
MEGA = 1 << 20
KERNELS = Path(__file__).parent / "kernels"


@pytest.mark.parametrize(("way", "paper"), [("streaming", 12.3), ("buffered", 6.6)])
def test_large_messages_have_the_papers_bandwidth(way: str, paper: float) -> None:
    (row,) = measure("b_eff", "accl-u280-udp", way=way, sizes="16M")
    assert row["verified"]
    assert row["gb_per_s"] == pytest.approx(paper, rel=0.03)


def test_small_messages_have_the_papers_latencies() -> None:
    """Called by kernels, less than 3 us on a direct line; the switch adds about 1 us."""
    (direct,) = measure("b_eff", "accl-u280-direct", sizes="64")
    (switched,) = measure("b_eff", "accl-u280-udp", sizes="64")
    assert direct["time_us"] < 3
    assert 2.5 < switched["time_us"] < 5
    assert switched["time_us"] - direct["time_us"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("size", [4, 64, 65_536, MEGA])
def test_hosts_take_what_the_papers_model_says(size: int) -> None:
    """Equation 1: 2 l_k + l_m + l_c, and l_k + l_c for streaming; l_k is the invocation of a kernel, 30 us."""
    link = LINK_US + size / LINE_GB / 1e3
    streaming, buffered = 30 + link, 2 * 30 + COPY_US + size / MEMORY_GB / 1e3 + link
    rows = measure("b_eff", "accl-u280-udp", by="host", way="both", sizes=str(size))
    assert [row["way"] for row in rows] == ["streaming", "buffered"]
    for row, wanted in zip(rows, (streaming, buffered), strict=True):
        assert row["time_us"] == pytest.approx(wanted, rel=0.05)
        assert row["model_us"] == pytest.approx(wanted, rel=0.02)  # headers


def test_kernels_model_has_the_processors_times() -> None:
    """l_k is 1.19 us for a send, 259 and 38 cycles of 4 ns, and 1.1 us for a receive."""
    (row,) = measure("b_eff", "accl-u280-udp", sizes="64")
    assert row["model_us"] == pytest.approx((259 + 38) * 0.004 + LINK_US + (64 + 130) / 12.5 / 1e3)
    (row,) = measure("b_eff", "accl-u280-udp", way="buffered", sizes="64")
    commands = (259 + 38 + 236 + 38) * 0.004
    assert row["model_us"] == pytest.approx(commands + COPY_US + 64 / 14e3 + LINK_US + (64 + 130) / 12.5 / 1e3)


SEGMENT_US = (1460 + 78) / 12.5 / 1e3  #: on the line, with headers of 40 bytes and the frame of 38
TRIP_US = 2 * LINK_US + 2 * (SEGMENT_US + 1460 / 64 / 322.265625)  #: of two segments, each read before it is sent
FIRST_US = 1460 / 64 / 250 + 1460 / 64 / 322.265625


@pytest.mark.parametrize(
    ("size", "segments", "waits"),
    [
        (4096, 3, 0.0),
        (16_384, 12, TRIP_US - 10 * SEGMENT_US),
        (65_536, 46, 2 * TRIP_US - 25 * SEGMENT_US),  # 10, 15 and 21 segments
        (MEGA, 730, 3 * TRIP_US - (10 + 15 + 22) * SEGMENT_US),
    ],
)
def test_the_model_of_tcp_has_slow_start(size: int, segments: int, waits: float) -> None:
    """RFC 6928 and 5681: 10 segments, and half as many more in each round trip, as every second segment is
    acknowledged. All segments count as whole, including the last one."""
    (row,) = measure("b_eff", "accl-u280-tcp-untuned", sizes=str(size))
    by_hand = (259 + 38) * 0.004 + LINK_US + segments * SEGMENT_US + FIRST_US + waits
    assert row["model_us"] == pytest.approx(by_hand, abs=SEGMENT_US)
    assert row["time_us"] == pytest.approx(row["model_us"], rel=0.05)


@pytest.mark.parametrize("size", ["4K", "64K", "1M"])
def test_the_model_holds_for_streams_over_tcp(size: str) -> None:
    (row,) = measure("b_eff", "accl-u280-tcp", sizes=size)
    assert row["time_us"] == pytest.approx(row["model_us"], rel=0.005)
    (by_host,) = measure("b_eff", "accl-u280-tcp", sizes=size, by="host")
    assert by_host["time_us"] - (259 + 38) * 0.004 == pytest.approx(by_host["model_us"], rel=0.005)


def test_the_model_of_tcp_has_one_window_in_a_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "far.toml"
    base = resource("clusters/accl-u280-tcp-untuned.toml")
    file.write_text(f'description = "far"\nbase = "{base}"\n[node.switch]\nlatency_ns = 10000\n')
    (row,) = measure("b_eff", str(file), sizes="16M")
    trip_us = TRIP_US + 2 * (10 - 1)
    assert row["model_us"] == pytest.approx(16 * MEGA * 4160 / 4096 / (44 * 1460) * trip_us, rel=0.01)
    assert row["time_us"] == pytest.approx(row["model_us"], rel=0.03)


def test_an_exchange_takes_as_long_as_each_of_many() -> None:
    """HPCC FPGA measures many consecutive exchanges, and divides."""

    def program(rank: Rank) -> float:
        mine, theirs = rank.create_buffer(np.zeros(1024, np.float32)), rank.create_buffer(1024)
        begin = rank.now_us
        for _ in range(20):
            rank.kernel().send(mine, 1024, 1 - rank.rank)
            rank.kernel().recv(theirs, 1024, 1 - rank.rank)
        return (rank.now_us - begin) / 20

    (row,) = measure("b_eff", "accl-u280-udp", way="buffered", sizes="4K")
    assert run(program, 2, buffers=200, buffer_bytes=8192).values == pytest.approx([row["time_us"]] * 2, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 4, 6, 48])
def test_a_rank_exchanges_with_both_neighbours(ranks: int) -> None:
    for phase in (0, 1):
        pairs = [neighbour(rank, ranks, phase) for rank in range(ranks)]
        assert [pairs[other] for other in pairs] == list(range(ranks))
    for rank in range(ranks):
        assert {neighbour(rank, ranks, phase) for phase in (0, 1)} == {(rank - 1) % ranks, (rank + 1) % ranks}


@pytest.mark.parametrize("cluster", ["udp", "direct", "reliable", "rdma", "tcp"])
@pytest.mark.parametrize("way", ["streaming", "buffered"])
def test_ranks_of_a_ring_do_not_slow_each_other_down(cluster: str, way: str) -> None:
    """A switch has a port for each, and mirrors are switched between the neighbours."""
    two, four = (measure("b_eff", f"accl-u280-{cluster}", way=way, ranks=ranks, sizes="64,64K") for ranks in (2, 4))
    assert all(row["verified"] for row in [*two, *four])
    assert [row["time_us"] for row in four] == pytest.approx([row["time_us"] for row in two], rel=0.02)


@pytest.mark.parametrize(("ranks", "phases"), [(2, 1), (4, 2)])
def test_each_neighbour_has_its_phase(ranks: int, phases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    met = []

    def buffered(rank: Rank, caller: Rank, other: int, mine: Array) -> object:
        met.append((rank.rank, other))
        return exchange(rank, caller, other, mine)

    exchange = b_eff._buffered
    monkeypatch.setattr(b_eff, "_buffered", buffered)
    measure("b_eff", "accl-u280-udp", ranks=ranks, way="buffered", sizes="64")
    assert len(met) == ranks * phases
    assert set(met) == {(rank, (rank + step) % ranks) for rank in range(ranks) for step in (1, -1)}


@pytest.mark.parametrize("wrong", [0, 1])
def test_wrong_data_are_not_verified(wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def buffered(rank: Rank, caller: Rank, other: int, mine: Array) -> object:
        took = exchange(rank, caller, other, mine)
        return took._replace(data=took.data + (rank.rank == wrong))

    exchange = b_eff._buffered
    monkeypatch.setattr(b_eff, "_buffered", buffered)
    (row,) = OPERATIONS["b_eff"].plan(Cluster.load("accl-u280-udp"), way="buffered", sizes="64").rows()
    assert row["verified"] is False


def test_b_eff_is_the_mean_over_the_sizes_of_all_ranks() -> None:
    rows = measure("b_eff", "accl-u280-udp", ranks=4, sizes="4:4K")
    assert len(rows) == 11
    for row in rows:
        assert row["gb_per_s"] == pytest.approx(row["bytes"] / row["time_us"] / 1e3)
        assert row["b_eff_gb_per_s"] == pytest.approx(4 * sum(each["gb_per_s"] for each in rows) / 11)


@pytest.mark.parametrize("size", [4, 64, 65_536, MEGA])
def test_host_mpi_takes_what_its_parts_take(size: int) -> None:
    """Two kernel invocations (30 us), the calls of two copies (19 us) and their bytes (14.4 GB/s), and a message (1.2
    us) with its bytes (12.1 GB/s)."""
    (row,) = measure("b_eff", "noctua2-mpi", sizes=str(size))
    assert row["verified"]
    assert row["time_us"] == pytest.approx(2 * (30 + 19 + 0.7 + size / 14.4e3) + 1.2 + size / 12.1e3, rel=0.02)


def test_a_message_of_mpi_has_the_published_latency() -> None:
    (row,) = measure("sendrecv", "noctua2-mpi", sizes="4")
    assert row["time_us"] == pytest.approx(1.2, abs=0.02)


def test_host_mpi_takes_more_than_each_way_of_the_engine() -> None:
    """Figure 4: at all sizes."""
    engine = measure("b_eff", "accl-u280-udp", by="both", way="both", sizes="64,64K,1M")
    for mpi in measure("b_eff", "noctua2-mpi", sizes="64,64K,1M"):
        assert all(mpi["time_us"] > row["time_us"] for row in engine if row["bytes"] == mpi["bytes"])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    file, picture = tmp_path / "rows.json", tmp_path / "figure.svg"
    arguments = ["bench", "b_eff", "--cluster", "accl-u280-udp", "--sizes", "64,1K", "--by", "both"]
    assert main([*arguments, "--json", str(file), "--plot", str(picture)]) == 0
    assert "model l_k + l_c, l_k = 30 us, l_c = 1.53 us + a frame's bytes / 12.5 GB/s" in capsys.readouterr().out
    assert len(json.loads(file.read_text())["rows"]) == 4
    assert "<svg" in picture.read_text()


def test_clusters_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    arguments = ["bench", "b_eff", "--cluster", "noctua2-mpi", "--beside", "accl-u280-udp", "--sizes", "64"]
    assert main([*arguments, "--way", "both", "--json", str(file)]) == 0
    said = capsys.readouterr().out
    assert "noctua2-mpi, buffered, MPI: b_eff" in said
    assert "accl-u280-udp, streaming, kernel: b_eff" in said
    rows = json.loads(file.read_text())["rows"]
    alone = measure("b_eff", "noctua2-mpi", sizes="64") + measure("b_eff", "accl-u280-udp", way="both", sizes="64")
    assert [(row["cluster"], row["way"], row["by"], row["time_us"]) for row in rows] == [
        (row["cluster"], row["way"], row["by"], row["time_us"]) for row in alone
    ]


def test_the_figure_has_points_and_dashed_models() -> None:
    figure = pytest.importorskip("matplotlib.figure")
    plan = OPERATIONS["b_eff"].plan(Cluster.load("accl-u280-udp"), by="both", sizes="64,1K")
    rows = plan.rows()
    axes = figure.Figure().subplots()
    plan.draw(axes, rows)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    lines = axes.get_lines()
    assert [line.get_label() for line in lines[:3]] == ["streaming, PL", "streaming, host", "model"]
    for by, points, model in zip(("kernel", "host"), lines[:2], lines[2:], strict=True):
        of = [row for row in rows if row["by"] == by]
        assert list(points.get_ydata()) == [row["time_us"] for row in of]
        assert list(model.get_ydata()) == [row["model_us"] for row in of]
        assert (points.get_linestyle(), model.get_linestyle()) == ("None", "--")
        assert points.get_color() == model.get_color()


def test_mirrors_that_turn_at_once_are_turned() -> None:
    cluster = Cluster.load("accl-u280-direct")
    mirrors = cluster.node_names[-1]
    at_once = cluster.replace(node={mirrors: {"turning_ms": 0}})
    times = [measure("b_eff", each, ranks=4, sizes=64)[0] for each in (cluster, at_once)]
    assert times[1]["verified"] and times[1]["time_us"] == pytest.approx(times[0]["time_us"])


def test_small_packets_leave_room_for_a_message(tmp_path: Path) -> None:
    """Each receive buffer holds whole words of 64 elements; all buffers of the benchmark must hold a message."""
    small = tmp_path / "small.toml"
    base = resource("clusters/accl-u280-reliable.toml")
    small.write_text(f'base = "{base}"\n[node.board]\npacket_bytes = 64\n')
    (row,) = measure("b_eff", str(small), way="buffered", by="kernel", sizes="65540")
    assert row["verified"]


@pytest.mark.parametrize(
    ("cluster", "options", "text"),
    [
        ("accl-u280-udp", {"ranks": 3}, "ranks is 3; must be even, 2 to 48"),
        ("accl-u280-udp", {"ranks": 50}, "ranks is 50"),
        ("accl-u280-udp", {"beside": ["noctua2-mpi", "accl-u280-udp"]}, "beside: accl-u280-udp is given twice"),
        ("accl-u280-udp", {"sizes": "6"}, "a size of 6 bytes; must be a positive multiple of 4"),
        ("accl-u280-udp", {"by": "nobody"}, "unknown by 'nobody'; known are kernel, host, both"),
        ("accl-u280-udp", {"way": "none"}, "unknown way 'none'; known are streaming, buffered, both"),
        ("noctua2-mpi", {"way": "buffered"}, "on noctua2-mpi hosts exchange messages by MPI"),
    ],
)
def test_wrong_options_are_refused(cluster: str, options: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        measure("b_eff", cluster, **options)


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", ["streaming", "buffered"])
def test_kernels_of_a_source_take_as_long(way: str) -> None:
    """They add the cycles in which their commands' 15 words leave; with streams also those of the memory's first word
    and of the notice."""
    pytest.importorskip("clang.cindex", reason="libclang is not installed")
    source = KERNELS / {"streaming": "streamed.cpp", "buffered": "buffered.cpp"}[way]
    ours = measure("b_eff", "accl-u280-udp", way=way, sizes="4,100,64K")
    theirs = measure("b_eff", "accl-u280-udp", kernels=str(source), includes=[str(KERNELS)], sizes="4,100,64K")
    assert [row["way"] for row in theirs] == [way] * 3
    for own, other in zip(ours, theirs, strict=True):
        assert other["verified"]
        assert own["time_us"] < other["time_us"] < 1.15 * own["time_us"]


def test_a_source_without_the_kernels() -> None:
    pytest.importorskip("clang.cindex", reason="libclang is not installed")
    with pytest.raises(
        InputError, match=r"loops\.cpp does not have the kernels of HPCC FPGA's b_eff: recv_stream, sch"
    ):
        measure("b_eff", "accl-u280-udp", kernels=str(KERNELS / "loops.cpp"), includes=[str(KERNELS)])
    with pytest.raises(InputError, match="by and way follow from the kernels"):
        measure("b_eff", "accl-u280-udp", kernels=str(KERNELS / "buffered.cpp"), way="buffered")
