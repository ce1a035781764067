// SPDX-License-Identifier: Apache-2.0
// Why nothing can go on: which kernel waits for which, over ports and channels, and the circle in it.
#include <algorithm>

#include "smi/running.hpp"

namespace thalweg::smi {

namespace {

constexpr std::size_t kLines = 20;

std::string element(const Channel& channel) {
  return "element " + std::to_string(channel.done + 1) + " of " + std::to_string(channel.calls);
}

}  // namespace

bool Program::PortState::in_call() const {
  return user && !user->is_over && user->now.port == this;
}

const Program::PortState* Program::port_of(unsigned rank, EndpointKind kind, unsigned port) const {
  for (const auto& state : ranks_[rank].ports)
    if (state.port.endpoint.kind == kind && state.port.endpoint.port == port) return &state;
  return nullptr;
}

/// The one kernel of a rank that has not ended; null where there are others.
const Program::Running* Program::only_kernel_of(unsigned rank, const Running* but) const {
  const Running* found = nullptr;
  for (const auto& running : running_) {
    if (running.rank != rank || running.is_over || &running == but) continue;
    if (found) return nullptr;
    found = &running;
  }
  return found;
}

/// Who uses a port, has opened it, or is the only one who can.
const Program::Running* Program::kernel_of(unsigned rank, EndpointKind kind, unsigned port, std::string& why) const {
  const auto* state = port_of(rank, kind, port);
  if (state && (state->user || state->opener)) return state->user ? state->user : state->opener;
  why += "; no kernel of rank " + std::to_string(rank) + " has opened that port for " + kind_name(kind);
  return state ? only_kernel_of(rank) : nullptr;
}

/// Elements that have left a rank's kernel in packets, and have not been popped.
std::uint64_t Program::under_way(unsigned from, unsigned to, unsigned port) const {
  const auto ended = [](const PortState& state, unsigned other) {
    const auto found = state.passed.find(other);
    return found == state.passed.end() ? 0 : found->second;
  };
  const auto here = [](const PortState& state, unsigned other) {
    return state.unfinished && static_cast<unsigned>(state.now.peer) == other;
  };
  const auto *sender = port_of(from, EndpointKind::push, port), *receiver = port_of(to, EndpointKind::pop, port);
  std::uint64_t left = 0, popped = 0;
  if (sender) {
    left = ended(*sender, to);
    if (here(*sender, to)) left += sender->now.done - (sender->now.done - sender->flushed) % sender->per_packet;
  }
  if (receiver) popped = ended(*receiver, from) + (here(*receiver, from) ? receiver->now.done : 0);
  return left > popped ? left - popped : 0;
}

/// Where packets stand still though both of their kernels wait for them: the kernel that does not take what has come to its port, which
/// fills the network; of several, the one with the most for its buffer.
const Program::Running* Program::waited_for_by_network(std::string& why) const {
  const Running* found = nullptr;
  double most = 0;
  std::string of;
  for (unsigned rank = 0; rank < ranks(); ++rank)
    for (const auto& state : ranks_[rank].ports) {
      if (state.port.endpoint.kind != EndpointKind::pop || state.in_call()) continue;
      const auto port = state.port.endpoint.port;
      std::uint64_t elements = 0;
      unsigned per_packet = 1;
      for (unsigned from = 0; from < ranks(); ++from)
        if (const auto there = under_way(from, rank, port)) {
          elements += there;
          per_packet = std::max(per_packet, port_of(from, EndpointKind::push, port)->per_packet);
        }
      const auto full = static_cast<double>(elements) / (state.port.endpoint.buffer * per_packet);
      if (full <= most) continue;
      most = full;
      of = "; the network is full of elements for port " + std::to_string(port) + " of rank " + std::to_string(rank);
      std::string not_open;
      found = kernel_of(rank, EndpointKind::pop, port, not_open);
    }
  why += of;
  return found;
}

const Program::Running* Program::waited_for_to_push(const Running& running, std::string& why) const {
  const auto& state = *running.now.port;
  const auto& channel = state.now;
  const auto port = state.port.endpoint.port;
  if (config_.synchronous) {
    why += "; it returns when the element is popped (protocol synchronous)";
    const auto peer = static_cast<unsigned>(channel.peer);
    const auto* other = port_of(peer, EndpointKind::pop, port);
    const bool takes = other && other->in_call() && static_cast<unsigned>(other->now.peer) == running.rank;
    return takes ? waited_for_by_network(why) : kernel_of(peer, EndpointKind::pop, port, why);
  }
  if (config_.eager && channel.count > state.port.endpoint.buffer * most_elements(config_.packet_bytes, channel.size))
    why += "; the channel is eager, and its message of " + std::to_string(channel.count) +
           " elements is larger than the buffers on its way";
  // The one that it pushes to, or, where that has got all, one of those before, whose credits are missing.
  std::vector<unsigned> peers{static_cast<unsigned>(channel.peer)};
  for (const auto& [peer, elements] : state.passed) peers.push_back(peer);
  for (const auto peer : peers) {
    const auto* other = port_of(peer, EndpointKind::pop, port);
    const bool takes = other && other->in_call() && static_cast<unsigned>(other->now.peer) == running.rank;
    if (!other || (!takes && under_way(running.rank, peer, port) > 0))
      return kernel_of(peer, EndpointKind::pop, port, why);
  }
  return waited_for_by_network(why);
}

const Program::Running* Program::waited_for_to_pop(const Running& running, std::string& why) const {
  const auto& channel = running.now.port->now;
  const auto port = running.now.port->port.endpoint.port;
  const auto peer = static_cast<unsigned>(channel.peer);
  const auto* other = port_of(peer, EndpointKind::push, port);
  const bool gives = other && other->in_call() && static_cast<unsigned>(other->now.peer) == running.rank;
  if (gives || under_way(peer, running.rank, port) > 0) return waited_for_by_network(why);
  if (other && other->unfinished && !other->circuit && static_cast<unsigned>(other->now.peer) == running.rank)
    if (const auto kept = (other->now.done - other->flushed) % other->per_packet)
      why += "; rank " + std::to_string(peer) + " has pushed it into a packet that is not full (" +
             std::to_string(kept) + " of " + std::to_string(other->per_packet) +
             " elements): SMI_Push_flush(channel, data, 1) instead of SMI_Push sends it";
  return kernel_of(peer, EndpointKind::push, port, why);
}

/// A rank that has not begun it, or has stopped in the middle.
const Program::Running* Program::waited_for_by_all(const Running& running, std::string& why) const {
  const auto& channel = running.now.port->now;
  const auto port = running.now.port->port.endpoint.port;
  const auto kind = endpoint_kind(channel.kind);
  if (const auto missing = agreement_.missing(channel.kind, port, running.rank); !missing.empty()) {
    why += "; not all ranks have begun it";
    return kernel_of(missing.front(), kind, port, why);
  }
  const Running* found = nullptr;
  std::uint32_t fewest = ~std::uint32_t{0};
  for (unsigned member = 0; member < channel.ranks; ++member) {
    const auto* state = port_of(channel.rank(member), kind, port);
    if (!state || !state->unfinished || state->in_call() || state->now.done >= fewest) continue;
    fewest = state->now.done;
    found = state->user;
  }
  return found ? found : waited_for_by_network(why);
}

/// Whom it waits for, as far as that can be said, and how.
const Program::Running* Program::waited_for(const Running& running, std::string& why) const {
  const auto& wait = running.kernel->waits();
  if (!running.now.port) {
    why = std::string(wait.to) + " " + wait.other->stream();
    if (const auto* other = wait.other->kernel()) return static_cast<const Running*>(other->context());
    why += ", whose other end no kernel uses";
    return only_kernel_of(running.rank, &running);
  }
  if (*running.now.note) {
    why = running.now.note;
    return nullptr;
  }
  const auto& channel = running.now.port->now;
  const auto of = ", port " + std::to_string(running.now.port->port.endpoint.port) + ", " + element(channel);
  if (channel.kind == SMI__SEND) {
    why = "push to rank " + std::to_string(channel.peer) + of;
    return waited_for_to_push(running, why);
  }
  if (channel.kind == SMI__RECEIVE) {
    why = "pop from rank " + std::to_string(channel.peer) + of;
    return waited_for_to_pop(running, why);
  }
  why = kind_name(endpoint_kind(channel.kind)) + of + ", root " + std::to_string(channel.rank(channel.root));
  return waited_for_by_all(running, why);
}

std::string Program::waits(const Running& running) const {
  std::string why;
  const auto* other = waited_for(running, why);
  std::string text = "rank " + std::to_string(running.rank) + ", kernel " + running.name + ", waits since cycle " +
                     std::to_string((running.kernel->waits().since - clock_.clock.phase) / clock_.clock.period) +
                     " to " + why;
  if (other) {
    text += ", for kernel " + other->name + " of rank " + std::to_string(other->rank);
    if (other->is_over) text += ", which has ended";
  }
  if (const auto* state = running.now.port; state && state->port.waits)
    if (const auto endpoint = state->port.waits(); !endpoint.empty()) text += "; its port waits for " + endpoint;
  return text + " (" + running.now.place.file + ":" + std::to_string(running.now.place.line) + ")";
}

/// The kernels that wait for each other in a circle; none where there is no such circle.
std::vector<const Program::Running*> Program::circle() const {
  std::vector<const Running*> way;
  for (const auto& running : running_) {
    way.clear();
    std::string why;
    for (const auto* at = &running; at && !at->is_over && at->kernel->waits().to; at = waited_for(*at, why)) {
      const auto met = std::find(way.begin(), way.end(), at);
      if (met != way.end()) return {met, way.end()};
      way.push_back(at);
    }
  }
  return {};
}

std::string Program::report() const {
  const auto round = circle();
  std::string text = "nothing can go on";
  std::size_t lines = 0, left_out = 0;
  for (const auto& running : running_) {
    if (running.is_over || !running.kernel->waits().to || running.kernel->serves()) continue;
    if (std::find(round.begin(), round.end(), &running) != round.end()) continue;
    if (lines++ < kLines)
      text += "\n  " + waits(running);
    else
      ++left_out;
  }
  if (left_out) text += "\n  and " + std::to_string(left_out) + " more";
  if (round.empty()) return text;
  text += "\n  in a circle:";
  for (const auto* running : round) text += "\n    " + waits(*running);
  return text;
}

std::uint64_t Program::PortState::moved(unsigned other) const {
  const auto ended = passed.find(other);
  const bool is_now = unfinished && static_cast<unsigned>(now.peer) == other;
  return (ended == passed.end() ? 0 : ended->second) + (is_now ? now.done : 0);
}

/// Data that no kernel has taken. Kernels that serve may still take or give more.
void Program::warn_of_unread() {
  const auto serves = [](const Running* user) { return user && !user->is_over; };
  for (unsigned from = 0; from < ranks(); ++from) {
    for (const auto& state : ranks_[from].ports) {
      if (state.port.endpoint.kind != EndpointKind::push || !state.user || serves(state.user)) continue;
      const auto port = state.port.endpoint.port;
      for (const auto& [to, pushed] : state.passed) {
        const auto* other = port_of(to, EndpointKind::pop, port);
        if (!other || serves(other->user)) continue;
        if (const auto popped = other->moved(from); popped < pushed)
          warn("rank " + std::to_string(to) + ", port " + std::to_string(port) + ": " +
               std::to_string(pushed - popped) + " of " + std::to_string(pushed) + " elements from rank " +
               std::to_string(from) + " are never popped (pushed by kernel " + state.user->name + ", " +
               line(state.used) + ")");
      }
    }
    for (const auto& [name, library] : ranks_[from].libraries)
      for (const auto* pipe : library->pipes()) {
        const auto end = [](const StreamEnd& of) {
          return of.kernel() ? static_cast<const Running*>(of.kernel()->context()) : nullptr;
        };
        if (pipe->unread() == 0 || serves(end(pipe->reader)) || serves(end(pipe->writer))) continue;
        warn(pipe->name + ": " + std::to_string(pipe->unread()) + " of " + std::to_string(pipe->written()) +
             " values are never read (written by kernel " + end(pipe->writer)->name + ")");
      }
  }
}

}  // namespace thalweg::smi
