# SPDX-License-Identifier: Apache-2.0
"""After an error: does the run report who waits for whom, end every process, and exit with the right status?

Every run of a program checks that no process is left (tests/end_to_end/programs.py).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from programs import Mpi, execute, thalweg_run
from programs import Thalweg as Program
from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.launch.locks import cache_folder

BIN = Path(sys.executable).parent
PROGRAMS = Path(__file__).parent / "programs"
MAIN = "int main(int argc, char** argv) {{ begin(&argc, &argv); {} return end(); }}"

WAITING = r"""
#include <signal.h>
#include <unistd.h>
/* Of a rank that waits from now on, until the run ends. */
static void note_that_this_rank_waits(void) {
  char name[32];
  snprintf(name, sizeof name, "waits.%d", rank);
  FILE* file = fopen(name, "w");
  fprintf(file, "/proc/%d/stat\n", getpid());
  fclose(file);
}
/* Until all the others sleep there, however long a loaded machine takes. */
static void let_others_wait(void) {
  for (int other = 0; other < ranks; ++other) {
    char name[32], state = 0;
    snprintf(name, sizeof name, "waits.%d", other);
    while (other != rank && state != 'S') {
      FILE *file = fopen(name, "r"), *process = NULL;
      char path[64] = "";
      if (file && fscanf(file, "%63s", path) == 1) process = fopen(path, "r");
      if (process) fscanf(process, "%*d %*s %c", &state), fclose(process);
      if (file) fclose(file);
      usleep(10000);
    }
  }
  sleep(1);
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(
            "if (rank == 2) { let_others_wait(); raise(9); } note_that_this_rank_waits();",
            ["rank 2 was killed", "waits for rank 2 on MPI_COMM_WORLD"],
            id="killed",
        ),
        pytest.param(
            "int pid = getpid(); MPI_Bcast(&pid, 1, MPI_INT, 3, MPI_COMM_WORLD); "
            "if (rank == 1) { sleep(1); kill(pid, 9); } if (rank < 3) pause(); MPI_Barrier(MPI_COMM_WORLD);",
            ["rank 3 was killed"],
            id="killed-while-it-waits",
        ),
        pytest.param(
            "if (rank == 1) { let_others_wait(); exit(0); } note_that_this_rank_waits();",
            ["rank 1 exited with status 0 before MPI_Finalize", "waits for rank 1 on MPI_COMM_WORLD"],
            id="exit",
        ),
        pytest.param(
            "if (rank != 3) MPI_Barrier(MPI_COMM_WORLD); else MPI_Recv(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, NULL);",
            [
                "the program is deadlocked",
                "ranks 0-2: in MPI_Barrier, waits for rank 3 on MPI_COMM_WORLD, collective 1 there, since",
                "rank 3: in MPI_Recv, waits for a message from rank 0, tag 7 on MPI_COMM_WORLD, since",
            ],
            id="never-called",
        ),
        pytest.param(
            "int x; MPI_Recv(&x, 1, MPI_INT, (rank + 1) % ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
            ["the program is deadlocked", "rank 3: in MPI_Recv, waits for a message from rank 0, tag 5"],
            id="receive-cycle",
        ),
        pytest.param(
            "int x = 0; MPI_Ssend(&x, 1, MPI_INT, (rank + 1) % ranks, 5, MPI_COMM_WORLD);",
            ["the program is deadlocked", "rank 0: in MPI_Ssend, waits for rank 1 to receive its message, tag 5"],
            id="synchronous-cycle",
        ),
        pytest.param(
            "MPI_Comm c; if (rank != 0) MPI_Comm_dup(MPI_COMM_WORLD, &c); else MPI_Probe(1, 2, MPI_COMM_WORLD, NULL);",
            ["the program is deadlocked", "ranks 1-3: in MPI_Comm_dup, waits for rank 0"],
            id="creation",
        ),
        pytest.param(
            "int x[9]; MPI_Bcast(x, rank == 2 ? 8 : 9, MPI_INT, 0, MPI_COMM_WORLD);",
            ["the ranks disagree on collective 1 of MPI_COMM_WORLD", "(36 bytes, root 0)", "(32 bytes, root 0)"],
            id="other-count",
        ),
        pytest.param(
            "int x[16], y[64]; MPI_Gather(x, 1, MPI_INT, y, rank == 0 ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);",
            ["rank 0 calls MPI_Gather on MPI_COMM_WORLD with 4 bytes to send and 32 to receive", "would be 4 and 16"],
            id="other-own-count",
        ),
        pytest.param(
            "int x[16], y[64]; MPI_Alltoall(x, 4, MPI_INT, y, 1, MPI_INT, MPI_COMM_WORLD);",
            ["rank 0 calls MPI_Alltoall on MPI_COMM_WORLD with 64 bytes to send and 16 to receive"],
            id="sends-more-than-it-takes",
        ),
        pytest.param(
            "int x[9], y[9], n[4] = {1, 1, 1, 1}, at[4] = {0, 2, 4, 6}; "
            "MPI_Gatherv(x, rank == 2 ? 2 : 1, MPI_INT, y, n, at, MPI_INT, 0, MPI_COMM_WORLD);",
            ["the ranks disagree on a collective of MPI_COMM_WORLD: ", "rank 2 has 8 bytes for rank 0, which takes 4"],
            id="other-block",
        ),
        pytest.param(
            "int x = 1, y; if (rank) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); "
            "else MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);",
            ["the ranks disagree", "max of 1 int32", "sum of 1 int32"],
            id="other-operation",
        ),
        pytest.param(
            "if (rank == 0) MPI_Finalize(); else MPI_Barrier(MPI_COMM_WORLD);",
            ["the ranks disagree", "rank 0 calls MPI_Finalize", "calls MPI_Barrier"],
            id="finalized-early",
        ),
    ],
)
def test_the_fabric_cannot_go_on(run_program: Program, tmp_path: Path, body: str, said: list[str]) -> None:
    run = run_program(f"{WAITING}\n{MAIN.format(body)}", 4, "--timeout", "20", folder=tmp_path)
    assert run.exit_code == 124, run.stderr
    for words in said:
        assert words in run.stderr
    assert run.report["exit_code"] == 124


