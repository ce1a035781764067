# SPDX-License-Identifier: Apache-2.0
"""Are deadlocks that only the network's buffers prevent found, and is each wait reported once, with a remedy?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from thalweg.cli import main
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.systems.smi.run import Run, Stuck, WrongUse

# Each rank of a ring pushes to the next one and pops from the previous one: all push first, or the odd ranks pop first.
RING = """#include <smi.h>
__kernel void ring(const int n, const int in_turns, __global int* right, const SMI_Comm comm) {
  const int rank = SMI_Comm_rank(comm), ranks = SMI_Comm_size(comm);
  SMI_Channel out = SMI_Open_send_channel(n, SMI_INT, (rank + 1) % ranks, 0, comm);
  SMI_Channel in = SMI_Open_receive_channel(n, SMI_INT, (rank + ranks - 1) % ranks, 0, comm);
  for (int phase = 0; phase < 2; phase++) {
    if (phase == (in_turns && rank % 2))
      for (int i = 0; i < n; i++) { int data = rank + i; SMI_Push(&out, &data); }
    else
      for (int i = 0; i < n; i++) { int data; SMI_Pop(&in, &data); right[0] += data == (rank + ranks - 1) % ranks + i; }
  }
}
"""


def ring(folder: Path, protocol: str | None, n: int, in_turns: int) -> list[int]:
    source = folder / "ring.cl"
    source.write_text(RING)
    run = Run("smi-noctua", ranks=4, protocol=protocol)
    found = [run.buffer(rank, np.zeros(1, np.int32)) for rank in range(4)]
    for rank, right in enumerate(found):
        run.kernel(source, "ring", rank, n=n, in_turns=in_turns, right=right)
    run.run()
    return [int(right.array[0]) for right in found]


@pytest.mark.parametrize("n", [1, 40])
def test_a_program_that_needs_buffers_stands_still_without_them(tmp_path: Path, n: int) -> None:
    assert ring(tmp_path, None, n, 0) == [n] * 4
    with pytest.raises(Stuck) as stuck:
        ring(tmp_path, "synchronous", n, 0)
    lines = stuck.value.lines
    assert lines[:2] == ["deadlock: no kernel can proceed", "  wait-for cycle:"]
    assert [line.split(" has waited ")[0].removeprefix("    kernel ring of ") for line in lines[2:]] in [
        [f"rank {(first + i) % 4}" for i in range(4)] for first in range(4)
    ]
    assert all(
        f"element 1 of {n}, for" in line and "it returns when the element is popped" in line for line in lines[2:]
    )


@pytest.mark.parametrize("protocol", ["eager", "degree", "synchronous"])
def test_a_program_that_needs_no_buffers_ends_by_all_protocols(tmp_path: Path, protocol: str) -> None:
    assert ring(tmp_path, protocol, 40, 1) == [40] * 4


def test_a_sender_is_ahead_by_the_degree(tmp_path: Path) -> None:
    """The paper's section 3.3: push k + 1 waits for the first pop. The sender of a message of 60 may push 14 elements
    before it asks for an answer."""
    source = tmp_path / "ahead.cl"
    source.write_text(
        """#include <smi.h>
__kernel void sends(const int ahead, const SMI_Comm comm) {
  SMI_Channel out = SMI_Open_send_channel_ad(60, SMI_INT, 1, 0, comm, 14), in = SMI_Open_receive_channel(1, SMI_INT, 1, 1, comm);
  for (int i = 0; i < 60; i++) { int data = i; if (i == ahead) SMI_Pop(&in, &data); SMI_Push(&out, &data); }
}
__kernel void takes(const SMI_Comm comm) {
  SMI_Channel in = SMI_Open_receive_channel_ad(60, SMI_INT, 0, 0, comm, 14), out = SMI_Open_send_channel(1, SMI_INT, 0, 1, comm);
  int data = 0;
  SMI_Push(&out, &data);
  for (int i = 0; i < 60; i++) SMI_Pop(&in, &data);
}
__kernel void late(const SMI_Comm comm) {
  SMI_Channel in = SMI_Open_receive_channel_ad(60, SMI_INT, 0, 0, comm, 14), out = SMI_Open_send_channel(1, SMI_INT, 0, 1, comm);
  int data = 0;
  for (int i = 0; i < 60; i++) { SMI_Pop(&in, &data); if (i == 20) SMI_Push(&out, &data); }
}
"""
    )

    def run(protocol: str, taker: str, ahead: int) -> None:
        made = Run("smi-noctua", ranks=2, protocol=protocol)
        made.kernel(source, "sends", 0, ahead=ahead)
        made.kernel(source, taker, 1)
        made.run()

    run("degree", "takes", 14)
    run("degree", "late", 42)
    with pytest.raises(Stuck):  # element 21 is not popped before the answer, and not pushed before it
        run("degree", "late", 14)


def test_an_element_in_a_packet_that_is_not_full_is_named_with_what_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "answers.cl"
    text = """#include <smi.h>
