// SPDX-License-Identifier: Apache-2.0
// stream WORDS DEPTH: sends words through one stream between two kernels; prints the final tick and seconds of CPU
// time.
#include "core/stream.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto words = std::strtoull(argv[1], nullptr, 10);
  thalweg::Domains time;
  auto& clock = time.add({});
  thalweg::Kernels kernels(time);
  thalweg::Stream<std::uint64_t> stream("stream", std::strtoull(argv[2], nullptr, 10));
  std::uint64_t sum = 0;
  kernels.add("pushes", clock, [&] {
    for (std::uint64_t i = 0; i < words; ++i) stream.push(i);
  });
  kernels.add("pops", clock, [&] {
    for (std::uint64_t i = 0; i < words; ++i) sum += stream.pop();
  });
  const auto start = std::clock();
  kernels.run();
  const auto used = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (sum != words * (words - 1) / 2) return 1;
  std::printf("%lld %.6f\n", static_cast<long long>(time.now()), used);
}
