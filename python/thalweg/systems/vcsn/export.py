# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: a node of a VCSN or DCN cluster as a self-contained folder of hardware (docs/export.md)."""

from __future__ import annotations

import shutil
import string
from pathlib import Path

from thalweg.errors import InputError
from thalweg.resources import find_root
from thalweg.rtl.export import (
    Port,
    Stream,
    compiled,
    core_name,
    flat_top,
    into,
    needed,
    write_project,
)
from thalweg.systems.vcsn.cluster import Cluster, Fpga, Node

WHAT = "node"
TOP = f"thalweg_{WHAT}"
SHELL, MAC, LINK = "shell_aclk", "mac_aclk", "link_aclk"
WORD = 512
COMMAND = 128
OUTCOMES = 11
SESSION = 5  #: width of a session's state
LONGEST_RESEND = 1 << 24  #: in cycles of the line clock


def export(cluster: Cluster, output: Path) -> None:
    """Writes the folder `output` atomically; it must be new or empty. Raises InputError."""
    root = find_root(alone=True)
    node = node_of(cluster, cluster.fpgas[0])
    if node.kernels == 0:
        raise InputError(f"{cluster.name}: an exported node needs at least one user kernel: set kernels = 1")
    into(output, lambda folder: _write(root, cluster, node, folder))


def node_of(cluster: Cluster, number: int) -> Fpga:
    """Returns an FPGA of a cluster. Raises InputError if the hardware does not support its values."""
    node = cluster.fpga(number)
    if isinstance(node, Node) and node.virtual_ports > 8:
        raise InputError(
            f"{cluster.name}: the hardware supports at most 8 virtual ports per external port, not {node.virtual_ports}"
        )
    if isinstance(node, Node) and _resend(node, cluster) > LONGEST_RESEND:
        longest = LONGEST_RESEND / cluster.clocks[node.line_clock].frequency_mhz
        raise InputError(
            f"{cluster.name}: the hardware supports a resend time of at most {longest:.0f} us, not {node.resend_us:g}"
        )
    return node


def _resend(node: Node, cluster: Cluster) -> int:
    """Returns the retransmission time-out in cycles."""
    return max(4, round(node.resend_us * cluster.clocks[node.line_clock].frequency_mhz))


def parameters(node: Fpga, cluster: Cluster) -> dict[str, int]:
    """Returns the parameters of the node's module."""
    session = {}
    if isinstance(node, Node):
        session = {"Resend": _resend(node, cluster), "Reorder": node.reorder_frames, "Tries": node.tries}
    return {
        "Ports": node.ports,
        **({"VirtualPorts": node.virtual_ports} if isinstance(node, Node) else {}),
        "Dmas": node.dmas,
        "Kernels": node.kernels,
        **({"Sequencers": node.sequencers} if isinstance(node, Node) else {}),
        "SendWords": node.send_words,
        "SendFrames": node.send_frames,
        "ReceiveWords": node.receive_words,
        "FrameWords": node.frame_words,
        **session,
    }


def user(name: str) -> list[Port]:
    """Returns the top's ports for a user stream in both directions. TUSER marks the start of a packet; TID is its channel."""
    beside = {"tuser": ("first", 1), "tid": ("channel", 8)}
    streams = (
        Stream(f"s_axis_{name}", "shell_user_in", WORD, clock=SHELL, beside=beside),
        Stream(f"m_axis_{name}", "shell_user_out", WORD, clock=SHELL, beside=beside),
    )
    return [port for stream in streams for port in stream.ports()]


