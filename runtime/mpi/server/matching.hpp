// SPDX-License-Identifier: Apache-2.0
// MPI's matching of messages and receives, in virtual time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

/// A message as it was sent; `id` is the sender's request, for synchronous sends.
struct Message {
  std::uint64_t id = 0;
  std::uint32_t communicator = 0;
  std::int32_t source = 0;  ///< rank of the communicator
  std::int32_t tag = 0;
  std::uint32_t sender = 0, receiver = 0;  ///< ranks of the world
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

/// The arrived messages and the posted receives of one rank. Messages of one sender arrive in the order of sending.
class Mailbox {
 public:
  /// Called for each post that is served: the post, and its message.
  using Serve = std::function<void(const Post&, const Message&)>;

  /// A message has arrived: serves every probe that accepts it, up to the first receive that takes it.
  void arrive(const Message& message, const Serve& serve);
  /// Serves the post with the earliest message for it, or keeps it.
  void post(const Post& post, const Serve& serve);
  /// The same, but forgets the post where nothing had arrived for it at its time; returns whether it was served.
  bool try_post(const Post& post, const Serve& serve);
  /// Withdraws a post; false where it is not waiting any more.
  bool withdraw(std::uint64_t id);
  /// Messages of a communicator that nobody has taken.
  [[nodiscard]] std::uint64_t left(std::uint32_t communicator) const;

 private:
  bool serve_arrived(const Post& post, Time until, const Serve& serve);

  std::deque<Message> arrived_;
  std::deque<Post> posted_;
};

}  // namespace thalweg::mpi
