# SPDX-License-Identifier: Apache-2.0
"""Is a network that one thread advances, without the interpreter's lock, refused to another one?"""

from __future__ import annotations

import threading

import pytest
from thalweg._core import NEVER
from thalweg.systems.ethernet.cluster import Cluster


def test_two_threads_cannot_advance_one_network() -> None:
    network = Cluster.load("ethernet-16").network()
    network.submit(handle=1, source=0, destination=1, payload=1500, frames=200_000)
    thread = threading.Thread(target=network.advance, args=(NEVER,))
    thread.start()
    while network.now == 0:
        pass
    with pytest.raises(ValueError, match="another thread runs this simulation"):
        network.advance(NEVER)
    thread.join()
    network.advance(NEVER)
    assert network.result(1).received == 200_000
