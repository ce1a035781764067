# SPDX-License-Identifier: Apache-2.0
"""Exports the engine of an ACCL board, or its data path only, as a self-contained folder of RTL: `thalweg rtl export`
(docs/export.md)."""

from __future__ import annotations

import shutil
import string
from pathlib import Path

from thalweg.resources import find_root
from thalweg.rtl.export import Port, Stream, compiled, core_name, flat_top, into, needed, write_project
from thalweg.systems.accl.cluster import Board, Cluster
from thalweg.systems.accl.rtl_engine import SLOTS, engine_parameters, parameters

WHAT = "board"
TOP = f"thalweg_{WHAT}"
ENGINE_TOP, NODE_TOP = "tw_accl_engine_top", "tw_accl_top"  #: inner modules: with the control plane, and without
PORTS = ("host", "host2", "kernel")  #: ports of calls
ENGINE, MAC = "engine_aclk", "mac_aclk"
WORD = 512
ACCESS = 104  #: bits of an AXI DataMover command with 64-bit addresses
TABLES = {"Communicators": 8, "MostPackets": 64}  #: sizes of the matcher: communicators, packets per segment


def export(cluster: Cluster, output: Path, *, data_path: bool = False) -> None:
    """Writes the folder `output`, which must be new or empty, completely or not at all.

    With `data_path`, the control plane is external. Raises InputError.
    """
    root = find_root(alone=True)
    board = cluster.board(0)
    own = {"Slots": SLOTS, **parameters(cluster, board)} if data_path else engine_parameters(cluster, board)
    into(output, lambda folder: _write(root, cluster, {**TABLES, **own}, folder, data_path=data_path))


def _stream(
    name: str,
    inner: str,
    bits: int,
    clock: str = ENGINE,
    beside: dict[str, tuple[str, int]] | None = None,
    *,
    ready: bool = True,
    last: bool = False,
) -> list[Port]:
    prefix = clock.removesuffix("_aclk")
    stream = Stream(name, f"{prefix}_{inner}", bits, ready=ready, last=last, beside=beside or {}, clock=clock)
    return list(stream.ports())


def _outputs(clock: str, **bits: int) -> list[Port]:
    """Outputs with the names of the inner module's ports."""
    return [Port(name, f"{clock.removesuffix('_aclk')}_{name}", width, True, clock) for name, width in bits.items()]


def registers() -> list[Port]:
    """Ports of the host: the exchange memory (AXI4-Lite), and the destinations of sessions' datagrams."""
    lite = [
        *(("awvalid", 1, False), ("awready", 1, True), ("awaddr", 32, False)),
        *(("wvalid", 1, False), ("wready", 1, True), ("wdata", 32, False), ("wstrb", 4, False)),
        *(("bvalid", 1, True), ("bready", 1, False), ("bresp", 2, True)),
        *(("arvalid", 1, False), ("arready", 1, True), ("araddr", 32, False)),
        *(("rvalid", 1, True), ("rready", 1, False), ("rdata", 32, True), ("rresp", 2, True)),
    ]
    return [
        *(Port(f"s_axil_{name}", f"engine_axil_{name}", bits, is_output, ENGINE) for name, bits, is_output in lite),
        *_stream("s_axis_session", "end", 128),
    ]


def calls() -> list[Port]:
    """Ports of calls by hosts and kernels. TDEST of the status is the call's port."""
    return [
        *(port for name in PORTS for port in _stream(f"s_axis_call_{name}", "call", 32)),
        *_stream("m_axis_status", "result", 64, beside={"tdest": ("port", 2)}),
        *_outputs(ENGINE, message_waits=SLOTS, kernel_waits=SLOTS, counts=6 * 32, own_dropped=32),
    ]


def control() -> list[Port]:
    """Ports of the control plane."""
    return [
        *_stream("s_axis_setting", "set", 128, ready=False),
        *_stream("s_axis_command", "command", 512),
        *_stream("m_axis_ended", "ended", 128),
        *_outputs(
            ENGINE, message_waits=SLOTS, kernel_waits=SLOTS, moves=1, moves_slot=8, counts=6 * 32, own_dropped=32
        ),
    ]


def reads(name: str) -> list[Port]:
    """Ports of the MM2S side of an AXI DataMover."""
    return [
        *_stream(f"m_axis_{name}_command", "read", ACCESS),
        *_stream(f"s_axis_{name}", "word", WORD),
        *_stream(f"s_axis_{name}_status", "status", 8),
        Port(f"{name}_failed", "engine_failed", 1, True, ENGINE),
    ]


