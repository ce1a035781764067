# SPDX-License-Identifier: Apache-2.0
"""Virtual circuits: times from the bytes on the wire, frames that another library reads, receivers of frames, and
reported losses."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import dpkt
import pytest
import thalweg
from thalweg._core import NEVER
from thalweg.cli import main
from thalweg.errors import CheckFailed, InputError
from thalweg.resources import resource
from thalweg.systems.vcsn import models
from thalweg.systems.vcsn._sim import Network, VirtualPort
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader

PRESET = "vcsn-d5005"
FILE = resource("clusters") / f"{PRESET}.toml"
BYTES = random.Random(1).randbytes(1 << 20)


def rows(operation: str, cluster: Any = PRESET, **options: Any) -> list[dict[str, Any]]:
    return thalweg.measure(operation, cluster, **options)


def joined(network: Network, *pairs: tuple[VirtualPort, VirtualPort]) -> None:
    for one, other in pairs:
        network.set_circuit(one, other)
        network.set_circuit(other, one)


def two(cluster: Cluster | None = None, pcap: str = "") -> Network:
    """Node 0's read engine connected with node 1's write engine."""
    network = (cluster or Cluster.load(PRESET)).network(pcap)
    joined(network, (VirtualPort(0, 0, 0), VirtualPort(1, 0, 0)))
    network.connect(0, network.place(0, 0, 0), 0)
    network.connect(1, 0, network.place(1, 0, 0))
    return network


def completed(network: Network) -> dict[int, int]:
    """Runs until nothing moves; returns the completion time of each handle."""
    all_: dict[int, int] = {}
    while completions := network.advance(NEVER):
        all_ |= {one.handle: one.at for one in completions}
    return all_


def test_the_latency_is_table_1s() -> None:
    """Between crossbars, for words at any phase of the two clocks."""
    network = two()
    begin = 0
    for handle in range(64):
        network.advance(begin := begin + 100_003 + 41 * handle)
        network.write(handle, 1, 0, [(0, 64)])
        network.read(0, 0, [(0, 64)])
    completed(network)
    ns = 1e9 / network.ticks_per_second
    waits = [(seen[2] - left[3]) * ns for left, seen in zip(network.passed(0), network.passed(1), strict=True)]
    assert len(waits) == 64
    assert sum(waits) / len(waits) == pytest.approx(851.1, abs=1.0)
    assert max(waits) - min(waits) <= 8  # two cycles of the shell's clock


@pytest.mark.parametrize("size", [1, 64, 65, 9_152, 9_153, 100_000])
def test_frames_are_as_the_paper_has_them(tmp_path: Path, size: int) -> None:
    network = two(pcap=str(tmp_path / "f.pcapng"))
    network.store(0, 4096, BYTES[:size])
    network.read(0, 0, [(4096, size)], 9)
    network.write(5, 1, 0, [(128, size)])
    completed(network)
    network.close()
    assert network.written(5) == size and network.load(1, 128, size) == BYTES[:size]
    with (tmp_path / "f.pcapng").open("rb") as file:
        frames = [data for _, data in dpkt.pcapng.Reader(file)]
    by_order = {data: dpkt.ethernet.Ethernet(data) for data in frames}
    assert len(frames) == 2 * len(by_order)  # each once at the sender, and once at the receiver
    padded = -(-size // 64) * 64
    payloads = b""
    for index, frame in enumerate(by_order.values()):
        assert frame.type == 0x88B5
        assert (frame.src.hex(), frame.dst.hex()) == ("020000000000", "020000000001")
        header = VcsnHeader.unpack(bytes(frame.data)[:4])
        last = index == len(by_order) - 1
        assert header == VcsnHeader(0, 0, 9, FrameKind.DATA, first=index == 0, last=last)
        data = bytes(frame.data)[4:]
        assert len(data) == (9_152 if not last else (padded - 1) % 9_152 + 1)
        payloads += data
    assert payloads == BYTES[:size] + bytes(padded - size)


def test_the_line_is_kept_busy() -> None:
    """Long transfers reach Equation 2 (12.44 GB/s); the paper's maximum is 12.42."""
    (row,) = rows("transfer", sizes="64M")
    assert row["bytes"] / row["data_us"] / 1e3 == pytest.approx(models.vcsn_rate() / 1e9, rel=0.001)
    assert row["verified"] and row["lost"] == 0


