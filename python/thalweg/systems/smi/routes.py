# SPDX-License-Identifier: Apache-2.0
"""Routes of SMI: tables for send and receive kernels (docs/smi.md), short paths that need no virtual channels, and their proof.

A packet takes its turn through FIFOs: endpoint -> send kernel -> (FIFO to another send kernel ->) link -> receive kernel; there
-> (FIFO to another receive kernel ->) endpoint, or, where the rank is no more than on its way, -> FIFO to the send kernel -> and on.
Kernels pass over an input whose packet can't go on, so a FIFO waits for another one only where its first packet goes there. What
arrives is taken in the end: that is up to the kernels, which have to pop what is pushed to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology, build
from thalweg.errors import CheckFailed, InputError
from thalweg.route.acyclic import find_cycle
from thalweg.systems.smi.spread import Tree, spread

SEND_ENTRIES, RECEIVE_ENTRIES = 256, 512  #: bytes of a table
TO_LINK, TO_RECEIVE = 0, 1  #: outputs of a send kernel; those behind lead to the other send kernels
NO_ROUTE = 0xFF  #: in place of an output: packets to the rank are dropped, and counted
KINDS = ("push", "pop", "broadcast", "scatter", "gather", "reduce")

_BASES, _FEW = (
    6,
    32,
)  #: of up*/down* that are improved: those with the shortest paths; of more ranks than that, one in three
_PASSES = 8  #: over all destinations, at most
_TRIES, _TRIED_RANKS = 400, 6_000  #: of some destinations at once, at most, and as many as that divided by the ranks
_LOAD = (
    0.1  #: so much longer paths on average are as good as a busiest link that has that much more than by shortest paths
)

Table = NDArray[np.uint8]
Links = NDArray[np.int32]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Endpoint:
    """Of a rank, in the order of their numbers: number i is at the kernels of link i modulo the rank's links."""

    kind: str
    port: int

    @property
    def takes_data(self) -> bool:
        return self.kind != "push"

    @property
    def takes_control(self) -> bool:
        return self.kind != "pop"


