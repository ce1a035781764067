# SPDX-License-Identifier: Apache-2.0
"""Frames that are not of a node's circuits, from outside: none is delivered, each is counted by its cause, and circuits go on beside them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from thalweg._core import NEVER
from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader
from thalweg.vcsn import Cluster, Network, Place

TYPE = b"\x88\xb5"
SHORTEST, LONGEST = 60, 9_212  #: bytes of an Ethernet frame without FCS


def address(node: int, port: int) -> bytes:
    return bytes([2, 0, 0, port, 0, node])


def frame(
    words: int,
    destination: bytes,
    source: bytes,
    header: VcsnHeader,
    kind: bytes = TYPE,
    data: Callable[[int], bytes] = bytes,
) -> bytes:
    return destination + source + kind + header.pack() + data(64 * words)


class Attack:
    """Draws frames at port 0 of node 0, whose virtual ports are joined with nodes 1 and 2 of its partition, each with its cause."""

    HERE = address(0, 0)
    PEERS = (1, 2)

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.ways = (
            self.random_bytes,
            self.random_rest,
            self.wrong_field,
            self.other_partition,
            self.cut,
            self.grown,
            self.damaged,
        )

    def one(self) -> tuple[bytes, bool, str]:
        """The frame, whether its FCS is wrong, and what it is to be counted as."""
        return self.draw.choice(self.ways)()

    def valid(self) -> tuple[bytes, bytes, VcsnHeader, int]:
        """Destination, source, header and words of a frame that would be taken."""
        port, draw = self.draw.randrange(2), self.draw
        header = VcsnHeader(
            port, 0, draw.randrange(256), FrameKind.DATA, first=draw.random() < 0.5, last=draw.random() < 0.5
        )
        return self.HERE, address(self.PEERS[port], 0), header, draw.choice([1, 2, 143, draw.randint(1, 143)])

    def random_bytes(self) -> tuple[bytes, bool, str]:
        size = self.draw.choice([self.draw.randint(1, 200), self.draw.randint(SHORTEST, LONGEST)])
        data = self.draw.randbytes(size)
        return data, False, "strays" if size >= SHORTEST else "misfits"

    def random_rest(self) -> tuple[bytes, bool, str]:
        """The right address and type, and anything behind."""
        rest = self.draw.randbytes(self.draw.randint(46 - 4, 2_000))
        _, source, header, _ = self.valid()
        if self.draw.random() < 0.5:
            return (
                self.HERE + source + self.draw.choice([b"\x08\x00", b"\x88\xb6"]) + header.pack() + rest,
                False,
                "others",
            )
        unknown = self.draw.randbytes(6)
        return self.HERE + unknown + TYPE + header.pack() + rest, False, "foreign"

    def wrong_field(self) -> tuple[bytes, bool, str]:
        destination, source, header, words = self.valid()
        port, draw = header.destination_port, self.draw
        match draw.randrange(7):
            case 0:
                return frame(words, address(0, 1), source, header), False, "strays"
            case 1:
                return frame(words, b"\xff" * 6, source, header), False, "strays"
            case 2:
                return frame(words, destination, source, header, b"\x88\xb6"), False, "others"
            case 3:  # the row of another virtual port, or of none
                wrong = VcsnHeader(draw.choice([1 - port, 2, 3, 255]), 0, header.channel, header.kind, True, True)
                return frame(words, destination, source, wrong), False, "foreign"
            case 4:
                wrong = VcsnHeader(port, draw.randint(1, 255), header.channel, header.kind, True, True)
                return frame(words, destination, source, wrong), False, "foreign"
            case 5:  # indications and credits of nobody's circuit
                wrong = VcsnHeader(port, 1, 0, draw.choice([FrameKind.INDICATION, FrameKind.CREDIT]), True, True)
                return frame(1, destination, source, wrong), False, "foreign"
            case _:  # a kind without a meaning
                packed = bytearray(frame(words, destination, source, header))
                packed[14 + 3] |= 0xC0
                return bytes(packed), False, "unformed"

    def other_partition(self) -> tuple[bytes, bool, str]:
        destination, _, header, words = self.valid()
        source = address(self.draw.randrange(8, 16), self.draw.randrange(2))
        return frame(words, destination, source, header, data=self.draw.randbytes), False, "foreign"

    def cut(self) -> tuple[bytes, bool, str]:
        destination, source, header, words = self.valid()
        whole = frame(words, destination, source, header)
        size = self.draw.choice([self.draw.randrange(SHORTEST), self.draw.randrange(len(whole))])
        if (size - 18) % 64 == 0:
            size -= 1
        return whole[:size], False, "misfits" if size < SHORTEST else "unformed"

    def grown(self) -> tuple[bytes, bool, str]:
        destination, source, header, _ = self.valid()
        whole = frame(143, destination, source, header)
        size = self.draw.choice([len(whole) + 1, LONGEST, LONGEST + 1, self.draw.randint(LONGEST, 70_000)])
        return whole + bytes(size - len(whole)), False, "misfits" if size > LONGEST else "unformed"

    def damaged(self) -> tuple[bytes, bool, str]:
        destination, source, header, words = self.valid()
        return frame(words, destination, source, header), True, "damaged"


def under_attack(frames: int, seed: int) -> None:
    draw = random.Random(seed)
    network: Network = Cluster.load("vcsn-d5005").network()
    network.set_partition(range(8), "left")
    network.set_partition(range(8, 16), "right")
    circuits = [(Place(0, 0, port), Place(peer, 0, 0)) for port, peer in enumerate(Attack.PEERS)]
    network.rewire(circuits)
    for port, peer in enumerate(Attack.PEERS):
        network.connect(0, port, network.place(0, 0, port))
        network.connect(peer, network.place(peer, 0, 0), 0)
    attack, expected = Attack(draw), Counter[str]()
    sent = {"taken": 0}
    for batch in range(0, frames, 500):
        packets = {}
        for port, peer in enumerate(Attack.PEERS):  # what the circuits carry meanwhile
            size = draw.randint(1, 60_000)
            packets[port] = draw.randbytes(size)
            network.store(peer, 0, packets[port])
            network.write(2 * batch + port, 0, port, [(port << 33, size)])
            network.read(peer, 0, [(0, size)])
            sent["taken"] += -(-size // 9_152)
        for _ in range(min(500, frames - batch)):
            data, damaged, cause = attack.one()
            network.inject(0, 0, data, damaged=damaged)
            expected[cause] += 1
            if draw.random() < 0.01:
                network.advance(network.now + draw.randint(1, network.ticks_per_second // 1_000_000))
        while network.advance(NEVER):
            pass
        for port, data in packets.items():
            assert network.load(0, port << 33, len(data)) == data, seed
            assert network.written(2 * batch + port) == len(data), seed
    counts = {cause: count for cause, count in network.received(0, 0).items() if count}
    assert counts == dict(expected) | sent, seed
    assert network.blocked == [] and sum(expected.values()) == frames
    lost = {what: count for node, what, count in network.lost if node == 0}
    assert sum(lost.values()) == frames - expected["strays"]  # a switch that floods brings strays, too
    for node in range(1, 16):  # nobody else has received anything
        assert not any(sum(network.received(node, port).values()) for port in (0, 1)), seed


def test_hostile_frames_are_dropped_and_counted(seed: int) -> None:
    under_attack(2_000, seed)


@pytest.mark.long
def test_100_000_hostile_frames_are_dropped_and_counted(seed: int) -> None:
    under_attack(100_000, seed)
