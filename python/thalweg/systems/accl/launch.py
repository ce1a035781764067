# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program, a function that each rank executes, on the boards of a cluster, or on one board beside others on a real network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import InputError
from thalweg.systems.accl._sim import Network
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.library import Rank
from thalweg.systems.accl.running import Options, Result, Run
from thalweg.systems.accl.values import word

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster as Switches


def run(
    program: Callable[[Rank], Any],
    ranks: int,
    cluster: str | Path | Cluster = "accl-u280-udp",
    *,
    pcap: str = "",
    hardware: Iterable[int] = (),
    in_switch: Switches | str | Path | None = None,
    **options: int,
) -> Result:
    """Runs `program(rank)` on the first `ranks` boards of a cluster, each on a thread of its own; `options` are those of Options. `hardware`: boards whose
    moves Verilated hardware carries out, not the simulator. `in_switch`: a cluster of MPI-FPGA, in whose switches collectives are computed, rank r at
    node r; those compressed on the wire and all messages stay with the engines.

    Raises InputError; FabricStopped where no rank can go on, with who waits for whom; what a rank's function raised."""
    return run_on(prepared(ranks, cluster, pcap=pcap, hardware=hardware, in_switch=in_switch, **options), program)


def prepared(
    ranks: int,
    cluster: str | Path | Cluster,
    *,
    pcap: str = "",
    hardware: Iterable[int] = (),
    in_switch: Switches | str | Path | None = None,
    **options: int,
) -> Run:
    """What run() runs its program on. Raises InputError."""
    loaded = cluster if isinstance(cluster, Cluster) else Cluster.load(cluster)
    if not 1 <= word("run", "ranks", ranks) <= len(loaded.boards):
        raise InputError(f"{ranks} ranks; {loaded.name} has 1 to {len(loaded.boards)} boards")
    boards = _hardware(hardware, ranks)
    return Run(
        loaded.network(pcap, boards, in_switch, ranks),
        range(ranks),
        ranks,
        _options("run", options),
        mirrors=loaded.mirrors,
        unreliable=loaded.unreliable,
    )


def _options(of: str, given: Mapping[str, int]) -> Options:
    """Raises InputError, and TypeError as a call with an unknown keyword does."""
    known = [each.name for each in fields(Options)]
    if unknown := next((name for name in given if name not in known), None):
        raise TypeError(f"{of}() got an unexpected keyword argument {unknown!r}; its options are {', '.join(known)}")
    return Options(**given)


def _hardware(boards: Iterable[int], ranks: int) -> list[int]:
    """Raises InputError where these are no boards of a run."""
    found = list(boards) if isinstance(boards, Iterable) else [boards]
    for board in found:
        if isinstance(board, bool) or not isinstance(board, int) or not 0 <= board < ranks:
            raise InputError(f"hardware: {board!r} is no board of {ranks} ranks")
    return sorted(set(found))


def run_attached(
    program: Callable[[Rank], Any],
    node: int,
    ranks: int,
    interface: str,
    cluster: str | Path | Cluster = "accl-u280-udp",
    *,
    ratio: float = 0.01,
    limit_s: float = 0.0,
    pcap: str = "",
    **options: int,
) -> Result:
    """Runs `program(rank)` on the board `node` alone, whose line ends at a network interface of this computer; the others of `ranks` are elsewhere:
    other such programs, or whoever has their addresses and sends the engine's packets. No two runs are the same.

    `ratio`: seconds of virtual time in a second of the wall clock, at most. `limit_s`: seconds of the wall clock after which it fails; 0: none. Raises
    what run() does."""
    loaded = cluster if isinstance(cluster, Cluster) else Cluster.load(cluster)
    if not 0 <= word("run", "node", node) < word("run", "ranks", ranks) <= len(loaded.boards):
        raise InputError(
            f"node {node} of {ranks} ranks; {loaded.name} has {len(loaded.boards)} boards, and ranks are from 0 on"
        )
    network = loaded.attached(node, interface, ratio=ratio, limit_s=limit_s, pcap=pcap)
    step = max(1, round(_STEP_S * ratio * network.ticks_per_second))
    result = run_on(
        Run(network, [node], ranks, _options("run_attached", options), step, unreliable=loaded.unreliable), program
    )
    disconnect(network, step)
    return result


def disconnect(network: Network, step: int) -> None:
    """Ends a board's connections, and waits for its peers to hear of it, for a second of the wall clock at most; `step`: ticks."""
    network.disconnect()
    end = network.wall_s + 1
    while network.disconnecting and network.wall_s < end and not network.failure:
        network.advance(network.now + step)


def run_on(run: Run, program: Callable[[Rank], Any]) -> Result:
    """Runs `program(rank)` for each of a run's boards. Raises what run() does."""

    def of(board: int) -> Any:
        value = program(Rank(run, board))
        run.finish(board)
        return value

    return run.run(of)


_STEP_S = 0.1  #: of the wall clock, after which an attached run looks for signals
