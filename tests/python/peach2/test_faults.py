# SPDX-License-Identifier: Apache-2.0
"""Errors end with a line that names the place: window loops, bad descriptors, writes without a destination, registers
of others."""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.hubs import Hubs, Node
from thalweg.systems.peach2.running import WritesLost

CLUSTER = "peach2-ring-4"
ALL_PAGES = (1 << 27) - 1
NODE_PAGES = 1 << 23
NOBODY = 14 << 35
"""An address of a missing node."""
NORTH, EAST, WEST = range(3)
RAM = 0x30002000
"""Start of a program's working RAM in a hub."""
AFTER_CABLES, LOCKED = 6, 7  # reasons


def hub_of(node: Node, at: int) -> int:
    return _sim.hub_address(node.number, at)


def window(port: int, lower: int, upper: int) -> np.ndarray:
    """The data written into a window's register."""
    return np.array([lower | upper << 32, ALL_PAGES | port << 32 | 1 << 40], np.uint64)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ((9, ALL_PAGES, 14 * NODE_PAGES, 15 * NODE_PAGES - 1), "port is 9"),
        (
            (3, ALL_PAGES, 14 * NODE_PAGES, 15 * NODE_PAGES - 1),
            "leads to port south of hub 0, which has no link",
        ),
        ((1, ALL_PAGES, (1 << 27) + 14 * NODE_PAGES, (1 << 27) + 15 * NODE_PAGES - 1), "lower bound"),
        ((1, ALL_PAGES, 1 << 27, (1 << 27) + 15 * NODE_PAGES - 1), "lower bound"),
        ((1, ALL_PAGES, 7, 5), "it is empty"),
        ((1, 1 << 40, 0, 5), "mask is 1099511627776"),
    ],
)
def test_windows_that_their_registers_do_not_hold_are_refused(bad: tuple[int, int, int, int], said: str) -> None:
    hubs = Hubs(CLUSTER)
    base = [(NORTH, ALL_PAGES, k * NODE_PAGES, (k + 1) * NODE_PAGES - 1) for k in range(4)]
    with pytest.raises(InputError, match=f"window 1 of hub 0: .*{said}"):
        hubs.load_windows([[base[k], bad] for k in range(4)])


def descriptors(*rows: tuple[int, int, int, int, bool]) -> np.ndarray:
    """Source, destination, next, bytes, last."""
    return np.array([[a, b, c, d | last << 32] for a, b, c, d, last in rows], np.uint64)


def start(node: Node, rows: np.ndarray, at: int = RAM) -> None:
    """Starts a chain as the host writes it, without checks."""
    node.store(hub_of(node, at), rows)
    node.store(hub_of(node, 0x38000400), np.array([hub_of(node, at)], np.uint64))


def write_windows(node: Node, *windows: tuple[int, np.ndarray]) -> None:
    """By the DMA controller, with the host's permission."""
    node.let_write([node.number])
    for number, (index, value) in enumerate(windows):
        node.processor.write(4096 + 16 * number, value)
        at = RAM + 32 * number
        copy = (node.processor.address(4096 + 16 * number), hub_of(node, 0x38000000 + 16 * index), 0, 16, True)
        start(node, descriptors(copy), at)


def test_a_packet_that_windows_lead_round_is_dropped_and_named() -> None:
    hubs = Hubs(CLUSTER)
    for node in hubs.nodes:
        write_windows(node, (15, window(EAST, 14 * NODE_PAGES, 15 * NODE_PAGES - 1)))
    hubs.run()
    first = hubs.nodes[0]
    start(first, descriptors((first.gpus[0].address(), NOBODY, 0, 256, True)))
    with pytest.raises(
        WritesLost,
        match="hub 1 refused, from west, a write of node 0's DMA controller to 0x7000000000: after 16 cables",
    ):
        hubs.run()
    assert hubs.nodes[1].counts()["refused"][WEST] == (1, AFTER_CABLES, False, NOBODY, 0, 5)
    put = first.put(hubs.nodes[1].gpus[0].address(), first.gpus[0].address(), 256)
    hubs.run()
    assert put.done


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("source elsewhere", 2),
        ("no size", 1),
        ("next of another node", 2),
        ("round", 4),
        ("no memory", 2),
        ("start", 1),
    ],
)
def test_a_bad_chain_is_given_up_and_the_next_one_runs(kind: str, reason: int) -> None:
    hubs = Hubs(CLUSTER)
    node, other = hubs.nodes[:2]
    at, host = hub_of(node, RAM), node.processor.address()
    rows = {
        "source elsewhere": descriptors(
            (host, host + 4096, at + 32, 4096, False), (other.processor.address(), host, 0, 64, True)
        ),
        "no size": descriptors((host, host + 4096, at + 32, 64, False), (host, host + 4096, 0, 0, True)),
        "next of another node": descriptors((host, host + 4096, hub_of(other, RAM), 64, False)),
        "round": descriptors((host, host + 4096, at + 32, 4, False), (host, host + 4096, at, 4, False)),
        "no memory": descriptors((host + (3 << 33), host + 4096, 0, 64, True)),
        "start": descriptors((host, host + 4096, 0, 64, True)),
    }[kind]
    node.processor.write(1 << 20, rows)
    node.store(at, rows)
    node.store(hub_of(node, 0x38000400), np.array([at + 8 * (kind == "start")], np.uint64))
    node.work(2e7 if kind == "round" else 5e4)
    with pytest.raises(WritesLost, match=f"hub 0 gave up the chain at {at + 8 * (kind == 'start'):#x}"):
        hubs.run()
    counts = node.counts()
    count, why, _, where, *_ = counts["given_up"][0]
    assert (count, why, counts["faults"]) == (1, reason, 1)
    assert at <= where < at + 64 or where == hub_of(other, RAM)
    node.processor.write(0, np.arange(1024, dtype=np.uint32))
    put = node.put(other.processor.address(), node.processor.address(), 4096)
    hubs.run()
    assert put.done and (other.processor.read(0, 1024, np.uint32) == np.arange(1024)).all()
    assert node.counts()["faults"] == 1


