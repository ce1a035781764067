# SPDX-License-Identifier: Apache-2.0
"""Do collectives of unchanged programs give the same results in MPI-FPGA's switches as on ranks, in the documented
order, and faster? Are unsupported ones refused, and are wait-for cycles through the switches reported?"""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import reduction
from thalweg.systems.mpi_fpga.cluster import Cluster as Switches
from thalweg.systems.mpi_fpga.spec import Algorithm
from thalweg.systems.smi import in_switch, operations
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Run, Stuck

sys.path.insert(0, str(Path(__file__).parent))
from random_circles import Deadlocked, circle_of
from random_programs import Program, random_cluster

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

SWITCHES = "mpi-fpga-torus-2x2x2"
NARROW = """
[collective]
packet_flits = 1
slot_packets = 2
operations_in_flight = 1
[topology]
shape = "torus"
size = [2, 2, 2]
"""  #: minimum capacity of switches


def ended(seeds: range, folder: Path, switches: str) -> None:
    """Programs of all types, operators, roots, sub-communicators, with several ports and kernels at once."""
    of = Switches.load(switches)
    for seed in seeds:
        draw = random.Random(seed)
        program = Program(draw, random_cluster(draw, folder))
        program.add_some(draw.randint(1, 10))
        try:
            program.run(of)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.slow
def test_random_programs_get_the_same_elements(tmp_path: Path) -> None:
    ended(range(40), tmp_path, SWITCHES)


@pytest.mark.parametrize("switches", ["mpi-fpga-fattree-8", "torus:4x2", "ring:9"])
def test_whatever_the_switches_are(switches: str, tmp_path: Path) -> None:
    ended(range(60, 75), tmp_path, switches)


def test_narrow_switches(tmp_path: Path) -> None:
    file = tmp_path / "narrow.toml"
    file.write_text(NARROW)
    ended(range(80, 100), tmp_path, str(file))


@pytest.mark.long
def test_a_thousand_random_programs(tmp_path: Path) -> None:
    ended(range(100, 1100), tmp_path, SWITCHES)


REDUCES = """
#include <smi.h>
__kernel void app(const int n, const int root, __global const ELEMENT* in, __global ELEMENT* out, const SMI_Comm comm) {
  SMI_RChannel to = SMI_Open_reduce_channel(n, TYPE, OP, 0, root, comm);
  for (int i = 0; i < n; ++i) {
    ELEMENT own = in[i], result;
    SMI_Reduce(&to, &own, &result);
    if (SMI_Comm_rank(comm) == root) out[i] = result;
  }
}
"""


def reduced(tmp_path: Path, given: NDArray[Any], root: int, element: str, op: str) -> NDArray[Any]:
    source = tmp_path / "app.cl"
    source.write_text(REDUCES)
    ranks, count = given.shape
    defines = (f"ELEMENT={element}", f"TYPE=SMI_{element.upper()}", f"OP=SMI_{op}")
    run = Run("smi-noctua", ranks, defines=defines, in_switch=SWITCHES)
    outs = [run.buffer(rank, np.zeros_like(given[rank]), 1) for rank in range(ranks)]
    for rank in range(ranks):
        run.kernel(source, "app", rank, n=count, root=root, out=outs[rank], **{"in": run.buffer(rank, given[rank])})
    run.run()
    return outs[root].array


@pytest.mark.parametrize(("ranks", "root"), [(1, 0), (2, 1), (7, 0), (8, 3)])
def test_a_float_sum_has_the_documented_order(ranks: int, root: int, tmp_path: Path) -> None:
    """The order of the tree around the root, to which the root contributes nothing, and then the root's own element."""
    rng = np.random.default_rng(1)
    given = (rng.standard_normal((ranks, 77)) * 10.0 ** rng.integers(-6, 6, (ranks, 77))).astype(np.float32)
    got = reduced(tmp_path, given, root, "float", "ADD")
    others = given.copy()
    others[root] = -0.0
    tree = reduction.evaluate(Algorithm.TREE, Operator.SUM, Datatype.FLOAT32, others, root)
    assert got.tobytes() == (given[root] + tree).tobytes()
    if ranks > 2:
        assert got.tobytes() != given.sum(axis=0).tobytes()  # the order is one of several


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize(("op", "operator"), [("ADD", Operator.SUM), ("MAX", Operator.MAX), ("MIN", Operator.MIN)])
@pytest.mark.parametrize(
    ("element", "datatype"),
    [
        ("float", Datatype.FLOAT32), ("double", Datatype.FLOAT64),
        ("int", Datatype.INT32), ("short", Datatype.INT16), ("char", Datatype.INT8),
    ],
)  # fmt: skip
def test_a_roots_part_in_the_switches_changes_nothing(
    op: str, operator: Operator, element: str, datatype: Datatype, tmp_path: Path
) -> None:
    """All pairs of a type's extremes, one of them a rank's and the other the root's."""
    dtype = reduction.DTYPES[datatype]
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        values = [0.0, -0.0, 1.5, limits.min, limits.max, limits.smallest_subnormal, np.inf, -np.inf, np.nan]
    else:
        whole = np.iinfo(dtype)
        values = [0, 1, -1, whole.min, whole.max]
    given = np.array(np.meshgrid(values, values), dtype).reshape(2, -1)
    got = reduced(tmp_path, given, 0, element, op)
    with np.errstate(all="ignore"):
        expected = reduction.combiner(operator, datatype)(given[0], given[1])
    assert got.tobytes() == expected.tobytes()


