"""The simulator of Thalweg: fabric configuration, engines, traffic."""

from collections.abc import Callable, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray

import thalweg.errors


class FlowControl(enum.Enum):
    credits = 0

    margin = 1

class Trees(enum.Enum):
    """What a communicator's tree follows."""

    by_rank = 0

    by_topology = 1

class WireFaults:
    """
    What happens to the frames of one direction of a link; times are ticks.
    """

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
        """the end that sends is reset then, alone"""

    @reset_at.setter
    def reset_at(self, arg: int, /) -> None: ...

class FaultConfig:
    """What links on which faults happen have in common."""

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

    def set_reroute(self, reroute: Callable[[list[tuple[int, int]]], FabricConfig]) -> None:
        """
        What makes a fabric whose routes and layers do without links, each (node, port) of its first end. It raises an error that says in one line why there is none.
        """

def replay_window(latency: int) -> int:
    """Words that the replay on a link of so many cycles holds."""

def replay_reach(window: int) -> int:
    """
    Cycles of the longest link on which a replay that holds so many words makes full rate.
    """

def frame_bits(config: FabricConfig) -> int:
    """Of a frame on the fabric's links, where faults happen on them."""

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
    """One router's signals from a cycle on, as VCD, two time units a cycle."""

    def __init__(self, node: int, start: int, file: str) -> None: ...

class RouterLibrary:
    """Routers of RTL, in a shared library."""

    def __init__(self, file: str, compares: bool = False, recording: Recording | None = None) -> None:
        """
        With `compares`, the simulator's router runs beside each one, and the first difference is raised as RtlDifference. Raises ValueError where the file is no such library.
        """

class UnitLibrary:
    """Collective units of RTL, in a shared library."""

    def __init__(self, file: str, recording: Recording | None = None) -> None:
        """Raises ValueError where the file is no such library."""

class UnitSizes:
    """How large the buffers of a collective unit are, in flits."""

    def __init__(self, config: CollectiveConfig, links: int) -> None: ...

    @property
    def slot(self) -> int: ...

    @property
    def shortest_packet(self) -> int: ...

    @property
    def host_queue(self) -> int: ...

    @property
    def queue(self) -> int: ...

    @property
    def credit_batch(self) -> int: ...

class HeaderFields:
    """Where a packet's header has what routers read of it."""

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
        """Routers of RTL; None: the simulator's own."""

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

    @property
    def memory_overhead(self) -> int: ...

    @memory_overhead.setter
    def memory_overhead(self, arg: int, /) -> None: ...

    @property
    def memory_bytes_per_tick(self) -> float: ...

    @memory_bytes_per_tick.setter
    def memory_bytes_per_tick(self, arg: float, /) -> None: ...

class CollectiveConfig:
    def __init__(self) -> None: ...

    @property
    def trees(self) -> Trees: ...

    @trees.setter
    def trees(self, arg: Trees, /) -> None: ...

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
    def library(self) -> UnitLibrary:
        """Collective units of RTL beside the simulator's; None: none."""

    @library.setter
    def library(self, arg: UnitLibrary, /) -> None: ...

    @property
    def slot_packets(self) -> int: ...

    @slot_packets.setter
    def slot_packets(self, arg: int, /) -> None: ...

    @property
    def packet_flits(self) -> int: ...

    @packet_flits.setter
    def packet_flits(self, arg: int, /) -> None: ...

    @property
    def long_packet_flits(self) -> int: ...

    @long_packet_flits.setter
    def long_packet_flits(self, arg: int, /) -> None: ...

    @property
    def relay_flits(self) -> int: ...

    @relay_flits.setter
    def relay_flits(self, arg: int, /) -> None: ...

    @property
    def lane_latency(self) -> int: ...

    @lane_latency.setter
    def lane_latency(self, arg: int, /) -> None: ...

    def load_operators(self, library: str) -> list[tuple[str, int]]:
        """
        Puts the operators and units of a shared library (thalweg_operator.hpp, thalweg_unit.hpp) into the switches; the operators' names and the bytes of their elements, in the order of Operator.user0 and on. ValueError where there are none, or too many.
        """

    @property
    def has_units(self) -> bool:
        """Units of the user's stand between hosts and switches."""

