# SPDX-License-Identifier: Apache-2.0
"""Do C++ programs that use Thalweg's library of ACCL's operations get right results, the same times in each run, and
errors that name the cause?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from thalweg.launch.mpi import launcher_of
from thalweg.resources import resource
from thalweg.systems.accl import hosts, wire

HERE = Path(__file__).parent
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
TIMEOUT_S = 120

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not COMPILERS, reason="no C++ compiler is installed")]


def compiled(folder: Path, compiler: str, *options: str) -> Path:
    program = folder / "host"
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror", *options]
    command = [compiler, *strict, "-I", resource("runtime/accl/include"), HERE / "programs/host.cpp", "-o", program]
    subprocess.run(command, check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(
        tmp_path_factory.mktemp("host"),
        COMPILERS[0],
        "-std=c++17",
        "-fsanitize=address,undefined",
        "-fno-sanitize=null",
    )


def run(
    program: Path, ranks: int, what: str, *options: str, cluster: str = "accl-u280-udp", start: str = "pass"
) -> tuple[int, str, list[str]]:
    words = [sys.executable, "-c", f"import sys; {start}; from thalweg.__main__ import main; sys.exit(main())"]
    words += ["accl", "run", "-n", str(ranks), "--cluster", cluster, *options, "--", str(program), what]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long), 5])
@pytest.mark.parametrize("cluster", ["accl-u280-udp", "accl-u280-rdma"])
def test_every_operation(program: Path, ranks: int, cluster: str) -> None:
    status, said, report = run(program, ranks, "operations", "--loopback", cluster=cluster)
    assert (status, said) == (0, ""), report
    assert len(report) == 1 + ranks


def test_collectives_in_switches(program: Path) -> None:
    status, said, report = run(program, 5, "operations", "--loopback", "--in-switch", "mpi-fpga-torus-2x2x2")
    assert (status, said) == (0, ""), report


@pytest.mark.parametrize("cluster", ["accl-u280-udp", pytest.param("accl-u280-rdma", marks=pytest.mark.long)])
def test_requests_under_way_at_once(program: Path, cluster: str) -> None:
    """Each rank sends large messages to all before it receives any: with ACCL's driver, whose asynchronous calls block,
    rendezvous would hang."""
    status, said, report = run(program, 3, "requests", cluster=cluster)
    assert (status, said) == (0, ""), report


def test_what_is_wrong_is_thrown(program: Path) -> None:
    status, said, report = run(program, 2, "wrong")
    missing = "call_error rank 0: recv: receive time-out (0x800): waited for a message from rank 1 of its communicator"
    lines = said.splitlines()
    assert [number for number, line in enumerate(lines) if line.startswith(missing)] == [0, 2, 3]
    before = (
        "call_error rank 0: copy: receive time-out (0x800): the recv before it failed: waited for a message from rank"
    )
    assert lines[1].startswith(before)
    assert lines[4:16] == [
        "rank 0: send: a buffer of 16 bytes; must have at least 20",
        "send: destination 9 does not exist; the communicator has 2 ranks",
        "rank 0: copy: operands of several types; must be of one type, or float32 and float16",
        "rank 0: communicator 3 does not exist",
        "rank 0: stream 247; must be 0 to 246",
        "rank 0: copy: operand and result overlap",
        "rank 0: allreduce: operand and result overlap",
        "rank 0: a communicator with the rank at 127.0.0.1:5500 twice",
        "rank 0: a buffer of elements of 4 bytes with a type of 8 bytes; must be equal",
        f"memory up to {lines[13].split()[3]} exceeds the limit of {wire.Limits().memory} bytes per rank",
        f"rank 0: a buffer of {2**62 + 1} elements is too large",
        "call_error rank 0: recv: not ready (0x80000000): its board was reset before it had ended",
    ]
    assert lines[16:] == [
        "this run has no kernels; add them with thalweg accl run --kernels",
        "the buffer has been freed",
        "rank 0: the exchange memory is full: receive buffers and communicators take more than 8132 bytes",
        "rank 0: nop before initialize()",
        "this process already has an ACCL; a process is one rank",
        "initialize: local_rank is 7; must be 0 to 1",
    ]
    assert status == 1
    assert any(line.startswith("rank 1: recv ended with 0x800, receive time-out") for line in report)


def test_a_call_that_is_refused_behind_others_is_thrown_each_time(program: Path) -> None:
    status, said, report = run(program, 1, "refused")
    why = "send: destination 9 does not exist; the communicator has 1 ranks"
    behind = f"the send before it failed: {why}"
    assert said.splitlines() == [why, behind, why, behind, why], report
    assert status == 1
    assert report == [*report[:2], f"rank 0: refused: {why}"]
    assert report[1].split()[4:6] == ["0", "1"]  # wrong, refused


@pytest.mark.parametrize("cluster", ["accl-u280-udp", "accl-u280-reliable", "accl-u280-rdma"])
def test_a_reset_ends_calls_and_a_second_initialize_begins_anew(program: Path, cluster: str) -> None:
    status, said, report = run(program, 3, "resets", cluster=cluster)
    ended = "call_error rank 0: recv: not ready (0x80000000): its board was reset before it had ended\n"
    assert (status, said) == (1, ended), report
    assert any(line.startswith("rank 0: reset during 2 recv") for line in report)


def test_times_do_not_depend_on_how_long_ranks_compute(program: Path, tmp_path: Path) -> None:
    reports = [tmp_path / "first.json", tmp_path / "second.json"]
    first, second = (run(program, 3, "times", "--json", str(report)) for report in reports)
    assert first[0] == 0, first
    written = [json.loads(report.read_text()) for report in reports]
    assert written[0]["deterministic"] is True
    assert all(written[0][key] == written[1][key] for key in ("virtual_s", "ranks", "lost", "exit_code"))
    assert sorted(first[1].splitlines()) == sorted(second[1].splitlines())
    assert len(first[1].splitlines()) == 5


def test_ranks_that_wait_for_each_other(program: Path) -> None:
    status, _, report = run(program, 2, "stuck")
    assert (status, report[0]) == (124, "thalweg: deadlock: all ranks wait for calls that cannot end")
    assert report[-2:] == [
        "recv of node 0 waits for a message from rank 1 of its communicator with tag 3, for node 1",
        "recv of node 1 waits for a message from rank 0 of its communicator with tag 3, for node 0",
    ]


def test_a_message_larger_than_all_receive_buffers_is_warned_of(program: Path) -> None:
    status, _, report = run(program, 2, "large")
    assert status == 0
    assert report[3:] == [
        "warning: rank 0: send: a message of 20000 bytes to rank 1 of its communicator is larger than all 16 receive buffers of 1024 bytes together: "
        "on plain UDP, segments without a free buffer are lost, unless the receiver's call consumes them on arrival"
    ]
    assert run(program, 2, "large", cluster="accl-u280-reliable")[2][3:] == []


def test_a_rank_that_does_not_come(program: Path) -> None:
    """The others' call ends by time-out, after a second of virtual time."""
    status, _, report = run(program, 2, "absent")
    assert status == 1
    assert report[0].startswith("rank 0: barrier: receive time-out (0x800): waited for a message from rank 1")


