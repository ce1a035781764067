# SPDX-License-Identifier: Apache-2.0
"""Is every hardware module there three ways: RTL, C++ twin of the same name, and the test that holds them equal? Parts of
modules (rtl/*/parts) are tested in those; what is put together of modules in whole clusters (`whole` in its block.toml), or from
outside (rtl/*/top, in tests/export)."""

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
    """By a module with a twin, or by another part; what nobody uses is tested nowhere."""
    others = [path for path in part.parents[1].rglob("tw_*.sv") if path != part]
    assert any(re.search(rf"^\s*{part.stem} (#\(|\w+ \()", path.read_text(), re.MULTILINE) for path in others)


@pytest.mark.parametrize("module", [*MODULES, *PARTS, *TOPS], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_header_says_how_it_behaves(module: Path) -> None:
    """What has no registers, and so none of the others, says that and its critical path."""
    text, _, body = module.read_text().partition("\nmodule ")
    header = re.sub(r"\n// ", " ", text)
    words = ["Order: ", "Latency: ", "Throughput: ", "Storage: "]
    if module in PARTS and "clk_i" not in body:
        words = ["No registers."]
    for said in (*words, "Critical path: "):
        assert said in header, f"the header of {module.name} does not say {said.strip()}"


@pytest.mark.parametrize("system", sorted({module.parent.name for module in MODULES}))
def test_folders_for_yosys_are_there(system: str) -> None:
    """Yosys refuses a folder that is missing, such as the parts of a system that has none."""
    folders = yosys.folders(ROOT, system)
    assert str(ROOT / "rtl/common") in folders and all(Path(folder).is_dir() for folder in folders)
