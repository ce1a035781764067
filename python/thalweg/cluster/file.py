# SPDX-License-Identifier: Apache-2.0
"""Parsing of cluster files, and the tables shared by all systems. Errors name file, line, key and a valid value.

Values of a file override those of its `base` (a path relative to the file), which override the system's defaults in its
plain file. The pydantic models of tables contain no defaults.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticKnownError

from thalweg.arguments import limit, plain
from thalweg.cluster import toml_lines, topology
from thalweg.cluster.toml_lines import KeyPath
from thalweg.cluster.topology import MAX_NODES, Topology
from thalweg.errors import InputError, one_line
from thalweg.resources import resource
from thalweg.systems import System, systems

FAT_TREE = ("radix", "oversubscription", "levels", "plane_switches")  # keys of [topology] for fat trees only

_PLAINER = {
    "model_type": "be a table",
    "dict_type": "be a table",
    "list_type": "be an array",
    "string_pattern_mismatch": "be printable",
}


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _of_its_type(cls, value: object, info: ValidationInfo) -> object:
        """Refuses True and 1.0 for the literal 1, which they equal."""
        choices = _choices(cls.model_fields[str(info.field_name)].annotation)
        if value in choices and type(value) not in map(type, choices):
            raise PydanticKnownError("literal_error", {"expected": ", ".join(map(repr, choices))})
        return value


def _choices(annotation: object) -> list[object]:
    """The values of the literals in a type."""
    parts = get_args(annotation)
    return list(parts) if get_origin(annotation) is Literal else [each for part in parts for each in _choices(part)]


Node = Annotated[int, Field(ge=0, lt=MAX_NODES)]


class TopologyTable(Table):
    shape: Literal["line", "ring", "mesh", "torus", "prism", "star", "fattree", "edges"] = Field(
        description="topology of the cluster"
    )
    size: list[Annotated[int, Field(ge=2, le=MAX_NODES)]] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="nodes per dimension; one number for a line, ring or star; nodes of one ring for a prism; hosts for a fattree",
    )
    edges: list[Annotated[list[Node], Field(min_length=2, max_length=2)]] | None = Field(
        None, min_length=1, description="pairs of linked nodes, for the shape edges"
    )
    radix: int | None = Field(None, ge=2, le=128, description="ports per switch of a fattree")
    oversubscription: int | None = Field(
        None, ge=1, le=127, description="ports to hosts per port upwards, in leaf switches of a fattree"
    )
    levels: int | None = Field(
        None, ge=1, le=8, description="levels of switches of a fattree [default: as many as the hosts need]"
    )
    planes: int = Field(1, ge=1, le=4, description="number of copies of all links, each on its own ports")
    plane_switches: bool | None = Field(
        None, description="separate switches for each plane of a fattree; hosts have a port to each plane"
    )


class Location(NamedTuple):
    file: Path
    line: int


Values = TypeVar("Values", bound=Table)


@dataclass(frozen=True)
class ClusterFile(Generic[Values]):
    """The values of a cluster, with the file and line of each."""

    values: Values
    name: str
    locations: dict[KeyPath, Location]
    plain: Path  #: the file with the lowest precedence

    def wrong(self, what: str, *keys: str) -> InputError:
        """Returns an error `what` about the values of some keys (`router.flow`, `topology.edges.2`).

        It names the line of the key in the file itself, else in its base, else in the plain file.
        """
        paths = [self._path(key) for key in keys]
        return wrong_at(self.locations, min(paths, key=self._remoteness), what, self.name)

    def locations_without(self, tables: Container[str]) -> dict[KeyPath, Location]:
        """Returns the locations of all values outside these top-level tables, whose values come from elsewhere."""
        return {path: place for path, place in self.locations.items() if path[0] not in tables}

    def _path(self, key: str) -> KeyPath:
        path: KeyPath = ()
        for part in key.split("."):  # an index, or a numeric key of a table
            path = (*path, int(part) if part.isdigit() and (*path, part) not in self.locations else part)
        return path

    def _remoteness(self, path: KeyPath) -> int:
        file = str(_location(self.locations, path).file)
        return 0 if file == self.name else 1 if file != str(self.plain) else 2


def parse(
    model: type[Values], values: dict[str, Any], locations: dict[KeyPath, Location], name: str, plain: Path
) -> ClusterFile[Values]:
    """Returns the cluster file of values read by `layers`. Raises InputError for the first invalid value."""
    return ClusterFile(validated(model, values, locations, name), name, locations, plain)


def validated(
    model: type[Values], values: Any, locations: dict[KeyPath, Location], name: str, at: KeyPath = ()
) -> Values:
    """Returns the table at the path `at` of the file. Raises InputError for the first invalid value."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems: list[dict[str, Any]] = [
            {**problem, "loc": _without_types(values, problem["loc"])} for problem in error.errors(include_url=False)
        ]
        # missing keys last: the key may be present but misspelled
        first = min(
            problems, key=lambda problem: (problem["type"] == "missing", _location(locations, at + problem["loc"]))
        )
        count = len({problem["loc"] for problem in problems})
        more = f" (and {count - 1} more)" if count > 1 else ""
        raise wrong_at(locations, at + first["loc"], _what(model, first, at) + more, name) from None


