# SPDX-License-Identifier: Apache-2.0
"""A program for `thalweg accl run`: `ranks.py WHAT PORT`. Each rank sends the messages of ACCL's driver."""

from __future__ import annotations

import os
import signal
import sys
import time

from client import CONFIG, COPY, FLOAT, RECV, SEND, Client

SOURCE, TARGET = 0x100000, 0x200000
COMMUNICATOR = 8 + 28 * 16
TIME_OUT = 2  # function of the configuration call


def exchange(client: Client, rank: int, number: int) -> None:
    """Rank 0 sends 16 floats to rank 1."""
    if rank == 0:
        client.store(SOURCE, bytes([number]) * 64)
        code = client.call(SEND, count=16, comm=COMMUNICATOR, root_src_dst=1, arithcfg=FLOAT, addr_0=SOURCE)
    else:
        client.allocate(TARGET, 64)
        code = client.call(RECV, count=16, comm=COMMUNICATOR, root_src_dst=0, arithcfg=FLOAT, addr_2=TARGET)
        assert client.load(TARGET, 64) == bytes([number]) * 64
    assert code == 0


def main(what: str, port: int) -> int:
    rank, ranks = int(os.environ.get("PMI_RANK", "0")), int(os.environ.get("PMI_SIZE", "1"))
    if what == "mpi":
        from mpi4py import MPI

        assert (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size) == (rank, ranks)
    floats = COMMUNICATOR + 8 + 24 * ranks + 4 * 18
    with Client(port, rank) as client:
        client.begin(rank, ranks, port)
        if what == "mpi":
            MPI.COMM_WORLD.Barrier()  # now both have receive buffers
            exchange(client, rank, 5)
        elif what == "copy":
            print(f"rank {rank} of {ranks}")
            client.store(SOURCE, bytes(range(64)))
            client.allocate(TARGET, 64)
            assert client.call(COPY, count=16, arithcfg=floats, addr_0=SOURCE, addr_2=TARGET) == 0
            assert client.load(TARGET, 64) == bytes(range(64))
        elif what == "kernel":  # which adds 7
            ints = floats + 2 * 4 * 9
            client.store(SOURCE, bytes(64))
            client.allocate(TARGET, 64)
            assert (
                client.call(SEND, count=16, comm=COMMUNICATOR, arithcfg=ints, addr_0=SOURCE, stream_flags=2, tag=9) == 0
            )
            assert client.call(COPY, count=16, arithcfg=ints, addr_2=TARGET, stream_flags=1) == 0
            assert client.load(TARGET, 64) == (7).to_bytes(4, "little") * 16
        elif what == "wrong":
            client.call(
                COPY, count=16, arithcfg=floats, addr_0=SOURCE, addr_2=TARGET
            )  # of memory that is not allocated
        elif what == "waits for ever":
            client.call(CONFIG, function=TIME_OUT, count=0)
            client.allocate(TARGET, 64)
            client.call(RECV, count=16, comm=COMMUNICATOR, root_src_dst=1 - rank, arithcfg=FLOAT, addr_2=TARGET)
        elif what in ("comes late", "never comes") and rank == 0:
            client.call(CONFIG, function=TIME_OUT, count=0)
            client.allocate(TARGET, 64)
            client.call(RECV, count=16, comm=COMMUNICATOR, root_src_dst=1, arithcfg=FLOAT, addr_2=TARGET)
        elif what == "comes late":
            time.sleep(1)
            client.store(SOURCE, bytes(64))
            client.call(SEND, count=16, comm=COMMUNICATOR, root_src_dst=0, arithcfg=FLOAT, addr_0=SOURCE)
        elif what == "never comes":
            return 0
        elif what == "ends late and does not finalize":
            import mpi4py

            mpi4py.rc.finalize = False
            import mpi4py.MPI  # noqa: F401

            if rank == 1:
                time.sleep(1)
                client.call(CONFIG)
        elif what == "fails" and rank == 1:
            return 3
        elif what == "dies" and rank == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        else:
            os.write(1, f"{os.getpid()}\n".encode())  # in one write, so that lines of two ranks are not interleaved
            time.sleep(60)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
