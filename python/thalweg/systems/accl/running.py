# SPDX-License-Identifier: Apache-2.0
"""The ranks of a Python program on threads, of which one runs at a time, and the virtual time that passes while all wait."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg._core import NEVER, Completion
from thalweg.errors import Blocked, CheckFailed, FabricStopped, InputError
from thalweg.lost import counted
from thalweg.systems.accl._sim import Misuse, Network
from thalweg.systems.accl.chains import Chains, behind
from thalweg.systems.accl.names import NOT_READY, RECEIVE_TIME_OUT, return_bits
from thalweg.systems.accl.report import Lines, first_of
from thalweg.systems.accl.room import beyond_buffers

if TYPE_CHECKING:
    from thalweg.systems.accl.values import Request

LEAST_BUFFER = 8  #: bytes: of an element
TIME_OUT_US = 1_000_000  #: after which a call that waits for a message ends, as ACCL's driver sets it


@dataclass(frozen=True)
class Options:
    """Of the ranks' engines: number and bytes of their receive buffers, microseconds of virtual time after which a call that waits for a message ends (0: never), and the most
    bytes of a message that goes through receive buffers where others can go straight to their places (0: as a receive buffer has); of collectives, the
    most bytes of a block that goes straight from rank to rank; a quarter of it, where a root adds them up."""

    buffers: int = 16
    buffer_bytes: int = 1024
    time_out_us: int = TIME_OUT_US
    most_eager_bytes: int = 0
    flat_bytes: int = 32_768

    def __post_init__(self) -> None:
        """Raises InputError."""
        least = {"buffers": 1, "buffer_bytes": LEAST_BUFFER, "time_out_us": 0, "most_eager_bytes": 0, "flat_bytes": 0}
        for name, value in vars(self).items():
            if not isinstance(value, int) or not least[name] <= value < 1 << 32:
                raise InputError(f"{name} is {value!r}; wanted is {least[name]} to {(1 << 32) - 1}")
        if 0 < self.most_eager_bytes < self.buffer_bytes:
            raise InputError(f"most_eager_bytes is {self.most_eager_bytes}; a receive buffer has {self.buffer_bytes}")


@dataclass(frozen=True)
class Result:
    """Of a run: what each rank's function returned, virtual time in all, what was lost: node, what, how many; a line for each call of a kernel
    that has failed; and one where messages are larger than all receive buffers of a rank, and the network may lose them."""

    values: list[Any]
    time_us: float
    lost: list[tuple[int, str, int]]
    failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


_PATIENCE_S = 1.0  #: for a rank that is told to end


class _Cancelled(BaseException):
    """Unwinds a rank whose run has ended."""


class _Thread:
    """A rank's function on a thread, which runs when it is its turn."""

    def __init__(self, body: Callable[[], Any]) -> None:
        self.turn, self.parked = threading.Semaphore(0), threading.Semaphore(0)
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.cancelled = False

        def work() -> None:
            self.turn.acquire()
            try:
                if not self.cancelled:
                    self.value = body()
            except _Cancelled:
                pass
            except BaseException as error:
                self.error = error
            self.ended = True
            self.parked.release()

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def resume(self) -> None:
        """Until it parks or ends."""
        self.turn.release()
        self.parked.acquire()

    def park(self) -> None:
        """Called on it."""
        self.parked.release()
        self.turn.acquire()
        if self.cancelled:
            raise _Cancelled

    def cancel(self) -> None:
        """Ends it; one that goes on with something else than calls is left alone, and ends with the process."""
        if not self.ended:
            self.cancelled = True
            self.turn.release()
            self.parked.acquire(timeout=_PATIENCE_S)


@dataclass
class _Wait:
    requests: Sequence[Request]  #: none: for a time
    until: int | None  #: tick


