// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/driver/open_operations.hpp"

#include <string_view>

#include "core/require.hpp"

namespace thalweg::mpi_fpga {
namespace {

std::string quoted(const char* field, std::string_view expected, std::string_view got) {
  return text(field, ' ', got, ", others have ", expected);
}

/// First inconsistency between two ranks' parts of one operation.
std::optional<std::string> difference(const CollectiveRequest& expected, const CollectiveRequest& got) {
  const auto name = [](auto value) { return spec::name(value); };
  if (expected.collective != got.collective)
    return quoted("collective", name(expected.collective), name(got.collective));
  if (expected.algorithm != got.algorithm) return quoted("algorithm", name(expected.algorithm), name(got.algorithm));
  if (expected.root != got.root) return quoted("root", std::to_string(expected.root), std::to_string(got.root));
  if (expected.op != got.op) return quoted("operator", name(expected.op), name(got.op));
  if (expected.type != got.type) return quoted("type", name(expected.type), name(got.type));
  if (expected.vector != got.vector) return quoted("form", expected.vector ? "v" : "plain", got.vector ? "v" : "plain");
  if (!expected.vector && expected.count != got.count)
    return quoted("count", std::to_string(expected.count), std::to_string(got.count));
  return std::nullopt;
}

/// v-forms: an inconsistency between what one entered rank sends and another one expects to receive.
std::optional<std::string> count_mismatch(const OpenOperation& operation, std::uint32_t sender,
                                          std::uint32_t receiver) {
  const StoredRequest &from = *operation.parts[sender], &to = *operation.parts[receiver];
  const CollectiveRequest& first = operation.first;
  std::uint64_t sent_count = 0, received_count = 0;
  switch (first.collective) {
    case spec::Collective::gather:
      if (receiver != first.root) return std::nullopt;
      [[fallthrough]];
    case spec::Collective::allgather:
      sent_count = from.count;
      received_count = to.receive_blocks[sender].count;
      break;
    case spec::Collective::scatter:
      if (sender != first.root) return std::nullopt;
      [[fallthrough]];
    case spec::Collective::reduce_scatter:
      sent_count = from.send_blocks[receiver].count;
      received_count = to.count;
      break;
    default:
      sent_count = from.send_blocks[receiver].count;
      received_count = to.receive_blocks[sender].count;
  }
  if (sent_count == received_count) return std::nullopt;
  return text("rank ", sender, " has ", sent_count, first.type == spec::Datatype::byte ? " bytes" : " elements",
              " for rank ", receiver, ", which takes ", received_count);
}

/// First inconsistency between a rank's part and earlier ranks' parts.
std::optional<std::string> compare(OpenOperation& operation, const CollectiveRequest& request) {
  if (const auto mismatch = difference(operation.first, request))
    return text(*mismatch, " (rank ", operation.first.rank, ")");
  if (!request.vector) return std::nullopt;
  operation.parts.resize(operation.ranks.size());
  operation.parts[request.rank].emplace(request);
  for (std::uint32_t other = 0; other < operation.ranks.size(); ++other) {
    if (other != request.rank && !operation.ranks[other]) continue;
    if (auto mismatch = count_mismatch(operation, request.rank, other)) return mismatch;
    if (auto mismatch = count_mismatch(operation, other, request.rank)) return mismatch;
  }
  return std::nullopt;
}

}  // namespace

bool OpenOperations::enter(const CollectiveRequest& request, Tick at, std::optional<Mismatch>& mismatch) {
  if (broken_) return false;
  const std::uint64_t number = submitted_[request.rank]++, index = number - complete_;
  if (index == open_.size())
    open_.push_back({.first = request, .at = at, .ranks = std::vector<bool>(submitted_.size())});
  OpenOperation& operation = open_[index];
  if (const auto found = compare(operation, request)) {
    broken_ = true;
    if (!mismatch) mismatch = Mismatch{request.context, request.rank, number, *found};
    return false;
  }
  operation.ranks[request.rank] = true;
  ++operation.count;
  for (; !open_.empty() && open_.front().count == submitted_.size(); ++complete_) open_.pop_front();
  return true;
}

}  // namespace thalweg::mpi_fpga
