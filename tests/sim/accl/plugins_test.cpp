// SPDX-License-Identifier: Apache-2.0
// Do the plug-ins, word by word, give the results of the data path's functions on whole operands for random jobs? And
// what is their throughput?
#include "accl/plugins.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "../../seed.hpp"

namespace thalweg::accl {
namespace {

constexpr unsigned kLatency = 14;
constexpr std::size_t kJobs = 32;

using Bytes = std::vector<std::byte>;

/// The data in words, padded with random bytes.
std::vector<DataWord> words_of(const Bytes& data, std::mt19937_64& random) {
  std::vector<DataWord> words((data.size() + 63) / 64);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (auto& part : words[i].data) part = random();
    std::memcpy(words[i].data.data(), data.data() + 64 * i, std::min<std::size_t>(64, data.size() - 64 * i));
  }
  words.back().last = true;
  return words;
}

/// A job, its operands, and its result from the functions that the simulator's engine calls.
struct Example {
  PluginJob job;
  Bytes x, y, result;

  explicit Example(std::mt19937_64& random) {
    const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
    const unsigned function = below(24);
    const Unit unit = *unit_of(function);
    if (below(3)) job.unit = unit;
    job.elements = static_cast<std::uint16_t>(1 + below(200));
    const unsigned bytes = bytes_of(unit.type);
    const bool other = bytes == 2 || bytes == 4;  // same number format, other size
    const auto operand = [&](Bytes& data, Conversion& conversion) {
      const unsigned from = other && below(2) ? 6 - bytes : bytes;
      if (from != bytes) conversion = bytes == 2 ? Conversion::narrow : Conversion::widen;
      data.resize(std::size_t{job.elements} * from);
      for (auto& byte : data) byte = static_cast<std::byte>(random());
      Bytes converted = data;
      convert(converted, from, bytes);
      return converted;
    };
    result = operand(x, job.x);
    if (job.unit) {
      const Bytes with = operand(y, job.y);
      lane(unit.op, unit.type)(result.data(), with.data(), job.elements);
    }
    if (other && below(2)) {
      job.z = bytes == 2 ? Conversion::widen : Conversion::narrow;
      convert(result, bytes, 6 - bytes);
    }
  }
};

/// The output words, and the number of cycles if every input is offered as early as possible.
std::pair<std::deque<DataWord>, unsigned> run(const std::deque<PluginJob>& all, std::deque<DataWord> x,
                                              std::deque<DataWord> y, std::size_t results) {
  Plugins plugins(true, true, kLatency, kJobs);
  std::deque<PluginJob> jobs = all;
  std::deque<DataWord> out;
  unsigned cycles = 0;
  for (std::size_t packets = 0; packets < results && cycles < 1000000; ++cycles) {
    const bool job = !jobs.empty() && plugins.ready(), left = !x.empty() && plugins.x_ready(),
               right = !y.empty() && plugins.y_ready();
    if (plugins.valid()) {
      out.push_back(plugins.front());
      packets += out.back().last;
    }
    plugins.step(jobs.empty() ? nullptr : &jobs.front(), x.empty() ? nullptr : &x.front(),
                 y.empty() ? nullptr : &y.front(), true);
    if (job) jobs.pop_front();
    if (left) x.pop_front();
    if (right) y.pop_front();
  }
  return {out, cycles};
}

TEST(Plugins, MakeOfRandomJobsWhatTheEngineMakes) {
  std::mt19937_64 random(test_seed());
  std::deque<Example> examples;
  std::deque<PluginJob> jobs;
  std::deque<DataWord> x, y;
  for (unsigned i = 0; i < 2000; ++i) {
    const Example& example = examples.emplace_back(random);
    jobs.push_back(example.job);
    for (const DataWord& word : words_of(example.x, random)) x.push_back(word);
    if (example.job.unit)
      for (const DataWord& word : words_of(example.y, random)) y.push_back(word);
  }
  auto out = run(jobs, x, y, jobs.size()).first;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Bytes& expected = examples[i].result;
    Bytes got;
    for (bool last = false; !last && !out.empty(); out.pop_front()) {
      const auto bytes = std::as_bytes(std::span(out.front().data));
      got.insert(got.end(), bytes.begin(), bytes.end());
      last = out.front().last;
    }
    ASSERT_EQ(got.size(), (expected.size() + 63) / 64 * 64) << "job " << i;
    got.resize(expected.size());
    ASSERT_EQ(got, expected) << "job " << i;
  }
  EXPECT_TRUE(out.empty());
}

TEST(Plugins, TakeWhatTheyAreSaidTo) {
  for (const bool conversions : {false, true})
    for (const bool combines : {false, true})
      for (const bool combine : {false, combines}) {
        const PluginJob job{.unit = combine ? unit_of(0) : std::nullopt, .elements = 16};
        const DataWord word{.data = {}, .last = true};
        Plugins plugins(conversions, combines, Plugins::kLanes, kJobs);
        plugins.step(&job, nullptr, nullptr, false);
        while (!plugins.x_ready()) plugins.step(nullptr, nullptr, nullptr, false);
        bool x = true, y = combine;
        unsigned cycles = 0;
        for (; !plugins.valid() && cycles < 100; ++cycles) {
          const bool left = x && plugins.x_ready(), right = y && plugins.y_ready();
          plugins.step(nullptr, x ? &word : nullptr, y ? &word : nullptr, false);
          x = x && !left;
          y = y && !right;
        }
        EXPECT_EQ(cycles, Plugins::latency(conversions, combines)) << conversions << combines << combine;
      }
  EXPECT_EQ(Plugins::latency(true, true), 7U + 16U + 7U);  // from the hardware's header
  EXPECT_EQ(Plugins::latency(false, false), 3U);
}

TEST(Plugins, MoveAWordACycleAlsoWhereEveryJobHasOne) {
  constexpr unsigned kCount = 1000, kJobToWord = 2, kWordToResult = 7 + 16 + 7;
  for (const bool combines : {false, true}) {
    const PluginJob job{.unit = combines ? unit_of(0) : std::nullopt, .elements = 16};
    const std::deque<DataWord> words(kCount, DataWord{.data = {}, .last = true});
    const unsigned cycles =
        run(std::deque<PluginJob>(kCount, job), words, combines ? words : std::deque<DataWord>{}, kCount).second;
    EXPECT_EQ(cycles, kCount + kJobToWord + kWordToResult);
  }
}

}  // namespace
}  // namespace thalweg::accl
