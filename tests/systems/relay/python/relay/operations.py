# SPDX-License-Identifier: Apache-2.0
"""Measurements on rings of relays: words that travel once around."""

from __future__ import annotations

from thalweg.bench.operation import Measured, Operation, Plan, parse_sizes
from thalweg.errors import InputError
from thalweg.trace import Span, Timeline
from thalweg.trace.recorded import in_turn, with_links

from relay.cluster import run

MAX_WORDS = 8
WORD = 8  # bytes


def _around(cluster, words):
    """The relays, and tick, node and sum of each of `words` words of node 0 when it was back."""
    relays = cluster.relays()
    for word in range(words):
        relays.send(0, 0, cluster.topology.nodes - 1, 1000 * word)
    return relays, run(relays)


def _bound_us(cluster, words):
    """Each link of the ring takes its latency, and a word follows the previous one after its interval."""
    (relay,), (cable,) = cluster.nodes.values(), cluster.links.values()
    cycles = cluster.topology.nodes * cable.latency + (words - 1) * cable.interval
    return cycles / cluster.clocks[relay.clock].frequency_mhz


def turn(cluster, *, words="1:8"):
    """`words`: the number that node 0 sends at once, a list or a range that doubles."""
    wanted = parse_sizes(words)
    if bad := [count for count in wanted if not 1 <= count <= MAX_WORDS]:
        raise InputError(f"{bad[0]} words; they are 1 to {MAX_WORDS}")
    nodes = cluster.topology.nodes

    def measure(progress, _):
        for index, count in enumerate(wanted):
            relays, done = _around(cluster, count)
            right = [total for _, _, total in done] == [1000 * word + sum(range(nodes)) for word in range(count)]
            time_us = done[-1][0] / relays.ticks_per_second * 1e6
            yield Measured(WORD * count, time_us, _bound_us(cluster, count), right, {"words": count})
            progress((index + 1) / len(wanted))

    def record(rows):
        parts = []
        for row in rows:
            relays, done = _around(cluster, row["words"])
            timeline = Timeline("")
            ticks_per_us = relays.ticks_per_second / 1e6
            for word, (tick, node, total) in enumerate(done):
                span = Span(0.0, tick / ticks_per_us, f"word {word}", {"to": f"node {node}", "sum": total})
                timeline.track("words of node 0", f"word {word}").spans.append(span)
            cable = next(iter(cluster.links.values()))
            clock = cluster.clocks[next(iter(cluster.nodes.values())).clock]
            rate = clock.frequency_mhz / cable.interval
            parts.append(with_links(timeline, cluster, relays.link_use(), ticks_per_us, rate, "words"))
        return in_turn(title, parts)

    title = f"turn on {cluster.name}"
    return Plan(cluster, "turn", title, "the last word is back", measure, record=record, draw=_time_over_words)


def _time_over_words(axes, rows):
    for key, label in (("time_us", "measured"), ("bound_us", "bound")):
        axes.plot([row["words"] for row in rows], [row[key] for row in rows], "o-", label=label)
    axes.set_xlabel("words")
    axes.set_ylabel("time in µs")


TURN = Operation(turn)
