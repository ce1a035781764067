// SPDX-License-Identifier: Apache-2.0
// Between two clocks of the simulator: does everything arrive at the edge at which flip-flops, stepped at every edge,
// would deliver it, are waiting components woken then, and is nothing stepped in between?
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "../../seed.hpp"
#include "common/async_fifo.hpp"
#include "common/level_sync.hpp"

namespace thalweg {
namespace {

struct Case {
  Clock writer, reader;
  unsigned depth, stages;
};

class Crossing : public testing::TestWithParam<Case> {
 protected:
  const Clock writer = GetParam().writer, reader = GetParam().reader;
  const unsigned depth = GetParam().depth, stages = GetParam().stages;
  const unsigned seed = static_cast<unsigned>(test_seed());

  /// Executes the actions at the edges of either clock before `end`, in order; if both have an edge, the writer's
  /// first.
  template <class Writes, class Reads>
  void every_edge(Tick end, Writes writes, Reads reads) const {
    for (Tick tick = 0, from = 0, to = 0; tick < end; ++tick) {
      const bool both = writer.edge(from) == tick && reader.edge(to) == tick;
      if (writer.edge(from) == tick) writes(from++, both);
      if (reader.edge(to) == tick) reads(to++, both);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Clocks, Crossing,
                         testing::Values(Case{{3}, {5}, 4, 2}, Case{{5}, {3}, 16, 2}, Case{{165, 7}, {128, 99}, 8, 2},
                                         Case{{1}, {1}, 8, 3}, Case{{2}, {2, 1}, 2, 2}, Case{{3, 2}, {40, 1}, 32, 2}));

/// A pause before each word, mostly zero, so that either side sometimes waits for the other.
std::vector<Tick> pauses(unsigned seed, unsigned words) {
  std::mt19937 random(seed);
  std::vector<Tick> result(words);
  unsigned often = 0;
  for (unsigned i = 0; i < words; ++i) {
    if (i % 50 == 0) often = static_cast<unsigned>(random() % 4);
    result[i] = random() % 4 < often ? static_cast<Tick>(random() % 30) : 0;
  }
  return result;
}

constexpr unsigned kWords = 1000;

struct Writer : Component {
  Domain* domain;
  ComponentId id;
  AsyncFifo<unsigned>* fifo;
  std::vector<Tick> pause;
  std::vector<Tick> pushes;
  unsigned steps = 0;
  bool step(Tick now) override {
    ++steps;
    if (!fifo->ready(now)) return fifo->await_place(), false;
    fifo->push(now, static_cast<unsigned>(pushes.size()));
    pushes.push_back(now);
    if (pushes.size() < pause.size()) domain->scheduler.wake(id, now + 1 + pause[pushes.size()]);
    return false;
  }
};

struct Reader : Component {
  Domain* domain;
  ComponentId id;
  AsyncFifo<unsigned>* fifo;
  std::vector<Tick> pause;
  std::vector<Tick> pops;
  std::vector<unsigned> words;
  Tick next = 0;
  unsigned steps = 0;
  bool step(Tick now) override {
    ++steps;
    if (!fifo->valid(now) || now < next) return false;
    words.push_back(fifo->front());
    fifo->pop(now);
    pops.push_back(now);
    if (pops.size() < pause.size()) domain->scheduler.wake(id, next = now + 1 + pause[pops.size()]);
    return false;
  }
};

TEST_P(Crossing, WordsArriveWhenPointersDo) {
  const auto writes = pauses(seed, kWords), reads = pauses(seed + 1, kWords);

  // The flip-flops of the hardware, without the Gray code.
  struct {
    unsigned write = 0, read = 0;
    bool valid = false;
    std::vector<unsigned> write_seen, read_seen;
  } old, now;
  old.write_seen.resize(stages);
  old.read_seen.resize(stages);
  std::vector<Tick> pushes, pops;
  Tick next_push = writes[0], next_pop = 0;
  now = old;
  every_edge(
      kWords * 40 * (writer.period + reader.period),
      [&](Tick cycle, bool) {
        old = now;
        if (pushes.size() < kWords && cycle >= next_push && old.write - old.read_seen.back() < depth) {
          ++now.write;
          pushes.push_back(cycle);
          if (pushes.size() < kWords) next_push = cycle + 1 + writes[pushes.size()];
        }
        now.read_seen.pop_back();
        now.read_seen.insert(now.read_seen.begin(), old.read);
      },
      [&](Tick cycle, bool both) {
        if (!both) old = now;
        const bool pop = old.valid && cycle >= next_pop;
        if (pop) {
          pops.push_back(cycle);
          if (pops.size() < kWords) next_pop = cycle + 1 + reads[pops.size()];
        }
        const bool load = old.write_seen.back() != old.read && (!old.valid || pop);
        now.read += load;
        now.valid = load || (old.valid && !pop);
        now.write_seen.pop_back();
        now.write_seen.insert(now.write_seen.begin(), old.write);
      });
  ASSERT_EQ(pops.size(), kWords);

  Domains domains;
  Domain &from = domains.add(writer), &to = domains.add(reader);
  AsyncFifo<unsigned> fifo(depth, stages, writer, reader);
  Writer source;
  source.domain = &from;
  source.fifo = &fifo;
  source.pause = writes;
  Reader sink;
  sink.domain = &to;
  sink.fifo = &fifo;
  sink.pause = reads;
  fifo.writer.bind(from, source.id = from.scheduler.add(source));
  fifo.reader.bind(to, sink.id = to.scheduler.add(sink));
  from.scheduler.wake(source.id, writes[0]);
  domains.advance(kNever);
  EXPECT_EQ(source.pushes, pushes);
  EXPECT_EQ(sink.pops, pops);
  for (unsigned i = 0; i < kWords; ++i) ASSERT_EQ(sink.words[i], i);
  EXPECT_LE(source.steps, 2 * kWords);  // one step without room, and one in which it was pushed
  EXPECT_LE(sink.steps, 2 * kWords);    // one step too early, and one in which it was popped
}

TEST_P(Crossing, LevelsArriveWhenFlipFlopsHaveThem) {
  Domains domains;
  Domain& to = domains.add(reader);
  struct : Component {
    std::vector<Tick> cycles;
    bool step(Tick now) override { return cycles.push_back(now), false; }
  } woken;
  LevelSync<unsigned> level(stages, reader);
  level.reader.bind(to, to.scheduler.add(woken));

  std::mt19937 random(seed);
  unsigned written = 0, old_written = 0;
  std::vector<unsigned> levels(stages);
  std::vector<Tick> changes;
  unsigned before = 0;
  every_edge(
      10'000,
      [&](Tick cycle, bool) {
        old_written = written;
        if (random() % 4 == 0) level.write(writer.edge(cycle), written = static_cast<unsigned>(random() % 3));
      },
      [&](Tick cycle, bool both) {
        ASSERT_EQ(level.read(cycle), levels.back());
        if (levels.back() != before) changes.push_back(cycle);
        before = levels.back();
        levels.pop_back();
        levels.insert(levels.begin(), both ? old_written : written);
      });
  domains.advance(10'000);
  EXPECT_TRUE(std::ranges::includes(woken.cycles, changes));
  EXPECT_GT(changes.size(), 5u);
}

}  // namespace
}  // namespace thalweg
