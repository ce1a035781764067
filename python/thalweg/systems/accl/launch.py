# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program, a function that each rank executes, on the boards of a cluster.

`run` simulates all boards. `run_attached` simulates one board, whose peers are on a real network.
"""

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
    """Runs `program(rank)` on the first `ranks` boards of a cluster.

    Each rank runs on a thread of its own; one thread runs at a time, and a run is deterministic.

    Parameters
    ----------
    program : callable
        Function of a `Rank`; its return value is in `Result.values`.
    ranks : int
        Number of ranks.
    cluster : str, Path or Cluster, optional
        A preset, a cluster file, or a loaded cluster.
    pcap : str, optional
        File to which all frames are written, with virtual times (pcapng).
    hardware : iterable of int, optional
        Boards whose data path is Verilated RTL instead of the C++ model.
    in_switch : Cluster, str or Path, optional
        Cluster of MPI-FPGA whose switches compute the collectives, with rank r at node r. Messages, and collectives
        compressed on the wire, stay with the engines.
    **options : int
        Settings of the engines, the fields of `Options`.

    Returns
    -------
    Result
        Values returned by the ranks, virtual time, losses and warnings.

    Raises
    ------
    InputError
        Invalid number of ranks, cluster or option.
    AcclError
        A call failed, and the program did not catch it. Other exceptions of a rank's function are raised, too.
    FabricStopped
        Deadlock: no rank can continue. The message says which rank waits for which.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.accl import Function, run
    >>> def program(rank):
    ...     vector = rank.create_buffer(np.full(4, rank.rank + 1, np.float32))
    ...     total = rank.create_buffer(4)
    ...     rank.allreduce(vector, total, 4, Function.SUM)
    ...     return total.array.tolist()
    >>> run(program, ranks=3).values[0]
    [6.0, 6.0, 6.0, 6.0]
    """
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
    """Returns the simulation on which run() runs its program. Raises InputError."""
    loaded = cluster if isinstance(cluster, Cluster) else Cluster.load(cluster)
    if not 1 <= word("run", "ranks", ranks) <= len(loaded.boards):
        raise InputError(f"{ranks} ranks on {loaded.name}; must be 1 to {len(loaded.boards)}")
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
    """Raises InputError on invalid values, and TypeError on an unknown keyword."""
    known = [each.name for each in fields(Options)]
    if unknown := next((name for name in given if name not in known), None):
        raise TypeError(f"{of}() got an unexpected keyword argument {unknown!r}; its options are {', '.join(known)}")
    return Options(**given)


def _hardware(boards: Iterable[int], ranks: int) -> list[int]:
    """Returns the sorted boards. Raises InputError if one is not part of the run."""
    found = list(boards) if isinstance(boards, Iterable) else [boards]
    for board in found:
        if isinstance(board, bool) or not isinstance(board, int) or not 0 <= board < ranks:
            raise InputError(f"hardware: {board!r} is not a board of a run with {ranks} ranks")
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
    """Runs `program(rank)` on one board whose link ends at a network interface of this computer.

    The other ranks are elsewhere: other such programs, or any peer that has their addresses and sends the engine's
    packets. Virtual time follows the wall clock, so runs are not deterministic.

    Parameters
    ----------
    program : callable
        Function of a `Rank`.
    node : int
        The board, which is also its rank.
    ranks : int
        Number of ranks, including those elsewhere.
    interface : str
        Name of a TAP device, veth or other network interface.
    cluster : str, Path or Cluster, optional
        A preset, a cluster file, or a loaded cluster.
    ratio : float, optional
        Maximum virtual seconds per second of the wall clock.
    limit_s : float, optional
        Wall-clock seconds after which the run fails; 0 for no limit.
    pcap : str, optional
        File to which all frames are written (pcapng).
    **options : int
        Settings of the engine, the fields of `Options`.

    Returns
    -------
    Result
        With one value, that of this board.

    Raises
    ------
    InputError
        Invalid arguments, or the interface cannot be opened.
    AcclError
        A call failed, and the program did not catch it.
    FabricStopped
        The rank can never continue, or `limit_s` has passed.
    """
    loaded = cluster if isinstance(cluster, Cluster) else Cluster.load(cluster)
    if not 0 <= word("run", "node", node) < word("run", "ranks", ranks) <= len(loaded.boards):
        raise InputError(
            f"node {node} of {ranks} ranks; the node must be below the number of ranks, and {loaded.name} has {len(loaded.boards)} boards"
        )
    network = loaded.attached(node, interface, ratio=ratio, limit_s=limit_s, pcap=pcap)
    step = max(1, round(_STEP_S * ratio * network.ticks_per_second))
    result = run_on(
        Run(network, [node], ranks, _options("run_attached", options), step, unreliable=loaded.unreliable), program
    )
    disconnect(network, step)
    return result


def disconnect(network: Network, step: int) -> None:
    """Closes a board's connections and waits for the peers' answers, at most for a second of the wall clock.

    `step` is the interval between checks in ticks.
    """
    network.disconnect()
    end = network.wall_s + 1
    while network.disconnecting and network.wall_s < end and not network.failure:
        network.advance(network.now + step)


def run_on(run: Run, program: Callable[[Rank], Any]) -> Result:
    """Runs `program(rank)` for each board of a run. Raises what run() raises."""

    def of(board: int) -> Any:
        value = program(Rank(run, board))
        run.finish(board)
        return value

    return run.run(of)


_STEP_S = 0.1  #: wall-clock interval at which an attached run checks for signals
