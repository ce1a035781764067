// SPDX-License-Identifier: Apache-2.0
// Deadlock reports: which kernel waits for which, over ports and channels, and the wait-for cycle.
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

/// Returns the only kernel of a rank that has not ended; null if there is none or more than one.
const Program::Running* Program::only_kernel_of(unsigned rank, const Running* but) const {
  const Running* found = nullptr;
  for (const auto& running : running_) {
    if (running.rank != rank || running.is_over || &running == but) continue;
    if (found) return nullptr;
    found = &running;
  }
  return found;
}

/// Returns the kernel that uses a port or has opened it, otherwise the only candidate.
const Program::Running* Program::kernel_of(unsigned rank, EndpointKind kind, unsigned port, Blocked& blocked) const {
  const auto* state = port_of(rank, kind, port);
  if (state && (state->user || state->opener)) return state->user ? state->user : state->opener;
  blocked.because("no kernel of rank " + std::to_string(rank) + " has opened that port for " + kind_name(kind));
  return state ? only_kernel_of(rank) : nullptr;
}

/// Number of elements in flight: sent in packets and not yet popped.
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

/// If packets are blocked although both of their kernels wait for them, another kernel does not pop its port, and the
/// network is full of its packets. Returns that kernel; of several, the one with the most elements relative to its buffer.
const Program::Running* Program::waited_for_by_network(Blocked& blocked) const {
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
      of = "the network is full of elements for port " + std::to_string(port) + " of rank " + std::to_string(rank);
      Blocked ignored;
      found = kernel_of(rank, EndpointKind::pop, port, ignored);
    }
  if (!of.empty()) blocked.because(of);
  return found;
}

const Program::Running* Program::waited_for_to_push(const Running& running, Blocked& blocked) const {
  const auto& state = *running.now.port;
  const auto& channel = state.now;
  const auto port = state.port.endpoint.port;
  if (config_.synchronous) {
    blocked.because("it returns when the element is popped (protocol synchronous)");
    const auto peer = static_cast<unsigned>(channel.peer);
    const auto* other = port_of(peer, EndpointKind::pop, port);
    const bool takes = other && other->in_call() && static_cast<unsigned>(other->now.peer) == running.rank;
    return takes ? waited_for_by_network(blocked) : kernel_of(peer, EndpointKind::pop, port, blocked);
  }
  if (config_.eager && channel.count > state.port.endpoint.buffer * most_elements(config_.packet_bytes, channel.size))
    blocked.because("the channel is eager, and its message of " + std::to_string(channel.count) +
                    " elements is larger than the buffers on its path");
  // The current destination, or, if it has received everything, an earlier one whose credits are missing.
  std::vector<unsigned> peers{static_cast<unsigned>(channel.peer)};
  for (const auto& [peer, elements] : state.passed) peers.push_back(peer);
  for (const auto peer : peers) {
    const auto* other = port_of(peer, EndpointKind::pop, port);
    const bool takes = other && other->in_call() && static_cast<unsigned>(other->now.peer) == running.rank;
    if (!other || (!takes && under_way(running.rank, peer, port) > 0))
      return kernel_of(peer, EndpointKind::pop, port, blocked);
  }
  return waited_for_by_network(blocked);
}

const Program::Running* Program::waited_for_to_pop(const Running& running, Blocked& blocked) const {
  const auto& channel = running.now.port->now;
  const auto port = running.now.port->port.endpoint.port;
  const auto peer = static_cast<unsigned>(channel.peer);
  const auto* other = port_of(peer, EndpointKind::push, port);
  const bool gives = other && other->in_call() && static_cast<unsigned>(other->now.peer) == running.rank;
  if (gives || under_way(peer, running.rank, port) > 0) return waited_for_by_network(blocked);
  if (other && other->unfinished && !other->circuit && static_cast<unsigned>(other->now.peer) == running.rank)
    if (const auto kept = (other->now.done - other->flushed) % other->per_packet)
      blocked.because("rank " + std::to_string(peer) + " has pushed it into a packet that is not full (" +
                      std::to_string(kept) + " of " + std::to_string(other->per_packet) +
                      " elements): SMI_Push_flush(channel, data, 1) instead of SMI_Push sends it");
  return kernel_of(peer, EndpointKind::push, port, blocked);
}

