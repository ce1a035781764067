# SPDX-License-Identifier: Apache-2.0
"""Is a program stopped after its processor time, and not while it waits for others?"""

from __future__ import annotations

import sys
import time
from subprocess import TimeoutExpired

import pytest
from thalweg.launch import processor_time


def test_a_program_that_waits_takes_none() -> None:
    start = time.monotonic()
    done = processor_time.run([sys.executable, "-c", "import time; time.sleep(1.5); print(input())"], 1, "in")
    assert time.monotonic() - start > 1.5
    assert (done.returncode, done.stdout) == (0, "in\n")


def test_a_program_that_computes_is_stopped() -> None:
    """It requests a signal every 0.7 s, by the clock of the limit: Linux accounts whole ticks to the process that runs
    at a tick, so getrusage reports less if others run between ticks (0.75 s measured)."""
    program = """
import signal
signal.signal(signal.SIGPROF, lambda *_: print("0.7 s", flush=True))
signal.setitimer(signal.ITIMER_PROF, 0.7, 0.7)
while True:
    pass
"""
    with pytest.raises(TimeoutExpired) as stopped:
        processor_time.run([sys.executable, "-c", program], 1)
    assert stopped.value.output == "0.7 s\n"


def test_status_and_errors_are_the_programs_own() -> None:
    done = processor_time.run([sys.executable, "-c", "import sys; sys.exit('no')"], 60)
    assert (done.returncode, done.stdout) == (1, "no\n")
    assert processor_time.run([sys.executable, "-c", "print(2)"]).stdout == "2\n"