class Run:
    """Some boards' ranks, of `ranks` in all. `step`: ticks, after which the network, which is attached, is asked whether it has failed."""

    def __init__(
        self,
        network: Network,
        boards: Sequence[int],
        ranks: int,
        options: Options,
        step: int = 0,
        mirrors: Mapping[int, tuple[int, int]] | None = None,
        unreliable: frozenset[int] = frozenset(),
    ) -> None:
        self.network, self.boards, self.ranks, self.options = network, boards, ranks, options
        self._mirrors, self._unreliable = mirrors or {}, unreliable
        self._beyond_buffers: list[tuple[int, str]] = []
        self._step = step
        self._threads: list[_Thread] = []
        self._numbers: dict[threading.Thread, int] = {}  # of the threads
        self._waits: dict[int, _Wait] = {}
        self._requests: dict[int, Request] = {}
        self._chains = Chains["Request"]()
        self._held: dict[Request, tuple[int, int]] = {}  # board and port
        self._next = 0
        self._ended = False
        self._watched: tuple[float, Callable[[float], None]] | None = None
        self.unseen: dict[Request, None] = {}  #: whose ends no rank has seen

    @property
    def now_us(self) -> float:
        return float(self.network.now / self.network.ticks_per_second * 1e6)

    def watch(self, each_us: float, seen: Callable[[float], None]) -> None:
        """While time passes, calls `seen` with the virtual time, in microseconds, about once in `each_us` of it."""
        self._watched = each_us, seen

    def rewire(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Connects these pairs of boards by the optical switch that they are at, and none of its other boards. Raises InputError."""
        for board in (board for pair in pairs for board in pair):
            if board not in self._mirrors:
                raise InputError(f"board {board} is at no optical switch")
        for node in {node for node, _ in self._mirrors.values()}:
            ports = [[self._mirrors[board][1] for board in pair if self._mirrors[board][0] == node] for pair in pairs]
            if any(len(pair) == 1 for pair in ports):
                raise InputError("a pair of boards that are at different optical switches")
            try:
                self.network.rewire(node, [(pair[0], pair[1]) for pair in ports if pair])
            except ValueError as error:
                raise InputError(str(error)) from None

    def submit(self, request: Request, board: int, port: int) -> None:
        self._own()
        request.begun_us = self.now_us
        if board in self._unreliable and (line := beyond_buffers(board, request.words, self._word)):
            self._beyond_buffers.append((board, line))
        if self._chains.hold(request, (before for before in request.after if not before.done)):
            self._held[request] = board, port
        else:
            self._give(request, board, port)
        self.unseen[request] = None

    def _word(self, rank: int, address: int) -> int | None:
        """Of the exchange memory; None where a board is not in this process."""
        return self.network.read(rank, address) if rank < self.network.ranks else None

    def _give(self, request: Request, board: int, port: int) -> None:
        """To the engine, or ends it as one before it that has failed. Raises InputError."""
        if failed := next((before for before in request.after if before.failed), None):
            self._end(request, failed.code, behind(failed.operation, failed.why), self.now_us)
            return
        self._next += 1
        try:
            self.network.submit(handle=self._next, rank=board, port=port, words=request.words)
        except ValueError as error:
            raise InputError(f"rank {board}: {error}") from None
        self._requests[self._next] = request

    def start_kernel(self, request: Request, **how: Any) -> None:
        self._own()
        request.begun_us = self.now_us
        self._next += 1
        try:
            self.network.start_kernel(handle=self._next, **how)
        except (RuntimeError, ValueError) as error:
            raise InputError(str(error)) from None
        self._requests[self._next] = request

    def park(self, requests: Sequence[Request], limit_us: float | None) -> None:
        """Called by a rank that runs: until these have ended, or a time has passed."""
        if requests and all(request.done for request in requests):
            return
        own = self._own()
        until = None
        if limit_us is not None:
            until = self.network.now + round(limit_us * 1e-6 * self.network.ticks_per_second)
        self._waits[own] = _Wait(requests, until)
        self._threads[own].park()

    def _own(self) -> int:
        """The number of the thread that calls. Raises InputError where none may."""
        own = self._numbers.get(threading.current_thread())
        if own is not None and self._threads[own].cancelled:
            raise _Cancelled
        if self._ended:
            raise InputError("the run of this rank has ended")
        if own is None:
            raise InputError(
                "a call by a thread that the program has started; the function of a rank makes its calls itself"
            )
        return own

    def forget(self, board: int) -> None:
        """Calls of a rank that a reset has ended fail the run only where the program waits for them."""
        for request in [request for request in self.unseen if request.rank.rank == board]:
            if request.code and request.code >> NOT_READY:
                del self.unseen[request]

    def finish(self, board: int) -> None:
        """Called by a rank that runs, at its end: until all its calls have ended. Raises AcclError where one failed, and nobody has seen it."""
        for request in [request for request in self.unseen if request.rank.rank == board]:
            request.wait()

    def run(self, program: Callable[[int], Any]) -> Result:
        """Calls `program(board)` for each board, on a thread of its own."""

        def body(board: int) -> Callable[[], Any]:
            return lambda: program(board)

        self._threads = [_Thread(body(board)) for board in self.boards]
        self._numbers = {each.thread: number for number, each in enumerate(self._threads)}
        ready = deque(range(len(self.boards)))
        try:
            while ready or self._waits:
                while ready:
                    number = ready.popleft()
                    thread = self._threads[number]
                    thread.resume()
                    if thread.error:
                        raise _of_rank(self.boards[number], thread.error)
                ready.extend(self._advance())
        finally:
            self._ended = True
            for thread in self._threads:
                thread.cancel()
            self.network.close()
        values = [thread.value for thread in self._threads]
        return Result(values, self.now_us, self.network.lost, self._failed(), first_of(self._beyond_buffers))

    def _advance(self) -> list[int]:
        """Lets virtual time pass until ranks may go on, which it returns."""
        while self._waits:
            ready = [rank for rank, wait in self._waits.items() if self._over(wait)]
            if ready:
                for rank in ready:
                    del self._waits[rank]
                return sorted(ready)
            limits = [wait.until for wait in self._waits.values() if wait.until is not None]
            try:
                ended = self._attached(limits) if self._step else self._alone(limits)
            except Misuse as error:
                raise CheckFailed(str(error)) from None
            except ValueError as error:
                raise InputError(str(error)) from None
            for completion in ended:
                request = self._requests.pop(completion.handle)
                code, why = self.network.take_end(completion.handle)
                if code:
                    why = "; ".join([why, *self._until_now(code), *first_of(self._beyond_buffers)])
                self._end(request, code, why, completion.at / self.network.ticks_per_second * 1e6)
            self._release()
        return []

    def _release(self) -> None:
        """Gives the engine calls whose chains have ended. One that it refuses fails where the program waits for it."""
        while ready := self._chains.take():
            for request in ready:
                board, port = self._held.pop(request)
                try:
                    self._give(request, board, port)
                except InputError as error:
                    why = error.what.removeprefix(f"rank {board}: {request.operation}: ")
                    self._end(request, None, why, self.now_us)

    def _end(self, request: Request, code: int | None, why: str, at_us: float) -> None:
        request.end(code, why, at_us)
        self._chains.end(request)

    def _alone(self, limits: Sequence[int]) -> list[Completion]:
        """Until a call has ended, or the first of these ticks, or a time-out, which ends its call."""
        until = min(limits, default=NEVER)
        if self._watched and (ended := self._seen_until(until, *self._watched)):
            return ended
        if ended := self.network.advance(until) if until == NEVER else self.network.work(until):
            return ended
        time_out = self.network.time_out()
        if time_out is not None and time_out < until:
            return self.network.expire()
        if until == NEVER:
            raise self._stuck()
        return self.network.advance(until)

    def _seen_until(self, first: int, each_us: float, seen: Callable[[float], None]) -> list[Completion]:
        """Until a call has ended, nothing moves any more, or that tick is near."""
        step = max(1, round(each_us * 1e-6 * self.network.ticks_per_second))
        until = self.network.now + step
        ended: list[Completion] = []
        while not ended and not self.network.idle and until < first:
            ended = self.network.work(until)
            until += step
            seen(self.now_us)
        return ended

    def _attached(self, limits: Sequence[int]) -> list[Completion]:
        """The same for a network whose time follows the wall clock, for a step at most."""
        time_out = self.network.time_out()
        until = min([*limits, self.network.now + self._step, *([] if time_out is None else [time_out])])
        ended = self.network.advance(until)
        if self.network.failure:
            raise FabricStopped("; ".join([self.network.failure, *self._dropped()]), self.network.blocked)
        if not ended and time_out is not None and self.network.now >= time_out:
            ended = self.network.expire()
        return ended

    def _over(self, wait: _Wait) -> bool:
        if wait.requests and all(request.done for request in wait.requests):
            return True
        return wait.until is not None and self.network.now >= wait.until

    def _dropped(self) -> list[str]:
        return [f"{counted(count, what)} at node {node}" for node, what, count in self.network.lost]

    def _until_now(self, code: int) -> list[str]:
        """What was lost before a call had waited for too long."""
        lost = self._dropped() if code & RECEIVE_TIME_OUT else []
        return [f"lost or not received until then: {', '.join(lost)}"] if lost else []

    def _failed(self) -> list[str]:
        return [
            f"{who}, called by a kernel: {', '.join(return_bits(code))} ({code:#x}): {why}"
            for who, code, why in self.network.failed
        ]

    def _stuck(self) -> FabricStopped:
        blocked: list[Blocked] = self.network.blocked
        lines = [*self.network.unlit, *Lines.of(_line(one) for one in blocked)]
        lines += self._failed() + self._dropped()
        return FabricStopped("nothing can go on: " + ("; ".join(lines) or "no call is open"), blocked)


def _of_rank(board: int, error: BaseException) -> BaseException:
    """The error that a rank's function has raised, with the rank in its traceback."""
    where = f"in the program of rank {board}"
    if sys.version_info >= (3, 11):
        error.add_note(where)
    else:
        error.__notes__ = [*getattr(error, "__notes__", []), where]
    return error


def _line(one: Blocked) -> str:
    """Who waits for whom; of a kernel, where."""
    of = f", for {one.on}" if one.where and one.on else ""
    return (
        f"{one.who} waits {one.what}{of}"
        + (f"; {one.why}" if one.why else "")
        + (f" ({one.where})" if one.where else "")
    )
