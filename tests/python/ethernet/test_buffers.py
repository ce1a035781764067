# SPDX-License-Identifier: Apache-2.0
"""Is a cluster refused if its switch cannot hold its boards' longest frame?"""

from __future__ import annotations

import pytest
from thalweg import load
from thalweg.errors import InputError


@pytest.mark.parametrize(
    ("cluster", "longest"),
    [
        ("accl-u280-udp", 14 + 20 + 8 + 64 + 8192),  # Ethernet, IPv4, UDP, ACCL's header, a packet
        ("accl-u280-tcp", 14 + 20 + 20 + 8960),  # Ethernet, IPv4, TCP, a segment
        ("vcsn-d5005", 14 + 16 + 143 * 64),  # Ethernet, VCSN's header with its sequence, 143 words
    ],
)
def test_a_switch_holds_the_longest_frame(cluster: str, longest: int) -> None:
    loaded = load(cluster)
    switch = next(name for name, table in loaded.nodes.items() if table.kind == "ethernet-switch")
    loaded.replace(node={switch: {"buffer_bytes": longest}})
    with pytest.raises(
        InputError, match=f"buffer_bytes is {longest - 1}; must hold the longest frame, {longest} bytes"
    ):
        loaded.replace(node={switch: {"buffer_bytes": longest - 1}})
