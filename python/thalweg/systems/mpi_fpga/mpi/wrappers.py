# SPDX-License-Identifier: Apache-2.0
"""Generates the interposer's C wrappers from the MPI Forum's machine-readable API.

Every function of the standard that the MPI library in use declares gets a wrapper that counts its calls and calls a handler.
`HANDLERS` has the handler: an expression in which `native` calls the library's own function with the same arguments.
A function that is in no table calls the library directly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from thalweg import extras

_NEIGHBOURS = "Neighbours(native, comm, [&](int i) {{ return bytes_of({count}, {type}); }})"

COLLECTIVES = {
    "Barrier": "Barrier(native, comm)",
    "Bcast": "Bcast(native, buffer, count, datatype, root, comm)",
    "Reduce": "Reduce(native, sendbuf, recvbuf, count, datatype, op, root, comm)",
    "Allreduce": "Allreduce(native, sendbuf, recvbuf, count, datatype, op, comm)",
    "Scan": "Scan(native, sendbuf, recvbuf, count, datatype, op, comm)",
    "Exscan": "Exscan(native, sendbuf, recvbuf, count, datatype, op, comm)",
    "Reduce_scatter_block": "Reduce_scatter_block(native, sendbuf, recvbuf, recvcount, datatype, op, comm)",
    "Reduce_scatter": "Reduce_scatter(native, sendbuf, recvbuf, recvcounts, datatype, op, comm)",
    "Gather": "Gather(native, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)",
    "Gatherv": "Gatherv(native, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm)",
    "Scatter": "Scatter(native, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)",
    "Scatterv": "Scatterv(native, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm)",
    "Allgather": "Allgather(native, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)",
    "Allgatherv": "Allgatherv(native, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)",
    "Alltoall": "Alltoall(native, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)",
    "Alltoallv": "Alltoallv(native, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)",
    "Alltoallw": "Alltoallw(native, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)",
    "Neighbor_allgather": _NEIGHBOURS.format(count="sendcount + 0 * i", type="sendtype"),
    "Neighbor_allgatherv": _NEIGHBOURS.format(count="sendcount + 0 * i", type="sendtype"),
    "Neighbor_alltoall": _NEIGHBOURS.format(count="sendcount + 0 * i", type="sendtype"),
    "Neighbor_alltoallv": _NEIGHBOURS.format(count="sendcounts[i]", type="sendtype"),
    "Neighbor_alltoallw": _NEIGHBOURS.format(count="sendcounts[i]", type="sendtypes[i]"),
}
"""Blocking collectives. The non-blocking and the persistent form of each have the same handler, with the request as last argument."""

SENDS = {"": "standard", "b": "buffered", "r": "standard", "s": "synchronous"}
"""Modes of sends. Every message is copied; a buffered send also needs room in the attached buffer."""

_RECEIVE = "buf, count, datatype, source, tag, comm"

MESSAGES = {
    **{
        f"{mode}send".capitalize(): f"Send(native, Mode::{kind}, buf, count, datatype, dest, tag, comm)"
        for mode, kind in SENDS.items()
    },
    **{
        f"I{mode}send": f"Isend(native, Mode::{kind}, buf, count, datatype, dest, tag, comm, request)"
        for mode, kind in SENDS.items()
    },
    **{
        f"{mode}send_init".capitalize(): f"Send_init(native, Mode::{kind}, buf, count, datatype, dest, tag, comm, request)"
        for mode, kind in SENDS.items()
    },
    "Recv": f"Recv(native, {_RECEIVE}, status)",
    "Irecv": f"Irecv(native, {_RECEIVE}, request)",
    "Recv_init": f"Recv_init(native, {_RECEIVE}, request)",
    "Sendrecv": "Sendrecv(native, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, "
    "comm, status)",
    "Isendrecv": "Isendrecv(native, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, "
    "recvtag, comm, request)",
    "Sendrecv_replace": "Sendrecv_replace(native, buf, count, datatype, dest, sendtag, source, recvtag, comm, status)",
    "Isendrecv_replace": "Isendrecv_replace(native, buf, count, datatype, dest, sendtag, source, recvtag, comm, request)",
    "Probe": "Probe(native, source, tag, comm, status)",
    "Iprobe": "Iprobe(native, source, tag, comm, flag, status)",
    "Mprobe": "Mprobe(native, source, tag, comm, message, status)",
    "Improbe": "Improbe(native, source, tag, comm, flag, message, status)",
    "Mrecv": "Mrecv(native, buf, count, datatype, message, status)",
    "Imrecv": "Imrecv(native, buf, count, datatype, message, request)",
}

BUFFERS = {
    "Buffer_attach": "Buffer_attach(native, MPI_COMM_NULL, buffer, size)",
    "Buffer_detach": "Buffer_detach(native, MPI_COMM_NULL)",
    "Buffer_flush": "Buffer_flush(native, MPI_COMM_NULL)",
    "Comm_attach_buffer": "Buffer_attach(native, comm, buffer, size)",
    "Comm_detach_buffer": "Buffer_detach(native, comm)",
    "Comm_flush_buffer": "Buffer_flush(native, comm)",
    "Session_attach_buffer": "Session_attach_buffer(native)",
    "Session_detach_buffer": "Session_detach_buffer(native)",
}

REQUESTS = {
    "Wait": "Wait(request, status)",
    "Waitall": "Waitall(count, array_of_requests, array_of_statuses)",
    "Waitany": "Waitany(count, array_of_requests, index, status)",
    "Waitsome": "Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses)",
    "Test": "Test(request, flag, status)",
    "Testall": "Testall(count, array_of_requests, flag, array_of_statuses)",
    "Testany": "Testany(count, array_of_requests, index, flag, status)",
    "Testsome": "Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses)",
    "Start": "Start(native, request)",
    "Startall": "Startall(count, array_of_requests)",
    "Request_free": "Request_free(native, request)",
    "Request_get_status": "Request_get_status(native, request, flag, status)",
    "Request_get_status_all": "Request_get_status_all(count, array_of_requests, flag, array_of_statuses)",
    "Request_get_status_any": "Request_get_status_any(PMPI_Request_get_status_any, count, array_of_requests, index, flag, "
    "status)",
    "Request_get_status_some": "Request_get_status_some(PMPI_Request_get_status_some, incount, array_of_requests, outcount, "
    "array_of_indices, array_of_statuses)",
    "Win_test": "Win_test(native, flag)",
    "Parrived": "Parrived(native, flag)",
    "Cancel": "Cancel(native, request)",
}

_MADE_OF = {
    "comm, newcomm": ["Comm_split", "Comm_create", "Cart_sub"],
    "comm_old, comm_cart": ["Cart_create"],
    "comm_old, comm_graph": ["Graph_create"],
    "comm_old, comm_dist_graph": ["Dist_graph_create_adjacent"],
    "intercomm, newintracomm": ["Intercomm_merge"],
}

_MADE_OF_A_GROUP = {
    "Comm_create_group": "group, newcomm, tagged(tag, comm)",
    "Comm_create_from_group": "group, newcomm, tagged(stringtag)",
}

COMMUNICATORS = {
    **{name: f'Create(native, {arguments}, "MPI_{name}")' for arguments, names in _MADE_OF.items() for name in names},
    **{name: f'Create_of(native, {made}, "MPI_{name}")' for name, made in _MADE_OF_A_GROUP.items()},
    "Intercomm_create": "Intercomm_create(native, local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm)",
    "Intercomm_create_from_groups": "Intercomm_create_from_groups(native, local_group, local_leader, remote_group, "
    "remote_leader, stringtag, newintercomm)",
    "Dist_graph_create": "Dist_graph_create(native, comm_old, n, sources, degrees, destinations, weights, info, reorder, "
    "comm_dist_graph)",
    "Comm_dup": "Comm_dup(native, comm, newcomm)",
    "Comm_dup_with_info": "Comm_dup(native, comm, newcomm)",
    "Comm_split_type": "Comm_split_type(native, comm, split_type, key, newcomm)",
    "Comm_idup": "Comm_idup(native, comm, MPI_INFO_NULL, newcomm, request)",
    "Comm_idup_with_info": "Comm_idup(native, comm, info, newcomm, request)",
    **dict.fromkeys(
        ["Comm_set_attr", "Comm_delete_attr", "Attr_put", "Attr_delete", "Comm_set_errhandler", "Comm_set_info"],
        "On(native, comm)",
    ),
}

_FORMS = ["_all", "_at_all", "_ordered"]

OPENED = {
    **{f"Win_{made}": "win" for made in ["create", "allocate", "allocate_shared", "create_dynamic"]},
    "File_open": "fh",
}
"""Handles of objects that the ranks of a communicator open together."""

TOGETHER = {
    "Win_fence": "Together(native, win)",
    "Win_free": "Close(native, win)",
    "File_close": "Close(native, fh)",
    **{
        f"File_{name}": "Together(native, fh)"
        for name in [
            *["set_size", "preallocate", "set_info", "set_view", "set_atomicity", "sync", "seek_shared"],
            *(f"{way}{form}{part}" for way in ("read", "write") for form in _FORMS for part in ("", "_begin", "_end")),
        ]
    },
}
"""Collective over a window or a file: the ranks meet before MPI executes the call."""

OUTSIDE = re.compile(r"Win_(start|complete|wait)|Comm_(spawn|accept|connect|join)")
"""May block on events outside of the fabric: window epochs opened by some ranks, other programs."""

ASIDE = re.compile(
    r"Win_((un)?lock|flush|sync)|R?(put|get|accumulate|get_accumulate)$|Fetch_and_op|Compare_and_swap$",
    re.IGNORECASE,
)
"""One-sided calls. They need no action of another rank, so a rank in such a call counts as computing."""

FILE_ALONE = re.compile(r"File_(delete|seek|(read|write)(_at|_shared)?$)")
"""Calls on files that need no action of another rank either."""

HANDLERS = {
    **COLLECTIVES,
    **{f"I{name[0].lower()}{name[1:]}": f"{call[:-1]}, {{request}})" for name, call in COLLECTIVES.items()},
    **{f"{name}_init": f"{call[:-1]}, {{request, true}})" for name, call in COLLECTIVES.items()},
    **MESSAGES,
    **BUFFERS,
    **REQUESTS,
    **COMMUNICATORS,
    **{name: f'Open(native, comm, {handle}, "MPI_{name}")' for name, handle in OPENED.items()},
    **TOGETHER,
    "Comm_free": "Comm_free(native, *comm)",
    "Comm_disconnect": "Comm_disconnect(native, *comm)",
    "Init": "Init(native)",
    "Init_thread": "Init_thread(required, provided, argc, argv)",
    "Finalize": "Finalize(native)",
    "Session_init": "Session_init(native, session)",
    "Session_finalize": "Session_finalize(native, session)",
    "Abort": "Abort(native, errorcode)",
    "Op_free": "Op_free(native, op)",
    "Wtime": "Wtime()",
    "Wtick": "Wtick()",
}
"""Handler of each function and of its large-count form, in namespace `on` of the interposer."""

_SKIPPED = re.compile(r"MPI_(T_|Pcontrol$|Aint_|.*_(c2f|f2c|toint|fromint|f082c|c2f08|f082f|f2f08)$)")
"""Functions without a wrapper: the tools interface, which may be called at any time; functions with variable arguments; and names that
are macros in some libraries."""


def wrapped(function: str) -> bool:
    """Returns whether `thalweg run` intercepts a function of MPI.

    Parameters
    ----------
    function : str
        Name of the function, e.g. "MPI_Allreduce".

    Returns
    -------
    bool

    Examples
    --------
    >>> wrapped("MPI_Allreduce"), wrapped("MPI_T_init_thread")
    (True, False)
    """
    return function.startswith("MPI_") and not _SKIPPED.match(function)


@dataclass(frozen=True)
class Function:
    """One C function of the standard, in its plain or its large-count form."""

    name: str
    """Its name in C, such as `MPI_Allreduce_c`."""
    base: str
    """The name without `MPI_` and without `_c`."""
    parameters: tuple[tuple[str, str], ...]
    """(name, declaration)"""
    result: str


def sources() -> list[Path]:
    """The files that determine the wrappers: this one and the Forum's API. Raises InputError if the latter is not installed."""
    api = find_spec("pympistandard")
    if api is None or api.origin is None:
        raise extras.missing("MPI programs need pympistandard", "mpi")
    folder = Path(api.origin).parent
    return [Path(__file__), *sorted([*folder.glob("*.py"), *folder.glob("data/*.json")])]


