# SPDX-License-Identifier: Apache-2.0
"""Do the arguments of HLS kernels arrive unchanged, and is a value outside its type refused in one line?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg.accl import Kernels, Rank
from thalweg.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))
from kernel_runs import SOURCES, alone

pytest.importorskip("clang.cindex", reason="libclang is not installed")


@pytest.fixture(scope="module")
def loops() -> Kernels:
    return Kernels(SOURCES / "loops.cpp", includes=[SOURCES])


@pytest.mark.parametrize(
    "arguments, what",
    [
        ({}, "argument count, int, is missing"),
        ({"count": 1, "more": 2}, "has no argument more; its arguments are count, out"),
        ({"count": 1, "out": 3}, "argument out must be a buffer"),
        ({"count": "1"}, "argument count, int, is '1'; must be a number"),
    ],
)
def test_arguments(loops: Kernels, arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        alone(lambda rank: rank.start(loops, "plain", arguments))


@pytest.mark.parametrize("make", [lambda rank: rank.create_buffer(1, "int32"), lambda rank: rank.kernel_stream()])
def test_an_argument_of_another_run(loops: Kernels, make: Callable[[Rank], Any]) -> None:
    """Its address or number may be that of another object."""
    made = alone(make)
    with pytest.raises(InputError, match="kernel plain: argument out belongs to another run"):
        alone(lambda rank: rank.start(loops, "plain", count=1, out=made))


@pytest.fixture(scope="module")
def types() -> Kernels:
    pytest.importorskip("da4ml", reason="no headers of arbitrary-precision types are installed")
    return Kernels(SOURCES / "arguments.cpp")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "kernel, dtype, least, most",
    [
        (
            "whole",
            np.int64,
            {"a": -128, "b": 0, "c": -(2**31), "d": 0, "e": -(2**63), "f": 0, "g": 0, "h": -(2**32), "i": 0},
            {"a": 127, "b": 65535, "c": 2**31 - 1, "d": 2**32 - 1, "e": 2**63 - 1, "f": 1, "g": 31, "h": 2**32 - 1, "i": 255},
        ),
        ("real", np.float64, {"a": -(2.0**127), "b": -(2**63), "c": -8, "d": 0}, {"a": 0.25, "b": 2**63, "c": 7.9375, "d": 63}),
    ],
)  # fmt: skip
def test_a_number_arrives_as_it_is_or_is_refused(
    types: Kernels, kernel: str, dtype: Any, least: dict[str, float], most: dict[str, float]
) -> None:
    """The limits of C's types of 64-bit Linux, and of the vendor's: W bits, I of them before the point, range up to
    2^(I-1) - 2^(I-W)."""

    def program(rank: Rank, numbers: dict[str, float]) -> Any:
        out = rank.create_buffer(len(numbers), dtype)
        rank.start(types, kernel, numbers | {"out": out}).wait()
        return out.array.tolist()

    for numbers in least, most:
        assert alone(lambda rank, numbers=numbers: program(rank, numbers)) == list(numbers.values())
    beyond = {name: value - 1 for name, value in least.items()}, {name: value + 1 for name, value in most.items()}
    for good, wrong in zip((least, most), beyond, strict=True):
        for name, value in wrong.items():
            if name in "ab" and dtype is np.float64:
                continue
            what = f"kernel {kernel}: argument {name}, .*, is {value}; must be .*{least[name]}.* to {most[name]}"
            with pytest.raises(InputError, match=what):
                alone(lambda rank, numbers=good | {name: value}: program(rank, numbers))


def test_large_numbers_arrive(types: Kernels) -> None:
    def program(rank: Rank, **numbers: int) -> Any:
        out = rank.create_buffer(4, np.int64)
        rank.start(types, "large", numbers, out=out).wait()
        return out.array.view(np.uint64).tolist()

    last = 2**64 - 1
    assert alone(lambda rank: program(rank, a=last, b=last, c=2**63 - 1)) == [last, last, 2**63 - 1, 0]
    for name, value in {"a": -1, "b": 2**64, "c": 2**63}.items():
        with pytest.raises(InputError, match=f"argument {name}, .*, is {value}; must be an integer from 0 to") as found:
            alone(lambda rank, name=name, value=value: program(rank, **{"a": 0, "b": 0, "c": 0} | {name: value}))
        assert str(found.value).endswith("; the type has a wider range, but a host passes 63 bits and a sign") == (
            name == "c"
        )


def test_a_truth_value_of_numpy(types: Kernels) -> None:
    def program(rank: Rank) -> Any:
        out = rank.create_buffer(9, np.int64)
        numbers = dict.fromkeys("abcdeghi", np.bool_(False)) | {"f": np.bool_(True), "out": out}
        rank.start(types, "whole", numbers).wait()
        return out.array.tolist()

    assert alone(program) == [0] * 5 + [1] + [0] * 3


@pytest.mark.parametrize(("kernel", "given", "wanted"), [("whole", "float64", "int64"), ("real", "float32", "float64")])
def test_elements_of_another_type(types: Kernels, kernel: str, given: str, wanted: str) -> None:
    """The kernel would interpret their bits as other numbers."""

    def program(rank: Rank) -> None:
        rank.start(
            types,
            kernel,
            dict.fromkeys("abcdefghi"[: 9 if kernel == "whole" else 4], 0),
            out=rank.create_buffer(9, given),
        )

    with pytest.raises(InputError, match=f"argument out, .*, is a buffer of {given}; must be of {wanted}\n"):
        alone(program)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (lambda rank: rank.kernel_port(stream=1.5), "kernel_port: stream is 1.5; must be an integer"),
        (lambda rank: rank.kernel_port(pair="0"), "kernel_port: pair is '0'; must be an integer"),
        (lambda rank: rank.kernel_port(pair=-1), "kernel_port: pair is -1; must be 0 to"),
        (lambda rank: rank.kernel_stream(depth=2.5), "a stream: its depth is 2.5; must be an integer"),
    ],
)
def test_ports_of_no_number(what: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        alone(what)


@pytest.mark.parametrize(
    "name, value, what",
    [
        ("a", 1e39, "must be -3.4028.*e[+]38 to 3.4028.*e[+]38"),
        pytest.param("a", 10**400, "must be -3.4028", id="10^400"),
        ("c", float("nan"), "argument c, ap_fixed<8, 4>, is nan; must be -8.0 to 7.9375"),
        ("d", float("inf"), "argument d, ap_ufixed<6, 6>, is inf; must be 0.0 to 63.0"),
    ],
)
def test_real_numbers_beyond_their_type(types: Kernels, name: str, value: float, what: str) -> None:
    numbers = {"a": float("-inf"), "b": float("inf"), "c": 0, "d": 0} | {name: value}
    with pytest.raises(InputError, match=what):
        alone(lambda rank: rank.start(types, "real", numbers, out=rank.create_buffer(4, np.float64)))


@pytest.mark.parametrize("value", [3.7, float("nan"), "3"])
def test_no_whole_number(types: Kernels, value: Any) -> None:
    numbers = dict.fromkeys("abcdefghi", 0) | {"b": value}
    with pytest.raises(InputError, match="argument b, unsigned short, is .*; must be a"):
        alone(lambda rank: rank.start(types, "whole", numbers, out=rank.create_buffer(9, np.int64)))
