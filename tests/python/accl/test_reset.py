# SPDX-License-Identifier: Apache-2.0
"""Does a reset end all calls of its board and of no other board, and does everything work after all ranks have reset
theirs?"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from thalweg.accl import AcclError, Function, Rank, run
from thalweg.resources import resource
from thalweg.systems.accl.engine import make_engine
from thalweg.systems.accl.values import Request

CLUSTERS = ["accl-u280-udp", "accl-u280-reliable", "accl-u280-rdma", "accl-u280-tcp"]
ENDED = "not ready .0x80000000.: its board was reset before it had ended"
N = 3000
FLOATS = {
    "count": 16,
    "comm": 8 + 28 * 16,
    "arithcfg": 8 + 28 * 16 + 56 + 2 * 36,
}  #: addresses in the client's set-up


def ended(request: Request) -> None:
    with pytest.raises(AcclError, match=ENDED):
        request.wait()


def exchange(rank: Rank, turn: int) -> None:
    """Messages, including large ones, and collectives; no data of earlier turns may arrive in their place."""
    mine = rank.create_buffer(np.arange(N, dtype=np.int32) + 1000 * turn + rank.rank)
    theirs, total = rank.create_buffer(N, "int32"), rank.create_buffer(N, "int32")
    for count in (10, N):
        sent = rank.send(mine, count, (rank.rank + 1) % rank.size, turn, run_async=True)
        rank.recv(theirs, count, (rank.rank - 1) % rank.size, turn)
        sent.wait()
        before = (rank.rank - 1) % rank.size
        assert (theirs.array[:count] == np.arange(count) + 1000 * turn + before).all()
        rank.allreduce(mine, total, count, Function.SUM)
        assert (total.array[:count] == rank.size * (np.arange(count) + 1000 * turn) + 3).all()
    rank.barrier()


@pytest.mark.usefixtures("few_plug_ins")
@pytest.mark.parametrize(
    ("cluster", "hardware"),
    [*((cluster, ()) for cluster in CLUSTERS), pytest.param("accl-u280-udp", (0, 2), marks=pytest.mark.long)],
)
def test_a_reset_ends_calls_and_all_works_after_it(cluster: str, hardware: tuple[int, ...]) -> None:
    def program(rank: Rank) -> float:
        exchange(rank, 1)
        buffer, other = rank.create_buffer(N, "int32"), rank.create_buffer(N, "int32")
        calls = [
            rank.recv(buffer, N, (rank.rank - 1) % 3, 99, run_async=True),  # nobody sends it
            rank.send(other, 10, (rank.rank + 1) % 3, 98, run_async=True),  # nobody receives it
            rank.allreduce(other, buffer, N, Function.SUM, run_async=True),  # not all ranks call it
        ][: 3 if rank.rank else 2]
        calls.append(rank.copy(other, buffer, 10, waitfor=calls[:1], run_async=True))
        rank.pause(100)
        before = rank.now_us
        rank.reset()
        took = rank.now_us - before
        ended(calls[0])
        with pytest.raises(AcclError, match="copy: not ready .*the recv before it failed: its board was reset"):
            calls[-1].wait()
        rank.pause(100)  # all have reset theirs
        exchange(rank, 2)
        rank.reset()
        rank.pause(100)
        exchange(rank, 3)
        return took

    result = run(program, 3, cluster, hardware=hardware, time_out_us=5000)
    assert max(result.values) < 4 * 31.0 + 5  # a reset waits for no call except its host's invocations


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_partner_learns_of_it_by_its_time_out(cluster: str) -> None:
    """Also for a buffer that it has offered: no rank writes to it."""

    def program(rank: Rank) -> str:
        buffer = rank.create_buffer(np.full(N, 7 + rank.rank, np.int32))
        if rank.rank == 0:
            rank.recv(buffer, N, 1, run_async=True)
            rank.pause(200)
            rank.reset()
            rank.pause(2000)
            assert (buffer.array == 7).all()
            return ""
        rank.pause(500)
        with pytest.raises(AcclError) as error:
            rank.recv(buffer, N, 0)
        if cluster == "accl-u280-rdma":
            rank.send(buffer, N, 0)  # to the buffer announced before
            with pytest.raises(AcclError, match="waited for a buffer offered by rank 0"):
                rank.send(buffer, N, 0)
        return str(error.value)

    result = run(program, 2, cluster, time_out_us=1000, buffers=16)
    assert "receive time-out" in result.values[1]


def test_calls_that_wait_for_the_engine_end_too(tmp_path: Path) -> None:
    """With one active call allowed: a reset overtakes the calls before it."""
    file = tmp_path / "one.toml"
    file.write_text(f'description = "x"\nbase = "{resource("clusters/accl-u280-udp.toml")}"\n[node.board]\ncalls = 1\n')

    def program(rank: Rank) -> None:
        buffer = rank.create_buffer(16)
        calls = [rank.recv(buffer, 16, 1 - rank.rank, tag, run_async=True) for tag in range(5)]
        calls += [rank.kernel().recv(buffer, 16, 1 - rank.rank, tag, run_async=True) for tag in range(5, 8)]
        rank.pause(50)
        rank.reset()
        for call in calls:
            ended(call)
        rank.copy(buffer, rank.create_buffer(16), 16)

    run(program, 2, str(file), time_out_us=0)


def test_a_board_that_was_not_set_up_keeps_what_has_come() -> None:
    """Drivers start at different times, and reset their engines first: a message to a late one is not lost."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    from client import RECV, SEND
    from test_server import serving

    engine = make_engine("accl-u280-udp", 2)
    with serving(engine) as running, running.client(0) as zero, running.client(1) as one:  # type: ignore[arg-type]
        zero.begin(0, 2, running.port)
        zero.allocate(0x20000, 64)
        zero.store(0x20000, bytes([5]) * 64)
        assert zero.call(SEND, **FLOATS, root_src_dst=1, addr_0=0x20000) == 0
        one.begin(1, 2, running.port)
        one.allocate(0x20000, 64)
        assert one.call(RECV, **FLOATS, root_src_dst=0, addr_2=0x20000) == 0
        assert one.load(0x20000, 64) == bytes([5]) * 64


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_server_says_how_calls_ended(cluster: str) -> None:
    """A driver that resets its engine while a call waits gets the end of the call, and its code is in the report."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    from client import CONFIG, RECV, SEND
    from test_server import serving

    engine = make_engine(cluster, 2)
    with serving(engine) as running, running.client(0) as zero, running.client(1) as one:  # type: ignore[arg-type]
        for turn in range(2):
            for rank, client in enumerate((zero, one)):
                client.begin(rank, 2, running.port)
                client.allocate(0x20000, 64)
            zero.store(0x20000, bytes([turn + 1]) * 64)
            one.start(RECV, **FLOATS, root_src_dst=0, addr_2=0x20000)
            assert zero.call(SEND, **FLOATS, root_src_dst=1, addr_0=0x20000) == 0
            assert one.wait() == 0
            assert one.load(0x20000, 64) == bytes([turn + 1]) * 64
            one.start(RECV, **FLOATS, root_src_dst=0, addr_2=0x20000)
            assert one.call(CONFIG, ctrl_id=1) == 0  # a reset
            assert one.poll()
    report = running.report.ranks[1]
    assert dict(report.ended_wrong) == {("recv", 1 << 31): 2}
    assert report.why["recv", 1 << 31] == "its board was reset before it had ended"
    assert report.resets == ["recv", "recv"] and not report.never_ended