def standard_functions() -> Iterator[Function]:
    """Every C function of the standard that gets a wrapper if the library has it."""
    import pympistandard  # slow to import

    pympistandard.use_api_version()
    for procedure in pympistandard.PROCEDURES.values():
        for form in procedure.express.all_iso_c:
            base = re.sub("_c$", "", form.name.removeprefix("MPI_"))
            if wrapped(form.name.removesuffix("_c")):
                yield Function(form.name, base, tuple((p.name, str(p)) for p in form.parameters), form.return_type)


def declared_functions(preprocessed: str) -> list[Function]:
    """The functions of the standard that a library's preprocessed `mpi.h` declares, sorted by name."""
    declared = set(re.findall(r"\bP(MPI_\w+)\s*\(", preprocessed))
    return sorted((f for f in standard_functions() if f.name in declared), key=lambda f: f.name)


_NEEDED = re.compile(r"MPI_(Comm|Request|Message|Session|Win|File)\* |int\* (flag|index|outcount)$")
_LISTS = {"array_of_requests", "array_of_indices"}
"""Arrays whose length is the call's first argument; `_NEEDED` matches the pointers that a handler uses."""


def _missing(function: Function) -> str:
    """The condition under which MPI refuses a call because of a null pointer; such a call does not reach the handler."""
    pointers = [f"{name} == nullptr" for name, declaration in function.parameters if _NEEDED.match(declaration)]
    count = function.parameters[0][0] if function.parameters else ""
    lists = [f"({count} > 0 && {name} == nullptr)" for name, _ in function.parameters if name in _LISTS]
    return " || ".join(pointers + lists)


