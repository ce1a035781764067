# SPDX-License-Identifier: Apache-2.0
"""Are the operations of a program found in its source, however their ports and types become constants?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.smi import metadata
from thalweg.systems.smi.extract import extract

pytest.importorskip("clang.cindex", reason="libclang is not installed")

EVERYTHING = """
#include <smi.h>
#define PORT(n) ((n) * 2 + OFFSET)
__constant int kBase = 20;
enum { kEnumerated = 7 };
channel float4 between[3] __attribute__((depth(4)));
__kernel void app(const int N, __global volatile const float16* restrict in, SMI_Comm comm) {
  const int port = 5;
  const SMI_Datatype type = SMI_DOUBLE;
  float4 v = read_channel_intel(between[1]);
  if (unknown_function(v)) {
    SMI_Channel a = SMI_Open_send_channel(N, SMI_INT, 1, port, comm), b = SMI_Open_recv_channel(N, type, 1, port + 1, comm);
  }
  SMI_Channel c = SMI_Open_receive_channel_ad(N, SMI_CHAR, 1, PORT(3), comm, 4 * 16);
  SMI_BChannel __attribute__((register)) d = SMI_Open_bcast_channel(N, SMI_SHORT, kEnumerated, 0, comm);
  SMI_RChannel e = SMI_Open_reduce_channel(N, SMI_FLOAT, SMI_MAX, kBase + 1, 0, comm);
  SMI_ScatterChannel f = SMI_Open_scatter_channel(N, N, SMI_INT, 30, 0, comm);
  for (int i = 0; i < N; i++) {
    SMI_GatherChannel g = SMI_Open_gather_channel_ad(N, N, SMI_INT, (int)sizeof(float4) + 24, 0, SMI_COMM_WORLD, N);
    SMI_Channel again = SMI_Open_send_channel(1, SMI_INT, i, 5, comm);
  }
}
"""
TEMPLATES = """
#include <smi.h>
template <int Port, class T> void send(int n, SMI_Comm comm) {
  constexpr int kPort = Port + 1;
  SMI_Channel channel = SMI_Open_send_channel(n, SMI_FLOAT, 1, kPort, comm);
  T value{};
  SMI_Push(&channel, &value);
}
__kernel void app(int n, SMI_Comm comm) {
  send<1, float>(n, comm);
  send<4, float>(n, comm);
}
"""


def operations(source: Path, text: str, **options: Any) -> list[tuple[Any, ...]]:
    source.write_text(text)
    return [
        (each["type"], each["port"], each["data_type"], each["buffer_size"], each["args"].get("op_type"))
        for each in extract(source, **options)["operations"]
    ]


def test_constants(tmp_path: Path) -> None:
    assert operations(tmp_path / "a.cl", EVERYTHING, defines=["OFFSET=4"]) == [
        ("push", 5, "int", None, None),
        ("pop", 6, "double", None, None),
        ("broadcast", 7, "short", None, None),
        ("pop", 10, "char", 64, None),
        ("reduce", 21, "float", None, "max"),
        ("scatter", 30, "int", None, None),
        ("gather", 40, "int", None, None),
    ]


def test_templates(tmp_path: Path) -> None:
    assert operations(tmp_path / "a.cpp", TEMPLATES) == [
        ("push", 2, "float", None, None),
        ("push", 5, "float", None, None),
    ]


def test_two_sources_make_a_program(tmp_path: Path) -> None:
    head = "#include <smi.h>\n__kernel void {}(SMI_Comm comm) {{ SMI_Channel c = SMI_Open_{}_channel(1, {}, 0, 3, comm); }}\n"
    one, two = tmp_path / "one.cl", tmp_path / "two.cl"
    one.write_text(head.format("one", "send", "SMI_INT"))
    two.write_text(head.format("two", "receive", "SMI_FLOAT"))
    found = extract([one, two])["operations"]
    assert [(each["type"], each["data_type"]) for each in found] == [("push", "int"), ("pop", "float")]
    two.write_text(head.format("two", "send", "SMI_FLOAT"))
    with pytest.raises(InputError, match=r"two.cl:2: port 3 is a push of float; in .*one.cl:2 of int"):
        extract([one, two])


@pytest.mark.parametrize(
    "call, says",
    [
        (
            "SMI_Open_send_channel(1, SMI_INT, 1, N, comm)",
            "a.cl:3: the port of SMI_Open_send_channel is not a compile-time constant",
        ),
        (
            "SMI_Open_send_channel(1, N, 1, 0, comm)",
            "the datatype of SMI_Open_send_channel is not a compile-time constant",
        ),
        ("SMI_Open_send_channel(1, 9, 1, 0, comm)", "the datatype of SMI_Open_send_channel is 9, which is unknown"),
        ("SMI_Open_send_channel(1, SMI_INT, 1, 256, comm)", "port is 256; it must be 0 to 255"),
    ],
)
def test_what_is_not_known(call: str, says: str, tmp_path: Path) -> None:
    source = tmp_path / "a.cl"
    source.write_text(f"#include <smi.h>\n__kernel void app(int N, SMI_Comm comm) {{\nSMI_Channel c = {call};\n}}\n")
    with pytest.raises(InputError, match=says):
        extract(source)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.cl"
    source.write_text(EVERYTHING)
    assert main(["smi", "extract", str(source), "-D", "OFFSET=4", "--max-ranks", "16"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["max_ranks"] == 16
    assert len(metadata.of_values(whole, "a").operations) == 7
