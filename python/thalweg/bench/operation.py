# SPDX-License-Identifier: Apache-2.0
"""Operations of `thalweg bench` and `thalweg.measure`: options, plans, and rows of results.

An operation measures; its `Plan` turns measurements into rows, in the same format for all systems (docs/python.md,
"Rows").
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thalweg.arguments import fits, plain, shown
from thalweg.bench.plot import Drawing, time_over_size
from thalweg.cluster import Cluster
from thalweg.errors import CheckFailed, InputError
from thalweg.trace import Recorded

Row = dict[str, Any]
"""One row of results: plain values, written unchanged by `--json`. Times are in microseconds, sizes in bytes."""


@dataclass(frozen=True)
class Measured:
    """One measurement of an operation, in the format shared by all systems."""

    bytes: int
    """The size in bytes given by the option `sizes`; if there is no such option, the bytes transferred."""
    time_us: float
    """Simulated time in us from the start of the operation to the event `Plan.until`."""
    bound_us: float | None
    """Lower bound in us for any implementation on this cluster; None if none is proved."""
    verified: bool | None
    """Whether the result is correct; None if nothing was executed."""
    own: Row = field(default_factory=dict)
    """Columns specific to the operation. A second time and its bound have matching names: `time_kernel_us`, `bound_kernel_us`."""


def share(time_us: float, bound_us: float | None) -> float | None:
    """Returns bound / time; None without a bound or if the time is 0."""
    return None if bound_us is None or not time_us else bound_us / time_us


Progress = Callable[[float], None]
"""Called with the completed fraction of the work, 0 to 1."""


def silent(_: float) -> None:
    pass


class WrongRows(CheckFailed):
    """A wrong measurement: a wrong result, or a time below its bound."""

    def __init__(self, what: str, rows: Sequence[Row]) -> None:
        super().__init__(what)
        self.rows = rows


def check(rows: Sequence[Row]) -> None:
    """Raises WrongRows if a result is not verified, or a measured time is below its bound. Closed forms measure nothing."""
    if wrong := [row for row in rows if row["verified"] is False]:
        where = ", ".join(str(row.get("load", row["bytes"])) for row in wrong)
        raise WrongRows(f"{rows[0]['operation']} returned wrong results at {where}", rows)
    for row in (row for row in rows if row["verified"] is not None):
        for name in row:
            bound = row[name] if name.startswith("bound") else None
            if bound is not None and (time := row[name.replace("bound", "time")]) < bound:
                raise WrongRows(
                    f"{row['operation']} of {row['bytes']} bytes took {time:.4g} us, which is below its bound of "
                    f"{bound:.4g} us: either the measurement or the bound is wrong",
                    rows,
                )


def peer_at(cluster: Cluster, hops: int) -> int:
    """Returns the first node `hops` links away from node 0. Raises InputError if there is none."""
    distances = cluster.topology.distances[0]
    (found,) = (distances == hops).nonzero()
    if hops < 1 or not found.size:
        raise InputError(
            f"no node is {hops} hops from node 0 in {cluster.name}; the farthest is {int(distances.max())}"
        )
    return int(found[0])


@dataclass(frozen=True)
class Plan:
    """An operation on a cluster with valid options, ready to be measured."""

    cluster: Cluster
    operation: str
    title: str
    """What is measured, and on which cluster; `until` follows separately."""
    until: str
    """The event at which the measured time ends, e.g. `the last element is popped`."""
    measure: Callable[[Progress, int], Iterable[Measured]]
    """Measures; called with a progress callback and the number of simulations that may run in parallel. Raises FabricStopped if the operation does not complete."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    check: Callable[[Sequence[Row]], None] = check
    """Raises WrongRows."""
    record: Callable[[Sequence[Row]], Recorded] | str = "it has no timeline"
    """Repeats the operation and records its timeline; a text gives the reason if it cannot."""
    draw: Drawing = time_over_size
    """Draws the plot of `--plot`."""

    def rows(self, progress: Progress = silent, workers: int = 1) -> list[Row]:
        """Measures, and returns a row per measurement: the columns common to all operations, then the operation's own."""
        return [
            {
                "cluster": self.cluster.name,
                "operation": self.operation,
                "bytes": one.bytes,
                "time_us": one.time_us,
                "until": self.until,
                "bound_us": one.bound_us,
                "share": share(one.time_us, one.bound_us),
                "verified": one.verified,
                **one.own,
            }
            for one in self.measure(progress, workers)
        ]


