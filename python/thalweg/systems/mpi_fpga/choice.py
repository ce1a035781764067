# SPDX-License-Identifier: Apache-2.0
"""Choice of algorithms for collectives, by the options `--algorithm` and `--reproducible`, else by measurements.

Measured orders are in tuning files (thalweg/systems/mpi_fpga/tuning.py), over sizes at which an algorithm is
`promising`. The server uses one list (sim/mpi_fpga/choice.hpp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from thalweg.errors import InputError
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import FabricConfig, Sharing

COLLECTIVES = {c.name.lower(): c for c in Collective if c != Collective.POINT_TO_POINT}
REDUCTIONS = tuple(COLLECTIVES[name] for name in ("reduce", "allreduce", "reduce_scatter", "scan", "exscan"))


class From(NamedTuple):
    """Algorithms, best first, for communicators of at least `ranks` ranks and blocks of at least `bytes` bytes."""

    ranks: int
    bytes: int
    collective: Collective
    algorithms: tuple[Algorithm, ...]


def wanted(given: str | Mapping[str, str]) -> dict[Collective, Algorithm]:
    """Parses `allreduce=tree,allgather=exchange`, or an equal mapping: algorithms for all sizes. Raises InputError."""
    pairs: list[tuple[str, str]] = []
    for word in given.split(",") if isinstance(given, str) and given else ():
        collective, equals, algorithm = word.partition("=")
        if not equals:
            raise InputError(f"{word!r} is not of the form COLLECTIVE=ALGORITHM, such as allreduce=tree")
        pairs.append((collective, algorithm))
    if not isinstance(given, str):
        pairs = list(given.items())
    return {collective_named(collective): algorithm_named(algorithm) for collective, algorithm in pairs}


def collective_named(name: str) -> Collective:
    """Returns a collective by name. Raises InputError."""
    if name not in COLLECTIVES:
        raise InputError(f"unknown collective {name!r}; known are {', '.join(COLLECTIVES)}")
    return COLLECTIVES[name]


def algorithm_named(name: str) -> Algorithm:
    """Returns an algorithm by name. Raises InputError."""
    if name.upper() not in Algorithm.__members__:
        raise InputError(f"unknown algorithm {name!r}; known are {', '.join(a.name.lower() for a in Algorithm)}")
    return Algorithm[name.upper()]


def algorithms(
    config: FabricConfig, *members: Sequence[int], sharing: Sharing | None = None
) -> dict[Collective, list[Algorithm]]:
    """Returns the algorithms that a fabric supports for each of some concurrent communicators.

    Rank i of communicator c is on node members[c][i]. Collectives are left out if the tables have no row for a
    communicator. Raises ValueError if the fabric cannot be shared so.
    """
    from thalweg.systems.mpi_fpga import _sim

    fabric = _sim.SharedFabric(config, sharing) if sharing else _sim.Fabric(config)
    contexts = [fabric.create_communicator(nodes, nodes, 0) for nodes in members]

    def has(context: int | None, collective: Collective, algorithm: Algorithm) -> bool:
        return context is not None and bool(fabric.algorithms(context, collective) >> algorithm & 1)

    return {c: [a for a in Algorithm if all(has(x, c, a) for x in contexts)] for c in COLLECTIVES.values()}


def check(wanted: Mapping[Collective, Algorithm], known: Mapping[Collective, Sequence[Algorithm]], where: str) -> None:
    """Raises InputError for the first algorithm that is not available."""
    for collective, algorithm in wanted.items():
        if algorithm not in known[collective]:
            has = " or ".join(a.name.lower() for a in known[collective]) or "none in the network"
            raise InputError(f"{collective.name.lower()} of {where} has no {algorithm.name.lower()}; it has {has}")


def over(tuned: Sequence[From], wanted: Mapping[Collective, Algorithm]) -> list[From]:
    """Returns the choice: `wanted` for all sizes, and `tuned` for other collectives."""
    everywhere = [From(0, 0, collective, (algorithm,)) for collective, algorithm in wanted.items()]
    return everywhere + [row for row in tuned if row.collective not in wanted]


def reproducible(
    wanted: Mapping[Collective, Algorithm], known: Mapping[Collective, Sequence[Algorithm]]
) -> dict[Collective, Algorithm]:
    """Adds tree algorithms for reductions to `wanted`; scans always have a fixed order.

    Raises InputError if another algorithm is wanted for a reduction.
    """
    along_tree = [c for c in REDUCTIONS if Algorithm.TREE in known[c]]
    for collective, algorithm in wanted.items():
        if collective in along_tree and algorithm != Algorithm.TREE:
            raise InputError(
                f"--reproducible needs the order of the tree; {algorithm.name.lower()} has a different one for "
                f"{collective.name.lower()}"
            )
    return {**wanted, **dict.fromkeys(along_tree, Algorithm.TREE)}


_LONG = 1 << 14
"""Size in bytes from which a slower algorithm must catch up to be tried further."""


def promising(times: Mapping[Algorithm, float], size: int, before: Mapping[Algorithm, float]) -> list[Algorithm]:
    """Returns the algorithms to try with longer messages: those not twice as slow as the fastest, or catching up.

    `before` has the times for the next shorter messages, empty at first.
    """

    def behind(of: Mapping[Algorithm, float], algorithm: Algorithm) -> float:
        return of[algorithm] / min(of.values())

    def nearer(algorithm: Algorithm) -> bool:
        return algorithm in before and behind(times, algorithm) < 0.9 * behind(before, algorithm)

    return [a for a in times if behind(times, a) <= 2 or size < _LONG or nearer(a)]
