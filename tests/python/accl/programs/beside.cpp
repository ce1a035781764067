// SPDX-License-Identifier: Apache-2.0
// A program for test_kernels_beside_hosts.py: `beside WHAT`, with kernels of beside.cpp.
#include <accl.hpp>
#include <cstdio>
#include <string>

int main(int, char** words) try {
  const std::string what = words[1];
  const unsigned rank = ACCL::local_rank(), ranks = ACCL::world_size(), next = (rank + 1) % ranks;
  constexpr unsigned kCount = 100;
  constexpr auto kType = ACCL::dataType::int32;
  ACCL::ACCL accl;
  accl.initialize(ACCL::world(), static_cast<int>(rank));
  auto mine = accl.create_buffer<std::int32_t>(kCount, kType), got = accl.create_buffer<std::int32_t>(kCount, kType);
  auto few = accl.create_buffer_host<std::int32_t>(4, kType);
  for (unsigned i = 0; i < kCount; ++i) (*mine)[i] = static_cast<int>(1000 * rank + i);
  bool right = true;
  if (what == "streams") {
    accl.stream_put(*mine, kCount, next, 9);
    accl.copy_from_stream(*got, kCount);
    for (unsigned i = 0; i < kCount; ++i)
      right &= (*got)[i] == static_cast<int>(1000 * ((rank + ranks - 1) % ranks) + i) + 7;
  } else if (what == "announced") {
    if (rank == 1) accl.copy_from_stream(*got, 48);
    for (unsigned i = 0; i < 48; ++i) right &= (*got)[i] == (rank == 1 ? -5 + 7 : 0);
  } else if (what == "two") {
    mine->sync_to_device();
    auto* consumes = accl.start_kernel("consume", got, kCount, 1.5);
    auto* produces = accl.start_kernel("produce", *mine, kCount);
    right &= !accl.wait(consumes, std::chrono::milliseconds(0)) && accl.test(consumes);  // after a microsecond
    accl.wait(produces);
    accl.wait(consumes);
    got->sync_from_device();
    for (unsigned i = 0; i < kCount; ++i) right &= (*got)[i] == static_cast<int>(1.5 * (1000 * rank + i));
    right &= accl.get_duration(consumes) >= accl.get_duration(produces);
  } else if (what == "times out") {
    accl.set_timeout(50);
    right = false;
    try {
      accl.recv(*mine, kCount, next);
    } catch (const ACCL::call_error& error) {
      right = error.code() == static_cast<std::uint32_t>(ACCL::errorCode::RECEIVE_TIMEOUT_ERROR);
    }
  } else if (what == "wild") {
    accl.wait(accl.start_kernel("wild", *few));
  } else if (what == "stuck") {
    accl.wait(accl.start_kernel("produce", *mine, kCount));
  } else if (what == "wrong") {
    const auto says = [&](const auto&... arguments) {
      try {
        accl.start_kernel(arguments...);
      } catch (const std::invalid_argument& error) {
        std::puts(error.what());
      }
    };
    says("nothing");
    says("produce", 4);
    says("produce", 4, 4);
    says("adder");
    says("consume", got, 3'000'000'000U, 1.5);
    says("consume", got, ~std::uint64_t{0}, 1.5);
    says("consume", got, 2.5, 1.5F);
    says("consume", accl.create_buffer<float>(4, ACCL::dataType::float32), 4, 1.5);
  }
  std::fflush(stdout);
  return right ? 0 : 3;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
