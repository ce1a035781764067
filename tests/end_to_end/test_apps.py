# SPDX-License-Identifier: Apache-2.0
"""Do the applications of apps/ find the right results, with and without the fabric, and detect wrong ones?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg

pytestmark = pytest.mark.slow

ARGUMENTS = {"cg": ["-n", "12"], "is": ["-n", "5000", "-b", "16", "-i", "2"], "mg": ["-n", "16", "-s", "3"]}
CALLED = {
    "cg": {"MPI_Allreduce"},
    "is": {"MPI_Allreduce", "MPI_Alltoall", "MPI_Alltoallv"},
    "mg": {"MPI_Allreduce", "MPI_Allgather", "MPI_Allgatherv"},
}

LIES = {
    "halo": """
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  if (to == 0) ((double*)data)[count / 2] += 1;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}""",
    "key": """
int MPI_Alltoallv(const void* send, const int counts[], const int places[], MPI_Datatype type, void* receive,
                  const int coming[], const int starts[], MPI_Datatype as, MPI_Comm comm) {
  int rank, error = PMPI_Alltoallv(send, counts, places, type, receive, coming, starts, as, comm);
  MPI_Comm_rank(comm, &rank);
  if (rank == 1) ((unsigned*)receive)[0] = ((unsigned*)receive)[1]; /* another key of the same rank: still in order */
  return error;
}""",
    "sum": """
int MPI_Allreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static int sums; /* from the second on much too small: the iteration ends early */
  int error = PMPI_Allreduce(own, all, count, type, op, comm);
  if (op == MPI_SUM && type == MPI_DOUBLE && sums++ > 0) *(double*)all *= 1e-30;
  return error;
}""",
}

OWN_SUM = """#include <mpi.h>
static void add(void* in, void* sum, int* count, MPI_Datatype* type) {
  for (int i = 0; i < *count; ++i) ((double*)sum)[i] += ((double*)in)[i];
}
int MPI_Allreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static MPI_Op made = MPI_OP_NULL;
  int (*next)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Allreduce");
  if (made == MPI_OP_NULL) MPI_Op_create(add, 1, &made);
  return next(own, all, count, type, op == MPI_SUM ? made : op, comm);
}
"""

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds an application, with additional source given by a test; the same one only once."""
    folder = tmp_path_factory.mktemp("apps")

    def made(name: str, *more: Path) -> Path:
        program = folder / "-".join([name, *(path.stem for path in more)])
        if not program.exists():
            mpi.build([*(ROOT / f"apps/{name}").glob("*.c"), *(ROOT / "apps/common").glob("*.c"), *more], program)
        return program

    return made


def without_time(output: str) -> list[str]:
    return [line for line in output.splitlines() if not line.endswith(" s")]


@pytest.mark.sample(3)
@pytest.mark.parametrize("ranks", [4, 7])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_same_verified_result_on_the_fabric(mpi: Mpi, build: Build, thalweg: Thalweg, name: str, ranks: int) -> None:
    command = [build(name), *ARGUMENTS[name]]
    plain = mpi.run(ranks, command)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert without_time(plain.stdout)[-1] == f"{name}: verified"
    run = thalweg(ranks, "mpi-fpga-torus-2x2x2", command, "--compute", "none")
    assert run.exit_code == 0, run.stderr
    assert without_time(run.stdout) == without_time(plain.stdout)
    called = {row["function"] for row in run.report["collectives"]}
    if (name, ranks) == ("mg", 4):  # 2 x 2 blocks have one point each on the coarsest level
        assert called == {"MPI_Allreduce"}
    else:
        assert called == CALLED[name]
    assert not any(row["function"] == "MPI_Allreduce" and not row["offloaded"] for row in run.report["collectives"])


@pytest.mark.parametrize("name", ARGUMENTS)
def test_any_number_of_ranks(mpi: Mpi, build: Build, name: str) -> None:
    results = []
    for ranks in (1, 2, 5):
        done = mpi.run(ranks, [build(name), *ARGUMENTS[name]])
        assert done.returncode == 0, done.stderr
        results.append([line for line in done.stdout.splitlines() if "iterations" in line or "cycles" in line])
    assert results[0] == results[1] == results[2]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "lie"), [("cg", "halo"), ("cg", "sum"), ("mg", "halo"), ("mg", "sum"), ("is", "key"), ("is", "nothing")]
)
def test_wrong_communication_is_seen(mpi: Mpi, build: Build, tmp_path: Path, name: str, lie: str) -> None:
    liar = tmp_path / f"{lie}.c"
    liar.write_text("#include <mpi.h>\n" + LIES.get(lie, ""))
    done = mpi.run(3, [build(name, liar), *ARGUMENTS[name]])
    right = lie not in LIES
    assert done.returncode == (0 if right else 1)
    assert done.stdout.splitlines()[-1] == f"{name}: {'verified' if right else 'WRONG'}"


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("cg", ["-n", "2"], "cg: 2 points are too few for 1 x 1 x 3 blocks"),
        ("mg", ["-n", "30"], "mg: -n wants a multiple of 4, not 30"),
        ("is", ["-k", "x"], "is: -k wants a number from 0 to 20, not 'x'"),
        ("is", ["-k", "18", "-b", "17"], "is: a bucket cannot be chosen by 18 of 17 bits"),
        ("is", ["-z"], "is: option -z is unknown or wants a value; -h lists the options"),
        ("cg", ["more"], "cg: 'more' is no option; -h lists the options"),
    ],
)
def test_bad_command_lines_get_one_line(
    mpi: Mpi, build: Build, name: str, arguments: list[str], complaint: str
) -> None:
    done = mpi.run(3, [build(name), *arguments])
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{complaint}\n")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_help(mpi: Mpi, build: Build, name: str) -> None:
    done = mpi.run(2, [build(name), "-h"])
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {name} [options]")


@pytest.mark.sample(2)
def test_time_with_collectives_in_software_is_what_they_take_there(
    build: Build, thalweg: Thalweg, tmp_path: Path
) -> None:
    """A reduction by the program's own function is left to software; its estimate is derived from runs in the network."""
    own_sum = tmp_path / "own_sum.c"
    own_sum.write_text(f"#define _GNU_SOURCE\n#include <dlfcn.h>\n{OWN_SUM}")
    times = []
    for more in ([], [own_sum]):
        run = thalweg(
            8, "mpi-fpga-torus-2x2x2", [build("cg", *more), *ARGUMENTS["cg"]], "--compute", "none", "--instances"
        )
        assert run.exit_code == 0, run.stderr
        times.append((run.report["virtual_time_us"], run.report["software_time_us"]))
    (network, estimate), (software, same) = times
    assert software == pytest.approx(estimate, rel=0.03)
    assert software == pytest.approx(same, rel=0.05)
    assert software > 1.5 * network
