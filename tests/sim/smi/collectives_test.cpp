// SPDX-License-Identifier: Apache-2.0
// Do collectives' endpoints give MPI's results, whatever the timing of the network and the kernels and the order in
// which ranks proceed?
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <vector>

#include "../../seed.hpp"
#include "smi/endpoint.hpp"

namespace thalweg::smi {
namespace {

using Numbers = std::vector<std::uint64_t>;
using enum EndpointKind;

/// A collective as each rank's kernel executes it: `own` is its rank in the communicator, -1 if it does not take part.
struct Operation {
  EndpointKind kind{};
  Open open;
  std::vector<Numbers> given, wanted;  ///< by rank of the communicator

  [[nodiscard]] int own(unsigned rank) const {
    if (rank < open.first || (rank - open.first) % open.stride != 0) return -1;
    const unsigned own = (rank - open.first) / open.stride;
    return own < open.ranks ? static_cast<int>(own) : -1;
  }
};

struct Times {
  double sends = 1, gives = 1, takes = 1;  ///< probabilities per cycle
  unsigned latency = 20, jitter = 0;
  bool strict = false;  ///< kernels wait for an element's result before they proceed
};

/// A rank: its endpoint, and the kernel.
struct Rank {
  std::unique_ptr<Endpoint> endpoint;
  std::size_t operation = 0;
  bool open = false;
  std::size_t given = 0;
  Numbers got;
};

class Cluster {
 public:
  Cluster(EndpointKind kind, unsigned ranks, const Times& times, std::uint64_t seed, Endpoint::Config config = {})
      : times_(times), draw_(seed), links_(ranks * ranks * 2) {
    for (unsigned r = 0; r < ranks; ++r) {
      config.rank = r;
      config.port = 5;
      ranks_.push_back({make_endpoint(kind, config), 0, false, 0, {}});
    }
  }

  /// Runs all operations, in order at each rank. Returns the number of cycles, -1 after a deadlock.
  std::int64_t run(const std::vector<Operation>& operations) {
    const std::int64_t begin = now_;
    std::int64_t last = now_;
    for (auto& rank : ranks_) rank.operation = 0;
    while (true) {
      bool all = true;
      for (unsigned r = 0; r < ranks_.size(); ++r) skip(r, operations), all &= ranks_[r].operation == operations.size();
      if (all) return now_ - begin;
      bool moved = false;
      for (unsigned r = 0; r < ranks_.size(); ++r) moved |= step(r, operations);
      ++now_;
      if (moved) last = now_;
      if (now_ - last > 20'000) {
        stands_still();
        return -1;
      }
    }
  }

  /// Checks that nothing leaves the cluster once all is done.
  void settle() {
    for (unsigned i = 0; i < 200; ++i, ++now_)
      for (unsigned r = 0; r < ranks_.size(); ++r) static_cast<void>(step(r, {}));
    for (auto& link : links_) EXPECT_TRUE(link.empty());
    for (auto& rank : ranks_) {
      EXPECT_TRUE(rank.endpoint->idle());
      EXPECT_EQ(rank.endpoint->waits(), "");
    }
  }
  [[nodiscard]] const Numbers& got(unsigned rank) const { return ranks_[rank].got; }
  [[nodiscard]] const Endpoint& endpoint(unsigned rank) const { return *ranks_[rank].endpoint; }
  std::function<void(unsigned, const Operation&, const Numbers&)> ended;

 private:
  [[nodiscard]] bool chance(double p) { return p >= 1 || std::uniform_real_distribution<>{}(draw_) < p; }
  std::deque<std::pair<std::int64_t, Packet>>& link(unsigned from, unsigned to, bool control) {
    return links_[(from * ranks_.size() + to) * 2 + control];
  }
  void skip(unsigned r, const std::vector<Operation>& operations) {
    auto& rank = ranks_[r];
    while (rank.operation < operations.size() && operations[rank.operation].own(r) < 0) ++rank.operation;
  }
  void stands_still() {
    std::ostringstream text;
    for (unsigned r = 0; r < ranks_.size(); ++r)
      text << "\nrank " << r << ", operation " << ranks_[r].operation << ", waits for " << ranks_[r].endpoint->waits();
    ADD_FAILURE() << "all stand still in cycle " << now_ << text.str();
  }
  /// The first packet that has arrived from a random source.
  std::deque<std::pair<std::int64_t, Packet>>* arrived(unsigned to, bool control) {
    const auto first = static_cast<unsigned>(draw_() % ranks_.size());
    for (unsigned i = 0; i < ranks_.size(); ++i) {
      auto& from = link((first + i) % static_cast<unsigned>(ranks_.size()), to, control);
      if (!from.empty() && from.front().first <= now_) return &from;
    }
    return nullptr;
  }

