# SPDX-License-Identifier: Apache-2.0
"""Is every invalid argument refused with one line that names it, and has a refusal no side effects?"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.hubs import DIRECTIONS, Group, Hubs, Memory, Node, Reduction
from thalweg.systems.peach2.routes import LINKS
from thalweg.systems.peach2.running import StaleRead, WritesLost

CLUSTER = "peach2-ring-4"
KINDS: list[Any] = [None, "x", "7", b"7", 1.5, float("nan"), float("inf"), [], {}, object(), 1j, True, lambda: 0]
"""Values that are no whole numbers."""
FAR: list[Any] = [-1, -4, -(1 << 70), 1 << 64, 1 << 80, np.int64(-8)]
"""Whole numbers outside every range."""
NUMBERS = KINDS + FAR
CALLS = [name for name, method in vars(Node).items() if isfunction(method) and not name.startswith("_")]
TOP = (1 << 33) - (2 << 20)
"""In the processor's memory: start of the library's own data."""


class Raises:
    """An object whose own code fails."""

    def __index__(self) -> int:
        raise TypeError("two\nlines")

    def __repr__(self) -> str:
        raise RuntimeError


def hub(node: int, at: int) -> int:
    return _sim.hub_address(node, at)


def targets(node: Node) -> list[Any]:
    """Addresses to which no 64 bytes can be written."""
    memories = (node.processor, *node.gpus)
    ends = [memory.address(memory.size - 60) for memory in memories] + [node.hub.address(node.hub.size - 4)]
    return [
        *NUMBERS,
        Raises(),
        *ends,
        node.processor.address() + TOP,
        node.processor.address() + TOP - 4,
        (1 << 33) - 64,
        2,
        node.gpus[0].address(1),
        24 << 30,
        4 << 35,
        15 << 35,
        1 << 39,
        (1 << 64) - 4,
        hub(0, 0x20000004),  # not at a beat
        hub(0, 0x30000000),  # chains of the library
        hub(0, 0x30004000),
        hub(0, 0x30003FE0),
        hub(0, 0x30008000),  # behind the working RAM
        hub(0, 0x38000000),  # windows
        hub(0, 0x38001000),
    ]


def sources(node: Node) -> list[Any]:
    other = node.hubs.nodes[1]
    wrong = [other.processor.address(), other.gpus[1].address(64), other.hub.address()]
    return [address for address in targets(node) if not isinstance(address, int) or address >> 30 != 31] + wrong


COUNTS = [*NUMBERS, 0, 2, 63, (1 << 30) + 4, 1 << 32, (1 << 32) + 64, 1 << 63]
NODES = [*NUMBERS, 4, 1 << 32, (1 << 32) + 1]
FLAGS = [None, 0, 1, "yes", [], 2.0]
PLACES = [*NUMBERS, TOP + 4, 1 << 33, 1 << 40]
HOWS: list[Any] = [
    5,
    "sum",
    {"op": "sum"},
    *(Reduction(context=value) for value in [*NUMBERS, 4, 7, 1 << 33]),
    *(Reduction(record_bytes=value) for value in [*NUMBERS, 0, 4, 8, 24, 48, 256, 1 << 31, (1 << 32) + 32]),
    *(Reduction(tree=value) for value in FLAGS),
    *(Reduction(op=value) for value in [None, 0, "", "sum float32", "product", "SUM"]),
    *(Reduction(type=value) for value in [None, 0, "", "float64", "int32"]),
]
VALUES: list[Any] = [
    None,
    "text",
    {},
    object(),
    [[1], [1, 2]],
    [None],
    np.array(["a"]),
    [object()],
    {1: 2},
    1 << 80,
]
LISTS: list[Any] = [None, 5, "ab", b"ab", 1.5, object()]


def wrong_calls(hubs: Hubs, group: Group) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each argument of each method, one invalid at a time."""
    node, other = hubs.nodes[:2]
    at, here, there = 64, node.gpus[0].address(), other.gpus[0].address()

    def each(name: str, call: Callable[..., object], values: list[Any]) -> Iterator[tuple[str, Callable[[], object]]]:
        for value in values:
            yield f"{name} {type(value).__name__}", lambda value=value: call(value)

    for memory in (node.processor, node.gpus[1], node.hub):
        past = [*NUMBERS, memory.size + 1, memory.size, (1 << 64) - 4]
        yield from each("write.at", lambda v, m=memory: m.write(v, [1]), past)
        yield from each("read.at", lambda v, m=memory: m.read(v, 1), past)
        yield from each("read.count", lambda v, m=memory: m.read(0, v), [*NUMBERS, (1 << 30) + 1, 1 << 62])
        yield from each("read.count of 8 bytes", lambda v, m=memory: m.read(0, v, np.float64), [1 << 28, 1 << 61])
        yield from each("address", memory.address, [*NUMBERS, memory.size + 1])
    yield from each("write.values", lambda v: node.processor.write(0, v), VALUES)
    yield from each("read.dtype", lambda v: node.processor.read(0, 1, v), ["?x", "U4", object, "datetime64", 5, [1]])
    yield from each("Memory.node", lambda v: Memory(hubs, v, 0), NODES)
    yield from each("Memory.number", lambda v: Memory(hubs, 0, v), NODES)
    yield from each("Memory.hubs", lambda v: Memory(v, 0, 0), LISTS)
    yield from each("Node.number", lambda v: Node(hubs, v), NODES)

    yield from each("store.to", lambda v: node.store(v, np.zeros(16, np.uint32)), targets(node))
    yield from each(
        "store.values",
        lambda v: node.store(there, v),
        [*VALUES, [], np.zeros(3, np.uint8), np.zeros((1 << 24) + 4, np.uint8)],
    )
    yield from each("wait_for.at", lambda v: node.wait_for(v, 1), [*PLACES, 2, TOP, TOP - 2, 1 << 34])
    yield from each("wait_for.value", lambda v: node.wait_for(at, v), [*NUMBERS, 1 << 32])
    yield from each(
        "work.ns",
        node.work,
        [
            None,
            "5",
            b"5",
            [],
            {},
            1j,
            True,
            object(),
            float("nan"),
            float("inf"),
            -float("inf"),
            -1,
            -1e-9,
            1e16,
            10**400,
        ],
    )
    for wrong in (other.processor, other.gpus[0], node.hub, None, 1, Hubs(CLUSTER).nodes[0].processor):
        yield "copy.to", lambda wrong=wrong: node.copy(wrong, 0, node.processor, 0, 64)
        yield "copy.source", lambda wrong=wrong: node.copy(node.processor, 0, wrong, 0, 64)
    yield from each("copy.to_at", lambda v: node.copy(node.processor, v, node.gpus[0], 0, 64), [*PLACES, TOP, TOP - 32])
    yield from each("copy.source_at", lambda v: node.copy(node.gpus[0], 0, node.processor, v, 64), [*PLACES, TOP])
    yield from each(
        "copy.count", lambda v: node.copy(node.gpus[0], 0, node.processor, 0, v), [*NUMBERS, 0, (1 << 30) + 1, 1 << 63]
    )

    yield from each("put.to", lambda v: node.put(v, here, 64), targets(node))
    yield from each("put.source", lambda v: node.put(there, v, 64), sources(node))
    yield from each("put.count", lambda v: node.put(there, here, v), COUNTS)
    yield from each("put.descriptors", lambda v: node.put(there, here, 64, v), [None, 1, "disk", ["ram"], ""])
    yield from each("put.wait", lambda v: node.put(there, here, 64, "ram", v), FLAGS)
    yield from each(
        "chain.copies",
        node.chain,
        [
            *LISTS,
            [],
            [5],
            [(1, 2)],
            [(1, 2, 3, 4)],
            [(there, here, 64)] * 103,
            [(there, here, 64), (there, here, 2)],
            [(there, here, 64), None],
            ["abc"],
        ],
    )
    yield from each("get.to", lambda v: node.get(v, there, 64), [*targets(node), other.processor.address()])
    yield from each("get.source", lambda v: node.get(here, v, 64), sources(node)[:-3])
    yield from each("get.count", lambda v: node.get(here, there, v), COUNTS)

    yield from each("reduce.to", lambda v: node.reduce(v, [(here, 64)], Reduction(record_bytes=64)), targets(node))
    odd: list[Any] = [
        *LISTS,
        [],
        [5],
        [(here,)],
        [(here, 48)],
        [(here + 8, 64)],
        [(here, 0)],
        [(here, 1 << 30)],
        [(here, 1 << 26), (here, 64)],
        [(there, 64)],
        [(here, 64), (here, -64)],
    ]
    yield from each("reduce.sources", lambda v: node.reduce(here, v), odd)
    yield from each("reduce.how", lambda v: node.reduce(here, [(here, 64)], v), HOWS)
    yield from each("reduce.by_hub", lambda v: node.reduce(here, [(here, 64)], Reduction(context=3), v), FLAGS)
    yield "reduce in a group's context", lambda: node.reduce(here, [(here, 64)], Reduction(context=1))
    yield "put into a group's context", lambda: node.put(hub(1, 0x20000000 + (1 << 26)), here, 64)
    yield "store into a group's register", lambda: node.store(hub(0, 0x38000510), np.zeros(2, np.uint64))

    yield from each(
        "group.nodes",
        lambda v: hubs.group(v, at, Reduction(context=2)),
        [*LISTS, [], [2, 2], [2, 4], [2, -1], [2, None], [2, 1 << 32], range(5)],
    )
    yield from each("group.at", lambda v: hubs.group([2, 3], v), [*PLACES, 2, TOP, TOP - 28])
    yield from each(
        "group.how",
        lambda v: hubs.group([2, 3], at, v),
        [*HOWS, Reduction(context=3), Reduction(tree=True), Reduction(context=1, record_bytes=0)],
    )
    yield "group twice", lambda: hubs.group([3, 1], at)
    yield from each("group.reduce.node", lambda v: group.reduce(v, [(here, 64)]), [*NODES, 2, 3])
    yield from each("group.reduce.sources", lambda v: group.reduce(0, v), odd)

    yield from each("abort.channel", node.abort, [*NUMBERS, 2, 1 << 32])
    yield from each("let_write.nodes", node.let_write, [*LISTS, [4], [0, -1], [None], [1 << 40]])
    yield from each("translate.link", lambda v: node.translate(v, "inbound", 0, 4096, 4096), [*KINDS, 0, "up", "bus"])
    yield from each("translate.direction", lambda v: node.translate("east", v, 0, 4096, 4096), [*KINDS, 1, "in"])
    yield from each(
        "translate.first", lambda v: node.translate("east", "outbound", v, 0, 4096), [*NUMBERS, 2048, 1 << 39]
    )
    yield from each("translate.to", lambda v: node.translate("east", "outbound", 0, v, 4096), [*NUMBERS, 2048, 1 << 39])
    yield from each(
        "translate.count",
        lambda v: node.translate("east", "outbound", 0, 1 << 38, v),
        [*NUMBERS, 0, 2048, 12288, 1 << 40],
    )
    yield from each("counts", lambda v: Node.counts(Node(hubs, v)), NODES)
    table = [(0, (1 << 27) - 1, 0, 5)]
    yield from each(
        "load_windows",
        hubs.load_windows,
        [*LISTS, [], [table] * 3, [table] * 5, [table * 17] * 4, [[5]] * 4, [[(0, 1, 2)]] * 4],
    )
    for field in range(4):
        for value in [*NUMBERS, 1 << 32]:
            row = [*table[0]]
            row[field] = value
            yield f"load_windows field {field}", lambda row=row: hubs.load_windows([[tuple(row)]] * 4)
    yield from each("Hubs.cluster", Hubs, [None, 5, b"peach2", [], "no-such-cluster", Path("/nowhere.toml")])
    yield from each("Hubs.engine", lambda v: Hubs(CLUSTER, v), [None, 5, "fpga", b"sim", []])


