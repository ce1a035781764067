// SPDX-License-Identifier: Apache-2.0
// Heat equation on a bar that is hot at one end: each rank has a part, and exchanges boundary elements with its
// neighbours.
#include <accl.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  constexpr unsigned kCells = 4096, kSteps = 50;
  constexpr auto kType = ACCL::dataType::float32;
  ACCL::ACCL accl;
  const unsigned rank = ACCL::local_rank(), ranks = ACCL::world_size();
  accl.initialize(ACCL::world(), static_cast<int>(rank));

  auto bar = accl.create_buffer<float>(kCells + 2, kType);  // with one element of each neighbour
  auto change = accl.create_buffer<float>(1, kType);
  auto left = bar->slice(0, 1), first = bar->slice(1, 2), last = bar->slice(kCells, kCells + 1),
       right = bar->slice(kCells + 1, kCells + 2);
  if (rank == 0) (*bar)[0] = 100;

  std::uint64_t exchange_ns = 0, sum_ns = 0;
  for (unsigned step = 0; step < kSteps; ++step) {
    std::vector<ACCL::ACCLRequest*> open;
    const auto swap = [&](ACCL::BaseBuffer& own, ACCL::BaseBuffer& others, unsigned with) {
      open.push_back(accl.send(own, 1, with, step, ACCL::GLOBAL_COMM, false, ACCL::dataType::none, true));
      open.push_back(accl.recv(others, 1, with, step, ACCL::GLOBAL_COMM, false, ACCL::dataType::none, true));
    };
    if (rank > 0) swap(*first, *left, rank - 1);
    if (rank + 1 < ranks) swap(*last, *right, rank + 1);
    for (auto* request : open) accl.wait(request);
    for (auto* request : open) exchange_ns = std::max(exchange_ns, accl.get_duration(request));

    float before = (*bar)[0], total = 0;
    for (unsigned i = 1; i <= kCells; ++i) {
      const float now = (*bar)[i], after = now + 0.25F * (before - 2 * now + (*bar)[i + 1]);
      total += std::abs(after - now);
      before = now;
      (*bar)[i] = after;
    }
    (*change)[0] = total;
    sum_ns = accl.get_duration(accl.allreduce(*change, *change, 1, ACCL::reduceFunction::SUM));
  }
  if (rank == 0)
    std::printf("change %.4f after %u steps; an exchange takes %.2f us, the sum %.2f us\n", (*change)[0], kSteps,
                static_cast<double>(exchange_ns) / 1e3, static_cast<double>(sum_ns) / 1e3);
}
