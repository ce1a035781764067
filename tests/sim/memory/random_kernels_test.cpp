// SPDX-License-Identifier: Apache-2.0
// Random programs of kernels, streams, banks and two clocks: executed as kernels, which run ahead, and by a model that
// steps every edge.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../../seed.hpp"
#include "core/random.hpp"
#include "core/stream.hpp"
#include "memory/bank.hpp"

namespace thalweg {
namespace {

constexpr std::size_t kWords = 16;  ///< of a bank

enum class Do { kPush, kPop, kTryPush, kTryPop, kPollPop, kRead, kWrite, kPause };

struct Op {
  Do what;
  unsigned on = 0;        ///< stream, or port of a bank
  Tick cycles = 0;        ///< of a pause
  std::size_t words = 1;  ///< of an access
};

struct Loop {
  int turns = 1;
  Tick interval = 0;  ///< 0: no pipeline
  Tick depth = 0;
  std::vector<Op> ops;
};

struct Program {
  struct StreamOf {
    std::size_t depth;
    Tick latency;
    unsigned writer, reader;
  };
  std::array<Clock, 2> clocks;
  std::vector<unsigned> clock;  ///< of each kernel
  std::vector<std::vector<Loop>> loops;
  std::vector<StreamOf> streams;
  std::vector<std::pair<unsigned, BankTiming>> banks;  ///< clock of its users, timing
  std::vector<unsigned> ports;                         ///< the bank of each
};

/// Log of a kernel: tick, operation, value.
using Log = std::vector<std::tuple<Tick, Do, std::uint64_t>>;

struct Outcome {
  std::vector<Log> logs;
  std::vector<Tick> waits;  ///< start of each kernel's permanent wait, -1 if it ended
};

std::size_t address(std::uint64_t sum, std::size_t words) {
  return mix(sum) % (kWords - words + 1) * 8;
}

Program draw(std::uint64_t seed) {
  Random random(seed);
  const auto below = [&](unsigned bound) { return random.below(bound); };
  static constexpr std::array<std::array<Clock, 2>, 5> kClocks{
      {{{{1, 0}, {1, 0}}}, {{{3, 0}, {5, 0}}}, {{{5, 2}, {3, 1}}}, {{{165, 7}, {128, 0}}}, {{{4, 1}, {4, 3}}}}};
  Program p{
      .clocks = kClocks[below(kClocks.size())], .clock = {}, .loops = {}, .streams = {}, .banks = {}, .ports = {}};
  const auto kernels = 2 + below(4);
  for (unsigned k = 0; k < kernels; ++k) p.clock.push_back(below(2));
  for (unsigned s = 0, n = 1 + below(6); s < n; ++s)
    p.streams.push_back({1 + below(below(2) ? 3 : 12), 1 + below(below(4) ? 2 : 9), below(kernels), below(kernels)});
  for (unsigned b = 0, n = below(3); b < n; ++b)
    p.banks.push_back({below(2),
                       {.latency = 1 + below(below(2) ? 4 : 30),
                        .dram = {.bytes_per_cycle = 4. / (1u << below(6)), .burst_bytes = 8, .starvation = 0}}});
  std::vector<std::vector<unsigned>> ports_of(kernels);
  for (unsigned k = 0; k < kernels && !p.banks.empty(); ++k)
    for (unsigned n = below(3); n; --n) {
      const auto bank = below(static_cast<unsigned>(p.banks.size()));
      if (p.banks[bank].first != p.clock[k]) continue;
      ports_of[k].push_back(static_cast<unsigned>(p.ports.size()));
      p.ports.push_back(bank);
    }
  // All kernels execute transfers in the same order: each can proceed, unless words are left over or streams are
  // polled.
  const bool polls = below(3) == 0;
  p.loops.resize(kernels);
  for (unsigned section = 0, sections = 1 + below(3); section < sections; ++section) {
    std::vector<Loop> loops(kernels);
    const int turns = 1 + static_cast<int>(below(12));
    for (auto& loop : loops) {
      loop.turns = turns;
      if (below(2)) loop.interval = 1 + below(below(2) ? 1 : 5);
      if (loop.interval && below(2)) loop.depth = below(40);
    }
    for (unsigned n = 1 + below(6); n; --n) {
      const auto s = below(static_cast<unsigned>(p.streams.size()));
      const auto& stream = p.streams[s];
      loops[stream.writer].ops.push_back({.what = polls && below(4) == 0 ? Do::kTryPush : Do::kPush, .on = s});
      loops[stream.reader].ops.push_back(
          {.what = polls && below(2) ? (below(2) ? Do::kTryPop : Do::kPollPop) : Do::kPop, .on = s});
      const auto k = below(kernels);
      if (below(4) == 0) loops[k].ops.push_back({.what = Do::kPause, .cycles = below(below(4) ? 4 : 60)});
      if (!ports_of[k].empty() && below(2))
        loops[k].ops.push_back({.what = below(2) ? Do::kRead : Do::kWrite,
                                .on = ports_of[k][below(static_cast<unsigned>(ports_of[k].size()))],
                                .words = 1 + below(below(3) ? 1 : 8)});
    }
    for (unsigned k = 0; k < kernels; ++k) p.loops[k].push_back(loops[k]);
  }
  return p;
}

/// Runs it as kernels.
Outcome run(const Program& p, Tick ahead) {
  Domains time;
  std::array<Domain*, 2> domains{&time.add(p.clocks[0]), &time.add(p.clocks[1])};
  std::deque<Bank> banks;
  for (const auto& [clock, timing] : p.banks) banks.emplace_back(timing);
  std::vector<std::array<std::uint64_t, kWords>> memory(banks.size());
  std::deque<BankPort> ports;
  for (const auto bank : p.ports) {
    ports.emplace_back(banks[bank]);
    banks[bank].share();
  }
  std::deque<Stream<std::uint64_t>> streams;
  for (const auto& stream : p.streams) streams.emplace_back("s", stream.depth, stream.latency);
  Outcome outcome{.logs = std::vector<Log>(p.clock.size()), .waits = {}};
  Kernels kernels(time, ahead);
  std::vector<Kernel*> all;
  for (std::size_t k = 0; k < p.clock.size(); ++k)
    all.push_back(&kernels.add("k", *domains[p.clock[k]], [&, k] {
      std::uint64_t sum = k;
      auto& log = outcome.logs[k];
      const auto act = [&](const Op& op) {
        switch (op.what) {
          case Do::kPush:
            streams[op.on].push(sum);
            break;
          case Do::kPop:
            sum = mix(sum + streams[op.on].pop());
            break;
          case Do::kTryPush:
            sum += streams[op.on].try_push(sum);
            break;
          case Do::kTryPop: {
            std::uint64_t value = 0;
            if (streams[op.on].try_pop(value)) sum = mix(sum + value);
            break;
          }
          case Do::kPollPop: {
            std::uint64_t value = 0;
            int left = 50;
            while (left-- && !streams[op.on].try_pop(value)) {
            }
            sum = mix(sum + value);
            break;
          }
          case Do::kRead:
          case Do::kWrite: {
            auto& kernel = Kernel::current();
            const bool writes = op.what == Do::kWrite;
            if (!writes) ports[op.on].load(kernel);
            kernel.synchronize();
            const auto at = address(sum, op.words);
            auto* words = memory[p.ports[op.on]].data() + at / 8;
            for (std::size_t i = 0; i < op.words; ++i)
              if (writes)
                words[i] = sum + i;
              else
                sum = mix(sum + words[i]);
            ports[op.on].request(kernel, at, op.words * 8, writes);
            break;
          }
          case Do::kPause:
            Kernel::current().pause(op.cycles);
            break;
        }
        log.emplace_back(Kernel::current().tick(), op.what, sum);
      };
      for (const auto& loop : p.loops[k]) {
        if (!loop.interval) {
          for (int turn = 0; turn < loop.turns; ++turn)
            for (const auto& op : loop.ops) act(op);
          continue;
        }
        Pipeline pipeline(loop.interval, loop.depth);
        for (int turn = 0; turn < loop.turns; ++turn) {
          pipeline.iterate();
          for (const auto& op : loop.ops) act(op);
        }
      }
      log.emplace_back(Kernel::current().tick(), Do::kPause, sum);
    }));
  try {
    kernels.run();
  } catch (const Stuck&) {
  }
  for (const auto* kernel : all) outcome.waits.push_back(kernel->ended() ? -1 : kernel->waits().since);
  return outcome;
}

/// Steps every edge: at each one a kernel executes the operations possible in this cycle, in order.
class Model {
 public:
  explicit Model(const Program& program) : p_(program) {
    for (std::size_t k = 0; k < p_.clock.size(); ++k) kernels_.push_back({.sum = k});
    streams_.resize(p_.streams.size());
    for (const auto& bank : p_.banks)
      banks_.push_back({.words = std::vector<std::uint64_t>(kWords), .burst = 8 / bank.second.dram.bytes_per_cycle});
    loads_.resize(p_.ports.size());
  }

