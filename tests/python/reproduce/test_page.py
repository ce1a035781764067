# SPDX-License-Identifier: Apache-2.0
"""Do the tables of docs/reproduce.md have each published number as published? Their measured numbers are compared by
tests/end_to_end/test_documents.py, and those that take seconds by the tests of `thalweg reproduce`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from published import HEAD, lines
from thalweg.papers import published

ROOT = Path(__file__).resolve().parents[3]
TABLES = {
    re.search(r"tools/published.py (\S+)", table)[1]: [line.split("|")[1:-1] for line in table.splitlines()[3:]]  # type: ignore[index]
    for table in (ROOT / "docs/reproduce.md").read_text().split("<!-- printed by: ")[1:]
    for table in [table.replace("\n\n", "\n", 1).split("\n\n")[0]]
}
WITHOUT_A_ROW = {"smi.inputs", "mpifpga.curves", "mpifpga.instances", "mpifpga.scaling"}
"""Published reference numbers that are a property of the hardware, or curves without numbers in the text."""


@pytest.mark.parametrize("paper", sorted(path.parent.name for path in (ROOT / "reproduce").glob("*/published.toml")))
def test_each_published_number_has_its_line(paper: str) -> None:
    numbers = published(paper)
    shown: dict[str, list[str]] = {}
    assert all(len(cells) == 6 and all(cells) for cells in TABLES[paper])
    for what, value, _, unit, where, id_ in TABLES[paper]:
        number = numbers[id_.strip("`")]
        shown.setdefault(id_.strip("`"), []).append(value)
        assert what == number.get("what", what) or paper == "mpi-fpga"  # which has parts of its range
        assert unit.split(" / ")[0] == number["unit"]
        assert where == number["where"] + ", input" * (number["use"] == "input")
    wanted = {id_ for id_, number in numbers.items() if number["use"] == "check"}
    assert wanted - {id_ for id_ in wanted if ".error." in id_} - WITHOUT_A_ROW <= shown.keys() <= numbers.keys()
    for id_, values in shown.items():
        value = numbers[id_]["value"]
        if isinstance(value, dict):  # each in a line of its own
            continue
        ends = [float(end.replace(",", "")) for text in values for end in text.split(" to ")]
        assert {float(end) for end in (value if isinstance(value, list) else [value])} == set(ends), id_


def row(id_: str, what: str, published: object, measured: object, unit: str = "us") -> dict[str, object]:
    return {"id": id_, "what": what, "published": published, "measured": measured, "unit": unit}


def test_rows_of_a_named_id_are_one_line_and_nothing_is_cut() -> None:
    rows = [
        row("vcsn.transfer", "without a published number", None, 36.0),
        row("accl.tuned", "UDP", 12.3, 12.27, "GB/s"),
        row("accl.tuned", "TCP", 12.3, [12.2, 12.5], "GB/s"),
        row("accl.tcp.untuned", "before", 8.5, 11.6274, "GB/s"),
        row("accl.tcp.untuned", "bound", 8.5, 11.6834, "GB/s"),
        row("accl.resources.udp.lut", "all", 50238, 26679, "LUT"),
    ]
    assert lines("accl", rows) == [
        "|16 MB, streaming, UDP and TCP|12.3|12.2 to 12.5|GB/s|3.4|`accl.tuned`|",
        "|before|8.5|11.63|GB/s|3.4|`accl.tcp.untuned`|",
        "|bound|8.5|11.68|GB/s|3.4|`accl.tcp.untuned`|",
        "|engine and UDP stack without plug-ins|50,238|26,679|LUT|Table 1: 176,884 - 126,646|`accl.resources.udp.lut`|",
    ]
    assert lines("vcsn", [row("vcsn.resources.sender", "port", 27349.8, 1234.5678, "LUT")]) == [
        "|VCSN, MUX and encoder|27,349.8|1,235|ALM / LUT|Table 3, MUX and Encoder|`vcsn.resources.sender`|"
    ]
    assert all(line.count("|") == HEAD[0].count("|") for line in lines("accl", rows))
