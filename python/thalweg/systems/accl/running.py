# SPDX-License-Identifier: Apache-2.0
"""Runs the ranks of a Python program on threads, one at a time, and advances virtual time while all ranks wait."""

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
from thalweg.systems.accl.oversized_messages import beyond_buffers
from thalweg.systems.accl.report import Lines, first_of

if TYPE_CHECKING:
    from thalweg.systems.accl.values import Request

MIN_BUFFER = 8  #: bytes of the largest element
TIME_OUT_US = 1_000_000  #: time-out of a call that waits for a message; set by ACCL's driver


@dataclass(frozen=True)
class Options:
    """Settings of the ranks' engines, the keyword arguments of `run`.

    Parameters
    ----------
    buffers : int
        Number of receive buffers.
    buffer_bytes : int
        Size of a receive buffer in bytes.
    time_out_us : int
        Time-out in us of virtual time of a call that waits for a message; 0 for none.
    most_eager_bytes : int
        Maximum size in bytes of a message through receive buffers if the transport has rendezvous (`rdma`); 0 for
        `buffer_bytes`.
    flat_bytes : int
        Maximum block size in bytes of collectives that send directly from rank to rank; a quarter of it where a
        root reduces the blocks.

    Raises
    ------
    InputError
        A value is out of range.

    Examples
    --------
    >>> from thalweg.accl import Options
    >>> Options(buffers=0)
    Traceback (most recent call last):
    thalweg.errors.InputError: buffers is 0; must be 1 to 4294967295
    """

    buffers: int = 16
    buffer_bytes: int = 1024
    time_out_us: int = TIME_OUT_US
    most_eager_bytes: int = 0
    flat_bytes: int = 32_768

    def __post_init__(self) -> None:
        """Raises InputError if a value is out of range."""
        least = {"buffers": 1, "buffer_bytes": MIN_BUFFER, "time_out_us": 0, "most_eager_bytes": 0, "flat_bytes": 0}
        for name, value in vars(self).items():
            if not isinstance(value, int) or not least[name] <= value < 1 << 32:
                raise InputError(f"{name} is {value!r}; must be {least[name]} to {(1 << 32) - 1}")
        if 0 < self.most_eager_bytes < self.buffer_bytes:
            raise InputError(
                f"most_eager_bytes is {self.most_eager_bytes}; must be 0 or at least buffer_bytes, {self.buffer_bytes}"
            )


@dataclass(frozen=True)
class Result:
    """Outcome of `run`.

    Attributes
    ----------
    values : list
        Return value of each rank's function.
    time_us : float
        Total virtual time in us.
    lost : list of (int, str, int)
        Frames and packets that were dropped: node, description, count.
    failed : list of str
        One line per call of a kernel that ended with a return code other than 0.
    warnings : list of str
        Messages larger than all receive buffers of their receiver, of which the network may lose a part.
    """

    values: list[Any]
    time_us: float
    lost: list[tuple[int, str, int]]
    failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


_PATIENCE_S = 1.0  #: wall time to wait for a cancelled rank


class _Cancelled(BaseException):
    """Unwinds the stack of a rank whose run has ended."""


class _Thread:
    """A rank's function on a thread, which runs only between resume() and park()."""

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
        """Runs the function until it parks or ends."""
        self.turn.release()
        self.parked.acquire()

    def park(self) -> None:
        """Suspends the function; called on its own thread."""
        self.parked.release()
        self.turn.acquire()
        if self.cancelled:
            raise _Cancelled

    def cancel(self) -> None:
        """Ends the function. A thread that makes no calls is abandoned, and ends with the process."""
        if not self.ended:
            self.cancelled = True
            self.turn.release()
            self.parked.acquire(timeout=_PATIENCE_S)


_END = 2**63  #: ticks


@dataclass
class _Wait:
    requests: Sequence[Request]  #: empty: a pause
    until: int | None  #: tick