  Outcome run() {
    Outcome outcome{.logs = std::vector<Log>(kernels_.size()), .waits = {}};
    for (Tick now = 0, last = 0;
         now - last < 50'000 && !std::all_of(
                                    kernels_.begin(), kernels_.end(), [](const State& s) { return s.ended; });
         ++now)
      for (unsigned clock = 0; clock < 2; ++clock) {
        if (now < p_.clocks[clock].phase || (now - p_.clocks[clock].phase) % p_.clocks[clock].period) continue;
        for (std::size_t k = 0; k < kernels_.size(); ++k)
          if (p_.clock[k] == clock && cycle(kernels_[k], p_.loops[k], now, p_.clocks[clock].period, outcome.logs[k]))
            last = now;
      }
    for (const auto& kernel : kernels_) outcome.waits.push_back(kernel.ended ? -1 : kernel.since);
    return outcome;
  }

 private:
  struct State {
    std::uint64_t sum;
    std::size_t loop = 0, op = 0;
    int turn = 0, polls = 50;
    bool turning = false;  ///< this turn has begun
    Tick begun = -1;       ///< start of the last turn, plus its stalls
    Tick busy_before = 0;  ///< continues at this tick
    Tick waits_for = -1;   ///< stalls up to and including this tick
    Tick since = -1;       ///< start of the wait of a pending operation
    bool ended = false;
    const Op* logs = nullptr;   ///< done, but not yet logged
    std::set<unsigned> used{};  ///< stream ends used in this cycle
  };
  struct StreamOf {
    std::deque<std::pair<Tick, std::uint64_t>> words;
    std::int64_t pushes = 0;
    std::vector<Tick> pops;
  };
  struct BankOf {
    std::vector<std::uint64_t> words;
    double burst;     ///< cycles
    double free = 0;  ///< time at which all requests have been served
  };

