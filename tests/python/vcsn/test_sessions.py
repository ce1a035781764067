# SPDX-License-Identifier: Apache-2.0
"""Sessions: do frames that a network loses, repeats, damages and reorders arrive once and in order, or do both ends
report the failure?"""

from __future__ import annotations

import random
from typing import Any

import pytest
from thalweg._core import NEVER
from thalweg.systems.vcsn import models
from thalweg.systems.vcsn._sim import Network, VirtualPort
from thalweg.systems.vcsn.cluster import Cluster

ONE, OTHER = VirtualPort(0, 0, 0), VirtualPort(1, 0, 0)


def cluster_of(send_words: int = 4096, **faults: float) -> Cluster:
    return Cluster.load("vcsn-d5005").replace(node={"fpga": {"send_words": send_words}}, link={"cable": faults})


def joined(network: Network, one: VirtualPort, other: VirtualPort, sessions: tuple[int, int]) -> None:
    for at, to, session in zip((one, other), (other, one), sessions, strict=True):
        network.set_circuit(at, to)
        network.set_session(at, session)


def two(cluster: Cluster, sessions: tuple[int, int] = (7, 9)) -> Network:
    """Both directions between nodes 0 and 1."""
    network = cluster.network()
    joined(network, ONE, OTHER, sessions)
    for node in (0, 1):
        network.connect(node, network.place(node, 0, 0), 0)
        network.connect(node, 0, network.place(node, 0, 0))
    return network


def completed(network: Network) -> dict[int, int]:
    at: dict[int, int] = {}
    while some := network.advance(NEVER):
        at |= {one.handle: one.at for one in some}
    return at


def sent(network: Network, handle: int, node: int, data: bytes) -> None:
    address = handle << 20
    network.store(node, address, data)
    network.read(node, 0, [(address, len(data))])
    network.write(handle, 1 - node, 0, [((1 << 33) + address, len(data))])


