# SPDX-License-Identifier: Apache-2.0
"""Are the router's parameter sets with names of clusters those of the clusters' routers?"""

from __future__ import annotations

from pathlib import Path

import pytest
from thalweg.rtl.project import Project
from thalweg.systems.mpi_fpga.cluster import Cluster

BLOCK = Project(Path(__file__).parents[2]).block("switch/vc_router")


@pytest.mark.parametrize(
    ("name", "cluster", "collectives"),
    [
        ("torus", "torus:8x8", False),
        ("preset", "mpi-fpga-torus-4x4x4", True),
        ("indirect8", "mpi-fpga-fattree-8", True),
    ],
)
def test_parameters(name: str, cluster: str, collectives: bool) -> None:
    config = Cluster.load(cluster).fabric_config(collectives)
    router = config.router
    masks = [mask for of_message_class in router.vc_mask for mask in of_message_class]
    credits = router.flow.name == "credits"
    wanted: dict[str, int | str] = {
        "LinkPorts": router.link_ports,
        "LocalPorts": router.local_ports,
        "Vcs": router.virtual_channels,
        "BufferFlits": router.buffer_flits,
        "LocalBufferFlits": router.local_buffer_flits,
        "Nodes": config.nodes,
        "MessageClasses": len(router.vc_mask),
        "RouteClasses": len(router.vc_mask[0]),
        "VcMask": f"{len(masks) * router.virtual_channels}'h"
        f"{sum(mask << i * router.virtual_channels for i, mask in enumerate(masks)):x}",
    }
    if credits:
        wanted |= {"PeerFlits": router.buffer_flits, "LocalPeerFlits": router.local_buffer_flits}
    else:
        wanted |= {"Credits": 0, "MarginFlits": router.margin_flits}
    assert next(parameters.parameters for parameters in BLOCK.sets if parameters.name == name) == wanted
    assert all(link.rate_flits == link.rate_cycles for link in config.links)