def test_an_error_handler_hears_what_it_hears_by_mpi_alone(run_program: Program, tmp_path: Path) -> None:
    """For arguments that MPI refuses and for requests that fail; the valid calls among them exchange the right data."""
    mpi = Mpi(BIN / "mpicc", BIN / "mpiexec")
    alone = mpi.run(2, [mpi.build([PROGRAMS / "refused.c"], tmp_path / "alone")])
    assert alone.returncode == 0, alone.stderr
    run = run_program("refused.c", 2, "--timeout", "20")
    assert run.exit_code == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == sorted(alone.stdout.splitlines())


def test_an_error_handler_hears_of_sizes_that_differ_and_the_communicator_is_used_again(run_program: Program) -> None:
    run = run_program("sizes.c", 4, "--timeout", "30")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert "collectives failed with MPI_ERR_TRUNCATE; the first: rank 1 calls MPI_Gather on" in run.stderr
    assert run.report["failed_collectives"] == 2 * 13


@pytest.mark.parametrize(("ranks", "options"), [(4, ("--ranks-per-node", "2"))])
def test_sizes_that_differ_on_a_node(run_program: Program, ranks: int, options: tuple[str, ...]) -> None:
    run = run_program("sizes.c", ranks, "--timeout", "30", *options)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