def writes(name: str) -> list[Port]:
    """Ports of the S2MM side of an AXI DataMover."""
    return [
        *_stream(f"m_axis_{name}_command", "write", ACCESS),
        *_stream(f"m_axis_{name}", "data", WORD, beside={"tkeep": ("keep", WORD // 8)}, last=True),
        *_stream(f"s_axis_{name}_status", "status", 8),
        Port(f"{name}_failed", "engine_failed", 1, True, ENGINE),
    ]


def kernels() -> list[Port]:
    """Ports of the kernels; TDEST is the stream's number."""
    return [
        *_stream("s_axis_kernel", "from_kernel", WORD),
        *_stream("m_axis_kernel", "to_kernel", WORD, beside={"tdest": ("number", 8)}, last=True),
    ]


def mac() -> list[Port]:
    """Ports of the MAC."""
    keep = {"tkeep": ("keep", WORD // 8)}
    return [
        *_stream("m_axis_mac_tx", "tx", WORD, MAC, keep, last=True),
        *_stream("s_axis_mac_rx", "rx", WORD, MAC, {**keep, "tuser": ("error", 1)}, ready=False, last=True),
        *_outputs(MAC, received=4 * 32, answered=3 * 32, dropped=32),
    ]


def top_level(values: dict[str, int | str], *, data_path: bool) -> str:
    """Returns the text of the top level."""
    constant = Port("own_number", "engine_own", 8, False, "constant")
    above = {f"PLACE FOR THE CONTROL PLANE; {ENGINE}": control()}
    if not data_path:
        constant = Port("identity", "engine_identity", 32, False, "constant")
        above = {
            f"PLACE FOR THE HOST; {ENGINE}": registers(),
            f"PLACE FOR HOSTS' AND KERNELS' CALLS; {ENGINE}": calls(),
        }
    own = [("own_port", 16), ("own_ip", 32), ("own_address", 48)]  # fields of udp_end_t, lowest bits first
    return flat_top(
        TOP,
        NODE_TOP if data_path else ENGINE_TOP,
        f"{'Data path' if data_path else 'Engine'} of a board, written by `thalweg rtl export`. README.md describes the ports.",
        {ENGINE: f".engine_clk_i({ENGINE})", MAC: f".mac_clk_i({MAC})", "aresetn": ""},
        {
            "Constant": [
                *(Port(name, "mac_own", bits, False, "constant") for name, bits in own),
                constant,
            ],
            **above,
            f"PLACE FOR A DATAMOVER that reads operands x; {ENGINE}": reads("x"),
            f"PLACE FOR A DATAMOVER that reads operands y; {ENGINE}": reads("y"),
            f"PLACE FOR A DATAMOVER that writes results; {ENGINE}": writes("z"),
            f"PLACE FOR A DATAMOVER that fills receive buffers; {ENGINE}": writes("buffer"),
            f"PLACE FOR KERNELS; {ENGINE}": kernels(),
            f"PLACE FOR THE VENDOR'S MAC; {MAC}": mac(),
        },
        values,
        ["engine", "mac"],
    )


def clocks_of(cluster: Cluster, board: Board) -> dict[str, float]:
    """Frequencies of the top level's clocks in MHz."""
    return {
        ENGINE: cluster.clocks[board.engine_clock].frequency_mhz,
        MAC: cluster.clocks[board.line_clock].frequency_mhz,
    }


def _write(root: Path, cluster: Cluster, values: dict[str, int | str], folder: Path, *, data_path: bool) -> None:
    rtl = folder / "rtl"
    rtl.mkdir(parents=True)
    copied = [*needed(root, "accl", "tw_reset_sync"), *needed(root, "accl", NODE_TOP if data_path else ENGINE_TOP)]
    for path in copied:
        shutil.copy(path, rtl)
    (rtl / f"{TOP}.sv").write_text(top_level(values, data_path=data_path))
    board = cluster.board(0)
    clocks = clocks_of(cluster, board)
    plugins = {"combine": board.arithmetic, "convert": board.compression}
    write_project(root, folder, cluster.name, "accl", WHAT, compiled(copied, [], TOP), clocks, ["aresetn"])
    template = "README.data_path" if data_path else "README"
    text = (root / f"rtl/accl/top/{template}.template.md").read_text()
    (folder / "README.md").write_text(
        string.Template(text).substitute(
            {"Slots": str(SLOTS), **{name: str(value) for name, value in values.items()}},
            plugins=" and ".join(name for name, there in plugins.items() if there) or "only copy",
            cluster=Path(cluster.name).stem,
            core=core_name(cluster.name),
            engine_mhz=f"{clocks[ENGINE]:g}",
            mac_mhz=f"{clocks[MAC]:g}",
        )
    )
