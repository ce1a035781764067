"""
Common parts of all systems: the plain network, its traffic, completions and reports of engines.
"""

from collections.abc import Callable, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


NEVER: int = 9223372036854775807

class Completion:
    """
    A completed operation, and the tick at which the host sees the completion.
    """

    @property
    def handle(self) -> int: ...

    @property
    def at(self) -> int: ...

    @property
    def last(self) -> bool:
        """
        the last completion of the handle: a message completes when it has left, and again when it has arrived
        """

class FlowControl(enum.Enum):
    credits = 0

    margin = 1

class WireFaults:
    """Faults of one direction of a link; times are ticks."""

    def __init__(self) -> None: ...

    @property
    def bit_error_rate(self) -> float: ...

    @bit_error_rate.setter
    def bit_error_rate(self, arg: float, /) -> None: ...

    @property
    def frames_lost(self) -> float: ...

    @frames_lost.setter
    def frames_lost(self, arg: float, /) -> None: ...

    @property
    def frames_duplicated(self) -> float: ...

    @frames_duplicated.setter
    def frames_duplicated(self, arg: float, /) -> None: ...

    @property
    def down_at(self) -> int: ...

    @down_at.setter
    def down_at(self, arg: int, /) -> None: ...

    @property
    def up_at(self) -> int: ...

    @up_at.setter
    def up_at(self, arg: int, /) -> None: ...

    @property
    def reset_at(self) -> int:
        """tick at which the sending end alone is reset"""

    @reset_at.setter
    def reset_at(self, arg: int, /) -> None: ...

class FaultConfig:
    """Parameters common to all links with faults."""

    def __init__(self) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def silence(self) -> int: ...

    @silence.setter
    def silence(self, arg: int, /) -> None: ...

    @property
    def rebuild(self) -> int: ...

    @rebuild.setter
    def rebuild(self, arg: int, /) -> None: ...

    def set_reroute(self, reroute: Callable[[list[tuple[int, int]]], NetworkConfig]) -> None:
        """
        Sets the function that returns a fabric with routes and layers that avoid the given links, each as (node, port) of its first end. The function must raise an error with a one-line message if there is none.
        """

def replay_window(latency: int) -> int:
    """Returns the replay window, in words, for a link of `latency` cycles."""

def replay_reach(window: int) -> int:
    """
    Returns the maximum link latency, in cycles, at which a replay window of that many words sustains the full rate.
    """

def frame_bits(config: NetworkConfig) -> int:
    """Returns the bits of a frame on links with faults."""

class LinkConfig:
    def __init__(self) -> None: ...

    @property
    def node_a(self) -> int: ...

    @node_a.setter
    def node_a(self, arg: int, /) -> None: ...

    @property
    def node_b(self) -> int: ...

    @node_b.setter
    def node_b(self, arg: int, /) -> None: ...

    @property
    def port_a(self) -> int: ...

    @port_a.setter
    def port_a(self, arg: int, /) -> None: ...

    @property
    def port_b(self) -> int: ...

    @port_b.setter
    def port_b(self, arg: int, /) -> None: ...

    @property
    def latency(self) -> int: ...

    @latency.setter
    def latency(self, arg: int, /) -> None: ...

    @property
    def rate_flits(self) -> int: ...

    @rate_flits.setter
    def rate_flits(self, arg: int, /) -> None: ...

    @property
    def rate_cycles(self) -> int: ...

    @rate_cycles.setter
    def rate_cycles(self, arg: int, /) -> None: ...

    @property
    def from_a(self) -> WireFaults: ...

    @from_a.setter
    def from_a(self, arg: WireFaults, /) -> None: ...

    @property
    def from_b(self) -> WireFaults: ...

    @from_b.setter
    def from_b(self, arg: WireFaults, /) -> None: ...

class Recording:
    """
    Records one router's signals as VCD from a cycle on, with two time units per cycle.
    """

    def __init__(self, node: int, start: int, file: str) -> None: ...

class RouterLibrary:
    """RTL routers in a shared library."""

    def __init__(self, file: str, compares: bool = False, recording: Recording | None = None) -> None:
        """
        With `compares`, the simulator's router runs beside each RTL router, and the first difference is raised as RtlDifference.

        Raises ValueError if the file is not such a library.
        """

class HeaderFields:
    """Positions of the header fields that routers read."""

    @property
    def destination_lsb(self) -> int: ...

    @property
    def unit_mask(self) -> int: ...

class RouterConfig:
    def __init__(self) -> None: ...

    @property
    def link_ports(self) -> int: ...

    @link_ports.setter
    def link_ports(self, arg: int, /) -> None: ...

    @property
    def local_ports(self) -> int: ...

    @local_ports.setter
    def local_ports(self, arg: int, /) -> None: ...

    @property
    def virtual_channels(self) -> int: ...

    @virtual_channels.setter
    def virtual_channels(self, arg: int, /) -> None: ...

    @property
    def buffer_flits(self) -> int: ...

    @buffer_flits.setter
    def buffer_flits(self, arg: int, /) -> None: ...

    @property
    def local_buffer_flits(self) -> int: ...

    @local_buffer_flits.setter
    def local_buffer_flits(self, arg: int, /) -> None: ...

    @property
    def flow(self) -> FlowControl: ...

    @flow.setter
    def flow(self, arg: FlowControl, /) -> None: ...

    @property
    def library(self) -> RouterLibrary:
        """RTL routers; None: the simulator's."""

    @library.setter
    def library(self, arg: RouterLibrary, /) -> None: ...

    @property
    def margin_flits(self) -> int: ...

    @margin_flits.setter
    def margin_flits(self, arg: int, /) -> None: ...

    @property
    def header(self) -> HeaderFields: ...

    @property
    def vc_mask(self) -> list[list[int]]: ...

    @vc_mask.setter
    def vc_mask(self, arg: Sequence[Sequence[int]], /) -> None: ...

