# SPDX-License-Identifier: Apache-2.0
"""Cost of a word through a stream between two kernels: millions of push-pop pairs per second of CPU time, by the stream's
depth; the best of several runs."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEPTHS = (2, 4, 16, 64, 512)


def build(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "stream"
    sources = [ROOT / "benches/kernels/stream.cpp", *sorted((ROOT / "sim/core").glob("*.cpp"))]
    command = ["c++", "-std=c++20", "-O3", "-DNDEBUG", f"-I{ROOT / 'sim'}", *sources, "-o", program]
    subprocess.run(command, check=True)
    return program


def million_words_a_second(program: Path, depth: int, words: int, repeats: int) -> float:
    seconds = min(
        float(
            subprocess.run(
                [program, str(words), str(depth)], check=True, text=True, capture_output=True
            ).stdout.split()[1]
        )
        for _ in range(repeats)
    )
    return words / seconds / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--build", type=Path, default=ROOT / "build/benches")
    options = parser.parse_args()
    program = build(options.build)
    print("depth  million words a second")
    for depth in DEPTHS:
        print(f"{depth:5}  {million_words_a_second(program, depth, options.words, options.repeats):22.1f}")


if __name__ == "__main__":
    main()
