# SPDX-License-Identifier: Apache-2.0
"""Compares a stream between two ACCL boards over TCP with ns-3 (PyPI: ns3): throughput at the same segments, windows
and latencies.

    pip install ns3
    python benches/ns3_tcp.py

ns-3 has a point-to-point link without preambles, gaps and Ethernet headers instead of boards, cables and switch. So its
rate is the share of the line rate of a maximum-size segment, and its delay includes cables, switch, ports and reading a
segment. Its congestion control is NewReno, too, without selective acknowledgements and time stamps; its application
sends no ACCL headers, whose share is subtracted. Fails if throughputs differ by more than 3 %.
"""

from __future__ import annotations

import sys

import numpy as np
import thalweg
from ns import ns
from thalweg.accl import Cluster, Rank, Stream, run

BYTES = 1 << 24
HEADERS, FRAME = 20 + 20, 14 + 4 + 8 + 12  # TCP and IPv4; Ethernet frame on the line

PROGRAM = r"""
using namespace ns3;

uint64_t tcp_received = 0;
double tcp_last_seconds = 0;
void tcp_take(Ptr<Socket> socket) {
  while (auto packet = socket->Recv()) {
    tcp_received += packet->GetSize();
    tcp_last_seconds = Simulator::Now().GetSeconds();
  }
}
uint64_t tcp_left = 0;
void tcp_give(Ptr<Socket> socket, uint32_t) {
  while (tcp_left > 0) {
    const uint32_t size = std::min<uint64_t>({tcp_left, socket->GetTxAvailable(), 8256});
    if (size == 0 || socket->Send(Create<Packet>(size)) < 0) return;
    tcp_left -= size;
  }
}
void tcp_open(Ptr<Socket> socket) { tcp_give(socket, 0); }
void tcp_accept(Ptr<Socket> socket, const Address&) { socket->SetRecvCallback(MakeCallback(&tcp_take)); }
Ptr<Socket> tcp_socket(Ptr<Node> node) { return Socket::CreateSocket(node, TypeId::LookupByName("ns3::TcpSocketFactory")); }

/// Seconds for a stream of so many bytes, from the connection's begin to the last byte.
double tcp_stream(uint64_t bytes, uint32_t segment, uint32_t window, bool scaling, double gbit_s, double delay_ns) {
  tcp_received = 0;
  tcp_left = bytes;
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(scaling));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window + 2 * 8256));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
  NodeContainer nodes;
  nodes.Create(2);
  InternetStackHelper().Install(nodes);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(gbit_s * 1e9))));
  link.SetDeviceAttribute("Mtu", UintegerValue(9216));
  link.SetChannelAttribute("Delay", TimeValue(Seconds(delay_ns * 1e-9)));
  link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
  auto devices = link.Install(nodes);
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  auto interfaces = addresses.Assign(devices);
  TrafficControlHelper().Uninstall(devices);
  auto sink = tcp_socket(nodes.Get(1));
  sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5500));
  sink->Listen();
  sink->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&tcp_accept));
  auto source = tcp_socket(nodes.Get(0));
  source->Bind();
  source->SetConnectCallback(MakeCallback(&tcp_open), MakeNullCallback<void, Ptr<Socket>>());
  source->SetSendCallback(MakeCallback(&tcp_give));
  source->Connect(InetSocketAddress(interfaces.GetAddress(1), 5500));
  Simulator::Stop(Seconds(10));
  Simulator::Run();
  Simulator::Destroy();
  return tcp_received == bytes ? tcp_last_seconds : -1;
}
"""


def ours(cluster: Cluster) -> float:
    """GB/s of a stream from rank 0 to rank 1."""

    def program(rank: Rank) -> tuple[float, float]:
        data = np.arange(BYTES // 4, dtype=np.float32)
        rank.barrier()
        if rank.rank == 0:
            rank.push(data)
            request = rank.kernel().stream_put(Stream(), data.size, 1, stream_id=0)
            rank.barrier()
            return request.begun_us, 0.0
        rank.barrier()
        (packet,) = rank.pull()
        assert (packet.data == data).all()
        return 0.0, packet.at_us

    values = run(program, 2, cluster, buffers=200, buffer_bytes=98_304).values
    return BYTES / (values[1][1] - values[0][0]) / 1e3


def theirs(segment: int, window: int, scaling: bool, way_ns: float) -> float:
    """GB/s of the stream in ns-3."""
    here = ns.cppyy.gbl
    read_ns = (segment + HEADERS + 14) / 64 / 0.322265625
    gbit_s = 100 * (segment + HEADERS + 2) / (segment + HEADERS + FRAME)
    stream = BYTES * 8256 // 8192
    seconds = here.tcp_stream(stream, segment, window, scaling, gbit_s, way_ns + 500 + read_ns)
    assert seconds > 0
    return BYTES / seconds / 1e9


def main() -> int:
    ns.cppyy.cppdef(PROGRAM)
    points: tuple[tuple[str, float, dict[str, int]], ...] = (
        ("accl-u280-tcp", 1_000, {}),
        ("accl-u280-tcp-untuned", 1_000, {}),
        ("accl-u280-tcp-untuned", 10_000, {}),
        ("accl-u280-tcp-untuned", 1_000, {"window_bytes": 33_024}),
    )
    print(f"{'segment':>7}  {'window':>7}  {'switch ns':>9}  {'GB/s':>6}  {'ns-3':>6}  {'difference':>10}")
    wrong = 0
    for name, latency_ns, board in points:
        cluster = thalweg.load(name).replace(node={"switch": {"latency_ns": latency_ns}, "board": board})
        table = cluster.board(0)
        mine = ours(cluster)
        other = theirs(table.segment_bytes, table.window_bytes, table.window_scaling, latency_ns + 30)
        apart = mine / other - 1
        wrong += abs(apart) > 0.03
        print(
            f"{table.segment_bytes:7}  {table.window_bytes:7}  {latency_ns:9.0f}  {mine:6.3f}  {other:6.3f}  {apart:10.2%}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
