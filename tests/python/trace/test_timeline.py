# SPDX-License-Identifier: Apache-2.0
"""Are a timeline's lanes, its trace and its page consistent? The trace is read with Perfetto's own description of its
format."""

from __future__ import annotations

import io
import json
import random
import re
from html.parser import HTMLParser
from typing import Any

from thalweg.cluster import draw
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.trace import Message, Span, Timeline, perfetto
from thalweg.trace import page as pages
from thalweg.trace.page import Table, page
from thalweg.trace.timeline import in_lanes
from traces import read_trace


def drawn(seed: int) -> Timeline:
    """Random, on a time grid, so that many spans begin where others end."""
    draw = random.Random(seed)
    timeline = Timeline("random")

    def times() -> tuple[float, float]:
        begin = draw.randrange(400) / 4
        return begin, begin + draw.randrange(1, 80) / 4

    tracks = [timeline.track(f"group {index % 2}", f"track {index}") for index in range(4)]
    for number in range(200):
        draw.choice(tracks).spans.append(Span(*times(), f"span {number}", {"number": number, "half": number / 2}))
    for number in range(60):
        sender, receiver = draw.sample(tracks, 2)
        timeline.messages.append(Message(sender, receiver, *times(), f"message {number}", {"to": receiver.name}))
    counter = timeline.counter("counted", "link 0", "%")
    counter.values += [(at / 2, draw.randrange(4)) for at in range(100)]
    return timeline


def test_lanes_are_as_few_as_overlap_allows_and_nothing_overlaps_on_one(seed: int) -> None:
    for track in drawn(seed).tracks:
        lanes = in_lanes(track.spans)
        assert sorted(span for lane in lanes for span in lane) == sorted(track.spans)
        for lane in lanes:
            assert all(before.end <= after.begin for before, after in zip(lane, lane[1:], strict=False))
        at_once = max(sum(one.begin <= span.begin < one.end for one in track.spans) for span in track.spans)
        assert len(lanes) == at_once


def test_a_trace_has_all_of_a_timeline(seed: int) -> None:
    timeline = drawn(seed)
    file = io.BytesIO()
    perfetto.write(timeline, file)
    spans, counters, flows = read_trace(file.getvalue())

    def ns(us: float) -> int:
        return round(us * 1000)

    def as_read(about: dict[str, Any]) -> str:
        return json.dumps({name: value or 0 for name, value in about.items()})

    assert spans == {
        *(
            (track.group, track.name, span.name, ns(span.begin), ns(span.end), as_read(span.about))
            for track in timeline.tracks
            for span in track.spans
        ),
        *(
            (one.sender.group, f"{one.sender.name}: messages", one.name, ns(one.begin), ns(one.end), as_read(one.about))
            for one in timeline.messages
        ),
    }
    assert flows == {
        ((f"{one.sender.name}: messages", one.name), (one.receiver.name, ns(one.end))) for one in timeline.messages
    }
    values = timeline.counters[0].values
    kept = {at: value for _, at, value in counters}
    for at, value in values:  # the last value written before then holds
        assert kept[max(time for time in kept if time <= ns(at))] == value


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.data = ""
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = f"{tag} {dict(attrs).get('id', '')}"

    def handle_data(self, data: str) -> None:
        if self._in.startswith("td") and data.strip():
            self.cells.append(data)
        if self._in == "script data":
            self.data += data


def seen(text: str) -> Seen:
    found = Seen()
    found.feed(text)
    return found


NASTY = "</script><b>&amp;"


def test_a_page_has_all_of_a_timeline_and_needs_nothing_else() -> None:
    timeline = drawn(1)
    timeline.tracks[0].spans.append(Span(0, 1, NASTY, {"what": NASTY}))
    text = page(NASTY, [NASTY], [Table("t", ["name", "us"], [[NASTY, 1 / 3], [None, 2]])], "", timeline)
    found = seen(text)
    assert found.cells == [NASTY, "0.3333", "2"]
    assert not [tag for tag, _ in found.tags if tag == "b"]
    assert not [tag for tag, attributes in found.tags if {"src", "href"} & set(attributes)]
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    data = json.loads(found.data)
    kept = {
        (track["name"], data["texts"][text].split("\n")[0], begin, end)
        for track in data["tracks"]
        for lane in track["lanes"]
        for begin, end, text in lane
    }
    assert kept == {(track.name, span.name, span.begin, span.end) for track in timeline.tracks for span in track.spans}
    assert [(data["tracks"][a]["name"], data["tracks"][b]["name"], x, y) for a, b, x, y, _ in data["messages"]] == [
        (one.sender.name, one.receiver.name, one.begin, one.end) for one in timeline.messages
    ]


def test_a_page_says_what_it_leaves_out(monkeypatch: Any) -> None:
    monkeypatch.setattr(pages, "SHOWN", 100)
    timeline = drawn(2)
    text = page("title", [], [], "", timeline)
    assert "Shows the first 100 of 260 spans and messages." in text
    data = json.loads(seen(text).data)
    assert sum(len(lane) for track in data["tracks"] for lane in track["lanes"]) + len(data["messages"]) in range(
        80, 101
    )


def test_links_have_the_colour_of_their_busier_direction() -> None:
    cluster = Cluster.load("torus:4x4x2")
    links = cluster.topology.links.tolist()
    (a, port_a, b, port_b), (c, port_c, *_) = links[5], links[40]
    drawing = draw.svg(cluster, {(a, port_a): 10, (b, port_b): 1000, (c, port_c): 7})
    paths = re.findall(r'<path class="link" stroke="(#\w+)"[^>]*><title>(.*?)</title>', drawing)
    assert len(paths) == sum(1 if port < 4 else 2 for _, port, *_ in links)  # one stub at either end of links in z
    colours = {title: colour for colour, title in paths}
    assert colours.pop(f"node {a} to {b}: 10 flits; {b} to {a}: 1000") == draw.HEAT[-1]
    assert colours.pop(next(title for title in colours if " 7 flits" in title)) == draw.HEAT[0]
    assert set(colours.values()) == {draw.UNUSED}
    assert "800 to 1000 flits in the busier direction" in drawing
