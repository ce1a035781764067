# SPDX-License-Identifier: Apache-2.0
"""Does the server answer each message of ACCL's driver once, whatever clients do, and does virtual time wait for busy
clients?"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed")
import zmq
from thalweg.errors import InputError
from thalweg.systems.accl.pace import Clock
from thalweg.systems.accl.report import Report
from thalweg.systems.accl.server import Server, Settings
from thalweg.systems.accl.wire import Limits

sys.path.insert(0, str(Path(__file__).parent))
from client import CONFIG, COPY, FLOAT, NOP, RECV, SEND, Client, WireError
from fake_engine import EXCHANGE_BYTES, FakeEngine
from ports import free_ports

SMALL = Limits(memory=1 << 20, message=1 << 18)


@dataclass
class Wall:
    """A clock controlled by tests."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Running:
    """A server in a thread."""

    engine: FakeEngine
    port: int
    server: Server
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    reports: list[Report] = field(default_factory=list)

    def finish(self) -> None:
        self.stop.set()
        assert self.thread
        self.thread.join()

    def client(self, rank: int = 0, kind: int = zmq.REQ) -> Client:
        return Client(self.port, rank, kind)

    @property
    def clients(self) -> dict[Any, Any]:
        assert self.server.drivers
        return self.server.drivers.clients

    @property
    def report(self) -> Report:
        return self.reports[0]

    @property
    def lines(self) -> list[str]:
        return list(self.report.lines())


@contextmanager
def serving(engine: FakeEngine | None = None, clock: Clock = time.monotonic, **settings: Any) -> Iterator[Running]:
    """The report is available after the end."""
    engine = engine or FakeEngine()
    values = {"limits": SMALL, "patience": 0.0, **settings}
    server = Server(engine, Settings(port := free_ports(4 * engine.ranks), **values), clock)
    running = Running(engine, port, server)
    running.thread = threading.Thread(target=lambda: running.reports.append(server.serve(running.stop.is_set)))
    running.thread.start()
    try:
        yield running
    finally:
        running.finish()
        server.close()


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.001)


def floats(client: Client, scenario: int, **words: int) -> int:
    return client.call(scenario, count=16, arithcfg=FLOAT, **words)


def test_a_program_of_two_ranks() -> None:
    """Start, messages in both directions, and the end."""
    content = random.randbytes(64)
    with serving() as running, running.client(0) as zero, running.client(1) as one:
        for rank, client in enumerate((zero, one)):
            client.begin(rank, 2, running.port)
            client.allocate(0x20000, 64)
        zero.store(0x20000, content)
        one.start(RECV, count=16, arithcfg=FLOAT, root_src_dst=0, addr_2=0x20000)
        assert floats(zero, SEND, root_src_dst=1, addr_0=0x20000) == 0
        assert one.wait() == 0
        assert one.load(0x20000, 64) == content
        assert floats(one, COPY, addr_0=0x20000, addr_2=0x4000, stream_flags=1 << 10) == 0
        assert one.load(0x4000, 64, host=True) == content
        for client in (zero, one):
            client.call(CONFIG)
    report = running.report
    assert report.right and not running.lines
    assert [dict(rank.calls) for rank in report.ranks] == [
        {"config": 6, "send": 1},
        {"config": 6, "recv": 1, "copy": 1},
    ]
    assert [rank.bytes for rank in report.ranks] == [64, 128]
    assert [rank.clients for rank in report.ranks] == [1, 1]
    assert report.virtual_s > 0


def test_call_words_and_command_streams() -> None:
    """Each stream has its own ends."""
    with serving() as running, running.client(1) as client:
        client.start(NOP, ctrl_id=1, tag=7, addr_0=0x1_0000_0002)
        client.start(NOP, ctrl_id=2, comm=456, addr_2=5)
        assert client.wait(2) == 0
        assert client.wait(1) == 0
        assert not client.poll(1) and not client.poll(2) and not client.poll(0)
    assert running.engine.calls == [
        (1, 1, [255, 0, 0, 0, 0, 7, 0, 0, 0, 2, 1, 0, 0, 0, 0]),
        (1, 2, [255, 0, 456, 0, 0, 0xFFFFFFFF, 0, 0, 0, 0, 0, 0, 0, 5, 0]),
    ]