def test_a_rank_that_fails(program: Path) -> None:
    status, _, report = run(program, 2, "fails")
    assert status == 7
    assert "thalweg: rank 1 ended with status 7; the others were ended" in report


def test_a_rank_that_leaves_before_a_call_has_ended(program: Path) -> None:
    """The engine continues the call, here until its time-out."""
    status, _, report = run(program, 1, "leaves")
    assert status == 1
    assert "rank 0: a client disconnected before the end of recv" in report
    assert any(line.startswith("rank 0: recv ended with 0x800, receive time-out") for line in report)


def test_a_rank_that_is_killed_is_named(program: Path) -> None:
    """Virtual time does not reach the time-outs of the others before its end is known."""
    status, _, report = run(program, 3, "killed")
    assert status == 128 + 9
    assert "thalweg: rank 1 was ended by SIGKILL; the others were ended" in report


def test_a_rank_that_comes_again(program: Path) -> None:
    """Virtual time is stopped until then."""
    status, _, report = run(program, 3, "again")
    assert (status, report[4:]) == (0, []), report
    assert [line.split()[1:3] for line in report[1:4]] == [["2", "14"]] * 3  # clients and calls


def test_a_second_thread(program: Path) -> None:
    status, said, report = run(program, 2, "threads")
    assert said == "rank 0: a call while another thread is in one; make all calls of a rank from one thread\n"
    assert status == 0, report


def test_forked_processes_are_not_the_rank(program: Path) -> None:
    """They neither end the rank's calls nor delay the others after its end."""
    begin = time.monotonic()
    status, said, report = run(program, 2, "forks")
    assert (status, said) == (1, ""), report
    assert [line for line in report if line.startswith("rank 0: recv ended with 0x800")]
    assert time.monotonic() - begin < 3 + TIMEOUT_S / 10


def test_it_is_said_for_whom_the_others_wait(program: Path) -> None:
    soon = "import thalweg.systems.accl.run as run; run._LATE_S = 0.3"
    status, _, report = run(program, 3, "slow", start=soon)
    assert status == 0
    assert report[0] == (
        "thalweg: all other ranks wait for rank 0, which computes outside of the library; virtual time is stopped meanwhile"
    )


def test_no_other_package_is_needed(program: Path) -> None:
    assert run(program, 2, "times", start="sys.modules['zmq'] = None")[0] == 0


def test_a_rank_that_is_none(program: Path) -> None:
    assert run(program, 1, "rank")[1] == "rank 1 does not exist; must be below 1\n"


def test_a_program_that_nobody_has_started(program: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != hosts.SOCKET}
    done = subprocess.run([program, "operations"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr == "not started by a simulator; use thalweg accl run -n RANKS -- PROGRAM\n"


def test_a_program_that_uses_mpi_too(tmp_path: Path) -> None:
    """Its ranks are started by MPI's launcher, and may wait in MPI for each other."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    compiler = next(filter(None, map(shutil.which, ("mpicxx.mpich", "mpicxx.openmpi", "mpicxx"))), None)
    if not compiler:
        pytest.skip("no MPI's C++ compiler is installed")
    source = tmp_path / "both.cpp"
    source.write_text("""
#include <mpi.h>
#include <accl.hpp>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = false;
  {
    ACCL::ACCL accl(5500, static_cast<unsigned>(rank));
    accl.initialize(ACCL::world(), rank);
    auto one = accl.create_buffer<float>(8, ACCL::dataType::float32);
    (*one)[0] = static_cast<float>(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    accl.allreduce(*one, *one, 8, ACCL::reduceFunction::SUM);
    right = (*one)[0] == static_cast<float>(ranks * (ranks + 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return right ? 0 : 4;
}
""")
    binary = tmp_path / "both"
    subprocess.run([compiler, "-I", resource("runtime/accl/include"), source, "-o", binary], check=True)
    if launcher_of(str(binary)) is None:
        pytest.skip("the launcher of that MPI is not installed")
    status, _, report = run(binary, 3, "", "--patience", "30")
    assert status == 0, report
