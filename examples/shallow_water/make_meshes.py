# SPDX-License-Identifier: Apache-2.0
"""Draws the bay and meshes it with gmsh: writes bay/meshes/*.npz.

Needs the extra `meshes`. The simulation reads these files and does not need gmsh.
"""

from __future__ import annotations

import math
from pathlib import Path

import gmsh
import numpy as np

#: Coast in km, counterclockwise from the open sea in the west to the open sea in the east.
COAST = [
    (2, 34),
    (0.5, 29),
    (3.5, 24),
    (2, 18),
    (6.5, 13),
    (5, 7),
    (10, 2.5),
    (15, 4.5),
    (19, 0.5),
    (26, 1),
    (30, 5.5),
    (31.5, 10.5),
]
COAST += [(34, 11), (35, 5.5), (41, 2.5), (47, 6), (49, 12), (46.5, 17), (51, 22), (48.5, 28), (52, 33)]
#: Boundary at the open sea, from there back to the start.
SEA = [(44, 38.5), (33, 41.5), (22, 41.5), (11, 39)]
#: Islands: centre, half axes, angle in degrees, and raggedness of the coast.
ISLANDS = [
    ((16.5, 30.5), (6.0, 1.3), 8, 0.16),
    ((31.5, 32.5), (5.0, 1.1), -7, 0.18),
    ((42.0, 29.5), (2.4, 1.2), -30, 0.15),
    ((38.0, 19.5), (1.5, 3.6), 15, 0.20),
    ((19.5, 15.5), (3.4, 1.9), 40, 0.22),
    ((10.5, 19.5), (1.3, 1.8), 0, 0.12),
    ((26.5, 23.5), (1.2, 1.0), 0, 0.10),
]
SIZES = (
    2.893,
    2.1019,
)  #: 1,690 triangles, where figure 5 of the paper has 1,696, and 3,121: a hundredth of the 312,000 of its section 4.3


def island(
    centre: tuple[float, float], axes: tuple[float, float], degrees: float, ragged: float, number: int
) -> list[tuple[float, float]]:
    turn = math.radians(degrees)
    points = []
    for k in range(16):
        at = 2 * math.pi * k / 16
        wide = 1 + ragged * (math.sin(3 * at + number) + 0.6 * math.cos(5 * at + 2 * number))
        x, y = axes[0] * wide * math.cos(at), axes[1] * wide * math.sin(at)
        points.append(
            (centre[0] + x * math.cos(turn) - y * math.sin(turn), centre[1] + x * math.sin(turn) + y * math.cos(turn))
        )
    return points


def mesh(size: float) -> dict[str, np.ndarray]:
    """Returns points in m, triangles, and the edges of the coast and of the open sea. `size` is that of a triangle at the
    open sea in km."""
    gmsh.clear()
    geometry = gmsh.model.geo

    def place(points: list[tuple[float, float]], length: float) -> list[int]:
        return [geometry.addPoint(x, y, 0, length) for x, y in points]

    coast, sea = place(COAST, 0.62 * size), place(SEA, size)
    land = [geometry.addSpline(coast)]
    open_sea = [geometry.addSpline([coast[-1], *sea, coast[0]])]
    loops = [geometry.addCurveLoop([*land, *open_sea])]
    for number, each in enumerate(ISLANDS):
        shore = place(island(*each, number), 0.55 * size)
        land.append(geometry.addSpline([*shore, shore[0]]))
        loops.append(geometry.addCurveLoop([land[-1]]))
    surface = geometry.addPlaneSurface(loops)
    geometry.synchronize()
    gmsh.model.mesh.generate(2)
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    number_of = {int(tag): k for k, tag in enumerate(tags)}

    def elements(kind: int, dimension: int, tag: int, corners: int) -> np.ndarray:
        _, nodes = gmsh.model.mesh.getElementsByType(kind, tag)
        return np.array([number_of[int(node)] for node in nodes]).reshape(-1, corners)

    triangles = elements(2, 2, surface, 3)
    edges = [np.concatenate([elements(1, 1, curve, 2) for curve in curves]) for curves in (land, open_sea)]
    used = np.unique(triangles)
    rank = np.zeros(len(tags), int)
    rank[used] = np.arange(len(used))
    return {
        "points": np.round(1e3 * coordinates.reshape(-1, 3)[used, :2], 3),
        "triangles": rank[triangles].astype(np.int16),
        "coast": rank[edges[0]].astype(np.int16),
        "sea": rank[edges[1]].astype(np.int16),
    }


def main() -> None:
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("Mesh.RandomSeed", 1)
    gmsh.option.setNumber("Mesh.Algorithm", 6)
    folder = Path(__file__).parent / "bay" / "meshes"
    for size in SIZES:
        found = mesh(size)
        name = f"bay-{len(found['triangles'])}.npz"
        np.savez_compressed(folder / name, **found)
        print(f"{name}: {len(found['points'])} points")


if __name__ == "__main__":
    main()
