# SPDX-License-Identifier: Apache-2.0
"""Boards with TCP: is their throughput that permitted by segments and windows, do all pairs connect, and does an error
name a missing board? (The network's effects on segments: test_reliable.py.)"""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg import measure
from thalweg.accl import AcclError, Rank, run
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.accl.cluster import Cluster

LINE_GB = 12.5
ON_WIRE = 20 + 20 + 14 + 4 + 8 + 12  #: overhead of a segment in bytes: TCP, IPv4, Ethernet, check sum, preamble, gap


def cluster(folder: Path, preset: str = "tcp-untuned", board: str = "", rest: str = "") -> str:
    file = folder / "tcp.toml"
    base = resource(f"clusters/accl-u280-{preset}.toml")
    file.write_text(f'description = "TCP"\nbase = "{base}"\n[node.board]\n{board}{rest}')
    return str(file)


def gb_per_s(name: str, operation: str = "put") -> float:
    (row,) = measure(operation, name, sizes="16M")
    assert row["verified"] and row["share"] <= 1
    return float(row["gb_per_s"])


@pytest.mark.parametrize(
    ("preset", "segment", "packet"), [("accl-u280-tcp", 8960, 8192), ("accl-u280-tcp-untuned", 1460, 4096)]
)
def test_a_window_above_the_round_trip_leaves_what_segments_leave(preset: str, segment: int, packet: int) -> None:
    """A packet adds 64 bytes to the stream; the rest is payload. The paper has 12.3 GB/s of the optimized stack."""
    expected = LINE_GB * segment / (segment + ON_WIRE) * packet / (packet + 64)
    assert gb_per_s(preset) == pytest.approx(expected, rel=0.006)


@pytest.mark.parametrize(("window", "latency_ns"), [(65_535, 10_000), (65_535, 4_000), (33_024, 1_000)])
def test_a_small_window_leaves_one_window_in_a_round_trip(window: int, latency_ns: int, tmp_path: Path) -> None:
    """A round trip: two passes through the switch and four ports; two segments for which one acknowledgement is sent,
    each read and then sent, behind up to two kilobytes and a segment of the other direction. Slow start takes three
    round trips of some 256."""
    name = cluster(tmp_path, board=f"window_bytes = {window}\n", rest=f"[node.switch]\nlatency_ns = {latency_ns}\n")
    line_us = (1460 + ON_WIRE) / LINE_GB / 1e3
    least_us = 2 * (latency_ns + 30) / 1e3 + 4 * 0.25 + 2 * line_us + 2 * 24 / 322.265625
    most_us = least_us + 2 * (2048 + 1460) / LINE_GB / 1e3 + line_us
    payload = window * 4096 / 4160 / 1e3
    assert payload / most_us / (1 + 3 / 256) < gb_per_s(name) < payload / least_us


def test_window_scaling_opens_the_window_again(tmp_path: Path) -> None:
    far = "[node.switch]\nlatency_ns = 8000\n"
    scaled = gb_per_s(cluster(tmp_path, "tcp", "", far))
    assert scaled / gb_per_s(cluster(tmp_path, "tcp", "window_bytes = 65_535\nwindow_scaling = false\n", far)) > 3


def test_small_messages_take_what_they_take_with_udp() -> None:
    """The paper: window scaling and jumbo frames have no measurable impact on them. A segment waits until it is whole."""
    times = {
        name: measure("put", f"accl-u280-{name}", sizes="64")[0]["time_us"] for name in ("udp", "tcp", "tcp-untuned")
    }
    assert times["tcp"] == times["tcp-untuned"]
    assert 0 <= times["tcp"] - times["udp"] < 0.1


def test_the_switch_adds_its_latency(tmp_path: Path) -> None:
    """The paper: about 1 us for both network stacks, and less than 3 us without it."""
    keys = 'transport = "tcp"\nwindow_scaling = true\nwindow_bytes = 262_144\nsegment_bytes = 8_960\n'
    direct, switched = (
        measure("put", name, sizes="64")[0]["time_us"] for name in (cluster(tmp_path, "direct", keys), "accl-u280-tcp")
    )
    assert direct < 3
    assert switched - direct == pytest.approx(1.0, abs=0.02)


def test_all_pairs_connect_when_a_communicator_is_set_up(tmp_path: Path) -> None:
    """The lower rank opens each connection from a port of its own, and the SYNs have the cluster's options."""

    def program(rank: Rank) -> None:
        rank.pause(50)

    file = tmp_path / "frames.pcapng"
    run(program, 5, "accl-u280-tcp", pcap=str(file))
    data, at, syns = file.read_bytes(), 0, set()
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        frame = data[at + 28 : at + size - 4] if kind == 6 else b""
        if len(frame) > 54 and frame[23] == 6 and frame[47] == 2:
            assert frame[54:62] == bytes([2, 4]) + (8960).to_bytes(2, "big") + bytes([1, 3, 3, 3])
            syns.add((frame[29], frame[33], struct.unpack_from(">HH", frame, 34)))
        at += size
    assert {(one - 1, other - 1) for one, other, _ in syns} == {(a, b) for b in range(5) for a in range(b)}
    assert all(to == 5500 and port >= 49_152 for _, _, (port, to) in syns)