def test_a_broadcast_goes_at_the_kernels_rate() -> None:
    """64 KB on 8 ranks, linear, in a tree, and in the switches, whose rate exceeds the root kernel's."""
    linear = Cluster.load("smi-noctua")
    tree = linear.with_node(arity=2)
    count = 8192
    us = [operations.collective(on, "broadcast", "double", count, 8, 0).result.time_us for on in (linear, tree)]
    of = Switches.load(SWITCHES)
    ran = operations.collective(linear, "broadcast", "double", count, 8, 0, in_switch=of)
    assert ran.right
    result = ran.result
    at_least = in_switch.bound_us(linear, of, "broadcast", count, 8, 0, 8)
    assert at_least <= result.time_us <= 1.1 * at_least
    assert result.time_us < us[0] / 3
    assert result.time_us < us[1]


def test_point_to_point_takes_the_same_cycles() -> None:
    cluster = Cluster.load("smi-noctua")
    micro = [operations._Micro(cluster, "float", [("push", 0), ("pop", 0)], "sim", 8, of) for of in (None, Switches.load(SWITCHES))]  # fmt: skip
    cycles = []
    for run in micro:
        run.start("sends_0", 0, n=1000, peer=5)
        run.start("takes_0", 5, True, n=1000, peer=0)
        ran = run.end()
        assert ran.right
        cycles.append(ran.result.cycles)
    assert cycles[0] == cycles[1]


def test_a_rank_that_does_not_come_is_named(tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text(REDUCES)
    run = Run("smi-noctua", 3, defines=("ELEMENT=int", "TYPE=SMI_INT", "OP=SMI_ADD"), in_switch=SWITCHES)
    for rank, count in enumerate((9, 9, 0)):
        numbers = run.buffer(rank, np.ones(9, np.int32))
        run.kernel(source, "app", rank, n=count, root=0, out=numbers, **{"in": numbers})
    with pytest.raises(Stuck, match=r"kernel app of rank 0 .* reduce, port 0, .*rank 2 in the switches: "):
        run.run()


@pytest.mark.slow
def test_circles_are_reported_as_they_are(tmp_path: Path) -> None:
    """With switches that do not hold a whole message: otherwise no kernel would wait."""
    file = tmp_path / "narrow.toml"
    file.write_text(NARROW)
    of = Switches.load(str(file))
    for seed in range(20):
        draw = random.Random(seed)
        program = Deadlocked(draw, random_cluster(draw, tmp_path))
        program.add_some(draw.randint(0, 5))
        circle = program.add_circle(draw.randint(1, 6))
        with pytest.raises(Stuck) as stuck:
            program.run(of)
        found = circle_of(stuck.value.lines)
        assert found in [circle[i:] + circle[:i] for i in range(len(circle))], f"seed {seed}: {circle}\n{stuck.value}"


def test_more_ranks_than_nodes() -> None:
    with pytest.raises(InputError, match="8 ranks, but torus:2x2, which executes their collectives, has only 4"):
        Run("smi-noctua", 8, in_switch="torus:2x2")


def test_clocks_without_common_edges(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text('[clock]\nfrequency_mhz = 156.253001\n[topology]\nshape = "torus"\nsize = [2, 2, 2]\n')
    with pytest.raises(InputError, match="give frequencies with common factors"):
        Run("smi-noctua", 8, in_switch=file)


def test_links_that_go_down(tmp_path: Path) -> None:
    file = tmp_path / "down.toml"
    file.write_text('[topology]\nshape = "torus"\nsize = [2, 2, 2]\n[[faults.links]]\nnodes = [0, 1]\ndown_at_us = 1\n')
    with pytest.raises(InputError, match="can fail"):
        Run("smi-noctua", 8, in_switch=file)


def test_no_row_left(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text('[collective]\ncontexts = 1\n[topology]\nshape = "torus"\nsize = [2, 2, 2]\n')
    source = tmp_path / "app.cl"
    source.write_text(
        "#include <smi.h>\n__kernel void app(const SMI_Comm comm) {\n"
        "  int x = 1;\n"
        "  SMI_BChannel one = SMI_Open_bcast_channel(1, SMI_INT, 0, 0, comm);\n  SMI_Bcast(&one, &x);\n"
        "  SMI_BChannel two = SMI_Open_bcast_channel(1, SMI_INT, 1, 0, comm);\n  SMI_Bcast(&two, &x);\n}\n"
    )
    run = Run("smi-noctua", 2, in_switch=file)
    run.kernel(source, "app", range(2))
    with pytest.raises(InputError, match="no free row for a communicator of 2 ranks"):
        run.run()


@pytest.mark.parametrize("name", ["broadcast", "ranges"])
def test_listings(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In OpenCL C and C++20, unchanged."""
    host = Path(__file__).parents[3] / f"apps/smi/listings/{name}.toml"
    record = tmp_path / "run.json"
    options = ["--cluster", "smi-noctua", "--host", str(host), "--in-switch", SWITCHES, "--json", str(record)]
    assert main(["smi", "run", *options]) == 0
    checks = json.loads(record.read_text())["checks"]
    assert f"{len(checks)} of {len(checks)} checks passed" in capsys.readouterr().out


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    def bench(*options: str) -> int:
        return main(["bench", *options, "--cluster", "smi-noctua", "--in-switch", SWITCHES, "--sizes", "4,64"])

    assert bench("reduce", "--ranks", "3") == 0
    assert f"in the switches of {SWITCHES}" in capsys.readouterr().out
    assert bench("broadcast", "--arity", "2") == 2
    assert "arity and any_order apply to collectives in ranks" in capsys.readouterr().err
    assert bench("gather", "--engine", "rtl") == 2
    assert "applies to collectives in ranks" in capsys.readouterr().err