@pytest.mark.parametrize(
    "faults",
    [
        {},
        {"frames_lost": 0.01},
        {"frames_lost": 0.3},
        {"frames_duplicated": 0.2},
        {"frames_reordered": 0.2},
        {"bit_error_rate": 1e-6},
        {"frames_lost": 0.05, "frames_duplicated": 0.05, "frames_reordered": 0.1, "bit_error_rate": 1e-7},
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_all_arrives_once_and_in_order(faults: dict[str, float], seed: int) -> None:
    draw = random.Random(seed)
    network = two(cluster_of(draw.choice([512, 4096]), seed=seed, **faults))
    expected = {}
    for handle in range(1, 61):
        node = draw.randrange(2)
        expected[handle] = (node, draw.randbytes(draw.choice([1, 64, 9_152, 9_153, 100_000])))
        sent(network, handle, *expected[handle])
        if draw.random() < 0.2:
            network.advance(network.now + draw.randrange(10**8))
    completed(network)
    for handle, (node, data) in expected.items():
        assert network.load(1 - node, (1 << 33) + (handle << 20), len(data)) == data, (seed, handle)
    assert network.blocked == []
    for place in (ONE, OTHER):
        session = network.session(place)
        assert (session.state, session.under_way) == ("open", 0)
    resent = sum(network.session(place).resent for place in (ONE, OTHER))
    repeated = sum(network.session(place).repeated for place in (ONE, OTHER))
    if not faults:
        assert (resent, repeated, network.lost) == (0, 0, [])
    elif "frames_lost" in faults:
        assert resent > 0


def test_a_line_that_loses_is_used_well() -> None:
    """With 1 % of loss in each direction more than 90 % of the line carries new data, if the window covers a round
    trip."""
    size = 8 << 20
    network = two(cluster_of(frames_lost=0.01, seed=3))
    data = random.Random(3).randbytes(size)
    network.store(0, 0, data)
    network.read(0, 0, [(0, size)])
    network.write(1, 1, 0, [(0, size)])
    at = completed(network)[1]
    assert network.load(1, 0, size) == data
    assert size / (at / network.ticks_per_second) > 0.9 * models.vcsn_rate()
    session = network.session(ONE)
    assert session.resent < 3 * 0.01 * session.sent


def test_a_user_who_takes_nothing_stops_the_sender() -> None:
    """Nothing is lost, and everything comes to rest."""
    network = two(cluster_of(frames_lost=0.05))
    network.connect(1, 0, None)
    data = random.Random(1).randbytes(1 << 20)
    sent(network, 1, 0, data)
    assert completed(network) == {}
    assert network.session(ONE).under_way > 0
    network.connect(1, 0, network.place(1, 0, 0))
    assert completed(network).keys() == {1}
    assert network.load(1, (1 << 33) + (1 << 20), len(data)) == data


def test_a_peer_that_does_not_answer_ends_the_session() -> None:
    network = two(cluster_of())
    network.set_circuit(OTHER, None)
    sent(network, 1, 0, bytes(100_000))
    assert completed(network) == {}
    assert network.session(ONE).state == "silent"
    assert (0, "sessions that ended because the peer did not answer at port 0", 1) in network.lost


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("restarts", [0, 1])
def test_an_end_that_starts_again_is_noticed(restarts: int, seed: int) -> None:
    """In the middle of a transfer one end begins another session, as after a restart. Both ends detect it, and
    everything sent after both have restarted arrives, whatever the network still holds."""
    draw = random.Random(seed)
    network = two(cluster_of(seed=seed, frames_duplicated=0.1, frames_reordered=0.1, frames_lost=0.02))
    sent(network, 1, 0, draw.randbytes(300_000))
    sent(network, 2, 1, draw.randbytes(300_000))
    while {network.session(each).state for each in (ONE, OTHER)} != {"open"}:
        network.advance(network.now + network.ticks_per_second // 10**6)
    network.advance(network.now + draw.randrange(1, int(15e-6 * network.ticks_per_second)))
    place = (ONE, OTHER)[restarts]
    network.set_session(place, 100)
    done = completed(network)
    assert 1 not in done or 2 not in done
    survivor = (OTHER, ONE)[restarts]
    assert network.session(survivor).state == "refused", seed
    assert network.session(place).state in ("opening", "refused", "silent")
    said = " ".join(what for _, what, _ in network.lost)
    assert "sessions that ended because the peer began another" in said
    # Hosts begin another session after one has ended.
    while ended := [each for each in (ONE, OTHER) if network.session(each).state in ("refused", "silent")]:
        network.set_session(draw.choice(ended), draw.randrange(1000, 60_000))
        network.advance(network.now + draw.randrange(int(1e-4 * network.ticks_per_second)))
    assert any(what.startswith("words of a session that ended") for _, what, _ in network.lost)
    again = {handle: draw.randbytes(50_000) for handle in (3, 4)}
    for handle, data in again.items():
        sent(network, handle, handle - 3, data)
    completed(network)
    for handle, data in again.items():
        places = [
            (1 << 33) + (each << 20) for each in (handle, handle - 2)
        ]  # the earlier write may have had no packet yet
        assert sum(network.load(1 - (handle - 3), at, len(data)) == data for at in places) == 1, seed
    assert [network.session(each).state for each in (ONE, OTHER)] == ["open", "open"]


def test_frames_of_an_earlier_session_are_never_taken(seed: int = 1) -> None:
    """Recorded frames are replayed in a later session: none is accepted, and all sent data arrive."""
    draw = random.Random(seed)
    network = two(cluster_of())
    data: dict[int, bytes] = {}
    old = [frame_of(draw, session=draw.choice([7, 9]), peer=draw.choice([0, 7, 9])) for _ in range(200)]
    network.set_session(ONE, 17)
    network.set_session(OTHER, 19)
    for handle in range(1, 21):
        data[handle] = draw.randbytes(draw.choice([64, 9_152, 20_000]))
        sent(network, handle, 0, data[handle])
        for _ in range(10):
            network.inject(1, 0, old.pop(), damaged=False)
        network.advance(network.now + draw.randrange(10**7))
    completed(network)
    for handle, expected in data.items():
        assert network.load(1, (1 << 33) + (handle << 20), len(expected)) == expected
    assert network.session(ONE).state == network.session(OTHER).state == "open"


@pytest.mark.parametrize("faults", [{}, {"frames_lost": 0.05, "frames_duplicated": 0.05, "frames_reordered": 0.05}])
@pytest.mark.parametrize("resend_us", [1, 20])
def test_what_one_end_sends_after_it_began_again_arrives_or_both_know(
    faults: dict[str, float], resend_us: float
) -> None:
    """The other end still has the earlier session; none of its numbers may be accepted as an answer. 1 us is less than
    a round trip."""
    for seed in range(40):
        cluster = cluster_of(seed=seed, **faults).replace(node={"fpga": {"resend_us": resend_us}})
        network = two(cluster)
        if seed % 2:
            network.connect(1, 0, None)
        for handle in range(1, 1 + seed % 4):
            sent(network, handle, 0, bytes(9_152))
        completed(network)
        network.set_session(ONE, 17)
        data = random.Random(seed).randbytes(64)
        sent(network, 9, 0, data)
        done = completed(network)
        network.connect(1, 0, network.place(1, 0, 0))
        done |= completed(network)
        states = {network.session(each).state for each in (ONE, OTHER)}
        if 9 not in done:
            assert "open" not in states or network.session(OTHER).state == "refused", (seed, states)
            for each in (ONE, OTHER):
                network.set_circuit(each, None)
            completed(network)
            assert any(
                "of a session that ended" in what or "when the session ended" in what for _, what, _ in network.lost
            )
        assert network.session(ONE).under_way == 0 or "open" not in states, seed


def test_a_session_has_a_new_number_and_no_credits() -> None:
    network = two(cluster_of())
    with pytest.raises(ValueError, match="already has session 7; use a new number"):
        network.set_session(ONE, 7)
    with pytest.raises(ValueError, match="or its peer has a session, which needs no credits"):
        network.set_credits(OTHER)
    network.multicast(VirtualPort(2, 0, 0), [VirtualPort(3, 0, 0)])
    with pytest.raises(ValueError, match=r"virtual port 0.0 of node 3 has no circuit of two ends"):
        network.set_session(VirtualPort(3, 0, 0), 1)


def frame_of(draw: random.Random, **sequence: int) -> bytes:
    """From node 0 to node 1, of any kind, number and length."""
    from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader, VcsnSequence

    header = VcsnHeader(0, 0, draw.randrange(256), draw.choice(list(FrameKind)), draw.random() < 0.5, True, True)
    numbers = VcsnSequence(number=draw.randrange(4), base=draw.choice([0, draw.randrange(2**32)]), **sequence)
    words = draw.choice([1, 2, 143])
    return bytes.fromhex("02000000000102000000000088b5") + header.pack() + numbers.pack() + draw.randbytes(64 * words)


def test_wrong_sessions_are_refused() -> None:
    network: Any = Cluster.load("vcsn-d5005").network()
    with pytest.raises(ValueError, match=r"virtual port 0.0 of node 0 has no circuit of two ends"):
        network.set_session(ONE, 1)
    with pytest.raises(TypeError):
        network.set_session(ONE, 65_536)


def data_of(draw: random.Random, number: int, size: int) -> bytes:
    """Each word begins with the number of its packet and its own index."""
    words = [number.to_bytes(4, "little") + at.to_bytes(4, "little") + draw.randbytes(56) for at in range(size // 64)]
    return b"".join(words)


@pytest.mark.parametrize("seed", range(4))
def test_nodes_that_restart_lose_nothing_silently(seed: int) -> None:
    """Four nodes send to each other over sessions and a network with faults, and one after another restarts in the
    middle. A write that completes with all its bytes has one packet, whole and in order, and none arrives twice; each
    end of a circuit with a restarted node has another session or knows that its own has ended; then all sessions are
    set up again, and all sent data arrive."""
    draw = random.Random(seed)
    network = cluster_of(seed=seed, frames_lost=0.02, frames_duplicated=0.05, frames_reordered=0.05).network()
    pairs = [
        (VirtualPort(0, 0, 0), VirtualPort(1, 0, 0)),
        (VirtualPort(1, 1, 1), VirtualPort(2, 1, 0)),
        (VirtualPort(2, 0, 1), VirtualPort(3, 0, 1)),
    ]
    packets: dict[int, tuple[bytes, VirtualPort, VirtualPort]] = {}
    number = draw.randrange(1000)

    def open_(at: VirtualPort, to: VirtualPort, engine: int) -> None:
        nonlocal number
        number += 1
        network.set_circuit(at, to)
        network.set_session(at, number)
        place = network.place(at.node, at.port, at.virtual_port)
        network.connect(at.node, place, engine)
        network.connect(at.node, engine, place)

    def engine_of(at: VirtualPort) -> int:
        return 0 if (at.node, at.port) in ((0, 0), (1, 0), (2, 1), (3, 0)) else 1

    def send(handle: int, at: VirtualPort, to: VirtualPort) -> None:
        data = data_of(draw, handle, 64 * draw.randint(1, 2_000))
        packets[handle] = data, at, to
        address = (engine_of(at) << 33) + (handle << 20)
        network.store(at.node, address, data)
        network.read(at.node, engine_of(at), [(address, len(data))])
        network.write(handle, to.node, engine_of(to), [((2 + engine_of(to) << 33) + (handle << 20), len(data))])

    ends = [(one, other) for pair in pairs for one, other in (pair, pair[::-1])]
    for at, to in ends:
        open_(at, to, engine_of(at))
    done: dict[int, int] = {}
    for handle in range(1, 25):
        send(handle, *draw.choice(ends))
    network.advance(draw.randrange(10**6, 6 * 10**6))
    restarted = draw.randrange(4)
    network.restart(restarted)
    done = completed(network)
    for at, to in ends:
        if at.node == restarted:
            assert network.session(at).state == "none"
        elif to.node == restarted and network.session(at).sent + network.session(at).under_way:
            assert network.session(at).state in ("silent", "refused", "open")
    lost = " ".join(what for _, what, _ in network.lost)
    assert "operations ended by a restart" in lost and "words dropped by a restart" in lost
    came: list[bytes] = []
    for handle in done:
        data, _, to = packets[handle]
        if network.written(handle) == len(data):
            came.append(network.load(to.node, (2 + engine_of(to) << 33) + (handle << 20), len(data)))
    assert all(any(one == data for data, _, _ in packets.values()) for one in came), seed
    assert len(set(came)) == len(came), seed

    for node in range(4):
        network.restart(node)
    for at, to in ends:
        open_(at, to, engine_of(at))
    again = range(100, 130)
    for handle in again:
        send(handle, *draw.choice(ends))
    assert completed(network).keys() == set(again), seed
    for handle in again:
        data, _, to = packets[handle]
        assert network.load(to.node, (2 + engine_of(to) << 33) + (handle << 20), len(data)) == data, (seed, handle)
    assert network.blocked == []
