// SPDX-License-Identifier: Apache-2.0
// The seed of a random test.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace thalweg {

/// From THALWEG_SEED, or a new one each time; printed.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("THALWEG_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("THALWEG_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace thalweg
