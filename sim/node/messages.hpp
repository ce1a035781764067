// Point-to-point messages on their way, from submission to arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/engine.hpp"

namespace thalweg {

using MessageId = std::uint32_t;

class Messages {
 public:
  struct Message {
    MessageRequest request;
    std::uint64_t to_send = 0;    ///< bytes that are still in the sender's host memory
    std::uint64_t to_arrive = 0;  ///< bytes that are not yet in the receiver's
  };

  [[nodiscard]] MessageId add(const MessageRequest& request) {
    MessageId id = static_cast<MessageId>(messages_.size());
    if (free_.empty()) {
      messages_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    messages_[id] = {request, request.bytes, request.bytes};
    return id;
  }
  void remove(MessageId id) { free_.push_back(id); }
  [[nodiscard]] Message& operator[](MessageId id) { return messages_[id]; }

 private:
  std::vector<Message> messages_;
  std::vector<MessageId> free_;
};

}  // namespace thalweg
