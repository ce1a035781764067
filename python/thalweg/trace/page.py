# SPDX-License-Identifier: Apache-2.0
"""A self-contained HTML page of a run: tables, a drawing of the cluster, and an interactive timeline."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.trace.timeline import Message, Span, Timeline, Track, in_lanes

SHOWN = 200_000
"""Maximum number of spans and messages on the page, the first ones. A trace has all."""
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    left: Sequence[str] = ()
    """Columns of text."""


def page(title: str, facts: Sequence[str], tables: Sequence[Table], drawing: str, timeline: Timeline) -> str:
    """Returns the page. `drawing` is an SVG, or empty."""
    everything = sum(len(track.spans) for track in timeline.tracks) + len(timeline.messages)
    until = _until(timeline)
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        *(f"<p>{html.escape(fact)}</p>" for fact in facts),
        '<h2>Timeline</h2><p class="note">Drag to move, Ctrl and wheel (or + and -) to zoom, 0 for all; point at a span for details. Messages are drawn only if few are in view.',
        f" Shows the first {SHOWN:,} of {everything:,} spans and messages." if everything > SHOWN else "",
        '</p><div id="timeline"><canvas tabindex="0" role="img" aria-label="Timeline"></canvas><div id="about"></div></div><div id="legend"></div>',
        f'<h2>Cluster</h2><div class="wide">{drawing}</div>' if drawing else "",
        *(f"<h2>{html.escape(table.title)}</h2>{_table(table)}" for table in tables if table.rows),
    ]
    data = json.dumps(_data(timeline, until), separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<style>\n{(_HERE / 'page.css').read_text()}</style>\n<body>\n{''.join(parts)}\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>\n{(_HERE / 'page.js').read_text()}</script>\n</body>\n</html>\n"
    )


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else html.escape(str(value))


def _table(table: Table) -> str:
    kind = ['class="text"' if column in table.left else "" for column in table.columns]
    head = "".join(f"<th {of}>{html.escape(name)}</th>" for of, name in zip(kind, table.columns, strict=True))
    rows = ("".join(f"<td {of}>{_cell(value)}</td>" for of, value in zip(kind, row, strict=True)) for row in table.rows)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _until(timeline: Timeline) -> float:
    """Returns the time at which the first `SHOWN` spans and messages have started."""
    begins = sorted(
        [*(span.begin for track in timeline.tracks for span in track.spans), *(m.begin for m in timeline.messages)]
    )
    return begins[SHOWN] if len(begins) > SHOWN else float("inf")


def _data(timeline: Timeline, until: float) -> dict[str, Any]:
    """Returns the data for page.js: spans and messages refer to their names and details by index into `texts`."""
    texts: dict[str, int] = {}

    def text(of: Span | Message) -> int:
        about = "".join(f"\n{name}: {_plain(value)}" for name, value in of.about.items())
        return texts.setdefault(of.name + about, len(texts))

    place: dict[Track, int] = {track: index for index, track in enumerate(timeline.tracks)}
    tracks = [
        {
            "group": track.group,
            "name": track.name,
            "lanes": [
                [(_short(span.begin), _short(span.end), text(span)) for span in lane]
                for lane in in_lanes(span for span in track.spans if span.begin < until)
            ],
        }
        for track in timeline.tracks
    ]
    messages = [
        (place[message.sender], place[message.receiver], _short(message.begin), _short(message.end), text(message))
        for message in timeline.messages
        if message.begin < until
    ]
    counters = [
        {
            "group": counter.group,
            "name": counter.name,
            "unit": counter.unit,
            "values": [(_short(at), float(f"{value:.3g}")) for at, value in counter.changes()],
        }
        for counter in timeline.counters
    ]
    end = min(timeline.end, until)
    return {"end": end, "tracks": tracks, "messages": messages, "counters": counters, "texts": list(texts)}


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _short(us: float) -> float:
    return round(us, 4)