class NetworkConfig:
    def __init__(self) -> None: ...

    @property
    def ticks_per_second(self) -> int: ...

    @ticks_per_second.setter
    def ticks_per_second(self, arg: int, /) -> None: ...

    @property
    def nodes(self) -> int: ...

    @nodes.setter
    def nodes(self, arg: int, /) -> None: ...

    @property
    def switches(self) -> int: ...

    @switches.setter
    def switches(self, arg: int, /) -> None: ...

    @property
    def grid(self) -> list[int]: ...

    @grid.setter
    def grid(self, arg: Sequence[int], /) -> None: ...

    @property
    def links(self) -> list[LinkConfig]: ...

    @links.setter
    def links(self, arg: Sequence[LinkConfig], /) -> None: ...

    @property
    def router(self) -> RouterConfig: ...

    @property
    def faults(self) -> FaultConfig: ...

    @faults.setter
    def faults(self, arg: FaultConfig, /) -> None: ...

    def set_routes(self, port: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], route_class: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Sets the routing tables, uint8 arrays of shape (nodes, nodes): row node, column destination.
        """

    def set_grid_routes(self, size: Sequence[int], port: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]], route_class: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]], tag: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Sets routes by dimension instead: per dimension an uint8 array of shape (tags, own coordinate, destination's coordinate), and each node's tag.
        """

    def route(self, node: int, destination: int) -> tuple[int, int]:
        """Returns the port and route class of a node's route to another one."""

    def set_layer(self, layer: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Sets the route class of each (source, destination) pair at injection, uint8 of shape (nodes, nodes).
        """

KEEP_CLASS: int = 255

NO_ROUTE: int = 255

class Pattern(enum.Enum):
    """Destinations of a source; nodes are numbered from 0."""

    uniform = 0
    """any node, the source included"""

    transpose = 1
    """node a*k + b sends to b*k + a; the number of nodes is k*k"""

    bit_complement = 2
    """node i sends to nodes - 1 - i"""

    neighbour = 3
    """node i sends to i + 1 modulo nodes"""

    hotspot = 4
    """
    to one of hotspot_nodes with probability hotspot_fraction, otherwise uniform
    """

class TrafficConfig:
    def __init__(self) -> None: ...

    @property
    def pattern(self) -> Pattern: ...

    @pattern.setter
    def pattern(self, arg: Pattern, /) -> None: ...

    @property
    def packet_flits(self) -> int:
        """1, 2, 4, 8 or 16"""

    @packet_flits.setter
    def packet_flits(self, arg: int, /) -> None: ...

    @property
    def load(self) -> float:
        """flits offered per node and cycle"""

    @load.setter
    def load(self, arg: float, /) -> None: ...

    @property
    def hotspot_nodes(self) -> list[int]: ...

    @hotspot_nodes.setter
    def hotspot_nodes(self, arg: Sequence[int], /) -> None: ...

    @property
    def hotspot_fraction(self) -> float: ...

    @hotspot_fraction.setter
    def hotspot_fraction(self, arg: float, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def warmup(self) -> int:
        """cycles before the measurement"""

    @warmup.setter
    def warmup(self, arg: int, /) -> None: ...

    @property
    def cycles(self) -> int:
        """measured cycles"""

    @cycles.setter
    def cycles(self, arg: int, /) -> None: ...

    @property
    def stuck_cycles(self) -> int:
        """
        number of cycles without any movement after which a network that holds flits counts as stuck
        """

    @stuck_cycles.setter
    def stuck_cycles(self, arg: int, /) -> None: ...

class TrafficResult:
    @property
    def flit_hops(self) -> int:
        """flits that crossed a link in the measured cycles"""

    @property
    def router_cycles(self) -> int:
        """nodes times measured cycles"""

    @property
    def cycles(self) -> int: ...

    @property
    def cpu_s(self) -> float:
        """CPU time of the loop over the measured cycles"""

    @property
    def packets(self) -> int:
        """packets created in the measured cycles and ejected"""

    @property
    def average_latency_cycles(self) -> float:
        """
        average over these packets, from creation (including the wait in the source) to the ejection of the tail
        """

    @property
    def max_latency_cycles(self) -> int: ...

    @property
    def average_hops(self) -> float:
        """links crossed by a packet"""

    @property
    def offered_load(self) -> float:
        """flits per node and cycle"""

    @property
    def accepted_load(self) -> float:
        """flits per node and cycle"""

    @property
    def complete(self) -> bool:
        """every packet created in the measured cycles was ejected"""

    @property
    def verified(self) -> bool:
        """
        every flit arrived once, in order, at its destination, with its payload
        """

    @property
    def stuck(self) -> list[str]:
        """wait-for relations of a deadlock"""

def run_traffic(fabric: NetworkConfig, traffic: TrafficConfig, progress: Callable[[int, int], bool] | None = None) -> TrafficResult:
    """
    Runs random traffic, then lets the network drain. progress(cycles done, cycles to do) is called regularly;
    False ends the run early. Raises ValueError with a one-line message if the configuration is invalid.
    """