def topology_of(file: ClusterFile[Any], most_of_grid: int = MAX_NODES) -> Topology:
    """Returns the topology of a file. Raises InputError, also for grids of more than `most_of_grid` nodes."""
    table = file.values.topology
    if table.shape == "edges":
        if table.edges is None:
            raise file.wrong("'edges' is missing in [topology]: a list of [node, node], one pair per link", "topology")
        if table.size is not None:
            raise file.wrong(
                "size is for regular shapes only; with edges, the nodes are those in the list", "topology.size"
            )
        for index, (a, b) in enumerate(table.edges):
            if a == b:
                raise file.wrong(f"topology.edges[{index}] links node {a} to itself", f"topology.edges.{index}")
        size = [max(max(edge) for edge in table.edges) + 1]
    else:
        if table.edges is not None:
            raise file.wrong(f"edges is for the shape edges only; this is a {table.shape}", "topology.edges")
        if table.size is None:
            raise file.wrong(
                f"'size' is missing in [topology]: the nodes of a {table.shape}, such as [4, 4]", "topology"
            )
        size = table.size
    for key in FAT_TREE:
        if table.shape != "fattree" and getattr(table, key) is not None:
            raise file.wrong(f"{key} is for the shape fattree only; this is a {table.shape}", f"topology.{key}")
    try:
        built = topology.build(
            table.shape,
            size,
            table.edges or (),
            table.planes,
            most_of_grid=most_of_grid,
            **{key: getattr(table, key) for key in FAT_TREE if getattr(table, key) is not None},
        )
    except ValueError as error:
        raise file.wrong(str(error), "topology.edges" if table.edges else "topology.size") from None
    if table.edges and built.unreachable is not None:
        a, b = built.unreachable
        raise file.wrong(
            f"there is no path from node {a} to node {b}; connect all nodes, 0 to {built.nodes - 1}", "topology.edges"
        )
    return built


def presets(system: str | None = None) -> list[str]:
    """Lists the presets.

    Parameters
    ----------
    system : str, optional
        Only presets of this system.

    Returns
    -------
    list of str
        Names, accepted by `thalweg.load`.

    Raises
    ------
    InputError
        An installed system cannot be loaded.

    Examples
    --------
    >>> import thalweg
    >>> sorted(thalweg.presets("peach2"))
    ['peach2', 'peach2-ring-4']
    """
    files = sorted(resource("clusters").glob("*.toml"))
    return [file.stem for file in files if system is None or system_of_file(file).name == system]


def wanted(system: str) -> str:
    """Returns the end of an error message about a cluster of the wrong system."""
    return f"give a cluster of {system}" + "".join(f", such as {name}" for name in presets(system)[:1])


