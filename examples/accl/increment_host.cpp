// SPDX-License-Identifier: Apache-2.0
// The host program of increment.cpp: the kernels of two boards exchange numbers.
#include <accl.hpp>
#include <cstdio>

int main() {
  constexpr unsigned kWords = 64, kCount = 16 * kWords;
  ACCL::ACCL accl;
  const unsigned rank = ACCL::local_rank();
  accl.initialize(ACCL::world(), static_cast<int>(rank));
  auto mine = accl.create_buffer<std::int32_t>(kCount, ACCL::dataType::int32);
  auto got = accl.create_buffer<std::int32_t>(kCount, ACCL::dataType::int32);
  for (unsigned i = 0; i < kCount; ++i) (*mine)[i] = static_cast<std::int32_t>(i + 1000 * rank);
  mine->sync_to_device();
  auto* increment = accl.start_kernel("increment", got, kWords);
  auto* send = accl.start_kernel("send", mine, kWords, 1 - rank);
  accl.wait(send);
  accl.wait(increment);
  got->sync_from_device();
  if (rank == 0)
    std::printf("%d to %d came in %.3f us\n", (*got)[0], (*got)[kCount - 1],
                static_cast<double>(accl.get_duration(increment)) / 1e3);
}
