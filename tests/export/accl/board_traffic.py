# SPDX-License-Identifier: Apache-2.0
"""External tests of an exported board of ACCL, by cocotb, through its ports alone.

Started by test_board.py.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from board_host import (
    BEGIN,
    BYTES,
    CANCEL,
    CANCELLED,
    CLEAR,
    DIFFERS,
    MEMORY,
    MESSAGE,
    MOVED,
    SLAVE_ERROR,
    STREAM,
    TO_MEMORY,
    TO_RANK,
    TO_STREAM,
    WORD,
    Board,
    End,
    arp,
    datagram,
    echo,
)
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from thalweg.spec import Datatype, Operator
from thalweg.systems.accl.spec import AcclPacket, MessageKind

PACKET, BUFFER, BUFFERS = 512, 1024, 16
COMMUNICATOR, INDEX = 0x1234_5678, 5
OWN, PEER = 2, 1  #: ends
OWN_RANK, PEER_RANK = 3, 0  #: in the communicator
IN_BUFFERS = BYTES - BUFFERS * BUFFER  #: address of the receive buffers in memory
ANY = 0xFFFF_FFFF


async def begun(dut: Any) -> Board:
    """A board with its settings, of random addresses."""
    Clock(dut.engine_aclk, 4000, "ps").start()
    Clock(dut.mac_aclk, 3102, "ps").start()
    # No group address: the lowest bit of the first byte is 0.
    ends = [End(random.getrandbits(48) & ~(1 << 40), random.getrandbits(32), random.getrandbits(16)) for _ in range(4)]
    board = Board(dut, ends, OWN)
    await board.reset()
    places = random.sample(range(BUFFERS), BUFFERS)
    for number, place in enumerate(places):
        await board.set(0, number, IN_BUFFERS + BUFFER * place)
    await board.set(1, 0, PACKET // 64 | BUFFER // 64 << 8 | BUFFERS - 1 << 24)
    await board.set(2, INDEX, COMMUNICATOR | 1 << 32)
    await board.settings.wait()
    await board.command(does=CLEAR)
    return board


def packets(kind: MessageKind, rank: int, data: bytes, number: int, **values: int) -> list[tuple[AcclPacket, bytes]]:
    """The packets of a message, in order."""
    made = []
    values = {"communicator": COMMUNICATOR, **values}
    for segment in range(0, max(1, len(data)), BUFFER):
        length = min(BUFFER, len(data) - segment)
        for offset in range(segment, segment + max(1, length), PACKET):
            header = AcclPacket(
                kind=kind,
                source=rank,
                number=number,
                length=len(data),
                offset=offset,
                segment=segment,
                segment_length=length,
                **values,
            )
            made.append((header, data[offset : min(offset + PACKET, segment + length)]))
    return made


def odd(below: int) -> int:
    return 2 * random.randrange(below // 2) + 1


def changed(board: Board, before: bytes, at: int, data: bytes) -> None:
    """Checks that the memory is unchanged except for these bytes and the receive buffers."""
    expected = before[:at] + data + before[at + len(data) :]
    assert board.memory.device[:IN_BUFFERS] == expected[:IN_BUFFERS]


@cocotb.test()
async def copies(dut: Any) -> None:
    """Bytes at odd addresses, from and to both memories; and the sum of two operands of float32, of which one and the
    result are float16."""
    board = await begun(dut)
    memories = (board.memory.device, board.memory.host)
    for from_host, to_host, size in ((0, 0, odd(64)), (0, 1, odd(5000)), (1, 0, odd(5000))):
        at, to = odd(8000), 8192 + odd(8000)
        before = [bytes(memory) for memory in memories]
        await board.move(
            slot=random.randrange(16),
            x_source=MEMORY,
            target=TO_MEMORY,
            x_at=at,
            x_how=from_host << 4,
            z_at=to,
            z_how=to_host << 4,
            elements=size,
        )
        expected = bytearray(before[to_host])
        expected[to : to + size] = before[from_host][at : at + size]
        assert memories[to_host] == expected and memories[1 - to_host] == before[1 - to_host]

    count = random.randint(200, 700)
    x, y = (np.random.default_rng(random.getrandbits(32)).normal(size=count).astype(t) for t in ("<f4", "<f2"))
    board.memory.device[1 : 1 + 4 * count] = x.tobytes()
    board.memory.device[4097 : 4097 + 2 * count] = y.tobytes()
    await board.move(
        x_source=MEMORY,
        y_source=MEMORY,
        target=TO_MEMORY,
        wire_size=2,
        operation=Operator.SUM,
        datatype=Datatype.FLOAT32,
        x_at=1,
        x_how=2,
        y_at=4097,
        y_how=1 | 2 << 2,
        z_at=8193,
        z_how=1 | 1 << 2,
        elements=count,
    )
    assert board.memory.device[8193 : 8193 + 2 * count] == (x + y.astype("<f4")).astype("<f2").tobytes()
    assert not any(getattr(dut, f"{name}_failed").value for name in ("x", "y", "z", "buffer"))


@cocotb.test()
async def sends(dut: Any) -> None:
    """Frames of messages to the MAC, byte by byte: with several segments, and without data."""
    board = await begun(dut)
    for number, size in enumerate((odd(3 * BUFFER), 0, BUFFER, 2 * BUFFER + PACKET + 1)):
        at, tag = odd(8000), random.getrandbits(32)
        await board.command(
            x_source=MEMORY,
            target=TO_RANK,
            x_at=at,
            elements=size,
            kind=MessageKind.MESSAGE,
            to=PEER,
            own_rank=OWN_RANK,
            to_communicator=COMMUNICATOR,
            to_tag=tag,
            to_number=number,
        )
        data = bytes(board.memory.device[at : at + size])
        for header, payload in packets(MessageKind.MESSAGE, OWN_RANK, data, number, tag=tag):
            assert await board.frame() == datagram(board.ends[OWN], board.ends[PEER], header.pack() + payload)
        assert await board.end() == (0, MOVED, 0)
    assert board.tx.empty()


@cocotb.test()
async def receives(dut: Any) -> None:
    """Packets of a message arrive in any order, some damaged or repeated, and a move takes the message to an odd
    address, before or after its arrival. Messages of two tags; a different length; an aborted one; a message of the
    board to itself; strays."""
    board = await begun(dut)
    take = {"x_source": MESSAGE, "target": TO_MEMORY, "from_communicator": INDEX, "from": PEER_RANK}

    async def come(number: int, tag: int, data: bytes) -> None:
        """Sends the packets, one of them twice."""
        made = packets(MessageKind.MESSAGE, PEER_RANK, data, number, tag=tag)
        frames = [datagram(board.ends[PEER], board.ends[OWN], header.pack() + payload) for header, payload in made]
        await board.comes(random.choice(frames), damaged=True)
        frames.append(random.choice(frames))
        random.shuffle(frames)
        for frame in frames:
            await board.comes(frame)

    sizes = (odd(BUFFER), 3 * BUFFER + odd(BUFFER), 4 * BUFFER)
    for number, size in enumerate(sizes):
        data, tag, to = random.randbytes(size), random.getrandbits(32), odd(8000)
        before = bytes(board.memory.device)
        early = random.random() < 0.5
        if early:
            await board.command(slot=number, elements=size, z_at=to, from_tag=random.choice((tag, ANY)), **take)
            await ClockCycles(dut.engine_aclk, 200)
            assert int(dut.message_waits.value) == 1 << number
        await come(number, tag, data)
        if not early:
            await board.quiet()
            await board.command(slot=number, elements=size, z_at=to, from_tag=random.choice((tag, ANY)), **take)
        assert await board.end() == (number, MOVED, 0)
        await board.quiet()
        changed(board, before, to, data)
    kept = sum(len(packets(MessageKind.MESSAGE, PEER_RANK, bytes(size), 0)) for size in sizes)
    assert board.counts("counts") == [0, 0, 0, len(sizes), 0, kept]
    assert board.counts("received") == [0, len(sizes), 0, kept + len(sizes)]

    # Two messages; the second one is taken first, by its tag; its length differs.
    number = len(sizes)
    for tag, data in ((7, random.randbytes(100)), (8, random.randbytes(BUFFER + 3))):
        await come(number, tag, data)
        number += 1
    before = bytes(board.memory.device)
    await board.command(slot=4, elements=BUFFER, z_at=1, from_tag=8, **take)
    assert await board.end() == (4, DIFFERS, BUFFER + 3)
    await board.command(slot=5, elements=100, z_at=1, from_tag=9, **take)
    await ClockCycles(dut.engine_aclk, 200)
    await board.command(slot=5, does=CANCEL)
    assert await board.end() == (5, CANCELLED, 0)
    changed(board, before, 0, b"")
    # To itself: nothing is sent to the MAC.
    await board.command(
        slot=6,
        does=BEGIN,
        x_source=MEMORY,
        target=TO_RANK,
        x_at=3,
        elements=1001,
        to=OWN,
        own_rank=OWN_RANK,
        to_communicator=COMMUNICATOR,
        to_tag=7,
    )
    assert await board.end() == (6, MOVED, 0)
    await board.move(slot=6, elements=1001, z_at=4097, from_tag=7, **{**take, "from": OWN_RANK})
    changed(board, before, 4097, before[3:1004])
    # Of another communicator, and for another board.
    strange = AcclPacket(communicator=COMMUNICATOR + 1, length=4, segment_length=4)
    await board.comes(datagram(board.ends[PEER], board.ends[OWN], strange.pack() + b"abcd"))
    await board.comes(datagram(board.ends[PEER], board.ends[0], strange.pack() + b"abcd"))
    await board.quiet()
    assert board.counts("counts")[1] == 1 and board.counts("received")[0] == 1
    assert board.counts("own_dropped") == [0] and board.counts("dropped") == [0]
    assert board.tx.empty()


@cocotb.test()
async def kernels(dut: Any) -> None:
    """A put of another rank goes to the kernel's stream, without the data behind a lost packet; the kernel's words go
    to a rank, and to memory; memory to the kernel."""
    board = await begun(dut)

    async def words(size: int, number: int) -> bytes:
        found = b""
        while len(found) < size:
            frame = await with_timeout(board.to_kernel.recv(), 100, "us")
            assert frame.tdest in (number, [number] * len(frame.tdata))
            found += bytes(frame.tdata)
        return found

    for number in range(2):
        data, stream = random.randbytes(2 * BUFFER + odd(BUFFER)), random.randrange(256)
        for header, payload in packets(MessageKind.STREAM, PEER_RANK, data, number, stream=stream):
            await board.comes(datagram(board.ends[PEER], board.ends[OWN], header.pack() + payload))
        assert await words(len(data), stream) == data + bytes(-len(data) % WORD)
    lost = packets(MessageKind.STREAM, PEER_RANK, data, 2, stream=9)
    for header, payload in lost[1:]:
        await board.comes(datagram(board.ends[PEER], board.ends[OWN], header.pack() + payload))
    await board.quiet()
    assert board.to_kernel.empty() and board.counts("counts")[0] == len(lost) - 1

    data = random.randbytes(PACKET + 64 * odd(8))
    await board.command(
        x_source=STREAM,
        target=TO_RANK,
        elements=len(data) - 5,
        kind=MessageKind.STREAM,
        stream=77,
        to=PEER,
        own_rank=OWN_RANK,
        to_communicator=COMMUNICATOR,
    )
    await ClockCycles(dut.engine_aclk, 200)
    assert int(dut.kernel_waits.value) == 1
    await board.from_kernel.send(data)
    for header, payload in packets(MessageKind.STREAM, OWN_RANK, data[:-5], 0, stream=77):
        assert await board.frame() == datagram(board.ends[OWN], board.ends[PEER], header.pack() + payload)
    assert await board.end() == (0, MOVED, 0)

    before, data = bytes(board.memory.device), random.randbytes(WORD * 5)
    await board.from_kernel.send(data)
    await board.move(x_source=STREAM, target=TO_MEMORY, z_at=77, elements=WORD * 5 - 1)
    changed(board, before, 77, data[:-1])
    await board.move(x_source=MEMORY, target=TO_STREAM, x_at=77, elements=200, stream=5)
    assert await words(200, 5) == data[:200] + bytes(56)


@cocotb.test()
async def requests(dut: Any) -> None:
    """Ping and ARP are answered; a ping with a wrong checksum is not."""
    board = await begun(dut)
    own, peer = board.ends[OWN], board.ends[PEER]
    await board.comes(arp(peer, own, 1, ask=True))
    assert await board.frame() == arp(own, peer, 2, ask=False)
    for size in (0, odd(100), odd(1400)):
        data = random.randbytes(4 + size)
        request = echo(peer, own, 8, data)
        wrong = bytearray(request)
        wrong[38] ^= 1
        await board.comes(bytes(wrong))
        await board.comes(request)
        answer = await board.frame()
        # Fields that IPv4 leaves to the sender are not compared: identification, fragment, hops.
        expected = echo(own, peer, 0, data)
        assert answer[:18] == expected[:18] and answer[23] == 1 and answer[26:] == expected[26:]
    await board.quiet()
    assert board.counts("answered") == [3, 0, 4] and board.counts("received") == [0, 0, 7, 0]


@cocotb.test()
async def failures(dut: Any) -> None:
    """An access that the memory refuses is reported by its port until the next reset."""
    board = await begun(dut)
    ports = ("x", "y", "z", "buffer")

    def failed() -> list[str]:
        return [name for name in ports if getattr(dut, f"{name}_failed").value]

    for count, name in enumerate(("z", "x")):
        board.memory.status[name] = SLAVE_ERROR
        await board.move(x_source=MEMORY, target=TO_MEMORY, x_at=1, z_at=5000, elements=99)
        await board.quiet()
        board.memory.status[name] = board.memory.status["y"]
        assert len(failed()) == count + 1 and name in failed()
    await board.reset()
    assert failed() == []
