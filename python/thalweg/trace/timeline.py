# SPDX-License-Identifier: Apache-2.0
"""A timeline: tracks of spans in groups, messages between tracks, and counters. Times are in microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar


class Span(NamedTuple):
    """A time span of a track.

    Attributes
    ----------
    begin, end : float
        Times in us.
    name : str
        Label.
    about : dict
        Further facts, shown at the pointer.
    """

    begin: float
    end: float
    name: str
    about: dict[str, object]


class Message(NamedTuple):
    """A message from one track to another.

    Attributes
    ----------
    sender, receiver : Track
        Its ends.
    begin, end : float
        Times of send and arrival in us.
    name : str
        Label.
    about : dict
        Further facts, such as tag and bytes.
    """

    sender: Track
    receiver: Track
    begin: float
    end: float
    name: str
    about: dict[str, object]


@dataclass(eq=False)
class Track:
    """The activity of one object, such as a rank or a communicator. Spans may overlap.

    Attributes
    ----------
    group : str
        Heading that the track is under.
    name : str
        The object.
    spans : list of Span
        Its activity.
    """

    group: str
    name: str
    spans: list[Span] = field(default_factory=list)


@dataclass(eq=False)
class Counter:
    """A value over time: each sample holds until the next one.

    Attributes
    ----------
    group : str
        Heading that the counter is under.
    name : str
        The value.
    unit : str
        Unit of the value.
    values : list of (float, float)
        Time in us and value of each sample.
    """

    group: str
    name: str
    unit: str
    values: list[tuple[float, float]] = field(default_factory=list)

    def changes(self) -> list[tuple[float, float]]:
        """Samples that differ from their predecessor."""
        before = [None, *(value for _, value in self.values)]
        return [(at, value) for (at, value), last in zip(self.values, before, strict=False) if value != last]


@dataclass
class Timeline:
    """Tracks of spans in groups, messages between tracks, and counters, with times in us.

    Attributes
    ----------
    title : str
        Title of the page.
    tracks : list of Track
        Activities.
    messages : list of Message
        Messages between tracks.
    counters : list of Counter
        Values over time.

    Examples
    --------
    >>> from thalweg.trace import Span, Timeline
    >>> timeline = Timeline("two spans")
    >>> timeline.track("ranks", "rank 0").spans += [Span(0.0, 1.5, "send", {}), Span(2.0, 2.5, "recv", {})]
    >>> timeline.end
    2.5
    """

    title: str
    tracks: list[Track] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)

    def track(self, group: str, name: str) -> Track:
        """Adds a track and returns it."""
        self.tracks.append(Track(group, name))
        return self.tracks[-1]

    def counter(self, group: str, name: str, unit: str) -> Counter:
        """Adds a counter and returns it."""
        self.counters.append(Counter(group, name, unit))
        return self.counters[-1]

    @property
    def end(self) -> float:
        """The end of the last span, message or sample, in us."""
        return max(
            [
                *(span.end for track in self.tracks for span in track.spans),
                *(message.end for message in self.messages),
                *(counter.values[-1][0] for counter in self.counters if counter.values),
            ],
            default=0.0,
        )


Lasting = TypeVar("Lasting", Span, Message)


def in_lanes(lasting: Iterable[Lasting]) -> list[list[Lasting]]:
    """Distributes spans or messages over as few lanes as possible without overlap in a lane.

    They are sorted by start, and if equal by length, longest first. Each goes into the first free lane.
    """
    lanes: list[list[Lasting]] = []
    for one in sorted(lasting, key=lambda one: (one.begin, -one.end)):
        for lane in lanes:
            if lane[-1].end <= one.begin:
                lane.append(one)
                break
        else:
            lanes.append([one])
    return lanes


def one_after_another(title: str, parts: Iterable[Timeline]) -> Timeline:
    """Concatenates timelines with gaps; tracks and counters of equal group and name are merged."""
    whole = Timeline(title)
    tracks: dict[tuple[str, str], Track] = {}
    counters: dict[tuple[str, str], Counter] = {}
    for part in parts:
        begin = 1.1 * whole.end
        now: dict[Track, Track] = {}
        for track in part.tracks:
            key = track.group, track.name
            now[track] = tracks[key] = tracks.get(key) or whole.track(*key)
            now[track].spans += [one._replace(begin=begin + one.begin, end=begin + one.end) for one in track.spans]
        whole.messages += [
            one._replace(
                sender=now[one.sender], receiver=now[one.receiver], begin=begin + one.begin, end=begin + one.end
            )
            for one in part.messages
        ]
        for counter in part.counters:
            key = counter.group, counter.name
            counters[key] = counters.get(key) or whole.counter(*key, counter.unit)
            counters[key].values += [(begin + at, value) for at, value in counter.values]
    return whole