def program(hubs: Hubs, group: Group) -> list[tuple[int, int]]:
    """All kinds of operations. Their durations depend on all state, and so reveal side effects."""
    node, other = hubs.nodes[:2]
    for each in hubs.nodes:
        each.gpus[0].write(0, np.ones(64, np.float32))
    here = node.gpus[0].address()
    operations = [
        node.put(other.processor.address(), here, 64, wait=False),
        node.chain([(other.gpus[1].address(), here, 256)], "host"),
        other.get(other.processor.address(1024), here, 64),
        node.reduce(node.processor.address(512), [(here, 256)], Reduction(context=2, record_bytes=16)),
        node.reduce(node.processor.address(512), [(here, 256)], Reduction(context=3), by_hub=False),
        *(group.reduce(number, [(hubs.nodes[number].gpus[0].address(), 64)]) for number in group.nodes),
    ]
    begin = hubs.nodes[2].work(0)
    hubs.run()
    assert (node.processor.read(1 << 20, 8, np.float32) == 4).all()
    return [(each.begin - begin.begin, each.end - begin.begin) for each in operations]


def test_each_wrong_argument_is_refused_with_a_line_and_changes_nothing() -> None:
    hubs, untouched = Hubs(CLUSTER), Hubs(CLUSTER)
    group, other = (each.group([0, 1], 1 << 20) for each in (hubs, untouched))
    count = 0
    for name, call in wrong_calls(hubs, group):
        try:
            call()
        except InputError as refused:
            line = str(refused)
            assert "\n" not in line and 10 < len(line) < 300, f"{name}: {line}"
        else:
            pytest.fail(f"{name} is taken")
        count += 1
    assert count > 900
    assert program(hubs, group) == program(untouched, other)
    assert [node.counts() for node in hubs.nodes] == [node.counts() for node in untouched.nodes]


