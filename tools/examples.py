# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in documents, and writes into the documents what they print: tools/examples.py [--check] FILE ...

An example is a fenced block that begins with `$ `. Its commands run one after another, in a folder that looks like the root
of a clone; what each one prints, on standard error too, follows it. Two things in a document stand for what differs or is long:

* `3..20` in a printed line: any number from 3 to 20, such as a speed;
* `<!-- without: REGEX -->` above a block: printed lines in which REGEX is found are left out, with blank ones beside
  them, and `  ...` stands for them.

A table below `<!-- printed by: COMMAND -->` is what COMMAND prints.

An SVG of the document that an example draws under the same file name is replaced where its data differs. Its data is what the
example printed; the SVG's description has it.
"""

from __future__ import annotations

import argparse
import difflib
import html
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^(?:<!-- without: (?P<without>[^\n]*) -->\n)?```\n(?P<shown>\$ .*?)^```$", re.MULTILINE | re.DOTALL
)
TABLE = re.compile(r"^<!-- printed by: (?P<command>[^\n]*) -->\n\n(?P<shown>(?:\|[^\n]*\n)*)", re.MULTILINE)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.MULTILINE)
RANGE = re.compile(r"(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")
PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+\.svg)\)")
GAP = "  ..."
DESCRIPTION = re.compile(r"<desc>(.*?)</desc>\n", re.DOTALL)


class ExampleError(Exception):
    """An example does not do what its document says."""


@dataclass(frozen=True)
class Example:
    """A block of a document, or a table, and the SVGs that the document shows."""

    shown: str
    without: str | None
    pictures: tuple[Path, ...]
    table_by: str | None = None
    """The command that prints the table; those of a block are in it."""

    @property
    def commands(self) -> list[str]:
        return COMMAND.findall(self.shown) if self.table_by is None else [f"{self.table_by}\n"]

    @property
    def before(self) -> str:
        """What stands in front of `shown` in the document."""
        return "```\n" if self.table_by is None else f"<!-- printed by: {self.table_by} -->\n\n"

    @property
    def ranges(self) -> list[str]:
        return [line for line in self.shown.splitlines() if RANGE.search(line)]

    def run(self) -> tuple[str, dict[Path, str]]:
        """The block as it should be, and the pictures to replace. Raises ExampleError."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for entry in filter(Path.is_dir, ROOT.iterdir()):
                (folder / entry.name).symlink_to(entry)
            printed = [execute(command, folder) for command in self.commands]
            data = "".join(command + output for command, output in zip(self.commands, printed, strict=True))
            drawn = {
                path: described((folder / path.name).read_text(), data)
                for path in self.pictures
                if (folder / path.name).exists()
            }
        shown = "".join(
            command * (self.table_by is None) + self._abridged(output)
            for command, output in zip(self.commands, printed, strict=True)
        )
        for line in self.ranges:
            if line not in shown.splitlines():
                raise ExampleError(f"no printed line is within\n{line}\n{data}")
        return shown, {path: svg for path, svg in drawn.items() if data_of(path) != data}

    def _abridged(self, output: str) -> str:
        lines: list[str] = []
        for line in output.splitlines():
            left_out = self.without is not None and re.search(self.without, line)
            if not left_out and (line or lines[-1:] != [GAP]):
                lines.append(next((known for known in self.ranges if stands_for(known, line)), line))
            elif lines[-1:] != [GAP]:
                if lines[-1:] == [""]:
                    del lines[-1]
                lines.append(GAP)
        return "".join(f"{line}\n" for line in lines)


def examples(document: Path) -> list[Example]:
    text = document.read_text()
    pictures = tuple(document.parent / name for name in PICTURE.findall(text))
    blocks = [Example(block["shown"], block["without"], pictures) for block in BLOCK.finditer(text)]
    return blocks + [Example(table["shown"], None, (), table["command"]) for table in TABLE.finditer(text)]


def execute(command: str, folder: Path) -> str:
    """What a command as in a document prints; blank lines around it and blanks at the ends of lines are left out."""
    # Unbuffered, so that both outputs are in order, as on a terminal.
    environment = {**os.environ, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        ["bash", "-c", command.removeprefix("$ ")],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ExampleError(f"{command}{done.stdout}ended with {done.returncode}")
    lines = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")
    return lines and lines + "\n"


def stands_for(known: str, line: str) -> bool:
    """Is `line` what a line with ranges stands for?"""
    words, printed = (re.split(r"[\s|]+", text) for text in (known, line))
    return len(words) == len(printed) and all(map(_word_stands_for, words, printed))


def _word_stands_for(word: str, printed: str) -> bool:
    bounds = RANGE.fullmatch(word)
    if not bounds or not re.fullmatch(r"[\d.]+", printed):
        return word == printed
    return float(bounds[1]) <= float(printed) <= float(bounds[2])


def described(svg: str, data: str) -> str:
    """An SVG with the data that it shows as its description."""
    return re.sub(
        r"(<svg.*?>\n)", lambda tag: f"{tag[1]}<desc>{html.escape(data)}</desc>\n", svg, count=1, flags=re.DOTALL
    )


def data_of(picture: Path) -> str | None:
    description = DESCRIPTION.search(picture.read_text()) if picture.exists() else None
    return description and html.unescape(description[1])


def compare(document: Path, example: Example, write: bool) -> bool:
    """Runs an example, and prints what differs. Is the document right, or was it set right?"""
    try:
        shown, pictures = example.run()
    except ExampleError as error:
        print(f"{document}: {error}")
        return False
    for line in difflib.unified_diff(
        example.shown.splitlines(), shown.splitlines(), "shown", "printed", lineterm="", n=0
    ):
        print(line)
    for picture in pictures:
        print(f"{picture}: its data has changed")
    if write:
        end = "```" if example.table_by is None else ""
        shown_before, shown_now = (f"{example.before}{text}{end}" for text in (example.shown, shown))
        document.write_text(document.read_text().replace(shown_before, shown_now))
        for picture, svg in pictures.items():
            picture.write_text(svg)
    return write or (shown == example.shown and not pictures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; end with 1 where something differs")
    parser.add_argument("--only", default="", metavar="TEXT", help="examples with this in a command")
    parser.add_argument("documents", nargs="+", type=Path, metavar="FILE")
    given = parser.parse_args()
    right = True
    for document in given.documents:
        for example in examples(document):
            if any(given.only in command for command in example.commands):
                print(end="".join(example.commands), flush=True)
                start = time.monotonic()
                right &= compare(document, example, write=not given.check)
                print(f"took {time.monotonic() - start:.0f} s\n", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
