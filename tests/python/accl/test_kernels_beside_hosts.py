# SPDX-License-Identifier: Apache-2.0
"""Do HLS kernels run beside host programs, connected to the engines of their ranks by `thalweg accl run --kernels`?"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.accl import attached_kernels
from thalweg.systems.accl.attached_kernels import AttachedKernels, KernelOption
from thalweg.systems.accl.engine import make_engine
from thalweg.systems.accl.kernels import Kernels

pytest.importorskip("clang.cindex", reason="libclang is not installed")

HERE = Path(__file__).parent
SOURCE = HERE / "kernels/beside.cpp"
COMPILER = next(filter(None, map(shutil.which, ("g++", "clang++"))), None)
ADDER = f"{SOURCE}:adder:more=7,in=data_out.9,out=data_in"
ANNOUNCE = f"{SOURCE}:announce@0:words=3,number=-5,to=1,comm=communicator,arithmetic=arithmetic.int32,commands=commands,status=status,out=data_in"
TWO = [f"{SOURCE}:produce:to=stream.between", f"{SOURCE}:consume:from=stream.between"]
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if not COMPILER:
        pytest.skip("no C++ compiler is installed")
    made = tmp_path_factory.mktemp("beside") / "beside"
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    folder = resource("runtime/accl/include")
    subprocess.run([COMPILER, *strict, "-I", folder, HERE / "programs/beside.cpp", "-o", made], check=True)
    return [str(made)]


def run(program: list[str], ranks: int, what: str, *kernels: str, cluster: str = "udp") -> tuple[int, str, list[str]]:
    words = [sys.executable, "-m", "thalweg", "accl", "run", "-n", str(ranks), "--cluster", f"accl-u280-{cluster}"]
    words += [word for kernel in kernels for word in ("--kernels", kernel)]
    words += ["-I", str(HERE / "kernels"), "--", *program, what, "{port}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "cluster"), [pytest.param(1, "udp", marks=pytest.mark.long), (3, "udp"), (2, "rdma")]
)
def test_a_kernel_that_restarts(program: list[str], ranks: int, cluster: str) -> None:
    status, _, report = run(program, ranks, "streams", ADDER, cluster=cluster)
    assert status == 0, report
    assert all("1 kernel adder" in line for line in report[1:])


@pytest.mark.slow
def test_a_kernel_that_begins_by_itself(program: list[str]) -> None:
    """It calls the engine, with the addresses set up by the program. Other kernels are on other ranks."""
    status, _, report = run(program, 2, "announced", ANNOUNCE, ADDER.replace("adder", "adder@1"))
    assert status == 0, report
    assert "1 kernel announce" in report[1] and "1 kernel adder" in report[2]


@pytest.mark.slow
def test_kernels_that_the_program_starts(program: list[str]) -> None:
    status, _, report = run(program, 2, "two", *TWO)
    assert status == 0, report


@pytest.mark.slow
def test_what_a_program_starts_wrongly(program: list[str]) -> None:
    status, said, _ = run(program, 1, "wrong", *TWO, ADDER)
    assert status == 1
    assert said.splitlines() == [
        "rank 0 has no kernel nothing; its kernels are produce, consume, adder",
        "kernel produce: 1 arguments; must be 2: from, count",
        "kernel produce: argument from must be a buffer",
        "kernel adder: --kernels gives all its arguments, so it starts by itself",
        *(
            f"kernel consume: argument count, int, is {number}; must be an integer from -2147483648 to 2147483647"
            for number in ("3000000000", "18446744073709551615", "2.5")
        ),
        "kernel consume: argument to, int *, is a buffer of float32; must be of int32",
    ]


@pytest.mark.slow
def test_a_kernel_that_does_what_it_must_not(program: list[str]) -> None:
    status, _, report = run(program, 1, "wild", f"{SOURCE}:wild")
    assert status == 1
    assert "beside.cpp:" in report[0] and "kernel wild of rank 0: writes 4 bytes" in report[0]


@pytest.mark.slow
def test_a_time_out_while_a_kernel_never_waits(program: list[str]) -> None:
    status, _, report = run(program, 2, "times out", f"{SOURCE}:spin:in=data_out.9")
    assert status == 1, report
    assert report[3].startswith("rank 0: recv ended with 0x800, receive time-out: waited for a message from rank 1")


@pytest.mark.slow
def test_a_kernel_that_waits_for_ever(program: list[str]) -> None:
    status, _, report = run(program, 1, "stuck", *TWO)
    assert status == 124
    assert "rank 0: kernel produce never ended" in report
    assert any("kernel produce of rank 0 waits" in line and "beside.cpp:" in line for line in report), report


@pytest.mark.slow
def test_a_program_that_uses_the_driver() -> None:
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    driver = [sys.executable, str(HERE / "ranks.py")]
    status, _, report = run(driver, 1, "kernel", ADDER)
    assert status == 0, report
    status, _, report = run(driver, 1, "kernel", TWO[0])
    assert status == 125
    assert report == ["thalweg: kernel produce: argument from is missing; only a program with accl.hpp can start it"]


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("x.cpp", "--kernels x.cpp: must be FILE.cpp:NAME[@RANK][:ARGUMENT=VALUE,...]"),
        (f"{SOURCE}:adder@x", f"--kernels {SOURCE}:adder@x: must be FILE.cpp:NAME[@RANK][:ARGUMENT=VALUE,...]"),
        (f"{SOURCE}:adder:more", f"--kernels {SOURCE}:adder:more: more has no value; must be ARGUMENT=VALUE,..."),
        (
            f"{SOURCE}:adder:more=1,more=2",
            f"--kernels {SOURCE}:adder:more=1,more=2: more is given twice",
        ),
        ("none.cpp:adder", "none.cpp does not exist"),
    ],
)
def test_kernels_that_are_not_described(kernel: str, says: str) -> None:
    refused(kernel, says)


@pytest.fixture(scope="module")
def compiled() -> Kernels:
    return Kernels(SOURCE, [HERE / "kernels"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (
            f"{SOURCE}:none",
            f"{SOURCE} has no kernel none; its kernels are call, adder, announce, produce, consume, wild, spin",
        ),
        (f"{ADDER.replace('adder', 'adder@4')}", "--kernels adder@4: the rank must be below 1"),
        (
            f"{SOURCE}:adder:more=0x80000000,in=data_out.9,out=data_in",
            "kernel adder: argument more, int, is 2147483648; must be an integer from -2147483648 to 2147483647",
        ),
        (f"{SOURCE}:adder:less=1", "kernel adder has no argument less; its arguments are more, in, out"),
        (
            f"{SOURCE}:adder:in=data_out",
            "kernel adder: stream out is missing; must be commands, status, data_in, data_out",
        ),
        (f"{SOURCE}:adder:in=data_out.300,out=data_in", "kernel adder: data_out.300 is not a stream; "),
        (f"{SOURCE}:adder:in=data_in.1,out=data_in", "kernel adder: data_in.1 is not a stream; must be commands"),
        (f"{SOURCE}:adder:in=7,out=data_in", "kernel adder: 7 is not a stream; must be commands"),
        (
            f"{ADDER.replace('more=7', 'more=many')}",
            "kernel adder: more is many; must be a number, rank, ranks, comm",
        ),
        (f"{TWO[0]},from=4", "kernel produce: argument from is a pointer, which only the program can give"),
    ],
)
def test_kernels_that_are_none(kernel: str, says: str, compiled: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached_kernels, "Kernels", lambda *_: compiled)
    with pytest.raises(InputError) as found:
        AttachedKernels(make_engine("accl-u280-udp", 1), [KernelOption.parse(kernel)], [], [])
    assert str(found.value).startswith(says)


@pytest.mark.slow
def test_the_command_refuses_a_kernel_in_a_line() -> None:
    refused(f"{SOURCE}:adder:less=1", "kernel adder has no argument less; its arguments are more, in, out")


def refused(kernel: str, says: str) -> None:
    status, said, complaint = run(["true"], 1, "", kernel)
    assert (status, said, len(complaint)) == (125, "", 1), complaint
    assert complaint[0].startswith(f"thalweg: {says}"), complaint
