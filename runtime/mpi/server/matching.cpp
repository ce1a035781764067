// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/matching.hpp"

#include <algorithm>

namespace thalweg::mpi {

void Mailbox::arrive(const Message& message, const Serve& serve) {
  for (auto post = posted_.begin(); post != posted_.end();) {
    if (!post->accepts(message)) {
      ++post;
      continue;
    }
    const Post served = *post;
    post = posted_.erase(post);
    serve(served, message);
    if (served.takes) return;
  }
  arrived_.push_back(message);
}

bool Mailbox::try_post(const Post& post, const Serve& serve) {
  return serve_arrived(post, post.at, serve);
}

void Mailbox::post(const Post& post, const Serve& serve) {
  if (!serve_arrived(post, kForever, serve)) posted_.push_back(post);
}

bool Mailbox::serve_arrived(const Post& post, Time until, const Serve& serve) {
  const auto found =
      std::ranges::find_if(arrived_, [&](const Message& m) { return post.accepts(m) && m.arrived <= until; });
  if (found == arrived_.end()) return false;
  const Message message = *found;
  if (post.takes) arrived_.erase(found);
  serve(post, message);
  return true;
}

std::uint64_t Mailbox::left(std::uint32_t communicator) const {
  return static_cast<std::uint64_t>(std::ranges::count(arrived_, communicator, &Message::communicator));
}

bool Mailbox::withdraw(std::uint64_t id) {
  return std::erase_if(posted_, [&](const Post& post) { return post.id == id; }) != 0;
}

}  // namespace thalweg::mpi
