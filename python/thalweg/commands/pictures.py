# SPDX-License-Identifier: Apache-2.0
"""The options `--trace` (Perfetto timeline) and `--report` (HTML page)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thalweg.commands.named_files import OutputFile

if TYPE_CHECKING:
    from thalweg.trace import Recorded
    from thalweg.trace.page import Table


@dataclass(frozen=True)
class Pictures:
    """The requested output files."""

    trace: Path | None
    page: Path | None

    def __bool__(self) -> bool:
        return bool(self.trace or self.page)

    def write(
        self, recorded: Recorded, facts: Sequence[str] = (), tables: Callable[[], Iterable[Table]] = list
    ) -> None:
        """Writes the requested files; the page also shows the lines `facts` and `tables`."""
        if self.trace:
            recorded.write_trace(self.trace)
        if self.page:
            recorded.write_report(self.page, facts, tables())


def picture_options(command: Any) -> Any:
    """Decorator: adds `--trace FILE` and `--report FILE`, passed as `trace_file` and `page_file`."""
    trace = click.option(
        "--trace", "trace_file", type=OutputFile(), metavar="FILE", help="Also write a timeline for Perfetto."
    )
    page = click.option(
        "--report",
        "page_file",
        type=OutputFile(),
        metavar="FILE.html",
        help="Also write an HTML page with timeline and link utilization.",
    )
    return trace(page(command))
