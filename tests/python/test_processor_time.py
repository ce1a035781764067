"""Is a program stopped after its processor time, and let alone while it waits for others?"""

from __future__ import annotations

import resource
import sys
import time
from subprocess import TimeoutExpired

import pytest
from thalweg import processor_time


def test_a_program_that_waits_takes_none() -> None:
    start = time.monotonic()
    done = processor_time.run([sys.executable, "-c", "import time; time.sleep(1.5); print(input())"], 1, "in")
    assert time.monotonic() - start > 1.5
    assert (done.returncode, done.stdout) == (0, "in\n")


def test_a_program_that_computes_is_stopped() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(TimeoutExpired) as stopped:
        processor_time.run([sys.executable, "-c", "print('first', flush=True)\nwhile True: pass"], 1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert 0.9 < after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3
    assert stopped.value.output == "first\n"


def test_status_and_errors_are_the_programs_own() -> None:
    done = processor_time.run([sys.executable, "-c", "import sys; sys.exit('no')"], 60)
    assert (done.returncode, done.stdout) == (1, "no\n")
    assert processor_time.run([sys.executable, "-c", "print(2)"]).stdout == "2\n"
