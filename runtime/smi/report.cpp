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

/// Of a collective, the kernel of one of its ranks that has used fewest elements, or has not begun.
const Program::Running* Program::behind(const Channel& channel, unsigned port, const Running& self) const {
  const Running* found = nullptr;
  std::uint64_t fewest = ~std::uint64_t{0};
  const auto kind = endpoint_kind(channel.kind);
  for (unsigned member = 0; member < channel.ranks; ++member) {
    const auto rank = channel.rank(member);
    if (rank == self.rank) continue;
    for (const auto& state : ranks_[rank].ports) {
      if (state.port.endpoint.kind != kind || state.port.endpoint.port != port || !state.opener) continue;
      const bool here = state.unfinished && state.now.ranks == channel.ranks && state.now.first == channel.first;
      const std::uint64_t done = here ? 1 + state.now.done : 0;
      if (done < fewest) {
        fewest = done;
        found = state.user ? state.user : state.opener;
      }
    }
  }
  return found;
}

/// Whom it waits for, as far as that can be said, and how.
const Program::Running* Program::waited_for(const Running& running, std::string& why) const {
  const auto& wait = running.kernel->waits();
  if (!running.now.port) {
    why = std::string(wait.to) + " " + wait.other->stream();
    const auto* other = wait.other->kernel();
    if (!other) why += ", whose other end no kernel uses";
    return other ? static_cast<const Running*>(other->context()) : nullptr;
  }
  const auto& state = *running.now.port;
  const auto& channel = state.now;
  const auto port = state.port.endpoint.port;
  if (*running.now.note) {
    why = running.now.note;
    return nullptr;
  }
  if (channel.kind == SMI__SEND || channel.kind == SMI__RECEIVE) {
    const bool sends = channel.kind == SMI__SEND;
    const auto peer = static_cast<unsigned>(channel.peer);
    why = std::string(sends ? "push to" : "pop from") + " rank " + std::to_string(peer) + ", port " +
          std::to_string(port) + ", " + element(channel);
    if (sends && config_.eager &&
        channel.count > state.port.endpoint.buffer * most_elements(config_.packet_bytes, channel.size))
      why += "; the channel is eager, and its message of " + std::to_string(channel.count) +
             " elements is larger than the buffers on its way";
    const auto wanted = sends ? EndpointKind::pop : EndpointKind::push;
    for (const auto& other : ranks_[peer].ports)
      if (other.port.endpoint.kind == wanted && other.port.endpoint.port == port) {
        if (other.user) return other.user;
        if (other.opener) return other.opener;
      }
    why += "; no kernel there has opened that port for " + kind_name(wanted);
    return nullptr;
  }
  const auto root = channel.rank(channel.root);
  why = kind_name(endpoint_kind(channel.kind)) + " on port " + std::to_string(port) + ", " + element(channel) +
        ", root " + std::to_string(root);
  const bool is_root = channel.own == channel.root;
  const Running* other = nullptr;
  if (!is_root)
    for (const auto& at_root : ranks_[root].ports)
      if (at_root.port.endpoint.kind == endpoint_kind(channel.kind) && at_root.port.endpoint.port == port)
        other = at_root.user ? at_root.user : at_root.opener;
  const auto* last = behind(channel, port, running);
  if (is_root || (other && other->now.port && other->now.port->port.endpoint.port == port)) other = last;
  if (!other) why += "; not all ranks have begun it";
  return other;
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

std::string Program::report() const {
  std::string text = "nothing can go on";
  std::size_t lines = 0, left_out = 0;
  std::vector<const Running*> round;
  for (const auto& running : running_) {
    if (running.is_over || !running.kernel->waits().to) continue;
    if (round.empty()) {
      std::vector<const Running*> way;
      std::string why;
      for (const auto* at = &running; at && !at->is_over && at->kernel->waits().to; at = waited_for(*at, why)) {
        const auto met = std::find(way.begin(), way.end(), at);
        if (met != way.end()) {
          round.assign(met, way.end());
          break;
        }
        way.push_back(at);
      }
    }
    if (running.kernel->serves()) continue;
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

}  // namespace thalweg::smi
