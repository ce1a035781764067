// SPDX-License-Identifier: Apache-2.0
// Ends of a link that are reset alone, under traffic and faults: nothing comes out twice, nothing is lost unless both ends say so,
// and the link always comes back.
#include <gtest/gtest.h>

#include "lossy_link.hpp"
#include "port.hpp"

namespace thalweg {
namespace {

using blocks::Fault;

/// docs/links.md: cycles without faults until both ends are up.
constexpr unsigned recovery(unsigned latency) {
  return 5 * latency + 15;
}

/// Two ports and the link between them.
class RestartedLink {
 public:
  RestartedLink(FlowControl flow, std::mt19937_64& random) : random_(random), flow_(flow) {
    for (LinkEnd& end : link_.ends) end.reset();
  }

  void restart(unsigned end) {
    restarts_[end] = true;
    ++restarted_;
  }

  /// One cycle of `load` and `faults` in percent.
  void cycle(unsigned load, unsigned faults) {
    std::array<const LinkWord*, 2> words;
    std::array<Fault, 2> of_frames{};
    constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
    for (unsigned i = 0; i < 2; ++i) {
      words[i] = ports_[i].output(link_.ends[i], random_() % 100 < load, static_cast<unsigned>(random_() % Port::kVcs));
      if (random_() % 100 < faults) of_frames[i] = kFaults[random_() % 3];
    }
    const std::array back{ports_[0].back(), ports_[1].back()};
    for (unsigned i = 0; i < 2; ++i) {
      std::uint32_t leaving = 0;
      for (unsigned vc = 0; vc < Port::kVcs; ++vc) leaving |= std::uint32_t{random_() % 4 > 0} << vc;
      ports_[i].step(link_.ends[i], leaving);
    }
    link_.cycle(words, back, of_frames);
    for (unsigned i = 0; i < 2; ++i) after(i);
    if (up()) {
      if (!(reset_[0] && reset_[1])) EXPECT_EQ(reported_[0], reported_[1]) << "an error at one end alone";
      reported_ = reset_ = {};
    }
  }

  /// No bit errors any more.
  void calm() { link_.calm(); }

  [[nodiscard]] bool up() const { return link_.ends[0].up() && link_.ends[1].up(); }
  [[nodiscard]] bool all_arrived() const {
    return ports_[0].arrived() == ports_[1].sent() && ports_[1].arrived() == ports_[0].sent();
  }
  [[nodiscard]] const Port& port(unsigned i) const { return ports_[i]; }
  [[nodiscard]] unsigned latency() const { return latency_; }
  [[nodiscard]] unsigned restarted() const { return restarted_; }

 private:
  /// An end that is reset, or has lost its session, and its port.
  void after(unsigned i) {
    const bool lost = link_.ends[i].lost();
    if (lost) reported_[i] = true;
    if (restarts_[i]) {
      link_.ends[i].reset();
      reported_[i] = restarts_[i] = false;
      reset_[i] = true;
    } else if (!lost) {
      return;
    }
    if (const auto theirs = ports_[i].peer_life()) {
      EXPECT_GE(*theirs, next_life_[i]) << "words of a life that was over";
      next_life_[i] = *theirs + 1;
    }
    ports_[i].restart();
  }

  static constexpr unsigned kWindow = 32, kMargin = kWindow - 1;

  std::mt19937_64& random_;
  FlowControl flow_;
  unsigned latency_ = 1 + static_cast<unsigned>(random_() % 20);
  unsigned depth_ = flow_ == FlowControl::margin ? kMargin + 1 + static_cast<unsigned>(random_() % 8)
                                                 : 1 + static_cast<unsigned>(random_() % 15);
  LossyLink link_{{.sequence_bits = 6, .vcs = Port::kVcs, .flow = flow_},
                  kWindow,
                  latency_,
                  random_() % 2 ? 0 : 1e-3,
                  random_(),
                  Port::kSlack};
  std::array<Port, 2> ports_{Port(flow_, depth_, kMargin), Port(flow_, depth_, kMargin)};
  std::array<bool, 2> restarts_{};  ///< in this cycle
  std::array<bool, 2> reset_{},
      reported_{};  ///< since both ends were up; an end that was reset has nothing to report of before
  std::array<std::uint64_t, 2> next_life_{};  ///< of the other port, the first whose words may still come
  unsigned restarted_ = 0;
};

struct Case {
  FlowControl flow;
  bool both;  ///< the other end is reset soon after, too
};

class Restart : public testing::TestWithParam<Case> {};

// 1,000 restarts in all: at random times, of ends in turn, many of them while the link comes up again. When faults stop it is up within
// the bound, and all that is given from then on arrives.
TEST_P(Restart, LosesNothingUnsaidAndComesBack) {
  std::mt19937_64 random(test_seed());
  unsigned restarts = 0;
  while (restarts < 250) {
    RestartedLink link(GetParam().flow, random);
    const auto load = 1 + static_cast<unsigned>(random() % 100), faults = static_cast<unsigned>(random() % 3 * 15);
    for (unsigned i = 0; i < 10; ++i) {
      const auto pause = random() % 2 ? random() % 1000 : random() % (8 * link.latency());
      for (unsigned t = 0; t < pause; ++t) link.cycle(load, faults);
      link.restart(i % 2);
      if (!GetParam().both) continue;
      const auto later = random() % (4 * link.latency());
      for (unsigned t = 0; t < later; ++t) link.cycle(load, faults);
      link.restart(1 - i % 2);
    }
    link.cycle(load, faults);
    link.calm();
    for (unsigned t = 0; t < recovery(2 * link.latency()); ++t)
      link.cycle(load, 0);  // pauses may have filled the wires
    EXPECT_TRUE(link.up());
    for (unsigned t = 0; t < 1000; ++t) link.cycle(100, 0);
    for (unsigned t = 0; t < 5000 && !link.all_arrived(); ++t) link.cycle(0, 0);
    EXPECT_TRUE(link.all_arrived());
    EXPECT_GT(link.port(0).sent() * link.port(1).sent(), 0u);
    restarts += link.restarted();
  }
}

INSTANTIATE_TEST_SUITE_P(Links, Restart,
                         testing::Values(Case{FlowControl::credits, false}, Case{FlowControl::credits, true},
                                         Case{FlowControl::margin, false}, Case{FlowControl::margin, true}));

// End 0 alone is reset after so many words, and gives 1,000 others: they all arrive, once, behind an error at both ends.
TEST(Restart, OfOneEndIsNoticed) {
  for (const unsigned before : {3u, 300u}) {
    LossyLink link({}, 256, 8, 0, 0);
    for (LinkEnd& end : link.ends) end.reset();
    std::array<unsigned, 2> errors{};
    std::uint64_t given = 0, got = 0;
    const auto run = [&](std::uint64_t until) {
      for (unsigned t = 0; t < 3000; ++t) {
        if (const LinkWord* word = link.ends[1].received()) EXPECT_EQ((*word)[0], got++);
        const LinkWord word{given};
        const bool gives = given < until && link.ends[0].ready();
        link.cycle({gives ? &word : nullptr, nullptr});
        given += gives;
        for (unsigned i = 0; i < 2; ++i) errors[i] += link.ends[i].lost();
      }
    };
    run(before);
    EXPECT_EQ(got, before);
    EXPECT_EQ(errors, (std::array{0u, 0u}));
    link.ends[0].reset();
    given = got = 0;
    run(1000);
    EXPECT_EQ(got, 1000u);
    EXPECT_EQ(errors, (std::array{1u, 1u}));
  }
}

}  // namespace
}  // namespace thalweg
