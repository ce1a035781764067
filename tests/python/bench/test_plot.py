# SPDX-License-Identifier: Apache-2.0
"""Does each system have a picture of its measurements that contains all measured values?"""

from __future__ import annotations

from pathlib import Path

import pytest
import thalweg
from thalweg import cli
from thalweg.bench.plot import plot, time_over_size

CASES = [
    ("peach2-ring-4", "put", "8,64", "put from CPU to CPU by DMA"),
    ("peach2-ring-4", "reduce", "1K,2K", "reduce by hubs"),
    ("smi-noctua", "push", "8,64", "push of float"),
    ("smi-noctua", "latency", "1K,2K", "latency of a float"),
    ("smi-noctua", "gather", "8,64", "gather of float"),
    ("smi-noctua", "trees", "64,128", "trees of arity 2"),
    ("smi-noctua", "injection", "", "injection of messages"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("cluster", "operation", "sizes", "title"), CASES)
def test_a_picture(cluster: str, operation: str, sizes: str, title: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    words = ["--messages", "50"] if not sizes else ["--sizes", sizes]
    assert cli.main(["bench", operation, "--cluster", cluster, *words, "--plot", str(picture)]) == 0
    assert f"<!-- {title}" in picture.read_text()


def test_no_picture_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "put", "--cluster", "peach2", "--sizes", "8", "--plot", "x.txt"]) == 2
    assert capsys.readouterr().err == "thalweg: 'x.txt' has an unknown format; the name must end in .png, .svg, .pdf\n"


def test_a_programs_own_pictures_stay(tmp_path: Path) -> None:
    """A program that also draws with matplotlib keeps its window backend."""
    import matplotlib

    before = matplotlib.get_backend()
    rows = thalweg.measure("put", "peach2-ring-4", sizes=[8, 16])
    plot(rows, tmp_path / "put.png", "put", time_over_size)
    assert matplotlib.get_backend() == before
    assert (tmp_path / "put.png").read_bytes().startswith(b"\x89PNG")