  bool step(unsigned r, const std::vector<Operation>& operations) {
    auto& rank = ranks_[r];
    auto& endpoint = *rank.endpoint;
    Endpoint::Inputs in;
    const Operation* operation = rank.operation < operations.size() ? &operations[rank.operation] : nullptr;
    Open open;
    Element element;
    bool gives = false, opens = false;
    if (operation) {
      const auto own = static_cast<unsigned>(operation->own(r));
      const Numbers& gives_all = operation->given[own];
      if (!rank.open) {
        open = operation->open;
        open.own = own;
        if (chance(times_.gives)) in.open = &open;
        opens = in.open && endpoint.open_ready();
      } else if (rank.given < gives_all.size() && may_give(rank, *operation, own) && chance(times_.gives)) {
        element.data = gives_all[rank.given] | (draw_() << 1 << ((8u << operation->open.size) - 1));
        in.element = &element;
        gives = endpoint.element_ready();
      }
      if (rank.open && endpoint.element()) in.element_taken = chance(times_.takes);
    } else {
      EXPECT_EQ(endpoint.element(), nullptr);
    }
    const Element* shown = endpoint.element();
    const std::uint64_t taken = shown ? shown->data : 0;

    auto* data = arrived(r, false);
    auto* control = arrived(r, true);
    Packet data_packet, control_packet;
    if (data) data_packet = data->front().second, in.data = &data_packet;
    if (control) control_packet = control->front().second, in.control = &control_packet;
    const bool data_taken = data && endpoint.data_ready();
    if (const Packet* packet = endpoint.packet(); packet && chance(times_.sends)) {
      in.packet_taken = true;
      EXPECT_EQ(packet->source(), r);
      EXPECT_EQ(packet->port(), 5u);
      EXPECT_NE(packet->destination(), r);
      auto& out = link(r, packet->destination(), packet->control());
      std::int64_t due = now_ + times_.latency;
      if (times_.jitter > 0) due += static_cast<std::int64_t>(draw_() % times_.jitter);
      if (!out.empty()) due = std::max(due, out.back().first + 1);
      out.emplace_back(due, *packet);
    }
    // If nothing arrives and the endpoint reports idle, its outputs do not change.
    const bool quiet =
        endpoint.idle() && !in.open && !in.element && !in.element_taken && !in.data && !in.control && !in.packet_taken;
    const auto before = shows(endpoint);
    endpoint.step(in);
    if (quiet) {
      EXPECT_EQ(before, shows(endpoint));
      EXPECT_TRUE(endpoint.idle());
    }
    if (data_taken) data->pop_front();
    if (control) control->pop_front();
    if (opens) rank.open = true;
    if (gives) ++rank.given;
    if (in.element_taken && shown) rank.got.push_back(taken);
    if (operation && rank.open) end(r, *operation);
    return opens || gives || data_taken || control || in.packet_taken || in.element_taken;
  }
  [[nodiscard]] static std::tuple<bool, bool, bool, bool, bool, std::string> shows(const Endpoint& endpoint) {
    return {endpoint.open_ready(),         endpoint.element_ready(),     endpoint.data_ready(),
            endpoint.element() != nullptr, endpoint.packet() != nullptr, endpoint.waits()};
  }
  /// Element by element: the root's kernel of a reduction gives an element once it has the result of the previous one;
  /// those of a scatter and a gather do so with their own parts.
  [[nodiscard]] bool may_give(const Rank& rank, const Operation& operation, unsigned own) const {
    if (!times_.strict || own != operation.open.root) return true;
    const std::size_t before = std::size_t{own} * operation.open.count;
    if (operation.kind == reduce) return rank.got.size() == rank.given;
    if (operation.kind == scatter)
      return rank.given < before || rank.got.size() >= std::min<std::size_t>(rank.given - before, operation.open.count);
    if (operation.kind == gather) return rank.got.size() == before + rank.given;
    return true;
  }
  void end(unsigned r, const Operation& operation) {
    auto& rank = ranks_[r];
    const auto own = static_cast<unsigned>(operation.own(r));
    if (rank.given < operation.given[own].size() || rank.got.size() < operation.wanted[own].size()) return;
    EXPECT_EQ(rank.got, operation.wanted[own]) << "rank " << r << ", operation " << rank.operation;
    rank.got.clear();
    rank.given = 0;
    rank.open = false;
    ++rank.operation;
  }