@pytest.mark.parametrize("whole", [False, True])
def test_chains_are_given_up_where_the_host_says_so(whole: bool) -> None:
    """A long chain and one behind it: `abort` aborts the first one, `reset` both."""
    hubs = Hubs(CLUSTER)
    node, other = hubs.nodes[:2]
    at, host = hub_of(node, RAM), node.processor.address()
    node.store(at, descriptors((host, other.processor.address(), 0, 1 << 24, True)))
    node.store(at + 64, descriptors((host, host + 4096, 0, 64, True)))
    for first in (at, at + 64):
        node.store(hub_of(node, 0x38000400), np.array([first], np.uint64))
    node.work(2e4)
    _ = node.reset() if whole else node.abort()
    node.work(2e4)
    hubs.run()
    counts = node.counts()
    assert counts["given_up"][0][:2] == (1 + whole, 5)
    assert counts["chains"] == 1 - whole
    put = node.put(other.processor.address(1 << 25), host, 256)
    hubs.run()
    assert put.done


def test_lost_writes_are_no_success() -> None:
    """Writes to missing nodes, or through removed windows: these are named, and the others complete."""
    hubs = Hubs(CLUSTER)
    a, b, c = hubs.nodes[:3]
    a.gpus[0].write(0, np.ones(1024, np.uint32))
    start(a, descriptors((a.gpus[0].address(), NOBODY, 0, 4096, True)))
    right = a.put(b.gpus[0].address(), a.gpus[0].address(), 4096)
    with pytest.raises(WritesLost) as raised:
        hubs.run()
    first, *_, last = str(raised.value).splitlines()
    assert (
        first
        == "hub 0 refused, from the engine, a write of node 0's DMA controller to 0x7000000000: outside of all windows"
    )
    assert last == "and 8 more"
    assert right.done and not right.error

    for node in (b, hubs.nodes[3]):
        write_windows(node, *((index, np.zeros(2, np.uint64)) for index in range(1, 6)))
    hubs.run()
    gone, near = (a.put(to.gpus[0].address(), a.gpus[0].address(), 64) for to in (c, b))
    with pytest.raises(WritesLost, match="hub [13] refused, from (west|east), a write of node 0's DMA controller"):
        hubs.run()
    assert not gone.done and "outside of all windows" in gone.error
    assert near.done


def test_registers_are_the_hosts_own() -> None:
    hubs = Hubs(CLUSTER)
    a, b = hubs.nodes[:2]
    context, value = hub_of(a, 0x38000530), np.zeros(2, np.uint64)
    for by in (
        lambda: b.store(context, value),
        lambda: b.put(context, b.processor.address(), 16),
        lambda: a.put(context, a.processor.address(), 16),
    ):
        operation = by()
        with pytest.raises(WritesLost, match="a register that its host has not opened to that node"):
            hubs.run()
        assert not operation.done and "not opened" in operation.error
    assert sum(count for count, reason, *_ in a.counts()["refused"] if reason == LOCKED) == 3
    a.let_write([1])
    hubs.run()
    stored = b.store(context, value)
    get = b.get(b.processor.address(4096), a.gpus[0].address(), 64)  # chains that any node may start
    hubs.run()
    assert stored.done and get.done
    with pytest.raises(InputError, match="node 4 does not exist; the last one is 3"):
        a.let_write([4])


def test_an_endless_wait_says_which_chain_was_given_up() -> None:
    hubs = Hubs(CLUSTER)
    node, other = hubs.nodes[:2]
    start(node, descriptors((other.processor.address(), node.processor.address(), 0, 64, True)))
    node.wait_for(0, 1)
    with pytest.raises(
        FabricStopped, match="hub 0 gave up 1 chains of descriptors, the last one at 0x.*: a read was refused"
    ):
        hubs.run()


def test_counters_are_read_when_the_operations_of_the_node_have_ended() -> None:
    hubs = Hubs("peach2-ring-4")
    waiting, writing = hubs.nodes[1:3]
    waits = waiting.wait_for(64, 3)
    with pytest.raises(InputError, match="node 1 has outstanding operations"):
        waiting.counts()
    assert writing.counts()["chains"] == 0
    writing.store(waiting.processor.address(64), np.array([3], np.uint32))
    hubs.run()
    assert waits.done and waiting.counts()["chains"] == 0
