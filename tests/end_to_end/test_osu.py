# SPDX-License-Identifier: Apache-2.0
"""Does the benchmark of apps/osu measure right results, detect wrong ones, and refuse wrong command lines?"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from programs import Mpi

pytestmark = pytest.mark.slow

COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce", "gather", "allgather"]
OTHERS = ["scatter", "alltoall", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"]
VECTORS = ["gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"]
MESSAGES = ["latency", "bandwidth"]
REDUCTIONS = ["reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"]
FORMS = {"blocking": "", "nonblocking": "i", "persistent": "persistent "}

LIAR = """
#include <mpi.h>
/* An MPI whose collective gives one wrong bit, at one rank, in its last byte. */
int MPI_{name}({parameters}) {{
  int error = PMPI_{name}({arguments}), rank, size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Type_size(type, &size);
  if (rank == {rank}) ((char*)receive)[(long)count * size{factor} - 1] ^= 1;
  return error;
}}
"""
BUFFERS = "const void* send, void* receive, int count, MPI_Datatype type"


def rows(output: str) -> dict[str, list[list[str]]]:
    """The tables that the benchmark prints, by operation."""
    tables: dict[str, list[list[str]]] = {}
    name = ""
    for line in output.splitlines():
        words = line.split()
        if words and words[0] == "#" and len(words) in (2, 3):
            name = " ".join(words[1:])
            tables[name] = []
        elif words and words[0].isdigit():
            tables[name].append(words)
    return tables


KINDS = [("float32", "sum"), ("float64", "max"), ("int32", "min"), ("int64", "sum")]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("ranks", "type", "op"),
    [pytest.param(ranks, *kind, marks=[pytest.mark.long] * (ranks == 7)) for ranks in (1, 2, 7) for kind in KINDS],
)
def test_every_operation_verifies(mpi: Mpi, osu: Path, ranks: int, type: str, op: str) -> None:
    operations = COLLECTIVES + OTHERS + VECTORS + (MESSAGES if ranks > 1 else [])
    done = mpi.run(
        ranks, [osu, "-m", "1:32K", "-i", "3", "-x", "1", "-r", str(ranks - 1), "-t", type, "-o", op, *operations]
    )
    assert (done.returncode, done.stderr) == (0, "")
    tables = rows(done.stdout)
    assert list(tables) == operations
    for name, table in tables.items():
        smallest = int(type[-2:]) // 8 if name in REDUCTIONS else 1
        sizes = [2**k for k in range(16) if 2**k >= smallest] if name != "barrier" else [0]
        assert [int(row[0]) for row in table] == sizes
        assert {row[-1] for row in table} == {"-" if name == "barrier" else "yes"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("form", ["nonblocking", pytest.param("persistent", marks=pytest.mark.long)])
def test_every_form_verifies(mpi: Mpi, osu: Path, form: str) -> None:
    operations = COLLECTIVES + OTHERS + VECTORS
    done = mpi.run(5, [osu, "-m", "0:4K", "-i", "3", "-x", "1", "-f", form, *operations])
    assert (done.returncode, done.stderr) == (0, "")
    tables = rows(done.stdout)
    assert list(tables) == [FORMS[form] + name for name in operations]
    for name, table in tables.items():
        assert {row[-1] for row in table} == {"-" if name.endswith("barrier") else "yes"}


def test_repetitions_are_capped_by_bytes(mpi: Mpi, osu: Path) -> None:
    done = mpi.run(2, [osu, "-m", "1K:1M", "-i", "50", "-b", "100K", "bcast"])
    assert [int(row[1]) for row in rows(done.stdout)["bcast"]] == [50, 25, 12, 6, 3, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("operation", "name", "parameters", "arguments", "rank", "factor"),
    [
        (
            "allreduce",
            "Allreduce",
            f"{BUFFERS}, MPI_Op op, MPI_Comm comm",
            "send, receive, count, type, op, comm",
            2,
            "",
        ),
        (
            "reduce",
            "Reduce",
            f"{BUFFERS}, MPI_Op op, int root, MPI_Comm comm",
            "send, receive, count, type, op, root, comm",
            0,
            "",
        ),
        (
            "bcast",
            "Bcast",
            "void* receive, int count, MPI_Datatype type, int root, MPI_Comm comm",
            "receive, count, type, root, comm",
            2,
            "",
        ),
        (
            "gather",
            "Gather",
            f"{BUFFERS}, int count2, MPI_Datatype type2, int root, MPI_Comm comm".replace(
                "void* receive, int count, MPI_Datatype type", "int count, MPI_Datatype type, void* receive"
            ),
            "send, count, type, receive, count2, type2, root, comm",
            0,
            " * 3",
        ),
        (
            "allgather",
            "Allgather",
            f"{BUFFERS}, int count2, MPI_Datatype type2, MPI_Comm comm".replace(
                "void* receive, int count, MPI_Datatype type", "int count, MPI_Datatype type, void* receive"
            ),
            "send, count, type, receive, count2, type2, comm",
            1,
            " * 3",
        ),
    ],
)
def test_one_wrong_bit_is_seen(
    mpi: Mpi,
    osu: Path,
    tmp_path: Path,
    operation: str,
    name: str,
    parameters: str,
    arguments: str,
    rank: int,
    factor: str,
) -> None:
    (tmp_path / "liar.c").write_text(
        LIAR.format(name=name, parameters=parameters, arguments=arguments, rank=rank, factor=factor)
    )
    subprocess.run([mpi.cc, "-shared", "-fPIC", tmp_path / "liar.c", "-o", tmp_path / "liar.so"], check=True)
    done = mpi.run(3, [osu, "-m", "4K", "-i", "2", "-t", "int32", operation], {"LD_PRELOAD": str(tmp_path / "liar.so")})
    assert [row[-1] for row in rows(done.stdout)[operation]] == ["NO"]
    assert "results were wrong" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ["allredoce"],
        ["-m", "4-8"],
        ["-m", "8:4"],
        ["-m", "4T"],
        ["-m", "-4:8"],
        ["-i", "0"],
        ["-i", "x"],
        ["-t", "complex"],
        ["-o", "xor"],
        ["-r", "2"],
        ["-r"],
        ["-z"],
        ["-b", "much"],
        ["-p", "0", "latency"],
        ["-f", "sometimes"],
        ["-c", "allreduce"],
    ],
)
def test_wrong_command_lines_get_one_line(mpi: Mpi, osu: Path, words: list[str]) -> None:
    done = mpi.run(2, [osu, *words])
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("osu: ")
