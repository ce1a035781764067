// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "harness.hpp"

namespace bisim {
namespace {

constexpr std::size_t kWaveCycles = 256;             ///< before the difference
constexpr std::uint64_t kShrinkBudget = 20'000'000;  ///< cycles simulated for shrinking

struct Options {
  std::uint64_t runs = 1, cycles = 10'000, seed = 1;
  std::string json, report, coverage;
};

Options parse(int argc, char** argv) {
  static const option known[] = {{"runs", required_argument, nullptr, 'n'},
                                 {"cycles", required_argument, nullptr, 'c'},
                                 {"seed", required_argument, nullptr, 's'},
                                 {"json", required_argument, nullptr, 'j'},
                                 {"report", required_argument, nullptr, 'r'},
                                 {"coverage", required_argument, nullptr, 'v'},
                                 {}};
  Options options;
  for (int letter; (letter = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (letter) {
      case 'n':
        options.runs = std::strtoull(optarg, nullptr, 10);
        break;
      case 'c':
        options.cycles = std::strtoull(optarg, nullptr, 10);
        break;
      case 's':
        options.seed = std::strtoull(optarg, nullptr, 10);
        break;
      case 'j':
        options.json = optarg;
        break;
      case 'r':
        options.report = optarg;
        break;
      case 'v':
        options.coverage = optarg;
        break;
      default:
        std::exit(2);
    }
  }
  return options;
}

Schedule whole_run(std::uint64_t cycles) {
  Schedule schedule(cycles);
  for (std::uint32_t t = 0; t < cycles; ++t) schedule[t].cycle = t;
  return schedule;
}

/// One line per cycle: inputs that are not zero, and the outputs of both sides.
void write_cycles(const std::string& file, const Harness& harness, const Difference& difference) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return;
  std::fprintf(out, "# cycle %zu: %s expected %s got %s\n", difference.cycle, difference.port.c_str(),
               difference.expected.c_str(), difference.got.c_str());
  const std::size_t end = difference.cycle + 1;
  for (std::size_t t = end > kHistory ? end - kHistory : 0; t < end; ++t) {
    const Cycle& now = harness.cycle(t);
    std::fprintf(out, "%zu%s", t, now.reset ? " reset" : "");
    for (const PortInfo& port : harness.shape().inputs) {
      const std::uint32_t* words = now.in.data() + port.word;
      if (std::any_of(words, words + (port.bits + 31) / 32, [](std::uint32_t word) { return word != 0; })) {
        std::fprintf(out, " %s=%s", port.name, hex(words, 0, port.bits).c_str());
      }
    }
    for (const PortInfo& port : harness.shape().outputs) {
      const std::string got = hex(now.got.data() + port.word, 0, port.bits);
      std::fprintf(out, " %s=%s", port.name, got.c_str());
      if (t + 1 == end || port.gate < 0) {
        const std::string expected = hex(now.expected.data() + port.word, 0, port.bits);
        if (expected != got) std::fprintf(out, " (twin %s)", expected.c_str());
      }
    }
    std::fputc('\n', out);
  }
  std::fclose(out);
}

/// The difference, replayed from its seed and shrunk; returns the shrunk schedule.
Schedule write_report(Harness& harness, const std::string& folder, std::uint64_t seed, const Difference& found) {
  Schedule schedule = whole_run(found.cycle + 1);
  const std::size_t from = found.cycle > kWaveCycles ? found.cycle - kWaveCycles : 0;
  if (const auto again = harness.run(seed, schedule, folder + "/run.vcd", from)) {
    write_cycles(folder + "/run.txt", harness, *again);
  }
  schedule = harness.shrink(seed, std::move(schedule), kShrinkBudget);
  if (const auto again = harness.run(seed, schedule, folder + "/shrunk.vcd")) {
    write_cycles(folder + "/shrunk.txt", harness, *again);
  }
  return schedule;
}

/// A message without characters that would end a JSON string.
std::string quotable(std::string text) {
  for (char& letter : text) {
    if (letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < ' ') letter = ' ';
  }
  return text;
}

void write_json(const std::string& file, const Options& options, const Harness& harness,
                const std::optional<Difference>& difference, std::uint64_t seed, const Schedule& shrunk) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (!out) std::exit(2);
  const Totals& totals = harness.totals();
  const auto outputs = harness.shape().outputs;
  std::fprintf(out,
               "{\"seed\": %" PRIu64 ", \"runs\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"total_cycles\": %" PRIu64,
               options.seed, options.runs, options.cycles, totals.cycles);
  std::fprintf(out, ", \"ports\": {");
  for (unsigned i = 0; i < outputs.size(); ++i) {
    std::fprintf(out, "%s\"%s\": {\"hash\": \"%016" PRIx64 "\", \"activity\": %" PRIu64 "}", i ? ", " : "",
                 outputs[i].name, totals.hash[i], totals.activity[i]);
  }
  std::fprintf(out, "}, \"difference\": ");
  if (difference) {
    std::fprintf(out, "{\"seed\": %" PRIu64 ", \"cycle\": %zu, \"port\": \"%s\", \"expected\": \"%s\", \"got\": \"%s\"",
                 seed, difference->cycle, difference->port.c_str(), quotable(difference->expected).c_str(),
                 quotable(difference->got).c_str());
    const auto actions = std::accumulate(shrunk.begin(), shrunk.end(), 0, [](int sum, const Slot& slot) {
      return sum + __builtin_popcountll(slot.lanes);
    });
    std::fprintf(out, ", \"shrunk_cycles\": %zu, \"shrunk_actions\": %d}", shrunk.size(), actions);
  } else {
    std::fprintf(out, "null");
  }
  std::fprintf(out, "}\n");
  std::fclose(out);
}

}  // namespace

int main(Pair& pair, int argc, char** argv) {
  const Options options = parse(argc, argv);
  Harness harness{pair};
  harness.coverage = options.coverage;
  const Schedule schedule = whole_run(options.cycles);
  std::optional<Difference> difference;
  std::uint64_t seed = options.seed;
  for (std::uint64_t i = 0; i < options.runs && !difference; ++i) {
    seed = options.seed + i;
    difference = harness.run(seed, schedule);
  }
  Schedule shrunk;
  if (difference && !options.report.empty()) shrunk = write_report(harness, options.report, seed, *difference);
  if (!options.json.empty()) write_json(options.json, options, harness, difference, seed, shrunk);
  return difference ? 1 : 0;
}

}  // namespace bisim
