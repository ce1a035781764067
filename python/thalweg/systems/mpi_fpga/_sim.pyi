"""
MPI-FPGA: a fabric's configuration, fabrics, and the server of MPI programs.
"""

from collections.abc import Sequence
import enum

import thalweg._core
import thalweg.errors


class Trees(enum.Enum):
    """Basis of a communicator's tree."""

    by_rank = 0

    by_topology = 1

class UnitLibrary:
    """RTL collective units in a shared library."""

    def __init__(self, file: str, recording: thalweg._core.Recording | None = None) -> None:
        """Raises ValueError if the file is not such a library."""

class UnitSizes:
    """Sizes of a collective unit's buffers, in flits."""

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
        """RTL collective units that run beside the simulator's; None: none."""

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
        Adds the operators and units of a shared library (thalweg_operator.hpp, thalweg_unit.hpp) to the switches. Returns name and element bytes of each operator, in order from Operator.user0.

        Raises ValueError if the library has none, or too many.
        """

    @property
    def has_units(self) -> bool:
        """True if user-defined units are between hosts and switches."""

class SharingMode(enum.Enum):
    """Resources of a fabric that are private to each job."""

    sub_channels = 0
    """64-bit lanes of every port and unit"""

    time_slots = 1
    """the whole fabric in turn"""

class Sharing:
    """
    How several jobs share one fabric: weight of each job, and job of each node.
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

class FabricConfig(thalweg._core.NetworkConfig):
    """A network whose nodes have hosts and collective units."""

    def __init__(self) -> None: ...

    @property
    def host(self) -> HostConfig: ...

    @host.setter
    def host(self, arg: HostConfig, /) -> None: ...

    @property
    def collective(self) -> CollectiveConfig: ...

    @collective.setter
    def collective(self, arg: CollectiveConfig, /) -> None: ...

    @property
    def threads(self) -> int:
        """Threads that step the nodes; results do not depend on their number."""

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

class Endpoint(enum.Enum):
    """Endpoint of operations."""

    host = 0
    """host memory, behind PCIe"""

    kernel = 1
    """the node's own port"""

class Recovery:
    """Recovery from a link that was given up or lost flits; times are ticks."""

    @property
    def link(self) -> str: ...

    @property
    def reset(self) -> bool:
        """one end alone was reset: the link is used again"""

    @property
    def silent_since(self) -> int:
        """time of the last good frame, or of that reset"""

    @property
    def given_up(self) -> int:
        """time at which the fabric was stopped"""

    @property
    def resumed(self) -> int:
        """restart without the link; operations in flight began again"""

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
        """node at the other end"""

    @property
    def there(self) -> int:
        """index of this edge at the neighbour"""

    @property
    def first(self) -> int:
        """for a down edge: the first label behind it"""

    @property
    def behind(self) -> int:
        """for a down edge: number of labels behind it"""

class RowStage:
    @property
    def peers(self) -> int:
        """edges to the other ranks of the group, as bits"""

    @property
    def place(self) -> int:
        """index of this rank in the group"""

class Row:
    """
    A communicator at one vertex of its tree: a row of a node's table. Edge sets are bit masks.
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
        """number of labels of this vertex and its subtree"""

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
    The vertices of a communicator, those with ranks first, and the edges between them.
    """

    def __init__(self, config: FabricConfig, members: Sequence[int]) -> None:
        """
        Builds the group of ranks on these nodes, with all table rows free.

        Raises ValueError if no row can hold its edges at one of the nodes.
        """

    @property
    def tree(self) -> list[list[tuple[int, bool]]]:
        """
        For each vertex, its tree edges in ascending order: the vertex at the other end, and whether it is the parent.
        """

    def tree_of(self, root: int) -> list[list[int]]:
        """
        Returns, for each vertex, its neighbours on the tree with root `root`, in ascending order of edges.
        """

    @property
    def rows(self) -> list[tuple[int, Row]]:
        """For each vertex, its node and its row of the node's table."""

    @property
    def by_dimensions(self) -> bool:
        """
        True if the exchange proceeds by dimensions, False if it is recursive doubling over rank numbers.
        """

    @property
    def doubles(self) -> bool:
        """True if edges exist between ranks whose numbers differ in one bit."""

    @property
    def exchange(self) -> list[list[list[int]]]:
        """
        For each rank, its group in each stage: the ranks in the order in which their contributions are combined. Empty for a rank that is folded in before the exchange.
        """

