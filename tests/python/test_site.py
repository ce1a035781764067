# SPDX-License-Identifier: Apache-2.0
"""Does the documentation site build without a broken link, and does it contain every picture and every public name?"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    not (find_spec("mkdocs") and find_spec("material") and find_spec("mkdocstrings_handlers")),
    reason="mkdocs-material and mkdocstrings-python are not installed",
)


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    # Without --quiet, which drops the warnings that --strict counts.
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=source,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_gallery_has_every_picture(site: Path) -> None:
    shown = set(re.findall(r'src="\.\./([^"]+)"', (site / "gallery/index.html").read_text()))
    pictures = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/images").iterdir()}
    assert pictures and pictures <= shown
    assert all((site / picture).is_file() for picture in pictures)


def test_the_reference_has_every_public_name(site: Path) -> None:
    pages = sorted((site / "api").iterdir())
    assert len(pages) > 5
    for page in pages:
        text = (page / "index.html").read_text()
        for name in getattr(importlib.import_module(page.name), "__all__", []):
            assert f'id="{page.name}.{name}"' in text, (page.name, name)


def test_the_navigation_has_the_examples(site: Path) -> None:
    """A README could become its section's index, without an entry of its own."""
    start = (site / "index.html").read_text()
    pages = [path.parent.relative_to(site).as_posix() for path in (site / "examples").glob("*/index.html")]
    assert "examples/notebooks" in pages
    assert all(re.search(rf'href="{page}/" class="md-nav__link"', start) for page in pages), pages


def test_pages_load_nothing_from_elsewhere_and_name_no_folder_of_this_machine(site: Path) -> None:
    for page in [*site.rglob("*.html"), *site.glob("search/*.json")]:
        text = page.read_text()
        assert not re.search(r'<(script|img)[^>]* src="?(https?:)?//|<link[^>]* href="?(https?:)?//', text), page
        assert str(ROOT) not in text, page


@pytest.mark.sample(4)
@pytest.mark.slow
def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    for path in ROOT.iterdir():
        if path.name in ("python", "rtl", "runtime", "spec", "examples"):
            (tmp_path / path.name).symlink_to(path)
        elif path.name == "docs":
            shutil.copytree(path, tmp_path / "docs")
        elif path.is_file():
            shutil.copy(path, tmp_path)
    (tmp_path / "tools").mkdir()
    for name in ("documentation.py", "site.css"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    with (tmp_path / "docs/jobs.md").open("a") as page:
        page.write("\n[no page](nowhere.md), [no section](mpi.md#nothing), [no file](../rtl/nothing.sv)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert all(name in done.stderr for name in ("nowhere.md", "mpi.md#nothing", "nothing.sv")), done.stderr
