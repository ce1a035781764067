# SPDX-License-Identifier: Apache-2.0
"""Do kernels see what the network wrote to their GPU only after the delay or a flush, and is a read of old data reported?"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from thalweg.errors import InputError
from thalweg.peach2 import Cluster, Hubs, Kernel, StaleRead

SIZE = 512
FLAG = 1 << 20
OLD, NEW = 1, 2


def write_and_flag(hubs: Hubs) -> None:
    """Node 0 stores NEW bytes over OLD ones in GPU 1 of node 1, then a flag, for which node 1 waits."""
    a, b = hubs.nodes[:2]
    b.gpus[1].write(0, np.full(SIZE, OLD, np.uint8))
    a.store(b.gpus[1].address(), np.full(SIZE, NEW, np.uint8))
    a.store(b.processor.address(FLAG), np.uint32(7))
    b.wait_for(FLAG, 7)


def kernel(hubs: Hubs) -> Kernel:
    b = hubs.nodes[1]
    return b.kernel(1000, [(b.gpus[1].address(), SIZE), (b.gpus[1].address(SIZE), 64)])


def stale(hubs: Hubs) -> NDArray[np.uint8]:
    write_and_flag(hubs)
    reader = kernel(hubs)
    with pytest.raises(StaleRead, match=r"GPU 1 of node 1 .* by node 0, which arrived \d+ ns before; flush") as error:
        hubs.run()
    assert reader.error == str(error.value) and not reader.done
    hubs.run()  # reported once
    return reader.seen[0]


def test_a_kernel_after_a_flag_reads_old_data_and_says_so() -> None:
    """A store of 64 bytes comes every 120 ns, then the flag, which the processor sees 120 ns after its arrival. So the last
    store is younger than the 350 ns after which a GPU sees it; the one before, 360 ns old, is so only because the flag's
    packet is shorter and thus faster."""
    seen = stale(Hubs("peach2-ring-4"))
    old = int((seen == OLD).sum())
    assert old in (64, 128)
    assert (seen[:-old] == NEW).all() and (seen[-old:] == OLD).all()


def test_a_copy_over_an_unseen_write_is_seen_at_once() -> None:
    """The copy is the node's own, like the kernel. Around it, the kernel still gets the bytes from before the write."""
    hubs = Hubs(Cluster.load("peach2-ring-4").with_node(gpu_landing_ns=20_000))
    b = hubs.nodes[1]
    b.processor.write(0, np.full(SIZE, 3, np.uint8))
    write_and_flag(hubs)
    b.copy(b.gpus[1], 100, b.processor, 0, 60)
    inside, around = (b.kernel(0, [(b.gpus[1].address(at), size)]) for at, size in ((100, 60), (0, SIZE)))
    with pytest.raises(StaleRead):
        hubs.run()
    assert inside.done and (inside.seen[0] == 3).all()
    (seen,) = around.seen
    assert around.error and (seen[100:160] == 3).all() and (np.delete(seen, range(100, 160)) == OLD).all()
    assert (np.delete(b.gpus[1].read(0, SIZE), range(100, 160)) == NEW).all()


def test_the_result_of_a_group_needs_a_flush() -> None:
    """It follows its record to the GPU at once."""
    for flushes in (False, True):
        hubs = Hubs("peach2-ring-4")
        group = hubs.group([0, 1], 0, memories=(1,))
        readers = []
        for node in hubs.nodes[:2]:
            node.gpus[1].write(0, np.ones(8, np.float32))
            group.reduce(node.number, [(node.gpus[1].address(), 32)])
            if flushes:
                node.flush(node.gpus[0])
            readers.append(node.kernel(0, [(node.gpus[0].address(), 32)]))
        if flushes:
            hubs.run()
        else:
            with pytest.raises(StaleRead):
                hubs.run()
        assert [reader.seen[0].view(np.float32).tolist() for reader in readers] == [[2.0 * flushes] * 8] * 2


def test_old_data_are_the_same_in_every_run() -> None:
    assert stale(Hubs("peach2-ring-4")).tobytes() == stale(Hubs("peach2-ring-4")).tobytes()


@pytest.mark.parametrize("by", ["flush", "delay", "nothing", "the other GPU"])
def test_a_kernel_sees_all_after_a_flush_or_the_delay(by: str) -> None:
    """With a delay of 5 us, far longer than a flush: a store's way to the root complex, the GPU's read latency, and the
    landing of the answer."""
    hubs = Hubs(Cluster.load("peach2-ring-4").with_node(gpu_landing_ns=5000))
    write_and_flag(hubs)
    b = hubs.nodes[1]
    flushes = [b.flush(gpu) for gpu in b.gpus if by == ("flush" if gpu.number == 2 else "the other GPU")]
    if by == "delay":
        b.work(5000)
    reader = kernel(hubs)
    if by in ("flush", "delay"):
        hubs.run()
        assert (reader.seen[0] == NEW).all() and (reader.seen[1] == 0).all() and reader.done
    else:
        with pytest.raises(StaleRead):
            hubs.run()
        assert (reader.seen[0] == OLD).all()
    assert all(flush.time_us == pytest.approx(0.48, abs=0.01) for flush in flushes)


def test_reads_over_pci_express_do_not_pass_writes() -> None:
    """The hub's own read of the GPU, right after the flag, gets the new data."""
    hubs = Hubs("peach2-ring-4")
    write_and_flag(hubs)
    b = hubs.nodes[1]
    b.put(b.processor.address(), b.gpus[1].address(), SIZE)
    hubs.run()
    assert (b.processor.read(0, SIZE) == NEW).all()


def test_wrong_kernels_and_flushes() -> None:
    hubs = Hubs("peach2-ring-4")
    a, b = hubs.nodes[:2]
    for reads, said in (
        ([(b.gpus[0].address(), 64)], "reads only in its own node"),
        ([(a.processor.address(), 64)], "a kernel reads its GPU's memory"),
        ([(a.gpus[0].address(), 3)], "multiples of 4"),
    ):
        with pytest.raises(InputError, match=said):
            a.kernel(10, reads)
    with pytest.raises(InputError, match="must be 0 to"):
        a.kernel(-1)
    for memory in (a.processor, b.gpus[0]):
        with pytest.raises(InputError, match="one of its GPUs"):
            a.flush(memory)
    unexecuted = a.kernel(10)
    with pytest.raises(InputError, match="call run"):
        unexecuted.seen  # noqa: B018
