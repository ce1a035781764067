# SPDX-License-Identifier: Apache-2.0
"""Do requests that pass a link go to the pages that its host has set, in both directions, and only those?"""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.systems.peach2.hubs import Hubs, Memory, WritesLost

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


def test_a_write_that_is_translated_to_nowhere_is_reported() -> None:
    hubs = Hubs(CLUSTER)
    a, b = hubs.nodes[:2]
    a.translate("east", "outbound", b.processor.address(), 15 << 35, 1 << 33)
    hubs.run()
    a.put(b.processor.address(), a.processor.address(), 4096, wait=False)
    with pytest.raises(WritesLost, match="0x7800000000"):
        hubs.run()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"link": "up"}, "link is 'up'; it must be one of north, east, west, south"),
        ({"link": 0}, "link is 0"),
        ({"direction": "both"}, "direction is 'both'; it must be one of inbound, outbound"),
        ({"count": 0}, "a translation of 0 bytes; must be a power of two from 4096 to 512 GByte"),
        ({"count": 2048}, "a translation of 2048 bytes"),
        ({"count": 3 * 4096}, "a translation of 12288 bytes"),
        ({"count": 1 << 40}, "a translation of 1099511627776 bytes"),
        ({"first": 2048}, "a translation at 0x800; must be below 512 GByte, and a multiple of its size, 4096"),
        ({"to": 1 << 39}, "a translation at 0x8000000000"),
        ({"to": -4096}, "to is -4096"),
    ],
    ids=str,
)
def test_a_rule_that_cannot_be_is_refused(wrong: dict[str, object], said: str) -> None:
    right = {"link": "east", "direction": "inbound", "first": 0, "to": 4096, "count": 4096}
    with pytest.raises(InputError) as refused:
        Hubs(CLUSTER).nodes[0].translate(**{**right, **wrong})  # type: ignore[arg-type]
    assert said in str(refused.value) and "\n" not in str(refused.value)