  /// Returns true if anything was done.
  bool cycle(State& k, const std::vector<Loop>& loops, Tick now, Tick period, Log& log) {
    if (k.ended || now < k.busy_before) return !k.ended;
    k.used.clear();
    if (now <= k.waits_for) {
      k.begun += period;
      return true;
    }
    bool moved = false;
    for (;;) {
      if (k.logs) {
        log.emplace_back(now, k.logs->what, k.sum);
        k.logs = nullptr;
      }
      if (k.loop == loops.size()) {
        log.emplace_back(now, Do::kPause, k.sum);
        return k.ended = true;
      }
      const auto& loop = loops[k.loop];
      if (k.turn == loop.turns) {
        k = {.sum = k.sum, .loop = k.loop + 1, .used = k.used};
        if (loop.interval && loop.depth) {
          k.busy_before = now + loop.depth * period;
          return true;
        }
        continue;
      }
      if (loop.interval && !k.turning) {
        if (k.begun >= 0 && now < k.begun + loop.interval * period) {
          k.busy_before = k.begun + loop.interval * period;
          return true;
        }
        k.begun = now;
        k.turning = true;
      }
      if (k.op == loop.ops.size()) {
        k.op = 0;
        ++k.turn;
        k.turning = false;
        continue;
      }
      const auto& op = loop.ops[k.op];
      switch (act(k, op, loop, now, period)) {
        case Result::kNextCycle:
          return true;
        case Result::kStill:
          if (k.since < 0) k.since = now;
          k.begun += period;
          return moved;
        case Result::kAgain:
          continue;
        case Result::kDone:
          break;
      }
      k.since = -1;
      moved = true;
      k.logs = &op;
      ++k.op;
      if (now < k.busy_before || now <= k.waits_for) {
        if (now <= k.waits_for) k.begun += period;
        return true;
      }
    }
  }

  enum class Result { kDone, kAgain, kNextCycle, kStill };