def _wrapper(number: int, function: Function) -> str:
    parameters = ", ".join(declaration for _, declaration in function.parameters) or "void"
    arguments = ", ".join(name for name, _ in function.parameters)
    head = f"THALWEG_EXPORT {function.result} {function.name}({parameters}) {{\n  process().count({number});\n"
    unknown = {"Outside(native)": OUTSIDE, "Aside(native)": ASIDE, "File_alone(native)": FILE_ALONE}
    handler = HANDLERS.get(function.base) or next(
        (h for h, names in unknown.items() if names.match(function.base)), None
    )
    if handler is None:
        return f"{head}  return P{function.name}({arguments});\n}}\n"
    missing = _missing(function)
    refused = f"  if ({missing}) return P{function.name}({arguments});\n" if missing else ""
    native = f"  const auto native = [&] {{ return P{function.name}({arguments}); }};\n" if "native" in handler else ""
    call = f"  const Call call({number}, __builtin_return_address(0));\n"
    return f"{head}{refused}{call}{native}  return on::{handler};\n}}\n"


def conflicts(errors: str) -> set[str]:
    """The functions that a library declares differently from the standard, from the compiler's errors about the wrappers."""
    return set(re.findall(r"conflicting declaration of C function .*?\b(MPI_\w+)\(", errors))


def generate(functions: list[Function], without: Set[str] = frozenset()) -> str:
    """The source of the wrappers. Function i of the list has the number i in counts and in posted calls."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated by thalweg/mpi/wrappers.py.",
        '#include "mpi/interposer/handlers.hpp"',
        "",
        '#define THALWEG_EXPORT extern "C" __attribute__((visibility("default")))',
        "",
        "using namespace thalweg::mpi;",
        "",
    ]
    wrapped = (_wrapper(number, function) for number, function in enumerate(functions) if function.name not in without)
    return "\n".join([*lines, *wrapped])