  Times times_;
  std::mt19937_64 draw_;
  std::int64_t now_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::deque<std::pair<std::int64_t, Packet>>> links_;
};

struct Type {
  spec::Datatype type;
  unsigned size;
};
constexpr Type kTypes[] = {{spec::Datatype::int32, 2},
                           {spec::Datatype::float32, 2},
                           {spec::Datatype::float64, 3},
                           {spec::Datatype::int8, 0},
                           {spec::Datatype::int16, 1}};

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
std::uint64_t combined(spec::Operator op, std::uint64_t a_bits, std::uint64_t b_bits) {
  T a, b;
  std::memcpy(&a, &a_bits, sizeof a);
  std::memcpy(&b, &b_bits, sizeof b);
  if (op == spec::Operator::min) return bits_of(std::min(a, b));
  if (op == spec::Operator::max) return bits_of(std::max(a, b));
  if constexpr (std::is_floating_point_v<T>)
    return bits_of(static_cast<T>(a + b));
  else
    return bits_of(static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b)));
}
std::uint64_t combined(const Open& open, std::uint64_t a, std::uint64_t b) {
  switch (open.type) {
    case spec::Datatype::int32:
      return combined<std::int32_t>(open.op, a, b);
    case spec::Datatype::float32:
      return combined<float>(open.op, a, b);
    case spec::Datatype::float64:
      return combined<double>(open.op, a, b);
    case spec::Datatype::int8:
      return combined<std::int8_t>(open.op, a, b);
    default:
      return combined<std::int16_t>(open.op, a, b);
  }
}
/// Floats are whole numbers if their order is arbitrary, so that sums are exact; many are negative.
std::uint64_t value(const Open& open, std::mt19937_64& draw) {
  const bool whole = open.any_order;
  const double number = whole ? static_cast<double>(static_cast<int>(draw() % 2000) - 1500)
                              : std::normal_distribution<>{-0.5, 1}(draw)*std::exp2(static_cast<double>(draw() % 20));
  if (open.type == spec::Datatype::float32) return bits_of(static_cast<float>(number));
  if (open.type == spec::Datatype::float64) return bits_of(number);
  return draw() & (~std::uint64_t{0} >> (64 - (8u << open.size)));
}

/// A position's children one after the other, then its own element.
std::uint64_t reduced(const Operation& operation, unsigned place, std::size_t index) {
  const Open& open = operation.open;
  std::optional<std::uint64_t> sum;
  for (unsigned i = 1; i <= open.arity && open.arity * place + i < open.ranks; ++i) {
    const std::uint64_t next = reduced(operation, open.arity * place + i, index);
    sum = sum ? combined(open, *sum, next) : next;
  }
  const std::uint64_t own = operation.given[(place + open.root) % open.ranks][index];
  return sum ? combined(open, *sum, own) : own;
}

Operation operation_of(EndpointKind kind, const Open& open, std::mt19937_64& draw) {
  Operation made{kind, open, std::vector<Numbers>(open.ranks), std::vector<Numbers>(open.ranks)};
  const auto fill = [&](unsigned own, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) made.given[own].push_back(value(open, draw));
  };
  const std::size_t count = open.count;
  switch (kind) {
    case broadcast:
      fill(open.root, count);
      for (unsigned r = 0; r < open.ranks; ++r)
        if (r != open.root) made.wanted[r] = made.given[open.root];
      break;
    case scatter:
      fill(open.root, count * open.ranks);
      for (unsigned r = 0; r < open.ranks; ++r) {
        const auto begin = made.given[open.root].begin() + static_cast<std::ptrdiff_t>(r * count);
        made.wanted[r].assign(begin, begin + static_cast<std::ptrdiff_t>(count));
      }
      break;
    case gather:
      for (unsigned r = 0; r < open.ranks; ++r) {
        fill(r, count);
        made.wanted[open.root].insert(made.wanted[open.root].end(), made.given[r].begin(), made.given[r].end());
      }
      break;
    default:
      for (unsigned r = 0; r < open.ranks; ++r) fill(r, count);
      for (std::size_t i = 0; i < count; ++i) made.wanted[open.root].push_back(reduced(made, 0, i));
      break;
  }
  return made;
}

