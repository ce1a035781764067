#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mutants of the collective unit, which has no twin: together with the simulator's unit in every node of a small
cluster, under random programs and one that fills a row's entries.

    tests/blocks/whole_units.py CLUSTER LIBRARY SEED PROGRAMS

It stops at the first difference, with status DIFFERS.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from thalweg.errors import CheckFailed, FabricStopped
from thalweg.launch import processor_time
from thalweg.rtl.tools import BuildError
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import _sim, cosim
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.spec import Collective

PAIRS = {
    Datatype.INT32: [Operator.SUM],
    Datatype.FLOAT64: [Operator.SUM],
    Datatype.PAIR_INT64_INT32: [Operator.MINLOC],  # elements of 16 bytes
}
PROGRAMS, CYCLES = 20, 10_000
SECONDS = 400  #: of processor time for the programs, which take 25 and 80; a mutant that takes longer hangs
DIFFERS = 3
CLUSTERS = ("one-switch", "two-levels")  #: the quicker one first


def small_cluster(name: str) -> Cluster:
    return cosim.with_few_rows(Cluster.load_file(Path(__file__).with_name(f"{name}.toml")))


def difference(cluster: str, library: Path, seed: int) -> str | None:
    """The first difference shown by the programs from `seed` on. Raises subprocess.TimeoutExpired if they do not end,
    BuildError if the process dies."""
    done = processor_time.run([sys.executable, __file__, cluster, library, str(seed), str(PROGRAMS)], SECONDS)
    if done.returncode < 0:
        raise BuildError(f"the programs ended with status {done.returncode}", done.stdout)
    if done.returncode not in (0, DIFFERS):
        raise AssertionError(done.stdout)
    return done.stdout.strip() if done.returncode == DIFFERS else None


def overtake(hardware: Cluster) -> None:
    """Starts, during a long scatter, as many short reductions to its root as a row has entries: the last one gets the
    scatter's entry. At a vertex without a rank that entry is still occupied, which random programs hardly ever show.

    Raises as cosim.execute.
    """
    fabric = _sim.Fabric(hardware.fabric_config(), _sim.Endpoint.host)
    ranks = range(hardware.topology.hosts)
    handle = itertools.count()
    context = fabric.create_communicator(list(ranks), [next(handle) for _ in ranks], 0)
    assert context == 0
    short = [(Collective.REDUCE, Operator.SUM, 1)] * hardware.values.collective.operations_in_flight
    for collective, op, count in [(Collective.SCATTER, Operator.NONE, 1024), *short]:
        for rank in ranks:
            fabric.submit(
                handle=next(handle),
                context=context,
                rank=rank,
                collective=collective,
                op=op,
                type=Datatype.FLOAT64,
                count=count,
                root=1,
                send=np.full(count * len(ranks), rank, np.float64),
                receive=np.zeros(count, np.float64),
                at=1000,
            )
    while not fabric.idle:
        fabric.advance(fabric.now + 10_000)


def main() -> int:
    name, library, seed, programs = sys.argv[1:]
    cluster = small_cluster(name)
    hardware = replace(cluster, units=_sim.UnitLibrary(library, None))
    try:
        for _ in cosim.compare(cluster, hardware, int(seed), int(programs), CYCLES, PAIRS):
            pass
        overtake(hardware)
    except (CheckFailed, FabricStopped, RuntimeError) as found:
        print(found)
        return DIFFERS
    return 0


if __name__ == "__main__":
    sys.exit(main())
