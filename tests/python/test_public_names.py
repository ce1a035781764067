# SPDX-License-Identifier: Apache-2.0
"""Do applications, benches, examples and documents use public names alone, and does the library leave a program's
matplotlib unchanged?"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {
    "thalweg",
    "thalweg.errors",
    "thalweg.mpi_fpga",
    "thalweg.partitioned",
    "thalweg.peach2",
    "thalweg.rtl.project",
    "thalweg.smi",
    "thalweg.trace",
    "thalweg.accl",
    "thalweg.vcsn",
}
"""According to docs/python.md."""


def imported(text: str) -> Iterator[str]:
    """A program's modules of thalweg, and `module.name` for the names that it imports from them or uses of `thalweg`
    itself."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "thalweg")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "thalweg":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            name, at = node.attr, node.value
            while isinstance(at, ast.Attribute):
                name, at = f"{at.attr}.{name}", at.value
            if isinstance(at, ast.Name) and at.id == "thalweg":
                yield f"thalweg.{name}"


def is_public(name: str) -> bool:
    """A public module, or an attribute of one that is no module itself and has no underscore."""
    words = name.split(".")
    for length in range(len(words), 0, -1):
        module = ".".join(words[:length])
        if module not in PUBLIC:
            continue
        if length == len(words):
            return True
        has = getattr(importlib.import_module(module), words[length], importlib)
        return not words[length].startswith("_") and not inspect.ismodule(has)
    return False


def programs() -> dict[str, str]:
    """The Python of applications, benches, examples and documents."""
    files = [file for folder in ("apps", "benches", "examples", "reproduce") for file in (ROOT / folder).rglob("*.py")]
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, block in enumerate(page.read_text().split("```python\n")[1:]):
            lines = block.partition("\n```")[0].splitlines()
            if any(line.startswith(">>> ") for line in lines):  # with their output
                lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
            texts[f"{page.relative_to(ROOT)}, block {number}"] = "\n".join(lines)
    return texts


def test_programs_use_public_names() -> None:
    found = {where: {name for name in imported(text) if not is_public(name)} for where, text in programs().items()}
    assert {where: names for where, names in found.items() if names} == {}


@pytest.mark.parametrize("name", sorted(PUBLIC - {"thalweg"}))
def test_the_page_names_public_modules(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs/python.md").read_text()


def test_what_is_not_public_is_found() -> None:
    text = (
        "import thalweg.systems.smi\nfrom thalweg import _core, load\nthalweg.bench.plot.plot()\nthalweg.measure('x')"
    )
    found = {name for name in imported(text) if not is_public(name)}
    assert found >= {"thalweg.systems.smi", "thalweg._core", "thalweg.bench.plot.plot"}
    assert not any("load" in name or "measure" in name for name in found)


def test_the_library_chooses_no_backend_of_matplotlib() -> None:
    """Neither `matplotlib.use` nor pyplot, which selects one: figures are created without them."""
    for file in (ROOT / "python/thalweg").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            assert not (isinstance(node, ast.Attribute) and ast.unparse(node) == "matplotlib.use"), file
            assert not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("matplotlib.pyplot")), file
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert all("pyplot" not in alias.name for alias in node.names), file


def test_a_plot_leaves_the_backend_alone(tmp_path: Path) -> None:
    code = """
import sys, matplotlib
matplotlib.use("svg")
from thalweg import cli
assert cli.main(["bench", "put", "--cluster", "peach2-ring-4", "--sizes", "8", "--plot", "put.png"]) == 0
assert matplotlib.get_backend() == "svg" and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True)