class Option(NamedTuple):
    """An option of an operation: name, Python type as text, and default."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Operation:
    """An operation that a system can measure.

    `plan` takes a cluster and options, and raises InputError. The options are its keyword-only parameters, except those
    in `without`.
    """

    plan: Callable[..., Plan]
    without: Collection[str] = ()

    @property
    def options(self) -> list[str]:
        return [option.name for option in self.listed()]

    def listed(self) -> list[Option]:
        return [option for option in listed(self.plan) if option.name not in self.without]


def listed(function: Callable[..., Any]) -> list[Option]:
    """Returns the keyword-only parameters of a function."""
    return [
        Option(p.name, "Any" if p.annotation is p.empty else _TYPES.get(p.annotation, p.annotation), p.default)
        for p in inspect.signature(function).parameters.values()
        if p.kind == p.KEYWORD_ONLY
    ]


_TYPES = {
    "Sizes": "str | int | Sequence[int | str]",
    "Sizes | None": "str | int | Sequence[int | str] | None",
    "placements.Placement": "str | Sequence[int]",
}
"""Aliases in annotations, and their types."""


def checked(
    name: str, function: Callable[..., Any], known: Sequence[Option], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the options `given` to `name`, with NumPy numbers converted to Python numbers.

    The options are parameters of `function`. Raises InputError for an unknown option or a value of the wrong type.
    """
    types = {option.name: option.type for option in known}
    parameters = inspect.signature(function).parameters
    defined_in = getattr(function, "func", function).__globals__
    values: dict[str, Any] = plain(given)
    for option, value in values.items():
        if option not in types:
            raise InputError(f"{name} has no option {option!r}; it has {', '.join(types) or 'none'}")
        wanted = parameters[option].annotation
        if types[option] == "Any":
            continue
        if not fits(value, eval(wanted, defined_in) if isinstance(wanted, str) else wanted):
            raise InputError(f"{option} of {name} is {shown(value)}; its type is {types[option]}")
    return values


def cores() -> int:
    """Returns the number of processor cores available to this process."""
    return len(os.sched_getaffinity(0))


Sizes = str | int | Sequence[int | str]
"""Sizes in bytes: a range `4:1M` (doubling), a list `4,64,1K`, a sequence of numbers or texts, or one number."""

_SIZE = re.compile(r"([0-9]{1,15})([KMG]?)", re.IGNORECASE)
_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_sizes(given: Sizes) -> list[int]:
    """Returns the sizes in bytes. Raises InputError if `given` is not a valid range, list or number."""

    def one(word: str) -> int:
        found = _SIZE.fullmatch(word.strip())
        if not found:
            raise InputError(f"{word!r} is not a size; give a range such as 4:1M (doubling) or a list such as 4,64,1K")
        return int(found[1]) * _UNIT[found[2].upper()]

    text = given if isinstance(given, str) else str(given) if isinstance(given, int) else ",".join(map(str, given))
    if ":" not in text:
        sizes = [one(word) for word in text.split(",")]
    else:
        first, last = map(one, text.split(":", 1))
        if not 0 < first <= last:
            raise InputError(f"{text!r} contains no size; a range starts with the smaller size, 1 or above")
        sizes = [first]
        while sizes[-1] * 2 <= last:
            sizes.append(sizes[-1] * 2)
    if max(sizes) > 1 << 32:
        raise InputError(f"{text!r} exceeds the maximum size, 4G")
    return sizes


ENGINES = ("sim", "rtl")
"""Implementations of a cluster's hardware: the simulator's models, or Verilated RTL that runs with them."""


def one_of(what: str, value: str, known: Iterable[str]) -> str:
    """Returns `value`. Raises InputError if it is not among `known`."""
    if value not in (known := list(known)):
        raise InputError(f"unknown {what} {value!r}; known are {', '.join(known)}")
    return value


def at_least(what: str, value: int, least: int) -> int:
    """Returns `value`. Raises InputError if it is below `least`."""
    if value < least:
        raise InputError(f"{what} is {value!r}; it must be an integer of at least {least}")
    return value
