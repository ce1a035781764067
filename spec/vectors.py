# SPDX-License-Identifier: Apache-2.0
"""Random test vectors for the generated code of all languages.

Words are built as a string of bits, field after field, so they share no offset arithmetic with the emitters.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from model import WORD, Format, Spec

SEED = 20_240_229
CASES = 24


@dataclass(frozen=True)
class Case:
    fields: dict[str, int]
    words: tuple[int, ...]


def _words(fmt: Format, values: dict[str, int]) -> tuple[int, ...]:
    bits = ""
    for f in fmt.fields:
        digits = format(values.get(f.name, f.constant), f"0{f.bits}b")
        bits += digits if fmt.network else digits[::-1]
    if fmt.network:
        bits = "".join(bits[i : i + 8][::-1] for i in range(0, len(bits), 8))
    bits = bits.ljust(fmt.words * WORD, "0")
    return tuple(int(bits[i : i + WORD][::-1], 2) for i in range(0, len(bits), WORD))


def make(spec: Spec) -> dict[str, list[Case]]:
    """Makes CASES vectors per format, independent of other formats: all fields minimal, all maximal, the others random,
    except that an enum cycles through its values."""
    cases: dict[str, list[Case]] = {}
    for fmt in (fmt for part in spec.parts for fmt in part.formats):
        generator = random.Random(f"{SEED} {fmt.name}")
        most = {f.name: len(spec.enum(f.enum).values) - 1 if f.enum else f.mask for f in fmt.members}
        rows = [dict.fromkeys(most, 0), most]
        for k in range(CASES - 2):
            row = {name: generator.randint(0, top) for name, top in most.items()}
            rows.append(row | {f.name: k % (most[f.name] + 1) for f in fmt.members if f.enum})
        cases[fmt.name] = [Case(row, _words(fmt, row)) for row in rows]
    return cases


def as_json(cases: dict[str, list[Case]]) -> str:
    formats = {
        name: [{"fields": case.fields, "words": [f"0x{word:016x}" for word in case.words]} for case in rows]
        for name, rows in cases.items()
    }
    return json.dumps({"seed": SEED, "formats": formats}, indent=1) + "\n"