class Run:
    """The ranks of some boards, out of `ranks` in all.

    `step` is the interval in ticks at which an attached network is asked whether it has failed.
    """

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
        self._numbers: dict[threading.Thread, int] = {}  # index of each thread
        self._waits: dict[int, _Wait] = {}
        self._requests: dict[int, Request] = {}
        self._chains = Chains["Request"]()
        self._held: dict[Request, tuple[int, int]] = {}  # board and port of requests that wait for others
        self._next = 0
        self._ended = False
        self._watched: tuple[float, Callable[[float], None]] | None = None
        self.unseen: dict[Request, None] = {}  #: ended requests that no rank has waited for

    @property
    def now_us(self) -> float:
        return float(self.network.now / self.network.ticks_per_second * 1e6)

    def watch(self, each_us: float, seen: Callable[[float], None]) -> None:
        """Calls `seen` with the virtual time in us, about every `each_us` of it, while time advances."""
        self._watched = each_us, seen

    def rewire(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Connects these pairs of boards by their optical switch, and disconnects its other boards. Raises InputError."""
        for board in (board for pair in pairs for board in pair):
            if board not in self._mirrors:
                raise InputError(f"board {board} is not connected to an optical switch")
        for node in {node for node, _ in self._mirrors.values()}:
            ports = [[self._mirrors[board][1] for board in pair if self._mirrors[board][0] == node] for pair in pairs]
            if any(len(pair) == 1 for pair in ports):
                raise InputError("the boards of a pair are connected to different optical switches")
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
        """Returns a word of a rank's exchange memory; None if the board is not simulated in this process."""
        return self.network.read(rank, address) if rank < self.network.ranks else None

    def _give(self, request: Request, board: int, port: int) -> None:
        """Passes a request to the engine, or ends it if a request before it has failed. Raises InputError."""
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
        """Suspends the running rank until these requests have ended or the time has passed."""
        if requests and all(request.done for request in requests):
            return
        own = self._own()
        until = None
        if limit_us is not None:
            until = self.network.now + round(limit_us * 1e-6 * self.network.ticks_per_second)
            if until >= _END:
                raise InputError(
                    "the simulation's time ends at 2^63 ticks, which is before this pause or wait would end"
                )
        self._waits[own] = _Wait(requests, until)
        self._threads[own].park()

    def _own(self) -> int:
        """Returns the index of the calling thread. Raises InputError if it is not a running rank's."""
        own = self._numbers.get(threading.current_thread())
        if own is not None and self._threads[own].cancelled:
            raise _Cancelled
        if self._ended:
            raise InputError(
                "the run of this rank has ended; a rank makes calls only while run() executes its function"
            )
        if own is None:
            raise InputError(
                "call from a thread that the program has started; only the thread of a rank's function may make calls"
            )
        return own

    def forget(self, board: int) -> None:
        """After a reset: failed calls of this rank end the run only if the program waits for them."""
        for request in [request for request in self.unseen if request.rank.rank == board]:
            if request.code and request.code >> NOT_READY:
                del self.unseen[request]

    def finish(self, board: int) -> None:
        """Waits for all calls of a rank at its end. Raises AcclError if one failed that no rank has waited for."""
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
        """Advances virtual time until ranks may continue, and returns these ranks."""
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
        """Passes calls to the engine whose predecessors have ended. One that the engine refuses fails where the program
        waits for it."""
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
        """Advances until a call has ended, the first of these ticks, or a time-out, which ends its call."""
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
        """Advances until a call has ended, no event is left, or the tick is near."""
        step = max(1, round(each_us * 1e-6 * self.network.ticks_per_second))
        until = self.network.now + step
        ended: list[Completion] = []
        while not ended and not self.network.idle and until < first:
            ended = self.network.work(until)
            until += step
            seen(self.now_us)
        return ended

    def _attached(self, limits: Sequence[int]) -> list[Completion]:
        """Like `_alone`, on an attached network, whose time follows the wall clock; for at most one step."""
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
        """Lists what was lost before a call's time-out."""
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
        return FabricStopped("deadlock: " + ("; ".join(lines) or "no call is in progress"), blocked)


def _of_rank(board: int, error: BaseException) -> BaseException:
    """Adds the rank to the traceback of an error that its function has raised."""
    where = f"in the program of rank {board}"
    if sys.version_info >= (3, 11):
        error.add_note(where)
    else:
        error.__notes__ = [*getattr(error, "__notes__", []), where]
    return error


def _line(one: Blocked) -> str:
    """Describes a wait, for a kernel with its source line."""
    of = f", for {one.on}" if one.where and one.on else ""
    return (
        f"{one.who} waits {one.what}{of}"
        + (f"; {one.why}" if one.why else "")
        + (f" ({one.where})" if one.where else "")
    )
