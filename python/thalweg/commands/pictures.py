# SPDX-License-Identifier: Apache-2.0
"""`--trace` and `--report`: what happened when, for Perfetto, and on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thalweg.commands.output import OutputFile, write_text, writing

if TYPE_CHECKING:
    from thalweg.bench.operation import Recorded
    from thalweg.cluster import Cluster
    from thalweg.trace.page import Table


@dataclass(frozen=True)
class Pictures:
    """The files that were asked for."""

    trace: Path | None
    page: Path | None

    def __bool__(self) -> bool:
        return bool(self.trace or self.page)

    def write(
        self,
        recorded: Recorded,
        cluster: Cluster,
        facts: Sequence[str] = (),
        tables: Callable[[], Iterable[Table]] = list,
    ) -> None:
        """Writes them; the page has `facts`, which are lines, and `tables`."""
        from thalweg.cluster import draw
        from thalweg.trace import page, perfetto

        if self.trace:
            with writing(self.trace) as file:
                perfetto.write(recorded.timeline, file)
        if self.page:
            flits = {(link["node"], link["port"]): link["flits"] for link in recorded.links}
            title = recorded.timeline.title
            drawing = draw.svg(cluster, flits)
            write_text(self.page, page.page(title, facts, list(tables()), drawing, recorded.timeline))


def picture_options(command: Any) -> Any:
    """Decorator: adds `--trace FILE` and `--report FILE` as `trace_file` and `page_file`."""
    trace = click.option(
        "--trace", "trace_file", type=OutputFile(), metavar="FILE", help="Also write what happened when, for Perfetto."
    )
    page = click.option(
        "--report",
        "page_file",
        type=OutputFile(),
        metavar="FILE.html",
        help="Also write a page with timeline and links' use.",
    )
    return trace(page(command))
