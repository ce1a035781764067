# SPDX-License-Identifier: Apache-2.0
"""Do times and rates on SMI's clusters follow from polling, links and the paper?"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import thalweg
from thalweg.errors import InputError
from thalweg.systems.smi import operations
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.reproduce import Evaluation


def test_polling_and_links_set_the_rate_of_injection() -> None:
    """Table 4 of the paper: R packets in R + 4 cycles. A link of 40 Gb/s takes a packet of 32 bytes in 6.4 ns."""
    link = 32 * 8 / 40 * 0.2596
    for row in thalweg.measure("injection", "smi-noctua", reads="1,4,8,16", messages=1000):
        assert row["cycles"] == pytest.approx(max((row["reads"] + 4) / row["reads"], link), rel=0.01)


@pytest.mark.parametrize(
    ("operation", "options", "says"),
    [
        ("injection", {"reads": "0"}, "reads is 0; it must be 1 to 256"),
        ("injection", {"reads": "4,257"}, "reads is 257"),
        ("push", {"circuit_packets": 15}, "circuit_packets is 15, but switching is packet"),
        ("latency", {"circuit_packets": 15, "switching": "packet"}, "circuit_packets is 15, but switching is packet"),
    ],
)
def test_options_that_do_not_fit_are_refused(operation: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        thalweg.measure(operation, "smi-noctua", **options)


@pytest.mark.parametrize("operation", ["reduce", "trees"])
def test_a_reduction_of_too_many_ranks_is_refused(operation: str) -> None:
    with pytest.raises(InputError, match="one has 63 children, and its hardware takes 15: give at most 16 ranks"):
        thalweg.measure(operation, "smi-torus-8x8", sizes=8)


def test_a_kernel_pushes_an_element_a_cycle() -> None:
    (row,) = thalweg.measure("push", "smi-noctua", sizes="64K")
    assert row["verified"] and row["time_us"] == pytest.approx(row["bound_us"], rel=0.02)


@pytest.mark.parametrize("gbit_s", [0.1, 0.25, 1.0])
def test_a_slow_link_is_no_reason_to_be_below_the_bound(gbit_s: float) -> None:
    noctua = Cluster.load("smi-noctua")
    links = {name: link.model_copy(update={"gbit_s": gbit_s}) for name, link in noctua.links.items()}
    slow = dataclasses.replace(noctua, links=links)
    for operation, options in (("push", {"element": "char", "hops": 3}), ("push", {"senders": 1}), ("reduce", {})):
        for row in thalweg.measure(operation, slow, sizes=[8, 400], **options):
            assert row["verified"] and row["bound_us"] <= row["time_us"]


def test_four_kernels_use_both_cables_to_a_neighbour() -> None:
    """A link of 40 Gb/s carries 24 bytes of doubles in 32; ranks 0 and 1 have two."""
    (row,) = thalweg.measure("push", "smi-noctua", sizes="256K", element="double", senders=4)
    assert row["verified"]
    assert row["bound_us"] - 0.73 == pytest.approx(256 * 1024 * 8e-3 / 60, rel=0.01)
    assert 1.4 * 30 < row["gbit_per_s"] < 60


def test_circuits_pay_where_links_are_slower_than_kernels() -> None:
    """A kernel's floats fill a link of 8 Gb/s. Headers take an eighth of it with packets, a sixteenth with circuits in
    parts, nothing with whole-message circuits."""
    noctua = Cluster.load("smi-noctua")
    links = {name: link.model_copy(update={"gbit_s": 8.0}) for name, link in noctua.links.items()}
    slow = dataclasses.replace(noctua, links=links)
    for switching, packets, rate in (("packet", 0, 7), ("circuit", 0, 8), ("circuit", 15, 7.5)):
        (row,) = thalweg.measure("push", slow, sizes="64K", switching=switching, circuit_packets=packets)
        assert row["verified"] and row["time_us"] == pytest.approx(row["bound_us"], rel=0.02)
        assert 64 * 1024 * 8e-3 / (row["time_us"] - slow.link.latency_ns / 1e3) == pytest.approx(rate, rel=0.02)


def test_a_short_message_waits_for_a_circuit() -> None:
    """The circuit of a whole message is held until its kernel has pushed the second half, one element per cycle;
    circuits in parts leave a gap."""
    noctua = Cluster.load("smi-noctua")
    waits = 16384 / 4 / 2 / noctua.mhz
    times = {
        (switching, packets): thalweg.measure(
            "latency", noctua, sizes="16K", switching=switching, circuit_packets=packets
        )[0]["time_us"]
        for switching, packets in (("packet", 0), ("circuit", 0), ("circuit", 15))
    }
    assert times["circuit", 0] - times["packet", 0] == pytest.approx(waits, rel=0.05)
    assert times["circuit", 15] - times["packet", 0] < 0.1
    # Over another link nothing is delayed.
    away, ran = operations.behind(noctua.with_node(switching="circuit"), "float", 4096, peer=1, to=2)
    assert ran.right and away == pytest.approx(times["packet", 0], rel=0.05)


@pytest.mark.sample(2)
@pytest.mark.slow
def test_bandwidth_does_not_depend_on_the_distance() -> None:
    """Section 5.3.1: at least 91 % of 35 Gb/s; and of 30 Gb/s with three doubles per packet."""
    for element, senders, peak in (("float", 4, 35), ("double", 2, 30)):
        rates = [
            thalweg.measure("push", "smi-noctua-bus", element=element, senders=senders, hops=hops, sizes="4M")[0][
                "gbit_per_s"
            ]
            for hops in (1, 4, 7)
        ]
        assert min(rates) >= 0.91 * peak
        assert max(rates) < 1.01 * min(rates)


@pytest.mark.slow
def test_latency_follows_from_one_hop() -> None:
    """Table 3: 4 and 7 hops within 11 %, derived from the latency of one hop."""
    rows = {row.id: row for row in Evaluation()._latency()}
    assert rows["smi.latency.1"].measured == pytest.approx(0.801, rel=0.01)
    for hops, published in ((4, 2.896), (7, 5.103)):
        assert rows[f"smi.latency.{hops}"].measured == pytest.approx(published, rel=0.11)


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("operation", ["broadcast", "reduce", "scatter", "gather"])
def test_collectives_give_each_kernel_its_elements(operation: str) -> None:
    for options in ({}, {"root": 2, "ranks": 5}, {"element": "double", "ranks": 3}, {"element": "char", "root": 7}):
        sizes = "8,56,792" if options.get("element") == "double" else "4,28,404"
        rows = thalweg.measure(operation, "smi-noctua", sizes=sizes, **options)
        assert all(row["verified"] and row["time_us"] >= row["bound_us"] for row in rows)


@pytest.mark.slow
def test_a_result_takes_the_way_through_the_port_on_any_number_of_ranks() -> None:
    """8 cycles of the adder and 8 of the port's registers and memories, if tiles cover the round trip; the children's
    elements do not delay the root's. With tiles of 32, a tile takes a round trip of 900 cycles."""
    for ranks, tile, cycles in ((2, 128, 16), (8, 128, 16), (8, 32, 900 / 32)):
        board = Cluster.load("smi-noctua").with_node(tile=tile)
        short, long = (row["time_us"] for row in thalweg.measure("reduce", board, ranks=ranks, sizes="2K,4K"))
        assert (long - short) * 259.6 / 512 == pytest.approx(cycles, rel=0.02)


@pytest.mark.slow
def test_trees_are_faster_from_some_size_on_and_one_order_costs_little() -> None:
    """A linear root sends each packet to 7 children, a tree's to 2, and each position again: 7 / 4 if only that counts."""
    rows = thalweg.measure("trees", "smi-noctua", sizes="256,4K,64K")
    assert operations.faster_from(rows, "broadcast") == 4096 and operations.faster_from(rows, "reduce") == 4096
    by = {(row["collective"], row["bytes"]): row for row in rows}
    assert 1.3 < by["broadcast", 65536]["times_as_fast"] < 7 / 4
    assert by["reduce", 256]["times_as_fast"] < 1 < by["reduce", 65536]["times_as_fast"]
    assert all(1 <= row["order_costs"] <= 1.3 for row in rows if row["collective"] == "reduce")