class SharingMode(enum.Enum):
    """What of a fabric each of several jobs has for itself."""

    sub_channels = 0
    """64-bit lanes of every port and unit"""

    time_slots = 1
    """turns on all of it"""

class Sharing:
    """
    How several jobs share one fabric: job j's weight, and whose each node is.
    """

    def __init__(self) -> None: ...

    @property
    def mode(self) -> SharingMode: ...

    @mode.setter
    def mode(self, arg: SharingMode, /) -> None: ...

    @property
    def weights(self) -> list[int]: ...

    @weights.setter
    def weights(self, arg: Sequence[int], /) -> None: ...

    @property
    def slot_cycles(self) -> int: ...

    @slot_cycles.setter
    def slot_cycles(self, arg: int, /) -> None: ...

    @property
    def job_of_node(self) -> list[int]: ...

    @job_of_node.setter
    def job_of_node(self, arg: Sequence[int], /) -> None: ...

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
    def host(self) -> HostConfig: ...

    @host.setter
    def host(self, arg: HostConfig, /) -> None: ...

    @property
    def collective(self) -> CollectiveConfig: ...

    @collective.setter
    def collective(self, arg: CollectiveConfig, /) -> None: ...

    @property
    def faults(self) -> FaultConfig: ...

    @faults.setter
    def faults(self, arg: FaultConfig, /) -> None: ...

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

NEVER: int = 9223372036854775807

class Endpoint(enum.Enum):
    """Where an operation starts and ends."""

    host = 0
    """host memory, behind PCIe"""

    kernel = 1
    """the node's own port"""

class Completion:
    """What was completed, and the tick at which the host sees it."""

    @property
    def handle(self) -> int: ...

    @property
    def at(self) -> int: ...

    @property
    def last(self) -> bool:
        """a message completes when it has left, and last when it has arrived"""

class Recovery:
    """
    A link that was given up, or has lost flits, and what followed; times are ticks.
    """

    @property
    def link(self) -> str: ...

    @property
    def reset(self) -> bool:
        """an end of it was reset alone: it is used again"""

    @property
    def silent_since(self) -> int:
        """its last good frame, or that reset"""

    @property
    def given_up(self) -> int:
        """the fabric was stopped"""

    @property
    def resumed(self) -> int:
        """
        the fabric went on without it; operations that were under way began again
        """

class LinkUse:
    @property
    def node(self) -> int: ...

    @property
    def port(self) -> int: ...

    @property
    def flits(self) -> int: ...

class RowEdge:
    @property
    def neighbour(self) -> int:
        """node at its end"""

    @property
    def there(self) -> int:
        """the number that it has for this edge"""

    @property
    def first(self) -> int:
        """of an edge down: the first label behind it,"""

    @property
    def behind(self) -> int:
        """and how many"""

class RowStage:
    @property
    def peers(self) -> int:
        """edges to the others, as bits"""

    @property
    def place(self) -> int:
        """the rank's own among them"""

class Row:
    """
    A communicator at one vertex of its tree: a row of a node's table. Edges are bits.
    """

    @property
    def has_rank(self) -> bool: ...

    @property
    def ranks(self) -> int: ...

    @property
    def rank(self) -> int: ...

    @property
    def label(self) -> int: ...

    @property
    def below(self) -> int:
        """labels of this vertex and what is below it"""

    @property
    def used(self) -> int: ...

    @property
    def up(self) -> int: ...

    @property
    def down(self) -> int: ...

    @property
    def edges(self) -> list[RowEdge]: ...

    @property
    def stages(self) -> list[RowStage]: ...

    @property
    def doubling(self) -> list[int]: ...

    @property
    def fold(self) -> int: ...

    @property
    def beyond(self) -> bool: ...