def mac(name: str, virtual_ports: int) -> list[Port]:
    """Returns the top's ports for the MAC of an external port, including frame counters and session states."""
    keep = {"tkeep": ("keep", WORD // 8)}
    streams = (
        Stream(f"m_axis_{name}_tx", "mac_tx", WORD, clock=MAC, beside=keep),
        Stream(f"s_axis_{name}_rx", "mac_rx", WORD, clock=MAC, ready=False, beside={**keep, "tuser": ("error", 1)}),
    )
    counts = Port(f"{name}_counts", "mac_counts", 32 * OUTCOMES, True, MAC)
    sessions = Port(f"{name}_sessions", "mac_session", SESSION * virtual_ports, True, MAC)
    return [*(port for stream in streams for port in stream.ports()), counts, sessions]


def link(name: str) -> list[Port]:
    """Returns the top's ports for the transceiver of a DCN port: words and credits in both directions."""
    return [
        Port(f"{name}_{outer}", f"link_{inner}", bits, is_output, LINK)
        for outer, inner, bits, is_output in (
            ("tx_valid", "tx_valid", 1, True),
            ("tx_data", "tx_data", WORD, True),
            ("rx_valid", "rx_valid", 1, False),
            ("rx_data", "rx_data", WORD, False),
            ("credit_out", "credit", 1, True),
            ("credit_in", "credit", 1, False),
        )
    ]


def reports(node: Node) -> list[Port]:
    """Returns status ports: refused crossbar settings, and completed sequencer programs."""
    sequencers = max(1, node.sequencers)
    return [
        Port("crossbar_refused", "shell_refused", 1, True, SHELL),
        Port("sequencers_ended", "shell_program_ended", sequencers, True, SHELL),
    ]


def external(node: Fpga, name: str) -> list[Port]:
    """Returns the ports of an external port."""
    return mac(name, node.virtual_ports) if isinstance(node, Node) else link(name)


def engine(name: str) -> list[Port]:
    """Returns the ports for the memory of a pair of engines, and their status."""
    return [
        Port(f"{name}_{outer}", f"shell_{inner}", bits, is_output, SHELL)
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


def top_level(node: Fpga, cluster: Cluster) -> str:
    """The text of the top."""
    command = Stream("s_axis_command", "shell_command", COMMAND, clock=SHELL, last=False)
    circuits = isinstance(node, Node)
    line = MAC if circuits else LINK
    constant = [Port(f"port{i}_address", "mac_address", 48, False, "constant") for i in range(node.ports)]
    block = "MAC" if circuits else "TRANSCEIVERS"
    return flat_top(
        TOP,
        inner_of(node),
        "A node of the cluster, by `thalweg rtl export`: see README.md for its connections.",
        {
            SHELL: f".shell_clk_i({SHELL})",
            line: f".{line.removesuffix('_aclk')}_clk_i({line})",
            "aresetn": "",
        },
        {
            **({"Constant": constant} if circuits else {}),
            f"Commands of the host; {SHELL}": [*command.ports(), *(reports(node) if isinstance(node, Node) else [])],
            **{f"PLACE FOR USER LOGIC; {SHELL}, {i}": user(f"user{i}") for i in range(node.kernels)},
            **{f"PLACE FOR THE MEMORY of engines {i}; {SHELL}": engine(f"dma{i}") for i in range(node.dmas)},
            **{
                f"PLACE FOR THE VENDOR'S {block} of port {i}; {line}": external(node, f"port{i}")
                for i in range(node.ports)
            },
        },
        parameters(node, cluster),
        ["shell", line.removesuffix("_aclk")],
    )


def line_of(node: Fpga) -> str:
    """Returns the name prefix of ports in the line clock domain."""
    return "mac" if isinstance(node, Node) else "link"


def inner_of(node: Fpga) -> str:
    """Returns the name of the module inside the top."""
    return "tw_vcsn_node" if isinstance(node, Node) else "tw_dcn_node"


def _write(root: Path, cluster: Cluster, node: Fpga, folder: Path) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = [*needed(root, "vcsn", "tw_reset_sync"), *needed(root, "vcsn", inner_of(node))]
    for path in copied:
        shutil.copy(path, rtl)
    (rtl / f"{TOP}.sv").write_text(top_level(node, cluster))
    files = compiled(copied, [], TOP)
    clocks = {
        SHELL: cluster.clocks[node.shell_clock].frequency_mhz,
        (MAC if isinstance(node, Node) else LINK): cluster.clocks[node.line_clock].frequency_mhz,
    }
    write_project(root, folder, cluster.name, "vcsn", WHAT, files, clocks, ["aresetn"])
    line = "vcsn" if isinstance(node, Node) else "dcn"
    ports = [*user("userN"), *engine("dmaN"), *external(node, "portN")]
    top_folder = root / "rtl/vcsn/top"
    text = (
        (top_folder / "README.template.md")
        .read_text()
        .replace("$external", (top_folder / f"{line}.template.md").read_text())
    )
    (folder / "README.md").write_text(
        string.Template(text).substitute(
            {name: str(value) for name, value in parameters(node, cluster).items()},
            cluster=Path(cluster.name).stem,
            core=core_name(cluster.name),
            shell_mhz=f"{clocks[SHELL]:g}",
            line_mhz=f"{cluster.clocks[node.line_clock].frequency_mhz:g}",
            ports="\n".join(f"| `{port.name}` | {'out' if port.is_output else 'in'} | {port.bits} |" for port in ports),
        )
    )