def test_virtual_ports_share_a_line_by_turns_priority_and_pace() -> None:
    def ends(**second: int) -> tuple[int, int]:
        network = two()
        joined(network, (VirtualPort(0, 0, 1), VirtualPort(1, 0, 1)))
        network.connect(0, network.place(0, 0, 1), 1)
        network.connect(1, 1, network.place(1, 0, 1))
        network.set_pace(VirtualPort(0, 0, 1), **second)
        for engine in (1, 0):
            address = engine << 33
            network.store(0, address, BYTES)
            network.read(0, engine, [(address, len(BYTES))])
            network.write(engine, 1, engine, [(address, len(BYTES))])
        at = completed(network)
        for engine in (0, 1):
            assert network.load(1, engine << 33, len(BYTES)) == BYTES
        return at[0], at[1]

    alone = len(BYTES) / models.vcsn_rate() * 1e6
    us = 1e6 / two().ticks_per_second
    one, other = (at * us for at in ends())
    assert abs(one - other) < 2 and one == pytest.approx(2 * alone, rel=0.02)
    one, other = (at * us for at in ends(priority=1))
    assert other == pytest.approx(alone, rel=0.03) and one == pytest.approx(2 * alone, rel=0.02)
    # A word of a line is 64 x 33 / 1280 cycles; at a quarter of the line, four times that, with its share of the
    # headers.
    one, other = (at * us for at in ends(pace=4 * round(256 * 64 * 33 / 1280 * 9194 / 9216)))
    assert other == pytest.approx(4 * alone, rel=0.02) and one == pytest.approx(4 / 3 * alone, rel=0.03)


SEGMENTS = 32  #: that an engine holds, by tw_segments
LINE_WORD = 64 * 33 / 1280  #: cycles of the MAC that a line needs for a word of data, without headers


@pytest.mark.parametrize("reaction", ["none", "stop", "pace"])
def test_indications_keep_two_senders_from_losing(reaction: str) -> None:
    """Nodes 1 and 2 send to two virtual ports of one external port of node 0, through a switch that holds 400 KB, at
    twice the line's rate. The monitor detects a full line in a window of 2,048 cycles, of 8 or 9 frames; the excess
    until senders are notified fits into the switch, and drains while they are slower."""
    cluster = Cluster.load(PRESET).replace(node={"switch": {"buffer_bytes": 400_000}})
    network = cluster.network()
    size = 4 << 20
    data = {node: random.Random(node).randbytes(size) for node in (1, 2)}
    for index, node in enumerate((1, 2)):
        joined(network, (VirtualPort(node, 0, 0), VirtualPort(0, 0, index)))
        network.connect(node, network.place(node, 0, 0), 0)
        network.connect(0, index, network.place(0, 0, index))
        network.store(node, 0, data[node])
        network.write(index, 0, index, [(index << 33, size)])
        network.read(node, 0, [(0, size)])
        if reaction != "none":
            pace = round(256 * LINE_WORD / 0.4) if reaction == "pace" else None
            network.set_reaction(VirtualPort(node, 0, 0), cycles=65_536 if pace else 3_000, pace=pace)
    if reaction != "none":
        network.set_monitor(0, 0, cycles=2_048, words=int(0.9 * 2_048 / LINE_WORD))
    done = completed(network)
    indications = [network.indications(VirtualPort(node, 0, 0)) for node in (1, 2)]
    if reaction == "none":
        assert indications == [0, 0]
        ((node, what, count),) = network.lost
        assert node == 16 and what.startswith("frames without buffer space") and count > 200
        if done.keys() == {0, 1}:  # neither has lost its last frame: all missing frames are counted
            assert network.written(0) + network.written(1) == 2 * size - count * 9_152
    else:
        assert min(indications) > 0 and network.lost == [] and done.keys() == {0, 1}
        for index, node in enumerate((1, 2)):
            assert network.load(0, index << 33, size) == data[node]
        gb_s = 2 * size / (max(done.values()) / network.ticks_per_second) / 1e9
        assert gb_s > 0.6 * models.vcsn_rate() / 1e9


