# SPDX-License-Identifier: Apache-2.0
"""Compares flows of four computers to one with ns-3 (PyPI: ns3): throughput and loss at one output buffer by offered
load.

    pip install ns3
    python benches/ns3_flows.py

ns-3 has point-to-point links without preambles and gaps, and a router instead of a switch, whose output has a drop-tail
queue that excludes the packet being sent. So its packets are as long as our frames with preamble and gap, and its queue
holds one packet less than our buffer. Both use exponential gaps, from different generators. Fails if throughputs differ
by more than 2 %, or losses by more than 2 points.
"""

from __future__ import annotations

import sys

import thalweg
from ns import ns

SENDERS, PAYLOAD, FRAMES, GBIT_S = 4, 1486, 10_000, 100
WIRE, FRAME = 1486 + 14 + 8 + 4 + 12, 1486 + 14
HEADERS = 2 + 20 + 8  # PPP, IPv4 and UDP
HELD = 66  # frames in the buffer

PROGRAM = r"""
using namespace ns3;

struct Sender {
  Ptr<Socket> socket;
  Ptr<ExponentialRandomVariable> gap;
  uint32_t bytes = 0;
  uint64_t left = 0;

  void begin() { Simulator::Schedule(Seconds(gap->GetValue()), &Sender::send, this); }
  void send() {
    socket->Send(Create<Packet>(bytes));
    if (--left > 0) begin();
  }
};

uint64_t received_packets = 0;
double last_seconds = 0;
void received(Ptr<Socket> socket) {
  while (socket->Recv()) {
    ++received_packets;
    last_seconds = Simulator::Now().GetSeconds();
  }
}

/// Packets that arrived; `last_seconds` has when the last one did.
uint64_t flows(unsigned senders, uint32_t bytes, uint32_t wire_bytes, uint64_t frames, double load, uint32_t queue, uint32_t seed) {
  RngSeedManager::SetSeed(seed);
  received_packets = 0;
  NodeContainer nodes;
  nodes.Create(senders + 2);  // the router, the receiver, the senders
  InternetStackHelper().Install(nodes);
  TrafficControlHelper control;
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  Ipv4InterfaceContainer at_receiver;
  for (unsigned n = 1; n < senders + 2; ++n) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    link.SetDeviceAttribute("Mtu", UintegerValue(9000));
    link.SetChannelAttribute("Delay", StringValue("15ns"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(n == 1 ? std::to_string(queue) + "p" : "100000000p"));
    auto devices = link.Install(nodes.Get(0), nodes.Get(n));
    auto interfaces = addresses.Assign(devices);
    control.Uninstall(devices);
    if (n == 1) at_receiver = interfaces;
    addresses.NewNetwork();
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  auto type = TypeId::LookupByName("ns3::UdpSocketFactory");
  auto sink = Socket::CreateSocket(nodes.Get(1), type);
  sink->SetAttribute("RcvBufSize", UintegerValue(1u << 30));
  sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
  sink->SetRecvCallback(MakeCallback(&received));
  std::vector<std::unique_ptr<Sender>> all;
  for (unsigned n = 0; n < senders; ++n) {
    auto& made = all.emplace_back(std::make_unique<Sender>());
    made->socket = Socket::CreateSocket(nodes.Get(n + 2), type);
    made->socket->Connect(InetSocketAddress(at_receiver.GetAddress(1), 9));
    made->gap = CreateObject<ExponentialRandomVariable>();
    made->gap->SetAttribute("Mean", DoubleValue(wire_bytes * 8 / 100e9 / load));
    made->bytes = bytes;
    made->left = frames;
    made->begin();
  }
  Simulator::Run();
  Simulator::Destroy();
  return received_packets;
}
"""


def main() -> int:
    ns.cppyy.cppdef(PROGRAM)
    here = ns.cppyy.gbl
    cluster = thalweg.load("ethernet-16").replace(
        node={"switch": {"buffer": "per-port", "buffer_bytes": HELD * FRAME, "forwarding": "store-and-forward"}}
    )
    print(f"{'load':>5}  {'Gb/s':>7}  {'ns-3':>7}  {'difference':>10}  {'lost':>6}  {'ns-3':>6}  {'points':>6}")
    wrong = 0
    for load in (0.1, 0.2, 0.25, 0.3, 0.5, 1.0):
        (row,) = thalweg.measure("flows", cluster, senders=SENDERS, payload=PAYLOAD, frames=FRAMES, loads=[load])
        got = int(here.flows(SENDERS, WIRE - HEADERS, WIRE, FRAMES, load, HELD - 1, 1))
        gbit_s = got * PAYLOAD * 8e-9 / here.last_seconds
        lost = 1 - got / (SENDERS * FRAMES)
        apart, points = row["goodput_gbit_s"] / gbit_s - 1, 100 * (row["share_lost"] - lost)
        wrong += abs(apart) > 0.02 or abs(points) > 2
        print(
            f"{load:5}  {row['goodput_gbit_s']:7.2f}  {gbit_s:7.2f}  {apart:10.2%}  {row['share_lost']:6.1%}  {lost:6.1%}  {points:6.2f}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