  Result act(State& k, const Op& op, const Loop& loop, Tick now, Tick period) {
    const auto depth = loop.interval ? loop.depth : 0;
    if (op.what == Do::kPause) {
      k.busy_before = now + op.cycles * period;
      return Result::kDone;
    }
    if (op.what == Do::kRead || op.what == Do::kWrite) return access(k, op, now, period);
    const bool pushes = op.what == Do::kPush || op.what == Do::kTryPush;
    const auto port = 2 * op.on + pushes;
    if (k.used.contains(port)) return Result::kNextCycle;
    auto& stream = streams_[op.on];
    const auto& of = p_.streams[op.on];
    if (pushes) {
      if (op.what == Do::kTryPush) k.used.insert(port);
      const auto freed = stream.pushes - static_cast<std::int64_t>(of.depth) - depth;  // the word whose slot it takes
      if (freed >= std::ssize(stream.pops) || (freed >= 0 && stream.pops[static_cast<std::size_t>(freed)] >= now))
        return op.what == Do::kTryPush ? Result::kDone : Result::kStill;
      k.used.insert(port);
      ++stream.pushes;
      stream.words.emplace_back(now + (depth + of.latency - 1) * period, k.sum);
      if (op.what == Do::kTryPush) ++k.sum;
      return Result::kDone;
    }
    const bool there = !stream.words.empty() && stream.words.front().first < now;
    if (op.what == Do::kPop && !there) return Result::kStill;
    k.used.insert(port);
    if (!there && op.what == Do::kPollPop && --k.polls > 0) return Result::kAgain;
    const auto value = there ? stream.words.front().second : 0;
    if (there) {
      stream.words.pop_front();
      stream.pops.push_back(now);
    }
    if (there || op.what == Do::kPollPop) k.sum = mix(k.sum + value);
    k.polls = 50;
    return Result::kDone;
  }

  Result access(State& k, const Op& op, Tick now, Tick period) {
    auto& bank = banks_[p_.ports[op.on]];
    const auto& [clock, timing] = p_.banks[p_.ports[op.on]];
    if (op.what == Do::kRead && !loads_[op.on]) {
      loads_[op.on] = true;
      k.waits_for = now + timing.latency * period - 1;
      return Result::kStill;
    }
    const auto first = address(k.sum, op.words) / 8;
    for (std::size_t i = 0; i < op.words; ++i)
      if (op.what == Do::kWrite)
        bank.words[first + i] = k.sum + i;
      else
        k.sum = mix(k.sum + bank.words[first + i]);
    const auto cycle = static_cast<double>((now - p_.clocks[clock].phase) / period);
    bank.free = std::max(bank.free, cycle) + static_cast<double>(op.words) * bank.burst;
    if (const auto late = static_cast<Tick>(bank.free - cycle) - 64; late >= 1) k.waits_for = now + late * period - 1;
    return Result::kDone;
  }

  const Program& p_;
  std::vector<State> kernels_;
  std::vector<StreamOf> streams_;
  std::vector<BankOf> banks_;
  std::vector<bool> loads_;  ///< of each port: true once it has loaded
};

/// The first difference; empty if there is none.
std::string difference(const Outcome& got, const Outcome& expected) {
  for (std::size_t k = 0; k < expected.logs.size(); ++k) {
    const auto name = "kernel " + std::to_string(k);
    for (std::size_t i = 0; i < std::max(got.logs[k].size(), expected.logs[k].size()); ++i) {
      const auto text = [&](const Log& log) {
        if (i >= log.size()) return std::string("nothing");
        const auto& [tick, what, sum] = log[i];
        return "operation " + std::to_string(static_cast<int>(what)) + " at " + std::to_string(tick) + " = " +
               std::to_string(sum);
      };
      if (text(got.logs[k]) != text(expected.logs[k]))
        return name + ", " + std::to_string(i) + ": " + text(got.logs[k]) + ", in the model " + text(expected.logs[k]);
    }
    if (got.waits[k] != expected.waits[k])
      return name + " has waited since " + std::to_string(got.waits[k]) + ", in the model " +
             std::to_string(expected.waits[k]);
  }
  return "";
}

TEST(RandomKernels, AreEqualToTheModelAheadAndCycleByCycle) {
  const auto seed = test_seed();
  std::size_t operations = 0, deadlocks = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto program = draw(seed + i);
    const auto expected = Model(program).run();
    for (const Tick ahead : {Tick{0}, static_cast<Tick>(1 + i % 20), Tick{4096}})
      ASSERT_EQ(difference(run(program, ahead), expected), "")
          << "seed " << seed + i << ", " << ahead << " cycles ahead";
    for (const auto& log : expected.logs) operations += log.size();
    deadlocks += std::any_of(expected.waits.begin(), expected.waits.end(), [](Tick since) { return since >= 0; });
  }
  EXPECT_GT(operations, 50'000u);
  EXPECT_LT(deadlocks, 600u);
  EXPECT_GT(deadlocks, 10u);
}

}  // namespace
}  // namespace thalweg
