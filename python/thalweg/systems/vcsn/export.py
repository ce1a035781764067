# SPDX-License-Identifier: Apache-2.0
"""A node of a VCSN cluster as a folder of hardware that stands by itself: `thalweg rtl export` (docs/export.md)."""

from __future__ import annotations

import shutil
import string
from pathlib import Path

from thalweg.errors import InputError
from thalweg.resources import find_root
from thalweg.rtl.export import (
    Port,
    Stream,
    cluster_package,
    compiled,
    core_name,
    flat_top,
    into,
    needed,
    write_project,
)
from thalweg.systems.vcsn.cluster import Cluster, Node

WHAT = "node"
TOP = f"thalweg_{WHAT}"
SHELL, MAC = "shell_aclk", "mac_aclk"
WORD = 512
COMMAND = 128
OUTCOMES = 10


def export(cluster: Cluster, output: Path) -> None:
    """Writes the folder `output`, which is not there yet or empty, whole or not at all. Raises InputError."""
    root = find_root(alone=True)
    node = node_of(cluster)
    into(output, lambda folder: _write(root, cluster, node, folder))


def node_of(cluster: Cluster) -> Node:
    """The FPGA of a cluster. Raises InputError where its hardware has no such node."""
    node = cluster.fpga(0)
    if not isinstance(node, Node):
        raise InputError(f"{cluster.name}: the export has nodes of kind vcsn, not dcn")
    if node.virtual_ports > 8:
        raise InputError(
            f"{cluster.name}: the hardware has 8 virtual ports of an external port, not {node.virtual_ports}"
        )
    if node.kernels == 0:
        raise InputError(f"{cluster.name}: the export's node has one stream of user logic at least: kernels = 1")
    return node


def parameters(node: Node) -> dict[str, int]:
    """Of tw_cluster_pkg."""
    return {
        "Ports": node.ports,
        "VirtualPorts": node.virtual_ports,
        "Dmas": node.dmas,
        "Kernels": node.kernels,
        "SendWords": node.send_words,
        "SendFrames": node.send_frames,
        "ReceiveWords": node.receive_words,
        "FrameWords": node.frame_words,
    }


def user(name: str) -> list[Port]:
    """The ports of the top for a stream of user logic, each way. TUSER: the packet begins; TID: its channel."""
    beside = {"tuser": ("first", 1), "tid": ("channel", 8)}
    streams = (
        Stream(f"s_axis_{name}", "user_in", WORD, clock=SHELL, beside=beside),
        Stream(f"m_axis_{name}", "user_out", WORD, clock=SHELL, beside=beside),
    )
    return [port for stream in streams for port in stream.ports()]


def mac(name: str) -> list[Port]:
    """For the MAC of an external port, and what has become of frames that came."""
    keep = {"tkeep": ("keep", WORD // 8)}
    streams = (
        Stream(f"m_axis_{name}_tx", "tx", WORD, clock=MAC, beside=keep),
        Stream(f"s_axis_{name}_rx", "rx", WORD, clock=MAC, ready=False, beside={**keep, "tuser": ("error", 1)}),
    )
    counts = Port(f"{name}_counts", "counts", 32 * OUTCOMES, True, MAC)
    return [*(port for stream in streams for port in stream.ports()), counts]


def engine(name: str) -> list[Port]:
    """For the memory of a pair of engines, and what they report."""
    return [
        Port(f"{name}_{outer}", inner, bits, is_output, SHELL)
        for outer, inner, bits, is_output in (
            ("read_valid", "request_valid", 1, True),
            ("read_address", "request_address", 40, True),
            ("read_words", "request_words", 5, True),
            ("read_data_valid", "answer_valid", 1, False),
            ("read_data", "answer_data", WORD, False),
            ("write_ready", "write_ready", 1, False),
            ("write_valid", "burst_valid", 1, True),
            ("write_address", "burst_address", 40, True),
            ("write_words", "burst_words", 5, True),
            ("write_data_valid", "word_valid", 1, True),
            ("write_data", "word_data", WORD, True),
            ("write_strobe", "word_keep", WORD // 8, True),
            ("write_done", "written", 1, False),
            ("read_ended", "read_ended", 1, True),
            ("write_ended", "write_ended", 1, True),
            ("overrun", "overrun", 1, True),
            ("headless", "headless", 1, True),
            ("broken", "broken", 1, True),
        )
    ]


def top_level(node: Node) -> str:
    """The text of the top."""
    command = Stream("s_axis_command", "command", COMMAND, clock=SHELL, last=False)
    return flat_top(
        TOP,
        "tw_vcsn_node",
        "A node of the cluster, by `thalweg rtl export`: README.md says what attaches where.",
        {SHELL: f".shell_clk_i({SHELL})", MAC: f".mac_clk_i({MAC})", "aresetn": ".rst_i(!aresetn)"},
        {
            "Constant": [Port(f"port{i}_address", "address", 48, False, "constant") for i in range(node.ports)],
            f"Commands of the host; {SHELL}": list(command.ports()),
            **{f"PLACE FOR USER LOGIC; {SHELL}, {i}": user(f"user{i}") for i in range(node.kernels)},
            **{f"PLACE FOR THE MEMORY of engines {i}; {SHELL}": engine(f"dma{i}") for i in range(node.dmas)},
            **{f"PLACE FOR THE VENDOR'S MAC of port {i}; {MAC}": mac(f"port{i}") for i in range(node.ports)},
        },
    )


def _write(root: Path, cluster: Cluster, node: Node, folder: Path) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = needed(root, "vcsn", "tw_vcsn_node")
    for path in copied:
        shutil.copy(path, rtl)
    package, top = rtl / "tw_cluster_pkg.sv", rtl / f"{TOP}.sv"
    package.write_text(
        cluster_package(
            [f"The numbers of the nodes of {Path(cluster.name).stem}, by `thalweg rtl export`."],
            (("int unsigned", name, value) for name, value in parameters(node).items()),
        )
    )
    top.write_text(top_level(node))
    files = compiled(copied, [package.name], TOP)
    clocks = {
        SHELL: cluster.clocks[node.shell_clock].frequency_mhz,
        MAC: cluster.clocks[node.line_clock].frequency_mhz,
    }
    write_project(root, folder, cluster.name, "vcsn", WHAT, files, clocks, ["aresetn"])
    (folder / "README.md").write_text(
        string.Template((root / "rtl/vcsn/top/README.template.md").read_text()).substitute(
            {name: str(value) for name, value in parameters(node).items()},
            cluster=Path(cluster.name).stem,
            core=core_name(cluster.name),
            shell_mhz=f"{clocks[SHELL]:g}",
            mac_mhz=f"{clocks[MAC]:g}",
            ports="\n".join(
                f"| `{port.name}` | {'out' if port.is_output else 'in'} | {port.bits} |"
                for port in (*user("userN"), *engine("dmaN"), *mac("portN"))
            ),
        )
    )
