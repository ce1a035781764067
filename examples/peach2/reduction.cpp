// SPDX-License-Identifier: Apache-2.0
// All nodes of a cluster reduce records of their GPUs, and get the result in a GPU.
//
//     thalweg cluster describe peach2-ring-4 -o peach2-ring-4.cluster
//     reduction [FILE]
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "cluster/description_file.hpp"
#include "peach2/peach2.hpp"

using namespace thalweg;
using namespace thalweg::peach2;

namespace {

constexpr std::size_t kRecords = 1024;
constexpr std::uint64_t kResult = 1 << 20;
using Record = std::array<float, 8>;

void run(const char* file) {
  const Description description = load_description(file);
  Fabric fabric(description, tables_of(description));
  Peach2 hubs(fabric);

  std::vector<unsigned> nodes(fabric.nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  auto group = hubs.group(nodes, kResult, {}, {kGpu0});
  std::vector<Outcome> seen;
  for (const unsigned node : nodes) {
    const std::vector<Record> records(kRecords, Record{1, static_cast<float>(node)});
    fabric.node(node).host().set(kGpu0, 0, std::as_bytes(std::span(records)));
    hubs.reduce(group, node, {{memory_address(node, kGpu0), sizeof(Record) * records.size()}});
    hubs.flush(node, 0);
    seen.push_back(hubs.kernel(node, 0, {{memory_address(node, kGpu0, kResult), sizeof(Record)}}));
  }
  hubs.run();
  if (const auto errors = hubs.settle() + hubs.take_stale(); !errors.empty()) throw std::runtime_error(errors);

  for (const unsigned node : nodes) {
    Record sum;
    std::memcpy(sum.data(), seen[node]->seen.front().data(), sizeof sum);
    const double us = static_cast<double>(seen[node]->end) / fabric.cycles_per_second() * 1e6;
    std::printf("GPU 0 of node %u has %.0f and %.0f after %.2f us\n", node, sum[0], sum[1], us);
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    run(count > 1 ? words[1] : "peach2-ring-4.cluster");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reduction: %s\n", error.what());
    return 1;
  }
}