FORKED = "if (fork() == 0) for (;;) pause();"
CLONED = "if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) for (;;) pause();"  # keeps the socket of the rank open


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("child", "does", "said"),
    [
        pytest.param("", "_exit(3);", "called _exit(3) before MPI_Finalize", id="_exit"),
        pytest.param(CLONED, "_exit(3);", "called _exit(3) before MPI_Finalize", id="_exit-with-a-child"),
        pytest.param(CLONED, "exit(4);", "exited with status 4 before MPI_Finalize", id="exit-with-a-child"),
        pytest.param(CLONED, "abort();", "was killed by signal 6 (Aborted)", id="abort-with-a-child"),
        pytest.param("", "*(volatile int*)8 = 1;", "was killed by signal 11 (Segmentation fault)", id="segfault"),
        pytest.param(CLONED, "raise(SIGKILL);", "was killed by signal 9 (Killed)", id="killed-with-a-child"),
        pytest.param("", 'execl("/bin/sleep", "sleep", "99", NULL);', "executed another program, ", id="exec"),
        pytest.param(
            FORKED, 'execl("/bin/sleep", "sleep", "99", NULL);', "executed another program, ", id="exec-with-a-child"
        ),
    ],
)
def test_a_rank_did_what_it_is_said_to_have_done(run_program: Program, child: str, does: str, said: str) -> None:
    headers = "".join(f"#include <{name}.h>\n" for name in ("signal", "stdlib", "sys/syscall", "unistd"))
    text = MAIN.format(f"if (rank == 2) {{ {child} {does} }} MPI_Barrier(MPI_COMM_WORLD);")
    run = run_program(headers + text, 4, "--timeout", "20")
    assert run.exit_code == 124, run.stderr
    assert run.stderr.startswith(f"thalweg: rank 2 {said}"), run.stderr
    assert "BAD TERMINATION" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("ends", "status", "said", "does"),
    [
        pytest.param("MPI_Abort(MPI_COMM_WORLD, 5);", 5, "called MPI_Abort with code 5", "in MPI_Abort", id="abort"),
        pytest.param("exit(3);", 124, "exited with status 3 before MPI_Finalize", "ended", id="exit"),
        pytest.param(
            "int x[2], to = 1; MPI_Sendrecv(x, 2, MPI_INT, to, 0, x, 1, MPI_INT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
            14,
            "was ended by MPI for a fatal error, with status 14",
            "in MPI_Sendrecv, which failed",
            id="error",
        ),
    ],
)
def test_the_others_are_where_the_end_of_one_leaves_them(
    run_program: Program, ends: str, status: int, said: str, does: str
) -> None:
    """However late they enter it: the launcher kills them only after the report."""
    body = f"if (rank == 1) {{ {ends} }} usleep(300000); MPI_Barrier(MPI_COMM_WORLD);"
    run = run_program(f"#include <stdlib.h>\n#include <unistd.h>\n{MAIN.format(body)}", 4, "--timeout", "20")
    assert run.exit_code == status, run.stderr
    lines = [line for line in run.stderr.splitlines() if line.startswith("thalweg: rank")]
    waits = "thalweg: ranks 0, 2, 3: in MPI_Barrier, waits for rank 1 on MPI_COMM_WORLD, collective 1 there, since "
    assert lines[0] == f"thalweg: rank 1 {said}"
    assert lines[1].startswith(waits) and lines[2] == f"thalweg: rank 1: {does}", run.stderr
    assert "BAD TERMINATION" not in run.stderr


def test_one_that_polls_waits_since_its_first_look(run_program: Program) -> None:
    body = (
        "int x, done = 0; MPI_Request r; MPI_Irecv(&x, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &r); "
        "while (!done) MPI_Test(&r, &done, MPI_STATUS_IGNORE);"
    )
    run = run_program(MAIN.format(body), 2, "--timeout", "2", "--compute", "none")
    since = [float(line.split()[-2]) for line in run.stderr.splitlines() if ": in MPI_Test, waits for " in line]
    # Virtual time advances with each poll: how far in two seconds depends on the machine.
    assert since and max(since) < 10 < run.report["virtual_time_us"] / 10, run.stderr


def test_a_program_that_polls_for_ever_is_given_up_without_a_proof(run_program: Program) -> None:
    body = "int f = 0; while (!f) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &f, MPI_STATUS_IGNORE);"
    run = run_program(MAIN.format(body), 2, "--timeout", "2")
    assert run.exit_code == 124
    assert "not proof of a deadlock" in run.stderr


def test_the_programs_own_status_is_kept(run_program: Program) -> None:
    assert (
        run_program("int main(int c, char** v) { begin(&c, &v); end(); return rank == 1 ? 7 : 0; }", 2).exit_code == 7
    )
    aborted = run_program(MAIN.format("if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);"), 2)
    assert aborted.exit_code == 5
    assert "rank 1 called MPI_Abort with code 5" in aborted.stderr


def test_messages_that_nobody_receives_are_counted(run_program: Program) -> None:
    run = run_program(MAIN.format("if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);"), 2)
    assert (run.exit_code, run.report["unreceived"]) == (0, 1)
    assert "warning: 1 messages were sent and never received" in run.stderr


