// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/skew.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace thalweg::mpi {
namespace {

/// splitmix64 by S. Vigna.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

Skew::Skew(const char* text, int rank, double ticks_per_second) {
  exponential_ = std::strncmp(text, "exponential", 11) == 0;
  char* end = nullptr;
  ticks_ = std::strtod(std::strchr(text, ':') + 1, &end) * 1e-6 * ticks_per_second;
  state_ = std::strtoull(end + 1, nullptr, 10);
  state_ = next(state_) + static_cast<std::uint64_t>(rank);
  state_ = next(state_);
}

Skew Skew::of_child(std::uint32_t number) const {
  Skew child = *this;
  child.state_ += std::uint64_t{number} << 32;
  child.state_ = next(child.state_);
  return child;
}

Time Skew::draw() {
  if (ticks_ == 0) return 0;
  const double unit = static_cast<double>(next(state_) >> 11) * 0x1p-53;
  return static_cast<Time>(ticks_ * (exponential_ ? -std::log1p(-unit) : unit));
}

}  // namespace thalweg::mpi
