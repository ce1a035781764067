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
  return user && !user->has_ended && user->current_call.port == this;
}

const Program::PortState* Program::port_of(unsigned rank, EndpointKind kind, unsigned port) const {
  for (const auto& state : ranks_[rank].ports)
    if (state.port.endpoint.kind == kind && state.port.endpoint.port == port) return &state;
  return nullptr;
}

/// Returns the only kernel of a rank that has not ended; null if there is none or more than one.
const Program::Running* Program::only_kernel_of(unsigned rank, const Running* except) const {
  const Running* found = nullptr;
  for (const auto& running : running_) {
    if (running.rank != rank || running.has_ended || &running == except) continue;
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
std::uint64_t Program::in_flight(unsigned from, unsigned to, unsigned port) const {
  const auto ended = [](const PortState& state, unsigned other) {
    const auto found = state.completed.find(other);
    return found == state.completed.end() ? 0 : found->second;
  };
  const auto is_current = [](const PortState& state, unsigned other) {
    return state.unfinished && static_cast<unsigned>(state.channel.peer) == other;
  };
  const auto *sender = port_of(from, EndpointKind::push, port), *receiver = port_of(to, EndpointKind::pop, port);
  std::uint64_t left = 0, popped = 0;
  if (sender) {
    left = ended(*sender, to);
    if (is_current(*sender, to))
      left += sender->channel.done - (sender->channel.done - sender->flushed) % sender->per_packet;
  }
  if (receiver) popped = ended(*receiver, from) + (is_current(*receiver, from) ? receiver->channel.done : 0);
  return left > popped ? left - popped : 0;
}

/// If packets are blocked although both of their kernels wait for them, another kernel does not pop its port, and the
/// network is full of its packets. Returns that kernel; of several, the one with the most elements relative to its buffer.
const Program::Running* Program::waited_for_by_network(Blocked& blocked) const {
  const Running* found = nullptr;
  double max_fill = 0;
  std::string of;
  for (unsigned rank = 0; rank < ranks(); ++rank)
    for (const auto& state : ranks_[rank].ports) {
      if (state.port.endpoint.kind != EndpointKind::pop || state.in_call()) continue;
      const auto port = state.port.endpoint.port;
      std::uint64_t elements = 0;
      unsigned per_packet = 1;
      for (unsigned from = 0; from < ranks(); ++from)
        if (const auto elements_in_flight = in_flight(from, rank, port)) {
          elements += elements_in_flight;
          per_packet = std::max(per_packet, port_of(from, EndpointKind::push, port)->per_packet);
        }
      const auto fill = static_cast<double>(elements) / (state.port.endpoint.buffer * per_packet);
      if (fill <= max_fill) continue;
      max_fill = fill;
      of = "the network is full of elements for port " + std::to_string(port) + " of rank " + std::to_string(rank);
      Blocked ignored;
      found = kernel_of(rank, EndpointKind::pop, port, ignored);
    }
  if (!of.empty()) blocked.because(of);
  return found;
}

const Program::Running* Program::waited_for_to_push(const Running& running, Blocked& blocked) const {
  const auto& state = *running.current_call.port;
  const auto& channel = state.channel;
  const auto port = state.port.endpoint.port;
  if (config_.synchronous) {
    blocked.because("it returns when the element is popped (protocol synchronous)");
    const auto peer = static_cast<unsigned>(channel.peer);
    const auto* other = port_of(peer, EndpointKind::pop, port);
    const bool peer_pops = other && other->in_call() && static_cast<unsigned>(other->channel.peer) == running.rank;
    return peer_pops ? waited_for_by_network(blocked) : kernel_of(peer, EndpointKind::pop, port, blocked);
  }
  if (config_.eager && channel.count > state.port.endpoint.buffer * max_elements(config_.packet_bytes, channel.size))
    blocked.because("the channel is eager, and its message of " + std::to_string(channel.count) +
                    " elements is larger than the buffers on its path");
  // The current destination, or, if it has received everything, an earlier one whose credits are missing.
  std::vector<unsigned> peers{static_cast<unsigned>(channel.peer)};
  for (const auto& [peer, elements] : state.completed) peers.push_back(peer);
  for (const auto peer : peers) {
    const auto* other = port_of(peer, EndpointKind::pop, port);
    const bool peer_pops = other && other->in_call() && static_cast<unsigned>(other->channel.peer) == running.rank;
    if (!other || (!peer_pops && in_flight(running.rank, peer, port) > 0))
      return kernel_of(peer, EndpointKind::pop, port, blocked);
  }
  return waited_for_by_network(blocked);
}

const Program::Running* Program::waited_for_to_pop(const Running& running, Blocked& blocked) const {
  const auto& channel = running.current_call.port->channel;
  const auto port = running.current_call.port->port.endpoint.port;
  const auto peer = static_cast<unsigned>(channel.peer);
  const auto* other = port_of(peer, EndpointKind::push, port);
  const bool peer_pushes = other && other->in_call() && static_cast<unsigned>(other->channel.peer) == running.rank;
  if (peer_pushes || in_flight(peer, running.rank, port) > 0) return waited_for_by_network(blocked);
  if (other && other->unfinished && !other->circuit && static_cast<unsigned>(other->channel.peer) == running.rank)
    if (const auto buffered = (other->channel.done - other->flushed) % other->per_packet)
      blocked.because("rank " + std::to_string(peer) + " has pushed it into a packet that is not full (" +
                      std::to_string(buffered) + " of " + std::to_string(other->per_packet) +
                      " elements): SMI_Push_flush(channel, data, 1) instead of SMI_Push sends it");
  return kernel_of(peer, EndpointKind::push, port, blocked);
}

/// Returns the kernel of a rank that has not begun the collective or has stopped in the middle.
const Program::Running* Program::waited_for_by_all(const Running& running, Blocked& blocked) const {
  const auto& channel = running.current_call.port->channel;
  const auto port = running.current_call.port->port.endpoint.port;
  const auto kind = endpoint_kind(channel.kind);
  if (const auto missing = agreement_.missing(channel.kind, port, running.rank); !missing.empty()) {
    blocked.because("not all ranks have begun it");
    return kernel_of(missing.front(), kind, port, blocked);
  }
  const Running* found = nullptr;
  std::uint32_t fewest = ~std::uint32_t{0};
  for (unsigned member = 0; member < channel.ranks; ++member) {
    const auto* state = port_of(channel.rank(member), kind, port);
    if (!state || !state->unfinished || state->in_call() || state->channel.done >= fewest) continue;
    fewest = state->channel.done;
    found = state->user;
  }
  return found ? found : waited_for_by_network(blocked);
}

/// Returns the kernel that `running` waits for, null if unknown, and describes the wait in `blocked`.
const Program::Running* Program::waited_for(const Running& running, Blocked& blocked) const {
  const auto& wait = running.kernel->waits();
  if (!running.current_call.port) {
    blocked.what = std::string("to ") + wait.to + " " + wait.other->stream();
    if (const auto* other = wait.other->kernel()) return static_cast<const Running*>(other->context());
    blocked.because("no kernel uses its other end");
    return only_kernel_of(running.rank, &running);
  }
  if (*running.current_call.note) {
    blocked.what = std::string("to ") + running.current_call.note;
    return nullptr;
  }
  const auto& channel = running.current_call.port->channel;
  const auto of = ", port " + std::to_string(running.current_call.port->port.endpoint.port) + ", " + element(channel);
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
  Blocked blocked{.who = running.kernel->name(),
                  .since = running.kernel->waits().since,
                  .where = line(running.current_call.location)};
  if (const auto* other = waited_for(running, blocked)) {
    blocked.on = other->kernel->name();
    if (other->has_ended) blocked.because("that has ended");
  }
  if (const auto* state = running.current_call.port; state && state->port.waits)
    if (const auto endpoint = state->port.waits(); !endpoint.empty()) blocked.because("its port waits for " + endpoint);
  return blocked;
}

/// Returns the kernels of a wait-for cycle; empty if there is none.
std::vector<const Program::Running*> Program::wait_cycle() const {
  std::vector<const Running*> path;
  for (const auto& running : running_) {
    path.clear();
    Blocked blocked;
    for (const auto* at = &running; at && !at->has_ended && at->kernel->waits().to; at = waited_for(*at, blocked)) {
      const auto repeated = std::find(path.begin(), path.end(), at);
      if (repeated != path.end()) return {repeated, path.end()};
      path.push_back(at);
    }
  }
  return {};
}

Stuck Program::stuck() const {
  const auto cycle = wait_cycle();
  std::string text = "deadlock: no kernel can proceed";
  std::vector<Blocked> all;
  const auto add = [&](const Running& running) -> std::string {
    const auto& last = all.emplace_back(blocked(running));
    return last.line("cycle " + std::to_string((last.since - clock_.clock.phase) / clock_.clock.period));
  };
  for (const auto& running : running_) {
    if (running.has_ended || !running.kernel->waits().to || running.kernel->serves()) continue;
    if (std::find(cycle.begin(), cycle.end(), &running) != cycle.end()) continue;
    const auto line_of_kernel = add(running);
    if (all.size() <= kLines) text += "\n  " + line_of_kernel;
  }
  if (all.size() > kLines) text += "\n  and " + std::to_string(all.size() - kLines) + " more";
  if (!cycle.empty()) text += "\n  wait-for cycle:";
  for (const auto* running : cycle) text += "\n    " + add(*running);
  Stuck stuck(text, std::move(all));
  stuck.ticks_per_second = static_cast<double>(config_.ticks_per_second);
  return stuck;
}

std::uint64_t Program::PortState::transferred(unsigned other) const {
  const auto ended = completed.find(other);
  const bool is_current = unfinished && static_cast<unsigned>(channel.peer) == other;
  return (ended == completed.end() ? 0 : ended->second) + (is_current ? channel.done : 0);
}

/// Warns of data that no kernel has received. Kernels that serve may still receive or send more.
void Program::warn_of_unread() {
  const auto serves = [](const Running* user) { return user && !user->has_ended; };
  for (unsigned from = 0; from < ranks(); ++from) {
    for (const auto& state : ranks_[from].ports) {
      if (state.port.endpoint.kind != EndpointKind::push || !state.user || serves(state.user)) continue;
      const auto port = state.port.endpoint.port;
      for (const auto& [to, pushed] : state.completed) {
        const auto* other = port_of(to, EndpointKind::pop, port);
        if (!other || serves(other->user)) continue;
        if (const auto popped = other->transferred(from); popped < pushed)
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
