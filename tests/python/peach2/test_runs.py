# SPDX-License-Identifier: Apache-2.0
"""Is a run safe from other threads, and can it be interrupted without effect on its result?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.peach2 import Hubs, Operation

SIZE = 16 << 20
DATA = np.arange(SIZE // 4, dtype=np.uint32)


def long_put(hubs: Hubs) -> Operation:
    a, b = hubs.nodes[:2]
    a.gpus[0].write(0, DATA)
    return a.put(b.gpus[0].address(), a.gpus[0].address(), SIZE)


def test_another_thread_is_refused_while_one_runs() -> None:
    hubs = Hubs("peach2-ring-4")
    put = long_put(hubs)
    b = hubs.nodes[1]
    thread = threading.Thread(target=hubs.run)
    thread.start()
    calls = (hubs.run, lambda: b.work(1), lambda: b.gpus[0].read(0, 4), lambda: b.gpus[0].write(0, b"four"), b.counts)
    while thread.is_alive() and put.span_us is None:
        pass
    for call in calls:
        with pytest.raises(InputError, match="another thread runs this simulation; use it when that has ended"):
            call()
    thread.join()
    assert put.done and (b.gpus[0].read(0, DATA.size, DATA.dtype) == DATA).all()
    b.work(1)
    hubs.run()


def test_an_interrupted_run_continues_with_the_next() -> None:
    whole, hubs = Hubs("peach2-ring-4"), Hubs("peach2-ring-4")
    expected, put = long_put(whole), long_put(hubs)
    whole.run()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background command of a shell ignores it
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        hubs.run()
    signal.signal(signal.SIGINT, before)
    assert not put.done
    hubs.run()
    assert put.span_us == expected.span_us
    assert (hubs.nodes[1].gpus[0].read(0, DATA.size, DATA.dtype) == DATA).all()


EXHAUSTED = """
import resource
from thalweg.errors import InputError
from thalweg.peach2 import Hubs

hubs = Hubs("peach2-ring-4")
node = hubs.nodes[0]
node.copy(node.gpus[0], 0, node.gpus[1], 0, 1 << 30)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), resource.RLIM_INFINITY))
for call in (hubs.run, hubs.run, lambda: node.work(1), lambda: node.gpus[0].read(0, 4)):
    try:
        call()
    except (MemoryError, InputError) as error:
        print(type(error).__name__, error)
"""


def test_hubs_that_ran_out_of_memory_are_refused() -> None:
    """The copy is incomplete, and so is the step in which it failed: no later result could be relied on."""
    done = subprocess.run([sys.executable, "-c", EXHAUSTED], capture_output=True, text=True, check=True)
    first, *others = done.stdout.splitlines()
    assert first.startswith("MemoryError")
    assert others == ["InputError the last run ran out of memory, amid a step: create new hubs"] * 3
