# SPDX-License-Identifier: Apache-2.0
"""Random calls of everything that hosts and user logic can do, valid and invalid, while data move: each works or is
refused in a line, nothing ends the simulator, and no byte leaves its partition."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from thalweg.errors import InputError
from thalweg.systems.vcsn._sim import AwaitWord, Read, Row, SendWord, Write
from thalweg.vcsn import Cluster, Network, VirtualPort

SIZE = 1 << 16  #: bytes read, from 0 in two banks, and written, from `INTO` on
INTO = 1 << 20
BANK = 1 << 33


def mark(node: int) -> int:
    """The value of all bytes of a node's partition."""
    return 1 + node // 8


class Calls:
    def __init__(self, cluster: Cluster, draw: random.Random) -> None:
        self.draw = draw
        self.network: Network = cluster.network()
        self.parts = [self.network.partition("left", range(8)), self.network.partition("right", range(8, 16))]
        self.handle = 0
        for node in range(16):
            for bank in (0, BANK):
                self.network.store(node, bank, bytes([mark(node)]) * SIZE)
            ports = [self.network.place(node, port, virtual) for port in (0, 1) for virtual in (0, 1)]
            users = [0, 1, self.network.kernel_place(node, 0), self.network.kernel_place(node, 1)]
            for port, user in zip(draw.sample(ports, 4), users, strict=True):
                self.network.connect(node, port, user)
                self.network.connect(node, user, port)
        self.rewire()

    def node(self) -> int:
        return self.draw.randrange(16)

    def place(self, node: int | None = None) -> VirtualPort:
        node = self.node() if node is None else node
        return VirtualPort(node, self.draw.randrange(2), self.draw.choice([0, 1] * 8 + [2]))  # sometimes a missing one

    def segments(self, at: int) -> list[tuple[int, int]]:
        return [(self.draw.choice([0, BANK]) + at, 64 * self.draw.randint(1, SIZE // 64))]

    def rewire(self) -> None:
        for part in self.parts:
            port = self.draw.randrange(2)
            ends = [VirtualPort(node, port, virtual) for node in part.nodes for virtual in (0, 1)]
            self.draw.shuffle(ends)
            pairs = zip(ends[::2], ends[1::2], strict=True)
            part.rewire({one: other for one, other in pairs if one.node != other.node})

    def set_circuit(self) -> None:
        self.network.set_circuit(self.place(), self.draw.choice([self.place(), None]))

    def multicast(self) -> None:
        source, port = self.place(), self.draw.randrange(2)
        nodes = self.draw.sample(range(16), self.draw.randint(1, 4))
        self.network.multicast(source, [VirtualPort(node, source.port, port) for node in nodes])

    def connect(self) -> None:
        self.network.connect(self.node(), self.draw.randrange(12), self.draw.choice([None, self.draw.randrange(12)]))

    def settings(self) -> None:
        self.network.set_pace(self.place(), priority=self.draw.randrange(3), pace=self.draw.randrange(2_000))
        self.network.set_session(self.place(), self.draw.choice([0, self.draw.randrange(1, 1 << 16)]))
        self.network.set_credits(self.place(), used=self.draw.random() < 0.8)

    def read(self) -> None:
        handle = self.draw.choice([None, self.handle])
        self.network.read(self.node(), self.draw.randrange(2), self.segments(0), self.draw.randrange(256), handle)

    def write(self) -> None:
        self.network.write(self.handle, self.node(), self.draw.randrange(2), self.segments(INTO))

    def send(self) -> None:
        node = self.node()
        data = bytes([mark(node)]) * 64 * self.draw.randint(1, 300)
        self.network.kernel_send(self.handle, node, self.draw.randrange(2), data, self.draw.random() < 0.7)

    def receive(self) -> None:
        self.network.kernel_receive(self.handle, self.node(), self.draw.randrange(2), self.draw.randint(1, 300))

    def inject(self) -> None:
        self.network.inject(self.node(), self.draw.randrange(2), self.draw.randbytes(self.draw.randint(0, 3_000)))

    def sequence(self) -> None:
        node = self.node()
        to = self.draw.choice([None, self.place(8 * (node // 8) + self.draw.randrange(8)), self.place()])
        known = (
            Row(self.draw.randrange(2), self.draw.randrange(2), to, credits=self.draw.random() < 0.5),
            SendWord(),
            AwaitWord(),
            Read(self.draw.randrange(2), self.segments(0)),
            Write(self.draw.randrange(2), self.segments(INTO)),
        )
        program = [self.draw.choice(known) for _ in range(self.draw.randint(1, 5))]
        self.network.sequence(self.handle, node, self.draw.randrange(2), program)

    def restart(self) -> None:
        self.network.restart(self.node())

    def one(self) -> None:
        self.handle += 1
        rare = (
            self.rewire,
            self.set_circuit,
            self.multicast,
            self.connect,
            self.settings,
            self.inject,
            self.sequence,
            self.restart,
        )
        often = (self.read, self.write, self.send, self.receive)
        self.draw.choice(rare if self.draw.random() < 0.15 else often)()


def run(count: int, seed: int) -> None:
    arrived, outcomes = 0, Counter[str]()
    for each in range(count):
        draw = random.Random(seed + each)
        cluster = Cluster.load("vcsn-d5005").replace(
            node={"fpga": {"sequencers": 2, "kernels": 2}, "switch": {"buffer_bytes": 400_000}},
            link={"cable": {"frames_lost": draw.choice([0, 0.02]), "frames_duplicated": draw.choice([0, 0.02])}},
        )
        calls = Calls(cluster, draw)
        network = calls.network
        us = network.ticks_per_second // 1_000_000
        for _ in range(200):
            try:
                calls.one()
                outcomes["done"] += 1
            except (ValueError, InputError) as error:
                assert "\n" not in str(error) and len(str(error)) < 300, seed + each
                outcomes["refused"] += 1
            if draw.random() < 0.3:
                network.advance(network.now + draw.randint(1, 3 * us))
        end = network.now + 10_000 * us
        while network.now < end:
            network.advance(end)
        assert all(one.who for one in network.blocked)
        for node in range(16):
            for bank in (0, BANK):
                assert set(network.load(node, bank + INTO, SIZE)) <= {0, mark(node)}, seed + each
            arrived += sum(network.received(node, port)[way] for port in (0, 1) for way in ("taken", "sequenced"))
    assert min(outcomes["done"], outcomes["refused"]) > 5 * count and arrived > 50 * count, (outcomes, arrived)


def test_random_calls_do_what_they_may_and_no_more(seed: int) -> None:
    run(10, seed)


@pytest.mark.long
def test_many_random_calls_do_what_they_may_and_no_more(seed: int) -> None:
    run(1_000, seed)