@pytest.mark.parametrize(
    ("message", "status", "says"),
    [
        ({"type": 0, "addr": 0x2000}, 1, "read of the exchange memory at 0x2000: not the address of a word"),
        ({"type": 0, "addr": 0x1FFE}, 1, "read of the exchange memory at 0x1ffe: not the address of a word"),
        (
            {"type": 1, "addr": 0x2000, "wdata": 0},
            1,
            "write of the exchange memory at 0x2000: not the address of a word",
        ),
        (
            {"type": 2, "addr": 0, "len": 64, "host": False},
            1,
            "read of 64 bytes of device memory at 0x0: not allocated",
        ),
        ({"type": 2, "addr": 0, "len": 64, "host": True}, 1, "read of 64 bytes of host memory at 0x0: not allocated"),
        ({"type": 2, "addr": 0, "len": 1 << 40, "host": True}, 1, "exceed the limit of 262144 bytes per message"),
        ({"type": 4, "addr": 1 << 40, "len": 1, "host": True}, 1, "exceed the memory's limit"),
        ({"type": 6, "ctrl_id": 3}, -1, "ctrl_id is 3; must be 0 to 2"),
        ({"type": 9}, -1, "type is 9; must be 0 to 6"),
        (b"rubbish", -1, "invalid JSON"),
    ],
)
def test_a_refused_message_is_answered_and_reported(message: Any, status: int, says: str) -> None:
    with serving() as running, running.client(1) as client:
        assert client.exchange(message)["status"] == status
        assert client.exchange(message)["status"] == status
        assert client.read(0x1FFC) == 0
    assert not running.report.right
    [line] = running.report.ranks[1].refused
    assert says in line and line.endswith("(2 times)")
    assert running.lines == ["rank 0: no client connected", f"rank 1: refused: {line}"]


def test_empty_transfers() -> None:
    with serving() as running, running.client() as client:
        client.store(0x4000, b"")
        client.allocate(0x4000, 0)
        assert client.load(0x4000, 0) == b""
    assert running.report.right


def test_the_engine_refuses() -> None:
    with serving(FakeEngine(refuse="a call with a configuration that is none")) as running, running.client() as client:
        with pytest.raises(WireError):
            client.start(SEND)
        with pytest.raises(WireError):
            client.allocate(SMALL.memory - 1, 1 << 20)
    assert "rank 0: refused: a call with a configuration that is none" in running.lines
    assert running.report.ranks[0].calls.total() == 0


def test_a_call_without_arithmetic_configuration() -> None:
    """As ACCL's benchmark sends it."""
    with serving() as running, running.client() as client:
        client.write(0, 16)
        assert client.call(SEND, count=1024) == 0
        assert client.call(COPY, count=1024, arithcfg=EXCHANGE_BYTES) == 0
    assert running.report.ranks[0].bytes == 0


def test_a_return_code_is_named() -> None:
    """ACCL's driver does not forward it."""
    with serving() as running, running.client() as client:
        assert client.call(RECV, root_src_dst=1) == 0x800
        assert client.call(12) == 0x4000
    assert not running.report.right
    assert running.lines[:2] == [
        "rank 0: recv ended with 0x800, receive time-out: as the fake engine says",
        "rank 0: barrier ended with 0x4000, not implemented: as the fake engine says",
    ]
    assert running.report.as_json()["ranks"][0]["ended_wrong"][0]["bits"] == ["receive time-out"]


def waits(running: Running, client: Client) -> None:
    """Lets a client poll, and returns when the server has the message."""
    client.send({"type": 6, "ctrl_id": 0})
    until(lambda: any(one.poll for one in list(running.clients.values())))


def test_a_poll_is_held() -> None:
    """Until the call has ended, or for 50 ms: clients poll without pause."""
    wall = Wall()
    with serving(FakeEngine(time_out_ticks=10**12), wall) as running, running.client() as client:
        client.start(RECV, root_src_dst=1)
        for _ in range(2):
            waits(running, client)
            wall.now += 0.049
            assert not client.socket.poll(100)
            wall.now += 0.001
            assert json.loads(client.socket.recv()) == {"status": 1}
        running.finish()
    assert running.lines == ["rank 0: recv never ended", "rank 1: no client connected", "rank 0 waits for rank 1"]


