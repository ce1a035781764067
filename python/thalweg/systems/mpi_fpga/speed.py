# SPDX-License-Identifier: Apache-2.0
"""Speed of the simulator itself: CPU time of consecutive collectives on one fabric, without MPI processes."""

from __future__ import annotations

import resource

from thalweg.cluster import of_system
from thalweg.errors import CheckFailed
from thalweg.systems.mpi_fpga import bench
from thalweg.systems.mpi_fpga.bench import CollectivePlan, Timed
from thalweg.systems.mpi_fpga.bench_data import operands, right, room
from thalweg.systems.mpi_fpga.cluster import Cluster


def user_seconds(operation: str, cluster: str | Cluster, size: int, calls: int, algorithm: str) -> float:
    """Returns the user CPU time of consecutive calls of a collective between all hosts, host to host.

    Each call begins when all ranks have completed the previous one; the construction of the fabric is not included.
    Raises InputError, FabricStopped, and CheckFailed if the last result is wrong.
    """
    from thalweg.systems.mpi_fpga import _sim

    of = of_system(Cluster, cluster)
    plan = CollectivePlan(of, operation, of.topology.hosts, [size], algorithm)
    (chosen,) = plan.algorithms
    fabric = _sim.Fabric(of.fabric_config(), _sim.Endpoint.host)
    ranks = list(range(plan.ranks))
    context = bench.communicator(fabric, plan, ranks)
    inputs, results = operands(plan, size), room(plan, size)
    sent, received = bench.bytes_of(inputs), bench.bytes_of(results)
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for _ in range(calls):
        start = fabric.now
        bench.submit(fabric, plan, chosen, context, size, sent, received, ranks, start)
        ticks = bench.finish(fabric, set(ranks)) - start
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin
    if not right(plan, chosen, inputs, Timed(ticks, results, 0, fabric.parts(context, chosen))):
        raise CheckFailed(f"{operation} of {size} bytes on {of.name} by {algorithm} returned a wrong result")
    return taken