class BadRoutes(CheckFailed):
    """Tables that failed; `cycle` has the FIFOs and links that wait in a circle."""

    def __init__(self, what: str, cycle: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.cycle = list(cycle)


@dataclass(frozen=True)
class Proof:
    """Figures of tables that passed; paths are counted in links, over ordered pairs of different ranks."""

    ranks: int
    links: int
    channels: int  #: links' directions, and FIFOs between kernels
    dependencies: int  #: which of them wait for which
    longest_path: int
    longest_shortest: int
    average_path: float
    average_shortest: float
    longer_pairs: int  #: whose path is no shortest one
    busiest_link: float  #: packets a cycle, when every rank sends one a cycle, evenly to all others
    busiest_shortest: float  #: the same by shortest paths, evenly over all of a pair's

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# ---------------------------------------------------------------- tables


def neighbour(own: int, other: int, first: int) -> int:
    """The number of the output to another kernel of the rank; those are in ascending order, from `first` on."""
    return first + other - (other > own)


def send_tables(leaves_by: NDArray[np.int8]) -> Table:
    """(ranks, links, SEND_ENTRIES) from the link that a packet leaves a rank by: (ranks, links, ranks), rank, send kernel, destination;
    NO_ROUTE for ranks that the cluster does not have, whose packets are dropped and counted."""
    ranks, links, _ = leaves_by.shape
    tables = np.full((ranks, links, SEND_ENTRIES), NO_ROUTE, np.uint8)
    for own in range(links):
        outputs = [TO_LINK if link == own else neighbour(own, link, TO_RECEIVE + 1) for link in range(links)]
        by = leaves_by[:, own]
        tables[:, own, :ranks] = np.where(by < 0, TO_RECEIVE, np.array(outputs, np.uint8)[by])
    return tables


def receive_tables(endpoints: Sequence[Endpoint], links: int) -> Table:
    """(links, RECEIVE_ENTRIES) of a rank that has these endpoints. Raises InputError where two would take a port's packets."""
    tables = np.zeros((links, RECEIVE_ENTRIES), np.uint8)
    takers: dict[tuple[int, bool], Endpoint] = {}
    for number, endpoint in enumerate(endpoints):
        if endpoint.kind not in KINDS:
            raise InputError(f"{endpoint.kind!r} is no kind of endpoint; the kinds are {', '.join(KINDS)}")
        if not 0 <= endpoint.port < RECEIVE_ENTRIES // 2:
            raise InputError(f"port {endpoint.port}; a port is from 0 to {RECEIVE_ENTRIES // 2 - 1}")
        at, place = number % links, number // links
        for control, takes in enumerate((endpoint.takes_data, endpoint.takes_control)):
            if not takes:
                continue
            if other := takers.get((endpoint.port, bool(control))):
                raise InputError(f"port {endpoint.port} has two endpoints of a rank, {other.kind} and {endpoint.kind}")
            takers[endpoint.port, bool(control)] = endpoint
            entry = endpoint.port * 2 + control
            for own in range(links):
                tables[own, entry] = links + 2 * place + control if own == at else neighbour(own, at, 1)
    return tables


# ---------------------------------------------------------------- proof


def prove(topology: Topology, tables: Table, receive: Iterable[Table] = ()) -> Proof:
    """Checks send kernels' tables, and those of receive kernels of each rank where there are any; raises BadRoutes.

    Whatever the tables are: they are followed from every send kernel, to which an endpoint may be connected.
    """
    if tables.shape[0] != topology.nodes or tables.shape[1] < topology.link_ports or tables.shape[2] != SEND_ENTRIES:
        raise ValueError(f"tables of shape {tables.shape} for {topology.nodes} ranks of {topology.link_ports} links")
    graph = _Channels(topology, tables.shape[1])
    hops, longest = _followed(topology, tables)
    edges = graph.edges(tables)
    for rank, of_rank in enumerate(receive):
        _check_receive(rank, of_rank)
    if cycle := find_cycle(graph.count, edges):
        names = [graph.name(channel) for channel in cycle]
        raise BadRoutes(f"a cycle of {len(names)}, each of which waits for the next: {'; '.join(names)}", names)
    others = ~np.eye(topology.nodes, dtype=bool)
    worst = hops.max(axis=1)
    return Proof(
        ranks=topology.nodes,
        links=len(topology.links),
        channels=graph.used,
        dependencies=len(edges),
        longest_path=longest,
        longest_shortest=topology.diameter,
        average_path=float(hops.mean(axis=1)[others].mean()),
        average_shortest=float(topology.distances[others].mean()),
        longer_pairs=int((worst > topology.distances)[others].sum()),
        busiest_link=float(_loads(topology, tables).max() / (topology.nodes - 1)),
        busiest_shortest=float(_loads_of_shortest(topology).max() / (topology.nodes - 1)),
    )


def ends(topology: Topology, links: int) -> tuple[Links, Links]:
    """(ranks, links): rank and link at each link's other end, -1 where there is none."""
    pad = ((0, 0), (0, links - topology.link_ports))
    peer = np.pad(topology.peer, pad, constant_values=-1)
    peer_link = np.pad(topology.peer_port, pad, constant_values=-1)
    return peer, peer_link


class _Channels:
    """The vertices of the dependency graph: each link's direction, by the send kernel that fills it, and the FIFOs of a rank."""

    SORTS = ("link", "receive to send", "send to receive", "send to send", "receive to receive")

    def __init__(self, topology: Topology, links: int) -> None:
        self.peer, self.peer_link = ends(topology, links)
        self.ranks, self.links = topology.nodes, links
        self.count = self.ranks * links * links * len(self.SORTS)
        # One is left out of each rank's sort from a kernel to another: that to itself.
        self.used = 2 * len(topology.links) + self.ranks * (2 * links + 2 * links * (links - 1))

    def number(self, sort: int, rank: Any, one: Any, other: Any = 0) -> Any:
        return ((sort * self.ranks + rank) * self.links + one) * self.links + other

    def name(self, channel: int) -> str:
        rest, other = divmod(channel, self.links)
        rest, one = divmod(rest, self.links)
        sort, rank = divmod(rest, self.ranks)
        match sort:
            case 0:
                return f"link {one} of rank {rank} to rank {self.peer[rank, one]}"
            case 1:
                return f"rank {rank}, receive kernel {one} to its send kernel"
            case 2:
                return f"rank {rank}, send kernel {one} to its receive kernel"
        return f"rank {rank}, {'send' if sort == 3 else 'receive'} kernel {one} to {other}"

    def edges(self, tables: Table) -> NDArray[np.int64]:
        """A row for each that waits for another: from every send kernel to every destination."""
        ranks = self.ranks
        rank, kernel, destination = (
            axis.ravel() for axis in np.meshgrid(range(ranks), range(self.links), range(ranks), indexing="ij")
        )
        first = self._first(tables, rank, kernel, destination)
        output = tables[rank, kernel, destination]
        found: list[Any] = []

        def edge(tail: Any, head: Any) -> None:
            found.append(np.stack(np.broadcast_arrays(tail, head), axis=-1).reshape(-1, 2))

        # Through another send kernel of the rank.
        on = output > TO_RECEIVE
        r, d = rank[on], destination[on]
        edge(first[on], self._first(tables, r, _other(kernel[on], output[on]), d))
        # Over the link, and through the rank behind it.
        over = (output == TO_LINK) & (rank != destination)
        r, i, d, link = rank[over], kernel[over], destination[over], first[over]
        there, at = self.peer[r, i], self.peer_link[r, i]
        passes = there != d
        to_send = self.number(1, there[passes], at[passes])
        edge(link[passes], to_send)
        edge(to_send, self._first(tables, there[passes], at[passes], d[passes]))
        # At its end, to whatever receive kernel has the port's endpoint.
        for other in range(self.links):
            for tail, r, i in (
                (link[~passes], there[~passes], at[~passes]),
                (first[output == TO_RECEIVE], rank[output == TO_RECEIVE], kernel[output == TO_RECEIVE]),
            ):
                away = i != other
                edge(tail[away], self.number(4, r[away], i[away], other))
        return np.unique(np.concatenate(found).astype(np.int64), axis=0)

    def _first(self, tables: Table, rank: Any, kernel: Any, destination: Any) -> Any:
        """What a packet in a send kernel goes into."""
        output = tables[rank, kernel, destination]
        neighbours = self.number(3, rank, kernel, _other(kernel, np.maximum(output, 2)))
        return np.where(
            output == TO_LINK,
            self.number(0, rank, kernel),
            np.where(output == TO_RECEIVE, self.number(2, rank, kernel), neighbours),
        )


def link_of(tables: Table, rank: int, kernel: int, destination: int) -> int:
    """The link by which a packet leaves that is in a send kernel."""
    output = tables[rank, kernel, destination]
    found: int = kernel if output == TO_LINK else int(_other(kernel, output))
    return found


def _other(own: Any, output: Any) -> Any:
    """The send kernel that an output leads to, the inverse of `neighbour`."""
    other = output.astype(np.int64) - (TO_RECEIVE + 1)
    return other + (other >= own)


def _followed(topology: Topology, tables: Table) -> tuple[Links, int]:
    """(ranks, links, ranks): links from each send kernel to each destination, and the most. Raises BadRoutes where one isn't reached."""
    ranks = topology.nodes
    links = tables.shape[1]
    peer, peer_link = ends(topology, links)
    start = np.meshgrid(range(ranks), range(links), range(ranks), indexing="ij")
    rank, kernel, destination = (axis.copy() for axis in start)
    hops = np.zeros(rank.shape, np.int32)

    def wrong(where: NDArray[np.bool_], what: str) -> None:
        if where.any():
            r, i, d = (int(axis[0]) for axis in np.nonzero(where))
            at = f"send kernel {kernel[r, i, d]} of rank {rank[r, i, d]}"
            raise BadRoutes(f"rank {d} cannot be reached from send kernel {i} of rank {r}: {at} {what}")

    own = np.arange(ranks)
    wrong(np.where(rank == destination, tables[rank, kernel, destination] != TO_RECEIVE, False), "sends it away again")
    pending = rank != destination
    for _ in range(ranks * links * 2):
        if not pending.any():
            return hops, int(hops.max())
        output = tables[rank, kernel, destination]
        wrong(pending & (output == TO_RECEIVE), "takes it for its own")
        wrong(pending & (output > links), f"has no output above {links}")
        over = pending & (output == TO_LINK)
        wrong(over & (peer[rank, kernel] < 0), "sends it to a link that is not there")
        on = pending & (output > TO_RECEIVE)
        there, at = peer[rank, kernel], peer_link[rank, kernel]
        turned = _other(kernel, np.maximum(output, 2))
        rank, kernel = np.where(over, there, rank), np.where(over, at, np.where(on, turned, kernel))
        hops += over
        pending &= rank != own
    r, i, d = (int(axis[0]) for axis in np.nonzero(pending))
    raise BadRoutes(f"rank {d} cannot be reached from send kernel {i} of rank {r}: packets go round in a loop")


def _check_receive(rank: int, tables: Table) -> None:
    """What receive kernels hand on to another one is taken there. Raises BadRoutes."""
    links = len(tables)
    for own, entry in np.argwhere((tables > 0) & (tables < links)).tolist():
        other = int(tables[own, entry]) - 1
        other += other >= own
        if tables[other, entry] < links:
            what = "data" if entry % 2 == 0 else "control"
            raise BadRoutes(
                f"rank {rank}: receive kernel {own} hands {what} of port {entry // 2} on to {other}, which has no endpoint for it"
            )


def _loads(topology: Topology, tables: Table) -> NDArray[np.float64]:
    """(ranks, links): pairs whose packets a link carries, each send kernel of a rank counting for its share."""
    ranks = topology.nodes
    links = tables.shape[1]
    peer, peer_link = ends(topology, links)
    rank, kernel, destination = (
        axis.ravel() for axis in np.meshgrid(range(ranks), range(links), range(ranks), indexing="ij")
    )
    load = np.zeros((ranks, links))
    while True:
        going = rank != destination
        rank, kernel, destination = rank[going], kernel[going], destination[going]
        if not len(rank):
            return load
        output = tables[rank, kernel, destination]
        over = output == TO_LINK
        np.add.at(load, (rank[over], kernel[over]), 1 / links)
        turned = _other(kernel, np.maximum(output, 2))
        rank, kernel = np.where(over, peer[rank, kernel], rank), np.where(over, peer_link[rank, kernel], turned)


def _loads_of_shortest(topology: Topology) -> NDArray[np.float64]:
    """The same where each pair's packets go evenly by whatever link brings them nearer."""
    peer, _ = ends(topology, topology.link_ports)
    distance = topology.distances
    flow = 1.0 - np.eye(topology.nodes)  # at a rank, to a destination
    load = np.zeros(peer.shape)
    nearer = (peer[:, :, None] >= 0) & (distance[peer] == distance[:, None, :] - 1)
    ways = np.maximum(nearer.sum(axis=1), 1)
    for far in range(int(distance.max()), 0, -1):
        share = np.where(distance == far, flow / ways, 0)
        for link in range(topology.link_ports):
            part = np.where(nearer[:, link], share, 0)
            load[:, link] += part.sum(axis=1)
            joined = peer[:, link] >= 0
            np.add.at(flow, peer[joined, link], part[joined])
    return load


# ---------------------------------------------------------------- router


def route(topology: Topology, links: int) -> NDArray[np.int8]:
    """The link by which packets leave a rank, (ranks, links, ranks): rank, send kernel, destination; -1 for the rank's own.

    `links`: send kernels of a rank, as many as the topology's links at least. A topology always has the same routes.
    """
    trees = _trees(topology)
    return spread(topology, trees, links)


def _trees(topology: Topology) -> list[Tree]:
    """One path from each rank to each destination.

    The search starts from trees of paths, one a destination, whose turns close no cycle. Then one destination after the other gets another
    tree: shorter, or of links with less load, as long as no cycle closes. The best of several starts is improved further by changing some
    destinations at once.
    """
    best: _Router | None = None
    for trees in _begun(topology):
        made = _Router(topology, trees)
        made.pass_over()
        best = made if best is None or made.cost < best.cost else best
        if best.is_best:
            break
    assert best is not None
    best.try_some()
    return best.trees


def _begun(topology: Topology) -> Iterator[list[Tree]]:
    if topology.is_grid and len(topology.size) > 1 and topology.planes == 1:
        yield _dimension_order(topology)
        if topology.nodes > _FEW:
            return
    found: dict[tuple[int, ...], tuple[int, list[Tree]]] = {}
    for root in range(topology.nodes):
        level = topology.distances[root].tolist()
        for way in (1, -1):
            order = sorted(range(topology.nodes), key=lambda rank: (level[rank], way * rank))
            if tuple(order) not in found:
                trees = _up_down(topology, order)
                found[tuple(order)] = (_Router(topology, trees).hops, trees)
    for _, trees in sorted(found.values(), key=lambda of: of[0])[: _BASES if topology.nodes <= _FEW else _BASES // 3]:
        yield trees


def _dimension_order(topology: Topology) -> list[Tree]:
    """One dimension after the other, in each of whose rings another rank is never passed, so that the load is even."""
    ranks, size = topology.nodes, topology.size
    rings: dict[int, list[Tree]] = {
        length: _trees(build("ring" if topology.is_wrapped else "line", [length])) for length in set(size)
    }
    at = topology.coordinates.tolist()

    def link(rank: int, destination: int) -> int:
        for dimension, length in enumerate(size):
            here, there = at[rank][dimension], at[destination][dimension]
            if here != there:
                shift = sum(at[rank]) - here if topology.is_wrapped else 0
                direction: int = rings[length][(there - shift) % length][(here - shift) % length]
                return 2 * dimension + direction
        return -1

    return [[link(rank, destination) for rank in range(ranks)] for destination in range(ranks)]


def _up_down(topology: Topology, order: Sequence[int]) -> list[Tree]:
    """Up is towards the first of the order. Down where there is a way that only goes down, since a packet may have gone down already;
    else up."""
    peer = topology.peer.tolist()
    place = {rank: number for number, rank in enumerate(order)}
    ups = [
        [link for link, other in enumerate(peer[rank]) if other >= 0 and place[other] < place[rank]] for rank in order
    ]
    downs: list[list[Edge]] = [[] for _ in order]  # (rank, link) that lead down to a rank
    for rank in order:
        for link, other in enumerate(peer[rank]):
            if other >= 0 and place[rank] < place[other]:
                downs[other].append((rank, link))
    trees = []
    for destination in range(topology.nodes):
        tree, far = [-1] * topology.nodes, [-1] * topology.nodes
        far[destination] = 0
        front = [destination]
        for there in front:  # which grows
            for rank, link in downs[there]:
                if far[rank] < 0:
                    tree[rank], far[rank] = link, far[there] + 1
                    front.append(rank)
        for rank, above in zip(order, ups, strict=True):  # those above come first
            if far[rank] < 0:
                far[rank], tree[rank] = min((far[peer[rank][link]] + 1, link) for link in above)
        trees.append(tree)
    return trees


class _Router:
    """Trees of paths, one a destination, with what turns they make: from one link's direction, rank * links + link, to the next."""

    def __init__(self, topology: Topology, trees: list[Tree]) -> None:
        self.ranks, self.links = topology.nodes, topology.link_ports
        self.peer = topology.peer.tolist()
        self.coming: list[list[Edge]] = [[] for _ in range(self.ranks)]  # of a rank: (rank, link) that lead to it
        for rank, peers in enumerate(self.peer):
            for link, other in enumerate(peers):
                if other >= 0:
                    self.coming[other].append((rank, link))
        self.shortest = topology.distances.tolist()
        self.least_hops = sum(map(sum, self.shortest))
        self.even_load = float(_loads_of_shortest(topology).max())
        self.trees, self.far = trees, [[0] * self.ranks] * self.ranks
        self.load = [0] * (self.ranks * self.links)
        self.turns: dict[Edge, int] = {}
        for destination, tree in enumerate(trees):
            self._take(destination, tree)

    @property
    def hops(self) -> int:
        return sum(map(sum, self.far))

    @property
    def cost(self) -> tuple[bool, float, int]:
        longer = self.hops / self.least_hops
        return longer > 1, longer + _LOAD * max(self.load) / self.even_load, sum(load * load for load in self.load)

    @property
    def is_best(self) -> bool:
        return self.hops == self.least_hops and max(self.load) <= self.even_load

    def pass_over(self) -> None:
        """Others for one destination after the other, as often as that helps."""
        for _ in range(_PASSES):
            # Those whose paths are the longest beyond what they could be come first.
            excess = [sum(far) - sum(row) for far, row in zip(self.far, self.shortest, strict=True)]
            before = self.cost
            for destination in sorted(range(self.ranks), key=lambda d: (-excess[d], d)):
                self._try([destination])
            if self.cost >= before:
                break

    def try_some(self) -> None:
        """Others for some destinations at once, drawn by chance, the same on every run."""
        random = Random(0)
        for _ in range(min(_TRIES, _TRIED_RANKS // self.ranks)):
            if self.is_best:
                break
            self._try(random.sample(range(self.ranks), random.randint(1, max(1, self.ranks // 3))))

    def _try(self, destinations: Sequence[int]) -> None:
        """Others for some trees, where all together are better then."""
        before, trees = self.cost, [self.trees[destination] for destination in destinations]
        for destination in destinations:
            self._count(destination, -1)
        grown = 0
        for destination in destinations:
            if not (tree := self._grow(destination)):
                break
            self._take(destination, tree)
            grown += 1
        if grown == len(destinations) and self.cost <= before:
            return
        for destination in destinations[:grown]:
            self._count(destination, -1)
        for destination, tree in zip(destinations, trees, strict=True):
            self._take(destination, tree)

    def _take(self, destination: int, tree: Tree) -> None:
        far = [-1] * self.ranks
        far[destination] = 0
        front = [destination]
        for there in front:  # which grows
            for rank, link in self.coming[there]:
                if tree[rank] == link:
                    far[rank] = far[there] + 1
                    front.append(rank)
        self.trees[destination], self.far[destination] = tree, far
        self._count(destination, 1)

    def _count(self, destination: int, by: int) -> None:
        """Adds a tree's turns and load, or takes them away."""
        tree, far = self.trees[destination], self.far[destination]
        passing = [1] * self.ranks
        for rank in sorted(range(self.ranks), key=far.__getitem__, reverse=True):
            if rank == destination:
                continue
            link = rank * self.links + tree[rank]
            there = self.peer[rank][tree[rank]]
            self.load[link] += by * passing[rank]
            passing[there] += passing[rank]
            if there != destination:
                turn = (link, there * self.links + tree[there])
                self.turns[turn] = self.turns.get(turn, 0) + by
                if not self.turns[turn]:
                    del self.turns[turn]

    def _grow(self, destination: int) -> Tree | None:
        """A tree for a destination beside those that there are, from the destination outwards; None where it can't reach all."""
        reach = _Reach(self.ranks * self.links, self.turns)
        tree = [-1] * self.ranks
        done = {destination}
        front = [destination]
        while front and len(done) < self.ranks:
            options: dict[int, list[tuple[bool, int, int]]] = {}
            for there in front:
                after = there * self.links + tree[there]
                for rank, link in self.coming[there]:
                    if rank not in done:
                        before = rank * self.links + link
                        new = there != destination and (before, after) not in self.turns
                        options.setdefault(rank, []).append((new, self.load[before], link))
            front = []
            for rank in sorted(options):
                for _, _, link in sorted(options[rank]):
                    there = self.peer[rank][link]
                    if there == destination or reach.add(rank * self.links + link, there * self.links + tree[there]):
                        tree[rank] = link
                        front.append(rank)
                        break  # whoever is not reached from here may be from farther out
            done.update(front)
        return tree if len(done) == self.ranks else None


class _Reach:
    """Which link's direction leads to which by turns, as bits; turns that would close a cycle are refused."""

    def __init__(self, links: int, turns: Mapping[Edge, int]) -> None:
        after: list[list[int]] = [[] for _ in range(links)]
        for tail, head in turns:
            after[tail].append(head)
        self.reach = [0] * links
        done = [False] * links
        for start in range(links):
            pending = [start]
            while pending:
                at = pending[-1]
                if done[at]:
                    pending.pop()
                    continue
                open_ = [head for head in after[at] if not done[head]]
                if open_:
                    pending += open_
                    continue
                for head in after[at]:
                    self.reach[at] |= self.reach[head] | 1 << head
                done[at] = True
                pending.pop()

    def add(self, tail: int, head: int) -> bool:
        """Adds the turn and returns True, or leaves all as it is and returns False."""
        if tail == head or self.reach[head] >> tail & 1:
            return False
        more = self.reach[head] | 1 << head
        if self.reach[tail] & more != more:
            bit = 1 << tail
            for link, reached in enumerate(self.reach):
                if reached & bit:
                    self.reach[link] |= more
            self.reach[tail] |= more
        return True
