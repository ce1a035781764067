# SPDX-License-Identifier: Apache-2.0
"""Does one call in a CMake project find operations, generate a rank's parts and routes, and repeat this only after
changes?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(pair C)
include({module})
thalweg_smi_target(app CLUSTER pair.json KERNELS first.cl second-half.cl DEFINES N=3 READS 4)
add_executable(host host.c)
target_link_libraries(host PRIVATE app_headers)
"""
TOPOLOGY = """
{"fpgas": {"a:acl0": "first", "a:acl1": "second-half"}, "connections": {"a:acl0:ch0": "a:acl1:ch1"}}
"""
FIRST = """
#include <smi.h>
__kernel void app(const int count, const SMI_Comm comm) {
  SMI_Channel out = SMI_Open_send_channel(count, SMI_DOUBLE, 1, N, comm);
  for (int i = 0; i < count; i++) { double d = i; SMI_Push(&out, &d); }
}
"""
SECOND = FIRST.replace("SMI_Channel out = SMI_Open_send_channel", "SMI_Channel in = SMI_Open_receive_channel").replace(
    "SMI_DOUBLE, 1", "SMI_DOUBLE, 0"
)
SECOND = SECOND.replace("double d = i; SMI_Push(&out, &d);", "double d; SMI_Pop(&in, &d);")
HOST = """
#include "smi_first.h"
#include "smi_second_half.h"
int main(void) { return SMI_FIRST_PORT_PUSH_3 == 3 && SMI_SECOND_HALF_PORT_POP_3 == 3 ? 0 : 1; }
"""


@pytest.mark.slow
def test_one_call_does_all(tmp_path: Path) -> None:
    module = ROOT / "runtime/smi/cmake/ThalwegSmi.cmake"
    texts = {"CMakeLists.txt": PROJECT.format(module=module), "pair.json": TOPOLOGY, "host.c": HOST}
    for name, text in (texts | {"first.cl": FIRST, "second-half.cl": SECOND}).items():
        (tmp_path / name).write_text(text)
    thalweg = tmp_path / "thalweg"
    thalweg.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec {sys.executable} -m thalweg "$@"\n')
    thalweg.chmod(0o755)
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}

    def run(*command: str | Path) -> list[str]:
        (tmp_path / "calls").write_text("")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return [" ".join(line.split()[:2]) for line in (tmp_path / "calls").read_text().splitlines()]

    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, f"-DTHALWEG={thalweg}", "-G", "Ninja")
    calls = run("cmake", "--build", build)
    route = f"route {tmp_path}/pair.json"
    assert sorted(calls) == sorted(["smi extract", "smi generate"] * 2 + [route])
    app = build / "app"
    for name in ("first.json", "smi_first.h", "smi_first.sv", "smi_second_half.sv", "smi_second_half.json"):
        assert (app / name).is_file()
    # Rank 1 has port 3's pop, its endpoint 0, at kernel 0: output 4.
    assert (app / "routes/ckr-rank1-channel0").read_bytes()[6] == 4
    assert subprocess.run([build / "host"], check=False).returncode == 0
    assert run("cmake", "--build", build) == []
    (tmp_path / "first.cl").write_text(FIRST + "\n")
    assert sorted(run("cmake", "--build", build)) == sorted(["smi extract", "smi generate", route])