def path_of(name: str) -> Path | None:
    """Returns the file of a preset, or the path itself if it is a file; None otherwise."""
    file = resource("clusters") / f"{name}.toml" if name in presets() else Path(name)
    return file if file.is_file() else None


def files_of(name: str) -> list[Path]:
    """Returns the file of a preset or at a path, and its bases, as far as they can be read."""
    files: list[Path] = []
    file = path_of(name)
    while file and file.is_file() and file.resolve() not in map(Path.resolve, files):
        files.append(file)
        try:
            base = toml_lines.read(file)[0].get("base")
        except (InputError, OSError):
            break
        file = file.parent / base if isinstance(base, str) else None
    return files


def system_of(name: str) -> System:
    """Returns the system of a cluster, by its node types.

    Returns the default system if the cluster has none or cannot be read; loading it reports the error.
    """
    file = path_of(name)
    return system_of_file(file) if file else next(iter(systems().values()))


def system_of_file(file: Path) -> System:
    """Returns the system that defines all node types of a file, or a mixed one. Raises InputError for an unknown type."""
    known = list(systems().values())
    for system in known:
        if file.suffix in system.endings:
            return system
    try:
        values, locations = layers(file, None)
    except (InputError, OSError):
        return known[0]
    tables = values.get("node")
    if not tables or not isinstance(tables, dict):
        return known[0]
    from thalweg.cluster import leaves, mixed  # imported late: few clusters need these models

    kinds = sorted({*leaves.NODES, *(kind for system in known for kind in system.node_kinds)})
    found = set()
    for name, table in tables.items():
        if isinstance(table, dict):
            found.add(kind_of(table, kinds, locations, ("node", name), str(file)))
    for system in known:
        if found <= system.node_kinds:
            return system
    return mixed.Mixed([system for system in known if found & system.node_kinds - leaves.NODES.keys()])


def kind_of(
    table: Mapping[str, Any], kinds: Collection[str], locations: dict[KeyPath, Location], path: KeyPath, name: str
) -> str:
    """Returns the `kind` of the table at a path. Raises InputError if it is missing or unknown."""
    kind = table.get("kind")
    if isinstance(kind, str) and kind in kinds:
        return kind
    known = f"the kinds are {', '.join(kinds)}"
    if kind is None:
        raise wrong_at(locations, path, f"'kind' is missing {_in(path)}; {known}", name)
    near = difflib.get_close_matches(str(kind), kinds, n=1)
    right = f"did you mean {near[0]!r}?" if near else known
    raise wrong_at(locations, (*path, "kind"), f"{_dotted(path)}.kind {kind!r} is unknown; {right}", name)


def layers(
    file: Path | None, plain: Path | None, above: tuple[Path, ...] = ()
) -> tuple[dict[str, Any], dict[KeyPath, Location]]:
    """Returns the values of a file merged over those of its bases and of the `plain` file, and the place of each."""
    if file is None:
        if plain is None:
            return {}, {}
        values, lines = toml_lines.read(plain)
        return values, {path: Location(plain, line) for path, line in lines.items()}
    values, lines = toml_lines.read(file)
    locations = {path: Location(file, line) for path, line in lines.items()}
    base = values.get("base")
    below = None
    if isinstance(base, str):
        below = file.parent / base
        if not below.is_file():
            raise wrong_at(
                locations, ("base",), f"base is {base!r}, but there is no such file relative to this one", str(file)
            )
        if below.resolve() in {path.resolve() for path in (file, *above)}:
            raise wrong_at(
                locations,
                ("base",),
                f"base forms a cycle through {base!r}; the chain of bases must end in a file without one",
                str(file),
            )
    values_below, locations_below = layers(below, plain, (file, *above))
    return over(values_below, values), locations_below | locations


