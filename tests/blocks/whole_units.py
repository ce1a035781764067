#!/usr/bin/env python3
"""Where mutants of the collective unit, which has no twin, run: beside the simulator's in every node of a small cluster, under
random programs.

    tests/blocks/whole_units.py LIBRARY SEED PROGRAMS    until the first difference, which ends it with status DIFFERS
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from thalweg import _sim, cosim, processor_time
from thalweg.cluster import Cluster
from thalweg.errors import CheckFailed, FabricStopped
from thalweg.rtl_tools import BuildError
from thalweg.spec import Datatype, Operator

PAIRS = {
    Datatype.INT32: [Operator.SUM],
    Datatype.FLOAT64: [Operator.SUM],
    Datatype.PAIR_INT64_INT32: [Operator.MINLOC],  # elements of 16 bytes
}
PROGRAMS, CYCLES = 20, 10_000
SECONDS = 120  #: of processor time for the programs, which take 25; a mutant that takes longer hangs
DIFFERS = 3


def one_switch() -> Cluster:
    return cosim.with_few_rows(Cluster.load_file(Path(__file__).with_name("one-switch.toml")))


def difference(library: Path, seed: int) -> str | None:
    """What the programs from `seed` on show. Raises subprocess.TimeoutExpired where they do not end, BuildError where the process
    dies."""
    done = processor_time.run([sys.executable, __file__, library, str(seed), str(PROGRAMS)], SECONDS)
    if done.returncode < 0:
        raise BuildError(f"the programs ended with status {done.returncode}", done.stdout)
    if done.returncode not in (0, DIFFERS):
        raise AssertionError(done.stdout)
    return done.stdout.strip() if done.returncode == DIFFERS else None


def main() -> int:
    library, seed, programs = sys.argv[1:]
    cluster = one_switch()
    hardware = replace(cluster, units=_sim.UnitLibrary(library, None))
    try:
        for _ in cosim.compare(cluster, hardware, int(seed), int(programs), CYCLES, PAIRS):
            pass
    except (CheckFailed, FabricStopped, RuntimeError) as found:
        print(found)
        return DIFFERS
    return 0


if __name__ == "__main__":
    sys.exit(main())
