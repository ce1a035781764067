#!/usr/bin/env python3
"""Writes docs/proofs.csv, and the table of it in docs/proofs.md, from what a whole `thalweg rtl prove --json FILE` found. A
result that is not as it should be ends it, and nothing is written.

    tests/proofs/document.py FILE
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = ("block", "set", "name", "method", "bound", "cycle", "seconds", "outcome")
HEAD = "| block | set | properties | method | bound | examples | s |\n|---|---|---|---|---|---|---|\n"


def row(results: list[dict[str, Any]]) -> tuple[str, ...]:
    """Of one set: what stands behind its name in the table."""
    examples = [r for r in results if r["method"] == "example"]
    seconds = f"{sum(r['seconds'] for r in results):.1f}"
    if any(r["outcome"] == "refuted" for r in results):
        cycles = ", ".join(str(r["cycle"]) for r in examples)
        return str(len(examples)), "refuted", f"cycle {cycles}", "", seconds
    proved = [r for r in results if r["method"] != "example"]
    methods = ", ".join(dict.fromkeys(r["method"] for r in proved))
    bounds = ", ".join(dict.fromkeys(str(r["bound"]) for r in proved if r["bound"]))
    properties = sum(r["name"] != "lemmas" for r in proved)
    return str(properties), methods, f"{bounds} cycles" if bounds else "none", str(len(examples) or ""), seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="Put the proofs into the docs.")
    parser.add_argument("file", metavar="FILE", type=Path, help="of a whole `thalweg rtl prove --json FILE`")
    results = json.loads(parser.parse_args().file.read_text())["rows"]
    wrong = [r for r in results if r["outcome"] not in ("proved", "reached", "refuted")]
    if wrong:
        print(f"not proved: {wrong[0]['block']} {wrong[0]['set']} {wrong[0]['name']}", file=sys.stderr)
        return 1
    with (DOCS / "proofs.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["property" if column == "name" else column for column in COLUMNS])
        rows.writerows([result[column] for column in COLUMNS] for result in results)
    lines = []
    for block, of_block in itertools.groupby(results, lambda result: result["block"]):
        for i, (name, of_set) in enumerate(itertools.groupby(of_block, lambda result: result["set"])):
            cells = ("" if i else block, name, *row(list(of_set)))
            lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |") + "\n")
    page = DOCS / "proofs.md"
    before, after = page.read_text().split(HEAD)
    page.write_text(before + HEAD + "".join(lines) + after[after.index("\n\n") + 1 :])
    return 0


if __name__ == "__main__":
    sys.exit(main())
