// SPDX-License-Identifier: Apache-2.0
// Are the calculator's sums equal to the processor's in the same order, to the bit, and does it accept a beat every
// cycle?
#include "peach2/calculator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "../../seed.hpp"

namespace thalweg::peach2 {
namespace {

constexpr unsigned kFields = 8, kSlots = 8;  // fields of a particle; partial sums of a field

using Particle = std::array<float, kFields>;

/// Each slot's particles one after the other, then the upper half of the slots to the lower one, until one is left.
Particle sum_of(const std::vector<Particle>& particles) {
  std::array<Particle, kSlots> slots{};
  for (std::size_t i = 0; i < particles.size(); ++i)
    for (unsigned f = 0; f < kFields; ++f)
      slots[i % kSlots][f] = i < kSlots ? particles[i][f] : slots[i % kSlots][f] + particles[i][f];
  const auto used = std::min<std::size_t>(particles.size(), kSlots);
  for (unsigned half = kSlots / 2; half > 0; half /= 2)
    for (unsigned s = 0; s < half; ++s)
      for (unsigned f = 0; f < kFields; ++f)
        if (s + half < used) slots[s][f] += slots[s + half][f];
  return slots[0];
}

class Bench {
 public:
  explicit Bench(bool tree = false) : tree_(tree) {}

  void set(unsigned particles) {
    calculator.step(std::pair{0u, Calculator::Setup{.beats = 2 * particles,
                                                    .op = spec::Operator::sum,
                                                    .type = spec::Datatype::float32,
                                                    .record = 1,
                                                    .tree = tree_}},
                    nullptr, 0, 0);
  }
  /// Number of cycles in which it accepts them.
  unsigned write(const std::vector<Particle>& particles) {
    unsigned cycles = 0;
    for (unsigned beat = 0; beat < 2 * particles.size();) {
      Calculator::Beat now{0, beat % 16, {}};
      std::memcpy(now.data.data(), &particles[beat / 2][beat % 2 * 4], 16);
      beat += calculator.ready();
      ++cycles;
      step(&now);
    }
    return cycles;
  }
  void finish(unsigned results) {
    for (unsigned waited = 0; done < results; ++waited) {
      ASSERT_LT(waited, 1000u) << "no result came";
      step(nullptr);
    }
  }
  Particle result() {
    Particle found;
    for (unsigned beat = 0; beat < 2; ++beat) {
      calculator.step({}, nullptr, 0, beat);
      std::memcpy(&found[4 * beat], calculator.data().data(), 16);
    }
    return found;
  }

  Calculator calculator{{}};
  unsigned done = 0;

 private:
  void step(const Calculator::Beat* beat) {
    calculator.step({}, beat, 0, 0);
    done += calculator.done().has_value();
  }
  bool tree_;
};

std::vector<Particle> particles(std::mt19937_64& random, unsigned count) {
  std::vector<Particle> made(count);
  for (auto& particle : made)
    for (auto& field : particle)
      field = std::ldexp(std::uniform_real_distribution<float>(-1, 1)(random), static_cast<int>(random() % 40));
  return made;
}

bool same(const Particle& a, const Particle& b) {
  return std::memcmp(a.data(), b.data(), sizeof a) == 0;
}

TEST(Calculator, SumsAreTheProcessorsInTheSameOrder) {
  std::mt19937_64 random(test_seed());
  for (const unsigned count : {1u, 2u, 7u, 8u, 9u, 32u, 1000u}) {
    const auto data = particles(random, count);
    Bench bench;
    bench.set(count);
    bench.write(data);
    bench.finish(1);
    EXPECT_TRUE(same(bench.result(), sum_of(data))) << count << " particles";
  }
}

TEST(Calculator, OrderMatters) {
  std::mt19937_64 random(1);
  const auto data = particles(random, 1000);
  Particle one_by_one{};
  for (const auto& particle : data)
    for (unsigned f = 0; f < kFields; ++f) one_by_one[f] += particle[f];
  EXPECT_FALSE(same(one_by_one, sum_of(data))) << "the data do not show the order";
}

TEST(Calculator, TreeSumsTheFieldsToo) {
  std::mt19937_64 random(test_seed());
  const auto data = particles(random, 100);
  Bench bench(true);
  bench.set(100);
  bench.write(data);
  bench.finish(1);
  const auto f = sum_of(data);
  const Particle expected{((f[0] + f[4]) + (f[2] + f[6])) + ((f[1] + f[5]) + (f[3] + f[7]))};
  EXPECT_TRUE(same(bench.result(), expected));
}

TEST(Calculator, TakesABeatEveryCycleFromReductionToReduction) {
  std::mt19937_64 random(1);
  constexpr unsigned kCount = 64, kTimes = 20;
  Bench bench;
  bench.set(kCount);
  std::vector<Particle> data;
  for (unsigned i = 0; i < kTimes; ++i) {
    data = particles(random, kCount);
    EXPECT_EQ(bench.write(data), 2 * kCount);
  }
  bench.finish(kTimes);
  EXPECT_TRUE(same(bench.result(), sum_of(data)));
}

}  // namespace
}  // namespace thalweg::peach2
