# SPDX-License-Identifier: Apache-2.0
"""Puts and reductions of hubs: correct, above their bounds, and as fast as in PEACH2's own papers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import thalweg
from thalweg import cli
from thalweg.bench.operation import WrongRows
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.peach2 import bounds
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.hubs import Hubs, Memory, Node, Reduction
from thalweg.systems.peach2.running import Operation

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "options",
    [
        {"source": "cpu"},
        {"source": "gpu"},
        {"source": "cpu", "by": "store"},
        {"source": "gpu", "by": "copies"},
        {"source": "gpu", "descriptors": "host", "hops": 5},
    ],
    ids=str,
)
def test_a_put_is_right_and_above_its_bound(options: dict[str, str]) -> None:
    rows = thalweg.measure("put", "peach2", sizes="4:64K", **options)
    assert all(row["verified"] for row in rows)
    times = [round(row["time_us"], 6) for row in rows]
    assert times == sorted(times)


@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_long_put_takes_nearly_all_that_a_link_can_carry() -> None:
    """Published for this hub between processors' memories: 3.5 GB/s, 95 % of the payload rate of packets of 256 bytes
    on eight lanes."""
    rows = thalweg.measure("put", "peach2", sizes="1M:16M")
    assert Cluster.load("peach2").payload_gb() == pytest.approx(3.66, abs=0.005)
    assert all(0.95 <= row["share_of_payload"] < 1 for row in rows)
    assert thalweg.measure("put", "peach2", source="gpu", sizes="16M")[0]["gb_per_s"] == pytest.approx(2.8, rel=0.01)


@pytest.mark.parametrize(
    ("gen", "lanes", "gb", "part"),
    [
        (2, 8, 4 * 256 / (256 + 12 + 8 + 8), "host link"),
        (3, 4, 4 * 64 / 65 * 256 / (256 + 12 + 8 + 8), "host link"),
        (3, 8, 256 * 0.25 / 12, "DMA port"),
        (4, 16, 256 * 0.25 / 12, "DMA port"),
    ],
)
def test_a_put_is_within_2_percent_of_the_part_that_is_named(gen: int, lanes: int, gb: float, part: str) -> None:
    """Host memories are fast. A completion of 256 bytes has 12 of header and 8 of framing, and 8 are the acknowledgement of a
    read; the DMA controller takes twelve cycles of 250 MHz per packet."""
    cluster = Cluster.load("peach2").with_node(gen=gen, lanes=lanes, reads=64, processor_read_gb=40)
    assert cluster.link_gb() == pytest.approx({2: 0.5, 3: 0.985, 4: 1.969}[gen] * lanes, rel=1e-3)  # PCI-SIG
    (row,) = thalweg.measure("put", cluster, sizes="2M")
    assert row["bottleneck"].startswith(part) and row["verified"]
    assert 0.98 * gb <= row["gb_per_s"] <= gb
    assert row["time_us"] >= row["bound_us"]


def test_a_store_of_8_bytes_takes_what_is_published() -> None:
    """Between neighbours 0.8 us and 0.96 us (T. Hanawa et al., 2013: two papers)."""
    assert thalweg.measure("put", "peach2", by="store", sizes="8")[0]["time_us"] == pytest.approx(0.88, rel=0.1)


@pytest.mark.parametrize("nodes", [1, 2, 4, 8, 16])
def test_nodes_reduce_within_a_third_of_the_bound(nodes: int) -> None:
    for row in thalweg.measure("reduce", "peach2", nodes=nodes, sizes="32,1K,64K,256K"):
        assert row["verified"]
        assert row["bytes"] < 1 << 16 or row["time_us"] <= 1.3 * row["bound_us"]


def test_the_bound_of_a_reduction_is_its_bytes_over_the_bus() -> None:
    cluster = Cluster.load("peach2")
    one, two = (bounds.reduce_us(cluster, size, [0], 32, "hub") for size in (1 << 20, 2 << 20))
    assert two - one == pytest.approx((1 << 20) / (16 * 150))


@pytest.mark.parametrize(("reads", "ns"), [(16, 5000), (2, 2000), (2, 20_000)])
@pytest.mark.parametrize("operation", ["put", "reduce"])
def test_reads_in_flight_limit_times_and_bounds_alike(operation: str, reads: int, ns: int) -> None:
    """Small sizes have one round of reads, whose latency counts once; many rounds take nearly the bound."""
    cluster = Cluster.load("peach2-ring-4").with_node(reads=reads, gpu_read_ns=ns)
    options = {"source": "gpu"} if operation == "put" else {}
    rows = thalweg.measure(operation, cluster, sizes="32,512,1K,2K,4K,8K,256K", **options)
    assert all(row["verified"] and row["time_us"] >= row["bound_us"] for row in rows)
    assert rows[-1]["share"] > 0.9


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_reduction_by_the_processor_is_verified(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its copies, from both GPUs and back, matters."""
    copies = []

    def copy(node: Node, to: Memory, to_at: int, source: Memory, source_at: int, count: int) -> Operation:
        copies.append(to)
        return original(node, to, to_at + 64 * (len(copies) - 1 == lost), source, source_at, count)

    original = Node.copy
    assert thalweg.measure("reduce", "peach2-ring-4", by="cpu", sizes="1K")[0]["verified"]
    monkeypatch.setattr(Node, "copy", copy)
    with pytest.raises(WrongRows, match="reduce returned wrong results at 1024"):
        thalweg.measure("reduce", "peach2-ring-4", by="cpu", sizes="1K")
    assert len(copies) == 3


