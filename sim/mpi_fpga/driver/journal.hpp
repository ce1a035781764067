// SPDX-License-Identifier: Apache-2.0
// Journal of the host driver, for stopping and restarting a fabric: all submitted operations that have not completed on
// all ranks, with copies of their data, since a rank that has completed may have overwritten its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi_fpga {

class Journal {
 public:
  /// One rank's part of an operation.
  struct Part {
    StoredRequest request;
    std::vector<std::byte> data{};
    bool complete = false;            ///< completion reported to the caller
    bool running = true;              ///< in execution; if `complete`, repeated
    std::vector<std::byte> unused{};  ///< receive buffer for a repeated part
  };
  using Parts = std::vector<std::optional<Part>>;  ///< parts of one operation, by rank
  /// Log of one communicator.
  struct Log {
    std::deque<Parts> open;
    std::uint64_t closed = 0;              ///< operations before those in `open`
    std::vector<std::uint64_t> submitted;  ///< per rank
  };
  struct Message {
    MessageRequest request;
    bool injected = false;
  };

  /// Records a rank's part and returns its operation number.
  std::uint64_t submit(const CollectiveRequest& request, std::uint32_t ranks) {
    Log& log = logs_[request.context];
    log.submitted.resize(ranks);
    const std::uint64_t number = log.submitted[request.rank]++;
    while (log.open.size() <= number - log.closed) log.open.emplace_back(ranks);
    Part part{.request = StoredRequest(request), .data = {request.send.begin(), request.send.end()}};
    part.request.send = part.data;
    log.open[number - log.closed][request.rank] = std::move(part);
    return number;
  }
  void complete(ContextId context, std::uint64_t number, std::uint32_t rank) {
    Log& log = logs_[context];
    Part& completed = *log.open[number - log.closed][rank];
    completed.complete = true;
    completed.running = false;
    const auto is_done = [](const std::optional<Part>& part) { return part && !part->running; };
    for (; !log.open.empty() && std::ranges::all_of(log.open.front(), is_done); ++log.closed) log.open.pop_front();
  }
  /// True if parts of a communicator's operations are in execution, even if all were reported to the caller.
  [[nodiscard]] bool open(ContextId context) const {
    const auto entry = logs_.find(context);
    return entry != logs_.end() && !entry->second.open.empty();
  }
  void forget(ContextId context) { logs_.erase(context); }
  [[nodiscard]] std::map<ContextId, Log>& logs() { return logs_; }

  void send(const MessageRequest& request) { messages_[request.handle] = {request}; }
  /// False if it was already reported.
  [[nodiscard]] bool injected(Handle handle) {
    const auto entry = messages_.find(handle);
    return entry == messages_.end() || !std::exchange(entry->second.injected, true);
  }
  void arrived(Handle handle) { messages_.erase(handle); }
  [[nodiscard]] const std::map<Handle, Message>& messages() const { return messages_; }

 private:
  std::map<ContextId, Log> logs_;
  std::map<Handle, Message> messages_;
};

}  // namespace thalweg::mpi_fpga
