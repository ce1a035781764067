// SPDX-License-Identifier: Apache-2.0
// Streams between kernels and components that foresee words: random programs have the same ticks and values with and
// without foresight.
#include "core/stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "../../seed.hpp"
#include "core/random.hpp"

namespace thalweg {
namespace {

/// Packets of `size` words go from one kernel to the other.
struct Plan {
  std::array<Clock, 3> clocks;  ///< of the components, the sending kernel, the receiving kernel
  std::uint64_t seed;
  unsigned size, words;
  std::array<std::size_t, 2> depths;
  std::array<Tick, 2> latencies;
  std::array<unsigned, 2> pauses;  ///< most cycles
  std::array<bool, 2> tries;       ///< the kernel polls
  Tick interval, depth;            ///< of the sending kernel's loop; 0: none
};

/// Words between the first and the last of a packet are foreseen.
class Sender final : public Component, public Foresight<std::uint64_t> {
 public:
  Sender(Domain& clock, Stream<std::uint64_t>& in, const Plan& plan, bool foresees)
      : clock_(clock), in_(in), plan_(plan), foresees_(foresees) {
    const auto id = clock.scheduler.add(*this);
    clock.wake(id, 0);
    in.reader.bind("sender", clock, id);
    if (foresees) in.foresee_by(*this);
  }

  bool step(Tick cycle) override {
    const Tick now = clock_.clock.edge(cycle);
    // A packet begins in some cycles only.
    const bool accepts = !packet.empty() || mix(plan_.seed + static_cast<std::uint64_t>(cycle)) % 3 != 0;
    if (packet.size() == plan_.size) {
      sent.emplace_back(cycle, packet);
      packet.clear();
      return true;
    }
    const bool can = in_.can_pop(now);
    if (!can || !accepts) return can;
    packet.push_back(in_.pop_at(now));
    if (foresees_) in_.pop_foreseen(now);
    return true;
  }
  bool pops(const std::uint64_t& word) override {
    if (packet.empty() || packet.size() + 1 >= plan_.size) return false;
    packet.push_back(word);
    return true;
  }

  std::vector<std::uint64_t> packet;
  std::deque<std::pair<Tick, std::vector<std::uint64_t>>> sent;

 private:
  Domain& clock_;
  Stream<std::uint64_t>& in_;
  const Plan& plan_;
  bool foresees_;
};

class Receiver final : public Component, public Foresight<std::uint64_t> {
 public:
  Receiver(Domain& clock, Stream<std::uint64_t>& out, Sender& from, const Plan& plan, bool foresees)
      : clock_(clock), out_(out), from_(from), plan_(plan), foresees_(foresees) {
    const auto id = clock.scheduler.add(*this);
    clock.wake(id, 0);
    out.writer.bind("receiver", clock, id);
    if (foresees) out.foresee_by(*this);
  }

  bool step(Tick cycle) override {
    const Tick now = clock_.clock.edge(cycle);
    // A packet takes some cycles on its way.
    if (left_.empty() && !from_.sent.empty() &&
        from_.sent.front().first + 1 + static_cast<Tick>(plan_.seed % 7) < cycle) {
      const auto& words = from_.sent.front().second;
      left_.assign(words.begin(), words.end());
      from_.sent.pop_front();
    }
    if (!left_.empty() && out_.can_push(now)) {
      out_.push_at(now, left_.front());
      left_.pop_front();
      if (foresees_) out_.push_foreseen(now);
    }
    return !foresees_ || left_.empty() || left_.size() == plan_.size;
  }
  bool pushes(std::uint64_t& word) override {
    if (left_.size() < 2 || left_.size() == plan_.size) return false;
    word = left_.front();
    left_.pop_front();
    return true;
  }

 private:
  Domain& clock_;
  Stream<std::uint64_t>& out_;
  Sender& from_;
  const Plan& plan_;
  bool foresees_;
  std::deque<std::uint64_t> left_;
};

using Log = std::vector<std::pair<Tick, std::uint64_t>>;

std::array<Log, 2> run(const Plan& plan, bool foresees, Tick ahead) {
  Domains time;
  std::deque<Domain*> domains;
  for (const auto& clock : plan.clocks) domains.push_back(&time.add(clock));
  Stream<std::uint64_t> in("in", plan.depths[0], plan.latencies[0]), out("out", plan.depths[1], plan.latencies[1]);
  Sender sender(*domains[0], in, plan, foresees);
  Receiver receiver(*domains[0], out, sender, plan, foresees);
  Kernels kernels(time, ahead);
  std::array<Log, 2> logs;
  const auto pause = [&](unsigned kernel, std::uint64_t word) {
    const auto drawn = mix(plan.seed * 2 + kernel + word * 77);
    if (drawn % 4 == 0 && plan.pauses[kernel]) Kernel::current().pause(drawn / 4 % plan.pauses[kernel]);
  };
  const auto push = [&](std::uint64_t word) {
    pause(0, word);
    while (plan.tries[0] && !in.takes()) Kernel::current().pause(1);
    in.push(word);
    logs[0].emplace_back(Kernel::current().tick(), word);
  };
  kernels.add("sends", *domains[1], [&] {
    if (plan.interval == 0) {
      for (unsigned i = 0; i < plan.words; ++i) push(i);
      return;
    }
    Pipeline pipeline(plan.interval, plan.depth);
    for (unsigned i = 0; i < plan.words; ++i) {
      pipeline.iterate();
      push(i);
    }
  });
  kernels.add("receives", *domains[2], [&] {
    for (unsigned i = 0; i < plan.words; ++i) {
      pause(1, i);
      std::uint64_t word = 0;
      if (plan.tries[1])
        while (!out.try_pop(word)) {
        }
      else
        word = out.pop();
      logs[1].emplace_back(Kernel::current().tick(), word);
    }
  });
  EXPECT_TRUE(kernels.run(1'000'000));
  return logs;
}

Plan draw(std::uint64_t seed) {
  Random random(seed);
  const auto below = [&](unsigned bound) { return random.below(bound); };
  const auto clock = [&]() -> Clock {
    const Tick period = 1 + below(5);
    return {period, below(static_cast<unsigned>(period))};
  };
  Plan plan{};
  plan.seed = seed;
  const bool same = below(2) == 0;
  for (auto& each : plan.clocks) each = same ? Clock{} : clock();
  plan.size = 1 + below(9);
  plan.words = plan.size * (1 + below(12));
  for (unsigned i = 0; i < 2; ++i) {
    plan.depths[i] = 1 + below(below(2) ? 2 : 12);
    plan.latencies[i] = below(3) ? 1 : 1 + below(5);
    plan.pauses[i] = below(3) ? 0 : 1 + below(40);
    plan.tries[i] = below(4) == 0;
  }
  plan.interval = below(2) ? 1 + below(3) : 0;
  plan.depth = below(2) ? below(20) : 0;
  return plan;
}

TEST(Stream, HasTheSameTicksWithForesight) {
  const auto seed = test_seed();
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto plan = draw(seed + i);
    const auto stepped = run(plan, false, 0);
    for (const Tick ahead : {0, 4096})
      ASSERT_EQ(run(plan, true, ahead), stepped) << "THALWEG_SEED=" << seed + i << ", ahead " << ahead;
  }
}

}  // namespace
}  // namespace thalweg