@pytest.mark.parametrize("by", ["host", "cpu"])
def test_other_ways_of_a_reduction(by: str) -> None:
    hub, other = (thalweg.measure("reduce", "peach2", by=way, sizes="1K")[0] for way in ("hub", by))
    assert other["verified"] and other["time_us"] > hub["time_us"]


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    assert cli.main(["bench", "reduce", "--cluster", "peach2-ring-4", "--sizes", "1K", "--json", str(file)]) == 0
    assert "reduce by hubs, on a node of peach2-ring-4" in capsys.readouterr().out
    assert '"verified": true' in json.dumps(json.loads(file.read_text()))


@pytest.mark.parametrize(
    ("operation", "options", "said"),
    [
        ("put", {"sizes": "6"}, "a positive multiple of 4"),
        ("put", {"hops": 9}, "give 1 to 5"),
        ("put", {"by": "store", "source": "gpu"}, "--by store needs --source cpu"),
        ("reduce", {"sizes": "48"}, "multiple of 32"),
        ("reduce", {"nodes": 17}, "peach2 has 16"),
        ("reduce", {"nodes": 2, "by": "cpu"}, "--by hub"),
    ],
)
def test_what_cannot_be_is_said(operation: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        thalweg.measure(operation, "peach2", **options)


def test_windows_that_lead_round_are_refused() -> None:
    hubs = Hubs("peach2-ring-4")
    pages = (1 << 27) - 1
    with pytest.raises(InputError, match="windows: page 0x.* cannot be reached from hub 0: packets loop"):
        hubs.load_windows([[(1, pages, 15 << 23, pages)]] * 4)


def test_an_operation_that_the_lanes_have_not_is_refused() -> None:
    hubs = Hubs("peach2-ring-4")
    node = hubs.nodes[0]
    with pytest.raises(
        InputError, match="'max int64' is not supported by the calculators of peach2-ring-4; supported are sum float32"
    ):
        node.reduce(node.processor.address(), [(node.gpus[0].address(), 64)], Reduction("max", "int64"))


def test_who_waits_is_said() -> None:
    hubs = Hubs("peach2-ring-4")
    hubs.nodes[2].wait_for(64, 1)
    with pytest.raises(
        FabricStopped, match="the processor of node 2 has waited since .* us for 1 at 64 of its memory"
    ) as stopped:
        hubs.run()
    (waits,) = stopped.value.blocked
    assert (waits.who, waits.what, waits.on) == ("the processor of node 2", "for 1 at 64 of its memory", "")
    assert f"since {waits.since_us:.3f} us" in str(stopped.value)
