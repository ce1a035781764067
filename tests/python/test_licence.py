# SPDX-License-Identifier: Apache-2.0
"""Does every source file name its licence?"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINE = "SPDX-License-Identifier: Apache-2.0"
ENDINGS = {".c", ".css", ".cpp", ".f90", ".h", ".hpp", ".inc", ".js", ".py", ".rdl", ".sv"}
NAMES = {"CMakeLists.txt", "Makefile"}


def is_source(path: Path) -> bool:
    if path.suffix in ENDINGS or path.name in NAMES:
        return bool(path.read_text().strip())
    return not path.suffix and path.read_bytes().startswith(b"#!")


def test_every_source_file_names_its_licence() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    sources = [path for path in map(ROOT.joinpath, listed.stdout.splitlines()) if path.is_file() and is_source(path)]
    assert sources
    assert not [path for path in sources if LINE not in "\n".join(path.read_text().splitlines()[:2])]
