"""The RTL engine: a cluster whose routers are the hardware's, Verilated and loaded into the simulator.

Everything else of a node, its collective unit and its host, is the simulator's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.rtl import Project

if TYPE_CHECKING:
    from thalweg._sim import FabricConfig, Recording
    from thalweg.cluster import Cluster


class SharedLibraries(Project):
    """The sources, built as code that a running process can load."""

    further_flags = ("-fPIC",)

    def __init__(self, root: Path | None = None) -> None:
        super().__init__(root)
        self.build = self.build / "engine"
        self.runtime = self.build / "runtime"


def router_parameters(config: FabricConfig) -> dict[str, int | str]:
    """Those of the tw_vc_router of a cluster's nodes. Raises InputError where it has none that fit."""
    router = config.router
    rates = {(link.rate_flits, link.rate_cycles) for link in config.links}
    if len(rates) > 1:
        raise InputError("the hardware's router has one rate for all of its links, and these have several")
    if len({len(of_class) for of_class in router.vc_mask}) > 1:
        raise InputError("the hardware's router has as many route classes for every message class")
    masks = [mask for of_message_class in router.vc_mask for mask in of_message_class]
    bits = sum(mask << i * router.virtual_channels for i, mask in enumerate(masks))
    parameters: dict[str, int | str] = {
        "LinkPorts": router.link_ports,
        "LocalPorts": router.local_ports,
        "Vcs": router.virtual_channels,
        "BufferFlits": router.buffer_flits,
        "LocalBufferFlits": router.local_buffer_flits,
        "Nodes": config.nodes,
        "MessageClasses": len(router.vc_mask),
        "RouteClasses": len(router.vc_mask[0]),
        "VcMask": f"{len(masks) * router.virtual_channels}'h{bits:x}",
    }
    flits, cycles = rates.pop() if rates else (1, 1)
    if flits < cycles:
        parameters |= {"RateFlits": flits, "RateCycles": cycles}
    if router.flow.name == "credits":
        parameters |= {"PeerFlits": router.buffer_flits, "LocalPeerFlits": router.local_buffer_flits}
    else:
        parameters |= {"Credits": 0, "MarginFlits": router.margin_flits}
    return parameters


def in_rtl(
    cluster: Cluster, compares: bool = False, project: Project | None = None, recording: Recording | None = None
) -> Cluster:
    """The same cluster with the hardware's routers, which are built where they have not been built yet.

    With `compares` the simulator's router runs beside each one; the first difference ends what the fabric does, as
    RouterDifference. `project`: the sources. `recording`: of one router's waves. Raises InputError where there is no such
    hardware, and BuildError where a tool refuses.
    """
    from thalweg import _sim

    parameters = router_parameters(cluster.fabric_config())
    project = project or SharedLibraries()
    glue = project.root / "rtl/engine/vc_router.cpp"
    library = project.build_library("tw_vc_router", glue, parameters, waves=recording is not None)
    return replace(cluster, routers=_sim.RouterLibrary(str(library), compares, recording))