def test_an_abort_of_some_ranks_ends_the_run(run_program: Program) -> None:
    body = (
        "MPI_Comm half; MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half); "
        "if (rank == 1) MPI_Abort(half, 8); MPI_Barrier(MPI_COMM_WORLD);"
    )
    run = run_program(MAIN.format(body), 4, timeout=60)
    assert run.exit_code == 8, run.stderr
    assert "rank 1 called MPI_Abort with code 8" in run.stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("options", "command", "said"),
    [
        ([], ["./nowhere"], "there is no program ./nowhere"),
        ([], ["/etc/passwd"], "/etc/passwd is not executable"),
        ([], ["/tmp"], "/tmp is a folder, not a program"),
        ([], ["/bin/true"], "/bin/true ended without MPI_Init"),
        (
            ["-n", "9", "--cluster", "ring:4"],
            ["/bin/true"],
            "9 ranks do not fit on ring:4, which has 4 hosts: give --ranks-per-node 3",
        ),
        (["--ranks-per-node", "0"], ["/bin/true"], "0 is not in the range"),
        (["--ranks-per-node", "2", "--reproducible"], ["/bin/true"], "--reproducible needs one rank per node"),
        (["--ranks-per-node", "2", "-n", "9", "--cluster", "ring:4"], ["/bin/true"], "9 ranks do not fit on ring:4"),
        (["-n", "0"], ["/bin/true"], "0 is not in the range"),
        (["--compute", "some"], ["/bin/true"], "'some' is not valid; give measured, none, or scale:X"),
        (["--compute", "scale:-1"], ["/bin/true"], "'scale:-1' is not valid"),
        (["--skew", "normal:3"], ["/bin/true"], "'normal:3' is not valid; give uniform:US"),
        (["--skew", "uniform:1e9"], ["/bin/true"], "'uniform:1e9' is not valid; give uniform:US"),
        (["--timeout", "nan"], ["/bin/true"], "'nan' is not valid; give seconds"),
        (["--timeout", "inf"], ["/bin/true"], "'inf' is not valid; give seconds"),
        (["--mpi", "/nowhere"], ["/bin/true"], "--mpi /nowhere: no mpicc and mpiexec in /nowhere"),
        (["--cluster", "torsu:2x2"], ["/bin/true"], "torsu"),
        (["--engine", "magic"], ["/bin/true"], "'magic' is not one of 'sim', 'rtl'"),
        ([], [], "Missing argument"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, options: list[str], command: list[str], said: str) -> None:
    done = execute([sys.executable, "-m", "thalweg", "run", "-n", "2", *options, "--", *command], folder=tmp_path)
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_in_this_folder_is_named_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "h").touch(mode=0o755)
    done = execute([sys.executable, "-m", "thalweg", "run", "--", "h"], folder=tmp_path)
    assert done.returncode == 125
    assert done.stderr == "thalweg: there is no program h on the PATH; for the file in this folder, give ./h\n"


def test_a_temporary_folder_may_have_a_long_name_or_be_missing(run_program: Program, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    assert run_program(MAIN.format(""), 2).exit_code == 0
    for folder in (long, tmp_path / "nowhere"):
        run = thalweg_run(tmp_path, 2, "ring:2", [tmp_path / "program"], environment={"TMPDIR": str(folder)})
        assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stderr


def test_a_home_that_cannot_be_written_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(scratch, "folder", lambda: tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home/.cache/thalweg"
    monkeypatch.setenv("HOME", "/dev/null")
    private = cache_folder()
    assert private.parent == tmp_path and private.stat().st_mode & 0o777 == 0o700
    assert cache_folder() == private
    private.chmod(0o777)
    assert cache_folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(InputError, match="not to you"):
        cache_folder()


@pytest.mark.sample(3)
def test_the_mpi_is_the_programs_unless_another_is_given(tmp_path: Path) -> None:
    import shutil
    import subprocess

    compiler = shutil.which("mpicc.mpich") or shutil.which("mpicc.openmpi")
    if compiler is None:
        pytest.skip("no MPI but the wheel's is installed")
    (tmp_path / "program.c").write_text("#include <mpi.h>\nint main() { MPI_Init(0, 0); return MPI_Finalize(); }\n")
    subprocess.run([compiler, "-o", tmp_path / "program", tmp_path / "program.c"], check=True)
    run = thalweg_run(tmp_path, 2, "ring:2", [tmp_path / "program"])
    assert run.exit_code == 0, run.stderr
    run = thalweg_run(tmp_path, 2, "ring:2", [tmp_path / "program"], "--mpi", "mpich")
    assert run.exit_code == 125
    assert "with another MPI" in run.stderr
