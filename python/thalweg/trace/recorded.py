# SPDX-License-Identifier: Apache-2.0
"""Recorded timelines, and the two files that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.cluster import Cluster
from thalweg.files import write_text, writing
from thalweg.trace.timeline import Timeline, one_after_another

if TYPE_CHECKING:
    from thalweg.trace.page import Table

LINKS = "links, % of their rate"
"""Group of the links' counters."""

LinkUse = tuple[int, int, int, Sequence[int]]
"""Use of one direction of a link: sending node and port, length of a window in ticks, and words sent in each window."""


@dataclass(frozen=True)
class Recorded:
    """A timeline, and the traffic of the cluster's links.

    Attributes
    ----------
    timeline : Timeline
        Tracks, messages and counters.
    cluster : Cluster
        The cluster, for the drawing.
    links : sequence of dict
        Rows with `node`, `port` and, under the key `unit`, the number of units sent.
    unit : str
        Unit of the traffic, such as "flits".
    """

    timeline: Timeline
    cluster: Cluster
    links: Sequence[dict[str, Any]] = ()
    unit: str = "flits"

    def write_trace(self, path: str | Path) -> None:
        """Writes a trace for https://ui.perfetto.dev. Raises InputError if the file cannot be written."""
        from thalweg.trace import perfetto

        with writing(Path(path)) as file:
            perfetto.write(self.timeline, file)

    def write_report(self, path: str | Path, facts: Sequence[str] = (), tables: Iterable[Table] = ()) -> None:
        """Writes an HTML page that also shows the lines `facts` and `tables`. Raises InputError if the file cannot be
        written."""
        from thalweg.cluster import draw
        from thalweg.trace import page

        carried = {(link["node"], link["port"]): link[self.unit] for link in self.links}
        drawing = draw.svg(self.cluster, carried, self.unit)
        write_text(Path(path), page.page(self.timeline.title, facts, list(tables), drawing, self.timeline))


def with_links(
    timeline: Timeline,
    cluster: Cluster,
    use: Iterable[LinkUse],
    ticks_per_us: float,
    words_per_us: float | None,
    unit: str,
    begin_us: float = 0.0,
) -> Recorded:
    """Returns the timeline with a counter for each direction of each link.

    Counters are in percent of the capacity `words_per_us`, or without it in `unit` per us. The timeline starts
    `begin_us` after tick 0.
    """
    peers, rows = cluster.topology.peer, []
    group, shown, whole = (
        (LINKS, "%", 100 / words_per_us) if words_per_us else (f"links, {unit} per us", f"{unit}/us", 1)
    )
    for node, port, ticks, words in sorted(use):
        counter = timeline.counter(group, f"{node}.{port} to {peers[node, port]}", shown)
        window = ticks / ticks_per_us
        # a window may start with a word carried over from the previous one
        most = 100.0 if words_per_us else float("inf")
        shares = [min(most, whole * count / window) for count in words] + [0.0]
        times = [max(0.0, number * window - begin_us) for number in range(len(shares))]
        counter.values += [
            (at, share) for at, share, end in zip(times, shares, [*times[1:], float("inf")], strict=True) if end > 0
        ]
        rows.append({"node": node, "port": port, unit: sum(words)})
    return Recorded(timeline, cluster, rows, unit)


def in_turn(title: str, parts: Sequence[Recorded]) -> Recorded:
    """Concatenates the timelines of several operations; the link traffic is that of the last one."""
    last = parts[-1]
    return Recorded(one_after_another(title, [part.timeline for part in parts]), last.cluster, last.links, last.unit)
