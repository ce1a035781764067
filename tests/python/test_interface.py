"""Does `import thalweg` do what the commands do, and does its page say what is so?"""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest
import thalweg
from thalweg.bench.operation import WrongRows
from thalweg.cli import main
from thalweg.errors import CheckFailed, InputError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_page_says_what_is_so() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_an_import_alone_loads_nothing_else() -> None:
    code = (
        "import sys, thalweg; print([name for name in sys.modules if name.startswith('thalweg.') or name == 'numpy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("operation", "words", "options"),
    [
        ("allreduce", ["--sizes", "8:64", "--algorithm", "tree"], {"sizes": "8:64", "algorithm": "tree"}),
        ("latency", ["--sizes", "8,1K", "--hops", "2"], {"sizes": [8, 1024], "hops": 2}),
        ("barrier", ["--ranks", "3"], {"ranks": 3}),
    ],
)
def test_rows_are_those_of_the_command(
    tmp_path: Path, operation: str, words: list[str], options: dict[str, object]
) -> None:
    file = tmp_path / "rows.json"
    assert main(["bench", operation, "--cluster", "torus:2x2x2", *words, "--json", str(file)]) == 0
    assert thalweg.bench(operation, "torus:2x2x2", **options) == json.loads(file.read_text())["rows"]


def test_a_sweep_has_the_rows_of_its_parts() -> None:
    clusters, algorithms = ["torus:2x2", "ring:5"], ["tree", "ring"]
    parts = [
        row
        for operation in ("allreduce", "broadcast")
        for cluster in clusters
        for algorithm in algorithms
        for row in thalweg.bench(operation, cluster, sizes=[8, 4096], algorithm=algorithm)
    ]
    heard: list[float] = []
    rows = thalweg.sweep(
        ["allreduce", "broadcast"], clusters, sizes=[8, 4096], algorithm=algorithms, progress=heard.append
    )
    assert rows == parts
    assert heard == sorted(heard) and heard[-1] == 1


def test_a_row_that_cannot_be_right_raises_with_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from thalweg.systems.mpi_fpga import bounds

    monkeypatch.setattr(bounds, "collective_ticks", lambda *_, **__: 1e9)
    with pytest.raises(WrongRows, match="below its bound") as raised:
        thalweg.bench("allreduce", "torus:2x2", sizes=[8, 64])
    assert [row["bytes"] for row in raised.value.rows] == [8, 64]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: thalweg.cluster("moebius:4"), "moebius"),
        (lambda: thalweg.bench("allreduces", "torus:2x2"), "has no allreduces; it has barrier"),
        (lambda: thalweg.bench("allreduce", "torus:2x2", size=8), "allreduce has no option 'size'; it has engine"),
        (lambda: thalweg.bench("allreduce", "torus:2x2", sizes="8:4"), "holds no size"),
        (lambda: thalweg.run([], "torus:2x2"), "a program is missing"),
        (lambda: thalweg.run(["true"], "torus:2x2", compute="fast"), "'fast' is not measured, none, or scale:X"),
        (lambda: thalweg.reproduce("moby-dick"), "no paper that can be reproduced"),
        (lambda: thalweg.routes("torus:2x2", routing="scenic"), "'scenic' is no algorithm"),
    ],
)
def test_bad_input_is_one_line(call: object, said: str) -> None:
    assert callable(call)
    with pytest.raises(InputError) as raised:
        call()
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_routes_that_are_wrong_raise(tmp_path: Path) -> None:
    right = thalweg.routes("ring:5").files()["routes.csv"]
    file = tmp_path / "routes.csv"
    file.write_text(right)
    assert thalweg.routes("ring:5", table=file).files()["routes.csv"] == right
    lines = right.splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises((CheckFailed, InputError)):
        thalweg.routes("ring:5", table=file)