def test_credits_share_a_line_without_loss(seed: int = 1) -> None:
    """Two circuits into one external port, both read at once, of random sizes, repeatedly, with more than 95 % of the
    line."""
    draw = random.Random(seed)
    network = Cluster.load(PRESET).replace(node={"switch": {"buffer_bytes": 400_000}}).network()
    total, handle = 0, 0
    for index, node in enumerate((1, 2)):
        joined(network, (VirtualPort(node, 0, 0), VirtualPort(0, 0, index)))
        network.set_credits(VirtualPort(node, 0, 0))
        network.connect(node, network.place(node, 0, 0), 0)
        network.connect(0, index, network.place(0, 0, index))
    expected = []
    for _ in range(30):
        size = draw.choice([64, 9_152, 100_000, 400_000])
        for index, node in enumerate((1, 2)):
            handle += 1
            data = draw.randbytes(size)
            total += len(data)
            address = handle << 20
            network.store(node, address, data)
            network.read(node, 0, [(address, len(data))])
            network.write(handle, 0, index, [((index << 33) + address, len(data))])
            expected.append(((index << 33) + address, data))
    at = completed(network)
    assert len(at) == handle and network.lost == [], seed
    for address, data in expected:
        assert network.load(0, address, len(data)) == data, seed
    assert total / (max(at.values()) / network.ticks_per_second) > 0.95 * models.vcsn_rate(), seed


def test_credits_are_of_a_circuit() -> None:
    network = two()
    with pytest.raises(ValueError, match=r"virtual port 0.1 of node 0 has no circuit"):
        network.set_credits(VirtualPort(0, 0, 1))
    network.set_circuit(VirtualPort(1, 0, 0), None)
    with pytest.raises(ValueError, match=r"virtual port 0.0 of node 1 is not connected to virtual port 0.0 of node 0"):
        network.set_credits(VirtualPort(0, 0, 0))


def test_only_the_circuits_other_end_is_heard() -> None:
    """Node 2 sends to the virtual port by which nodes 0 and 1 are connected."""
    network = two()
    network.set_circuit(VirtualPort(2, 0, 1), VirtualPort(1, 0, 0))
    network.connect(2, network.place(2, 0, 1), 0)
    network.store(0, 0, BYTES[:20_000])
    network.store(2, 0, bytes(20_000))
    network.write(1, 1, 0, [(0, 20_000)])
    network.read(2, 0, [(0, 20_000)])
    network.read(0, 0, [(0, 20_000)])
    assert completed(network).keys() == {1}
    assert network.load(1, 0, 20_000) == BYTES[:20_000]
    assert network.lost == [(1, "frames of no circuit at port 0", 3)]


