# SPDX-License-Identifier: Apache-2.0
"""Disturbances of random programs, after which a put from each node must complete.

They are windows rewritten under traffic, register writes by other nodes, unawaited operations, aborted chains, hosts
reset alone, and missing members of groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.errors import FabricStopped
from thalweg.systems.peach2 import raw
from thalweg.systems.peach2.hubs import Node
from thalweg.systems.peach2.random_windows import ENGINE, PAGE, elsewhere, few
from thalweg.systems.peach2.routes import EAST, NORTH, SOUTH, WEST, register_of
from thalweg.systems.peach2.running import WritesLost

if TYPE_CHECKING:
    from thalweg.systems.peach2.programs import Program


def owner(program: Program, hub: Node) -> Node:
    """Permits a random node to write the hub's registers, from the next run on, and returns that node."""
    by = program.draw.choice(program.hubs.nodes)
    program.owners[hub.number].add(by.number)
    program.did(hub.let_write(sorted(program.owners[hub.number])))
    return by


def rewrite_windows(program: Program) -> None:
    """Lets a hub's DMA controller replace a window that diverts a few pages, while packets arrive.

    Either window may route a packet of these pages.
    """
    if program.tables is None:
        return
    hub = program.draw.choice(program.hubs.nodes)
    table = program.tables[hub.number]
    if not few(table[0]):
        return
    # with one ring the port SOUTH has no link, and windows written by a store are not checked
    window = elsewhere(program.draw, program.rings, (NORTH, EAST, WEST, SOUTH), program.pages)
    for _, _, lower, upper in (table[0], window):
        program.unsure.update(range(lower, upper + 1))
    for target in program.targets:
        first = target.memory.address(target.at)
        if target.of and target.of._times.begin < 0:  # it may arrive while the window is replaced
            target.maybe |= not program.unsure.isdisjoint(
                range(first // PAGE, (first + len(target.data) - 1) // PAGE + 1)
            )
    table[0] = window
    program.owners[hub.number].add(hub.number)
    program.did(hub.let_write(sorted(program.owners[hub.number])))
    value = np.array(register_of(window), np.uint64).tobytes()
    line = program.lines(hub, 1)
    program.did(hub.work(program.draw.randrange(20_000)))
    program.did(raw.write_chain(hub, line, (raw.window_at(hub, 0), program.written(hub.processor, value), len(value))))
    program.did(raw.start(hub, raw.line_at(hub, line)))
    for node in program.draw.sample(program.hubs.nodes, 2):
        program.transfer(node)


def trespass(program: Program) -> None:
    """Lets a node try to abort chains of another hub without permission; the hub must refuse and report the write."""
    by, hub = program.draw.sample(program.hubs.nodes, 2)
    if by.number in program.owners[hub.number]:
        return
    operation = raw.give_up(by, hub, program.draw.randint(1, 3), program.draw.randrange(4))
    program.did(operation)
    program.trespasses.append(operation)


def leave(program: Program) -> None:
    """Starts unawaited puts at the end of a phase. They are refused if windows divert the pages of their sources."""
    nodes = program.draw.sample(program.hubs.nodes, program.draw.randint(1, len(program.hubs.nodes)))
    for node in nodes:
        memory = program.draw.choice((node.processor, *node.gpus, node.hub))
        data = program.random_bytes(4 * program.draw.randint(1, 1000))
        source = program.written(memory, data)
        pages = range(source // PAGE, (source + len(data) - 1) // PAGE + 1)
        # not for sources whose windows may be rewritten: the result would be unknown
        if not program.unsure.isdisjoint(pages):
            continue
        refused = any(not program.readable(node.number, page) for page in pages)
        to = program.draw.choice((node.processor, program.draw.choice(program.hubs.nodes).processor))
        target = program.target(to, data, (node.number, ENGINE))
        put = node.put(to.address(target.at), source, len(data), program.draw.choice(("ram", "host")), wait=False)
        program.did(put, target)
        program.left.append((put, refused))


def last_phase(program: Program) -> None:
    """Aborts chains of other hubs at any time (with permission), resets hosts alone, and may omit a member of a group.

    Processors may wait forever.
    """
    draw = program.draw
    program.by_itself = True
    pairs = []
    for _ in range(draw.randint(1, 3)):
        hub = draw.choice(program.hubs.nodes)
        pairs.append((owner(program, hub), hub))
    restarted = draw.sample(program.hubs.nodes, draw.choice((0, 1, 1, 2)))
    for node in restarted:
        program.did(node.time_out(draw.choice((20, 50, 100))))
    if not program.run():
        return
    for node in draw.sample(program.hubs.nodes, len(program.hubs.nodes)):
        for _ in range(draw.randint(1, 3)):
            program.transfer(node)
    for group, how in program.groups:
        program.reduce_in(group, how, missing=draw.choice((None, *group.nodes)))
    for by, hub in pairs:
        program.did(by.work(draw.randrange(20_000)))
        program.did(raw.give_up(by, hub, draw.randrange(4), draw.choice((0, 0, 1, 2, 3))))
        program.transfer(by)
    leave(program)
    for node in restarted:
        program.did(node.work(draw.randrange(5_000)))
        program.did(node.restart_host())
    program.run()


def final_puts(program: Program) -> None:
    """Checks that finally a put from each node completes with correct data."""
    hubs = program.hubs
    for node in hubs.nodes:
        program.did(node.reset())
    program.run()
    for node in hubs.nodes:
        data = program.random_bytes(256)
        target = program.target(node.processor, data, None)
        put = node.put(node.processor.address(target.at), program.written(node.processor, data), len(data))
        program.did(put, target)
        for again in range(2):
            try:
                hubs.run()
            except WritesLost:  # about operations started before
                pass
            except FabricStopped as stopped:
                program.wrong.append(f"after the stop, a put of node {node.number} does not complete: {stopped}")
            if put.done or again:
                break
        if not put.done:
            program.wrong.append(f"after the program, a put of node {node.number} is not done: {put.error}")


def wrong_reports(program: Program) -> list[str]:
    """Returns missing and wrong reports."""
    wrong = [*program.wrong]
    for operation in program.trespasses:
        if operation._times.end >= 0 and "not opened to that node" not in operation.error:
            wrong.append("a node has written a register of a hub without permission")
    for operation, refused in program.left:
        if program.said or program.by_itself or program.unsure:
            if refused and operation.done:
                wrong.append("a put completed although its read was refused")
        elif ("a read was refused" in operation.error) != refused:
            wrong.append(f"a put whose read is {'' if refused else 'not '}refused says {operation.error!r}")
    return wrong
