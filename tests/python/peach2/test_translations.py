# SPDX-License-Identifier: Apache-2.0
"""Do requests that pass a link go to the pages that its host has set, in both directions, and only those?"""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.hubs import Hubs, Memory
from thalweg.systems.peach2.running import WritesLost

CLUSTER = "peach2-ring-4"
MBYTE = 1 << 20


def bytes_at(memory: Memory, at: int, count: int) -> bytes:
    return memory.read(at, count).tobytes()


def test_writes_of_a_neighbour_go_to_other_pages(seed: int) -> None:
    """From west a write enters node 1, whose rule leads the second MByte of a GPU to a MByte of the processor's memory."""
    data = np.random.default_rng(seed).bytes(3 * MBYTE)
    hubs = Hubs(CLUSTER)
    a, b = hubs.nodes[:2]
    a.gpus[0].write(0, np.frombuffer(data, np.uint8))
    b.translate("west", "inbound", b.gpus[0].address(MBYTE), b.processor.address(4 * MBYTE), MBYTE)
    hubs.run()
    a.put(b.gpus[0].address(), a.gpus[0].address(), len(data))
    hubs.run()
    assert bytes_at(b.gpus[0], 0, MBYTE) == data[:MBYTE]
    assert bytes_at(b.gpus[0], MBYTE, MBYTE) == bytes(MBYTE)
    assert bytes_at(b.gpus[0], 2 * MBYTE, MBYTE) == data[2 * MBYTE :]
    assert bytes_at(b.processor, 4 * MBYTE, MBYTE) == data[MBYTE : 2 * MBYTE]

    same = b.gpus[0].address(MBYTE)
    b.translate("west", "inbound", same, same, MBYTE)  # none again
    hubs.run()
    a.put(same, a.gpus[0].address(), 64)
    hubs.run()
    assert bytes_at(b.gpus[0], MBYTE, 64) == data[:64]


def test_reads_and_writes_of_the_host_go_to_other_pages(seed: int) -> None:
    """The hub reads a put's source in one memory, and writes an arriving one to it, where packets name another memory."""
    here, there = (np.random.default_rng((seed, i)).bytes(8192) for i in range(2))
    hubs = Hubs(CLUSTER)
    a, b = hubs.nodes[:2]
    a.gpus[1].write(0, np.frombuffer(here, np.uint8))
    b.processor.write(0, np.frombuffer(there, np.uint8))
    a.translate("north", "outbound", a.processor.address(MBYTE), a.gpus[1].address(), MBYTE)
    hubs.run()
    a.put(b.processor.address(MBYTE), a.processor.address(MBYTE), 8192)
    b.put(a.processor.address(MBYTE + 65536), b.processor.address(), 8192)
    hubs.run()
    assert bytes_at(b.processor, MBYTE, 8192) == here
    assert bytes_at(a.gpus[1], 65536, 8192) == there
    assert bytes_at(a.processor, MBYTE, MBYTE) == bytes(MBYTE)


def test_a_write_that_is_led_back_is_reported() -> None:
    hubs = Hubs(CLUSTER)
    a, b = hubs.nodes[:2]
    a.translate("east", "outbound", b.processor.address(), a.processor.address(), MBYTE)
    hubs.run()
    a.put(b.processor.address(), a.processor.address(), 256, wait=False)
    with pytest.raises(WritesLost, match="hub 1 refused, from west, a write .* to 0x0: to the port where it came in"):
        hubs.run()


def test_a_hub_whose_registers_are_translated_away_is_named() -> None:
    """By a store into the register of the host's inbound rule."""
    hubs = Hubs(CLUSTER)
    a, b = hubs.nodes[:2]
    page, other = (_sim.hub_address(node.number, 0) >> 12 for node in (a, b))
    mask = (1 << 27) - (1 << 18)
    a.store(_sim.register_address(0, 96), np.array([page | other << 32, mask | 1 << 40], np.uint64))
    hubs.run()
    with pytest.raises(InputError, match="hub 0 does not answer reads of its registers"):
        a.counts()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"link": "up"}, "link is 'up'; it must be one of north, east, west, south"),
        ({"link": 0}, "link is 0"),
        ({"direction": "both"}, "direction is 'both'; it must be one of inbound, outbound"),
        ({"count": 0}, "a translation of 0 bytes; must be a power of two of at least 4096"),
        ({"count": 2048}, "a translation of 2048 bytes"),
        ({"count": 3 * 4096}, "a translation of 12288 bytes"),
        ({"count": 1 << 40}, "a translation of 1099511627776 bytes at 0x0: the address and the length must be"),
        (
            {"first": 2048},
            "a translation at 0x800 in the processor's memory of node 0; must be in a memory, at a multiple",
        ),
        ({"first": (1 << 33) - 4096}, "belong to the library"),
        ({"to": 31 << 30, "count": 1 << 30}, "beyond the end of the memory of hub 0"),
        ({"to": (31 << 30) + 0x38000000}, "the windows of hub 0"),
        ({"to": (31 << 30) + 0x20000000}, "in the calculator of hub 0; must be in a memory"),
        ({"to": 1 << 39}, "a translation of 4096 bytes at 0x8000000000: no node has that address"),
        ({"to": -4096}, "to is -4096"),
    ],
    ids=str,
)
def test_a_rule_that_cannot_be_is_refused(wrong: dict[str, object], said: str) -> None:
    right = {"link": "east", "direction": "inbound", "first": 0, "to": 4096, "count": 4096}
    with pytest.raises(InputError) as refused:
        Hubs(CLUSTER).nodes[0].translate(**{**right, **wrong})  # type: ignore[arg-type]
    assert said in str(refused.value) and "\n" not in str(refused.value)
