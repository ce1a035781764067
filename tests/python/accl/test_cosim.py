# SPDX-License-Identifier: Apache-2.0
"""Does hardware execute calls and moves like the simulator? And would a difference be detected?"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from thalweg import cli
from thalweg.accl import AcclError, Cluster, Rank, run
from thalweg.errors import ThalwegError
from thalweg.systems.accl import cosim, rtl_engine

ROOT = Path(__file__).parents[3]


def sort_with(packet_bytes: int) -> Callable[[random.Random, Cluster], Cluster]:
    """cosim.random_sort, with packets of one size."""
    sort_of = cosim.random_sort

    def sort(draw: random.Random, cluster: Cluster) -> Cluster:
        name = cluster.node_names[cluster.boards[0]]
        return sort_of(draw, cluster).replace(node={name: {"packet_bytes": packet_bytes}})

    return sort


@pytest.mark.sample(6)
@pytest.mark.slow
@pytest.mark.usefixtures("few_plug_ins")
def test_random_programs(seed: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With packets of one size, as on the boards of other tests: hardware is built once for all of them."""
    monkeypatch.setattr(cosim, "random_sort", sort_with(Cluster.load("accl-u280-udp").board(0).packet_bytes))
    words = ["rtl", "cosim", "--cluster", "accl-u280-udp", "--runs", "1", "--seed", str(seed - seed % cosim.ALIKE)]
    assert cli.main(words) == 0, capsys.readouterr().err


def test_what_there_is_no_hardware_for_is_refused_with_the_clusters_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rtl", "cosim", "--cluster", "accl-u280-tcp", "--runs", "1"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "thalweg: accl-u280-tcp: transport is tcp; the RTL supports only udp"


@pytest.mark.long
@pytest.mark.parametrize("mode", [[], ["--moves"]], ids=["calls", "moves"])
def test_many_random_programs(mode: list[str]) -> None:
    assert cli.main(["rtl", "cosim", "--cluster", "accl-u280-udp", "--runs", "200", *mode]) == 0


@pytest.mark.long
@pytest.mark.usefixtures("few_plug_ins")
def test_a_rank_that_waits_in_vain_and_one_that_sends_another_length() -> None:
    """The hardware aborts the operation, and proceeds."""

    def program(rank: Rank) -> list[str]:
        said = []
        data, place = rank.create_buffer(np.arange(100, dtype=np.int32)), rank.create_buffer(100, np.int32)
        for count, tag in ((100, 1), (50, 2)):
            try:
                if rank.rank == 0:
                    rank.recv(place, 100, 1, tag=tag)
                elif tag == 2:
                    rank.send(data, count, 0, tag=tag)
            except AcclError as error:
                said.append(str(error))
            rank.pause(2000)
        if rank.rank == 0:
            rank.recv(place, 100, 1, tag=3)
            assert (place.array == data.array).all()
        else:
            rank.send(data, 100, 0, tag=3)
        return said

    result = run(program, ranks=2, hardware=[0, 1], time_out_us=1000)
    late, short = result.values[0]
    assert "waited for a message from rank 1 of its communicator with tag 1 for too long" in late
    assert "rank 1 has sent 200 bytes, but this rank has 400" in short
    assert result.values[1] == [] and result.lost == []


@pytest.mark.sample(6)
@pytest.mark.slow
@pytest.mark.usefixtures("few_plug_ins")
def test_hardware_and_simulator_beside_each_other(seed: int) -> None:
    def program(rank: Rank) -> None:
        draw = np.random.default_rng(seed)
        data = draw.integers(-100, 100, (4, 3000)).astype(np.int32)
        mine, all_ = rank.create_buffer(data[rank.rank]), rank.create_buffer(3000, np.int32)
        rank.allreduce(mine, all_, 3000, 0)
        assert (all_.array == data.sum(axis=0)).all()

    assert run(program, ranks=4, hardware=[1, 3], buffer_bytes=4096).lost == []


MUTANTS = {
    "status_of_another_call": (
        "call_report",
        "counts_q[call_number_i] <= given_q",
        "counts_q[call_number_i] <= 8'd1 + given_q",
    ),
    "communicator_of_another_address": ("communicators", "set_at_o = begin_q;", "set_at_o = begin_q + 13'd4;"),
    "buffers_at_one_address": ("configuration", "96'({data_q, low_q})", "96'(data_q)"),
    "segment_that_never_ends": ("mover", "on.segment = then_q;", "on.segment = row_q.segment;"),
    "takes_what_has_not_come": ("mover", "here_q <= takes ? found_q.bytes : '1;", "here_q <= '1;"),
    "result_stays_where_it_is": ("mover", "on.move.z.at = move.z.at + 48'(z_bytes_q);", "on.move.z.at = move.z.at;"),
    "ends_with_its_first_piece": ("mover", "wire ends = last_q || cancelled;", "wire ends = 1'b1;"),
    "packet_that_is_a_word_short": ("result", "16'(job_q.bytes) + 16'(WordBytes)", "16'(job_q.bytes)"),
    "rest_of_a_streams_last_word": ("result", "if (!keep_q[i]) stream", "if (1'b0) stream"),
    "done_before_it_is_written": ("result", "there && written_q != 0", "there"),
    "buffer_is_never_free": ("operand", "release_o <= ends && piece_q.releases;", "release_o <= 1'b0;"),
    "word_more_of_a_piece": ("operand", "words_of(job_q.bytes) - (PieceWords + 1)'(1)", "words_of(job_q.bytes)"),
    "payload_at_the_segments_begin": ("receiver", "+ 48'(found_q.offset),", ","),
    "frees_the_other_operands_buffer": ("move_engine", "releases[0] ? released[0] : released[1]", "released[0]"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_bug_is_found(name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within twenty programs. A segment has several packets: with packets as large as receive buffers some parts of the
    hardware are not used."""
    part, old, new = MUTANTS[name]
    for folder in ("rtl", "sim", "spec/generated", "tests/bisim"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    file = tmp_path / f"rtl/accl/parts/tw_{part}.sv"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    monkeypatch.setattr(rtl_engine, "find_root", lambda: tmp_path)
    monkeypatch.setattr(cosim, "random_sort", sort_with(512))
    cluster = Cluster.load("accl-u280-udp")
    first = seed - seed % cosim.ALIKE
    with pytest.raises(ThalwegError) as found:
        for number in range(first, first + 20):
            cosim.compare(cluster, number)
    print(found.value, file=sys.stderr)
