// SPDX-License-Identifier: Apache-2.0
// In which cycles does a node accept commands of its host and of its sequencers? Expected from the hardware: a command
// for an external port blocks later ones from the third cycle after it on, until it has entered the FIFO to the line's
// clock.
#include "vcsn/commands.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "core/clock.hpp"

namespace thalweg::vcsn {
namespace {

/// Acts once, in one cycle.
class Once final : public Component {
 public:
  Once(Domain& domain, Tick cycle, std::function<void(Tick)> what) : what_(std::move(what)) {
    domain.wake(domain.scheduler.add(*this), cycle);
  }
  bool step(Tick now) override {
    what_(now);
    return false;
  }

 private:
  std::function<void(Tick)> what_;
};

struct Node {
  Domains domains;
  Domain& shell = domains.add({1});
  Domain& line = domains.add({1});
  Commands commands{shell, line, 1};
  std::vector<Tick> host;
  Node() {
    commands.taken = [this](Tick cycle, const CommandWord&) { host.push_back(cycle); };
  }
};

const Command kOfShell{};
const Command kOfPort{.word = {}, .port = 0, .acts = [] {}};

TEST(Commands, AHostsComeOneACycleAndStopBehindThoseOfPorts) {
  Node node;
  Once host(node.shell, 9, [&](Tick) {
    for (unsigned k = 0; k < 6; ++k) node.commands.write(k == 0 ? kOfPort : kOfShell);
  });
  node.domains.advance(50);
  EXPECT_EQ(node.host, (std::vector<Tick>{10, 11, 12, 15, 16, 17}));
}

TEST(Commands, ASequencerHasTheCycleInWhichAHostWrites) {
  Node node;
  Once host(node.shell, 9, [&](Tick) {
    for (unsigned k = 0; k < 4; ++k) node.commands.write(kOfShell);
  });
  bool taken = false;
  Once sequencer(node.shell, 9, [&](Tick now) { taken = node.commands.offer(now, kOfPort); });
  node.domains.advance(50);
  EXPECT_TRUE(taken);
  EXPECT_EQ(node.host, (std::vector<Tick>{10, 11, 14, 15})) << "its command keeps the host's back";
}

TEST(Commands, AHostGoesBeforeASequencer) {
  Node node;
  Once host(node.shell, 9, [&](Tick) {
    for (unsigned k = 0; k < 2; ++k) node.commands.write(kOfShell);
  });
  std::vector<Tick> taken;
  std::vector<Once> sequencers;
  sequencers.reserve(4);
  for (Tick cycle = 9; cycle < 13; ++cycle)
    sequencers.emplace_back(node.shell, cycle, [&](Tick now) {
      if (node.commands.offer(now, kOfShell)) taken.push_back(now);
    });
  node.domains.advance(50);
  EXPECT_EQ(node.host, (std::vector<Tick>{10, 11}));
  EXPECT_EQ(taken, (std::vector<Tick>{9, 12}));
}

}  // namespace
}  // namespace thalweg::vcsn
