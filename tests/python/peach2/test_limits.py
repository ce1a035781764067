# SPDX-License-Identifier: Apache-2.0
"""Are values refused that a hub's registers cannot hold, by cluster files and by the simulator alike?"""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

import pytest
from thalweg.errors import InputError
from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.cluster import Node as ClusterNode
from thalweg.systems.peach2.hubs import Hubs

ROOT = Path(__file__).parents[3]


def in_rtl(pattern: str) -> int:
    """A limit in the checks of tw_control."""
    (found,) = re.findall(pattern, (ROOT / "rtl/peach2/tw_control.sv").read_text())
    return int(found)


CONTEXTS = in_rtl(r"Contexts must be a power of two from 2 to (\d+)")
TIMEOUT_US = in_rtl(r"Timeout > (\d+)\)") * 1024 / 250
RECORD = 1 << (2 ** (in_rtl(r"logic +\[ *(\d+):0\] setup_record_o") + 1) - 1)
"""Beats of a record; a context's register has their log2."""


@pytest.mark.parametrize(("name", "most"), [("contexts", CONTEXTS), ("records", RECORD)])
def test_the_largest_number_has_a_register_and_twice_as_many_are_refused(name: str, most: int, tmp_path: Path) -> None:
    def hubs(value: int) -> None:
        Hubs(Cluster.load(file(tmp_path, f"{name} = {value}\nram_bits = 14")))

    hubs(most)
    with pytest.raises(InputError, match=f"{name} is {2 * most}; it must be a power of two from 2 to {most}"):
        hubs(2 * most)
    with pytest.raises(ValueError, match=rf"node 0 .*: {name} is {2 * most}; must be 2 to {most}"):
        described(name, 2 * most)


def test_a_time_out_fits_its_register(tmp_path: Path) -> None:
    assert Cluster.load(file(tmp_path, f"completion_timeout_us = {TIMEOUT_US / 2}", 500)).read_timeout == 65_535
    with pytest.raises(InputError, match="completion_timeout_us is 200000; at 500 MHz it must be at most 134216"):
        Cluster.load(file(tmp_path, "completion_timeout_us = 200000", 500))
    with pytest.raises(ValueError, match="completion_timeout_us is 73243.* x 1,024 cycles; must be 0 to 65535"):
        described("completion_timeout_us", 300_000.0)


def test_descriptions_have_the_ranges_of_cluster_files() -> None:
    """Each number may be its range's ends, and not beyond; a wrong one must not reach the hardware's model."""
    ranges = ClusterNode.model_fields
    names = ["packets", "units", "reads", "bus_reads", "ram_bits", "latency", "starts", "memory_commands"]
    for name in names:
        (least,), (most,) = (
            [getattr(of, key) for of in ranges[name].metadata if hasattr(of, key)] for key in ("ge", "le")
        )
        for value in (least, most):
            described(name, value)
        for value in (least - 1, most + 1):
            with pytest.raises(ValueError, match=f"{name} is {value}; must be {least} to {most}"):
                described(name, value)
    for name, number in (("gen", 0), ("gen", 5), ("lanes", 0), ("copy_gb", 0.0), ("gpu_read_gb", 1e30)):
        with pytest.raises(ValueError, match=f"{name} is .*; must be "):
            described(name, number)


@pytest.mark.parametrize("value", [2.0**63, float("inf"), float("nan"), -1.0])
@pytest.mark.parametrize("name", ["landing_ns", "gpu_read_ns", "memory_ns", "copy_start_ns"])
def test_a_described_time_is_at_most_a_second(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is .*; must be 0 to 1e9"):
        described(name, value)


def test_a_program_in_c_plus_plus_reduces_only_as_the_calculators_do() -> None:
    """Programs in Python are refused before."""
    cluster = Cluster.load("peach2-ring-4")
    hubs = _sim.Hubs(cluster.assembly, cluster.windows)
    source = _sim.memory_address(0, 1)
    for op, kind, named in ((2, 11, "prod float64"), (99, 10, "99 float32"), (1, 77, "sum 77")):
        how = _sim.Reduction(0, op, kind, 32, False)
        with pytest.raises(ValueError, match=f"the calculators do not reduce by {named}, only by sum float32"):
            hubs.reduce(0, source, [(source, 64)], how, True)
        with pytest.raises(ValueError, match=named):
            hubs.group([0, 1], 0, how, [0])


def test_the_end_of_a_memory_is_the_address_of_no_byte_of_it() -> None:
    """It is that of the next memory's first byte, or of the library's."""
    node = Hubs("peach2-ring-4").nodes[0]
    for memory in (node.processor, *node.gpus, node.hub):
        assert memory.address(memory.size - 4) == memory.address() + memory.size - 4
        with pytest.raises(InputError, match=f"the offset in a memory is {memory.size}; this memory has {memory.size}"):
            memory.address(memory.size)


@pytest.mark.parametrize(("key", "value"), [("gen", "true"), ("lanes", "true"), ("lanes", "8.0")])
def test_a_number_is_no_truth_value(key: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"node.hub.{key} is {value}; it should be 1, 2, "):
        Cluster.load(file(tmp_path, f"{key} = {value}"))


def file(folder: Path, node: str, mhz: float = 250) -> Path:
    path = folder / "cluster.toml"
    base = ROOT / "clusters/peach2-ring-4.toml"
    path.write_text(f'base = "{base}"\n[clock.net]\nfrequency_mhz = {mhz}\n[node.hub]\n{node}\n')
    return path


def described(name: str, value: object) -> None:
    """Makes hubs from a description that no cluster file has checked."""
    cluster = Cluster.load("peach2-ring-4")
    assembly = deepcopy(cluster.assembly)
    for node in assembly["nodes"]:
        node["values"][name] = value
    _sim.Hubs(assembly, cluster.windows)
