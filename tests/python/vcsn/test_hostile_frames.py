# SPDX-License-Identifier: Apache-2.0
"""Frames from outside that do not belong to a node's circuits: none is delivered, each is counted by its cause, and
circuits keep working."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from thalweg._core import NEVER
from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader, VcsnSequence
from thalweg.vcsn import Cluster, Network, VirtualPort

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
    sequence: bytes = b"",
) -> bytes:
    return destination + source + kind + header.pack() + sequence + data(64 * words)


class Attack:
    """Draws frames at port 0 of node 0, whose virtual ports are connected with nodes 1 and 2 of its partition, each
    with its cause of refusal. The attacker knows all addresses and, if circuits have `sessions`, their numbers, and
    gets one field wrong."""

    HERE = address(0, 0)
    PEERS = (1, 2)
    SESSIONS = ((7, 1_000), (8, 2_000))  #: of each virtual port, here and at the other end

    def __init__(self, draw: random.Random, sessions: bool) -> None:
        self.draw = draw
        self.sessions = sessions
        self.ways = (
            self.random_bytes,
            self.random_rest,
            self.wrong_field,
            self.other_partition,
            self.cut,
            self.grown,
            self.damaged,
            self.sessionless,
            *([self.stale] if sessions else []),
        )

    def one(self) -> tuple[bytes, bool, str]:
        """The frame, whether its FCS is wrong, and its expected count."""
        return self.draw.choice(self.ways)()

    def valid(self) -> tuple[bytes, bytes, VcsnHeader, int]:
        """Destination, source, header and words of a frame that would be accepted."""
        port, draw = self.draw.randrange(2), self.draw
        header = VcsnHeader(
            port,
            0,
            draw.randrange(256),
            FrameKind.DATA,
            first=draw.random() < 0.5,
            last=draw.random() < 0.5,
            sequenced=self.sessions,
        )
        return self.HERE, address(self.PEERS[port], 0), header, draw.choice([1, 2, 143, draw.randint(1, 143)])

    def sequence(self, port: int) -> bytes:
        """The sequence header of a frame that would be accepted."""
        return self.numbered(*self.SESSIONS[port]) if self.sessions else b""

    def numbered(self, here: int, there: int) -> bytes:
        return VcsnSequence(there, here, self.draw.randrange(1 << 32), self.draw.randrange(1 << 32)).pack()

    def made(self, words: int, destination: bytes, source: bytes, header: VcsnHeader, kind: bytes = TYPE) -> bytes:
        sequence = self.sequence(header.destination_port % 2)
        return frame(words, destination, source, header, kind, self.draw.randbytes, sequence)

    def sessionless(self) -> tuple[bytes, bool, str]:
        destination, source, header, words = self.valid()
        wrong = replace(header, sequenced=not self.sessions)
        sequence = b"" if self.sessions else self.numbered(7, 1_000)
        return frame(words, destination, source, wrong, sequence=sequence), False, "sessionless"

    def stale(self) -> tuple[bytes, bool, str]:
        """Of another session."""
        destination, source, header, words = self.valid()
        here, there = self.SESSIONS[header.destination_port]
        wrong = self.numbered(
            here + self.draw.randint(1, 60_000), self.draw.choice([there, self.draw.randrange(1 << 16)])
        )
        return frame(words, destination, source, header, sequence=wrong), False, "stale"

    def random_bytes(self) -> tuple[bytes, bool, str]:
        size = self.draw.choice([self.draw.randint(1, 200), self.draw.randint(SHORTEST, LONGEST)])
        data = self.draw.randbytes(size)
        return data, False, "strays" if size >= SHORTEST else "misfits"

    def random_rest(self) -> tuple[bytes, bool, str]:
        """The right address and type, followed by anything."""
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
                return self.made(words, address(0, 1), source, header), False, "strays"
            case 1:
                return self.made(words, b"\xff" * 6, source, header), False, "strays"
            case 2:
                return self.made(words, destination, source, header, b"\x88\xb6"), False, "others"
            case 3:  # the row of another virtual port, or of none
                wrong = replace(header, destination_port=draw.choice([1 - port, 2, 3, 255]))
                return self.made(words, destination, source, wrong), False, "foreign"
            case 4:
                wrong = replace(header, source_port=draw.randint(1, 255))
                return self.made(words, destination, source, wrong), False, "foreign"
            case 5:  # indications and credits outside any circuit
                wrong = replace(header, source_port=1, kind=draw.choice(list(FrameKind)[1:]))
                return self.made(1, destination, source, wrong), False, "foreign"
            case _:  # an undefined kind
                packed = bytearray(self.made(words, destination, source, header))
                packed[14 + 3] = packed[14 + 3] & 0x1F | draw.randint(5, 7) << 5
                return bytes(packed), False, "unformed"

    def other_partition(self) -> tuple[bytes, bool, str]:
        destination, _, header, words = self.valid()
        source = address(self.draw.randrange(8, 16), self.draw.randrange(2))
        return self.made(words, destination, source, header), False, "foreign"

    def cut(self) -> tuple[bytes, bool, str]:
        destination, source, header, words = self.valid()
        whole = self.made(words, destination, source, header)
        size = self.draw.choice([self.draw.randrange(SHORTEST), self.draw.randrange(len(whole))])
        if (size - 18 - len(self.sequence(0))) % 64 == 0:
            size -= 1
        return whole[:size], False, "misfits" if size < SHORTEST else "unformed"

    def grown(self) -> tuple[bytes, bool, str]:
        destination, source, header, _ = self.valid()
        whole = self.made(143, destination, source, header)
        size = self.draw.choice([len(whole) + 1, LONGEST, LONGEST + 1, self.draw.randint(LONGEST, 70_000)])
        return whole + bytes(size - len(whole)), False, "misfits" if size > LONGEST else "unformed"

    def damaged(self) -> tuple[bytes, bool, str]:
        destination, source, header, words = self.valid()
        return self.made(words, destination, source, header), True, "damaged"


def under_attack(frames: int, sessions: bool, seed: int) -> None:
    draw = random.Random(seed)
    network: Network = Cluster.load("vcsn-d5005").network()
    network.set_partition(range(8), "left")
    network.set_partition(range(8, 16), "right")
    circuits = [(VirtualPort(0, 0, port), VirtualPort(peer, 0, 0)) for port, peer in enumerate(Attack.PEERS)]
    network.rewire(circuits)
    for port, peer in enumerate(Attack.PEERS):
        network.connect(0, port, network.place(0, 0, port))
        network.connect(peer, network.place(peer, 0, 0), 0)
    if sessions:
        for (one, other), (here, there) in zip(circuits, Attack.SESSIONS, strict=True):
            network.set_session(one, here)
            network.set_session(other, there)
    attack, expected = Attack(draw, sessions), Counter[str]()
    sent = 0
    for batch in range(0, frames, 500):
        packets = {}
        for port, peer in enumerate(Attack.PEERS):  # simultaneous traffic of the circuits
            size = draw.randint(1, 60_000)
            packets[port] = draw.randbytes(size)
            network.store(peer, 0, packets[port])
            network.write(2 * batch + port, 0, port, [(port << 33, size)])
            network.read(peer, 0, [(0, size)])
            sent += -(-size // 9_152)
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
    lost = Counter[str]()
    for node, what, count in network.lost:
        lost[what] += count if node == 0 else 0
    if sessions:
        assert counts.pop("sequenced") >= sent + expected["stale"], seed
        assert lost["frames of another session at port 0"] == expected["stale"], seed
        assert all(network.session(place).state == "open" for circuit in circuits for place in circuit), seed
    else:
        assert counts.pop("taken") == sent, seed
    assert counts == {cause: count for cause, count in expected.items() if cause != "stale"}, seed
    assert network.blocked == [] and sum(expected.values()) == frames
    assert sum(lost.values()) == frames - expected["strays"]  # a switch that floods adds strays
    for node in range(3, 16):  # no other node has received anything
        assert not any(sum(network.received(node, port).values()) for port in (0, 1)), seed


@pytest.mark.parametrize("sessions", [False, True])
def test_hostile_frames_are_dropped_and_counted(sessions: bool, seed: int) -> None:
    under_attack(2_000, sessions, seed)


@pytest.mark.long
@pytest.mark.parametrize("sessions", [False, True])
def test_100_000_hostile_frames_are_dropped_and_counted(sessions: bool, seed: int) -> None:
    under_attack(100_000, sessions, seed)