Open open_of(EndpointKind kind, unsigned ranks, std::uint32_t count, unsigned root, unsigned arity, const Type& type) {
  Open open;
  open.count = count;
  open.type = type.type;
  open.size = type.size;
  open.per_packet = max_elements(32, type.size);
  open.op = spec::Operator::sum;
  open.ranks = ranks;
  open.root = root;
  open.arity = kind == scatter || kind == gather ? std::max(1u, ranks - 1) : arity;
  open.tile = 32;
  return open;
}

class Collectives : public testing::TestWithParam<EndpointKind> {};

/// Consecutive operations without a barrier, with random roots, communicators and trees.
TEST_P(Collectives, RandomOnesOverARandomNetwork) {
  std::mt19937_64 draw(test_seed());
  const EndpointKind kind = GetParam();
  for (unsigned run = 0; run < 60; ++run) {
    const unsigned ranks = 2 + static_cast<unsigned>(draw() % 8);
    const auto often = [&] { return std::vector{1.0, 1.0, 0.9, 0.5, 0.1}[draw() % 5]; };
    const Times times{
        often(),        often(), often(), static_cast<unsigned>(draw() % 40), static_cast<unsigned>(draw() % 60),
        draw() % 2 == 0};
    Endpoint::Config config;
    config.tile = 8u << draw() % 3;
    config.latency = 1 + static_cast<unsigned>(draw() % 14);
    std::vector<Operation> operations;
    for (unsigned i = 0; i < 12; ++i) {
      const auto first = static_cast<unsigned>(draw() % ranks);
      const unsigned stride = 1 + static_cast<unsigned>(draw() % 3);
      const unsigned fit = (ranks - 1 - first) / stride + 1;
      const bool all = draw() % 2 == 0;
      const unsigned members = all ? ranks : 1 + static_cast<unsigned>(draw() % fit);
      const std::uint32_t counts[] = {0, 1, 2, 7, 8, 1 + static_cast<std::uint32_t>(draw() % 100), 31, 129};
      const unsigned linear = std::max(1u, members - 1);
      const unsigned arity = std::min(linear, std::vector{1u, 2u, 3u, linear}[draw() % 4]);
      Open open = open_of(kind, members, counts[draw() % 8], static_cast<unsigned>(draw() % members), arity,
                          kTypes[draw() % 5]);
      open.first = all ? 0 : first;
      open.stride = all ? 1 : stride;
      open.op = std::vector{spec::Operator::sum, spec::Operator::min, spec::Operator::max}[draw() % 3];
      open.any_order = draw() % 3 == 0;
      open.per_packet = 1 + static_cast<unsigned>(draw() % open.per_packet);
      open.tile = 1 + static_cast<unsigned>(draw() % config.tile);
      operations.push_back(operation_of(kind, open, draw));
    }
    Cluster cluster(kind, ranks, times, draw(), config);
    ASSERT_GE(cluster.run(operations), 0) << "run " << run;
    cluster.settle();
    if (HasFailure()) FAIL() << "run " << run;
  }
}

/// All roots, trees and types, few elements.
TEST_P(Collectives, EveryRootTreeAndType) {
  std::mt19937_64 draw(1);
  const EndpointKind kind = GetParam();
  for (unsigned ranks = 2; ranks <= 9; ++ranks) {
    std::vector<Operation> operations;
    for (const Type& type : kTypes)
      for (const unsigned arity : {1u, 2u, 3u, ranks - 1})
        for (unsigned root = 0; root < ranks; ++root)
          operations.push_back(
              operation_of(kind, open_of(kind, ranks, 1 + root * 3, root, std::min(arity, ranks - 1), type), draw));
    Cluster cluster(kind, ranks, {}, 1);
    ASSERT_GE(cluster.run(operations), 0) << ranks << " ranks";
    cluster.settle();
  }
}

