# SPDX-License-Identifier: Apache-2.0
"""External tests of an exported engine of ACCL, by cocotb, through its ports alone.

Started by test_board.py.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from board_host import BYTES, WORD, End, datagram
from board_traffic import BUFFER, BUFFERS, IN_BUFFERS, odd, packets
from cocotb.clock import Clock
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiResp
from engine_host import PORTS, Engine, Status
from thalweg.systems.accl.spec import MessageKind

PEER, OWN = 0, 1  #: ranks
SESSIONS = (3, 2)  #: of the ranks
COMMUNICATOR = 8 + 28 * BUFFERS  #: in the exchange memory, behind receive buffers
ARITHMETIC = 0x1800
ANY = 0xFFFF_FFFF
CYCLES = 250  #: per microsecond
CONFIG, COPY, COMBINE, SEND, RECV = range(5)
ENABLE, TIME_OUT = 1, 2
TIMED_OUT, NOT_IMPLEMENTED, WRONG_SIZE = 1 << 11, 1 << 14, 1 << 18


def crc32c(data: bytes) -> int:
    register = ANY
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F6_3B78 if register & 1 else 0)
    return register ^ ANY


async def begun(dut: Any) -> Engine:
    """An engine with its receive buffers, a communicator of two ranks, and int8 and float32 with their sums."""
    Clock(dut.engine_aclk, 4000, "ps").start()
    Clock(dut.mac_aclk, 3102, "ps").start()
    # No group address: the lowest bit of the first byte is 0.
    ends = [
        End(random.getrandbits(48) & ~(1 << 40), random.randrange(1 << 24, 1 << 32), random.randrange(1, 1 << 16))
        for _ in range(4)
    ]
    engine = Engine(dut, ends, SESSIONS[OWN], random.getrandbits(32))
    await engine.reset()
    await engine.write(0, BUFFERS, BUFFER)
    for number, place in enumerate(random.sample(range(BUFFERS), BUFFERS)):
        await engine.write(8 + 28 * number + 4, IN_BUFFERS + BUFFER * place, 0)
    await engine.write(COMMUNICATOR, 2, OWN)
    for rank, session in enumerate(SESSIONS):
        end = ends[session]
        await engine.write(COMMUNICATOR + 8 + 24 * rank, end.ip, end.port, 0, 0, session, BUFFER)
    for at, size, function in ((ARITHMETIC, 1, 10), (ARITHMETIC + 64, 4, 0)):
        await engine.write(at, size, size, 0, 0, 0, 1, 0, function)
    await engine.call(CONFIG, 0, 0, 0, ENABLE, ANY, 0, 0, 0, 0, 0, 0)
    assert await engine.status() == (0, 0, 0)
    return engine


def identity(engine: Engine) -> int:
    """Identity of the communicator, as in packets."""
    words = [word for s in SESSIONS for word in (engine.ends[s].ip | engine.ends[s].port << 32, s)]
    return crc32c(b"".join(word.to_bytes(8, "little") for word in (*words, 0)))


async def done(engine: Engine, *words: int, port: int = 0) -> Status:
    await engine.call(*words, port=port)
    return await engine.status()


@cocotb.test()
async def registers(dut: Any) -> None:
    """The exchange memory holds the written data, with accesses that may be refused; the identity is constant."""
    engine = await begun(dut)
    at, word = 4 * random.randrange(0x1C00 // 4, 0x1E00 // 4), random.getrandbits(32)
    await engine.write(at, word)
    beyond = 0x2000 << random.randrange(19)
    assert (await engine.registers.write(beyond, bytes(4))).resp == AxiResp.SLVERR
    assert (await engine.registers.read(beyond, 4)).resp == AxiResp.SLVERR
    assert (await engine.registers.write(at, b"\1")).resp == AxiResp.SLVERR
    assert await engine.read(at) == word
    await engine.write(0x1FF8, ~engine.identity & ANY)
    assert await engine.read(0x1FF8) == engine.identity
    # Config calls, one of them invalid, by all ports.
    assert await done(engine, CONFIG, 0, 0, 0, 9, ANY, 0, 0, 0, 0, 0, 0, port=2) == (2, 0, NOT_IMPLEMENTED)
    assert await engine.read(0x1FFC) == NOT_IMPLEMENTED
    assert await done(engine, CONFIG, 5, 0, 0, TIME_OUT, ANY, 0, 0, 0, 0, 0, 0, port=1) == (1, 0, 0)
    assert await done(engine, RECV, 1, COMMUNICATOR, PEER, 0, 7, ARITHMETIC, 0, 0, 0, 0, 0) == (0, 1, TIMED_OUT)
    assert 4 * CYCLES < await engine.read(0x1FF0) < 8 * CYCLES
    assert await done(engine, RECV, 1, COMMUNICATOR, 2, 0, 7, ARITHMETIC, 0, 0, 0, 0, 0) == (0, 2, WRONG_SIZE)


@cocotb.test()
async def copies(dut: Any) -> None:
    """Calls by all ports at once: bytes at odd addresses, also to the host's memory, and a sum of float32; streams from
    and to a kernel."""
    engine = await begun(dut)
    device, host = engine.memory.device, engine.memory.host
    count = random.randint(20, 400)
    x, y = (np.random.default_rng(random.getrandbits(32)).normal(size=count).astype("<f4") for _ in range(2))
    device[1 : 1 + 4 * count], device[4097 : 4097 + 4 * count] = x.tobytes(), y.tobytes()
    size, to = odd(3000), 20000 + odd(3000)
    before = bytes(device)
    await engine.call(COMBINE, count, 0, 0, 0, ANY, ARITHMETIC + 64, 0, 0, 1, 4097, 8193, port=0)
    await engine.call(COPY, size, 0, 0, 0, ANY, ARITHMETIC, 0, 0, 12289, 0, to, port=1)
    await engine.call(COPY, size, 0, 0, 0, ANY, ARITHMETIC, 0, 4 << 8, 12289, 0, to, port=2)
    ended = [await engine.status() for _ in PORTS]
    assert sorted(ended) == [(0, 1, 0), (1, 0, 0), (2, 0, 0)]
    expected = bytearray(before)
    expected[8193 : 8193 + 4 * count] = (x + y).tobytes()
    expected[to : to + size] = before[12289 : 12289 + size]
    assert device == expected and host[to : to + size] == expected[to : to + size]

    assert await done(engine, COPY, size, 0, 0, 0, 5, ARITHMETIC, 0, 2, 12289, 0, 0) == (0, 2, 0)
    taken = b""
    while len(taken) < size:
        frame = await with_timeout(engine.to_kernel.recv(compact=False), 100, "us")
        assert set(frame.tdest if isinstance(frame.tdest, list) else [frame.tdest]) == {5}
        taken += bytes(frame.tdata)
    assert taken == before[12289 : 12289 + size] + bytes(-size % WORD)
    data = random.randbytes(WORD * 5)
    await engine.from_kernel.send(data)
    assert await done(engine, COPY, len(data) - 3, 0, 0, 0, ANY, ARITHMETIC, 0, 1, 0, 0, 77) == (0, 3, 0)
    assert device[77 : 77 + len(data)] == data[:-3] + bytes(expected[74 + len(data) : 77 + len(data)])


@cocotb.test()
async def messages(dut: Any) -> None:
    """Frames of a send, byte by byte; a recv of another rank's frames, which arrive before or after the call; a message
    to itself."""
    engine = await begun(dut)
    own, peer = (engine.ends[SESSIONS[rank]] for rank in (OWN, PEER))
    device = engine.memory.device
    values = {"communicator": identity(engine)}
    calls = 1
    for number, size in enumerate((odd(3 * BUFFER), BUFFER)):
        at, tag = odd(8000), random.getrandbits(31)
        await engine.call(SEND, size, COMMUNICATOR, PEER, 0, tag, ARITHMETIC, 0, 0, at, 0, 0)
        for header, payload in packets(
            MessageKind.MESSAGE, OWN, bytes(device[at : at + size]), number, tag=tag, **values
        ):
            assert await engine.frame() == datagram(own, peer, header.pack() + payload)
        assert await engine.status() == (0, calls, 0)
        calls += 1
    for number, (size, late) in enumerate(
        ((odd(3 * BUFFER), False), (BUFFER, True), (odd(BUFFER), random.random() < 0.5))
    ):
        data, tag, to = random.randbytes(size), random.getrandbits(31), 9000 + odd(8000)
        words = (RECV, size, COMMUNICATOR, PEER, 0, tag, ARITHMETIC, 0, 0, 0, 0, to)
        if late:
            await engine.call(*words)
        for header, payload in packets(MessageKind.MESSAGE, PEER, data, number, tag=tag, **values):
            await engine.comes(datagram(peer, own, header.pack() + payload))
        if not late:
            await engine.quiet()
            await engine.call(*words)
        assert await engine.status() == (0, calls, 0)
        assert device[to : to + size] == data
        calls += 1
    # A call without elements sends nothing.
    assert await done(engine, SEND, 0, COMMUNICATOR, PEER, 0, 3, ARITHMETIC, 0, 0, 1, 0, 0) == (0, calls, 0)
    calls += 1
    size, at, to = odd(3 * BUFFER), odd(8000), 20000 + odd(8000)
    await engine.call(RECV, size, COMMUNICATOR, OWN, 0, 4, ARITHMETIC, 0, 0, 0, 0, to)
    await engine.call(SEND, size, COMMUNICATOR, OWN, 0, 4, ARITHMETIC, 0, 0, at, 0, 0, port=2)
    assert sorted([await engine.status(), await engine.status()]) == [(0, calls, 0), (2, 0, 0)]
    assert device[to : to + size] == device[at : at + size] and engine.tx.empty()
    assert not any(getattr(dut, f"{name}_failed").value for name in ("x", "y", "z", "buffer")) and len(device) == BYTES
