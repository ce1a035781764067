# SPDX-License-Identifier: Apache-2.0
"""Does tools/examples.py detect wrong output in a document, and correct it?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools/examples.py"


def run(document: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, *options, document], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("$ echo 3.14\n3.15\n", "$ echo 3.14\n3.14\n"),
        ("$ echo a; echo b >&2\nb\na\n", "$ echo a; echo b >&2\na\nb\n"),
        ("$ echo \\\n    a\n$ echo b\n", "$ echo \\\n    a\na\n$ echo b\nb\n"),
        ("$ echo one > file\n$ cat file\ntwo\n", "$ echo one > file\n$ cat file\none\n"),
        ("$ ls -d rtl/common\n", "$ ls -d rtl/common\nrtl/common\n"),
        ("$ echo 7 y; echo 8 x\n7 x\n3..9 x\n", "$ echo 7 y; echo 8 x\n7 y\n3..9 x\n"),
    ],
)
def test_what_differs_is_seen_and_set_right(tmp_path: Path, wrong: str, right: str) -> None:
    document = tmp_path / "page.md"
    text = "```toml\n[a]\n```\n\n```\nmake 3.14\n```\n\n```\n{}```\n\nend 3.15\n"
    document.write_text(text.format(wrong))
    assert run(document, "--check").returncode == 1
    assert document.read_text() == text.format(wrong)
    assert run(document).returncode == 0
    assert document.read_text() == text.format(right)
    assert run(document, "--check").returncode == 0


def test_a_table_is_what_its_command_prints(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    text = "<!-- printed by: printf '|a|b|\\n|-|-|\\n|x|7|\\n' -->\n\n{}\nend\n"
    right = "|a|b|\n|-|-|\n|x|7|\n"
    for wrong in ("", right.replace("7", "8"), right + "|y|9|\n"):
        document.write_text(text.format(wrong))
        assert run(document, "--check").returncode == 1
        assert run(document).returncode == 0
        assert document.read_text() == text.format(right)
    for shown in (right, right.replace("7", "3..9")):
        document.write_text(text.format(shown))
        assert run(document, "--check").returncode == 0


def test_lines_are_left_out(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("<!-- without: ^[24-6]|^$ -->\n```\n$ seq 3; echo; seq 4 9; echo\n```\n")
    assert run(document).returncode == 0
    assert document.read_text().endswith("\n1\n  ...\n3\n  ...\n7\n8\n9\n```\n")


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("$ echo 9.5\n3..9\n", "no printed line is within\n3..9\n$ echo 9.5\n9.5"),
        ("$ echo oh; exit 3\noh\n", "oh\nended with 3"),
    ],
)
def test_what_cannot_be_set_right_is_named(tmp_path: Path, block: str, said: str) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"```\n{block}```\n")
    done = run(document)
    assert done.returncode == 1
    assert said in done.stdout
    assert document.read_text() == f"```\n{block}```\n"


def test_a_picture_is_drawn_anew_where_its_data_has_changed(tmp_path: Path) -> None:
    document, picture = tmp_path / "page.md", tmp_path / "images/p.svg"
    picture.parent.mkdir()
    text = "![a picture](images/p.svg)\n```\n$ echo '<svg>' > p.svg; echo '</svg>' >> p.svg; echo '{}<'\n```\n"
    for figure in ("1", "2"):
        document.write_text(text.format(figure))
        assert run(document).returncode == 0
        shown = (
            f"$ echo '&lt;svg&gt;' &gt; p.svg; echo '&lt;/svg&gt;' &gt;&gt; p.svg; echo '{figure}&lt;'\n{figure}&lt;\n"
        )
        assert picture.read_text().replace("&#x27;", "'") == f"<svg>\n<desc>{shown}</desc>\n</svg>\n"
        assert run(document, "--check").returncode == 0
    picture.write_text(picture.read_text().replace("2&lt;\n</desc>", "3&lt;\n</desc>"))
    done = run(document, "--check")
    assert done.returncode == 1
    assert "p.svg: its data has changed" in done.stdout
