# SPDX-License-Identifier: Apache-2.0
"""Ports for servers of tests."""

from __future__ import annotations

import random
import socket


def free_ports(count: int) -> int:
    """The first of `count` consecutive free ports."""
    draw = random.SystemRandom()
    while True:
        first = draw.randrange(20_000, 32_000)
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + number))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