class Group:
    """
    The vertices of a communicator, the ranks' first, and the edges between them.
    """

    def __init__(self, config: FabricConfig, members: Sequence[int]) -> None:
        """That of ranks on some nodes where all rows are free."""

    @property
    def tree(self) -> list[list[tuple[int, bool]]]:
        """
        For each vertex its edges of the tree, ascending: the vertex at the other end, and whether it leads up.
        """

    def tree_of(self, root: int) -> list[list[int]]:
        """
        For each vertex its neighbours on the tree that rank `root` is the root of, by ascending edge.
        """

    @property
    def rows(self) -> list[tuple[int, Row]]:
        """Each vertex' node, and its row of that node's table."""

    @property
    def by_dimensions(self) -> bool:
        """
        Its exchange goes by dimensions; else it is recursive doubling over the ranks' numbers.
        """

    @property
    def doubles(self) -> bool:
        """There are edges between ranks whose numbers differ in one bit."""

    @property
    def exchange(self) -> list[list[list[int]]]:
        """
        For each rank its groups, stage by stage: their ranks in the order in which they are joined. None for a rank that is folded in before.
        """

def relay_ways(config: FabricConfig, node: int) -> list[tuple[int, int]]:
    """
    To each node, link and route class (KEEP_CLASS: its own) by which a node's relay sends packets; NO_ROUTE to itself.
    """

def unit_channel(config: FabricConfig, source: int, destination: int) -> int:
    """
    The virtual channel on which a node injects packets of collectives to another one.
    """

def unit_last_link(config: FabricConfig, source: int, destination: int) -> int:
    """
    The link of the destination over which packets of collectives come from another node.
    """

class Fabric:
    """The simulated cluster. Times are in ticks; ranks are a communicator's."""

    def __init__(self, config: FabricConfig, endpoint: Endpoint = Endpoint.host) -> None:
        """Raises ValueError when the configuration is none."""

    @property
    def now(self) -> int:
        """in ticks"""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """Nothing will happen until something is given to it."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; where it is idle, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """Why it cannot go on: a link that stays down."""

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Of each node that dropped anything: its number, what, and how many."""

    @property
    def mismatch(self) -> str | None:
        """The first difference between the ranks' parts of one operation."""

    @property
    def recoveries(self) -> list[Recovery]:
        """The links without which the fabric began again."""

    @property
    def flit_hops(self) -> int: ...

    def create_communicator(self, members: Sequence[int], handles: Sequence[int], at: int) -> int | None:
        """
        Node members[i] is rank i; a completion for each member when its row is loaded, with handles[i]. None: no row is free.
        """

    def computes(self, context: int, collective: int) -> bool:
        """The network computes this collective on this communicator."""

    def algorithms(self, context: int, collective: int) -> int:
        """
        The algorithms that a communicator has for a collective, bit i that of code i of thalweg.spec.Algorithm.
        """

    def free_communicator(self, context: int) -> None: ...

    def group(self, context: int) -> Group:
        """The vertices and edges of a communicator."""

    def parts(self, context: int, algorithm: int) -> list[Group]:
        """
        The groups between which an algorithm deals out the packets of an operation; one where it does not.
        """

    def submit(self, *, handle: int, context: int, rank: int, collective: int, algorithm: int = 0, op: int = 0, type: int = 0, root: int = 0, count: int = 0, send: object | None = None, receive: object | None = None, vector: bool = False, send_blocks: Sequence[tuple[int, int]] | None = None, receive_blocks: Sequence[tuple[int, int]] | None = None, at: int | None = None) -> None:
        """
        One rank's part of a collective; thalweg.spec has the enumerations, `count` is in elements of one block. A v-form says `vector` and lists where the block of each rank lies: (first element, elements). Buffers are contiguous, and held until the completion.

        Raises ValueError where the network cannot do it.
        """

    def send(self, *, handle: int, source: int, destination: int, bytes: int, at: int | None = None) -> None:
        """A message between two nodes; it takes time, and carries no payload."""

    def advance(self, until: int) -> list[Completion]:
        """
        Runs until a tick, or the end of the first tick in which something completed. NEVER: until the fabric is idle.
        """

    def link_use(self) -> list[LinkUse]:
        """Flits sent by each link port."""

