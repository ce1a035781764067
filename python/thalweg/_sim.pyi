"""The simulator of Thalweg: fabric configuration, engines, traffic."""

from collections.abc import Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


class FlowControl(enum.Enum):
    credits = 0

    margin = 1

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
    def margin_flits(self) -> int: ...

    @margin_flits.setter
    def margin_flits(self, arg: int, /) -> None: ...

    @property
    def vc_mask(self) -> list[list[int]]: ...

    @vc_mask.setter
    def vc_mask(self, arg: Sequence[Sequence[int]], /) -> None: ...

class HostConfig:
    def __init__(self) -> None: ...

    @property
    def pcie_latency(self) -> int: ...

    @pcie_latency.setter
    def pcie_latency(self, arg: int, /) -> None: ...

    @property
    def pcie_bytes_per_tick(self) -> float: ...

    @pcie_bytes_per_tick.setter
    def pcie_bytes_per_tick(self, arg: float, /) -> None: ...

    @property
    def dma_flits_per_cycle(self) -> int: ...

    @dma_flits_per_cycle.setter
    def dma_flits_per_cycle(self, arg: int, /) -> None: ...

    @property
    def message_overhead(self) -> int: ...

    @message_overhead.setter
    def message_overhead(self, arg: int, /) -> None: ...

class CollectiveConfig:
    def __init__(self) -> None: ...

    @property
    def contexts(self) -> int: ...

    @contexts.setter
    def contexts(self, arg: int, /) -> None: ...

    @property
    def operations_in_flight(self) -> int: ...

    @operations_in_flight.setter
    def operations_in_flight(self, arg: int, /) -> None: ...

    @property
    def aggregation_units(self) -> int: ...

    @aggregation_units.setter
    def aggregation_units(self, arg: int, /) -> None: ...

    @property
    def slot_packets(self) -> int: ...

    @slot_packets.setter
    def slot_packets(self, arg: int, /) -> None: ...

    @property
    def packet_flits(self) -> int: ...

    @packet_flits.setter
    def packet_flits(self, arg: int, /) -> None: ...

    @property
    def lane_latency(self) -> int: ...

    @lane_latency.setter
    def lane_latency(self, arg: int, /) -> None: ...

class FabricConfig:
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
    def links(self) -> list[LinkConfig]: ...

    @links.setter
    def links(self, arg: Sequence[LinkConfig], /) -> None: ...

    @property
    def router(self) -> RouterConfig: ...

    @router.setter
    def router(self, arg: RouterConfig, /) -> None: ...

    @property
    def host(self) -> HostConfig: ...

    @host.setter
    def host(self, arg: HostConfig, /) -> None: ...

    @property
    def collective(self) -> CollectiveConfig: ...

    @collective.setter
    def collective(self, arg: CollectiveConfig, /) -> None: ...

    def set_routes(self, port: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], route_class: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        The routing tables, uint8 arrays of shape (nodes, nodes): row node, column destination.
        """

    def set_layer(self, layer: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        The route class of each (source, destination) pair at injection, uint8 of shape (nodes, nodes).
        """

KEEP_CLASS: int = 255

NO_ROUTE: int = 255