def relay_ways(config: FabricConfig, node: int) -> list[tuple[int, int]]:
    """
    Returns the link port and route class (KEEP_CLASS: unchanged) by which a node's relay sends packets to each node; NO_ROUTE to itself.
    """

def unit_channel(config: FabricConfig, source: int, destination: int) -> int:
    """
    Returns the virtual channel on which a node injects collective packets to another node.
    """

def unit_last_link(config: FabricConfig, source: int, destination: int) -> int:
    """
    Returns the destination's link over which collective packets from another node arrive.
    """

class Fabric:
    """
    A simulated cluster. Times are in ticks; ranks are numbered within a communicator.
    """

    def __init__(self, config: FabricConfig, endpoint: Endpoint = Endpoint.host) -> None:
        """Raises ValueError if the configuration is invalid."""

    @property
    def now(self) -> int:
        """Current time in ticks."""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """True if nothing will happen before the next submission."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; in an idle engine, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """
        Why the engine cannot continue, for example a link that stays down; None otherwise.
        """

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Dropped data: node, kind, and count."""

    @property
    def mismatch(self) -> str | None:
        """
        First inconsistency between the ranks' parts of one operation, or None.
        """

    @property
    def recoveries(self) -> list[Recovery]:
        """Failed links, and the restarts of the fabric that followed."""

    @property
    def flit_hops(self) -> int: ...

    def create_communicator(self, members: Sequence[int], handles: Sequence[int], at: int) -> int | None:
        """
        Allocates a communicator; node members[i] is rank i. For each member, handles[i] completes when its row is loaded. Returns None if no row is free.
        """

    def computes(self, context: int, collective: int) -> bool:
        """
        Returns whether the network computes this collective on this communicator.
        """

    def algorithms(self, context: int, collective: int) -> int:
        """
        Returns the algorithms of a communicator for a collective: bit i stands for code i of thalweg.spec.Algorithm.
        """

    def free_communicator(self, context: int) -> None: ...

    def group(self, context: int) -> Group:
        """Returns the vertices and edges of a communicator."""

    def parts(self, context: int, algorithm: int) -> list[Group]:
        """
        Returns the groups over which an algorithm splits an operation, or the single one.
        """

    def submit(self, *, handle: int, context: int, rank: int, collective: int, algorithm: int = 0, op: int = 0, type: int = 0, root: int = 0, count: int = 0, send: object | None = None, receive: object | None = None, vector: bool = False, send_blocks: Sequence[tuple[int, int]] | None = None, receive_blocks: Sequence[tuple[int, int]] | None = None, at: int | None = None) -> None:
        """
        Submits one rank's part of a collective. thalweg.spec has the enumerations; `count` is in elements of one block. With `vector` (a v-form), the lists give the block of each rank as (first element, elements). Buffers must be contiguous; they are held until the completion.

        Raises ValueError if the network cannot execute it.
        """

    def submit_all(self, *, handles: Sequence[int], context: int, collective: int, algorithm: int, op: int, type: int, root: int, count: int, send: list, receive: list, at: int | None = None) -> None:
        """
        Submits the parts of all ranks of a collective, each with its handle and buffers; see submit.
        """

    def send(self, *, handle: int, source: int, destination: int, bytes: int, at: int | None = None) -> None:
        """
        Sends a message between two nodes; only its time is simulated, without payload.
        """

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick or the end of the first tick with a completion; NEVER: until idle.
        """

    def link_use(self) -> list[LinkUse]:
        """Returns the flits sent by each link port."""

class SharedFabric:
    """
    A cluster shared by several jobs, each of which owns some of its nodes.
    """

    def __init__(self, config: FabricConfig, sharing: Sharing, endpoint: Endpoint = Endpoint.host) -> None:
        """
        Raises ValueError if the configuration is invalid or cannot be shared this way.
        """

    @property
    def now(self) -> int:
        """Current time in ticks."""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """True if nothing will happen before the next submission."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; in an idle engine, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """
        Why the engine cannot continue, for example a link that stays down; None otherwise.
        """

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Dropped data: node, kind, and count."""

    @property
    def mismatch(self) -> str | None:
        """
        First inconsistency between the ranks' parts of one operation, or None.
        """

    @property
    def recoveries(self) -> list[Recovery]:
        """Failed links, and the restarts of the fabric that followed."""

    @property
    def flit_hops(self) -> int: ...

    def create_communicator(self, members: Sequence[int], handles: Sequence[int], at: int) -> int | None:
        """
        Allocates a communicator; node members[i] is rank i. For each member, handles[i] completes when its row is loaded. Returns None if no row is free.
        """

    def computes(self, context: int, collective: int) -> bool:
        """
        Returns whether the network computes this collective on this communicator.
        """

    def algorithms(self, context: int, collective: int) -> int:
        """
        Returns the algorithms of a communicator for a collective: bit i stands for code i of thalweg.spec.Algorithm.
        """

    def free_communicator(self, context: int) -> None: ...

    def group(self, context: int) -> Group:
        """Returns the vertices and edges of a communicator."""

    def parts(self, context: int, algorithm: int) -> list[Group]:
        """
        Returns the groups over which an algorithm splits an operation, or the single one.
        """

    def submit(self, *, handle: int, context: int, rank: int, collective: int, algorithm: int = 0, op: int = 0, type: int = 0, root: int = 0, count: int = 0, send: object | None = None, receive: object | None = None, vector: bool = False, send_blocks: Sequence[tuple[int, int]] | None = None, receive_blocks: Sequence[tuple[int, int]] | None = None, at: int | None = None) -> None:
        """
        Submits one rank's part of a collective. thalweg.spec has the enumerations; `count` is in elements of one block. With `vector` (a v-form), the lists give the block of each rank as (first element, elements). Buffers must be contiguous; they are held until the completion.

        Raises ValueError if the network cannot execute it.
        """

    def submit_all(self, *, handles: Sequence[int], context: int, collective: int, algorithm: int, op: int, type: int, root: int, count: int, send: list, receive: list, at: int | None = None) -> None:
        """
        Submits the parts of all ranks of a collective, each with its handle and buffers; see submit.
        """

    def send(self, *, handle: int, source: int, destination: int, bytes: int, at: int | None = None) -> None:
        """
        Sends a message between two nodes; only its time is simulated, without payload.
        """

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick or the end of the first tick with a completion; NEVER: until idle.
        """

    def link_use(self) -> list[LinkUse]:
        """Returns the flits sent by each link port."""

    def job_link_use(self, job: int) -> list[LinkUse]:
        """Returns the flits of a job sent by each link port."""

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
    """Message pattern of a software collective."""

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
    Returns the ticks that a collective with `bytes` per block takes with the messages of its usual software algorithm on idle links; rank i is on nodes[i]. Not for patterns with per-rank lists.
    """