def test_time_waits_for_a_client_that_is_busy() -> None:
    """The first one waits for the end of its call; the other one may send more during the grace period."""
    wall = Wall()
    with serving(clock=wall, grace=0.01, hold=1) as running, running.client(0) as zero, running.client(1) as one:
        one.read(0)
        zero.start(NOP)
        waits(running, zero)
        for _ in range(3):
            wall.now += 0.009
            one.read(0)
        time.sleep(0.1)
        assert running.engine.advances == 0
        wall.now += 0.011
        assert json.loads(zero.socket.recv()) == {"status": 0}


def test_time_waits_for_the_client_that_has_called() -> None:
    wall = Wall()
    with serving(clock=wall, grace=0.01) as running, running.client() as client:
        client.start(NOP)
        time.sleep(0.1)
        assert running.engine.advances == 0
        assert client.poll()


@pytest.mark.parametrize("patience", [0.0, 0.5])
def test_a_slow_client_is_not_timed_out(patience: float) -> None:
    """A time-out of 0.3 s of virtual time takes as much wall time, from the last message on, whatever waiting clients
    poll."""
    wall = Wall()
    engine = FakeEngine(time_out_ticks=300_000_000)
    settings = {"grace": 0.0, "hold": 0.03, "patience": patience}
    with serving(engine, wall, **settings) as running, running.client(0) as zero, running.client(1) as one:
        one.start(RECV, root_src_dst=0)
        for silence in (0.0, 0.28, 0.28):
            wall.now += silence
            zero.read(0)
            time.sleep(0.1)  # virtual time stops
        silent = 0.0
        answer = {"status": 1}
        while answer["status"] and silent < 1:
            waits(running, one)
            silent += 0.031
            wall.now += 0.031
            answer = json.loads(one.socket.recv())
        assert max(0.3, patience) <= silent + 1e-6 < max(0.3, patience) + 0.07
        assert one.read(0x1FFC) == 0x800


def test_time_does_not_step_over_a_time_out() -> None:
    wall = Wall()
    with (
        serving(FakeEngine(time_out_ticks=5_000), wall, grace=0.0, patience=1.0) as running,
        running.client() as client,
    ):
        client.start(RECV, root_src_dst=1)
        time.sleep(0.1)
        assert running.engine.time_out() is not None
        wall.now += 1.1
        assert client.wait() == 0x800


def test_two_connections_of_a_rank() -> None:
    """Both are answered, also while one waits."""
    with serving(FakeEngine(time_out_ticks=10**12)) as running, running.client() as first, running.client() as second:
        first.start(RECV, root_src_dst=1)
        first.send({"type": 6, "ctrl_id": 0})
        assert second.call(NOP, ctrl_id=1) == 0
        assert json.loads(first.socket.recv()) == {"status": 1}
    assert running.report.ranks[0].clients == 2
    assert dict(running.report.ranks[0].calls) == {"recv": 1, "nop": 1}


@pytest.mark.serial
def test_a_client_that_dies_in_a_call() -> None:
    """Its call ends without a receiver: the next client of the rank polls the end of its own."""
    with serving(FakeEngine(time_out_ticks=50_000_000)) as running:
        with running.client() as client:
            client.start(RECV, root_src_dst=1)
            waits(running, client)
        until(lambda: not running.clients)
        with running.client() as client:
            client.start(NOP)
            assert client.wait() == 0
            assert not client.poll()
    report = running.report.ranks[0]
    assert report.died == ["recv"] and report.clients == 2
    assert dict(report.ended_wrong) == {("recv", 0x800): 1}


def test_a_reset_with_calls_under_way_is_reported() -> None:
    with serving(FakeEngine(time_out_ticks=10**12)) as running, running.client() as client:
        assert client.call(CONFIG) == 0
        client.start(RECV, root_src_dst=1)
        assert client.call(CONFIG, ctrl_id=1) == 0
        running.finish()
    assert running.report.ranks[0].resets == ["recv"]
    assert running.lines[0].startswith("rank 0: reset during recv: they were ended")