std::string name_of(const testing::TestParamInfo<EndpointKind>& info) {
  static constexpr const char* kNames[] = {"Push", "Pop", "Broadcast", "Scatter", "Gather", "Reduce"};
  return kNames[static_cast<unsigned>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Smi, Collectives, testing::Values(broadcast, scatter, gather, reduce), name_of);

/// Packets leave the root one per cycle, to one child after the other.
TEST(Broadcast, OnePacketACycle) {
  std::mt19937_64 draw(1);
  for (const unsigned ranks : {4u, 8u}) {
    const auto operation = operation_of(broadcast, open_of(broadcast, ranks, 7000, 0, ranks - 1, kTypes[0]), draw);
    Cluster cluster(broadcast, ranks, {}, 1);
    const auto cycles = cluster.run({operation});
    EXPECT_LE(cycles, std::max(7000u, 1000 * (ranks - 1)) + 100) << ranks << " ranks";
  }
}

/// Kernels that give element by element wait for the lane, others for the packets of 7 children, one element per cycle,
/// and with short tiles for the next tile.
TEST(Reduce, DefinedOrderCostsLittle) {
  std::mt19937_64 draw(1);
  constexpr unsigned kCount = 4000;
  for (const bool strict : {false, true})
    for (const unsigned tile : {32u, 128u}) {
      std::int64_t cycles[2];
      for (const bool any : {false, true}) {
        Open open = open_of(reduce, 8, kCount, 0, 7, kTypes[1]);
        open.any_order = any;
        open.tile = tile;
        Cluster cluster(reduce, 8, {.latency = 100, .jitter = 30, .strict = strict}, 1, {.tile = tile});
        cycles[any] = cluster.run({operation_of(reduce, open, draw)});
      }
      std::printf("8 ranks, %u elements, tiles of %u%s: %lld cycles in one order, %lld in any\n", kCount, tile,
                  strict ? ", one by one" : "", static_cast<long long>(cycles[0]), static_cast<long long>(cycles[1]));
      EXPECT_LE(static_cast<double>(cycles[0]), 1.3 * static_cast<double>(cycles[1]));
      const unsigned an_element = strict ? 16 : tile == 32 ? 12 : 8;
      EXPECT_LE(cycles[0], kCount * an_element);
    }
}

TEST(Reduce, LargestOfNegatives) {
  std::mt19937_64 draw(1);
  for (const Type& type : kTypes) {
    Open open = open_of(reduce, 3, 1, 1, 2, type);
    open.op = spec::Operator::max;
    Operation operation = operation_of(reduce, open, draw);
    const auto negative = [&](int number) -> std::uint64_t {
      if (type.type == spec::Datatype::float32) return bits_of(static_cast<float>(number));
      if (type.type == spec::Datatype::float64) return bits_of(static_cast<double>(number));
      return static_cast<std::uint64_t>(number) & (~std::uint64_t{0} >> (64 - (8u << type.size)));
    };
    operation.given = {{negative(-7)}, {negative(-5)}, {negative(-9)}};
    operation.wanted = {{}, {negative(-5)}, {}};
    Cluster cluster(reduce, 3, {}, 1);
    ASSERT_GE(cluster.run({operation}), 0);
  }
}

/// The reason for a rank's wait if another rank does not open.
TEST(Waits, SayWhoIsMissing) {
  std::mt19937_64 draw(1);
  const auto waits = [&](EndpointKind kind, unsigned missing, unsigned asked) {
    Operation operation = operation_of(kind, open_of(kind, 4, 10, 1, 3, kTypes[0]), draw);
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::deque<Packet> network;
    std::vector<std::size_t> given(4);
    for (unsigned r = 0; r < 4; ++r) endpoints.push_back(make_endpoint(kind, {.rank = r, .port = 0}));
    for (unsigned cycle = 0; cycle < 200; ++cycle) {
      std::optional<Packet> packet;
      if (!network.empty()) packet = network.front(), network.pop_front();
      for (unsigned r = 0; r < 4; ++r) {
        Endpoint::Inputs in;
        Open open = operation.open;
        open.own = r;
        if (cycle == 0 && r != missing) in.open = &open;
        Element element;
        const bool gives = given[r] < operation.given[r].size() && endpoints[r]->element_ready();
        if (gives) element.data = operation.given[r][given[r]++], in.element = &element;
        in.element_taken = endpoints[r]->element() != nullptr;
        if (packet && packet->destination() == r) (packet->control() ? in.control : in.data) = &*packet;
        if (const Packet* out = endpoints[r]->packet()) network.push_back(*out), in.packet_taken = true;
        endpoints[r]->step(in);
      }
    }
    return endpoints[asked]->waits();
  };
  EXPECT_EQ(waits(broadcast, 2, 1), "synch of rank 2");
  EXPECT_EQ(waits(broadcast, 1, 0), "data of rank 1");
  EXPECT_EQ(waits(scatter, 3, 1), "synch of rank 3");
  EXPECT_EQ(waits(scatter, 1, 3), "data of rank 1");
  EXPECT_EQ(waits(gather, 2, 1), "data of rank 2");
  EXPECT_EQ(waits(gather, 1, 2), "synch of rank 1");
  EXPECT_EQ(waits(reduce, 2, 1), "data of rank 2");
  EXPECT_EQ(waits(reduce, 1, 2), "synch of rank 1");
}

}  // namespace
}  // namespace thalweg::smi
