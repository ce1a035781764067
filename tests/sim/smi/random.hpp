// SPDX-License-Identifier: Apache-2.0
// A random test's draws.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>

namespace thalweg::smi {

/// By the seed that THALWEG_SEED gives, or another one each time, which is printed.
inline std::mt19937_64 random_of_test() {
  const char* given = std::getenv("THALWEG_SEED");
  const auto seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("THALWEG_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return std::mt19937_64{seed};
}

}  // namespace thalweg::smi
