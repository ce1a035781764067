# SPDX-License-Identifier: Apache-2.0
"""Flows on Ethernet: delays by queueing theory, losses by exceeded capacity, captures that another library reads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest
import thalweg
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.ethernet.operations import _Flows

STAR = "ethernet-16"
PRESET = resource("clusters") / f"{STAR}.toml"
NS_BYTE = 0.08  # at 100 Gb/s


def rows(cluster: Any = STAR, **options: Any) -> list[dict[str, Any]]:
    return thalweg.measure("flows", cluster, **options)


def test_a_queue_takes_the_time_that_theory_has() -> None:
    """Many senders with rare frames are a Poisson process: its mean wait for a server of constant duration is rho / (2
    - 2 rho) times this duration."""
    for load in (0.02, 0.04, 0.05):
        (row,) = rows(senders=15, frames=4_000, loads=[load])
        service = (8 + 14 + 1486 + 4 + 12) * NS_BYTE
        # Two cables of 15 ns, the switch's 300 ns after 64 bytes and their preamble, and the whole frame.
        alone = 30 + 300 + (8 + 64) * NS_BYTE + (8 + 14 + 1486 + 4) * NS_BYTE
        rho = 15 * load
        assert row["delay_us"] * 1e3 - alone == pytest.approx(service * rho / (2 - 2 * rho), rel=0.08)
        assert row["lost"] == 0 and row["verified"]


@pytest.mark.parametrize(("forwarding", "factor"), [("cut-through", 1), ("store-and-forward", 2)])
def test_a_frame_alone_takes_its_bytes(forwarding: str, factor: int) -> None:
    cluster = thalweg.load(STAR).replace(node={"switch": {"forwarding": forwarding}})
    for payload in (24, 64, 1486, 9152, 9198):
        (row,) = rows(cluster, senders=1, frames=1, loads=[1.0], payload=payload, gaps="even")
        whole = 8 + max(60, 14 + payload) + 4
        expected = 330 + (whole + (8 + min(64, whole - 12) if factor == 1 else whole)) * NS_BYTE
        assert row["time_us"] * 1e3 == pytest.approx(expected, abs=0.2)  # the next 1/1280 of a cycle, three times


@pytest.mark.parametrize("buffer", ["shared", "per-port"])
def test_what_does_not_fit_is_lost(buffer: str) -> None:
    """Four lines into one: it is never idle, and the frames that it did not carry and the buffer did not hold are lost."""
    held = 100_000
    cluster = thalweg.load(STAR).replace(node={"switch": {"buffer": buffer, "buffer_bytes": held}})
    (row,) = rows(cluster, frames=3_000, loads=[1.0], gaps="even")
    wire, frame = 14 + 1486 + 24, 14 + 1486
    carried = 3_000 * wire / wire  # while the senders send, the output sends a quarter of the arrivals
    assert row["sent"] - row["lost"] == pytest.approx(carried + held / frame, abs=3)
    assert row["goodput_gbit_s"] == pytest.approx(100 * 1486 / wire, rel=0.002)
    # The last frame in a full buffer waits until all others have been sent.
    assert row["delay_most_us"] <= (held / frame * wire + 2 * wire) * NS_BYTE / 1e3 + 3_000 * wire * NS_BYTE / 1e3


def test_results_are_the_same_again() -> None:
    first, again, other = (rows(frames=500, loads=[0.3], seed=seed) for seed in (3, 3, 4))
    assert first == again != other


def test_what_a_link_loses_is_counted() -> None:
    cluster = thalweg.load(STAR).replace(
        link={"cable": {"frames_lost": 0.01, "frames_duplicated": 0.02, "bit_error_rate": 1e-6}}
    )
    (row,) = rows(cluster, senders=1, frames=20_000, loads=[0.5])
    # Two cables: 1 % each, and 12,032 bits with an error in 1.2 % of frames each.
    assert row["share_lost"] == pytest.approx(1 - (0.99 * 0.988) ** 2, rel=0.1)
    assert row["verified"]


LEARNED = {"node": {"switch": {"addresses": "learned"}}}


def test_a_receiver_that_says_nothing_gets_all_by_flooding() -> None:
    """Every other computer receives them, too: their lines carry the traffic."""
    (row,) = rows(thalweg.load(STAR).replace(**LEARNED), senders=1, frames=100, loads=[0.5])
    assert row["lost"] == 0 and row["verified"]


@pytest.mark.parametrize("addresses", ["given", "learned"])
def test_a_fat_tree_delivers_and_floods_end(tmp_path: Path, addresses: str) -> None:
    text = PRESET.read_text().partition("[topology]")[0].replace('addresses = "given"', f'addresses = "{addresses}"')
    (tmp_path / "tree.toml").write_text(
        text + '[topology]\nshape = "fattree"\nsize = [32]\nradix = 16\noversubscription = 1\n'
        'node = "computer"\nswitch = "switch"\nlink = "cable"\n'
    )
    (row,) = rows(tmp_path / "tree.toml", senders=20, frames=50, loads=[0.04])
    assert row["lost"] == 0 and row["verified"]
    assert main(["cluster", "check", str(tmp_path / "tree.toml")]) == 0


@pytest.mark.parametrize("addresses", ["given", "learned"])
def test_a_ring_of_switches_delivers_and_floods_end(tmp_path: Path, addresses: str) -> None:
    text = PRESET.read_text().partition("[topology]")[0].replace('addresses = "given"', f'addresses = "{addresses}"')
    ends = ", ".join(f'{{ link = "cable", ends = ["{4 + switch}.eth", "{switch}.5"] }}' for switch in range(4))
    ring = 'shape = "ring"\nsize = [4]\nnode = "switch"\nlink = "cable"\nnodes = { "4-7" = "computer" }\n'
    (tmp_path / "ring.toml").write_text(f"{text}[topology]\n{ring}join = [{ends}]\n")
    (row,) = rows(tmp_path / "ring.toml", senders=3, frames=100, loads=[0.3])
    assert row["lost"] == 0 and row["verified"]


def test_two_computers_on_one_cable(tmp_path: Path) -> None:
    text = PRESET.read_text().partition("[topology]")[0]
    (tmp_path / "two.toml").write_text(
        text + '[topology]\nshape = "edges"\nedges = [[0, 1]]\nnode = "computer"\nlink = "cable"\n'
    )
    (row,) = rows(tmp_path / "two.toml", senders=1, frames=10, loads=[1.0], gaps="even")
    assert row["time_us"] == pytest.approx((15 + (10 * 1524 - 12) * NS_BYTE) / 1e3, abs=1e-4)
    assert row["bound_us"] <= row["time_us"] <= row["bound_us"] * 1.001


def test_lines_of_two_rates_have_one_time(tmp_path: Path) -> None:
    """The switch waits for the end of a frame that arrives more slowly than it leaves."""
    text = PRESET.read_text().partition("[topology]")[0]
    (tmp_path / "c.toml").write_text(
        text + '[link.slow]\nkind = "ethernet"\ngbit_s = 10\nlatency_ns = 15\n'
        '[topology]\nshape = "edges"\nedges = [[0, 1]]\nnode = "computer"\nlink = "slow"\n'
        'nodes = { "1" = "switch", "2" = "computer" }\njoin = [{ link = "cable", ends = ["1.1", "2.eth"] }]\n'
    )
    (row,) = rows(tmp_path / "c.toml", senders=1, frames=1, loads=[1.0], gaps="even")
    expected = 330 + (8 + 1500 + 4) * NS_BYTE * (10 + 1)
    assert row["time_us"] * 1e3 == pytest.approx(expected, abs=1)
    assert row["delay_us"] == pytest.approx(row["time_us"], abs=1e-3)
    (row,) = rows(tmp_path / "c.toml", senders=1, frames=100, loads=[0.5], gaps="even")
    assert row["delay_us"] * 1e3 == pytest.approx(expected, abs=5)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("322.265625\n", "1\n", "an Ethernet link on which a frame's first word takes less than a cycle"),
        (
            "gbit_s = 100",
            "gbit_s = 0.000001",
            "link.cable.gbit_s is 1e-06; it should be greater than or equal to 0.001",
        ),
        ("16_777_216", "2_000", "buffer_bytes is 2000; it should be greater than or equal to 2048"),
    ],
)
def test_values_that_do_not_go_together_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, says: str
) -> None:
    assert right in (text := PRESET.read_text())
    (tmp_path / "c.toml").write_text(text.replace(right, wrong))
    for command in (["cluster", "check"], ["bench", "flows", "--cluster"]):
        assert main([*command, str(tmp_path / "c.toml")]) == 2
        assert says in capsys.readouterr().err


def test_a_frame_that_fits_in_no_buffer_is_lost(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(PRESET.read_text().replace("16_777_216", "2_048"))
    (row,) = rows(tmp_path / "c.toml", frames=10, payload=9_198, loads=[0.5])
    assert row["lost"] == row["sent"] == 40 and row["verified"] and row["bytes"] == 0


def test_a_capture_has_every_frame(tmp_path: Path) -> None:
    file = tmp_path / "frames.pcapng"
    (row,) = rows(frames=50, loads=[0.5], pcap=str(file))
    seen: Counter[bytes] = Counter()
    times = []
    with file.open("rb") as opened:
        for time, data in dpkt.pcapng.Reader(opened):
            frame = dpkt.ethernet.Ethernet(data)
            assert (frame.dst, frame.type, len(data)) == (bytes.fromhex("02000000000f"), 0x88B5, 1500)
            seen[frame.src] += 1
            times.append(time)
    # Each once at the sender, and once at the receiver.
    assert seen == {bytes.fromhex(f"0200000000{node:02x}"): 100 for node in (11, 12, 13, 14)}
    assert max(times) * 1e6 == pytest.approx(row["time_us"], abs=0.01)


def test_pictures_show_what_is_lost_and_when(tmp_path: Path) -> None:
    small = tmp_path / "small.toml"
    small.write_text(PRESET.read_text().replace("16_777_216", "20_000"))
    files = [tmp_path / name for name in ("t.json", "r.html", "p.png")]
    words = ["--trace", "--report", "--plot"]
    arguments = [str(word) for pair in zip(words, files, strict=True) for word in pair]
    assert main(["bench", "flows", "--cluster", str(small), "--frames", "200", "--loads", "0.1,1", *arguments]) == 0
    assert all(file.stat().st_size > 1_000 for file in files)
    for file in files[:2]:
        assert b"node 16, port 15" in file.read_bytes()
    network, results = _Flows(thalweg.load(small), [11, 12, 13, 14], 15, 1486, 200, "even", 1).run(1.0)
    ((node, port, _, frames),) = network.dropped()
    assert (node, port) == (16, 15)
    assert sum(frames) == 800 - sum(result.received for result in results) > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"senders": 16}, "senders is 16; ethernet-16 has 16 NICs, one of which receives"),
        ({"loads": "0.5,2"}, "loads is '0.5,2'; each must be above 0 and at most 1"),
        ({"loads": "half"}, "loads is 'half'; it must be a list such as 0.1,0.25,1"),
        ({"payload": 10_000}, "payload is 10000; it must be 24 to 9198 bytes"),
        ({"pcap": "x.pcapng"}, "pcap needs a single load; 6 were given"),
        ({"frames": 0}, "frames is 0; it must be 1 to "),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        rows(**options)
    assert says in str(error.value)
