"""
MPI-FPGA: a fabric's configuration, fabrics, and the server of MPI programs.
"""

from collections.abc import Sequence
import enum

import thalweg._core
import thalweg.errors


class Trees(enum.Enum):
    """What a communicator's tree follows."""

    by_rank = 0

    by_topology = 1

class UnitLibrary:
    """Collective units of RTL, in a shared library."""

    def __init__(self, file: str, recording: thalweg._core.Recording | None = None) -> None:
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

class Endpoint(enum.Enum):
    """Where an operation starts and ends."""

    host = 0
    """host memory, behind PCIe"""

    kernel = 1
    """the node's own port"""

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

    def advance(self, until: int) -> list[thalweg._core.Completion]:
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

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick, or the end of the first tick in which something completed. NEVER: until the fabric is idle.
        """

    def link_use(self) -> list[LinkUse]:
        """Flits sent by each link port."""

    def job_link_use(self, job: int) -> list[LinkUse]:
        """Flits of a job sent by each link port."""

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

class Server:
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
