# SPDX-License-Identifier: Apache-2.0
"""The direct network: rates and latency of its links, paths through other nodes' crossbars, and lossless credits."""

from __future__ import annotations

import random

import pytest
import thalweg
from thalweg._core import NEVER
from thalweg.errors import InputError
from thalweg.systems.vcsn import models
from thalweg.systems.vcsn._sim import Network, VirtualPort
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.reproduce import latency_ns

PRESET = "dcn-d5005"


def run(network: Network) -> set[int]:
    """Runs until nothing moves; returns the handles that completed."""
    done: set[int] = set()
    while completions := network.advance(NEVER):
        done |= {one.handle for one in completions}
    return done


def test_the_latency_is_table_1s() -> None:
    """To a cycle of the link; the time of both transceivers is a whole number of cycles."""
    assert latency_ns(Cluster.load(PRESET)) == pytest.approx(490.9, abs=1e3 / 192.4)


def test_the_link_is_kept_busy() -> None:
    """Long transfers reach Equation 1, 12.02 GB/s; the paper measured 11.72."""
    (row,) = thalweg.measure("transfer", PRESET, sizes="32M")
    assert row["bytes"] / row["data_us"] / 1e3 == pytest.approx(models.dcn_rate() / 1e9, rel=0.001)
    assert row["bytes"] / row["data_us"] / 1e3 == pytest.approx(11.72, rel=0.03)


def test_ways_are_the_shortest_and_take_a_hop_each() -> None:
    cluster = Cluster.load(PRESET)
    for node in range(1, 16):
        way = cluster.way(0, node)
        assert [way[0][0], way[-1][0], len(way) - 1] == [0, node, min(node, 16 - node)]
    times = [thalweg.measure("transfer", PRESET, destination=hops, sizes="64")[0]["data_us"] for hops in (1, 2, 3, 8)]
    hop = times[1] - times[0]
    assert 0.4908 < hop < 0.52  # a link, and a crossbar
    assert times[2] - times[1] == pytest.approx(hop, abs=0.01) and times[3] - times[2] == pytest.approx(
        5 * hop, abs=0.03
    )


def test_a_reader_that_stops_loses_nothing() -> None:
    """The receiver's buffer fills, then the sender's; everything resumes when the reader does."""
    cluster = Cluster.load(PRESET)
    network = cluster.network()
    (_, _, out), (_, into, _) = cluster.way(0, 1)
    data = random.Random(1).randbytes(1 << 20)
    network.store(0, 0, data)
    network.connect(0, network.place(0, out, 0), 0)
    network.read(0, 0, [(0, len(data))])
    assert run(network) == set()
    network.write(1, 1, 0, [(0, len(data))])
    assert run(network) == set()
    assert network.blocked[0].on == "no input of the crossbar"
    network.connect(1, 0, network.place(1, into, 0))
    assert run(network) == {1}
    assert network.load(1, 0, len(data)) == data and network.lost == []


@pytest.mark.parametrize("words", [62, 64, 100])
def test_credits_of_small_buffers_lose_nothing(words: int) -> None:
    """A buffer smaller than the data in flight limits the link to its size per round trip."""
    cluster = Cluster.load(PRESET).replace(node={"fpga": {"receive_words": words}})
    (row,) = thalweg.measure("transfer", cluster, sizes="1M")
    assert row["verified"] and row["lost"] == 0
    assert row["gb_per_s"] < 0.6 * models.dcn_rate() / 1e9


def test_random_transfers_over_random_ways(seed: int = 1) -> None:
    """Several at once, of any sizes, on links that they do not share."""
    draw = random.Random(seed)
    cluster = Cluster.load(PRESET)
    handle = 0
    for _ in range(20):
        network = cluster.network()
        taken: set[tuple[int, int]] = set()
        engines: set[tuple[int, str]] = set()
        expected = []
        for _ in range(8):
            source, destination = draw.sample(range(16), 2)
            way = cluster.way(source, destination)
            links = {(node, out) for node, _, out in way[:-1]}
            if links & taken or {(source, "r"), (destination, "w")} & engines:
                continue
            taken |= links
            engines |= {(source, "r"), (destination, "w")}
            network.connect(source, network.place(source, way[0][2], 0), 0)
            for node, comes, out in way[1:-1]:
                network.connect(node, network.place(node, out, 0), network.place(node, comes, 0))
            network.connect(destination, 0, network.place(destination, way[-1][1], 0))
            for _ in range(draw.randint(1, 3)):
                handle += 1
                data = draw.randbytes(draw.choice([1, 64, 3_968, 3_969, 20_000]))
                network.store(source, handle << 16, data)
                network.read(source, 0, [(handle << 16, len(data))])
                network.write(handle, destination, 0, [((handle << 16) + (1 << 33), len(data))])
                expected.append((destination, (handle << 16) + (1 << 33), data))
        run(network)
        assert network.blocked == [] and network.lost == [], seed
        for node, at, data in expected:
            assert network.load(node, at, len(data)) == data, seed


@pytest.mark.parametrize("operation", ["gather", "scatter"])
def test_collectives_of_any_nodes(operation: str) -> None:
    for nodes, root in ((2, 1), (3, 0), (9, 4), (16, 15)):
        for size in (1, 10_000):
            (row,) = thalweg.measure(operation, PRESET, nodes=nodes, root=root, sizes=[size])
            assert row["verified"] and row["lost"] == 0 and row["by"] == "ring"
            assert row["stages"] == models.stages_dcn(nodes)


def test_a_gather_takes_the_rings_time() -> None:
    """The counterpart of Equation 7, whose last barrier has no following stage here."""
    for size in (64 << 10, 4 << 20):
        (row,) = thalweg.measure("gather", PRESET, sizes=[size])
        expected = models.gather_dcn(16, size, corrected=False) - models.barrier(8)
        assert row["time_us"] == pytest.approx(expected * 1e6 + 5 * row["stages"], abs=2.5 * row["stages"])


def test_one_bank_for_reading_and_writing_slows_a_gather_down() -> None:
    """A board that reads and writes one bank at once is slower than the links: the paper's DCN reached 72 %."""
    cluster = Cluster.load(PRESET)
    data_us = {}
    for banks in (4, 1):
        tried = cluster.replace(node={"fpga": {"banks": banks}})
        (row,) = thalweg.measure("gather", tried, nodes=9, sizes="4M")
        assert row["verified"] and row["lost"] == 0
        data_us[banks] = row["data_us"]
    assert data_us[1] > 1.3 * data_us[4]


def test_what_takes_circuits_is_refused() -> None:
    with pytest.raises(InputError, match="gather by tree needs circuits; dcn-d5005 has serial links"):
        thalweg.measure("gather", PRESET, by="tree")
    with pytest.raises(ValueError, match="virtual port 0.0 of node 0 is at a serial link, which has no circuits"):
        Cluster.load(PRESET).network().set_circuit(VirtualPort(0, 0, 0), None)
    with pytest.raises(ValueError, match="^node 3 has serial links, .* it cannot be restarted alone$"):
        Cluster.load(PRESET).network().restart(3)
