# SPDX-License-Identifier: Apache-2.0
"""Clusters as SVG: nodes with number and coordinates, links coloured by dimension, and a legend with ports and rates.

A grid is drawn as panels of two dimensions, x to the right and y downwards, with one panel for each coordinate in the other dimensions.
Links between panels are short stubs with the number of the node at the other end. Links that close a ring are arcs. A fat tree has its
spines at the top, and each leaf's hosts in columns below it; a fat tree of one level, with a switch for each plane, has its hosts
in a circle around the switches. Nodes outside of a ring or circle, such as servers, are drawn next to the node that they have a link to.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from xml.sax.saxutils import escape

from thalweg.cluster import Cluster
from thalweg.cluster.overlay import Overlay
from thalweg.cluster.topology import Topology
from thalweg.errors import one_line

COLOURS = ("#2563eb", "#15803d", "#c2410c", "#7e22ce", "#be123c", "#0e7490")  # one color per dimension
GROUPS = ("#be123c", "#2563eb", "#15803d", "#7e22ce", "#c2410c", "#0e7490")  # one color per group of an overlay
FILLS = ("#f8fafc", "#fef3c7", "#dcfce7", "#e0e7ff", "#fce7f3")  # one color per node type
AXES = "xyzuvw"
BOX_WIDTH, BOX_HEIGHT = 54, 36
CELL_WIDTH, CELL_HEIGHT = 104, 88
PANEL_GAP = 40
MARGIN = 40
Point = tuple[float, float]

HOST_COLUMNS = 3  # columns below a leaf switch
HOST_WIDTH, HOST_HEIGHT = BOX_WIDTH + 26, BOX_HEIGHT + 10
LEVEL_HEIGHT = 190  # pixels between two levels of switches

SPRING_NODES = 150  # larger irregular graphs are drawn on a circle
OUTSIDE = 105  # pixels from a circle to the nodes outside of it

STYLE = """
text { font-family: system-ui, 'DejaVu Sans', Arial, sans-serif; fill: #1f2937; }
.node { fill: #f8fafc; stroke: #334155; stroke-width: 1.2; }
.id { font-size: 13px; font-weight: 600; text-anchor: middle; }
.at { font-size: 9px; text-anchor: middle; fill: #64748b; }
.link { fill: none; stroke-width: 1.6; }
.second { stroke-dasharray: 5 3; }
.over { fill: none; stroke-width: 2.4; }
.halo { fill-opacity: 0.16; }
.far { font-size: 9px; }
.title { font-size: 17px; font-weight: 600; }
.note { font-size: 12px; }
.panel { fill: none; stroke: #cbd5e1; stroke-dasharray: 2 4; }
.place { font-size: 12px; font-weight: 600; }
"""


HEAT = ("#fcd34d", "#f59e0b", "#ea580c", "#b91c1c", "#7f1d1d")  # colours of a link's load, from low to high
UNUSED = "#cbd5e1"


@dataclass(frozen=True)
class _LinkDrawing:
    """A link, or one stub of a link that leaves its panel."""

    link: int  # number in the topology
    path: str
    colour: str
    plane: int = 0
    label: str = ""

    def drawn(self) -> str:
        return _path(self.path, self.colour, self.plane) + self.label


@dataclass
class _Drawing:
    """The centers of nodes, the marks behind and beside them, and the legend."""

    centres: list[Point]
    marks: list[str | _LinkDrawing]
    keys: list[tuple[str, int, str]]  # legend: colour, plane, text
    middle: Point | None = None  # center, if nodes are on a circle


def svg(
    cluster: Cluster,
    carried: Mapping[tuple[int, int], int] | None = None,
    unit: str = "flits",
    overlay: Overlay | None = None,
) -> str:
    """Returns the drawing as SVG text; the same cluster always gives the same text.

    `carried` is the number of `unit`s sent by each (node, port) and colors links by load. An `overlay` is drawn over
    grey links.
    """
    topology = cluster.topology
    if topology.level:
        drawing = _fat_tree(topology)
    else:
        drawing = _grid(topology) if topology.is_grid and topology.shape != "ring" else _graph(topology)
    kinds = list(dict.fromkeys(cluster.kinds))
    fills = {name: FILLS[index % len(FILLS)] for index, name in enumerate(kinds)} if len(kinds) > 1 else {}
    _place_further(topology, drawing)
    boxes = [
        _box(topology, node, x, y, fills[cluster.kinds[node]] if fills else None)
        for node, (x, y) in enumerate(drawing.centres)
    ]
    if cluster.link_kinds:
        _name_links(cluster, drawing)
    used = None if carried is None else _LoadColors(topology, carried, unit)
    if used:
        drawing.keys = used.keys()
    halos, over = _over(drawing, overlay) if overlay else ([], [])
    width = max(x for x, _ in drawing.centres) + CELL_WIDTH / 2 + MARGIN
    bottom = max(y for _, y in drawing.centres) + CELL_HEIGHT / 2 + MARGIN
    legend, right, height = _legend(cluster, drawing.keys, fills, bottom)
    width = max(width, right, 2 * MARGIN + 11 * len(_title(cluster)))
    title = f'<text class="title" x="{MARGIN}" y="28">{escape(_title(cluster))}</text>'
    marks = [mark if isinstance(mark, str) else used.drawn(mark) if used else mark.drawn() for mark in drawing.marks]
    body = "\n".join([title, *halos, *marks, *over, *boxes, *legend])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}">\n<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


class _LoadColors:
    """Colors links by the load of their busier direction."""

    def __init__(self, topology: Topology, carried: Mapping[tuple[int, int], int], unit: str) -> None:
        self.links = topology.links.tolist()
        self.carried = carried
        self.unit = unit
        self.most = max(map(self._busier, range(len(self.links))), default=0)

    def _busier(self, link: int) -> int:
        a, port_a, b, port_b = self.links[link]
        return max(self.carried.get((a, port_a), 0), self.carried.get((b, port_b), 0))

    def drawn(self, way: _LinkDrawing) -> str:
        a, port_a, b, port_b = self.links[way.link]
        there, back = self.carried.get((a, port_a), 0), self.carried.get((b, port_b), 0)
        busier = max(there, back)
        colour = HEAT[min(busier * len(HEAT) // self.most, len(HEAT) - 1)] if busier else UNUSED
        title = f"<title>node {a} to {b}: {there} {self.unit}; {b} to {a}: {back}</title>"
        return (
            f'<path class="link" stroke="{colour}" style="stroke-width:{3.2 if busier else 1.6}" d="{way.path}">{title}</path>'
            + way.label
        )

    def keys(self) -> list[tuple[str, int, str]]:
        if not self.most:
            return [(UNUSED, 0, "no traffic on any link")]
        begins = [max(1, -(-self.most * step // len(HEAT))) for step in range(len(HEAT))] + [self.most + 1]
        used = [
            (colour, 0, f"{first} to {after - 1} {self.unit} in the busier direction")
            for colour, first, after in zip(HEAT, begins, begins[1:], strict=False)
            if first < after
        ]
        return [(UNUSED, 0, "nothing"), *used]


def _title(cluster: Cluster) -> str:
    return one_line(f"{cluster.name}: {cluster.about}" if cluster.about else cluster.name)


def _over(drawing: _Drawing, overlay: Overlay) -> tuple[list[str], list[str]]:
    """Returns halos of the groups' nodes and the overlay's connections, in the groups' colors.

    Makes links grey and adds the groups to the legend.
    """
    drawing.marks = [
        mark if isinstance(mark, str) else replace(mark, colour=UNUSED, label="") for mark in drawing.marks
    ]
    drawing.keys = [(UNUSED, plane, text) for _, plane, text in drawing.keys]
    colours = {name: GROUPS[index % len(GROUPS)] for index, name in enumerate(overlay.groups)}
    halos, over = [], []
    for name, nodes in overlay.groups.items():
        for x, y in (drawing.centres[node] for node in nodes):
            halos.append(
                f'<rect class="halo" x="{x - BOX_WIDTH / 2 - 9:.1f}" y="{y - BOX_HEIGHT / 2 - 9:.1f}" width="{BOX_WIDTH + 18}" '
                f'height="{BOX_HEIGHT + 18}" rx="12" fill="{colours[name]}"/>'
            )
        count = sum(each.group == name for each in overlay.joined)
        many = "s" * (count != 1)
        text = f"{overlay.what} {name}: {len(nodes)} nodes, {count} {overlay.joins}{many}"
        drawing.keys.append((colours[name], 0, text))
    if any(each.plane for each in overlay.joined):
        drawing.keys.append(("#1f2937", 1, f"dashed: {overlay.joins}s of other planes"))
    seen: Counter[tuple[int, int]] = Counter()
    for each in overlay.joined:
        pair = min(each.one, each.other), max(each.one, each.other)
        a, b = (drawing.centres[node] for node in pair)
        bow = (8 + 16 * (seen[pair] // 2)) * (1 if seen[pair] % 2 else -1)
        seen[pair] += 1
        dashed = " second" if each.plane else ""
        over.append(
            f'<path class="over{dashed}" stroke="{colours[each.group]}" d="{_bow(a, b, bow)}"><title>{escape(each.about)}</title></path>'
        )
    return halos, over


def _place_further(topology: Topology, drawing: _Drawing) -> None:
    """Places nodes beyond the shape in a row below it, or outside a circle next to their neighbors."""
    if drawing.middle:
        _place_around(topology, drawing, drawing.middle)
        return
    left = min(x for x, _ in drawing.centres)
    below = max(y for _, y in drawing.centres) + 1.5 * CELL_HEIGHT
    drawing.centres += [(left + index * CELL_WIDTH, below) for index in range(topology.added)]


def _place_around(topology: Topology, drawing: _Drawing, middle: Point) -> None:
    radius = max(math.dist(middle, centre) for centre in drawing.centres)
    for node in range(topology.shape_nodes, topology.nodes):
        peers = [drawing.centres[int(peer)] for peer in topology.peer[node] if 0 <= peer < topology.shape_nodes]
        across = sum(x for x, _ in peers) - len(peers) * middle[0]
        down = sum(y for _, y in peers) - len(peers) * middle[1]
        angle = math.atan2(down, across)
        for distance in itertools.count(radius + OUTSIDE, BOX_WIDTH + 10):
            x, y = middle[0] + distance * math.cos(angle), middle[1] + distance * math.sin(angle)
            if all(abs(x - a) > BOX_WIDTH + 6 or abs(y - b) > BOX_HEIGHT + 6 for a, b in drawing.centres):
                break
        drawing.centres.append((x, y))


def _box(topology: Topology, node: int, x: float, y: float, fill: str | None) -> str:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    style = f' style="fill:{fill}"' if fill else ""
    text = f'<rect class="node" x="{left:.1f}" y="{top:.1f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"{style}/>'
    if len(topology.size) < 2 or node >= topology.shape_nodes:
        return text + f'<text class="id" x="{x:.1f}" y="{y + 5:.1f}">{node}</text>'
    place = ",".join(map(str, topology.coordinates[node]))
    return (
        text + f'<text class="id" x="{x:.1f}" y="{y:.1f}">{node}</text>'
        f'<text class="at" x="{x:.1f}" y="{y + 13:.1f}">({place})</text>'
    )


def _name_links(cluster: Cluster, drawing: _Drawing) -> None:
    """Adds the name of the shape's link to the legend, and draws additional links as curves, in colors from the end of the
    list."""
    topology, names = cluster.topology, list(dict.fromkeys(cluster.link_kinds))
    drawing.keys[:] = [(colour, plane, f"link {names[0]}: {text}") for colour, plane, text in drawing.keys]
    first = len(topology.links) - topology.joined
    for link, (a, _, b, _) in enumerate(topology.links[first:].tolist(), start=first):
        bow = _bow(
            drawing.centres[a], drawing.centres[b], min(44, math.dist(drawing.centres[a], drawing.centres[b]) / 8)
        )
        drawing.marks.append(_LinkDrawing(link, bow, _colour(-names.index(cluster.link_kinds[link]) - 1)))
    for name in dict.fromkeys(cluster.link_kinds[first:]):
        drawing.keys.append((_colour(-names.index(name) - 1), 0, f"link {name}, additional"))


def _bow(start: Point, end: Point, bow: float) -> str:
    (xa, ya), (xb, yb) = start, end
    length = math.dist(start, end) or 1.0
    middle_x = (xa + xb) / 2 - (yb - ya) / length * bow
    middle_y = (ya + yb) / 2 + (xb - xa) / length * bow
    return f"M{xa:.1f} {ya:.1f} Q{middle_x:.1f} {middle_y:.1f} {xb:.1f} {yb:.1f}"


def _path(path: str, colour: str, plane: int) -> str:
    second = " second" if plane else ""
    return f'<path class="link{second}" stroke="{colour}" d="{path}"/>'


def _grid(topology: Topology) -> _Drawing:
    """Draws panels of the first two dimensions."""
    columns = topology.size[0]
    rows = topology.size[1] if len(topology.size) > 1 else 1
    outer = topology.size[2:]
    panel_width, panel_height = columns * CELL_WIDTH + PANEL_GAP, rows * CELL_HEIGHT + PANEL_GAP
    # Panels of the third dimension run to the right, in two rows if there are more than four; those of further dimensions run downwards.
    across = outer[0] if outer else 1
    if len(outer) == 1 and across > 4:
        across = math.ceil(across / 2)

    centres = []
    for node in range(topology.shape_nodes):
        column, row, panel = node % columns, node // columns % rows, node // (columns * rows)
        panel_left = MARGIN + panel % across * panel_width
        panel_top = MARGIN + 40 + panel // across * panel_height
        centres.append((panel_left + (column + 0.5) * CELL_WIDTH, panel_top + (row + 0.5) * CELL_HEIGHT))

    marks: list[str | _LinkDrawing] = []
    for first in range(0, topology.shape_nodes if outer else 0, columns * rows):
        left, top = centres[first][0] - CELL_WIDTH / 2, centres[first][1] - CELL_HEIGHT / 2
        name = ", ".join(f"{_axis(2 + index)} = {value}" for index, value in enumerate(topology.coordinates[first][2:]))
        marks.append(
            f'<rect class="panel" x="{left - 8:.1f}" y="{top - 8:.1f}" width="{columns * CELL_WIDTH + 16}" '
            f'height="{rows * CELL_HEIGHT + 16}" rx="10"/>'
            f'<text class="place" x="{left:.1f}" y="{top - 14:.1f}">{name}</text>'
        )
    ports = topology.shape_ports // topology.planes
    for link, (a, port_a, b, _) in enumerate(topology.of_shape.tolist()):
        plane, port = divmod(port_a, ports)
        dimension = port // 2
        if dimension < 2:
            wraps = topology.coordinates[b][dimension] < topology.coordinates[a][dimension]
            marks.append(
                _LinkDrawing(link, _way(centres[a], centres[b], dimension, wraps, 6 * plane), _colour(dimension), plane)
            )
        else:
            marks += [_stub(link, centres[a], b, dimension, 1, plane), _stub(link, centres[b], a, dimension, -1, plane)]
    keys = []
    for dimension, plane in itertools.product(range(len(topology.size)), range(topology.planes)):
        port, name = plane * ports + 2 * dimension, _axis(dimension)
        text = f"{name}: ports {port} (to larger {name}) and {port + 1} (to smaller)"
        stubs = "; a stub shows the number of the node at its other end" if dimension >= 2 else ""
        keys.append((_colour(dimension), plane, text + stubs))
    return _Drawing(centres, marks, keys)


def _way(start: Point, end: Point, dimension: int, wraps: bool, shift: float) -> str:
    """The path of a link within a panel: a line, or, if the link closes a ring, an arc above its row or left of its column."""
    (xa, ya), (xb, yb) = start, end
    if dimension == 0 and wraps:
        y, height = ya - BOX_HEIGHT / 2, ya - BOX_HEIGHT / 2 - 30 + shift
        xa, xb = xa - shift, xb + shift
        return f"M{xa:.1f} {y:.1f} C{xa:.1f} {height:.1f} {xb:.1f} {height:.1f} {xb:.1f} {y:.1f}"
    if dimension == 1 and wraps:
        x, side = xa - BOX_WIDTH / 2, xa - BOX_WIDTH / 2 - 32 + shift
        ya, yb = ya - shift, yb + shift
        return f"M{x:.1f} {ya:.1f} C{side:.1f} {ya:.1f} {side:.1f} {yb:.1f} {x:.1f} {yb:.1f}"
    dx, dy = (0.0, shift) if dimension == 0 else (shift, 0.0)
    return f"M{xa + dx:.1f} {ya + dy:.1f} L{xb + dx:.1f} {yb + dy:.1f}"


def _axis(dimension: int) -> str:
    return AXES[dimension] if dimension < len(AXES) else f"d{dimension}"


def _colour(dimension: int) -> str:
    return COLOURS[dimension % len(COLOURS)]


def _stub(link: int, centre: Point, other: int, dimension: int, way: int, plane: int) -> _LinkDrawing:
    """A link that leaves its panel: a stub at the box's right corners, upwards for larger and downwards for smaller coordinates."""
    right, start_y = centre[0] + BOX_WIDTH / 2 - 4 * plane, centre[1] - way * (BOX_HEIGHT / 2 - 4)
    end_y = start_y - way * (7 + 12 * (dimension - 2))
    colour = _colour(dimension)
    label = f'<text class="far" x="{right + 8:.1f}" y="{end_y + 3:.1f}" style="fill:{colour}">{other}</text>'
    path = f"M{right - 6:.1f} {start_y:.1f} L{right + 5:.1f} {end_y:.1f}"
    return _LinkDrawing(link, path, colour, plane, "" if plane else label)


def _fat_tree(topology: Topology) -> _Drawing:
    """Draws levels from the spines down, and hosts in columns, each along a line from its leaf."""
    level = topology.level
    height = max(level)
    leaves = level.count(1)
    if height == 1 and len(topology.of_shape) == leaves * topology.hosts > topology.hosts:
        return _around_switches(topology)
    leaf = topology.peer[: topology.hosts, 0]
    columns = min(HOST_COLUMNS, int((leaf == leaf[0]).sum()))
    leaf_width = columns * HOST_WIDTH + PANEL_GAP
    width = max(leaves * leaf_width, *(level.count(rank) * CELL_WIDTH for rank in range(1, height + 1)))
    top = MARGIN + 70
    centres: list[Point] = [(0.0, 0.0)] * topology.shape_nodes
    for rank in range(1, height + 1):
        switches = [node for node, of in enumerate(level) if of == rank]
        for index, node in enumerate(switches):
            centres[node] = (MARGIN + (index + 0.5) * width / len(switches), top + (height - rank) * LEVEL_HEIGHT)
    buses = {}
    for host in range(topology.hosts):
        x, y = centres[int(leaf[host])]
        row, column = divmod(int((leaf[:host] == leaf[host]).sum()), columns)
        left = x - columns * HOST_WIDTH / 2 + column * HOST_WIDTH
        centres[host] = (left + HOST_WIDTH - BOX_WIDTH / 2, y + 70 + row * HOST_HEIGHT)
        buses[host] = left + 10

    marks: list[str | _LinkDrawing] = []
    for link, (a, _, b, _) in enumerate(topology.of_shape.tolist()):
        (xa, ya), (xb, yb) = centres[a], centres[b]
        if level[a] == 0:
            start = f"M{xb:.1f} {yb + BOX_HEIGHT / 2:.1f} L{buses[a]:.1f} {yb + 44:.1f}"
            path = f"{start} L{buses[a]:.1f} {ya:.1f} L{xa - BOX_WIDTH / 2:.1f} {ya:.1f}"
        else:
            path = f"M{xa:.1f} {ya - BOX_HEIGHT / 2:.1f} L{xb:.1f} {yb + BOX_HEIGHT / 2:.1f}"
        marks.append(_LinkDrawing(link, path, _colour(level[a])))
    keys = []
    for rank in range(height):
        ends = [(port_a, port_b) for a, port_a, _, port_b in topology.of_shape.tolist() if level[a] == rank]
        up, down = max(port for port, _ in ends), max(port for _, port in ends)
        first = min(port for port, _ in ends)
        name = "hosts" if rank == 0 else "leaves" if rank == 1 else f"level {rank}"
        keys.append((_colour(rank), 0, f"{name}: ports {first} to {up}, to ports 0 to {down} above"))
    return _Drawing(centres, marks, keys)


def _around_switches(topology: Topology) -> _Drawing:
    """Draws hosts on a circle around the switches; every host has a link to every switch."""
    switches = topology.shape_nodes - topology.hosts
    radius = max(1.3 * CELL_WIDTH * topology.hosts / (2 * math.pi), switches * CELL_WIDTH / 2 + CELL_WIDTH)
    further = OUTSIDE if topology.added else 0
    middle = (MARGIN + CELL_WIDTH / 2 + radius + further, MARGIN + 50 + radius + further)
    centres = [(middle[0] + x * radius, middle[1] + y * radius) for x, y in _circle(range(topology.hosts)).values()]
    centres += [(middle[0] + (index - (switches - 1) / 2) * CELL_WIDTH, middle[1]) for index in range(switches)]
    marks: list[str | _LinkDrawing] = []
    for link, (a, _, b, _) in enumerate(topology.of_shape.tolist()):
        (xa, ya), (xb, yb) = centres[a], centres[b]
        marks.append(_LinkDrawing(link, f"M{xa:.1f} {ya:.1f} L{xb:.1f} {yb:.1f}", _colour(b - topology.hosts)))
    keys = [
        (_colour(index), 0, f"port {index} of hosts, to node {topology.hosts + index}") for index in range(switches)
    ]
    return _Drawing(centres, marks, keys, middle)


def _graph(topology: Topology) -> _Drawing:
    """Draws rings and large graphs on a circle, stars around their centre, and other graphs by networkx's spring layout, or on a circle without
    networkx."""
    nodes = topology.shape_nodes
    pairs = [(a, b) for a, _, b, _ in topology.links.tolist() if max(a, b) < nodes]
    if topology.shape == "star":
        places = {0: (0.0, 0.0)} | _circle(range(1, nodes))
    elif topology.shape == "prism":
        half = nodes // 2
        inner = {node: (0.6 * x, 0.6 * y) for node, (x, y) in _circle(range(half, nodes)).items()}
        places = _circle(range(half)) | inner
    elif topology.shape == "ring" or nodes > SPRING_NODES or find_spec("networkx") is None:
        places = _circle(range(nodes))
    else:
        import networkx as nx  # slow to import

        graph = nx.Graph(pairs)
        layout = nx.spring_layout(graph, seed=1, iterations=300, k=1.6 / math.sqrt(nodes))
        places = {node: (float(x), float(y)) for node, (x, y) in layout.items()}
    closest = min(math.dist(places[a], places[b]) for a in places for b in places if a < b)
    scale = max(1.2 * CELL_WIDTH, min(1.2 * CELL_WIDTH / max(closest, 1e-3), 120 * math.sqrt(nodes)))
    left, top = (min(place[axis] for place in places.values()) for axis in range(2))
    on_circle = topology.shape == "ring"
    further = OUTSIDE if on_circle and topology.added else 0

    def centre(x: float, y: float) -> Point:
        return (MARGIN + CELL_WIDTH / 2 + further + (x - left) * scale, MARGIN + 70 + further + (y - top) * scale)

    centres = [centre(*places[node]) for node in range(nodes)]
    ports = topology.shape_ports // topology.planes
    seen: dict[tuple[int, int], int] = {}
    marks: list[str | _LinkDrawing] = []
    for link, (a, port_a, b, _) in enumerate(topology.of_shape.tolist()):
        pair = (min(a, b), max(a, b))
        index = seen[pair] = seen.get(pair, -1) + 1
        bow = 16 * ((index + 1) // 2) * (1 if index % 2 else -1)
        marks.append(_LinkDrawing(link, _bow(centres[pair[0]], centres[pair[1]], bow), COLOURS[0], port_a // ports))
    keys = []
    for plane in range(topology.planes):
        port = plane * ports
        text = f"ports {port} (to the next node) and {port + 1} (to the one before)"
        keys.append(
            (
                COLOURS[0],
                plane,
                text if topology.shape == "ring" else f"ports from {port} on, in the order of the links",
            )
        )
    return _Drawing(centres, marks, keys, centre(0, 0) if on_circle else None)


def _circle(nodes: range) -> dict[int, Point]:
    angle = 2 * math.pi / len(nodes)
    return {node: (math.sin(index * angle), -math.cos(index * angle)) for index, node in enumerate(nodes)}


def _hosts(topology: Topology) -> str:
    return f"{topology.hosts} of them hosts, " if topology.level else ""


def _legend(
    cluster: Cluster, keys: list[tuple[str, int, str]], fills: Mapping[str, str], top: float
) -> tuple[list[str], float, float]:
    """Returns the marks of the legend, and the positions of its right and lower edges."""
    topology = cluster.topology
    lines = [
        f"{topology.nodes} nodes, {_hosts(topology)}{len(topology.links)} links, diameter {topology.diameter}",
        *cluster.legend(),
    ]
    marks = []
    for index, line in enumerate(lines):
        marks.append(f'<text class="note" x="{MARGIN}" y="{top + 18 * index:.1f}">{escape(line)}</text>')
    for index, (colour, plane, text) in enumerate(keys, start=len(lines)):
        y = top + 18 * index
        marks.append(_path(f"M{MARGIN} {y - 4:.1f} L{MARGIN + 34} {y - 4:.1f}", colour, plane))
        marks.append(f'<text class="note" x="{MARGIN + 44}" y="{y:.1f}">{escape(text)}</text>')
    for index, (name, fill) in enumerate(fills.items(), start=len(lines) + len(keys)):
        y = top + 18 * index
        marks.append(
            f'<rect class="node" x="{MARGIN}" y="{y - 11:.1f}" width="34" height="13" rx="4" style="fill:{fill}"/>'
        )
        marks.append(f'<text class="note" x="{MARGIN + 44}" y="{y:.1f}">{escape(f"node {name}")}</text>')
    longest = max(len(text) for text in [*lines, *(text for _, _, text in keys)])
    return marks, 2 * MARGIN + 44 + 7 * longest, top + 18 * (len(lines) + len(keys) + len(fills)) + MARGIN / 2
