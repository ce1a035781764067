// SPDX-License-Identifier: Apache-2.0
// MPI message matching in virtual time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

/// A message; `id` is the sender's request, for synchronous sends.
struct Message {
  std::uint64_t id = 0;
  std::uint32_t communicator = 0;
  std::int32_t source = 0;  ///< rank in the communicator
  std::int32_t tag = 0;
  std::uint32_t sender = 0, receiver = 0;  ///< world ranks
  std::uint64_t bytes = 0;
  std::uint64_t payload = 0;
  bool synchronous = false;
  Time arrived = 0;
};

/// A posted request for a message: a receive takes it, a probe only reports it, a matched probe reserves it for a later receive.
struct Post {
  std::uint64_t id = 0;
  std::uint32_t communicator = 0;
  std::int32_t source = kAny;
  std::int32_t tag = kAny;
  bool takes = true;
  Time at = 0;

  [[nodiscard]] bool accepts(const Message& message) const {
    return communicator == message.communicator && (source == kAny || source == message.source) &&
           (tag == kAny || tag == message.tag);
  }
};

/// Unexpected messages and posted receives of one rank. Messages from one sender arrive in the order of sending.
class Mailbox {
 public:
  /// Called for each match, with the post and its message.
  using Serve = std::function<void(const Post&, const Message&)>;

  /// Delivers an arrived message to every probe that accepts it, up to the first receive that takes it.
  void arrive(const Message& message, const Serve& serve);
  /// Matches the post with the earliest message that it accepts, or queues it.
  void post(const Post& post, const Serve& serve);
  /// Like post(), but drops the post if no matching message had arrived by its time. Returns whether it was matched.
  bool try_post(const Post& post, const Serve& serve);
  /// Cancels a post; false if it no longer waits.
  bool withdraw(std::uint64_t id);
  /// Number of arrived messages of a communicator that have not been received.
  [[nodiscard]] std::uint64_t left(std::uint32_t communicator) const;

 private:
  bool serve_arrived(const Post& post, Time until, const Serve& serve);

  std::deque<Message> arrived_;
  std::deque<Post> posted_;
};

}  // namespace thalweg::mpi
