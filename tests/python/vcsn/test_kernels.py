# SPDX-License-Identifier: Apache-2.0
"""User logic at crossbars: its packets arrive whole, at the rate and with the latency of circuits."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import pytest
from thalweg._core import NEVER
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.vcsn import models
from thalweg.vcsn import (
    Cluster,
    Exchange,
    Interrupt,
    Kernel,
    Network,
    Pause,
    Program,
    Receive,
    Send,
    VirtualPort,
    Words,
    run,
)

Actions = Generator[Send | Receive | Exchange | Pause, Words | None, None]


def joined(cluster: Cluster | None = None) -> Network:
    """The kernels of nodes 0 and 1, in both directions over a circuit."""
    network = (cluster or Cluster.load("vcsn-d5005")).network()
    network.rewire({VirtualPort(0, 0, 0): VirtualPort(1, 0, 0)})
    for node in (0, 1):
        port, kernel = network.place(node, 0, 0), network.kernel_place(node)
        network.connect(node, port, kernel)
        network.connect(node, kernel, port)
    return network


def test_random_packets_arrive_as_they_were_sent(seed: int) -> None:
    """Packets of any size in any parts, in both directions at once, with pauses; received in parts of any size."""
    draw = random.Random(seed)
    network = joined()
    sent: dict[int, list[tuple[bytes, int]]] = {0: [], 1: []}
    got: dict[int, list[tuple[bytes, int]]] = {0: [], 1: []}

    def talks(node: int) -> Actions:
        for _ in range(20):
            data, channel = (
                draw.randbytes(draw.choice([1, 64, 65, 9_152, draw.randint(1, 30_000)])),
                draw.randrange(256),
            )
            cut = 64 * draw.randint(0, (len(data) - 1) // 64)
            if cut:
                yield Send(data[:cut], ends=False, channel=channel)
            yield Pause(draw.randint(1, 200))
            yield Send(data[cut:], channel=channel)
            sent[node].append((data, channel))
            packet, ends = b"", False
            while not ends:
                words = yield Receive(draw.randint(1, 400))
                assert words is not None and words.data
                packet, ends = packet + words.data, words.ends
                got[node].append((packet, words.channel)) if ends else None

    run(network, kernels=[Kernel(0, talks(0)), Kernel(1, talks(1))])
    for node in (0, 1):
        expected = [(data + bytes(-len(data) % 64), channel) for data, channel in sent[1 - node]]
        assert got[node] == expected and len(expected) == 20, seed
    assert network.lost == [] and network.blocked == []


def test_a_word_takes_table_1s_latency_and_a_stream_equation_2s_rate() -> None:
    network = joined()
    ends: list[int] = []
    size = 8 << 20

    def sends() -> Actions:
        for _ in range(8):
            yield Send(bytes(64))
            ends.append(network.now)
            yield Receive(1)
            ends.append(network.now)
        yield Send(bytes(size))

    def answers() -> Actions:
        for _ in range(8):
            yield Receive(1)
            yield Send(bytes(64))
        yield Receive(size // 64)
        ends.append(network.now)

    run(network, kernels=[Kernel(0, sends()), Kernel(1, answers())])
    ns = 1e9 / network.ticks_per_second
    trips = [(back - there) * ns for there, back in zip(ends[:16:2], ends[1:16:2], strict=True)]
    # Twice 851.1 ns between crossbars, and some cycles of 4 ns at the kernels and in the crossbars.
    assert 2 * 851.1 < sum(trips) / len(trips) < 2 * 851.1 + 60
    us = (ends[-1] - ends[-2]) * ns / 1e3
    assert size / us / 1e3 == pytest.approx(models.vcsn_rate() / 1e9, rel=0.005)


def test_a_kernel_that_takes_nothing_holds_its_circuit_up() -> None:
    """128 words wait in its FIFO, more in the receive buffer; further frames are lost, as there is no flow control."""
    network = joined()

    def sends() -> Actions:
        yield Send(bytes(64 * 1_000))

    def takes() -> Actions:
        yield Pause(100_000)
        words = yield Receive(2_000)
        assert words is not None and len(words.data) == 64_000 and words.ends

    run(network, kernels=[Kernel(0, sends()), Kernel(1, takes())])
    assert network.lost == []


def test_an_exchange_goes_both_ways_at_once() -> None:
    """Two kernels that exchange equal amounts take the time of one direction, and proceed when both directions have
    ended."""
    size = 1 << 20
    data = {node: random.Random(node).randbytes(size) for node in (0, 1)}
    us = {}
    for both in (False, True):
        network = joined()

        def talks(node: int) -> Actions:
            words = yield Exchange(Send(data[node]), Receive(size // 64))
            assert words == Words(data[1 - node], True, 0)

        def sends(node: int) -> Actions:
            yield Send(data[node])

        def takes(node: int) -> Actions:
            words = yield Receive(size // 64)
            assert words == Words(data[1 - node], True, 0)

        programs = (talks, talks) if both else (sends, takes)
        us[both] = run(network, kernels=[Kernel(node, programs[node](node)) for node in (0, 1)])
        assert network.lost == []
    assert us[True] == pytest.approx(us[False], rel=0.01)
    assert us[True] > size / models.vcsn_rate() * 1e6


def test_kernels_that_wait_for_ever_are_named() -> None:
    network = joined()

    def waits() -> Actions:
        yield Receive(3)

    with pytest.raises(FabricStopped, match="kernel 0 of node 1 waits for words, for virtual port 0.0 of node 1"):
        run(network, kernels=[Kernel(1, waits()), Kernel(0, waits(), serves=True)])


@pytest.mark.parametrize(
    ("node", "number", "step", "said"),
    [
        (0, 1, Send(b"x"), "node 0 has no kernel 1"),
        (16, 0, Send(b"x"), "node 16 is not an FPGA"),
        (0, 0, Send(b""), "a kernel must send at least one byte"),
        (0, 0, Send(bytes(65), ends=False), "must be whole words of 64 bytes"),
        (0, 0, Receive(0), "a kernel must receive at least one word"),
        (0, 0, Exchange(Send(b"x"), Receive(0)), "a kernel must receive at least one word"),
    ],
)
def test_wrong_steps_are_refused(node: int, number: int, step: Send | Receive | Exchange, said: str) -> None:
    def wrong() -> Actions:
        yield step

    with pytest.raises(ValueError, match=said):
        run(joined(), kernels=[Kernel(node, wrong(), number)])


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (None, "a kernel yields Send, Receive, Exchange or Pause; kernel 0 of node 0 yields None"),
        (
            Send(b"x", channel=256),
            "^kernel 0 of node 0 yields Send whose channel is 256; must be an integer from 0 to 255$",
        ),
        (Send("x"), "yields Send whose data is 'x'; must be bytes$"),  # type: ignore[arg-type]
        (Send(b"x", ends=2), "yields Send whose ends is 2; must be True or False$"),  # type: ignore[arg-type]
        (Receive(-1), r"yields Receive whose words is -1; must be an integer from 0 to 2\^64 - 1$"),
        (Exchange(Send(b"x", channel=-1), Receive(1)), "yields Send whose channel is -1; must be an"),
        (Exchange(Pause(1), Receive(1)), "yields Exchange"),  # type: ignore[arg-type]
        (Pause(0), "kernel 0 of node 0 pauses for 0 cycles; must be at least 1"),
        (Pause(0.5), r"whose cycles is 0.5; must be an integer from -9\d+ to 2\^63 - 1"),  # type: ignore[arg-type]
        (Pause(1 << 62), "kernel 0 of node 0 would continue after .* us; time ends at .* us"),
    ],
)
def test_what_is_no_step_is_refused(step: Any, said: str) -> None:
    def wrong() -> Generator[Any, Any, None]:
        yield step

    with pytest.raises(InputError, match=said):
        run(joined(), kernels=[Kernel(0, wrong())])
    with pytest.raises(InputError, match="kernel 0 of node 0 has 2 programs"):
        run(joined(), kernels=[Kernel(0, wrong()), Kernel(0, wrong())])


def test_a_program_is_a_generator() -> None:
    wrong: Any = [Send(b"x")]
    with pytest.raises(InputError, match=r"^the program of kernel 0 of node 0 is \[Send.*; must be a generator$"):
        run(joined(), kernels=[Kernel(0, wrong)])


def test_a_cluster_may_have_more_kernels_or_none() -> None:
    with pytest.raises(ValueError, match="node 0 has no kernel 0"):
        joined(Cluster.load("vcsn-d5005").replace(node={"fpga": {"kernels": 0}}))
    network = Cluster.load("vcsn-d5005").replace(node={"fpga": {"kernels": 3}}).network()
    network.connect(0, network.kernel_place(0, 2), network.kernel_place(0, 1))  # from one kernel to another of its node
    got = []

    def sends() -> Actions:
        yield Send(b"a" * 64)

    def takes() -> Actions:
        got.append((yield Receive(5)))

    run(network, kernels=[Kernel(0, sends(), 1), Kernel(0, takes(), 2)])
    assert got == [Words(b"a" * 64, True, 0)]


def test_kernels_and_memories_are_joined() -> None:
    """A kernel's packet in two parts is one packet to a write engine, and a read engine's is one to a kernel. A word
    that has left the crossbar is accepted in the next cycle, and the kernel has it one cycle later."""
    network = Cluster.load("vcsn-d5005").network()
    network.rewire({VirtualPort(0, 0, 0): VirtualPort(1, 0, 0)})
    network.connect(0, network.place(0, 0, 0), network.kernel_place(0))
    network.connect(1, 0, network.place(1, 0, 0))
    network.connect(1, network.place(1, 0, 0), 0)
    network.connect(0, network.kernel_place(0), network.place(0, 0, 0))
    data = random.Random(1).randbytes(20_000)
    network.store(1, 1 << 33, data)
    network.write(1, 1, 0, [(0, 20_000)])
    network.read(1, 0, [(1 << 33, 20_000)])

    def talks() -> Actions:
        yield Send(data[:6_400], ends=False)
        yield Send(data[6_400:])
        words = yield Receive(1_000)
        assert words == Words(data + bytes(-len(data) % 64), True, 0)
        into, out, _, end, count = network.passed(0)[-1]
        assert (into, out, count) == (network.place(0, 0, 0), network.kernel_place(0), -(-len(data) // 64))
        assert network.now - 1 - end == 2 * network.shell_ticks  # `now` is after that tick

    run(network, kernels=[Kernel(0, talks())])
    while network.advance(NEVER):
        pass
    assert network.load(1, 0, len(data)) == data and network.lost == []


def test_a_second_run_finds_what_the_first_one_has_left() -> None:
    """When a run ends, a kernel that serves waits for words, which would be lost to its next program."""
    network = joined()

    def sends(data: bytes) -> Actions:
        yield Send(data)

    def serves(got: list[bytes]) -> Actions:
        while words := (yield Receive(1)):
            got.append(words.data)

    got: list[bytes] = []
    run(network, kernels=[Kernel(0, sends(bytes(64))), Kernel(1, serves(got), serves=True)])
    said = "^kernel 0 of node 1 still receives words for an earlier program; let that end, or restart node 1$"
    with pytest.raises(InputError, match=said):
        run(network, kernels=[Kernel(0, sends(bytes(64))), Kernel(1, serves(got))])
    assert run(network, kernels=[Kernel(0, sends(bytes(64)))]) > 0  # whose steps are none of those remaining
    assert network.advance(NEVER)
    network.restart(1)
    network.set_circuit(VirtualPort(1, 0, 0), VirtualPort(0, 0, 0))
    network.connect(1, network.kernel_place(1), network.place(1, 0, 0))

    def receives() -> Actions:
        words = yield Receive(1)
        assert words
        got.append(words.data)

    run(network, kernels=[Kernel(0, sends(b"x" * 64)), Kernel(1, receives())])
    assert got == [b"x" * 64]


def test_two_servers_wait_for_one_transfer() -> None:
    cluster = Cluster.load("vcsn-d5005")
    network = joined(cluster)
    network.connect(1, network.kernel_place(1), None)
    network.connect(1, 0, network.place(1, 0, 0))
    ends: list[int] = []

    def program(server: int) -> Program:
        if server == cluster.servers[0]:
            network.write(1, 1, 0, [(0, 64)])
            network.kernel_send(2, 0, 0, bytes(64))
        yield Interrupt(1)
        ends.append(network.now)

    two = cluster.servers[:2]
    run(network, {server: cluster.server_tables[server] for server in two}, program)
    assert len(ends) == 2 and ends[0] == ends[1] > 0


def test_a_kernel_that_waits_for_what_a_restart_ended_is_named() -> None:
    cluster = Cluster.load("vcsn-d5005")
    network = joined(cluster)

    def waits() -> Actions:
        yield Receive(3)

    def restarts(_: int) -> Program:
        yield Interrupt(1)
        network.restart(1)

    network.write(1, 2, 0, [(0, 64)])
    network.rewire({VirtualPort(0, 0, 0): VirtualPort(1, 0, 0), VirtualPort(2, 1, 0): VirtualPort(3, 1, 0)})
    network.connect(2, 0, network.place(2, 1, 0))
    network.connect(3, network.place(3, 1, 0), 0)
    network.read(3, 0, [(0, 64)])
    server = cluster.servers[0]
    with pytest.raises(FabricStopped, match="kernel 0 of node 1 waits for a step that a restart ended"):
        run(network, {server: cluster.server_tables[server]}, restarts, kernels=[Kernel(1, waits())])


def test_nothing_is_beyond_the_end_of_a_memory() -> None:
    network = Network(Cluster.load("vcsn-d5005"))
    with pytest.raises(IndexError, match="are outside"):
        network.load(0, 0, 1 << 50)
    with pytest.raises(IndexError, match="are outside"):
        network.store(0, 1 << 60, b"1")
