# SPDX-License-Identifier: Apache-2.0
"""Transfers that FPGAs schedule without a host: a gather near its bound, and programs that are checked or that wait
permanently."""

from __future__ import annotations

import random
from typing import Any

import pytest
import thalweg
from thalweg._core import NEVER
from thalweg.errors import InputError
from thalweg.systems.vcsn import models
from thalweg.systems.vcsn._sim import AwaitWord, Connect, Network, Read, Row, SendWord, VirtualPort, Write
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.operations import OPERATIONS

CLUSTER = "vcsn-64"


def test_a_gather_of_64_nodes_is_near_its_bound() -> None:
    """64 KiB from each: data at the rate of Equation 2 over two ports, and a rewiring in less than a microsecond
    (section 6.4)."""
    (row,) = thalweg.measure("gather", CLUSTER, by="fabric", sizes="64K")
    bound_us = 32 * 65_536 / models.vcsn_rate() * 1e6
    assert row["verified"] and row["lost"] == 0
    assert bound_us < row["time_us"] <= 1.5 * (bound_us + 1)
    (servers,) = thalweg.measure("gather", CLUSTER, by="tree", sizes="64K")
    assert servers["time_us"] > 3_000


def test_gathers_of_any_size_nodes_and_root_are_right(seed: int = 1) -> None:
    """Also blocks larger than the receive buffer of 160 KB: credits limit them."""
    draw = random.Random(seed)
    for _ in range(12):
        nodes = draw.randint(2, 20)
        options = {"nodes": nodes, "root": draw.randrange(nodes), "sizes": str(draw.choice([1, 64, 9_153, 300_000]))}
        (row,) = thalweg.measure("gather", CLUSTER, by="fabric", **options)
        assert row["verified"] and row["lost"] == 0, (seed, options)


@pytest.mark.parametrize(
    ("cluster", "options", "said"),
    [
        ("vcsn-d5005", {}, "needs a sequencer for each of 2 external ports; vcsn-d5005 has 0"),
        ("dcn-d5005", {}, "gather by fabric needs circuits"),
        (CLUSTER, {"late": True}, "a gather by fabric has none"),
    ],
)
def test_what_cannot_be_is_refused(cluster: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        thalweg.measure("gather", cluster, by="fabric", **options)


def test_programs_are_checked() -> None:
    network: Any = Cluster.load(CLUSTER).network()
    for program, said in (
        ([], "a sequencer's program must have at least one command"),
        ([SendWord()] * 1024, "a sequencer's program has 1025 instructions; the maximum is 1024"),
        ([Row(2, 0, None)], "virtual port 2.0 of node 0 does not exist"),
        ([Row(0, 0, VirtualPort(0, 0, 0))], "cannot have a circuit with itself"),
        ([Connect(20, None)], "a crossbar has no input or output 20"),
        ([Read(5, [(0, 64)])], "node 0 has no DMA engine 5"),
        ([Write(0, [(1, 64)])], "must start at multiples of 64 bytes"),
        ([Write(0, [(0, 64)] * 33)], "a transfer has 33 segments; the maximum is 32"),
    ):
        with pytest.raises(ValueError, match=said):
            network.sequence(1, 0, 0, program)
    with pytest.raises(ValueError, match="node 0 has no sequencer 2; it has 2"):
        network.sequence(1, 0, 2, [SendWord()])
    network.sequence(1, 0, 0, [AwaitWord()])
    with pytest.raises(ValueError, match="sequencer 0 of node 0 is running a program"):
        network.sequence(2, 0, 0, [SendWord()])


def test_programs_stay_in_their_partition() -> None:
    """Rows are checked when a program is submitted, and when a partition changes in which it still runs."""
    network: Any = Cluster.load(CLUSTER).network()
    mine = network.partition("mine", range(8))
    with pytest.raises(ValueError, match="node 0 is in mine, virtual port 0.0 of node 8 is in no partition"):
        mine.sequence(1, 0, 0, [Row(0, 0, VirtualPort(8, 0, 0))])
    with pytest.raises(InputError, match="node 8 is not in partition mine"):
        mine.sequence(1, 8, 0, [Row(0, 0, VirtualPort(9, 0, 0))])
    mine.sequence(1, 0, 0, [AwaitWord(), Row(0, 1, VirtualPort(7, 0, 0))])
    with pytest.raises(
        InputError, match="0.1 of node 0 will get a circuit from a sequencer's program with virtual port 0.0 of"
    ):
        network.partition("yours", [7])
    network.restart(0)  # forgets its program
    network.partition("yours", [7])


def test_one_that_waits_for_ever_is_named() -> None:
    network: Network = Cluster.load(CLUSTER).network()
    network.sequence(1, 3, 1, [Connect(network.sequencer_place(3, 1), network.place(3, 0, 0)), AwaitWord()])
    assert [one.what for one in network.blocked] == ["at its start"]
    assert network.advance(NEVER) == []
    (blocked,) = network.blocked
    assert (blocked.who, blocked.what) == ("sequencer 1 of node 3", "at command 2, for a word")


def test_one_that_cannot_go_on_is_named_and_others_go_on() -> None:
    network: Network = Cluster.load(CLUSTER).network()
    network.sequence(1, 0, 0, [Connect(0, 3), Connect(1, 3), AwaitWord()])
    network.sequence(2, 1, 0, [Connect(0, 3)])
    assert [one.handle for one in network.advance(NEVER)] == [2]
    assert network.advance(NEVER) == []
    (blocked,) = network.blocked
    assert blocked.why == "another output uses input 3 of node 0's crossbar, which output 1 was to be set to"
    assert [what for _, what, _ in network.lost] == ["settings of a crossbar whose input was in use by another output"]


def test_engines_of_a_program_take_no_other_transfers() -> None:
    """A sequencer waits for the end of its engine's transfer, with which another transfer's end would be confused."""
    network: Network = Cluster.load(CLUSTER).network()
    network.read(0, 1, [(0, 64)])
    with pytest.raises(ValueError, match="read engine 1 of node 0 has outstanding transfers of a host"):
        network.sequence(1, 0, 0, [Read(1, [(0, 64)])])
    network.sequence(1, 0, 0, [AwaitWord(), Read(0, [(0, 64)])])
    with pytest.raises(ValueError, match="read engine 0 of node 0 is used by the program of sequencer 0 until it ends"):
        network.read(0, 0, [(0, 64)])
    with pytest.raises(ValueError, match="read engine 0 of node 0 is used by the program of sequencer 0"):
        network.sequence(2, 0, 1, [Read(0, [(0, 64)])])
    network.write(3, 0, 0, [(0, 64)])


def test_a_timeline_names_sequencers() -> None:
    plan = OPERATIONS["gather"].plan(Cluster.load(CLUSTER), by="fabric", nodes=3, root=2, sizes="64")
    recorded = plan.record(plan.rows())
    words = [(track.group, track.name, span.name) for track in recorded.timeline.tracks for span in track.spans]
    assert ("node 2", "to virtual port 1.0", "from sequencer 1") in words
    assert {name for group, name, _ in words if group == "node 0"} == {"to virtual port 0.0", "to sequencer 0"}
    assert not any("kernel" in name + span for _, name, span in words)
