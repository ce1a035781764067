# SPDX-License-Identifier: Apache-2.0
"""Which algorithm a collective takes: what the user says (`--algorithm`), and what `--reproducible` asks for.

What neither says is as measured (thalweg/systems/mpi_fpga/tuning.py), over the sizes at which an algorithm is `promising`. The server looks it up in one list (sim/mpi_fpga/choice.hpp).
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
    """For communicators of so many ranks or more and blocks of so many bytes or more: the algorithms, the best first."""

    ranks: int
    bytes: int
    collective: Collective
    algorithms: tuple[Algorithm, ...]


def wanted(given: str | Mapping[str, str]) -> dict[Collective, Algorithm]:
    """`allreduce=tree,allgather=exchange`, or the same as a mapping: algorithms, whatever the size. Raises InputError."""
    pairs: list[tuple[str, str]] = []
    for word in given.split(",") if isinstance(given, str) and given else ():
        collective, equals, algorithm = word.partition("=")
        if not equals:
            raise InputError(f"{word!r} is not COLLECTIVE=ALGORITHM, such as allreduce=tree")
        pairs.append((collective, algorithm))
    if not isinstance(given, str):
        pairs = list(given.items())
    return {collective_named(collective): algorithm_named(algorithm) for collective, algorithm in pairs}


def collective_named(name: str) -> Collective:
    """Raises InputError where there is none of this name."""
    if name not in COLLECTIVES:
        raise InputError(f"{name!r} is no collective; they are {', '.join(COLLECTIVES)}")
    return COLLECTIVES[name]


def algorithm_named(name: str) -> Algorithm:
    """Raises InputError where there is none of this name."""
    if name.upper() not in Algorithm.__members__:
        raise InputError(f"{name!r} is no algorithm; they are {', '.join(a.name.lower() for a in Algorithm)}")
    return Algorithm[name.upper()]


def algorithms(
    config: FabricConfig, *members: Sequence[int], sharing: Sharing | None = None
) -> dict[Collective, list[Algorithm]]:
    """Those that a fabric has for each of some communicators side by side, rank i of communicator c on members[c][i]; of no
    collective where its tables have no row for one. Raises ValueError where it cannot be shared so.
    """
    from thalweg.systems.mpi_fpga import _sim

    fabric = _sim.SharedFabric(config, sharing) if sharing else _sim.Fabric(config)
    contexts = [fabric.create_communicator(nodes, nodes, 0) for nodes in members]

    def has(context: int | None, collective: Collective, algorithm: Algorithm) -> bool:
        return context is not None and bool(fabric.algorithms(context, collective) >> algorithm & 1)

    return {c: [a for a in Algorithm if all(has(x, c, a) for x in contexts)] for c in COLLECTIVES.values()}


def check(wanted: Mapping[Collective, Algorithm], known: Mapping[Collective, Sequence[Algorithm]], where: str) -> None:
    """Raises InputError for the first algorithm that is not among those that are known."""
    for collective, algorithm in wanted.items():
        if algorithm not in known[collective]:
            has = " or ".join(a.name.lower() for a in known[collective]) or "none in the network"
            raise InputError(f"{collective.name.lower()} of {where} has no {algorithm.name.lower()}; it has {has}")


def over(tuned: Sequence[From], wanted: Mapping[Collective, Algorithm]) -> list[From]:
    """What is wanted, whatever the size, and what is tuned of the other collectives."""
    everywhere = [From(0, 0, collective, (algorithm,)) for collective, algorithm in wanted.items()]
    return everywhere + [row for row in tuned if row.collective not in wanted]


def reproducible(
    wanted: Mapping[Collective, Algorithm], known: Mapping[Collective, Sequence[Algorithm]]
) -> dict[Collective, Algorithm]:
    """Besides what is wanted, along the tree what can be; scans, which cannot, have one order.

    Raises InputError where another algorithm is wanted for a reduction.
    """
    along_tree = [c for c in REDUCTIONS if Algorithm.TREE in known[c]]
    for collective, algorithm in wanted.items():
        if collective in along_tree and algorithm != Algorithm.TREE:
            raise InputError(
                f"--reproducible combines in the order of the tree; {algorithm.name.lower()} has another one for "
                f"{collective.name.lower()}"
            )
    return {**wanted, **dict.fromkeys(along_tree, Algorithm.TREE)}


_LONG = 1 << 14
"""Bytes from which on what is behind either comes nearer or stays there."""


def promising(times: Mapping[Algorithm, float], size: int, before: Mapping[Algorithm, float]) -> list[Algorithm]:
    """Those to try with longer messages: what is twice as slow as the fastest is not tried again, unless it has come nearer.

    `before` has the times of the next shorter messages, none at first.
    """

    def behind(of: Mapping[Algorithm, float], algorithm: Algorithm) -> float:
        return of[algorithm] / min(of.values())

    def nearer(algorithm: Algorithm) -> bool:
        return algorithm in before and behind(times, algorithm) < 0.9 * behind(before, algorithm)

    return [a for a in times if behind(times, a) <= 2 or size < _LONG or nearer(a)]