def plausible(node: Node) -> dict[str, list[Any]]:
    """Values of arguments by name, of which many combinations are accepted."""
    memories = [node.processor, *node.gpus]
    others = [other.processor for other in node.hubs.nodes]
    addresses = [memory.address(at) for memory in memories + others for at in (0, 1 << 20)]
    return {
        "to": [*addresses, *memories, *memories],
        "source": [*addresses, *memories, *memories],
        "first": addresses,
        "at": [0, 64, 4096],
        "to_at": [0, 64],
        "source_at": [0, 4096],
        "count": [4, 4096, 4100, 1 << 16, 1 << 20],
        "values": [np.ones(16, np.uint32)],
        "value": [0, 1],
        "ns": [0, 100.5],
        "us": [0, 5, 100],
        "link": list(LINKS),
        "direction": list(DIRECTIONS),
        "channel": [0, 1],
        "node": [0, 1, 2],
        "nodes": [[0, 1], [2], [0, 1, 2, 3]],
        "gpu": [*node.gpus],
        "reads": [[], *([(address, 64)] for address in addresses)],
        "sources": [[(address, 64)] for address in addresses],
        "copies": [[(to, source, 4096)] for to in addresses[:4] for source in addresses],
        "how": [None, Reduction(context=2)],
        "windows": [node.hubs.cluster.windows],
        "wait": [True, False],
        "by_hub": [True, False],
        "descriptors": ["ram", "host"],
        "memories": [[0], [0, 1, 2]],
    }