@pytest.mark.parametrize("sender", [0, 1])
def test_a_board_that_is_gone(sender: int, tmp_path: Path) -> None:
    """Whether it would open the connection or wait for it."""
    faults = "[link.cable]\nframes_lost = 0.999999\n"
    name = cluster(tmp_path, "tcp", "resend_us = 5\ntries = 4\n", faults)

    def program(rank: Rank) -> None:
        buffer = rank.create_buffer(100)
        if rank.rank == sender:
            rank.send(buffer, 100, 1 - sender)
            rank.pause(1000)
            rank.send(buffer, 100, 1 - sender)

    with pytest.raises(
        AcclError, match=f"rank {sender}: send: receive time-out .*rank {1 - sender} has not answered 4 attempts"
    ):
        run(program, 2, name)


def test_a_receiver_that_takes_nothing_is_reported_and_the_simulation_ends(tmp_path: Path) -> None:
    """Its window is closed, and its peer probes it for a limited time."""

    def program(rank: Rank) -> None:
        buffer = rank.create_buffer(200_000)
        if rank.rank == 0:
            rank.send(buffer, 200_000, 1, tag=5)
        else:
            rank.recv(buffer, 10, 0, tag=7)

    with pytest.raises(Exception, match="for buffer space to send to rank 1 of its communicator"):
        run(program, 2, cluster(tmp_path), buffers=2, buffer_bytes=1024, time_out_us=0)


def test_more_than_all_windows_and_buffers_waits_until_it_is_taken(tmp_path: Path) -> None:
    def program(rank: Rank) -> Any:
        data = np.random.default_rng(rank.rank).integers(-1000, 1000, 300_000).astype(np.int32)
        send, recv = rank.create_buffer(data), rank.create_buffer(300_000, "int32")
        request = rank.send(send, 300_000, 1 - rank.rank, run_async=True)
        rank.pause(5_000_000)  # far beyond all time-outs and probes
        rank.recv(recv, 300_000, 1 - rank.rank)
        request.wait()
        return recv.array.copy()

    result = run(program, 2, cluster(tmp_path), buffers=2, buffer_bytes=1024, time_out_us=0)
    assert result.lost == []
    for rank in (0, 1):
        expected = np.random.default_rng(1 - rank).integers(-1000, 1000, 300_000).astype(np.int32)
        np.testing.assert_array_equal(result.values[rank], expected)


@pytest.mark.long
@pytest.mark.skipif(not importlib.util.find_spec("ns"), reason="ns-3 is not installed: pip install ns3")
def test_throughput_is_that_of_ns3() -> None:
    """Compared with an independent TCP, to 3 %: for the paper's stacks, and for windows smaller than the
    bandwidth-delay product."""
    bench = Path(__file__).resolve().parents[3] / "benches/ns3_tcp.py"
    done = subprocess.run([sys.executable, str(bench)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [16, 48])
def test_more_boards_than_the_papers_16(ranks: int) -> None:
    """With a connection for each pair."""

    def program(rank: Rank) -> Any:
        send, recv = (
            rank.create_buffer(np.full(ranks * 100, rank.rank, np.int32)),
            rank.create_buffer(ranks * 100, "int32"),
        )
        rank.alltoall(send, recv, 100)
        return recv.array.copy()

    result = run(program, ranks, "accl-u280-tcp", buffers=64, buffer_bytes=1024)
    assert result.lost == []
    for found in result.values:
        np.testing.assert_array_equal(found, np.repeat(np.arange(ranks), 100))


@pytest.mark.parametrize(
    ("board", "line"),
    [
        ("window_bytes = 65_536\n", "window_bytes is 65536; above 65535 it needs window_scaling"),
        ("window_bytes = 16_000\n", "must hold four packets of packet_bytes, 16640 bytes"),
    ],
)
def test_windows_that_cannot_be(board: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=line):
        Cluster.load(cluster(tmp_path, board=board))


@pytest.mark.parametrize(
    ("base", "board", "line"),
    [
        (
            "udp",
            "resend_us = 30\n",
            "resend_us has no effect with transport udp; only with reliable-udp and rdma and tcp",
        ),
        ("rdma", "window_bytes = 4096\n", "window_bytes has no effect with transport rdma; only with tcp"),
        (
            "tcp",
            "reorder_packets = 1\n",
            "reorder_packets has no effect with transport tcp; only with reliable-udp and",
        ),
    ],
)
def test_parameters_of_other_transports_are_refused(base: str, board: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=line):
        Cluster.load(cluster(tmp_path, base, board=board))


@pytest.mark.parametrize(("window", "segment", "packet"), [(2048, 1460, 448), (4096, 2048, 960)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_small_windows_open_again_whatever_gets_lost(
    window: int, segment: int, packet: int, seed: int, tmp_path: Path
) -> None:
    """A window update is lost, and then the segment that fills the rest of the window."""
    values = f"window_bytes = {window}\nsegment_bytes = {segment}\npacket_bytes = {packet}\n"
    lossy = f"[link.cable]\nframes_lost = 0.05\nframes_reordered = 0.05\nseed = {seed}\n"

    def program(rank: Rank) -> None:
        for number in range(6):
            mine = rank.create_buffer(np.arange(2000, dtype=np.int32) + 10_000 * rank.rank + number)
            got = rank.create_buffer(2000, np.int32)
            sent = rank.send(mine, 2000, 1 - rank.rank, run_async=True)
            rank.recv(got, 2000, 1 - rank.rank)
            sent.wait()
            assert (got.array == np.arange(2000) + 10_000 * (1 - rank.rank) + number).all()

    run(program, ranks=2, cluster=cluster(tmp_path, board=values, rest=lossy), buffers=4, time_out_us=0)
