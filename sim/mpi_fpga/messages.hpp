// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages in flight, from submission to arrival.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi_fpga {

using MessageId = std::uint32_t;

/// The nodes of several partitions of a scheduler use it at once: between two advances, messages are added, and the ids of
/// those removed become free.
class Messages {
 public:
  explicit Messages(unsigned partitions = 1) : removed_(partitions) {}

  /// A row for the table of the receiving node.
  struct TableRow {
    std::uint32_t context;
    std::uint32_t generation;  ///< Node::generation of the context at sending
    Row row;
  };
  struct Message {
    MessageRequest request;
    std::uint64_t to_send = 0;            ///< bytes still in the sender's host memory
    std::uint64_t to_arrive = 0;          ///< bytes not yet in the receiver's host memory
    std::unique_ptr<const TableRow> row;  ///< the carried row; null for a rank's message
  };

  [[nodiscard]] MessageId add(const MessageRequest& request) {
    free_removed();
    MessageId id = static_cast<MessageId>(messages_.size());
    if (free_.empty()) {
      messages_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    messages_[id] = {request, request.bytes, request.bytes, nullptr};
    return id;
  }
  [[nodiscard]] MessageId add(const MessageRequest& request, const TableRow& row) {
    const MessageId id = add(request);
    messages_[id].row = std::make_unique<const TableRow>(row);
    return id;
  }
  void remove(MessageId id, unsigned partition) { removed_[partition].push_back(id); }
  [[nodiscard]] Message& operator[](MessageId id) { return messages_[id]; }

 private:
  void free_removed() {
    for (auto& removed : removed_) {
      free_.insert(free_.end(), removed.begin(), removed.end());
      removed.clear();
    }
  }

  std::vector<Message> messages_;
  std::vector<MessageId> free_;
  std::vector<std::vector<MessageId>> removed_;  ///< per partition
};

}  // namespace thalweg::mpi_fpga
