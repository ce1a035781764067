# SPDX-License-Identifier: Apache-2.0
"""An exported hub behind the root complex of cocotbext-pcie: reads as a host asks for them, refused reads, and chains with errors.
Started by test_hub.py; the folder of the export is in the environment.
"""

from __future__ import annotations

import random

import cocotb
from cocotb.handle import HierarchyObject
from cocotb.triggers import ClockCycles
from hub_host import LARGEST, PAGE
from hub_traffic import NODE, NUMBERS
from root_complex import WRITES, begin

REFUSED, FAILED, LATE = 2, 3, 6  # faults of a chain


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def reads_are_completed_as_asked(dut: HierarchyObject) -> None:
    """Partial and zero-length reads, with headers of three double words by the BAR, and of four by the address in the cluster."""
    host = await begin(dut)
    data = random.randbytes(2 * LARGEST)
    for at in range(0, len(data), LARGEST):
        await host.request(WRITES, host.bar + at, data=data[at : at + LARGEST])
    for base in (host.bar, host.at("memory")):
        for at, size in [(0, 0), (5, 0), (0, 1), (3, 1), (1, 2), (2, 4), (7, 9), (126, 5), (1, 254), (0, 256)]:
            assert await host.read(base + at, size) == data[at : at + size]
    # Half of a word is written, and the other half stays.
    await host.request(WRITES, host.bar + 2, data=b"ab")
    assert await host.read(host.bar, 8) == data[:2] + b"ab" + data[4:8]


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def refused_reads_are_unsupported_requests(dut: HierarchyObject) -> None:
    host = await begin(dut)
    ram = 16 << NUMBERS["RamBits"]
    missing = [
        host.bar + 0x30000000 + ram,  # behind the working RAM
        host.at("window") + PAGE,  # behind the registers
        NODE * host.node,  # to the port where it came in
    ]
    for address in missing:
        assert await host.read(address, 4) is None, hex(address)
    assert await host.read(host.bar, 4) is not None


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def chains_report_errors_and_recover(dut: HierarchyObject) -> None:
    """Split completions are put together; a read outside of the host's memory, and one without a completion, end the chain with a fault;
    the next chain runs."""
    host = await begin(dut)
    ours, hub = NODE * host.node, host.at("memory")
    host.memory[:2048] = data = random.randbytes(2048)
    await host.chain([(ours + 4, hub + 64, 1000), (ours + 60, hub + 2052, 516)])
    assert await host.ended(1) == 0
    assert host.hub_memory.read(64, 1000) == data[4:1004] and host.hub_memory.read(2052, 516) == data[60:576]
    await host.chain([(hub + 64, ours + 4096, 1000)])
    assert await host.ended(2) == 0
    assert bytes(host.memory[4096:5096]) == data[4:1004]

    # Outside of the host's address space, and in a part of it that has no memory, which the root complex aborts.
    for faults, (page, reason) in enumerate([(0x90000, REFUSED), (0x70000, FAILED)], 1):
        await host.translate(1, 1, ours // PAGE, page)
        await host.chain([(ours, hub, 512)])
        assert await host.ended(2 + faults) == faults
        assert await host.register("given_up") >> 32 & 7 == reason

    await host.translate(1, len(host.memory) // PAGE, ours // PAGE, host.base // PAGE)
    host.silent = True
    await host.write(host.at("timeout"), 2)
    await host.chain([(ours, hub, 512)])
    assert await host.ended(5) == 3
    assert await host.register("given_up") >> 32 & 7 == LATE
    host.silent = False
    await ClockCycles(dut.net_aclk, 3 * 1024)  # until the hub no longer waits for the completions
    await host.chain([(ours + 512, hub, 512)])
    assert await host.ended(6) == 3
    assert host.hub_memory.read(0, 512) == data[512:1024]