/// Returns the kernel of a rank that has not begun the collective or has stopped in the middle.
const Program::Running* Program::waited_for_by_all(const Running& running, Blocked& blocked) const {
  const auto& channel = running.now.port->now;
  const auto port = running.now.port->port.endpoint.port;
  const auto kind = endpoint_kind(channel.kind);
  if (const auto missing = agreement_.missing(channel.kind, port, running.rank); !missing.empty()) {
    blocked.because("not all ranks have begun it");
    return kernel_of(missing.front(), kind, port, blocked);
  }
  const Running* found = nullptr;
  std::uint32_t fewest = ~std::uint32_t{0};
  for (unsigned member = 0; member < channel.ranks; ++member) {
    const auto* state = port_of(channel.rank(member), kind, port);
    if (!state || !state->unfinished || state->in_call() || state->now.done >= fewest) continue;
    fewest = state->now.done;
    found = state->user;
  }
  return found ? found : waited_for_by_network(blocked);
}

/// Returns the kernel that `running` waits for, null if unknown, and describes the wait in `blocked`.
const Program::Running* Program::waited_for(const Running& running, Blocked& blocked) const {
  const auto& wait = running.kernel->waits();
  if (!running.now.port) {
    blocked.what = std::string("to ") + wait.to + " " + wait.other->stream();
    if (const auto* other = wait.other->kernel()) return static_cast<const Running*>(other->context());
    blocked.because("no kernel uses its other end");
    return only_kernel_of(running.rank, &running);
  }
  if (*running.now.note) {
    blocked.what = std::string("to ") + running.now.note;
    return nullptr;
  }
  const auto& channel = running.now.port->now;
  const auto of = ", port " + std::to_string(running.now.port->port.endpoint.port) + ", " + element(channel);
  if (channel.kind == SMI__SEND) {
    blocked.what = "to push to rank " + std::to_string(channel.peer) + of;
    return waited_for_to_push(running, blocked);
  }
  if (channel.kind == SMI__RECEIVE) {
    blocked.what = "to pop from rank " + std::to_string(channel.peer) + of;
    return waited_for_to_pop(running, blocked);
  }
  blocked.what = std::string("to ") + kind_name(endpoint_kind(channel.kind)) + of + ", root " +
                 std::to_string(channel.rank(channel.root));
  return waited_for_by_all(running, blocked);
}

Blocked Program::blocked(const Running& running) const {
  Blocked blocked{
      .who = running.kernel->name(), .since = running.kernel->waits().since, .where = line(running.now.place)};
  if (const auto* other = waited_for(running, blocked)) {
    blocked.on = other->kernel->name();
    if (other->is_over) blocked.because("that has ended");
  }
  if (const auto* state = running.now.port; state && state->port.waits)
    if (const auto endpoint = state->port.waits(); !endpoint.empty()) blocked.because("its port waits for " + endpoint);
  return blocked;
}

/// Returns the kernels of a wait-for cycle; empty if there is none.
std::vector<const Program::Running*> Program::circle() const {
  std::vector<const Running*> way;
  for (const auto& running : running_) {
    way.clear();
    Blocked blocked;
    for (const auto* at = &running; at && !at->is_over && at->kernel->waits().to; at = waited_for(*at, blocked)) {
      const auto met = std::find(way.begin(), way.end(), at);
      if (met != way.end()) return {met, way.end()};
      way.push_back(at);
    }
  }
  return {};
}

Stuck Program::stuck() const {
  const auto round = circle();
  std::string text = "deadlock: no kernel can proceed";
  std::vector<Blocked> all;
  const auto add = [&](const Running& running) -> std::string {
    const auto& last = all.emplace_back(blocked(running));
    return last.line("cycle " + std::to_string((last.since - clock_.clock.phase) / clock_.clock.period));
  };
  for (const auto& running : running_) {
    if (running.is_over || !running.kernel->waits().to || running.kernel->serves()) continue;
    if (std::find(round.begin(), round.end(), &running) != round.end()) continue;
    const auto said = add(running);
    if (all.size() <= kLines) text += "\n  " + said;
  }
  if (all.size() > kLines) text += "\n  and " + std::to_string(all.size() - kLines) + " more";
  if (!round.empty()) text += "\n  wait-for cycle:";
  for (const auto* running : round) text += "\n    " + add(*running);
  Stuck stuck(text, std::move(all));
  stuck.ticks_per_second = static_cast<double>(config_.ticks_per_second);
  return stuck;
}

std::uint64_t Program::PortState::moved(unsigned other) const {
  const auto ended = passed.find(other);
  const bool is_now = unfinished && static_cast<unsigned>(now.peer) == other;
  return (ended == passed.end() ? 0 : ended->second) + (is_now ? now.done : 0);
}

/// Warns of data that no kernel has received. Kernels that serve may still receive or send more.
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
        if (pipe->size() == 0 || serves(end(pipe->reader)) || serves(end(pipe->writer))) continue;
        warn(pipe->name + ": " + std::to_string(pipe->size()) + " of " + std::to_string(pipe->pushed()) +
             " values are never read (written by kernel " + end(pipe->writer)->name + ")");
      }
  }
}

}  // namespace thalweg::smi
