# SPDX-License-Identifier: Apache-2.0
"""Do traces and reports of PEACH2's and SMI's operations and programs show the measured values?"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import thalweg
from thalweg import cli
from thalweg.errors import FabricStopped, InputError
from thalweg.peach2 import Hubs
from thalweg.smi import Run, Stuck
from thalweg.systems import systems
from thalweg.trace import Recorded
from traces import read_trace

SENDS = """#include <smi.h>
__kernel void app(const int N, const SMI_Comm comm) {
  SMI_Channel to = SMI_Open_send_channel(N, SMI_INT, 1, 0, comm);
  for (int i = 0; i < N; i++) SMI_Push(&to, &i);
}
"""
TAKES = """#include <smi.h>
__kernel void app(const int N, const SMI_Comm comm) {
  SMI_Channel from = SMI_Open_receive_channel(N, SMI_INT, 0, 0, comm);
  int got;
  for (int i = 0; i < N; i++) SMI_Pop(&from, &got);
}
"""
POPS_FIRST = """#include <smi.h>
__kernel void app(SMI_Comm comm) {
  int other = 1 - SMI_Comm_rank(comm), v = 0;
  SMI_Channel in = SMI_Open_receive_channel(1, SMI_INT, other, 0, comm), out = SMI_Open_send_channel(1, SMI_INT, other, 0, comm);
  SMI_Pop(&in, &v);
  SMI_Push(&out, &v);
}
"""

BENCHES: list[tuple[str, str, dict[str, Any]]] = [
    ("peach2-ring-4", "put", {"sizes": "8,4K", "hops": 2}),
    ("peach2-ring-4", "reduce", {"sizes": "1K,4K"}),
    ("smi-noctua", "push", {"sizes": "64,4K"}),
    ("smi-noctua", "reduce", {"sizes": "64,1K"}),
    ("smi-noctua", "trees", {"sizes": "64,1K"}),
    ("accl-u280-udp", "put", {"sizes": "64,16K"}),
    ("accl-u280-rdma", "sendrecv", {"sizes": "64,16K"}),
    ("accl-u280-udp", "allreduce", {"ranks": 4, "by": "host", "sizes": "64,16K"}),
    ("accl-u280-udp", "b_eff", {"sizes": "64,16K", "way": "both", "by": "both"}),
    ("noctua2-mpi", "b_eff", {"sizes": "64,16K"}),
    ("mpi-fpga-torus-2x2x2", "allreduce", {"sizes": "8,4K"}),
    ("mpi-fpga-torus-2x2x2", "jobs", {"sizes": "8,4K", "share": "sub-channels:1:1"}),
]


@pytest.mark.parametrize(("cluster", "operation", "options"), BENCHES, ids=[f"{a}-{b}" for a, b, _ in BENCHES])
def test_operations_take_their_time_on_the_timeline(
    cluster: str, operation: str, options: dict[str, Any], tmp_path: Path
) -> None:
    loaded = thalweg.load(cluster)
    system = systems()[loaded.system]
    plan = system.python(system.operations, operation).plan(loaded, **options)
    rows = plan.rows()
    assert not isinstance(plan.record, str)
    recorded = plan.record(rows)
    spans = sorted(span for track in recorded.timeline.tracks for span in track.spans)
    ends: list[list[float]] = []
    for span in spans:  # of operations with a gap between them
        if not ends or span.begin > ends[-1][1]:
            ends.append([span.begin, span.end])
        ends[-1][1] = max(ends[-1][1], span.end)
    times = [row["time_us"] for row in rows if not row.get("job")]  # jobs of equal shares take equally long
    assert [end - begin for begin, end in ends] == pytest.approx(times, rel=0.02)
    counted = defaultdict(float)
    for counter in recorded.timeline.counters:
        counted[counter.name.split()[0]] = sum(value for _, value in counter.values)
    assert operation == "jobs" or {f"{link['node']}.{link['port']}" for link in recorded.links} <= counted.keys()
    assert all(value > 0 for value in counted.values())
    recorded.write_trace(tmp_path / "trace")
    read, _, _ = read_trace((tmp_path / "trace").read_bytes())
    assert {name for _, _, name, *_ in read} == {span.name for span in spans}


def test_what_links_carry_is_counted(tmp_path: Path) -> None:
    """A put of 64 KByte over two cables: 256 packets of a header and 8 lines of data, then the notice."""
    hubs = Hubs("peach2-ring-4", record=True)
    one, other = hubs.nodes[0], hubs.nodes[2]
    put = one.put(other.processor.address(), one.processor.address(), 1 << 16)
    hubs.run()
    recorded = hubs.recorded("one put")
    carried = {(link["node"], link["port"]): link["words"] for link in recorded.links}
    assert carried[0, 0] == carried[1, 0] == pytest.approx(256 * 9, abs=4)
    (track,) = [track for track in recorded.timeline.tracks if track.spans]
    assert track.name == "node 0" and track.spans[0][:3] == (put.begin_us, put.end_us, "chain")
    assert track.spans[0].about == {"bytes": 1 << 16, "to": "the processor of node 2"}
    recorded.write_report(tmp_path / "page.html")
    assert "one put" in (tmp_path / "page.html").read_text()
    with pytest.raises(InputError, match="these hubs do not record"):
        Hubs("peach2-ring-4").recorded()


def test_an_operation_that_never_ends_is_drawn() -> None:
    hubs = Hubs("peach2-ring-4", record=True)
    hubs.nodes[1].wait_for(64, 1)
    with pytest.raises(FabricStopped):
        hubs.run()
    spans = [span for track in hubs.recorded().timeline.tracks for span in track.spans]
    assert [span.name for span in spans] == ["wait_for, not ended"]


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    sends, takes = tmp_path / "sends.cl", tmp_path / "takes.cl"
    sends.write_text(SENDS)
    takes.write_text(TAKES)
    return sends, takes


def ran(sources: tuple[Path, Path], given: int, taken: int, record: bool = True) -> tuple[Run, float]:
    run = Run("smi-noctua", ranks=2, record=record)
    run.kernel(sources[0], "app", 0, N=given)
    run.kernel(sources[1], "app", 1, N=taken)
    return run, run.run().time_us


def test_kernels_stall_for_what_is_said(sources: tuple[Path, Path]) -> None:
    """1000 ints fill 143 packets; the receiver waits for the first one, and both for the link."""
    run, time = ran(sources, 1000, 1000)
    assert time == ran(sources, 1000, 1000, record=False)[1]
    recorded = run.recorded
    assert isinstance(recorded, Recorded) and recorded.unit == "packets"
    assert [link["packets"] for link in recorded.links if link["node"] == 0] == [pytest.approx(143, abs=2)]
    sends, takes = recorded.timeline.tracks
    assert (takes.name, takes.spans[0].name) == ("rank 1: app", "app")
    assert max(span.end for span in takes.spans) == pytest.approx(time, rel=0.01)
    first = min(span for span in takes.spans if span.name == "pop from port 0 of rank 1")
    assert first.begin < 0.1 and first.end > 0.7  # the link's latency
    assert sends.spans[0].end < takes.spans[0].end


def test_a_deadlock_is_drawn_up_to_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, page, trace = (tmp_path / name for name in ("app.cl", "page.html", "trace"))
    source.write_text(POPS_FIRST)
    run = Run("smi-noctua", ranks=2, record=True)
    run.kernel(source, "app", [0, 1])
    with pytest.raises(Stuck):
        run.run()
    assert run.recorded is not None
    assert [track.spans[0].about for track in run.recorded.timeline.tracks] == [{"ended": "no"}] * 2
    words = ["--cluster", "smi-noctua", "-n", "2", "--report", str(page), "--trace", str(trace)]
    assert cli.main(["smi", "run", str(source), *words]) == 3
    assert "deadlock: no kernel can proceed" in capsys.readouterr().err
    assert "kernel app of rank 0 has waited" in page.read_text() and read_trace(trace.read_bytes())


@pytest.mark.parametrize(("operation", "why"), [("traffic", "not recorded"), ("faults", "not recorded")])
def test_no_timeline_is_one_line(operation: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", operation, "--cluster", "torus:4x4", "--trace", "trace"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert f"{operation} supports neither --trace nor --report: " in said and why in said and said.count("\n") == 1
