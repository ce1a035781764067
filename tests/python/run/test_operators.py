# SPDX-License-Identifier: Apache-2.0
"""The user's own operators in the switches: right results, faster than in software, and only those that the program
named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from programs import ROOT, Run, execute, thalweg_run
from programs import Thalweg as Program

EXAMPLE = ROOT / "examples/operators"
OPERATORS = ("--operators", str(EXAMPLE / "operators.cpp"))
MPICC = Path(sys.executable).parent / "mpicc"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("operators") / "operators"
    subprocess.run(
        [MPICC, "-O2", "-Wall", "-I", ROOT / "runtime/mpi/include", "-o", program, EXAMPLE / "operators.c"], check=True
    )
    return program


@pytest.mark.sample(3)
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_the_network_computes_them_and_is_faster(example: Path, tmp_path: Path, ranks: int) -> None:
    def run(*options: str) -> Run:
        done = thalweg_run(tmp_path, ranks, "mpi-fpga-torus-2x2x2", [example], "--compute", "none", *options)
        assert (done.exit_code, done.stdout) == (0, "0 wrong\n"), done.stderr
        return done

    software, network = run().report, run(*OPERATORS).report
    assert software["fallback"] == {"user-defined operation": 2 * ranks}
    assert network["fallback"] == {}
    assert network["offloaded"] == {"MPI_Allreduce": 2 * ranks, "MPI_Reduce": ranks}
    assert network["virtual_time_us"] < software["virtual_time_us"]


BEGIN = """#include <thalweg_mpi.h>
#include <stdint.h>
static void add(void* in, void* inout, int* n, MPI_Datatype* t) {
  for (int i = 0; i < *n; i++) ((int16_t*)inout)[i] += ((int16_t*)in)[i];
}
static void first(void* in, void* inout, int* n, MPI_Datatype* t) {
  for (int i = 0; i < *n; i++) ((int16_t*)inout)[i] = ((int16_t*)in)[i];
}
int main(int c, char** v) {
  begin(&c, &v);
  int16_t x[4] = {rank, 30000, -30000, 1}, y[4];
  MPI_Op op;
"""
END = "MPI_Op_free(&op); return end(); }"


def test_a_handle_that_was_freed_names_no_operator(run_program: Program) -> None:
    run = run_program(
        BEGIN
        + """MPI_Op_create(add, 1, &op);
        CHECK(Thalweg_Op_in_network(op, "saturating_sum") == 1);
        MPI_Allreduce(x, y, 4, MPI_INT16_T, op, MPI_COMM_WORLD);
        CHECK(y[0] == 6 && y[1] == INT16_MAX && y[2] == INT16_MIN && y[3] == 4);
        MPI_Op_free(&op);
        MPI_Op_create(add, 1, &op);
        MPI_Allreduce(x, y, 4, MPI_INT16_T, op, MPI_COMM_WORLD);
        CHECK(y[1] == (int16_t)(4 * 30000));
        """
        + END,
        4,
        *OPERATORS,
    )
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stderr
    assert run.report["fallback"] == {"user-defined operation": 4}


def test_what_the_network_cannot_do_is_left_to_mpi(run_program: Program) -> None:
    run = run_program(
        BEGIN
        + """MPI_Op_create(first, 0, &op);
        CHECK(Thalweg_Op_in_network(op, "saturating_sum") == 0);
        MPI_Allreduce(x, y, 4, MPI_INT16_T, op, MPI_COMM_WORLD);
        CHECK(y[0] == 0);
        MPI_Op_free(&op);
        MPI_Op_create(add, 1, &op);
        CHECK(Thalweg_Op_in_network(op, "unknown") == 0);
        CHECK(Thalweg_Op_in_network(op, "saturating_sum") == 1);
        char b[3] = {1, 1, 1}, s[3];
        MPI_Allreduce(b, s, 3, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
        """
        + END,
        4,
        *OPERATORS,
    )
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stderr
    assert run.report["fallback"]["user-defined operation"] == 4


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("units") / "units"
    include = ROOT / "runtime/mpi/include"
    subprocess.run([MPICC, "-O2", "-Wall", "-I", include, "-o", program, EXAMPLE / "units.c", "-lm"], check=True)
    return program


@pytest.mark.sample(2)
@pytest.mark.parametrize("algorithm", ["tree", "exchange"])
def test_units_convert_on_the_way(converted: Path, tmp_path: Path, algorithm: str) -> None:
    def run(units: Path) -> Run:
        options = ("--compute", "none", "--operators", str(units), "--algorithm", f"allreduce={algorithm}")
        done = thalweg_run(tmp_path, 6, "mpi-fpga-torus-2x2x2", [converted], *options)
        assert (done.exit_code, done.stdout) == (0, "0 wrong\n"), done.stderr
        assert done.report["fallback"] == {} and done.report["offloaded"] == {"MPI_Allreduce": 12, "MPI_Bcast": 36}
        return done

    slower = tmp_path / "slower.cpp"
    slower.write_text((EXAMPLE / "units.cpp").read_text().replace("double, 6", "double, 256"))
    # One allreduce passes two units, each of which takes 250 cycles more.
    gain = run(slower).report["virtual_time_us"] - run(EXAMPLE / "units.cpp").report["virtual_time_us"]
    assert gain == pytest.approx(2 * 250 * 0.004, abs=0.02)


def test_units_without_the_network_change_nothing(converted: Path, tmp_path: Path) -> None:
    done = thalweg_run(tmp_path, 6, "mpi-fpga-torus-2x2x2", [converted], "--compute", "none")
    assert (done.exit_code, done.stdout) == (0, "0 wrong\n"), done.stderr


def test_units_are_between_host_and_switch() -> None:
    options = ["-n", "4", "--ranks-per-node", "2", "--operators", EXAMPLE / "units.cpp"]
    done = execute([sys.executable, "-m", "thalweg", "run", *options, "--", "/bin/true"])
    assert done.returncode == 125 and "user-defined units are between host and switch" in done.stderr


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file"),
        ("int x = ;", "error: expected primary-expression"),
        ("int x;", "it contains no THALWEG_OPERATOR"),
        ("struct T { char c[32]; }; THALWEG_OPERATOR(wide, T, 1) { return a; }", "1, 2, 4, 8 or 16 bytes, not 32"),
        ("".join(f"THALWEG_OPERATOR(o{i}, int, 1) {{ return a; }}\n" for i in range(4)), "4 operators"),
        ("THALWEG_OPERATOR(slow, int, 100000) { return a; }", "1 to 1024 cycles, not 100000"),
        (
            "THALWEG_BEFORE(mean, int, 1) { return x; }",
            "THALWEG_BEFORE(mean): unknown name; must be an operator of the files, broadcast",
        ),
        (
            "THALWEG_AFTER(alltoall, int, 1) { return x; }",
            "an operator of the files, broadcast, gather, scatter or allgather",
        ),
        ("THALWEG_AFTER(gather, int, 2000) { return x; }", "THALWEG_AFTER(gather): a unit takes 1 to 1024 cycles"),
        ("THALWEG_BEFORE(gather, long double, 1) { return x; }", "has 1, 2, 4 or 8 bytes, not 16"),
        (
            "THALWEG_OPERATOR(own, int, 1) { return a; } THALWEG_AFTER(own, double, 1) { return x; }",
            "THALWEG_AFTER(own): its elements have 8 bytes, the operator's 4",
        ),
    ],
)
def test_files_that_are_no_good(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "operators.cpp"
    if text is not None:
        file.write_text(f"#include <thalweg_operator.hpp>\n#include <thalweg_unit.hpp>\n{text}\n")
    done = execute([sys.executable, "-m", "thalweg", "run", "-n", "2", "--operators", file, "--", "/bin/true"])
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
