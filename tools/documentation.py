# SPDX-License-Identifier: Apache-2.0
"""Hook of MkDocs: the pages of the site that are not files in docs/ (mkdocs.yml).

The site has the repository's folders, so the links between its documents hold on the site too. It gets README, the pages in
docs/, and every file that one of its pages links to. A gallery and the API reference are generated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^()\s#:]+)(?:#[^()\s]*)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)\)")
FENCED = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
anchor = slugify(case="lower")


def text_of(page: Path) -> str:
    """The page without its blocks of code."""
    return FENCED.sub("", page.read_text())


def linked(starts: list[Path]) -> list[Path]:
    """These pages and all files of the repository that they link to, directly or through other pages."""
    found = dict.fromkeys(starts)
    waiting = list(starts)
    while waiting:
        page = waiting.pop(0)
        for target in LINK.findall(text_of(page)):
            file = Path(os.path.normpath(page.parent / target))
            if file not in found and file.is_relative_to(ROOT) and file.is_file():
                found[file] = None
                if file.suffix == ".md":
                    waiting.append(file)
    return list(found)


def gallery(pages: list[Path]) -> Iterator[str]:
    """The lines of a page with every picture, its caption, and a link to the section that shows it."""
    yield "# Gallery\n"
    for page in pages:
        address = page.relative_to(ROOT).as_posix()
        text = text_of(page)
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        section = ""
        begun = False
        for line in text.splitlines():
            if heading := re.match(r"##+ (.+)", line):
                section = "#" + anchor(heading[1].replace("`", ""), "-")
            for caption, source in PICTURE.findall(line):
                if not begun:
                    yield f"## {title[1] if title else address}\n"
                    begun = True
                picture = Path(os.path.normpath(page.parent / source)).relative_to(ROOT).as_posix()
                yield f"[![{caption}]({picture})]({address}{section})\n"
                yield f"[{caption[:1].upper()}{caption[1:]}]({address}{section})\n"


def public_modules() -> list[str]:
    """The package and the public modules that docs/python.md lists."""
    listed = re.search(r"^Public are .*?\n\n", (ROOT / "docs/python.md").read_text(), re.MULTILINE | re.DOTALL)
    assert listed, "docs/python.md lists the public modules"
    return ["thalweg", *re.findall(r"`(thalweg\.[a-z0-9_.]+)`", listed[0])]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by MkDocs with the files of docs/ and of the theme."""
    for file in list(files):
        if file.abs_src_path and Path(file.abs_src_path).is_relative_to(config.docs_dir):
            files.remove(file)
    found = linked([ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
    for path in found:
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    files.append(File.generated(config, "site.css", abs_src_path=str(ROOT / "tools/site.css")))
    pages = [path for path in found if path.suffix == ".md"]
    files.append(File.generated(config, "gallery.md", content="\n".join(gallery(pages))))
    for module in public_modules():
        files.append(File.generated(config, f"api/{module}.md", content=f"::: {module}\n"))
    return files