class Choice:
    """
    Selects the algorithm of a collective by the sizes of communicator and block.
    """

    def __init__(self, rows: Sequence[tuple[int, int, int, Sequence[int]]]) -> None:
        """
        `rows`: (minimum ranks, minimum block bytes, collective, algorithms with the best first).
        """

    def of(self, collective: int, ranks: int, bytes: int, known: int) -> int | None:
        """
        Returns the best of the available algorithms (`known`, as bits); None if no row matches.
        """

class Server:
    def __init__(self, config: FabricConfig, nodes: Sequence[int], listener: int, functions: Sequence[str], compute_scale: float, patience_s: float, choice: Choice, programs: Sequence[int] = [], sharing: Sharing | None = None, record: bool = False) -> None:
        """
        Serves the ranks that connect to the listening Unix socket `listener`, which the server owns from then on; rank i is on nodes[i]. `programs`: first rank of each program, if there are several. `record`: keep a history of events.
        """

    def run(self) -> dict:
        """
        Serves until the program ends or can make no progress; returns the outcome. Times are ticks.
        """

    def stop(self) -> None:
        """Makes run() return soon. May be called from any thread."""

    def progress(self) -> tuple[int, int]:
        """
        Returns the virtual time in ticks, and the number of MPI calls of all ranks so far. May be called from any thread.
        """

    def processes(self) -> list[int]:
        """
        Returns the process IDs of the ranks that have connected, 0 for the others.
        """
