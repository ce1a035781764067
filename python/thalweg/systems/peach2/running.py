# SPDX-License-Identifier: Apache-2.0
"""Operations of PEACH2's nodes, from their start to their end or their error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.systems.peach2 import _sim

if TYPE_CHECKING:
    from thalweg.systems.peach2.hubs import Hubs


class WritesLost(FabricStopped):
    """Writes were refused or dropped; the message has a line for each.

    The line is also the `error` of the write's operation, which is not `done`.
    """


class StaleRead(FabricStopped):
    """Kernels read GPU memory before it was flushed, and got old data; the message has a line for each read.

    The line is also the `error` of the kernel, which is not `done`. All operations have been executed.
    """


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translates the simulator's exceptions into InputError or other classes of thalweg.errors."""
    try:
        yield
    except (ValueError, IndexError) as error:
        raise InputError(str(error)) from None
    except _sim.Difference as error:
        raise CheckFailed(str(error)) from None
    except _sim.WritesLost as error:
        raise WritesLost(str(error)) from None
    except _sim.StaleRead as error:
        raise StaleRead(str(error)) from None


class Operation:
    """An operation of a node's processor, returned by methods of `Node` and `Group`.

    Times are known once `Hubs.run` has ended.
    """

    def __init__(self, hubs: Hubs, times: _sim.Times) -> None:
        self._hubs, self._times, self._stops = hubs, times, hubs.stops

    @property
    def span_us(self) -> tuple[float, float] | None:
        """Start and end in us, or None before the start. The end is `inf` until the operation has ended."""
        if self._times.begin < 0:
            return None
        return self.begin_us, self.end_us if self._times.end >= 0 else math.inf

    @property
    def done(self) -> bool:
        """True if the operation has ended and none of its writes was refused or dropped."""
        return self._times.end >= 0 and not self._times.error

    @property
    def error(self) -> str:
        """The first refused or dropped write, with place and reason; empty if there is none."""
        return self._times.error

    @property
    def begin(self) -> int:
        """Start, in cycles of the packet clock since the start of the simulation.

        Raises
        ------
        InputError
            The operation has not started.
        """
        return self._run(self._times.begin)

    @property
    def end(self) -> int:
        """End, in cycles of the packet clock since the start of the simulation.

        Raises
        ------
        InputError
            The operation has not ended, or a stopped run has discarded it.
        """
        return self._run(self._times.end)

    @property
    def begin_us(self) -> float:
        return self.begin / self._hubs.cycles_per_us

    @property
    def end_us(self) -> float:
        return self.end / self._hubs.cycles_per_us

    @property
    def time_us(self) -> float:
        """Duration in us. Raises InputError as `end` does."""
        return self.end_us - self.begin_us

    def _run(self, cycle: int) -> int:
        if cycle < 0 and self._stops != self._hubs.stops:
            raise InputError("the operation never ended: a stopped run has discarded it")
        if cycle < 0:
            raise InputError("the operation has not been executed: call run() first")
        return cycle


class Kernel(Operation):
    """An operation of a node's GPUs, returned by `Node.kernel`."""

    @property
    def seen(self) -> list[NDArray[np.uint8]]:
        """The bytes that the kernel has read, by range. Raises InputError if it has not been executed."""
        self._run(self._times.end)
        return [np.frombuffer(data, np.uint8) for data in self._times.seen]


class RecordedOperation(NamedTuple):
    """A recorded operation: node, kind (such as `chain`), and details for the timeline."""

    node: int
    name: str
    operation: Operation
    about: Mapping[str, object]
