#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the results of `thalweg rtl prove [BLOCK...] --json FILE` into docs/proofs.csv, replacing the rows of the same
blocks. Stops without writing if any result is unexpected.

    tests/proofs/document.py FILE
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = ("block", "set", "name", "method", "bound", "cycle", "seconds", "outcome")


def main() -> int:
    parser = argparse.ArgumentParser(description="Put the proofs into the docs.")
    parser.add_argument("file", metavar="FILE", type=Path, help="of `thalweg rtl prove [BLOCK...] --json FILE`")
    results = json.loads(parser.parse_args().file.read_text())["rows"]
    wrong = [r for r in results if r["outcome"] not in ("proved", "reached", "refuted")]
    if wrong:
        print(f"not proved: {wrong[0]['block']} {wrong[0]['set']} {wrong[0]['name']}", file=sys.stderr)
        return 1
    with (DOCS / "proofs.csv").open(newline="") as file:
        header, *before = csv.reader(file)
    blocks = {result["block"] for result in results}
    rows = [row for row in before if row[0] not in blocks]
    rows += [[result[column] for column in COLUMNS] for result in results]
    with (DOCS / "proofs.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(sorted(rows, key=lambda row: row[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
