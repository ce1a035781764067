# SPDX-License-Identifier: Apache-2.0
"""Operations of `thalweg bench` and of `thalweg.measure`: their options, their plans, their rows, and checks of these.

An operation measures; its `Plan` makes rows of the measurements, the same for all systems (docs/python.md, "Rows").
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
"""A row of a result: plain values, which `--json` writes unchanged. Times are in microseconds, sizes in bytes."""


@dataclass(frozen=True)
class Measured:
    """One measurement of an operation, in a form that all systems share."""

    bytes: int
    """The size, as the option `sizes` has it; without that option the bytes that are moved in the time."""
    time_us: float
    """The simulated time from the operation's begin to the event that `Plan.until` names."""
    bound_us: float | None
    """A time that no implementation on this cluster can be below; None where none is proved."""
    verified: bool | None
    """Whether the result is right; None where nothing was executed."""
    own: Row = field(default_factory=dict)
    """The operation's own columns. A second time and its bound are named alike: `time_kernel_us`, `bound_kernel_us`."""


def share(time_us: float, bound_us: float | None) -> float | None:
    """The part of a time that its bound explains; None without a bound, and for no time."""
    return None if bound_us is None or not time_us else bound_us / time_us


Progress = Callable[[float], None]
"""Called with the fraction of the work that is done."""


def silent(_: float) -> None:
    pass


class WrongRows(CheckFailed):
    """A wrong measurement: a wrong result, or a time below its bound."""

    def __init__(self, what: str, rows: Sequence[Row]) -> None:
        super().__init__(what)
        self.rows = rows


def check(rows: Sequence[Row]) -> None:
    """Raises WrongRows if a result is not verified, or a time is below its bound."""
    if wrong := [row for row in rows if row["verified"] is False]:
        where = ", ".join(str(row.get("load", row["bytes"])) for row in wrong)
        raise WrongRows(f"{rows[0]['operation']} gave wrong results at {where}", rows)
    for row in rows:
        for name in row:
            bound = row[name] if name.startswith("bound") else None
            if bound is not None and (time := row[name.replace("bound", "time")]) < bound:
                raise WrongRows(
                    f"{row['operation']} of {row['bytes']} bytes took {time:.4g} us, which is below its bound of "
                    f"{bound:.4g} us: one of the two is wrong",
                    rows,
                )


def peer_at(cluster: Cluster, hops: int) -> int:
    """The first node at a distance of `hops` links from node 0. Raises InputError."""
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
    """What is measured where, without the operation's end."""
    until: str
    """The event that ends the time: `the last element is popped`."""
    measure: Callable[[Progress, int], Iterable[Measured]]
    """Called with the progress callback and the number of fabrics that may run in parallel. Raises FabricStopped if the operation never ends."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    check: Callable[[Sequence[Row]], None] = check
    """Raises WrongRows."""
    record: Callable[[Sequence[Row]], Recorded] | str = "it has no timeline"
    """Repeats the measured operation and records its timeline; a text says why there is none."""
    draw: Drawing = time_over_size
    """What `--plot` draws."""

    def rows(self, progress: Progress = silent, workers: int = 1) -> list[Row]:
        """A row for each measurement: the columns that all operations have, then the operation's own."""
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
    """An option of an operation: its name, its Python type as text, and its default."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Operation:
    """An operation that a system can measure. `plan` takes a cluster and options, and raises InputError. The options are its keyword-only
    parameters, except those in `without`."""

    plan: Callable[..., Plan]
    without: Collection[str] = ()

    @property
    def options(self) -> list[str]:
        return [option.name for option in self.listed()]

    def listed(self) -> list[Option]:
        return [option for option in listed(self.plan) if option.name not in self.without]


def listed(function: Callable[..., Any]) -> list[Option]:
    """The keyword-only parameters of a function."""
    return [
        Option(p.name, "Any" if p.annotation is p.empty else _TYPES.get(p.annotation, p.annotation), p.default)
        for p in inspect.signature(function).parameters.values()
        if p.kind == p.KEYWORD_ONLY
    ]


_TYPES = {"Sizes": "str | int | Sequence[int | str]", "placements.Placement": "str | Sequence[int]"}
"""Aliases of types in annotations, and the types that they stand for."""


def checked(
    name: str, function: Callable[..., Any], known: Sequence[Option], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The values given for options of `name`, which are parameters of a function, with NumPy's numbers as Python's. Raises InputError for an
    unknown option, and for a value that is not of its type."""
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
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


Sizes = str | int | Sequence[int | str]
"""Sizes in bytes: `4:1M` (doubling from the first to the last), a list such as `4,64,1K`, one of numbers or texts, or a number."""

_SIZE = re.compile(r"([0-9]{1,15})([KMG]?)", re.IGNORECASE)
_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_sizes(given: Sizes) -> list[int]:
    """Raises InputError."""

    def one(word: str) -> int:
        found = _SIZE.fullmatch(word.strip())
        if not found:
            raise InputError(f"{word!r} is no size; sizes look like 4:1M (doubling) or 4,64,1K")
        return int(found[1]) * _UNIT[found[2].upper()]

    text = given if isinstance(given, str) else str(given) if isinstance(given, int) else ",".join(map(str, given))
    if ":" not in text:
        sizes = [one(word) for word in text.split(",")]
    else:
        first, last = map(one, text.split(":", 1))
        if not 0 < first <= last:
            raise InputError(f"{text!r} holds no size; the first of the two has to be the smaller one, and not 0")
        sizes = [first]
        while sizes[-1] * 2 <= last:
            sizes.append(sizes[-1] * 2)
    if max(sizes) > 1 << 32:
        raise InputError(f"{text!r} goes beyond 4G")
    return sizes


ENGINES = ("sim", "rtl")
"""Engines for a cluster's hardware: the simulator's models, or Verilated RTL in step with them."""


def one_of(what: str, value: str, known: Iterable[str]) -> str:
    """The value of an option. Raises InputError if it is not one of the known values."""
    if value not in (known := list(known)):
        raise InputError(f"{value!r} is no {what}; there are {', '.join(known)}")
    return value


def at_least(what: str, value: int, least: int) -> int:
    """The value of an option. Raises InputError if it is below `least`."""
    if value < least:
        raise InputError(f"{what} is {value!r}; it is a whole number, {least} or above")
    return value
