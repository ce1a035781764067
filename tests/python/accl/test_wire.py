# SPDX-License-Identifier: Apache-2.0
"""Are the messages of ACCL's driver parsed correctly, and are all others refused in one line?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg.systems.accl import wire
from thalweg.systems.accl.names import return_bits

LIMITS = wire.Limits(memory=1 << 20, message=1 << 18)
CALL = {
    **{
        "type": 5,
        "ctrl_id": 2,
        "scenario": 3,
        "count": 16,
        "comm": 456,
        "root_src_dst": 1,
        "function": 0,
        "tag": 0xFFFFFFFF,
    },
    **{
        "arithcfg": 584,
        "compression_flags": 0,
        "stream_flags": 0x402,
        "addr_0": 0x1_0000_2000,
        "addr_1": 0,
        "addr_2": 2**64 - 1,
    },
}


def read(message: Any) -> wire.Request:
    return wire.request(message if isinstance(message, bytes) else json.dumps(message).encode(), LIMITS)


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        ({"type": 0, "addr": 0x1FFC}, wire.ReadWord(0x1FFC)),
        ({"type": 1, "addr": 8, "wdata": 0xFFFFFFFF}, wire.WriteWord(8, 0xFFFFFFFF)),
        ({"type": 2, "addr": 4096, "len": 64, "host": False}, wire.Load(False, 4096, 64)),
        ({"type": 3, "addr": 4096, "wdata": [0, 255], "host": True}, wire.Store(True, 4096, b"\x00\xff")),
        ({"type": 3, "addr": 4096, "wdata": None, "host": True}, wire.Store(True, 4096, b"")),
        ({"type": 4, "addr": 0, "len": 1 << 20, "host": False}, wire.Allocate(False, 0, 1 << 20)),
        (
            CALL,
            wire.Start(2, [3, 16, 456, 1, 0, 0xFFFFFFFF, 584, 0, 0x402, 0x2000, 1, 0, 0, 0xFFFFFFFF, 0xFFFFFFFF]),
        ),
        ({"type": 6, "ctrl_id": 1}, wire.Poll(1)),
        ({"type": 6, "ctrl_id": 1, "more": 1}, wire.Poll(1)),
    ],
)
def test_requests(message: dict[str, Any], request_: wire.Request) -> None:
    assert read(message) == request_


@pytest.mark.parametrize(
    ("message", "says", "status"),
    [
        (b"", "invalid JSON: Expecting value", -1),
        (b"\xff\xfe\x00", "invalid JSON", -1),
        (b"[" * 50_000, "invalid JSON", -1),
        (b'{"type":' + b"9" * 5000 + b"}", "invalid JSON", -1),
        (b"[1]", "not a JSON object: a list of 1", -1),
        ({}, "type is missing", -1),
        ({"type": None}, "type is null; must be an integer", -1),
        ({"type": {"a": 1}}, "type is an object of 1 fields", -1),
        ({"type": True}, "type is true; must be an integer", -1),
        ({"type": 7}, "type is 7; must be 0 to 6", -1),
        ({"type": 1.0}, "type is 1.0", -1),
        ({"type": 0}, "request of type 0: addr is missing", 1),
        ({"type": 0, "addr": -4}, "request of type 0: addr is -4", 1),
        ({"type": 0, "addr": "0" * 500}, 'request of type 0: addr is "00000', 1),
        ({"type": 1, "addr": 0, "wdata": 1 << 32}, "request of type 1: wdata is 4294967296", 1),
        ({"type": 2, "addr": 0, "len": 1, "host": 0}, "request of type 2: host is 0", 1),
        (
            {"type": 2, "addr": 0, "len": (1 << 18) + 1, "host": False},
            "exceed the limit of 262144 bytes per message",
            1,
        ),
        ({"type": 2, "addr": (1 << 64) - 1, "len": 1, "host": False}, "exceed the memory's limit of 1048576", 1),
        ({"type": 3, "addr": 0, "wdata": [256], "host": False}, "wdata is a list of 1; must be a list of bytes", 1),
        ({"type": 3, "addr": 0, "wdata": 5, "host": False}, "wdata is 5; must be a list of bytes", 1),
        ({"type": 3, "addr": 1 << 20, "wdata": [1], "host": False}, "exceed the memory's limit of 1048576", 1),
        ({"type": 4, "addr": 1, "len": 1 << 20, "host": False}, "exceed the memory's limit of 1048576", 1),
        ({"type": 4, "addr": 0, "len": 10**400, "host": False}, "must be an integer of 64 bits", 1),
        (CALL | {"ctrl_id": 3}, "request of type 5: ctrl_id is 3; must be 0 to 2", -1),
        (CALL | {"addr_2": 1 << 64}, "request of type 5: addr_2 is 18446744073709551616", -1),
        (CALL | {"tag": None}, "request of type 5: tag is null", -1),
        ({"type": 6}, "request of type 6: ctrl_id is missing", -1),
    ],
)
def test_what_is_no_request_is_refused(message: Any, says: str, status: int) -> None:
    """With a status for which the driver raises an exception."""
    with pytest.raises(wire.Refused) as refused:
        read(message)
    assert says in str(refused.value) and len(str(refused.value)) < 300
    assert json.loads(refused.value.answer)["status"] == status


@pytest.mark.parametrize("size", [0, 1, 70_000, 1 << 18])
@pytest.mark.parametrize("separators", [(",", ":"), (" , ", " : ")])
def test_data_of_all_lengths(size: int, separators: tuple[str, str]) -> None:
    content = bytes(number * 7 % 256 for number in range(size))
    message = {"addr": 3, "host": True, "wdata": list(content), "type": 3}
    assert read(json.dumps(message, separators=separators).encode()) == wire.Store(True, 3, content)
    assert json.loads(wire.data(content)) == {"status": 0, "rdata": list(content)}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"type":3,"wdata":[' + b"1," * 300_000 + b"1]}", "wdata has more than 262144 bytes"),
        (b'{"type":3,"wdata":[' + b"1," * 50_000 + b"256]}", "wdata must be a list of bytes"),
        (b'{"type":3,"wdata":[' + b"1," * 50_000 + b",1]}", "invalid JSON"),
        (b'{"type":3,"wdata":[' + b"{}," * 50_000 + b"{}]}", "wdata must be a list of bytes"),
        (b'{"type":3,"wdata":[' + b"1," * 50_000, "without a list wdata"),
        (b'{"type":3,"other":"' + b"1," * 50_000 + b'"}', "without a list wdata"),
        (b'{"type":3,"wdata":[1],"other":"' + b"1," * 50_000 + b'"}', "without a list wdata"),
    ],
)
def test_long_messages_have_data_and_nothing_else(text: bytes, says: str) -> None:
    with pytest.raises(wire.Refused, match=says):
        wire.request(text, LIMITS)


def test_streams() -> None:
    parts = [b"0", b'{"data":[1,2,3]}']
    assert wire.stream_message(parts, LIMITS) == b"\1\2\3" + bytes(61)
    assert wire.stream_message([b"0", json.dumps({"data": [9] * 100_032}).encode()], LIMITS) == b"\x09" * 100_032
    number, content = wire.stream_parts(9, b"\0\xff")
    assert (number, json.loads(content)) == (b"9", {"data": [0, 255]})


@pytest.mark.parametrize(
    "parts",
    [[], [b"0"], [b"0", b"1", b"2"], [b"", b'{"data":[1]}'], [b"0", b"{}"], [b"0", b'{"data":[]}'], [b"0", b'{"data":[-1]}'], [b"\xff", b"\xff"]],
)  # fmt: skip
def test_messages_of_kernels_that_are_none(parts: list[bytes]) -> None:
    with pytest.raises(wire.Refused, match=r"^a kernel's message"):
        wire.stream_message(parts, LIMITS)


NAMES = [*CALL, "addr", "len", "host", "wdata"]
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(0, 7) | st.floats() | st.text(max_size=10)
VALUES = SCALARS | st.lists(SCALARS, max_size=5) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=3)


@settings(max_examples=200, deadline=None)
@given(st.binary() | st.dictionaries(st.sampled_from(NAMES), VALUES) | VALUES)
def test_a_message_is_a_request_or_refused(message: object) -> None:
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    try:
        wire.request(text, LIMITS)
    except wire.Refused as refused:
        assert json.loads(refused.answer)["status"] != 0


def test_names_of_return_codes() -> None:
    assert return_bits(0x800) == ["receive time-out"]
    assert return_bits(1 << 14 | 1 << 30 | 1 << 31) == ["not implemented", "bit 30", "not ready"]
