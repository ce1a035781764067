// SPDX-License-Identifier: Apache-2.0
// Moves elements between a program's kernels and the endpoints.
#include <algorithm>
#include <cstring>

#include "smi/running.hpp"

namespace thalweg::smi {

void Program::finish(PortState& state, Channel& channel) {
  ++channel.done;
  ++elements_;
  state.channel.done = channel.done;
  if (channel.done < channel.calls) return;
  state.unfinished = false;
  if (channel.kind == SMI__SEND || channel.kind == SMI__RECEIVE)
    state.completed[static_cast<unsigned>(channel.peer)] += channel.count;
}

void Program::check_type(const Running& running, const Channel& channel, const smi__variable& value,
                         const smi__location& location) {
  if (value.type == 0 || value.type == channel.type) return;
  warn(line(location) + ": kernel " + running.name + ": the channel (" + channel.file + ":" +
       std::to_string(channel.line) + ") is of " + type_name(channel.type) + ", the variable is " +
       (value.type == 6 ? "of no SMI datatype" : "one of " + type_name(static_cast<unsigned>(value.type))));
}

void Program::push_element(PortState& state, const Channel& channel, const smi__variable& value, bool flush,
                           const smi__location& location) {
  Element element{.data = 0, .flush = flush};
  const std::size_t bytes = std::size_t{1} << channel.size;
  std::memcpy(&element.data, value.data, value.type == 0 ? bytes : std::min<std::size_t>(bytes, value.size));
  state.port.in->push(element, source_line(location));
}

/// The last pushed element is the only one in flight: a packet holds one element, and the next one needs its credit.
void Program::wait_for_pop(Running& running, PortState& state, const smi__location& location) {
  state.not_popped = &running;
  running.kernel->block({"push into", &state.port.in->reader, source_line(location)});
  running.kernel->continue_after(state.popped_at, {"push into", &state.port.in->name});
}

void Program::popped(const Running& running, const Channel& channel, unsigned port) {
  const auto found =
      std::find_if(ranks_[static_cast<unsigned>(channel.peer)].ports.begin(),
                   ranks_[static_cast<unsigned>(channel.peer)].ports.end(), [&](const PortState& state) {
                     return state.port.endpoint.kind == EndpointKind::push && state.port.endpoint.port == port;
                   });
  auto& sender = *found;
  sender.popped_at = running.kernel->tick();
  std::exchange(sender.not_popped, nullptr)->kernel->awake(sender.popped_at);
}

unsigned Program::pop_element(PortState& state, const Channel& channel, const smi__variable& to,
                              const smi__location& location) {
  const auto element = state.port.out->pop(source_line(location));
  const std::size_t bytes = std::size_t{1} << channel.size;
  std::memcpy(to.data, &element.data, to.type == 0 ? bytes : std::min<std::size_t>(bytes, to.size));
  return element.source;
}

void Program::collective(Running& running, Channel& channel, unsigned kind, const smi__variable& send,
                         const smi__variable& receive, const smi__location& location) {
  auto& state = enter(running, channel, kind, location);
  check_type(running, channel, send, location);
  if (receive.data != send.data) check_type(running, channel, receive, location);
  const bool root = channel.own == channel.root;
  /// A root already knows its own part: it pops it up to kLag elements after pushing it, as a hardware pipeline would.
  constexpr unsigned kLag = 3;
  const auto pop_own = [&](unsigned left) {
    for (; channel.own_unpopped > left; --channel.own_unpopped)
      static_cast<void>(state.port.out->pop(source_line(location)));
  };
  const auto own_part = [&] {
    push_element(state, channel, send, false, location);
    const std::size_t bytes = std::size_t{1} << channel.size;
    std::uint64_t data = 0;
    std::memcpy(&data, send.data, send.type == 0 ? bytes : std::min<std::size_t>(bytes, send.size));
    std::memcpy(receive.data, &data, receive.type == 0 ? bytes : std::min<std::size_t>(bytes, receive.size));
    ++channel.own_unpopped;
    pop_own(channel.done + 1 == channel.calls ? 0 : kLag);
  };
  switch (kind) {
    case SMI__BCAST:
      if (root)
        push_element(state, channel, send, false, location);
      else
        pop_element(state, channel, receive, location);
      break;
    case SMI__REDUCE:
      push_element(state, channel, send, false, location);
      if (root) pop_element(state, channel, receive, location);
      break;
    case SMI__SCATTER:
      if (!root) {
        pop_element(state, channel, receive, location);
      } else if (channel.done / channel.count == channel.own) {
        own_part();
      } else {
        pop_own(0);
        push_element(state, channel, send, false, location);
      }
      break;
    case SMI__GATHER:
      if (!root) {
        push_element(state, channel, send, false, location);
      } else if (channel.done / channel.count == channel.own) {
        own_part();
      } else {
        pop_own(0);
        pop_element(state, channel, receive, location);
      }
      break;
    default:
      break;
  }
  finish(state, channel);
}

}  // namespace thalweg::smi
