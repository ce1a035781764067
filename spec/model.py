# SPDX-License-Identifier: Apache-2.0
"""Reads and checks the specification's TOML files, and resolves the offsets of fields."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WORD = 64
FLIT = 256


class SpecError(Exception):
    """Invalid specification; the message is one line with the file and the reason."""


@dataclass(frozen=True)
class Enum:
    name: str
    bits: int
    doc: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """Adjacent bits of a field in one word: `bits` bits of the value from bit `low` on, at bit `shift` of the word."""

    word: int
    shift: int
    low: int
    bits: int

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1


@dataclass(frozen=True)
class Field:
    name: str
    bits: int
    offset: int  # of its first bit on the wire: the least significant bit, in network order the most significant bit
    kind: str  # value, enum, length, constant
    doc: str
    source: str
    enum: str = ""
    constant: int = 0
    network: bool = False  # network order: most significant bit and byte first

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Its pieces in words whose bits 7 to 0 are the first byte on the wire, least significant bits first."""
        pieces = []
        if self.network:
            for byte in range((self.offset + self.bits - 1) // 8, self.offset // 8 - 1, -1):
                first, end = max(self.offset, 8 * byte), min(self.offset + self.bits, 8 * byte + 8)
                shift = 8 * (byte % 8) + 8 * byte + 8 - end
                pieces.append(Piece(8 * byte // WORD, shift, self.offset + self.bits - end, end - first))
        else:
            for word in range(self.offset // WORD, (self.offset + self.bits - 1) // WORD + 1):
                first, end = max(self.offset, WORD * word), min(self.offset + self.bits, WORD * word + WORD)
                pieces.append(Piece(word, first % WORD, first - self.offset, end - first))
        return tuple(pieces)


@dataclass(frozen=True)
class Format:
    name: str
    doc: str
    source: str
    placement: str
    network: bool
    header: str  # name of the format whose fields come first, or empty
    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        return sum(f.bits for f in self.fields)

    @property
    def words(self) -> int:
        return (self.bits + WORD - 1) // WORD

    @property
    def members(self) -> tuple[Field, ...]:
        """The fields that a user sets; the others are constants."""
        return tuple(f for f in self.fields if f.kind != "constant")


@dataclass(frozen=True)
class Datatype:
    name: str
    size: int
    layout: str
    operators: tuple[str, ...]
    groups: tuple[str, ...]  # names of the operators' groups
    mpi: dict[str, tuple[str, ...]] = field(default_factory=dict)  # MPI's name: operators reduced in the network


@dataclass(frozen=True)
class Stacked:
    """A format in a frame after previous formats, present if these fields of theirs have these values."""

    format: Format
    when: tuple[tuple[Field, int], ...]


@dataclass(frozen=True)
class Frames:
    """Formats of a system's Ethernet frames."""

    doc: str
    source: str
    type: int
    stack: tuple[Stacked, ...]


@dataclass(frozen=True)
class Part:
    """Enums, formats and Ethernet frames of one system, or, if `system` is empty, of all systems."""

    system: str
    enums: tuple[Enum, ...]
    formats: tuple[Format, ...]
    frames: Frames | None = None


@dataclass(frozen=True)
class Spec:
    datatypes: tuple[Datatype, ...]
    groups: dict[str, list[str]]  # groups of operators, by the names that types use
    mpi_operators: dict[str, str]
    parts: tuple[Part, ...]

    def enum(self, name: str) -> Enum:
        return next(e for part in self.parts for e in part.enums if e.name == name)


def _read(path: Path, allowed: set[str]) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: {error}") from None
    _only(path, data, allowed)
    return data


def _only(path: Path, table: dict[str, Any], allowed: set[str]) -> None:
    for key in table:
        if key not in allowed:
            raise SpecError(f"{path}: unknown key '{key}'; known are {', '.join(sorted(allowed))}")


def _enums(path: Path, data: dict[str, Any]) -> tuple[Enum, ...]:
    enums = []
    for table in data["enum"]:
        _only(path, table, {"name", "bits", "doc", "values"})
        enum = Enum(table["name"], table["bits"], table["doc"], tuple(table["values"]))
        if len(enum.values) > 1 << enum.bits:
            raise SpecError(
                f"{path}: {enum.name} has {len(enum.values)} values, {enum.bits} bits hold {1 << enum.bits}"
            )
        if len(set(enum.values)) != len(enum.values):
            raise SpecError(f"{path}: {enum.name} names a value twice")
        enums.append(enum)
    return tuple(enums)


def _datatypes(path: Path, data: dict[str, Any], operators: tuple[str, ...]) -> tuple[Datatype, ...]:
    groups: dict[str, list[str]] = data["groups"]

    def expand(names: list[str]) -> tuple[str, ...]:
        chosen = {operator for name in names for operator in groups.get(name, [name])}
        if unknown := chosen - set(operators):
            raise SpecError(f"{path}: '{min(unknown)}' is no operator and no group of operators")
        return tuple(o for o in operators if o in chosen)

    classes = {name: expand(members) for name, members in data["mpi_classes"].items()}
    datatypes = []
    seen: set[str] = set()
    for table in data["datatype"]:
        _only(path, table, {"name", "size", "layout", "operators", "mpi"})
        have = expand(table["operators"])
        mpi: dict[str, tuple[str, ...]] = {}
        for name_class, names in table["mpi"].items():
            if name_class not in classes:
                raise SpecError(f"{path}: {table['name']} names the unknown class of MPI types '{name_class}'")
            for name in names:
                if name in seen:
                    raise SpecError(f"{path}: {name} stands twice")
                seen.add(name)
                mpi[name] = tuple(o for o in have if o in classes[name_class])
        datatypes.append(
            Datatype(table["name"], table["size"], table.get("layout", ""), have, tuple(table["operators"]), mpi)
        )
    return tuple(datatypes)


def _fields(
    path: Path, data: dict[str, Any], enums: dict[str, Enum], formats: dict[str, Format], network: bool
) -> tuple[Field, ...]:
    fields: list[Field] = []
    offset = 0
    if header := data.get("header"):
        if header not in formats or formats[header].network != network:
            raise SpecError(f"{path}: header '{header}' is no format of the same byte order that stands before it")
        constants: dict[str, int | str] = dict(data.get("set", {}))
        for f in formats[header].fields:
            if f.name in constants:
                value = constants.pop(f.name)
                code = enums[f.enum].values.index(value) if isinstance(value, str) else value
                f = replace(f, kind="constant", constant=code)
            fields.append(f)
        if constants:
            raise SpecError(f"{path}: set names '{min(constants)}', which {header} doesn't have")
        offset = formats[header].bits
    for table in data.get("field", []):
        _only(path, table, {"name", "bits", "kind", "type", "value", "doc", "source"})
        kind = table.get("kind", "value")
        if kind not in ("value", "enum", "length", "constant"):
            raise SpecError(f"{path}: {table['name']} is of the unknown kind '{kind}'")
        f = Field(
            table["name"],
            table["bits"],
            offset,
            kind,
            table.get("doc", ""),
            table.get("source", ""),
            table.get("type", ""),
            table.get("value", 0),
            network,
        )
        if kind == "enum" and (f.enum not in enums or enums[f.enum].bits != f.bits):
            raise SpecError(
                f"{path}: {f.name} needs a type of {f.bits} bits that stands in operations.toml, operators.toml or types.toml"
            )
        if f.bits > WORD and kind != "constant":
            raise SpecError(f"{path}: {f.name} has {f.bits} bits, a value has at most {WORD}")
        if f.constant > f.mask:
            raise SpecError(f"{path}: {f.name} is {f.constant}, it has {f.bits} bits")
        if any(f.name == other.name for other in fields):
            raise SpecError(f"{path}: {f.name} stands twice")
        fields.append(f)
        offset += f.bits
    return tuple(fields)


def _format(path: Path, data: dict[str, Any], enums: dict[str, Enum], formats: dict[str, Format]) -> Format:
    order = data.get("byte_order")
    if order not in ("little", "network"):
        raise SpecError(
            f"{path}: byte_order is 'little', least significant bit first, or 'network', most significant first"
        )
    network = order == "network"
    fields = _fields(path, data, enums, formats, network)
    header = data.get("header", "")
    result = Format(path.stem, data["doc"], data.get("source", ""), data["placement"], network, header, fields)
    if result.placement not in ("inline", "beat"):
        raise SpecError(f"{path}: placement is 'inline' or 'beat'")
    if result.placement == "beat" and result.bits % FLIT:
        raise SpecError(f"{path}: beats of its own have {FLIT} bits each, these are {result.bits}")
    if result.bits % 8:
        raise SpecError(f"{path}: a format has whole bytes, {result.bits} bits are not")
    return result


def _formats(folder: Path, enums: dict[str, Enum]) -> tuple[Format, ...]:
    formats: dict[str, Format] = {}
    pending = {path: _read(path, {"doc", "source", "byte_order", "placement", "header", "set", "field"})
               for path in sorted(folder.glob("*.toml"))}  # fmt: skip
    for path, table in sorted(pending.items(), key=lambda item: "header" in item[1]):
        formats[path.stem] = _format(path, table, enums, formats)
    return tuple(formats.values())


def _frames(path: Path, formats: tuple[Format, ...], enums: dict[str, Enum]) -> Frames:
    data = _read(path, {"doc", "source", "type", "part"})
    stack: list[Stacked] = []
    for table in data["part"]:
        _only(path, table, {"format", "when"})
        if not (found := [fmt for fmt in formats if fmt.name == table["format"]]):
            raise SpecError(f"{path}: '{table['format']}' is no format of this system")
        before = {f.name: f for stacked in stack for f in stacked.format.members}
        when: list[tuple[Field, int]] = []
        for name, value in table.get("when", {}).items():
            if name not in before:
                raise SpecError(f"{path}: when names '{name}', which no format before {found[0].name} has")
            values = enums[before[name].enum].values if before[name].enum else ()
            if isinstance(value, str) and value not in values:
                raise SpecError(f"{path}: '{value}' is no value of {name}")
            when.append((before[name], values.index(value) if isinstance(value, str) else value))
        stack.append(Stacked(found[0], tuple(when)))
    return Frames(data["doc"], data["source"], data["type"], tuple(stack))


def load(folder: Path) -> Spec:
    """Reads the folder's TOML files, and each system's from the folder of its name. Raises SpecError at the first
    error."""
    file = folder / "operators.toml"
    data = _read(file, {"enum", "mpi"})
    enums = _enums(file, data)
    operators = next(e for e in enums if e.name == "operator").values

    types = folder / "types.toml"
    type_data = _read(types, {"bits", "groups", "mpi_classes", "datatype"})
    datatypes = _datatypes(types, type_data, operators)
    enums += (Enum("datatype", type_data["bits"], "Type of the elements.", tuple(d.name for d in datatypes)),)
    common = {e.name: e for e in enums}
    parts = [Part("", enums, _formats(folder / "packets", common))]
    for system in sorted(packets.parent for packets in folder.glob("*/packets")):
        operations = system / "operations.toml"
        own = _enums(operations, _read(operations, {"enum"})) if operations.exists() else ()
        known = common | {e.name: e for e in own}
        formats = _formats(system / "packets", known)
        ethernet = system / "ethernet.toml"
        parts.append(Part(system.name, own, formats, _frames(ethernet, formats, known) if ethernet.exists() else None))
    return Spec(datatypes, type_data["groups"], data["mpi"], tuple(parts))
