# SPDX-License-Identifier: Apache-2.0
"""Messages between ACCL's driver and an emulator of its engine, each a JSON object.

A request has a `type`: 0 and 1 read and write the exchange memory, 2, 3 and 4 read, write and allocate memory, 5 starts
a call, 6 polls for the end of a call. Messages of kernel streams have two parts: the number of the stream as text, and
an object with `data`. Decoding takes memory of a small multiple of the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

PORTS = 3
WORD_BYTES = 64  # word of a kernel stream
_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 16
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Limits:
    """Limits in bytes: size of each memory of a rank, and data of a message."""

    memory: int = 4 << 30
    message: int = 256 << 20

    @property
    def text(self) -> int:
        """Maximum length of a message: a byte takes at most 3 digits and a comma."""
        return 4 * self.message + _LONGEST_HEADER


@dataclass(frozen=True)
class ReadWord:
    address: int


@dataclass(frozen=True)
class WriteWord:
    address: int
    value: int


@dataclass(frozen=True)
class Load:
    host: bool
    address: int
    size: int


@dataclass(frozen=True)
class Store:
    host: bool
    address: int
    data: bytes


@dataclass(frozen=True)
class Allocate:
    host: bool
    address: int
    size: int


@dataclass(frozen=True)
class Start:
    """A call: its 15 words in the order of the command stream."""

    port: int
    words: list[int]


@dataclass(frozen=True)
class Poll:
    """Polls for the end of a call."""

    port: int


Access: TypeAlias = ReadWord | WriteWord | Load | Store | Allocate
Request: TypeAlias = Access | Start | Poll


class Refused(Exception):
    """An invalid request, or one that cannot be executed: the reason, and the answer that makes the driver raise an error."""

    def __init__(self, what: str, answer: bytes) -> None:
        super().__init__(what)
        self.answer = answer


def ok() -> bytes:
    return b'{"status":0}'


def not_yet() -> bytes:
    """Answer to a poll: no call has ended."""
    return b'{"status":1}'


def failed() -> bytes:
    """Answer to a poll after an error, or to an invalid request."""
    return b'{"status":-1}'


def word(value: int) -> bytes:
    return b'{"rdata":%d,"status":0}' % value


def data(content: bytes) -> bytes:
    return b'{"rdata":%b,"status":0}' % _array(content)


def refusal(kind: object) -> bytes:
    """Returns the answer to a refused request of a type.

    The driver raises an error on any status but 0; for calls and polls only on a negative one.
    """
    readings = {0: b'{"rdata":0,"status":1}', 1: not_yet(), 2: b'{"rdata":[0],"status":1}', 3: not_yet(), 4: not_yet()}
    return readings.get(kind, failed()) if type(kind) is int else failed()


def request(text: bytes, limits: Limits) -> Request:
    """Decodes a request. Raises Refused."""
    fields = _Fields(_object(text, "wdata", limits.message))
    kind = fields.values.get("type")
    try:
        return _request(fields, limits)
    except ValueError as error:
        name = f"request of type {kind}: " if type(kind) is int and 0 <= kind <= 6 else ""
        raise Refused(f"{name}{error}", refusal(kind)) from error


def stream_message(parts: list[bytes], limits: Limits) -> bytes:
    """Returns the data of a message to the engine's kernel stream, padded to words of 64 bytes. Raises Refused."""
    if len(parts) != 2:
        raise Refused(f"a kernel's message of {len(parts)} parts; must be 2", b"")
    try:
        if not parts[0].isdigit():
            raise ValueError(f"invalid stream number {_shown(parts[0].decode(errors='replace'))}")
        content = _Fields(_object(parts[1], "data", limits.message)).content("data")
        if not content:
            raise ValueError("no data")
    except (ValueError, Refused) as error:
        raise Refused(f"a kernel's message: {error}", b"") from error
    return content + bytes(-len(content) % WORD_BYTES)


def stream_parts(number: int, content: bytes) -> list[bytes]:
    """Returns the message with data from the engine's kernel stream `number`."""
    return [b"%d" % number, b'{"data":%b}' % _array(content)]


_WORDS = (
    "scenario",
    "count",
    "comm",
    "root_src_dst",
    "function",
    "tag",
    "arithcfg",
    "compression_flags",
    "stream_flags",
)
_ADDRESSES = ("addr_0", "addr_1", "addr_2")


