# SPDX-License-Identifier: Apache-2.0
"""Co-simulation of random programs on VCSN and DCN clusters, with Verilated nodes in lockstep with the simulator's.

All ports of four nodes are compared in every cycle: commands, memory requests and answers, written words, user streams,
words of frames, credits and completions; and the counters.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from thalweg._core import NEVER
from thalweg.errors import CheckFailed
from thalweg.systems.vcsn._sim import AwaitWord, Connect, Read, Row, SendWord, VirtualPort, Write
from thalweg.systems.vcsn.cluster import Cluster, Node
from thalweg.systems.vcsn.network import Command, Network
from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader, VcsnSequence

NODES = 4  #: with hardware
SAME_HARDWARE = 50
"""Number of consecutive seeds with equal node parameters, so that the hardware is built once."""
_LAST_TICKS = 10**7
"""Ticks of a program before all crossbars are closed: packets may loop through circuits forever."""


class Outcome(NamedTuple):
    cycles: int  #: cycles of all clocks and nodes in which the hardware was evaluated
    packets: int  #: packets through the crossbars of these nodes
    dropped: int  #: frames and words counted as lost by the simulator


def random_hardware(draw: random.Random, cluster: Cluster) -> Cluster:
    """Returns the cluster with random hardware parameters of its FPGAs."""
    frame_words = draw.choice((1, 2, 5, 20))
    direct = cluster.is_direct
    values = {
        "dmas": draw.choice((1, 2, 3)),
        "kernels": draw.choice((0, 1, 2)),
        "frame_words": frame_words,
        "send_words": draw.choice((32, 64)),
        "send_frames": draw.choice((2, 8)),
        "receive_words": draw.choice((32, 64)) if direct else max(16, frame_words + draw.choice((1, 10, 60))),
    }
    if not direct:
        values["virtual_ports"] = draw.choice((1, 2, 3))
        values["sequencers"] = draw.choice((0, 1, 3))
    return cluster.replace(node={cluster.node_names[cluster.fpgas[0]]: values})


def random_links(draw: random.Random, cluster: Cluster) -> Cluster:
    """Returns the cluster with random latencies and fault rates of its links."""
    name = cluster.link_names[0]
    values: dict[str, float] = {"latency_ns": draw.choice((3, 15, 400))}
    if not cluster.is_direct and draw.random() < 0.7:
        for fault in ("frames_lost", "frames_duplicated", "frames_reordered"):
            values[fault] = draw.choice((0, 0, 0.02, 0.2))
        values["bit_error_rate"] = draw.choice((0, 0, 1e-5))
    return cluster.replace(link={name: values})


@dataclass
class Program:
    """A random program, defined by `seed`."""

    cluster: Cluster
    seed: int

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        hardware = random_hardware(random.Random(self.seed // SAME_HARDWARE), self.cluster)
        self.cluster = random_links(self.draw, hardware)
        self.nodes = self.cluster.fpgas[:NODES]
        self.network = Network(self.cluster, verilated=self.nodes)
        self.handles = 0
        self.numbers: dict[VirtualPort, int] = {}  # numbers of the last sessions

    def run(self) -> Outcome:
        """Runs the program. Raises CheckFailed if the hardware diverges."""
        kinds = (
            [self._cross] + [self._transfer] * self.draw.choice((4, 8, 16)) + [self._user] * self.draw.choice((1, 4))
        )
        if not self.cluster.is_direct:
            kinds += [self._circuit, self._pace, self._frame, self._monitor, self._reaction, self._credits]
            kinds += [self._session] * self.draw.choice((0, 1, 3))
            kinds += [self._program] * self.draw.choice((0, 1, 5))
            if self.draw.random() < 0.2:
                kinds.append(self._multicast)
        restarts = not self.cluster.is_direct and self.draw.random() < 0.3
        pause = self.draw.choice((0, 10**3, 10**5))
        for node in self.nodes:
            self.network.store(node, 0, self.draw.randbytes(1 << 16))
        self._open_all()
        for _ in range(self.draw.choice((20, 60, 150))):
            self.draw.choice(kinds)()
            if restarts and self.draw.random() < 0.03:
                self._restart()
            if self.draw.random() < 0.7:
                self._advance_to(self.network.now + self.draw.randint(0, pause) * self.draw.choice((0, 1, 40)))
        self._advance_to(self.network.now + _LAST_TICKS)
        for node in self.nodes:
            for output in range(self._places()):
                self.network.connect(node, output, None)
        self._advance_to(NEVER)
        cycles = self.network.finish()
        packets = sum(len(self.network.passed(node)) for node in self.nodes)
        return Outcome(cycles, packets, sum(count for _, _, count in self.network.lost))

    def _advance_to(self, until: int) -> None:
        """Advances to a tick."""
        while self.network.now < until:
            if not self.network.advance(until) and until == NEVER:
                return

    def _handle(self) -> int:
        self.handles += 1
        return self.handles

    def _node(self) -> int:
        return self.draw.choice(self.nodes)

    def _place(self) -> VirtualPort:
        fpga = self.cluster.fpga(self.nodes[0])
        return VirtualPort(self._node(), self.draw.randrange(fpga.ports), self.draw.randrange(fpga.virtual_of_port))

    def _peer(self, at: VirtualPort) -> VirtualPort:
        """Returns a virtual port that frames from `at` can reach."""
        while True:
            to = VirtualPort(self._node(), at.port, self._place().virtual_port)
            if to != at:
                return to

    def _places(self) -> int:
        """Returns the number of inputs, and outputs, of a crossbar."""
        fpga = self.cluster.fpga(self.nodes[0])
        return fpga.dmas + fpga.ports * fpga.virtual_of_port + fpga.kernels + self._sequencers()

    def _sequencers(self) -> int:
        fpga = self.cluster.fpga(self.nodes[0])
        return fpga.sequencers if isinstance(fpga, Node) else 0

    def _open_all(self) -> None:
        """Opens circuits in pairs, and connects engines and virtual ports, so that most programs have traffic from the
        start."""
        fpga = self.cluster.fpga(self.nodes[0])
        for port in range(0 if self.cluster.is_direct else fpga.ports):
            places = [VirtualPort(node, port, each) for node in self.nodes for each in range(fpga.virtual_of_port)]
            self.draw.shuffle(places)
            for one, other in zip(places[::2], places[1::2], strict=True):
                self.network.set_circuit(one, other)
                self.network.set_circuit(other, one)
        for node in self.nodes:
            inputs = list(range(self._places()))
            self.draw.shuffle(inputs)
            for output in range(self._places()):
                external = fpga.dmas <= output < fpga.dmas + fpga.ports * fpga.virtual_of_port
                wanted = [each for each in inputs if (each < fpga.dmas) == external] or inputs
                self.network.connect(node, output, wanted[0])
                inputs.remove(wanted[0])

    def _cross(self) -> None:
        node, output = self._node(), self._crossing()
        try:
            self.network.connect(node, output, self.draw.choice([None, *range(self._places())]))
        except ValueError:  # the input belongs to another output
            self.network.connect(node, output, None)

    def _circuit(self) -> None:
        at = self._place()
        to = self._peer(at)
        match self.draw.randrange(10):
            case 0:
                self.network.set_circuit(at, None)
            case 1 | 2:
                self.network.set_circuit(at, to)
            case _:
                self.network.set_circuit(at, to)
                self.network.set_circuit(to, at)

    def _multicast(self) -> None:
        at = self._place()
        for node in self.nodes:
            if node != at.node and self.draw.random() < 0.7:
                self.network.set_circuit(VirtualPort(node, at.port, 0), at)
        self.network.set_multicast(at, 0)

    def _pace(self) -> None:
        pace = self.draw.choice((0, self.draw.randrange(600), self.draw.randrange(5000)))
        self.network.set_pace(self._place(), priority=self.draw.randrange(8), pace=pace)

    def _monitor(self) -> None:
        at = self._place()
        cycles = self.draw.choice((0, self.draw.randrange(1, 3000), self.draw.randrange(1, 100)))
        self.network.set_monitor(at.node, at.port, cycles=cycles, words=self.draw.randrange(100))

    def _reaction(self) -> None:
        pace = self.draw.choice((None, self.draw.randrange(2000)))
        self.network.set_reaction(self._place(), cycles=self.draw.choice((0, self.draw.randrange(5000))), pace=pace)

    def _credits(self) -> None:
        """Enables credits on an open circuit; words in flight are missing in both ends' counters."""
        at = self._place()
        to = self.network.circuit(at)
        if to and self.network.circuit(to) == at:
            with suppress(ValueError):  # one end has a session
                self.network.set_credits(at, used=self.draw.random() < 0.8)

    def _session(self) -> None:
        """Starts or ends a session at one or both ends of a circuit, regardless of traffic."""
        at = self._place()
        to = self.network.circuit(at)
        if to is None:
            return
        for end in (at, to) if self.draw.random() < 0.7 else (at,):
            number = 0 if self.draw.random() < 0.1 else self.draw.randrange(1, 1 << 16)
            with suppress(ValueError):  # there is no circuit with two ends, or the number is in use
                self.network.set_session(end, number)
                self.numbers[end] = number

    def _segments(self) -> list[tuple[int, int]]:
        """Returns random segments of a transfer."""
        segments = []
        count = self.draw.choice((1, 1, 1, 2, 5, 20))
        for each in range(count):
            words = self.draw.choice((1, 2, self.draw.randint(1, 20), self.draw.randint(1, 200)))
            size = 64 * words - (self.draw.choice((0, self.draw.randrange(64))) if each + 1 == count else 0)
            segments.append((64 * self.draw.randrange(1024), size))
        return segments

    def _engine(self) -> int:
        return self.draw.randrange(self.cluster.fpga(self.nodes[0]).dmas)

    def _transfer(self) -> None:
        """A read or a write."""
        node, engine, segments = self._node(), self._engine(), self._segments()
        with suppress(ValueError):  # the engine is full, or belongs to a sequencer
            if self.draw.random() < 0.5:
                self.network.write(self._handle(), node, engine, segments)
            else:
                self.network.read(node, engine, segments, self.draw.randrange(256), handle=self._handle())

    def _program(self) -> None:
        """Starts a sequencer program, which may wait forever."""
        if self._sequencers() == 0:
            return
        node = self._node()
        with suppress(ValueError):  # the sequencer is busy, or an engine is in use
            program = [self._step(node) for _ in range(self.draw.choice((1, 2, 5, 20)))]
            self.network.sequence(self._handle(), node, self.draw.randrange(self._sequencers()), program)

    def _step(self, node: int) -> Command:
        """Returns a random command of a sequencer."""
        place = self._place()
        match self.draw.randrange(10):
            case 0 | 1:
                at = VirtualPort(node, place.port, place.virtual_port)
                to = None if self.draw.random() < 0.1 else self._peer(at)
                return Row(at.port, at.virtual_port, to, credits=self.draw.random() < 0.5)
            case 2 | 3:
                return Connect(self._crossing(), self.draw.choice([None, self._crossing()]))
            case 4 | 5 | 6:
                return SendWord()
            case 7:
                return AwaitWord()
            case 8:
                return Read(self._engine(), self._segments())
            case _:
                return Write(self._engine(), self._segments())

    def _crossing(self) -> int:
        """An input or output of a crossbar."""
        return self.draw.randrange(self._places())

    def _user(self) -> None:
        """User logic sends or receives words."""
        kernels = self.cluster.fpga(self.nodes[0]).kernels
        if kernels == 0:
            return
        node, kernel = self._node(), self.draw.randrange(kernels)
        if self.draw.random() < 0.5:
            self.network.kernel_receive(self._handle(), node, kernel, self.draw.randint(1, 100))
        else:
            ends = self.draw.random() < 0.8
            size = self.draw.randint(1, 3000) if ends else 64 * self.draw.randint(1, 50)
            data = self.draw.randbytes(size)
            self.network.kernel_send(self._handle(), node, kernel, data, ends, self.draw.randrange(256))

    def _frame(self) -> None:
        """Injects a frame from outside: random, or nearly valid."""
        at, source = self._place(), self._place()
        address = [bytes([2, 0, 0, each.port, each.node >> 8, each.node & 255]) for each in (at, source)]
        size = self.draw.choice((46, 50, 68, 72, 136, 200, 1500, 9000))
        payload = bytearray(self.draw.randbytes(self.draw.choice((size, 8 + 64 * self.draw.randint(1, 25)))))
        payload[0], payload[1] = at.virtual_port, source.virtual_port
        if self.draw.random() < 0.7:
            payload[3] &= 0xC0
        elif self.draw.random() < 0.8:
            headers = self._session_headers(at, source)
            payload[: len(headers)] = headers
        frame = address[0] + address[1] + b"\x88\xb5" + payload
        wrong = self.draw.randrange(20) if self.draw.random() < 0.3 else None
        if wrong is not None:
            frame = frame[:wrong] + bytes([frame[wrong] ^ 1 << self.draw.randrange(8)]) + frame[wrong + 1 :]
        self.network.inject(at.node, at.port, frame, damaged=self.draw.random() < 0.1)

    def _session_headers(self, at: VirtualPort, source: VirtualPort) -> bytes:
        """Returns the headers of a session frame, possibly of the current session."""
        kind = self.draw.choice((FrameKind.DATA, FrameKind.ACKNOWLEDGEMENT, FrameKind.REFUSAL))
        first, last = self.draw.random() < 0.5, self.draw.random() < 0.5
        numbers = [0, self.numbers.get(source, 0), self.numbers.get(at, 0), self.draw.randrange(1 << 16)]
        any_number = (0, 1, self.draw.choice(numbers), self.draw.randrange(1 << 32))
        sequence = VcsnSequence(
            session=self.draw.choice(numbers),
            peer=self.draw.choice(numbers),
            number=self.draw.choice(any_number),
            base=self.draw.choice(any_number),
        )
        return VcsnHeader(at.virtual_port, source.virtual_port, 7, kind, first, last, True).pack() + sequence.pack()

    def _restart(self) -> None:
        node = self._node()
        self.network.restart(node)
        self.numbers = {at: number for at, number in self.numbers.items() if at.node != node}


def compare(cluster: Cluster, seed: int) -> Outcome:
    """Runs the program of a seed. Raises CheckFailed if simulator and hardware diverge."""
    try:
        return Program(cluster, seed).run()
    except CheckFailed as error:
        raise CheckFailed(f"seed {seed}: {error}") from None