class SharedFabric:
    """A cluster that jobs share; each has some of its nodes."""

    def __init__(self, config: FabricConfig, sharing: Sharing, endpoint: Endpoint = Endpoint.host) -> None:
        """
        Raises ValueError when the configuration is none, or cannot be shared so.
        """

    @property
    def now(self) -> int:
        """in ticks"""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """Nothing will happen until something is given to it."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; where it is idle, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """Why it cannot go on: a link that stays down."""

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Of each node that dropped anything: its number, what, and how many."""

    @property
    def mismatch(self) -> str | None:
        """The first difference between the ranks' parts of one operation."""

    @property
    def recoveries(self) -> list[Recovery]:
        """The links without which the fabric began again."""

    @property
    def flit_hops(self) -> int: ...

    def create_communicator(self, members: Sequence[int], handles: Sequence[int], at: int) -> int | None:
        """
        Node members[i] is rank i; a completion for each member when its row is loaded, with handles[i]. None: no row is free.
        """

    def computes(self, context: int, collective: int) -> bool:
        """The network computes this collective on this communicator."""

    def algorithms(self, context: int, collective: int) -> int:
        """
        The algorithms that a communicator has for a collective, bit i that of code i of thalweg.spec.Algorithm.
        """

    def free_communicator(self, context: int) -> None: ...

    def group(self, context: int) -> Group:
        """The vertices and edges of a communicator."""

    def parts(self, context: int, algorithm: int) -> list[Group]:
        """
        The groups between which an algorithm deals out the packets of an operation; one where it does not.
        """

    def submit(self, *, handle: int, context: int, rank: int, collective: int, algorithm: int = 0, op: int = 0, type: int = 0, root: int = 0, count: int = 0, send: object | None = None, receive: object | None = None, vector: bool = False, send_blocks: Sequence[tuple[int, int]] | None = None, receive_blocks: Sequence[tuple[int, int]] | None = None, at: int | None = None) -> None:
        """
        One rank's part of a collective; thalweg.spec has the enumerations, `count` is in elements of one block. A v-form says `vector` and lists where the block of each rank lies: (first element, elements). Buffers are contiguous, and held until the completion.

        Raises ValueError where the network cannot do it.
        """

    def send(self, *, handle: int, source: int, destination: int, bytes: int, at: int | None = None) -> None:
        """A message between two nodes; it takes time, and carries no payload."""

    def advance(self, until: int) -> list[Completion]:
        """
        Runs until a tick, or the end of the first tick in which something completed. NEVER: until the fabric is idle.
        """

    def link_use(self) -> list[LinkUse]:
        """Flits sent by each link port."""

    def job_link_use(self, job: int) -> list[LinkUse]:
        """Flits of a job sent by each link port."""

class Peach2WritesLost(Exception):
    pass

class Peach2Difference(Exception):
    pass

class Peach2Times:
    @property
    def begin(self) -> int:
        """cycle of the packets' clock; negative before it"""

    @property
    def end(self) -> int: ...

    @property
    def error(self) -> str:
        """why it has not done what it should, or nothing"""

class Peach2Reduction:
    def __init__(self, context: int, op: int, type: int, record_bytes: int, tree: bool) -> None: ...

class Peach2Group:
    pass

