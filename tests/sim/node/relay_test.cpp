// Do packets go the routing table's ways, in turns, into buffers that have room for them, and does all room come back?
#include "node/relay.hpp"

#include "world.hpp"

namespace thalweg::test {
namespace {

constexpr unsigned kLanes = 2;

struct Relays {
  explicit Relays(FabricConfig c) : config(std::move(c)), graph(config) {
    for (NodeId node = 0; node < config.nodes; ++node) at.emplace_back(config, graph, node, kLanes);
  }

  PacketId packet(NodeId receiver, unsigned flits) {
    const PacketId id = pool.take();
    pool[id].clear(flits);
    pool[id].words[1] =
        spec::RelayHeader{.receiver = static_cast<std::uint16_t>(receiver), .link = Relay::kNoLink}.pack();
    return id;
  }
  std::int64_t places_out() const {
    std::int64_t out = 0;
    for (const Relay& relay : at) out += relay.places_out();
    return out;
  }

  FabricConfig config;
  Graph graph;
  PacketPool pool;
  std::vector<Relay> at;
};

TEST(Relay, FollowsTheRoutingTable) {
  Relays relays(cluster({4, 3}, 1));
  for (NodeId from = 0; from < relays.config.nodes; ++from)
    for (NodeId to = 0; to < relays.config.nodes; ++to) {
      if (from == to) continue;
      Packet& packet = relays.pool[relays.packet(to, 1)];
      NodeId node = from;
      Relay::Hop hop = relays.at[node].first(to);
      for (unsigned left = relays.at[from].hops(to); left > 0; --left) {
        const RouteEntry entry = relays.config.routes[std::size_t{node} * relays.config.nodes + to];
        ASSERT_EQ(hop.link, entry.port);
        ASSERT_EQ(hop.route_class, entry.route_class);
        const Graph::End end = relays.graph.peer(node, hop.link);
        relays.at[node].address(hop, packet);
        ASSERT_EQ(spec::network_header::destination(packet.words[0]), end.node);
        ASSERT_EQ(spec::network_header::edge(packet.words[0]), end.port % kLanes);
        ASSERT_EQ(Relay::place(packet).link, end.port);
        ASSERT_EQ(Relay::place(packet).route_class, entry.route_class);
        node = end.node;
        if (left > 1) hop = relays.at[node].next(to, entry.route_class);
      }
      ASSERT_EQ(node, to);
    }
}

TEST(Relay, SendsWhatHasRoomAndGetsItBackAQuarterAtATime) {
  FabricConfig config = cluster({4}, 1);
  config.collective.relay_flits = 16;
  Relays relays(config);
  Relay &here = relays.at[0], &there = relays.at[1];
  const Relay::Hop hop = here.first(1);
  const unsigned lane = here.lane_of(hop.link);
  std::vector<PacketId> packets;
  for (unsigned i = 0; i < 9; ++i) here.queue(hop, false, packets.emplace_back(relays.packet(1, 2)));
  std::vector<PacketId> sent;
  while (here.ready(lane, false, relays.pool)) {
    sent.push_back(here.leave(hop, false));
    here.address(hop, relays.pool[sent.back()]);
  }
  EXPECT_EQ(sent, std::vector(packets.begin(), packets.begin() + 8));
  EXPECT_TRUE(here.waiting(lane));
  EXPECT_EQ(relays.places_out(), 16);
  const Relay::Hop place = Relay::place(relays.pool[sent[0]]);
  const unsigned back = there.lane_of(place.link);
  EXPECT_FALSE(there.free(place, 2));
  EXPECT_TRUE(there.free(place, 2));
  EXPECT_FALSE(there.free(place, 2)) << "it is due already";
  EXPECT_EQ(there.credit_destination(back), 0u);
  const spec::RelayCredit credit = there.take_credit(back);
  EXPECT_FALSE(there.credit_due(back));
  EXPECT_EQ(credit.count, 6u);
  EXPECT_FALSE(here.ready(lane, false, relays.pool));
  here.credit(spec::RelayCredit::unpack(credit.pack()));
  EXPECT_EQ(relays.places_out(), 10);
  EXPECT_TRUE(here.ready(lane, false, relays.pool));
}

TEST(Relay, BuffersTakeTurns) {
  Relays relays(cluster({4}, 1));
  Relay& here = relays.at[0];
  const Relay::Hop one = here.first(1);
  const Relay::Hop other{one.link, static_cast<std::uint8_t>(1 - one.route_class)};
  for (unsigned i = 0; i < 3; ++i) {
    here.queue(one, false, relays.packet(1, 1));
    here.queue(other, false, relays.packet(1, 1));
  }
  std::vector<unsigned> order;
  while (const auto next = here.ready(here.lane_of(one.link), false, relays.pool)) {
    order.push_back(next->route_class);
    relays.pool.release(here.leave(*next, false));
  }
  EXPECT_EQ(order, (std::vector<unsigned>{0, 1, 0, 1, 0, 1}));
}

}  // namespace
}  // namespace thalweg::test