def test_what_nobody_takes_is_lost_counted_and_said() -> None:
    network = two()
    network.connect(1, 0, None)
    network.write(1, 1, 0, [(0, 1 << 20)])
    network.store(0, 0, BYTES)
    network.read(0, 0, [(0, 1 << 20)])
    assert completed(network) == {}
    frames = -(-(1 << 20) // 9_152)
    kept = (2_560 + 16) // 143  # 16 words cross into the shell's clock
    assert network.lost == [(1, "frames without receive buffer space at port 0", frames - kept)]
    (blocked,) = network.blocked
    assert blocked.who == "write engine 0 of node 1" and blocked.on == "no input of the crossbar"


def test_words_beyond_the_memory_are_dropped_and_counted() -> None:
    network = two()
    network.store(0, 0, BYTES[:1024])
    network.write(1, 1, 0, [(0, 100)])
    network.write(2, 1, 0, [(4096, 1024)])
    network.read(0, 0, [(0, 1024)])
    network.read(0, 0, [(0, 512)])
    assert completed(network).keys() == {1, 2}
    assert network.written(1) == 100 and network.load(1, 0, 128) == BYTES[:100] + bytes(28)
    assert network.written(2) == 512 and network.load(1, 4096, 1024) == BYTES[:512] + bytes(512)
    assert network.lost == [(1, "words beyond the segments of write engine 0", 14)]


def test_segments_are_one_packet() -> None:
    network = two()
    network.store(0, 0, BYTES[:64])
    network.store(0, 1 << 33, BYTES[64:10_000])
    network.read(0, 0, [(0, 64), (1 << 33, 9_936)])
    network.write(3, 1, 0, [(256, 5_120), (2 << 33, 4_880)])
    assert completed(network).keys() == {3}
    assert network.load(1, 256, 5_120) + network.load(1, 2 << 33, 4_880) == BYTES[:10_000]


def test_random_circuits_bring_what_was_sent(seed: int = 1) -> None:
    """Any virtual ports connected, all engines at once, several packets each, one after another over circuits that
    change."""
    draw = random.Random(seed)
    for _ in range(20):
        network = Cluster.load(PRESET).network()
        handle = 0
        expected: list[tuple[int, int, bytes]] = []
        for _ in range(3):
            free = [VirtualPort(node, port, virtual) for node in range(16) for port in range(2) for virtual in range(2)]
            draw.shuffle(free)
            engines = {(node, way): [0, 1] for node in range(16) for way in "rw"}
            for port in (0, 1):
                ends = [place for place in free if place.port == port]
                for one, other in zip(ends[::2], ends[1::2], strict=True):
                    joined(network, (one, other))
                    if one.node == other.node or not engines[one.node, "r"] or not engines[other.node, "w"]:
                        continue
                    reads, writes = engines[one.node, "r"].pop(), engines[other.node, "w"].pop()
                    network.connect(one.node, network.place(one.node, one.port, one.virtual_port), reads)
                    network.connect(other.node, writes, network.place(other.node, other.port, other.virtual_port))
                    for _ in range(draw.randint(1, 3)):
                        handle += 1
                        size = draw.choice([1, 63, 64, 640, 9_152, 9_216, 30_000])
                        data = draw.randbytes(size)
                        at = (handle << 16) + ((reads % 2) << 33)
                        network.store(one.node, at, data)
                        network.read(one.node, reads, [(at, size)], draw.randrange(256))
                        network.write(handle, other.node, writes, [(at, size)])
                        expected.append((other.node, at, data))
            completed(network)
            assert network.blocked == [] and network.lost == []
            for node in range(16):
                for output in range(6):
                    network.connect(node, output, None)
        for node, at, data in expected:
            assert network.load(node, at, len(data)) == data, seed


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("receive_words = 2_560", "receive_words = 100", "it must be at least frame_words, 143"),
        ("frame_words = 143", "send_words = 500", "send_words is 500; it must be a power of two"),
        ("gbit_s = 100 ", "gbit_s = 200 ", "a line carries more than 64 bytes per cycle"),
    ],
)
def test_wrong_files_are_refused(
    tmp_path: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.toml"
    text = FILE.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    assert main(["cluster", "check", str(file)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("operation", "options", "said"),
    [
        ("transfer", {"destination": 16}, "destination is 16; the FPGAs of vcsn-d5005 are 0 to 15"),
        ("transfer", {"destination": 0}, "source and destination are both 0"),
        ("transfer", {"port": 2}, "port is 2; node 0 has 2"),
        ("transfer", {"sizes": "0"}, "0 bytes; the size must be 1 to 1G"),
        ("transfer", {"sizes": "64,128", "pcap": "x"}, "pcap needs a single run; 2 were given"),
        ("gather", {"by": "star"}, "unknown way 'star'"),
        ("gather", {"by": "servers", "root": 3}, "a gather by servers is a model"),
        ("gather", {"nodes": 17}, "nodes is 17; vcsn-d5005 has 16"),
        ("gather", {"nodes": 4, "root": 5}, "root is 5; the FPGAs that take part are 0 to 3"),
        ("scatter", {"sizes": "1G"}, "15 blocks of 1073741824 bytes; the total must be below 4G"),
    ],
)
def test_wrong_options_are_refused(operation: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        rows(operation, **options)


def test_calls_of_the_network_are_checked() -> None:
    network = two()
    for call, said in (
        (lambda: network.set_circuit(VirtualPort(0, 2, 0), None), "virtual port 2.0 of node 0 does not exist"),
        (lambda: network.set_circuit(VirtualPort(16, 0, 0), None), "node 16 is not an FPGA"),
        (lambda: network.set_circuit(VirtualPort(0, 0, 0), VirtualPort(0, 0, 0)), "cannot have a circuit with itself"),
        (lambda: network.connect(0, 7, 0), "a crossbar has no input or output 7; node 0 has 7 of each"),
        (lambda: network.place(0, 2, 0), "virtual port 2.0 of node 0 does not exist"),
        (lambda: network.place(0, 0, 2), "virtual port 0.2 of node 0 does not exist"),
        (lambda: network.kernel_place(0, 1), "node 0 has no kernel 1"),
        (
            lambda: network.connect(0, 3, 0),
            "read engine 0 of node 0 is the input of .*; connect that output to another input, or to none, first",
        ),
        (lambda: network.read(0, 2, [(0, 64)]), "node 0 has no DMA engine 2"),
        (lambda: network.read(0, 0, [(0, 0)]), "a segment of a transfer must have at least one byte"),
        (lambda: network.read(0, 0, []), "a transfer must have at least one segment"),
        (lambda: network.read(0, 0, [(32, 64)]), "segments of a transfer must start at multiples of 64 bytes"),
        (
            lambda: network.read(0, 0, [(0, 65), (128, 64)]),
            "segments of a transfer must start at multiples of 64 bytes",
        ),
        (lambda: network.read(0, 0, [(4 << 33, 64)]), "the memory of node 0 has 34359738368 bytes"),
        (lambda: network.read(0, 0, [((1 << 33) - 64, 128)]), "a segment of a transfer must be within one bank"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_places_are_values() -> None:
    one, same, other = VirtualPort(1, 0, 1), VirtualPort(1, 0, 1), VirtualPort(1, 1, 0)
    assert one == same and one != other and one != (1, 0, 1)
    assert {one: "a"}[same] == "a" and repr(one) == "VirtualPort(1, 0, 1)"


def test_clusters_of_other_systems_are_refused() -> None:
    with pytest.raises(InputError, match=r"^smi-noctua is a cluster of smi; give a cluster of vcsn"):
        Cluster.load("smi-noctua")


@pytest.mark.parametrize("first", ["--trace", "--json", "--plot"])
def test_two_outputs_to_one_file_are_refused(first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.png"
    run = ["bench", "transfer", "--cluster", PRESET, "--sizes", "64", first, str(file), "--pcap", f"{tmp_path}/./x.png"]
    assert main(run) == 2
    err = capsys.readouterr().err
    assert f"is also the file of {first}; give a different file" in err and err.count("\n") == 1 and not file.exists()


def test_a_circuit_is_in_its_partition_until_it_is_closed_in_hardware() -> None:
    """A word sent after the closing command in the same tick still uses the circuit."""
    network = Cluster.load(PRESET).network()
    joined(network, (VirtualPort(0, 0, 0), VirtualPort(1, 0, 0)))
    network.connect(0, network.place(0, 0, 0), network.kernel_place(0))
    network.advance(NEVER)
    with pytest.raises(
        ValueError, match=r"node 0 has a circuit with .* of node 1, which would leave .*; close it first$"
    ):
        network.set_partition([0], "alice")
    network.set_circuit(VirtualPort(0, 0, 0), None)
    network.kernel_send(1, 0, 0, bytes(64))
    network.set_circuit(VirtualPort(1, 0, 0), None)
    with pytest.raises(ValueError, match=r"of node 0 still has a circuit with .* let time pass first \(advance\)$"):
        network.set_partition([0], "alice")
    completed(network)
    assert network.received(1, 0)["foreign"] == 1
    network.set_partition([0], "alice")


def test_a_partition_has_circuits_of_its_own() -> None:
    network = Cluster.load(PRESET).network()
    network.set_circuit(VirtualPort(3, 0, 0), VirtualPort(0, 0, 0))
    network.set_partition([5], "alice")
    with pytest.raises(
        ValueError, match=r"virtual port 0.0 of node 5 is in alice, virtual port 0.1 of node 4 is in no partition"
    ):
        network.set_circuit(VirtualPort(5, 0, 0), VirtualPort(4, 0, 1))
    for node in (0, 3):
        with pytest.raises(
            ValueError,
            match="virtual port 0.0 of node 3 has a circuit with virtual port 0.0 of node 0, which would leave",
        ):
            network.set_partition([node], "alice")
    network.set_circuit(VirtualPort(3, 0, 0), None)
    network.set_partition([3], "alice")
    network.set_circuit(VirtualPort(3, 0, 0), VirtualPort(5, 0, 0))
    assert (
        network.circuit(VirtualPort(3, 0, 0)) == VirtualPort(5, 0, 0) and network.circuit(VirtualPort(5, 0, 0)) is None
    )


def lose_a_frame(network: Network, at_us: float, for_us: float) -> None:
    """Node 1 accepts no frames of the circuit for some time."""
    network.advance(int(at_us * network.ticks_per_second / 1e6))
    network.set_circuit(VirtualPort(1, 0, 0), None)
    network.advance(network.now + int(for_us * network.ticks_per_second / 1e6))
    network.set_circuit(VirtualPort(1, 0, 0), VirtualPort(0, 0, 0))


@pytest.mark.parametrize(("frame", "at_us"), [("first", 0.1), ("last", 2.75)])
def test_a_packet_that_has_lost_an_end_does_not_reach_into_the_next(frame: str, at_us: float) -> None:
    """Packets of three frames. The packet behind it arrives unchanged, and the missing part is counted."""
    network = two()
    size = 3 * 9_152
    network.store(0, 0, BYTES[: 2 * size])
    network.read(0, 0, [(0, size)])
    network.read(0, 0, [(size - size % 64, size)])
    network.write(1, 1, 0, [(0, size)])
    network.write(2, 1, 0, [(1 << 20, size)])
    lose_a_frame(network, at_us, 1.6 if frame == "first" else 0.5)
    completed(network)
    counts = {what: count for _, what, count in network.lost}
    assert counts["frames of no circuit at port 0"] == 1
    expected = BYTES[size - size % 64 : 2 * size - size % 64]
    if frame == "first":  # its rest is dropped, and the first write has the second packet
        assert counts["words of packets without a start at write engine 0"] == 2 * 143
        assert network.load(1, 0, size) == expected and network.written(1) == size
    else:
        assert counts["packets without an end at write engine 0"] == 1
        assert network.written(1) == 2 * 9_152 and network.load(1, 0, 2 * 9_152) == BYTES[: 2 * 9_152]
        assert network.load(1, 1 << 20, size) == expected and network.written(2) == size


@pytest.mark.parametrize("words", [1, 4, 60, 600])
def test_an_input_that_is_given_to_another_output_moves_on(words: int) -> None:
    network = Cluster.load(PRESET).network()
    network.connect(0, 0, 0)
    network.store(0, 0, BYTES[: 64 * 600])
    network.write(1, 0, 0, [(1 << 30, 64 * 600)])
    network.write(2, 0, 1, [(2 << 30, 64 * words)])
    network.read(0, 0, [(0, 64 * 600)])
    network.read(0, 0, [(0, 64 * words)])
    network.advance(network.ticks_per_second // 1_000_000)
    network.connect(0, 0, None)
    network.connect(0, 1, 0)
    assert completed(network).keys() == {1, 2}
    assert network.load(0, 2 << 30, 64 * words) == BYTES[: 64 * words]


def test_a_burst_over_two_banks_waits_for_both() -> None:
    """768 of each 1,024 bytes go to a bank of 2 GB/s."""
    network = Cluster.load(PRESET).replace(node={"fpga": {"bank_gb": 2.0}}).network()
    network.connect(0, 0, 0)
    bursts = SEGMENTS // 2  # of a transfer
    segments = [part for k in range(bursts) for part in ((k * 768, 768), ((1 << 33) + k * 256, 256))]
    for handle in range(13):
        network.write(handle, 0, 0, segments)
        network.read(0, 0, [(2 << 33, bursts * 1024)])
    at = completed(network)
    assert at[12] / network.ticks_per_second * 1e6 > 13 * bursts * 768 / 2e3


def test_an_engine_holds_so_many_segments() -> None:
    """A host keeps the transfers for which there is no room, and submits them in order."""
    network = Cluster.load(PRESET).network()
    network.connect(0, 0, 0)
    with pytest.raises(ValueError, match=f"a transfer has {SEGMENTS + 1} segments; the maximum is {SEGMENTS}"):
        network.read(0, 0, [(0, 64)] * (SEGMENTS + 1))
    data = random.Random(1).randbytes(SEGMENTS * 64)
    network.store(0, 0, data)
    for part in range(4):
        network.read(0, 0, [(64 * k, 64) for k in range(part, part + SEGMENTS - 3)])
        network.write(part, 0, 0, [((1 << 20) + part * len(data), len(data))])
    assert list(completed(network)) == [0, 1, 2, 3] and network.lost == []
    for part in range(4):
        wanted = data[64 * part : 64 * (part + SEGMENTS - 3)]
        assert network.load(0, (1 << 20) + part * len(data), len(wanted)) == wanted


def test_reads_complete_and_are_said_to_wait() -> None:
    network = two()
    network.read(0, 0, [(0, 64)], handle=9)
    network.read(0, 1, [(0, 64)])
    assert completed(network).keys() == {9}
    assert [(one.who, one.on) for one in network.blocked] == [
        ("read engine 1 of node 0", "no output of the crossbar"),
    ]
    with pytest.raises(ValueError, match="handle 5 is not of a completed write"):
        network.written(5)


def test_frames_to_nobody_are_counted() -> None:
    network = two()
    network.set_circuit(VirtualPort(0, 0, 0), VirtualPort(2, 1, 0))  # on the other switch
    network.read(0, 0, [(0, 64)])
    completed(network)
    assert network.lost == [(16, "frames without a route at port 0", 1)]


def changed(folder: Path, *pairs: tuple[str, str]) -> str:
    text = FILE.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / "c.toml").write_text(text)
    return str(folder / "c.toml")


@pytest.mark.parametrize(
    ("pairs", "options", "said"),
    [
        ([("ports = 2  ", "ports = 4  ")], {"port": 3}, "no Ethernet leads from port 3 of node 0 to that of node 1"),
        ([('  { link = "slot", ends = ["18.slot1", "1.pcie"] },\n', "")], {}, "FPGA 1 is in no server"),
        (
            [("bank_bytes = 8_589_934_592", "bank_bytes = 4096")],
            {"sizes": "8K"},
            "puts 8192 bytes into a bank; it has 4096",
        ),
    ],
)
def test_what_a_cluster_cannot_do_is_said(
    tmp_path: Path, pairs: list[tuple[str, str]], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        rows("transfer", changed(tmp_path, *pairs), **{"sizes": "64", **options})


def test_one_pair_of_engines_is_enough_for_a_transfer(tmp_path: Path) -> None:
    (row,) = rows("transfer", changed(tmp_path, ("dmas = 2 ", "dmas = 1 ")), port=1, sizes="1K")
    assert row["verified"]


def test_a_transfer_that_loses_frames_says_which(tmp_path: Path) -> None:
    cluster = Cluster.load(PRESET).replace(link={"cable": {"frames_lost": 0.05}})
    with pytest.raises(CheckFailed, match="transfer of 1048576 bytes lost data: .* on the link"):
        rows("transfer", cluster, sizes="1M")


def test_a_capture_that_cannot_be_written_is_said() -> None:
    with pytest.raises(InputError, match="/nonexistent/x: the capture file cannot be written"):
        rows("transfer", sizes="64", pcap="/nonexistent/x")
    with pytest.raises(InputError, match="/dev/full: the capture file cannot be written"):
        rows("gather", nodes=2, sizes="64", pcap="/dev/full")


def test_a_restart_forgets_commands_that_have_not_acted() -> None:
    """Rows, sessions and outputs that were just written never take effect, and the network reports it; later commands
    work as usual."""
    network = two()
    one, other = VirtualPort(0, 0, 0), VirtualPort(1, 0, 0)
    for number in range(100):  # they are executed one by one
        network.read(0, 0, [(0, 64)] * 30, handle=number)
    network.set_circuit(one, VirtualPort(1, 0, 1))
    network.set_session(one, 7)
    network.connect(0, 0, network.place(0, 0, 1))
    network.restart(0)
    assert network.circuit(one) is None
    network.connect(0, 1, network.place(0, 0, 1))  # which no output has
    network.set_circuit(one, other)
    begin = network.now
    network.set_session(one, 7)
    network.advance(begin + 100 * network.ticks_per_second // 322_265_625)
    assert network.circuit(one) == other and network.session(one).state == "opening"