def over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        merged[key] = over(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def changes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values given to `Cluster.replace`, with NumPy numbers converted. Raises InputError if they contain a
    base."""
    if "base" in values:
        raise InputError(f"base is {values['base']!r}; replace() cannot change the base: load that file instead")
    return {name: plain(value) for name, value in values.items()}


def named_after(name: str, tables: Mapping[str, Any]) -> str:
    """Returns the name of a cluster with changed values: `torus:2x2 with link.latency_ns = 300`."""

    def leaves(table: Mapping[str, Any], at: str) -> Iterator[str]:
        for key, value in table.items():
            if isinstance(value, Mapping):
                yield from leaves(value, f"{at}{key}.")
            else:
                yield f"{at}{key} = {value:g}" if isinstance(value, float) else f"{at}{key} = {value}"

    changes = " and ".join(leaves(tables, ""))
    return f"{name} with {changes}" if changes else name


def _location(locations: dict[KeyPath, Location], path: KeyPath) -> Location:
    """Returns the place of a value, else of the table that contains it; line 0 if it is in no file."""
    for length in range(len(path), 0, -1):
        if path[:length] in locations:
            return locations[path[:length]]
    return Location(Path(), 0)


def wrong_at(locations: dict[KeyPath, Location], path: KeyPath, what: str, name: str) -> InputError:
    """Returns an error `what` about the value at a path."""
    place = _location(locations, path)
    return InputError(what, place.file, place.line) if place.line else InputError(what, name)


def _without_types(values: Any, path: tuple[Any, ...]) -> KeyPath:
    """Returns the path of an invalid value, without pydantic's suffixes for the type of a union or for a key."""
    for index, key in enumerate(path):
        if not isinstance(values, dict if isinstance(key, str) else list):
            return path[:index]
        if isinstance(key, str) and key not in values:
            return path[:index] if key == "[key]" else path[: index + 1]
        values = values[key]
    return path


def _dotted(path: KeyPath) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{one_line(key)}" if text else one_line(key)
    return text


def _table_at(model: type[Table], path: KeyPath) -> type[BaseModel]:
    """Returns the model of the table at a path."""
    table: Any = model
    for key in path:
        if isinstance(key, int):  # the index of an array selects one of its tables
            table = get_args(table)[0]
        elif get_origin(table) is dict:  # a name selects one of the named tables
            table = get_args(table)[1]
        else:
            table = table.model_fields[key].annotation
    return table  # type: ignore[no-any-return]


def _what(model: type[Table], problem: Any, at: KeyPath) -> str:
    """Returns an error message with a valid alternative, for a problem that pydantic found in the table at `at`."""
    path: KeyPath = problem["loc"]
    key = path[-1] if path else ""
    if problem["type"] == "extra_forbidden":
        known = list(_table_at(model, path[:-1]).model_fields)
        near = difflib.get_close_matches(str(key), known, n=1)
        right = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
        return f"{key!r} is not a key {_in(at + path[:-1])}; {right}"
    last = max((i for i, part in enumerate(path) if isinstance(part, str)), default=0)
    table = _table_at(model, path[:last]) if path else model
    fields = {} if get_origin(table) is dict else table.model_fields
    field = fields.get(str(path[last])) if path else None
    of_names = not fields and last > 0 and not isinstance(get_args(table)[1], type)  # values by names, not tables
    if of_names:
        field = _table_at(model, path[: last - 1]).model_fields[str(path[last - 1])]
    meaning = field.description if field and field.description else "a table"
    if problem["type"] == "missing":
        return f"{key!r} is missing {_in(at + path[:-1])}: {meaning}"
    given = json.dumps(problem["input"], default=str, ensure_ascii=False)
    given = given if len(given) <= 40 else given[:37] + "..."
    if problem["type"] == "list_type" and isinstance(problem["input"], int) and not of_names:
        return f"{_dotted(at + path)} is {given}; write [{given}] ({meaning})"
    right = re.sub(r"^\w+ should | after validation, not .*$", "", problem["msg"])
    right = re.sub(r"\d{10,}", lambda number: limit(int(number[0])), right)
    right = _PLAINER.get(problem["type"], right)
    return f"{_dotted(at + path)} is {given}; it should {right} ({meaning})"


def _in(path: KeyPath) -> str:
    return f"in [{_dotted(path)}]" if path else "in a cluster file"
