# SPDX-License-Identifier: Apache-2.0
"""What of a launcher's words is taken out of what its ranks write?"""

from __future__ import annotations

from thalweg.launch import processes

RULE = b"-" * 74 + b"\n"
BANNER = (
    b"prterun noticed that process rank 1 with PID 7710 on node vm exited on\nsignal 6 (Aborted).\n"  # Open MPI 5.0.11
)
RANKS = b"a rank says\n" + RULE + b"prterun has nothing to do with it\n" + RULE


def test_what_open_mpis_launcher_says_is_taken_out_and_nothing_else() -> None:
    said = b"before\n" + RULE + BANNER + RULE + RANKS
    assert processes._AMONG_RANKS.sub(b"", said) == b"before\n" + RANKS