class Peach2Hubs:
    def __init__(self, description: dict, windows: Sequence[Sequence[tuple[int, int, int, int]]], library: str = '') -> None: ...

    @property
    def now(self) -> int:
        """in ticks"""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """Nothing will happen until something is given to it."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; where it is idle, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """Why it cannot go on: a link that stays down."""

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Of each node that dropped anything: its number, what, and how many."""

    @property
    def nodes(self) -> int: ...

    @property
    def cycles_per_second(self) -> float: ...

    def write(self, arg0: int, arg1: int, arg2: int, arg3: bytes, /) -> None: ...

    def read(self, arg0: int, arg1: int, arg2: int, arg3: int, /) -> bytes: ...

    def store(self, arg0: int, arg1: int, arg2: bytes, /) -> Peach2Times: ...

    def wait_for(self, arg0: int, arg1: int, arg2: int, /) -> Peach2Times: ...

    def work(self, node: int, ns: float) -> Peach2Times: ...

    def copy(self, arg0: int, arg1: int, arg2: int, arg3: int, arg4: int, arg5: int, /) -> Peach2Times: ...

    def chain(self, arg0: int, arg1: Sequence[tuple[int, int, int]], arg2: bool, arg3: bool, /) -> Peach2Times: ...

    def get(self, arg0: int, arg1: int, arg2: int, arg3: int, /) -> Peach2Times: ...

    def reduce(self, arg0: int, arg1: int, arg2: Sequence[tuple[int, int]], arg3: Peach2Reduction, arg4: bool, /) -> Peach2Times: ...

    def group(self, arg0: Sequence[int], arg1: int, arg2: Peach2Reduction, /) -> Peach2Group: ...

    def reduce_in(self, arg0: Peach2Group, arg1: int, arg2: Sequence[tuple[int, int]], /) -> Peach2Times: ...

    def load(self, arg: Sequence[Sequence[tuple[int, int, int, int]]], /) -> None: ...

    def run(self) -> None: ...

    def abort(self, node: int, channel: int) -> Peach2Times: ...

    def reset(self, arg: int, /) -> Peach2Times: ...

    def timeout(self, node: int, us: float) -> Peach2Times: ...

    def restart_host(self, arg: int, /) -> Peach2Times: ...

    def owners(self, node: int, nodes: int) -> Peach2Times: ...

    def counts(self, arg: int, /) -> dict: ...

    def us(self, arg: Peach2Times, /) -> float: ...

    @property
    def start(self) -> int:
        """tick of time 0"""

    def link_use(self) -> list:
        """node and port that send, ticks of a window, words of each window"""

def peach2_memory_address(node: int, memory: int, at: int = 0) -> int: ...

def peach2_hub_address(node: int, at: int = 0) -> int: ...

def peach2_register_address(node: int, number: int) -> int: ...

PEACH2_HUB_MEMORY: int = 3

PEACH2_PROGRAM_BYTES: int = 8587837440

class Ending(enum.Enum):
    finished = 0

    stopped = 1

    aborted = 2

    refused = 3

    died = 4

    deadlock = 5

    failure = 6

    disagreement = 7

    timeout = 8

class Reason(enum.Enum):
    no_row = 1

    not_in_network = 2

    user_operation = 3

    derived_type = 4

    type_not_in_network = 5

    operation_not_in_network = 6

    intercommunicator = 7

    shared_node = 8

class SoftwarePattern(enum.Enum):
    """How a software collective exchanges its messages."""

    none = 0

    barrier = 1

    broadcast = 2

    reduce = 3

    allreduce = 4

    gather = 5

    scatter = 6

    allgather = 7

    alltoall = 8

    scan = 9

    reduce_scatter = 10

    gather_list = 11

    scatter_list = 12

    allgather_list = 13

    alltoall_list = 14

    neighbours = 15

def software_ticks(config: FabricConfig, nodes: Sequence[int], pattern: SoftwarePattern, bytes: int, root: int = 0) -> int:
    """
    Ticks that a collective of `bytes` a block takes as the messages of its usual software algorithm, on links that carry nothing else; rank i is on nodes[i]. Not for patterns whose ranks give lists.
    """

class Choice:
    """
    Which algorithm a collective takes, by the size of the communicator and of a block.
    """

    def __init__(self, rows: Sequence[tuple[int, int, int, Sequence[int]]]) -> None:
        """
        Rows are (ranks, bytes, collective, algorithms): the best first, from so many ranks and bytes on.
        """

    def of(self, collective: int, ranks: int, bytes: int, known: int) -> int | None:
        """
        The best of the algorithms that there are, the bits of `known`; None where the rows say nothing.
        """

class MpiServer:
    def __init__(self, config: FabricConfig, nodes: Sequence[int], listener: int, functions: Sequence[str], compute_scale: float, patience_s: float, choice: Choice, programs: Sequence[int] = [], sharing: Sharing | None = None, record: bool = False) -> None:
        """
        Serves ranks that connect to the listening Unix socket `listener`, which it takes over; rank i is on nodes[i]. `programs`: the first rank of each, where there are several. `record`: keep what happened when.
        """

    def run(self) -> dict:
        """
        Serves until the program ends or cannot go on; says how it went. Times are ticks.
        """

    def stop(self) -> None:
        """From another thread: makes run() return soon."""

    def progress(self) -> tuple[int, int]:
        """
        From another thread: the virtual time, in ticks, and how often ranks have called MPI so far.
        """

    def processes(self) -> list[int]:
        """Process numbers of the ranks that have come, 0 for the others."""

