# SPDX-License-Identifier: Apache-2.0
"""Packets that circulate through circuits and crossbars: time to NEVER ends, and the loop is named; but only if nothing
else moves."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from thalweg._core import NEVER
from thalweg.errors import FabricStopped
from thalweg.vcsn import Cluster, Interrupt, Network, Program, VirtualPort, run

ENDLESS = "packets circulate forever in a cycle"


def started(network: Network, node: int, output: int, input: int, packets: int = 1) -> None:
    """A read engine sends packets to an output of a crossbar, which is then connected to an input."""
    network.connect(node, output, 0)
    for handle in range(packets):
        network.read(node, 0, [(0, 64 * (handle + 1))], handle=1_000 + handle)
    left = packets
    while left:
        left -= len(network.advance(NEVER))
    network.connect(node, output, input)


def around(network: Network, nodes: Sequence[int]) -> None:
    """Virtual port 1 of each is connected with virtual port 0 of the next one, whose crossbar forwards packets."""
    for node, following in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        network.set_circuit(VirtualPort(node, 0, 1), VirtualPort(following, 0, 0))
        network.set_circuit(VirtualPort(following, 0, 0), VirtualPort(node, 0, 1))
        network.connect(node, network.place(node, 0, 1), network.place(node, 0, 0))
    first = nodes[0]
    started(network, first, network.place(first, 0, 1), network.place(first, 0, 0))


@pytest.mark.parametrize("count", [2, 3])
def test_a_circle_ends_time_and_is_named(count: int) -> None:
    network = Cluster.load("vcsn-d5005").network()
    around(network, range(count))
    assert network.advance(NEVER) == [] and not network.idle
    hops = [
        f"virtual port 0.1 of node {node} sends to virtual port 0.0 of node {(node + 1) % count}"
        for node in range(count)
    ]
    failure = network.failure
    assert failure and failure.startswith(f"{ENDLESS}: ") and all(hop in failure for hop in hops)
    assert "\n" not in failure and failure.count("sends to") == count
    network.connect(0, network.place(0, 0, 1), None)
    assert network.advance(NEVER) == [] and network.idle and network.failure is None


def test_two_crossbars_that_send_everything_back() -> None:
    """Over one circuit; meanwhile a server waits for data that never arrive."""
    cluster = Cluster.load("vcsn-d5005")
    network = cluster.network()
    network.rewire({VirtualPort(0, 0, 0): VirtualPort(1, 0, 1)})
    there, back = network.place(0, 0, 0), network.place(1, 0, 1)
    network.connect(1, back, back)
    started(network, 0, there, there, packets=3)
    network.write(1, 2, 0, [(0, 64)])

    def program(_: int) -> Program:
        yield Interrupt(1)

    server = cluster.servers[0]
    stopped = (
        f"^{ENDLESS}: virtual port 0.0 of node 0 sends to virtual port 0.1 of node 1, "
        "virtual port 0.1 of node 1 sends to virtual port 0.0 of node 0; .*"
        "write engine 0 of node 2 waits for words of transfer 1, for no input of the crossbar; "
        f"server {server} waits for the interrupt of transfer 1"
    )
    with pytest.raises(FabricStopped, match=stopped):
        run(network, {server: cluster.server_tables[server]}, program)


def test_a_circle_of_serial_links() -> None:
    network = Cluster.load("dcn-d5005").network()
    for node in range(16):
        network.connect(node, network.place(node, 0, 0), network.place(node, 1, 0))
    started(network, 0, network.place(0, 0, 0), network.place(0, 1, 0))
    assert network.advance(NEVER) == []
    assert str(network.failure).startswith(ENDLESS) and str(network.failure).count("sends to") == 16


def test_transfers_beside_a_circle_complete() -> None:
    """At a pace at which they take longer than the detection of the loop."""
    network = Cluster.load("vcsn-d5005").network()
    around(network, range(2))
    slow, fast = VirtualPort(4, 0, 0), VirtualPort(5, 0, 0)
    network.rewire({VirtualPort(0, 0, 1): VirtualPort(1, 0, 0), VirtualPort(1, 0, 1): VirtualPort(0, 0, 0), slow: fast})
    network.set_pace(slow, pace=(1 << 20) - 1)
    network.connect(4, network.place(4, 0, 0), 0)
    network.connect(5, 0, network.place(5, 0, 0))
    network.store(4, 0, data := bytes(range(256)) * 2_500)
    network.write(7, 5, 0, [(64, len(data))])
    network.read(4, 0, [(0, len(data))])
    (done,) = network.advance(NEVER)
    assert done.handle == 7 and network.load(5, 64, len(data)) == data and network.failure is None
    assert done.at / network.ticks_per_second > 0.11
    assert network.advance(NEVER) == [] and str(network.failure).startswith(ENDLESS)


def test_a_circle_without_packets_is_none() -> None:
    network = Cluster.load("vcsn-d5005").network()
    around(network, range(2))
    network.restart(0)  # where the packet is, or its destination
    assert network.advance(NEVER) == [] and network.idle and network.failure is None


@pytest.mark.long
def test_a_full_circle_takes_bounded_memory() -> None:
    network = Cluster.load("vcsn-d5005").network()
    network.rewire({VirtualPort(0, 0, 0): VirtualPort(1, 0, 0)})
    there, back = network.place(0, 0, 0), network.place(1, 0, 0)
    network.connect(1, back, back)
    started(network, 0, there, there, packets=30)
    assert network.advance(NEVER) == [] and str(network.failure).startswith(ENDLESS)
    assert len(network.passed(0)) == 1 << 20