def test_a_client_that_leaves_after_its_calls_has_not_died() -> None:
    with serving() as running:
        for _ in range(3):
            with running.client() as client:
                assert client.call(NOP) == 0
    assert running.report.ranks[0].died == [] and running.report.ranks[0].clients == 3


def test_a_client_that_does_not_wait_for_answers() -> None:
    """Every message has one answer, in order, with or without the empty part before it."""
    with serving() as running, running.client(kind=zmq.DEALER) as client:
        for number in range(300):
            message = json.dumps({"type": 0, "addr": 4 * number}).encode() if number % 3 else b"rubbish"
            client.socket.send_multipart([b"", message] if number % 2 else [message])
        for number in range(300):
            *before, answer = client.socket.recv_multipart()
            assert before == [b""] * (number % 2)
            assert json.loads(answer)["status"] == (0 if number % 3 else -1)
        for _ in range(4):
            client.socket.send_multipart([b"", b'{"type":6,"ctrl_id":0}'])
        for _ in range(4):
            assert json.loads(client.socket.recv_multipart()[-1]) == {"status": 1}
        client.socket.send_multipart([b"", b"1", b"2"])
        assert json.loads(client.socket.recv_multipart()[-1]) == {"status": -1}
    assert "a message of 2 parts; must be 1" in list(running.report.ranks[0].refused)


def test_a_waiting_client_gets_an_error_at_the_end() -> None:
    """Otherwise it would hang."""
    with serving(FakeEngine(time_out_ticks=10**12), hold=60) as running, running.client() as client:
        client.start(RECV, root_src_dst=1)
        waits(running, client)
        running.finish()
        assert json.loads(client.socket.recv()) == {"status": -1}


def test_a_waiting_client_gets_an_error_from_an_engine_that_fails() -> None:
    wall = Wall()
    engine = FakeEngine(fail_at=1)
    failed: list[bool] = []

    def serve() -> None:
        with pytest.raises(RuntimeError, match="the engine is broken"):
            server.serve(lambda: bool(failed))
        failed.append(True)

    server = Server(engine, Settings(free_ports(4 * engine.ranks), hold=60), wall)
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert server.drivers
        clients = server.drivers.clients
        with Client(server.settings.port) as client, Client(server.settings.port, 1) as other:
            other.read(0)
            client.start(NOP)
            client.send({"type": 6, "ctrl_id": 0})
            until(lambda: any(one.poll for one in list(clients.values())))
            wall.now += 1
            assert json.loads(client.socket.recv()) == {"status": -1}
            until(lambda: failed)
    finally:
        failed.append(True)
        thread.join()
        server.close()


@contextmanager
def kernels(running: Running, rank: int, *streams: int) -> Iterator[tuple[zmq.Socket[bytes], zmq.Socket[bytes]]]:
    """The sockets of a rank's kernels: received and sent data."""
    context, ranks = zmq.Context(), running.engine.ranks
    receives, sends = context.socket(zmq.SUB), context.socket(zmq.XPUB)
    for each in (receives, sends):
        each.setsockopt(zmq.RCVTIMEO, 10_000)
    receives.connect(f"tcp://127.0.0.1:{running.port + 2 * ranks + rank}")
    for stream in streams:
        receives.setsockopt(zmq.SUBSCRIBE, b"%d" % stream)
    sends.bind(f"tcp://127.0.0.1:{running.port + 3 * ranks + rank}")
    sends.recv()  # the server has subscribed
    time.sleep(0.1)  # and so have we, without a notification
    yield receives, sends
    context.destroy(linger=0)


def test_kernel_streams() -> None:
    """stream_put from a kernel's stream to another rank's kernel, which has no call."""
    content = list(range(100))
    with (
        serving(FakeEngine(time_out_ticks=10**12)) as running,
        running.client(0) as client,
        kernels(running, 1, 9) as (receives, _),
        kernels(running, 0) as (_, sends),
    ):
        client.write(FLOAT, 4)
        client.start(SEND, 2, count=25, arithcfg=FLOAT, root_src_dst=1, tag=9, stream_flags=3)
        sends.send_multipart([b"0", b"rubbish"])
        sends.send_multipart([b"0", json.dumps({"data": content}).encode()])
        assert client.wait(2) == 0
        stream, message = receives.recv_multipart()
        assert (stream, json.loads(message)) == (b"9", {"data": content + [0] * 28})
        client.call(SEND, 2, count=1, arithcfg=FLOAT, root_src_dst=1, tag=8, stream_flags=2)
        until(running.engine.quiet)
        time.sleep(0.02)
        running.finish()
    assert running.lines == [
        "rank 0: refused: a kernel's message: invalid JSON: Expecting value: line 1 column 1 (char 0)",
        "rank 1: no client connected",
        "rank 1: messages of kernel stream 8 without a subscriber: 1",
    ]


