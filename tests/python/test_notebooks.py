# SPDX-License-Identifier: Apache-2.0
"""Do the cells of each notebook in examples/notebooks print the output shown in the notebook?"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(ROOT.glob("examples/notebooks/*.ipynb"))


def shown(cell: dict[str, Any]) -> str:
    """The text of a cell's outputs; pictures have none."""
    text = ""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            assert output["name"] == "stdout", output
            text += "".join(output["text"])
        elif output["output_type"] == "execute_result":
            text += "".join(output["data"]["text/plain"]) + "\n"
    return text


def execute(source: str, names: dict[str, Any]) -> str:
    """The output of a cell, and the value of its last expression as Jupyter shows it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return printed.getvalue() + ("" if value is None else repr(value) + "\n")


@pytest.mark.sample(3)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert execute("".join(cell["source"]), names) == shown(cell)
