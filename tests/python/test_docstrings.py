# SPDX-License-Identifier: Apache-2.0
"""Do the examples in docstrings of the Python interface print the documented output?"""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest
import thalweg

PACKAGE = Path(thalweg.__file__).parent
MODULES = sorted(
    ".".join(("thalweg", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for file in PACKAGE.rglob("*.py")
    if ">>> " in file.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    ran = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert ran.attempted > 0 and ran.failed == 0


def test_functions_of_the_interface_have_examples() -> None:
    """Except those that run a program or take minutes."""
    texts = {
        name: ast.get_docstring(node) or ""
        for file in ("interface.py", "cluster/__init__.py", "cluster/file.py")
        for node in ast.parse((PACKAGE / file).read_text()).body
        if isinstance(node, ast.FunctionDef) and (name := node.name) in thalweg.__all__
    }
    assert sorted(texts) == sorted(thalweg.__all__)
    assert {name for name, text in texts.items() if ">>> " not in text} <= {"run", "reproduce"}
    assert all("Parameters\n----------" in text and "Raises\n------" in text for text in texts.values())