@contextmanager
def stopped_with_reasons() -> Iterator[None]:
    """Allows a run to stop if it says which processor waits, or what was lost."""
    try:
        yield
    except FabricStopped as stopped:
        assert isinstance(stopped, WritesLost | StaleRead) or "has waited since" in str(stopped)


def test_calls_at_random_end_with_a_line_or_a_result(seed: int) -> None:
    """Any value for any argument: if it is accepted, the run ends, or reports who waits or which writes were lost."""
    draw = random.Random(seed)
    accepted: set[str] = set()
    for _ in range(20):
        hubs = Hubs(CLUSTER)
        group = hubs.group([0, 2], 4096)
        pool = [*NUMBERS, *HOWS, *VALUES, *LISTS, *FLAGS, *PLACES, *(t for node in hubs.nodes for t in targets(node))]
        for _ in range(draw.randint(1, 40)):
            node = draw.choice(hubs.nodes)
            right = plausible(node)
            methods: list[Callable[..., object]] = [
                *(getattr(node, name) for name in CALLS),
                hubs.group,
                hubs.load_windows,
                group.reduce,
                node.processor.read,
                node.processor.write,
            ]
            call = draw.choice(methods)
            chosen = {
                name: draw.choice(pool if draw.random() < 0.05 else right.get(name, pool))
                for name, parameter in signature(call).parameters.items()
                if parameter.default is parameter.empty or draw.random() < 0.5
            }
            try:
                with stopped_with_reasons():  # load_windows runs what is pending
                    call(**chosen)
                accepted.add(call.__name__)
            except InputError as refused:
                assert "\n" not in str(refused), refused
        with stopped_with_reasons():
            hubs.run()
    assert len(accepted) > len(CALLS) - 5