class SmiMisuse(Exception):
    pass

class SmiDifference(Exception):
    pass

class SmiRun:
    def __init__(self, description: dict, endpoints: Sequence[Sequence[tuple[int, int, int, int]]], ranks: int, libraries: Sequence[str], switches: FabricConfig | None = None, collectives: Sequence[Sequence[tuple[int, int, int, int]]] = []) -> None:
        """
        With `switches` the description has a clock of theirs, and ports of `collectives` are served by them.
        """

    @property
    def ranks(self) -> int: ...

    @property
    def hertz(self) -> float: ...

    @property
    def warnings(self) -> list[str]: ...

    @property
    def elements(self) -> int:
        """that kernels have given and taken"""

    def load(self, tables: Sequence[tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]]) -> None: ...

    def buffer(self, rank: int, bank: int, name: str, bytes: int) -> int: ...

    def view(self, number: int) -> NDArray[numpy.uint8]: ...

    def start(self, rank: int, library: str, kernel: str, arguments: list, serves: bool) -> None: ...

    def run(self) -> None: ...

    def limit(self, cycle: int) -> None:
        """The last cycle in which a kernel that does not serve may end"""

    def watch(self, patience: int) -> None:
        """
        In a process that was forked for the run: a fault of a kernel ends it, and so do so many seconds of processor time in which no kernel has used a channel or memory; 0: never
        """

    def fault(self) -> tuple:
        """
        What ended such a process, empty where nothing did, and whether it was its patience
        """

    def started(self) -> list:
        """
        rank, kernel, whether it serves, whether it has ended, cycle of its end
        """

    def record(self) -> None:
        """Kernels that are started from then on record their stalls"""

    def stalls(self) -> list:
        """
        Of each kernel: what it stalled for, and begin, end and stalled ticks of spans
        """

    def link_use(self) -> list:
        """node and port that send, ticks of a window, words of each window"""

    @property
    def now(self) -> int:
        """in ticks"""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """Nothing will happen until something is given to it."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; where it is idle, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """Why it cannot go on: a link that stays down."""

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Of each node that dropped anything: its number, what, and how many."""

class Pattern(enum.Enum):
    """Where a source sends to; nodes are numbered from 0."""

    uniform = 0
    """any node, the source included"""

    transpose = 1
    """node a*k + b sends to b*k + a; the number of nodes is k*k"""

    bit_complement = 2
    """node i sends to nodes - 1 - i"""

    neighbour = 3
    """node i sends to i + 1 modulo nodes"""

    hotspot = 4
    """with hotspot_fraction to one of hotspot_nodes, otherwise uniform"""

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
        """cycles before anything is measured"""

    @warmup.setter
    def warmup(self, arg: int, /) -> None: ...

    @property
    def cycles(self) -> int:
        """cycles that are measured"""

    @cycles.setter
    def cycles(self, arg: int, /) -> None: ...

    @property
    def stuck_cycles(self) -> int:
        """
        the network is stuck when nothing moved for so many cycles while flits are inside
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
        """CPU time of the measured cycles' loop alone"""

    @property
    def packets(self) -> int:
        """created in the measured cycles, and ejected"""

    @property
    def average_latency_cycles(self) -> float:
        """
        of these packets, from creation (waiting in the source included) to tail ejected
        """

    @property
    def max_latency_cycles(self) -> int: ...

    @property
    def average_hops(self) -> float:
        """links that a packet crosses"""

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
        """every flit arrived once, in order, where it should, with its payload"""

    @property
    def stuck(self) -> list[str]:
        """who waits for whom, if nothing moves any more"""

def run_traffic(fabric: FabricConfig, traffic: TrafficConfig, progress: Callable[[int, int], bool] | None = None) -> TrafficResult:
    """
    Runs random traffic and lets the network run empty afterwards. progress(cycles done, cycles to do) is called
    now and then; False ends the run early. Raises ValueError, one line, on a wrong configuration.
    """
