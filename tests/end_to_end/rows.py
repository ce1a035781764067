# SPDX-License-Identifier: Apache-2.0
"""The columns of the rows of every system's operations, read from the table of docs/python.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from programs import ROOT

DOCUMENTED = [
    line.split("`")[1]
    for line in (ROOT / "docs/python.md").read_text().partition("\n## Rows\n")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| `")
]


def check_schema(rows: Sequence[dict[str, Any]], cluster: str, operation: str) -> None:
    """Checks that rows begin with the documented columns, and that their values are as documented."""
    assert rows and DOCUMENTED[0] == "cluster"
    for row in rows:
        assert list(row)[: len(DOCUMENTED)] == DOCUMENTED
        assert (row["cluster"], row["operation"], type(row["bytes"])) == (cluster, operation, int)
        assert row["verified"] is True and row["until"] and row["bytes"] >= 0
        assert row["time_us"] > 0
        if row["bound_us"] is None:
            assert row["share"] is None
        else:
            assert 0 < row["bound_us"] <= row["time_us"]
            assert row["share"] == row["bound_us"] / row["time_us"]
        assert all(type(value) in (str, int, float, bool, type(None)) for value in row.values())
