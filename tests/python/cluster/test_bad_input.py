# SPDX-License-Identifier: Apache-2.0
"""Does any content of a cluster file or a table give one line and the right exit code, never a traceback?"""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thalweg.cli import main
from thalweg.route import table as route_table
from thalweg.systems.mpi_fpga.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]
CLUSTER = (
    'description = "a cluster"\nrouting = "dimension-order"\n\n[topology]\nshape = "torus"\nsize = [4, 3]\n\n'
    + "\n".join(
        line for line in (ROOT / "clusters/base/plain.toml").read_text().splitlines() if not line.startswith("#")
    )
)
TABLE = route_table.write(Cluster.load("ring:5").tables)
VALUES = ["-1", "0", "1", "2", "3.5", "1e400", "-0.0", "nan", "inf", "true", '"text"', "[]", "[[]]", "[4, 4]", "{}", "{a = 1}",
          "99999999999999999999999", "1979-05-27", "''", '"\\u0000"', "[" * 500, "0x10", "[1, 'a']"]  # fmt: skip

any_examples = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def run(*arguments: str) -> tuple[int, str]:
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()  # files of `-` are written as bytes
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return code, err.getvalue()


def damage(text: str, dice: random.Random) -> bytes:
    """`text` with one to three errors: in keys, values, lines, its end, or bytes of it."""
    for _ in range(dice.randint(1, 3)):
        lines = text.splitlines()
        at = dice.randrange(len(lines)) if lines else 0
        kind = dice.choice(["key", "value", "drop", "double", "cut", "swap", "character", "section"])
        if kind == "cut" or not lines:
            text = text[: dice.randrange(len(text) + 1)]
            continue
        line = lines[at]
        match kind:
            case "key" if len(line) > 1:
                place = dice.randrange(len(line.split("=")[0]) or 1)
                lines[at] = line[:place] + dice.choice(["", "x", line[place] * 2, ".", "-", " "]) + line[place + 1 :]
            case "value" if "=" in line:
                lines[at] = line.split("=")[0] + "= " + dice.choice(VALUES)
            case "drop":
                del lines[at]
            case "double":
                lines.insert(at, line)
            case "swap":
                other = dice.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case "section":
                lines.insert(
                    at,
                    dice.choice(["[topology]", "[x.y]", "[[link]]", "[router", "]", "base = '.'", 'base = "\\u0000"']),
                )
            case _:
                place = dice.randrange(len(line) + 1)
                lines[at] = (
                    line[:place]
                    + chr(dice.choice([0, 9, 10, 27, 34, 44, 91, 127, 0xE9, 0x2028, 0x1F600]))
                    + line[place:]
                )
        text = "\n".join(lines)
    data = text.encode()
    if dice.random() < 0.15 and data:
        place = dice.randrange(len(data))
        data = data[:place] + dice.randbytes(dice.randint(1, 9)) + data[place + 1 :]
    return data


def assert_one_line(code: int, err: str, file: Path, allowed: set[int]) -> None:
    assert code in allowed, err
    if code == 0:
        assert err == ""
        return
    assert err.startswith("thalweg: ") and err.endswith("\n") and err.count("\n") == 1, err
    assert err[:-1].isprintable(), err
    if code == 2:
        place = err.removeprefix("thalweg: ")
        line, _, what = place.removeprefix(f"{file}:").partition(": ")
        assert place.startswith(f"{file}:") and what, err
        if line.strip().isdigit():
            assert 1 <= int(line) <= file.read_bytes().count(b"\n") + 1, err


@given(st.integers(0, 2**32))
@any_examples
def test_a_damaged_cluster_file(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "damaged.toml"
    file.write_bytes(damage(CLUSTER, random.Random(seed)))
    assert_one_line(*run("cluster", "show", str(file)), file, {0, 2})


@given(st.integers(0, 2**32))
@any_examples
def test_a_damaged_table(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "damaged.csv"
    file.write_bytes(damage(TABLE, random.Random(seed)))
    assert_one_line(*run("route", "ring:5", "--check", "--table", str(file)), file, {0, 1, 2})


@given(st.binary(max_size=300))
@any_examples
def test_random_bytes(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "junk"
    file.write_bytes(content)
    assert_one_line(*run("cluster", "show", str(file)), file, {0, 2})
    assert_one_line(*run("route", "ring:5", "--table", str(file)), file, {0, 1, 2})


@given(st.text(max_size=30))
@any_examples
def test_any_name_of_a_cluster(name: str) -> None:
    code, err = run("cluster", "show", "--", name)
    assert (code == 0 and err == "") or (code == 2 and err.startswith("thalweg: ") and err.count("\n") == 1)


@pytest.mark.parametrize("command", ["cluster", "route"])
@given(
    st.lists(
        st.sampled_from(["--check", "--json", "-o", "show", "draw", "torus:4x4", "x", "--", "-", "", "--out"]),
        max_size=4,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_command_line(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    code, err = run(command, *words)
    assert code in (0, 2) and err.count("\n") == (code == 2), (words, err)
