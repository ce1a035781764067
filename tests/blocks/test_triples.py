# SPDX-License-Identifier: Apache-2.0
"""Does every hardware module exist in three forms: RTL, C++ twin of the same name, and the test of their equality?
Parts of modules (rtl/*/parts) are tested in those; compositions of modules in whole clusters (`whole` in their
block.toml), or from outside (rtl/*/top, in tests/export)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from thalweg.rtl import yosys
from thalweg.rtl.project import Project

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in ROOT.glob("rtl/*/tw_*.sv") if not path.stem.endswith("_pkg"))
PARTS = sorted(ROOT.glob("rtl/*/parts/tw_*.sv"))
TOPS = sorted(ROOT.glob("rtl/*/top/tw_*.sv"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_module_has_twin_and_test(module: Path) -> None:
    folder, stem = module.parent.name, module.stem.removeprefix("tw_")
    assert (ROOT / "sim" / folder / f"{stem}.hpp").exists()
    test = ROOT / "tests/blocks" / folder / stem
    assert (test / "block.toml").exists()
    if Project(ROOT).block(f"{folder}/{stem}").whole:
        assert (ROOT / "rtl" / folder / f"{stem}.cpp").exists()
        return
    binding = (test / "binding.cpp").read_text()
    assert f'#include "{folder}/{stem}.hpp"' in binding, "the test holds the RTL against another class"


def test_no_test_without_a_module() -> None:
    tested = {path.parent.relative_to(ROOT / "tests/blocks") for path in ROOT.glob("tests/blocks/*/*/block.toml")}
    assert tested == {Path(module.parent.name, module.stem.removeprefix("tw_")) for module in MODULES}
    assert tested


@pytest.mark.parametrize("part", PARTS, ids=lambda path: path.stem)
def test_part_is_used_in_its_folder(part: Path) -> None:
    """By a module with a twin, or by another part; an unused part is not tested."""
    others = [path for path in part.parents[1].rglob("tw_*.sv") if path != part]
    assert any(re.search(rf"^\s*{part.stem} (#\(|\w+ \()", path.read_text(), re.MULTILINE) for path in others)


@pytest.mark.parametrize("module", [*MODULES, *PARTS, *TOPS], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_header_says_how_it_behaves(module: Path) -> None:
    """A module without registers states that, and its critical path, instead of the other items."""
    text, _, body = module.read_text().partition("\nmodule ")
    header = re.sub(r"\n// ", " ", text)
    words = ["Order: ", "Latency: ", "Throughput: ", "Storage: "]
    if module in PARTS and "clk_i" not in body:
        words = ["No registers."]
    for said in (*words, "Critical path: "):
        assert said in header, f"the header of {module.name} does not say {said.strip()}"


@pytest.mark.parametrize("system", sorted({module.parent.name for module in MODULES}))
def test_folders_for_yosys_are_there(system: str) -> None:
    """Yosys rejects missing folders, such as the parts of a system without any."""
    folders = yosys.folders(ROOT, system)
    assert str(ROOT / "rtl/common") in folders and all(Path(folder).is_dir() for folder in folders)