def test_loopback() -> None:
    content = random.randbytes(64)
    with serving(loopback=True) as running, running.client() as client:
        client.write(FLOAT, 4)
        client.store(0x1000, content)
        client.store(0x2000, bytes(64))
        assert floats(client, COPY, addr_0=0x1000, stream_flags=2) == 0
        assert floats(client, COPY, addr_2=0x2000, stream_flags=1) == 0
        assert client.load(0x2000, 64) == content
    assert running.report.right and not running.report.ranks[0].unheard


def fuzzed(draw: random.Random) -> bytes:
    """A message that is valid, or nearly so."""
    kind = draw.choice([0, 1, 2, 3, 4, 5, 5, 6, 6, 7, -1, None, "0", [0]])
    word = draw.choice([0, 1, 4, FLOAT, 0x1FFC, 0x2000, 1 << 20, 1 << 32, 1 << 64, -1, 1.5, None, "1", {}, [], True])
    fields: dict[str, Any] = {
        **{
            "type": kind,
            "addr": word,
            "wdata": word,
            "len": draw.choice([0, 1, 64, 1 << 19, word]),
            "host": draw.choice([True, False, word]),
        },
        **dict.fromkeys(("count", "comm", "root_src_dst", "function", "tag", "arithcfg"), draw.choice([0, 1, word])),
        **{
            "ctrl_id": draw.choice([0, 1, 2, 3, word]),
            "scenario": draw.choice([0, 1, 3, 255, 14, word]),
            "compression_flags": 0,
        },
        **{"stream_flags": draw.choice([0, 1 << 8, 7 << 8]), "addr_0": word, "addr_1": 0, "addr_2": word},
    }
    if kind == 3 and draw.random() < 0.8:
        fields["wdata"] = [draw.randrange(257 if draw.random() < 0.1 else 256) for _ in range(draw.randrange(20))]
    if kind == 5:  # ends soon
        fields |= {
            "count": draw.choice([0, 1]),
            "root_src_dst": draw.choice([0, 1]),
            "arithcfg": draw.choice([0, FLOAT]),
        }
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        fields.pop(draw.choice(list(fields)))
    text = bytearray(json.dumps(fields).encode())
    if draw.random() < 0.2:
        for _ in range(draw.randint(1, 5)):
            text[draw.randrange(len(text))] = draw.randrange(256)
    return bytes(text if draw.random() < 0.9 else text[: draw.randrange(len(text))])


def answers_all(count: int, seed: int) -> None:
    """Fuzzed messages: each has one answer, with the status and its type's fields; afterwards a program still runs."""
    draw = random.Random(seed)
    with serving(FakeEngine(time_out_ticks=1000), hold=0.001, grace=0.0) as running:
        with running.client(0) as zero, running.client(1) as one:
            for number in range(count):
                answer = draw.choice([zero, one]).exchange(message := fuzzed(draw))
                assert type(answer["status"]) is int and answer.keys() <= {"status", "rdata"}, (number, message)
        with running.client(0) as client:
            client.begin(0, 2, running.port)
    refused = sum(rank.refused.count for rank in running.report.ranks)
    assert 0 < refused < count
    assert all(len(line) < 300 and line.isprintable() for line in running.lines)


def test_fuzzed_messages(seed: int) -> None:
    answers_all(2_000, seed)


@pytest.mark.long
def test_many_fuzzed_messages(seed: int) -> None:
    answers_all(100_000, seed)


def test_a_port_in_use() -> None:
    with serving() as running, pytest.raises(InputError, match=f"^port {running.port} is in use; choose another"):
        Server(FakeEngine(), Settings(running.port))