def _request(fields: _Fields, limits: Limits) -> Request:
    kind = fields.number("type", 63)
    if kind == 0:
        return ReadWord(fields.number("addr", 32))
    if kind == 1:
        return WriteWord(fields.number("addr", 32), fields.number("wdata", 32))
    if kind == 2:
        host, address = fields.boolean("host"), fields.number("addr", 64)
        size = fields.number("len", 64)
        if size > limits.message:
            raise ValueError(f"{size} bytes exceed the limit of {limits.message} bytes per message")
        _check_end(address, size, limits.memory)
        return Load(host, address, size)
    if kind == 3:
        host, address, content = fields.boolean("host"), fields.number("addr", 64), fields.content("wdata", none=True)
        _check_end(address, len(content), limits.memory)
        return Store(host, address, content)
    if kind == 4:
        host, address, size = fields.boolean("host"), fields.number("addr", 64), fields.number("len", 64)
        _check_end(address, size, limits.memory)
        return Allocate(host, address, size)
    if kind == 5:
        words = [fields.number(name, 32) for name in _WORDS]
        for name in _ADDRESSES:
            address = fields.number(name, 64)
            words += [address & 0xFFFFFFFF, address >> 32]
        return Start(_port(fields), words)
    if kind == 6:
        return Poll(_port(fields))
    raise ValueError(f"type is {kind}; must be 0 to 6")


def _port(fields: _Fields) -> int:
    port = fields.number("ctrl_id", 32)
    if port >= PORTS:
        raise ValueError(f"ctrl_id is {port}; must be 0 to {PORTS - 1}")
    return port


def _check_end(address: int, size: int, limit: int) -> None:
    if address + size > limit:
        raise ValueError(f"{size} bytes at {address:#x} exceed the memory's limit of {limit}")


@dataclass(frozen=True)
class _Fields:
    """The fields of an object. Each method raises ValueError."""

    values: Mapping[str, Any]

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise ValueError(f"{name} is missing")
        return self.values[name]

    def number(self, name: str, bits: int) -> int:
        value = self._get(name)
        if type(value) is not int or not 0 <= value < 1 << bits:
            raise ValueError(f"{name} is {_shown(value)}; must be an integer of {bits} bits")
        return value

    def boolean(self, name: str) -> bool:
        value = self._get(name)
        if type(value) is not bool:
            raise ValueError(f"{name} is {_shown(value)}; must be true or false")
        return value

    def content(self, name: str, none: bool = False) -> bytes:
        """Returns the bytes of a list. With `none`, null is allowed, which the driver writes for an empty array."""
        value = self._get(name)
        if value is None and none:
            return b""
        if type(value) is not bytes:
            raise ValueError(f"{name} is {_shown(value)}; must be a list of bytes")
        return value


def _object(text: bytes, array: str, limit: int) -> dict[str, Any]:
    """Returns the object of a message, whose field `array` becomes bytes if it is a list of bytes. Raises Refused."""
    content: bytes | None = None
    try:
        if len(text) > _LONGEST_HEADER:
            text, content = _without_array(text, array, limit)
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"invalid JSON: {error}", failed()) from error
    if type(found) is not dict:
        raise Refused(f"not a JSON object: {_shown(found)}", failed())
    if content is not None:
        found[array] = content
    elif type(found.get(array)) is list:
        found[array] = _bytes_or_list(found[array])
    return found


def _without_array(text: bytes, name: str, limit: int) -> tuple[bytes, bytes]:
    """Splits a long message into the text with an empty list `name`, and the bytes of that list.

    The list is decoded in pieces, as a list of Python integers takes many times their memory. Raises ValueError.
    """
    begin = text.find(b"[", text.find(b'"%b"' % name.encode())) + 1
    end = text.find(b"]", begin)
    if not 0 < begin <= end or begin + len(text) - end > _LONGEST_HEADER:
        raise ValueError(f"a message of {len(text)} bytes without a list {name} of that size")
    rest = text[:begin] + text[end:]
    content = bytearray()
    while begin < end:
        comma = text.find(b",", min(begin + _CHUNK, end), end) if begin + _CHUNK < end else -1
        piece = text[begin : comma if comma >= 0 else end]
        numbers = _bytes_or_list(json.loads(b"[%b]" % piece))
        if type(numbers) is not bytes:
            raise ValueError(f"{name} must be a list of bytes")
        content += numbers
        if len(content) > limit:
            raise ValueError(f"{name} has more than {limit} bytes")
        begin = comma + 1 if comma >= 0 else end
    return rest, bytes(content)


def _bytes_or_list(numbers: list[Any]) -> bytes | list[Any]:
    try:
        return bytes(numbers)
    except (TypeError, ValueError):
        return numbers


_DIGITS = [b"%d" % value for value in range(256)]


def _array(content: bytes) -> bytes:
    """Encodes bytes as a JSON list, in pieces."""
    pieces = (content[begin : begin + _CHUNK] for begin in range(0, len(content), _CHUNK))
    return b"[%b]" % b",".join(b",".join([_DIGITS[value] for value in piece]) for piece in pieces)


def _shown(value: object) -> str:
    if isinstance(value, bytes | list | dict):
        return f"an object of {len(value)} fields" if isinstance(value, dict) else f"a list of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