__kernel void app(SMI_Comm comm) {
  int data = 0;
  if (SMI_Comm_rank(comm) == 0) {
    SMI_Channel out = SMI_Open_send_channel(10, SMI_INT, 1, 0, comm), in = SMI_Open_receive_channel(10, SMI_INT, 1, 1, comm);
    for (int i = 0; i < 10; i++) { SMI_Push(&out, &data); SMI_Pop(&in, &data); }
  } else {
    SMI_Channel in = SMI_Open_receive_channel(10, SMI_INT, 0, 0, comm), out = SMI_Open_send_channel(10, SMI_INT, 0, 1, comm);
    for (int i = 0; i < 10; i++) { SMI_Pop(&in, &data); SMI_Push(&out, &data); }
  }
}
"""
    source.write_text(text)
    command = ["smi", "run", "-n", "2", "--cluster", "smi-noctua", str(source)]
    assert main(command) == FabricStopped.exit_code
    said = capsys.readouterr().err
    assert said.count("has waited since") == 2
    assert "into a packet that is not full (1 of 7 elements)" in said and "SMI_Push_flush" in said
    source.write_text(text.replace("SMI_Push(&out, &data)", "SMI_Push_flush(&out, &data, 1)"))
    assert main(command) == 0


def test_ends_of_which_one_is_eager_are_named(tmp_path: Path) -> None:
    source = tmp_path / "ends.cl"
    source.write_text(
        """#include <smi.h>
__kernel void sends(SMI_Comm comm) {
  int data = 0;
  SMI_Channel out = SMI_Open_send_channel_ad(20, SMI_INT, 1, 0, comm, 30);
  for (int i = 0; i < 20; i++) SMI_Push(&out, &data);
}
__kernel void takes(SMI_Comm comm) {
  int data = 0;
  SMI_Channel in = SMI_Open_receive_channel_ad(20, SMI_INT, 0, 0, comm, 7);
  for (int i = 0; i < 20; i++) SMI_Pop(&in, &data);
}
"""
    )
    run = Run("smi-noctua", ranks=2, protocol="degree")
    run.kernel(source, "sends", 0)
    run.kernel(source, "takes", 1)
    with pytest.raises(
        WrongUse,
        match=r"asynchronicity degree: (eager \(rank 0.* and 7 elements \(rank 1|7 elements \(rank 1.* and eager \(rank 0)",
    ):
        run.run()


def test_a_protocol_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match="protocol 'lazy'.*eager, degree, synchronous|lazy"):
        Run("smi-noctua", protocol="lazy")


# ---------------------------------------------------------------- data that no kernel receives

UNREAD = """#include <smi.h>
channel int inside[2] __attribute__((depth(8)));
__kernel void pushes(const int n, const SMI_Comm comm) {
  if (SMI_Comm_rank(comm) == 0) {
    SMI_Channel out = SMI_Open_send_channel(n, SMI_INT, 1, 3, comm);
    for (int i = 0; i < n; i++) SMI_Push(&out, &i);
  } else if (n < 0) {
    SMI_Channel in = SMI_Open_receive_channel(n, SMI_INT, 0, 3, comm);
    int data;
    SMI_Pop(&in, &data);
  }
}
__kernel void writes() { for (int i = 0; i < 5; i++) write_channel_intel(inside[1], i); }
__kernel void reads() { for (int i = 0; i < 2; i++) read_channel_intel(inside[1]); }
"""


def test_data_that_no_kernel_takes_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "unread.cl"
    source.write_text(UNREAD)
    run = Run("smi-noctua", ranks=2)
    run.kernel(source, "pushes", range(2), n=100)
    run.kernel(source, "writes", 1)
    run.kernel(source, "reads", 1)
    assert run.run().warnings == [
        f"rank 1, port 3: 100 of 100 elements from rank 0 are never popped (pushed by kernel pushes, {source}:6)",
        "channel inside[1] of rank 1: 3 of 5 values are never read (written by kernel writes)",
    ]
    command = ["smi", "run", "-n", "2", "--cluster", "smi-noctua", str(source), "--set", "n=100"]
    assert main(command) == 0
    assert capsys.readouterr().err.count("warning: ") == 3  # the channel's of both ranks
    assert main([*command, "--werror"]) == CheckFailed.exit_code
    assert "3 warnings, and --werror makes them errors" in capsys.readouterr().err


def test_data_for_kernels_that_serve_is_none(tmp_path: Path) -> None:
    source = tmp_path / "serves.cl"
    source.write_text(
        UNREAD
        + """__kernel void serves() { while (true) read_channel_intel(inside[1]); }
__kernel void pops(const SMI_Comm comm) {
  while (true) { SMI_Channel in = SMI_Open_receive_channel(10, SMI_INT, 0, 3, comm); for (int i = 0; i < 10; i++) { int data; SMI_Pop(&in, &data); } }
}
"""
    )
    run = Run("smi-noctua", ranks=2)
    run.kernel(source, "pushes", 0, n=10)
    run.kernel(source, "pops", 1)
    run.kernel(source, "writes", 1)
    run.kernel(source, "serves", 1)
    assert run.run().warnings == []
