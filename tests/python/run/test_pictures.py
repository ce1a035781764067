# SPDX-License-Identifier: Apache-2.0
"""Does the timeline of a run agree with its report?"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import thalweg
from thalweg.cli import main
from thalweg.trace import Counter

SOURCE = """
#include <mpi.h>
int main(int c, char** v) {
  int rank, ranks;
  double sum[64], own[64] = {0};
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 5; i++) {
    MPI_Allreduce(own, sum, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(own, 64, MPI_DOUBLE, (rank + 1) % ranks, i, sum, 64, MPI_DOUBLE, (rank + ranks - 1) % ranks, i,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (c > 1 && rank == 0) MPI_Recv(sum, 1, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
"""
THREADS = """
#include <mpi.h>
#include <pthread.h>
static MPI_Comm own[3];
static void* communicate(void* number) {
  for (int i = 0; i < 5; i++) MPI_Barrier(own[(long)number]);
  return NULL;
}
int main(int c, char** v) {
  int level;
  pthread_t started[3];
  MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &level);
  for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  for (long i = 1; i < 3; i++) pthread_create(&started[i], NULL, communicate, (void*)i);
  communicate(0);
  for (int i = 1; i < 3; i++) pthread_join(started[i], NULL);
  MPI_Finalize();
}
"""
CLUSTER = "mpi-fpga-torus-2x2x2"


def built(folder: Path, source: str) -> Path:
    (folder / "program.c").write_text(source)
    mpicc = Path(sys.executable).parent / "mpicc"
    subprocess.run([mpicc, "-O1", "-w", "-pthread", folder / "program.c", "-o", folder / "program"], check=True)
    return folder / "program"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("traced"), SOURCE)


def status(*words: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def carried(counter: Counter, flits_a_us: float) -> float:
    """Flits, from percents of the rate."""
    return sum(
        value / 100 * flits_a_us * (after - at)
        for (at, value), (after, _) in zip(counter.values, counter.values[1:], strict=False)
    )


def test_it_adds_up_to_the_report(program: Path) -> None:
    report = thalweg.run([program], CLUSTER, compute="none", record=True)
    timeline = report.recorded.timeline
    ranks = [track for track in timeline.tracks if track.name.startswith("rank ")]
    (world,) = [track for track in timeline.tracks if track.name == "MPI_COMM_WORLD"]
    (row,) = [row for row in report.collectives if row["function"] == "MPI_Allreduce"]
    spans = [span for span in world.spans if span.name == "MPI_Allreduce"]
    after_last = [span.end - float(str(span.about["last rank's entry"]).split()[0]) for span in spans]
    assert len(spans) == row["operations"] == 5
    assert sum(after_last) == pytest.approx(row["fabric_us"], rel=1e-3)

    assert len(timeline.messages) == report.messages == 5 * 8
    for message in timeline.messages:
        calls = [span for span in message.receiver.spans if span.name == "MPI_Sendrecv"]
        assert message.begin < message.end
        assert any(span.begin <= message.end <= span.end for span in calls), "somebody waits for it"

    last = defaultdict(float)
    for track, end in zip(ranks, report.ends_us, strict=True):
        for before, after in zip(track.spans, track.spans[1:], strict=False):
            assert before.end <= after.begin, "a rank is in one call at a time"
        last[track.name] = max(span.end for span in track.spans)
        assert last[track.name] <= end
    assert timeline.end == pytest.approx(report.virtual_time_us)

    cluster = thalweg.load(CLUSTER)
    flits_a_us = cluster.values.clock.frequency_mhz  # links of this preset take at least one flit per cycle
    counters = {counter.name.split(" ")[0]: counter for counter in timeline.counters}
    assert counters.keys() == {f"{link['node']}.{link['port']}" for link in report.links}
    for link in report.links:
        assert carried(counters[f"{link['node']}.{link['port']}"], flits_a_us) == pytest.approx(link["flits"])


def test_each_thread_has_a_track(tmp_path: Path) -> None:
    report = thalweg.run([built(tmp_path, THREADS)], CLUSTER, ranks=2, compute="none", record=True)
    tracks = [track for track in report.recorded.timeline.tracks if track.name.startswith("rank ")]
    assert [track.name for track in tracks] == [
        f"rank {rank} {who}" for rank in range(2) for who in (f"(node {rank})", "thread 1", "thread 2")
    ]
    for track in tracks:
        assert [span.name for span in track.spans].count("MPI_Barrier") == 5
        for before, after in zip(track.spans, track.spans[1:], strict=False):
            assert before.end <= after.begin, "a thread is in one call at a time"


def test_recording_changes_no_time(program: Path) -> None:
    plain, recorded = (thalweg.run([program], CLUSTER, compute="none", record=record) for record in (False, True))
    assert plain.recorded is None
    assert plain.as_json() == recorded.as_json()


def test_a_run_that_never_ends_is_drawn_up_to_there(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page, trace = tmp_path / "page.html", tmp_path / "trace"
    pictures = ["--trace", str(trace), "--report", str(page)]
    assert status("run", "--cluster", CLUSTER, "--compute", "none", *pictures, "--", str(program), "stop") == 124
    assert "rank 0: in MPI_Recv" in capfd.readouterr().err
    text = page.read_text()
    assert "rank 0: in MPI_Recv" in text and "MPI_Recv" in text and b"MPI_Recv" in trace.read_bytes()


def test_jobs_have_pictures(program: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    jobs = ["--cluster", CLUSTER, "--share", "sub-channels:1:1", "--compute", "none", "--report", str(page)]
    assert status("jobs", *jobs, "--", str(program), ":", str(program)) == 0
    assert "job 0: MPI_COMM_WORLD" in page.read_text() and "job 1: MPI_COMM_WORLD" in page.read_text()


@pytest.mark.parametrize("words", [["run"], ["jobs", "--share", "none"], ["bench", "allreduce"]], ids=" ".join)
def test_a_file_that_cannot_be_written_is_refused_first(
    words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for option in ("--trace", "--report"):
        program = [] if words[0] == "bench" else ["--", "true"]
        assert main([*words, "--cluster", CLUSTER, option, str(tmp_path / "no" / "file"), *program]) in (2, 125)
        said = capfd.readouterr().err
        assert "there is no directory" in said and said.count("\n") == 1


BENCHES: list[tuple[str, Callable[[dict[str, object]], float], dict[str, object]]] = [
    ("allreduce", lambda row: float(str(row["time_us"])), {"algorithm": "tree"}),
    ("latency", lambda row: float(str(row["time_us"])), {"hops": 2}),
    ("bandwidth", lambda row: float(str(row["time_us"])), {}),
]


@pytest.mark.parametrize(("operation", "time", "options"), BENCHES, ids=[name for name, *_ in BENCHES])
def test_operations_of_bench_end_when_they_were_measured_to_end(
    operation: str, time: Callable[[dict[str, object]], float], options: dict[str, object]
) -> None:
    from thalweg.systems.mpi_fpga.operations import OPERATIONS

    plan = OPERATIONS[operation].plan(thalweg.load("torus:2x2x2"), sizes=[8, 4096], **options)
    rows = plan.rows()
    assert plan.record is not None
    recorded = plan.record(rows)
    spans = [span for track in recorded.timeline.tracks for span in track.spans]
    ends: dict[float, float] = defaultdict(float)
    for one in [*spans, *recorded.timeline.messages]:
        ends[one.begin] = max(ends[one.begin], one.end)
    assert [end - begin for begin, end in sorted(ends.items())] == pytest.approx([time(row) for row in rows])
    assert recorded.links


def test_closed_forms_have_no_pictures(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--cluster", CLUSTER, "--engine", "model", "--report", str(tmp_path / "page.html")]
    assert main(["bench", "allreduce", *options]) == 2
    assert "--engine model executes nothing" in capfd.readouterr().err
