# SPDX-License-Identifier: Apache-2.0
"""Is a failed operation that no one waits for reported at the end of a run? Each failure must be named with its
operation, and the operation is not done."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from thalweg.errors import FabricStopped
from thalweg.systems.peach2 import raw
from thalweg.systems.peach2.hubs import Hubs, Node, Reduction
from thalweg.systems.peach2.routes import register_of
from thalweg.systems.peach2.running import Operation, WritesLost

PAGE = 4096
ALL_PAGES = (1 << 27) - 1
NODE_PAGES = 1 << 23
NORTH, EAST, WEST = range(3)
LATE = 6  # a reason


@pytest.fixture
def hubs() -> Hubs:
    return Hubs("peach2-ring-4")


def lead_away(hubs: Hubs, *addresses: int) -> None:
    """Node 0's windows send their pages to the east, where no read may go."""
    tables = []
    for number in range(4):
        ways = [
            (NORTH if other == number else EAST if other > number else WEST, other * NODE_PAGES) for other in range(4)
        ]
        first = [(EAST, ALL_PAGES, address // PAGE, address // PAGE) for address in addresses if number == 0]
        tables.append(first + [(port, ALL_PAGES, lower, lower + NODE_PAGES - 1) for port, lower in ways])
    hubs.load_windows(tables)


def lost(hubs: Hubs, *said: str) -> list[str]:
    """The lines of a run's report, which must contain all of `said`."""
    with pytest.raises(WritesLost) as raised:
        hubs.run()
    lines = str(raised.value).splitlines()
    for text in said:
        assert any(text in line for line in lines), (text, lines)
    return lines


def check(operation: Operation, *said: str) -> None:
    assert not operation.done
    for text in said:
        assert text in operation.error


def test_a_put_whose_read_is_refused(hubs: Hubs) -> None:
    node, other = hubs.nodes[:2]
    lead_away(hubs, node.gpus[0].address())
    to = other.processor.address()
    put = node.put(to, node.gpus[0].address(), 64, wait=False)
    said = "node 0", f"{to:#x}", f"{node.gpus[0].address():#x}", "64 bytes", "hub 0 gave up", "a read was refused"
    assert len(lost(hubs, *said)) == 1
    check(put, *said[4:])
    again = node.put(to, node.gpus[1].address(), 64)
    hubs.run()
    assert again.done


@pytest.mark.parametrize("waits", [False, True])
def test_a_put_whose_write_is_refused(hubs: Hubs, waits: bool) -> None:
    node, other = hubs.nodes[:2]
    to = other.gpus[0].address()
    hubs.load_windows(
        [[(EAST, ALL_PAGES, NODE_PAGES, 2 * NODE_PAGES - 1), (NORTH, ALL_PAGES, 0, NODE_PAGES - 1)]] + 3 * [[]]
    )
    put = node.put(to, node.gpus[0].address(), 64, wait=waits)
    lost(hubs, f"a put of node 0 of 64 bytes to {to:#x}", "hub 1 refused", "outside of all windows")
    check(put, "hub 1 refused")


def chains(node: Node, to: int, sources: Sequence[int]) -> list[Operation]:
    return [node.put(to + 64 * index, source, 64, wait=False) for index, source in enumerate(sources)]


def test_puts_behind_each_other(hubs: Hubs) -> None:
    """The put behind the failed one cannot begin: it is reported as waiting."""
    node, other = hubs.nodes[:2]
    bad, good = node.gpus[0].address(), node.gpus[1].address()
    lead_away(hubs, bad)
    first, second, third = chains(node, other.processor.address(), [good, bad, good])
    with pytest.raises(FabricStopped, match="a read was refused"):
        hubs.run()
    assert first.done
    check(second, "a read was refused")
    check(third)
    for one in chains(node, other.processor.address(), [good, good, good]):
        hubs.run()
        assert one.done


@pytest.mark.parametrize("whole", [False, True])
def test_puts_that_the_host_gives_up(hubs: Hubs, whole: bool) -> None:
    node, other = hubs.nodes[:2]
    put = node.put(other.processor.address(), node.gpus[0].address(), 1 << 20, wait=False)
    _ = node.reset() if whole else node.abort()
    lost(hubs, "a put of node 0", "the host aborted it")
    check(put, "the host aborted it")
    again = node.put(other.processor.address(), node.gpus[0].address(), 256, wait=False)
    hubs.run()
    assert again.done


def test_a_reduction_whose_source_is_refused(hubs: Hubs) -> None:
    node = hubs.nodes[0]
    lead_away(hubs, node.gpus[0].address())
    reduction = node.reduce(node.processor.address(), [(node.gpus[0].address(), 32)])
    with pytest.raises(FabricStopped, match="a read was refused"):
        hubs.run()
    check(reduction, "a read was refused")


def test_beats_for_a_context_that_takes_none(hubs: Hubs) -> None:
    node, other = hubs.nodes[:2]
    at = raw.calculator(hubs, other, 2) + 32
    put = node.put(at, node.gpus[0].address(), 64, wait=False)
    (line,) = lost(hubs, f"hub 1 dropped 4 beats for its calculator from {at:#x}", "a put of node 0")
    assert "context 2 accepts none" in line
    check(put, "context 2 accepts none")
    raw.set_up(other, Reduction(context=2), 4)
    hubs.run()
    put = node.put(at, node.gpus[0].address(), 64, wait=False)
    hubs.run()
    assert put.done


def test_starts_without_a_place_and_chains_of_the_program(hubs: Hubs) -> None:
    node = hubs.nodes[0]
    raw.write_chain(node, 0, (node.processor.address(PAGE), node.gpus[0].address(), 1 << 16))
    for _ in range(40):
        raw.start(node, raw.line_at(node, 0))
    missed = f"hub 0 had no free slot to start the chain at {raw.line_at(node, 0):#x}"
    assert len(lost(hubs, missed)) == min(9, node.counts()["missed"] + (node.counts()["missed"] > 8))
    raw.write_chain(node, 0, (node.processor.address(PAGE), hubs.nodes[1].gpus[0].address(), 64))
    raw.start(node, raw.line_at(node, 0))
    lost(hubs, f"hub 0 gave up the chain at {raw.line_at(node, 0):#x}", "a read was refused")


def test_writes_out_of_a_port_that_is_joined_to_nothing(hubs: Hubs) -> None:
    """Through a window that was stored: more writes than the port has credits for."""
    node, other = hubs.nodes[:2]
    to = other.gpus[0].address()
    lead_away(hubs, other.gpus[1].address())  # the first window, which is replaced
    south = register_of((3, ALL_PAGES, to // PAGE, to // PAGE + 15))
    node.let_write([0])
    node.processor.write(0, np.array(south, np.uint64))
    raw.write_chain(node, 0, (raw.window_at(node, 0), node.processor.address(), 16))
    raw.start(node, raw.line_at(node, 0))
    hubs.run()
    put = node.put(to, node.gpus[0].address(), 1 << 14, wait=False)
    said = f"hub 0 sent a write of node 0's DMA controller to {to:#x} out of south, which is not connected"
    assert lost(hubs, said, "a put of node 0")[-1] == "and 56 more"
    check(put, "not connected")


def test_a_quiet_run_says_nothing(hubs: Hubs) -> None:
    node, other = hubs.nodes[:2]
    puts = chains(node, other.processor.address(), [node.gpus[0].address()] * 5)
    node.reduce(node.processor.address(), [(node.gpus[0].address(), 32)])
    other.get(other.processor.address(PAGE), node.gpus[0].address(), 64)
    hubs.run()
    assert all(put.done for put in puts)


@pytest.mark.parametrize("engine", ["sim", pytest.param("rtl", marks=pytest.mark.long)])
def test_a_host_that_is_reset_alone(engine: str) -> None:
    """Its answers never arrive: the hub aborts the chain after the time-out, and reports which node it has asked."""
    hubs = Hubs("peach2-ring-4", engine)
    node, other = hubs.nodes[:2]
    gpu, to = node.gpus[0], other.processor
    gpu.write(0, range(256))
    node.time_out(50)
    begun = node.put(to.address(), gpu.address(), 1 << 16, wait=False)
    node.work(4000)
    node.restart_host()
    lost(hubs, "GPU 0 of node 0 has not completed all reads up to 0x2", "a put of node 0")
    check(begun, "GPU 0 of node 0 has not completed all reads")
    count, reason, _, asked, *_ = node.counts()["given_up"][0]
    assert (count, reason) == (1, LATE) and gpu.address() <= asked < gpu.address(1 << 16)
    # The run ended when the hub no longer waited for the answers, after the same time again.
    soon = node.put(to.address(), gpu.address(), 64, wait=False)
    hubs.run()
    assert soon.done
    node.reset()
    put = node.put(to.address(1 << 20), gpu.address(), 256 * 8)
    hubs.run()
    assert put.done and to.read(1 << 20, 256, "int64").tolist() == list(range(256))


def test_without_a_time_out_it_is_said_that_a_hub_waits() -> None:
    hubs = Hubs("peach2-ring-4")
    node, other = hubs.nodes[:2]
    put = node.put(other.processor.address(), node.gpus[0].address(), 1 << 16, wait=False)
    node.work(4000)
    node.restart_host()
    with pytest.raises(
        FabricStopped,
        match=r"a hub waits for completions or buffer space\nhub 0 waits for the completions of \d+ reads, the last one at 0x2\w+ in GPU 0 of "
        r"node 0: if its host was restarted, none will arrive, and reset\(\) of node 0 cancels them\nhub 0 has not ended the chain at .*; operation: a put of node 0",
    ):
        hubs.run()
    check(put, "hub 0 has not ended the chain")
    node.time_out(20)
    lost(hubs, "GPU 0 of node 0 has not completed all reads", "a put of node 0")
    assert node.counts()["given_up"][0][:2] == (1, LATE)


@pytest.mark.parametrize("engine", ["sim", pytest.param("rtl", marks=pytest.mark.long)])
def test_a_reset_recovers_from_a_restart_of_the_host(engine: str) -> None:
    """With and without a time-out, also for another node's get; the time-out is unchanged afterwards."""
    hubs = Hubs("peach2-ring-4", engine)
    node, other = hubs.nodes[:2]
    gpu, to = node.gpus[0], other.processor
    gpu.write(0, range(256))
    waits = "hub 0 waits for the completions of .* in GPU 0 of node 0"
    for sent_by in ("put", "get"):
        if sent_by == "put":
            node.put(to.address(), gpu.address(), 1 << 16, wait=False)
        else:
            other.get(to.address(), gpu.address(), 1 << 16)
        node.work(4000)
        node.restart_host()
        with pytest.raises(FabricStopped, match=waits):
            hubs.run()
        lost_too = node.put(to.address(), gpu.address(), 64)
        with pytest.raises(FabricStopped, match=f"the processor of node 0 has waited since .*(\n.*)*{waits}"):
            hubs.run()
        assert not lost_too.done
        node.reset()
        hubs.run()
        put = node.put(to.address(1 << 20), gpu.address(), 256 * 8)
        hubs.run()
        assert put.done and to.read(1 << 20, 256, "int64").tolist() == list(range(256))
        to.write(1 << 20, np.zeros(256, np.int64))
    node.time_out(20)
    for _ in range(2):
        node.put(to.address(), gpu.address(), 1 << 16, wait=False)
        node.work(4000)
        node.restart_host()
        lost(hubs, "GPU 0 of node 0 has not completed all reads")
        node.reset()
        hubs.run()


def test_a_reset_in_the_run_of_a_restart_says_what_is_lost() -> None:
    hubs = Hubs("peach2-ring-4")
    node, other = hubs.nodes[:2]
    put = node.put(other.processor.address(), node.gpus[0].address(), 1 << 16, wait=False)
    node.work(4000)
    node.restart_host()
    reset = node.reset()
    lost(hubs, "GPU 0 of node 0 has not completed all reads", "a put of node 0")
    assert reset.done and not put.done
