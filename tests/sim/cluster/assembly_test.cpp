// SPDX-License-Identifier: Apache-2.0
#include "cluster/assembly.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/stream.hpp"

namespace thalweg {
namespace {

using Word = std::uint64_t;

/// A node that adds its number to each word that arrives at port 0 and sends it out of port 1; node 0 starts with some
/// words.
class Adder : public AssembledNode {
 public:
  struct Port : LinkPort {
    Stream<Word>* stream = nullptr;
    [[nodiscard]] std::string carries() const override { return "words"; }
  };

  Adder(const Values& values, unsigned number, const Clocks& clocks)
      : number_(number), words_(values.get<unsigned>("words")), clock_(*clocks.at(values.get<std::string>("clock"))) {}

  LinkPort& port(unsigned number) override {
    if (number > 1) throw std::invalid_argument("node " + std::to_string(number_) + " has ports 0 and 1");
    return ports_[number];
  }
  void run() {
    auto &in = *ports_[0].stream, &out = *ports_[1].stream;
    for (unsigned i = 0; i < words_ && number_ == 0; ++i) out.push(i);
    for (unsigned i = 0; i < words_; ++i) {
      const Word word = in.pop() + number_;
      if (number_ == 0)
        got.push_back(word);
      else
        out.push(word);
    }
  }
  Domain& clock() { return clock_; }
  std::vector<Word> got;

 private:
  unsigned number_, words_;
  Domain& clock_;
  Port ports_[2];
};

struct Cable : AssembledLink {
  Stream<Word> stream;
  Cable(const Values& values, LinkPort& from, LinkPort& to, const Clocks&)
      : stream(values.of(), values.get<std::size_t>("depth"), values.get<Tick>("latency")) {
    dynamic_cast<Adder::Port&>(from).stream = dynamic_cast<Adder::Port&>(to).stream = &stream;
  }
};

const Kinds kKinds{
    {{"adder", [](const Values& values, unsigned number,
                  const Clocks& clocks) { return std::make_unique<Adder>(values, number, clocks); }}},
    {{"cable", [](const Values& values, LinkPort& a, LinkPort& b,
                  const Clocks& clocks) { return std::make_unique<Cable>(values, a, b, clocks); }}},
};

Description ring(unsigned nodes) {
  Description ring{750'000'000, {{"fast", {3, 0}}, {"slow", {5, 1}}}, {}, {}};
  for (unsigned i = 0; i < nodes; ++i) {
    const std::string clock = i % 2 ? "slow" : "fast";
    ring.nodes.push_back(
        {"adder", Values("node " + std::to_string(i), {{"clock", clock}, {"words", std::int64_t{3}}})});
    ring.links.push_back(
        {"cable", Values("link " + std::to_string(i), {{"depth", std::int64_t{4}}, {"latency", std::int64_t{2}}}), i, 1,
         (i + 1) % nodes, 0});
  }
  return ring;
}

std::string refused(const Description& description) {
  try {
    const Assembly assembly(description, kKinds);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Assembly, JoinsNodesOfTwoClocksByLinks) {
  Assembly assembly(ring(5), kKinds);
  EXPECT_EQ(assembly.ticks_per_second(), 750'000'000);
  Kernels kernels(assembly.time());
  for (unsigned i = 0; i < assembly.nodes(); ++i) {
    auto& node = dynamic_cast<Adder&>(assembly.node(i));
    kernels.add("node", node.clock(), [&node] { node.run(); });
  }
  EXPECT_TRUE(kernels.run());
  EXPECT_EQ(dynamic_cast<Adder&>(assembly.node(0)).got, (std::vector<Word>{10, 11, 12}));
}

TEST(Assembly, SaysWhatIsWrongInOneLine) {
  auto wrong = ring(3);
  wrong.nodes[1].kind = "hub";
  EXPECT_EQ(refused(wrong), "node 1: unknown kind hub");
  wrong = ring(3);
  wrong.clocks[1].clock.period = 0;
  EXPECT_EQ(refused(wrong), "clock slow: the period must be at least one tick");
  wrong = ring(3);
  wrong.links[2].kind = "rope";
  EXPECT_EQ(refused(wrong), "link 2: unknown kind rope");
  wrong = ring(3);
  wrong.links[0].port_a = 2;
  EXPECT_EQ(refused(wrong), "node 0 has ports 0 and 1");
  wrong = ring(3);
  wrong.nodes[0].values = Values("node 0", {{"clock", std::string("fast")}});
  EXPECT_EQ(refused(wrong), "node 0: words is missing");
  wrong.nodes[0].values = Values("node 0", {{"clock", std::string("fast")}, {"words", std::int64_t{-1}}});
  EXPECT_EQ(refused(wrong), "node 0: words is -1, which is out of range");
  wrong.nodes[0].values = Values("node 0", {{"clock", std::string("fast")}, {"words", std::string("3")}});
  EXPECT_EQ(refused(wrong), "node 0: words is not a whole number");
}

}  // namespace
}  // namespace thalweg
