// SPDX-License-Identifier: Apache-2.0
// Opens a program's channels: checks the arguments and the other ends, and selects the message's protocol.
#include <algorithm>

#include "smi/running.hpp"

namespace thalweg::smi {

void Program::open(Running& running, Channel& channel, const smi__open& open) {
  const auto refuse = [&](const std::string& message) {
    reject(running, open.location, open_name(static_cast<unsigned>(open.kind)) + ": " + message);
  };
  const int own = open.comm[0], size = open.comm[1], first = open.comm[2], stride = open.comm[3];
  if (open.type < 1 || open.type > 5) refuse("unknown datatype " + std::to_string(open.type));
  if (open.count < 0) refuse("a message of " + std::to_string(open.count) + " elements; must be at least 0");
  if (size < 1 || size > static_cast<int>(config_.world) || own < 0 || own >= size || first < 0 ||
      first + stride * own != static_cast<int>(running.rank))
    refuse("not a communicator of this kernel: use SMI_COMM_WORLD, or the one passed as an argument");
  const bool point_to_point = open.kind == SMI__SEND || open.kind == SMI__RECEIVE;
  if (!point_to_point && (open.root < 0 || open.root >= size))
    refuse("root " + std::to_string(open.root) + " does not exist in a communicator of " + std::to_string(size));
  if (open.kind == SMI__REDUCE && (open.op < 0 || open.op > 2)) refuse("unknown operator " + std::to_string(open.op));
  const auto kind = endpoint_kind(static_cast<unsigned>(open.kind));
  auto& ports = ranks_[running.rank].ports;
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const PortState& state) {
    return state.port.endpoint.kind == kind && static_cast<int>(state.port.endpoint.port) == open.port;
  });
  if (found == ports.end()) {
    std::string existing;
    for (const auto& state : ports)
      existing += (existing.empty() ? "" : ", ") + std::to_string(state.port.endpoint.port) + " " +
                  kind_name(state.port.endpoint.kind);
    refuse("the rank has no port " + std::to_string(open.port) + " for " + kind_name(kind) +
           (existing.empty() ? ", and no others" : "; it has " + existing));
  }
  channel = {.magic = Channel::kMagic,
             .port = static_cast<std::uint16_t>(found - ports.begin()),
             .kind = static_cast<std::uint8_t>(open.kind),
             .type = static_cast<std::uint8_t>(open.type),
             .count = static_cast<std::uint32_t>(open.count),
             .file = open.location.file,
             .line = open.location.line,
             .degree = open.degree,
             .own = static_cast<std::uint16_t>(own),
             .root = static_cast<std::uint16_t>(point_to_point ? 0 : open.root),
             .first = static_cast<std::uint16_t>(first),
             .ranks = static_cast<std::uint16_t>(size),
             .stride = static_cast<std::int16_t>(stride),
             .op = static_cast<std::uint8_t>(open.op),
             .size = static_cast<std::uint8_t>(size_of(static_cast<unsigned>(open.type)))};
  if (!found->opener) found->opener = &running;
  const bool is_root = own == open.root;
  const bool has_parts = open.kind == SMI__SCATTER || open.kind == SMI__GATHER;
  if (has_parts && open.count != open.other_count)
    refuse("send_count is " + std::to_string(open.count) + ", recv_count " + std::to_string(open.other_count) +
           "; both are the elements of one rank");
  channel.calls = has_parts && is_root ? channel.count * channel.ranks : channel.count;
  if (point_to_point && open.peer >= 0 && open.peer < size)
    channel.peer = static_cast<std::int16_t>(channel.rank(static_cast<unsigned>(open.peer)));
}

/// Enters a channel, and opens it in hardware at its first use. Hardware never sees channels that are opened and not
/// used, such as those at the border of a grid.
Program::PortState& Program::enter(Running& running, Channel& channel, unsigned kind, const smi__location& location) {
  if (channel.magic != Channel::kMagic || channel.port >= ranks_[running.rank].ports.size())
    reject(running, location, "the channel has not been opened");
  auto& state = port_of(running, channel);
  if (channel.kind != kind)
    reject(
        running, location,
        "the channel is one of " + open_name(channel.kind) + ", " + channel.file + ":" + std::to_string(channel.line));
  if (channel.done == channel.calls)
    reject(running, location,
           "the channel has " + std::to_string(channel.calls) + " elements (" + channel.file + ":" +
               std::to_string(channel.line) + "), and this is one more");
  const auto port = [&] {
    return "port " + std::to_string(state.port.endpoint.port) + " (" + kind_name(state.port.endpoint.kind) + ")";
  };
  if (state.user != &running) {
    if (state.user)
      reject(running, location, port() + " is used by kernel " + state.user->name + ", too, at " + line(state.used));
    state.user = &running;
    state.used = location;
  }
  if (!channel.entered) {
    if (state.unfinished)
      reject(running, {channel.file, channel.line},
             "this opens a channel on " + port() + ", but of the previous one (" + state.channel.file + ":" +
                 std::to_string(state.channel.line) + ") only " + std::to_string(state.channel.done) + " of " +
                 std::to_string(state.channel.calls) + " elements have been used");
    if ((kind == SMI__SEND || kind == SMI__RECEIVE) && channel.peer < 0) {
      const std::string message = std::string("the rank to ") + (kind == SMI__SEND ? "push to" : "pop from") +
                                  " does not exist (" + channel.file + ":" + std::to_string(channel.line) + ")";
      if (kind == SMI__SEND || !running.kernel->serves()) reject(running, location, message);
      running.current_call = {"SMI_Pop from a rank that does not exist", location, &state};
      running.kernel->block({"pop from", &state.port.out->writer, source_line(location)});
    }
    check_peers(running, channel, state.port.endpoint);
    state.channel = channel;
    state.unfinished = true;
    running.current_call = {"", location, &state};
    submit(running, state, channel, location);
    channel.entered = true;
  }
  running.current_call = {"", location, &state};
  return state;
}

/// Checks that each other rank of the channel has the matching endpoint.
void Program::check_peers(const Running& running, const Channel& channel, const EndpointOf& own) const {
  const auto require_port = [&](unsigned rank, EndpointKind kind) {
    if (!port_of(rank, kind, own.port))
      reject(running, {channel.file, channel.line},
             "rank " + std::to_string(rank) + " has no port " + std::to_string(own.port) + " for " + kind_name(kind));
  };
  if (channel.kind == SMI__SEND) {
    require_port(static_cast<unsigned>(channel.peer), EndpointKind::pop);
  } else if (channel.kind == SMI__RECEIVE) {
    if (!running.kernel->serves()) require_port(static_cast<unsigned>(channel.peer), EndpointKind::push);
  } else {
    for (unsigned i = 0; i < channel.ranks; ++i) require_port(channel.rank(i), own.kind);
  }
}

void Program::submit(Running& running, PortState& state, Channel& channel, const smi__location& location) {
  const auto port = state.port.endpoint.port;
  const auto open = protocol(running, channel, port);
  const Agreement::End end{.rank = running.rank,
                           .kernel = running.name.c_str(),
                           .location = {channel.file, channel.line},
                           .count = channel.count,
                           .type = channel.type,
                           .op = channel.op,
                           .root = channel.root,
                           .window = open.window,
                           .per_packet = open.per_packet,
                           .tile = open.tile};
  state.per_packet = open.per_packet;
  state.flushed = 0;
  if (channel.kind == SMI__SEND)
    agreement_.point_to_point(running.rank, static_cast<unsigned>(channel.peer), port, true, end);
  else if (channel.kind == SMI__RECEIVE)
    agreement_.point_to_point(static_cast<unsigned>(channel.peer), running.rank, port, false, end);
  else
    agreement_.collective(channel, port, end);
  state.circuit = open.packets > 0;
  state.port.open->push(open, source_line(location));
}

Open Program::protocol(const Running& running, const Channel& channel, unsigned port) {
  Open open{.count = channel.count, .type = datatype(channel.type), .size = channel.size};
  constexpr spec::Operator kOperators[] = {spec::Operator::sum, spec::Operator::max, spec::Operator::min};
  open.op = kOperators[channel.op];
  open.per_packet = max_elements(config_.packet_bytes, channel.size);
  if (channel.kind == SMI__SEND || channel.kind == SMI__RECEIVE) {
    open.peer = static_cast<unsigned>(channel.peer);
    const unsigned to = channel.kind == SMI__SEND ? open.peer : running.rank;
    std::uint32_t degree = 0;
    if (channel.degree >= 0) {
      degree = static_cast<std::uint32_t>(channel.degree);
    } else {
      for (const auto& state : ranks_[to].ports)
        if (state.port.endpoint.kind == EndpointKind::pop && state.port.endpoint.port == port)
          degree = state.port.endpoint.buffer * open.per_packet;
    }
    if (config_.synchronous) {
      open.per_packet = open.window = 1;
    } else if (!config_.eager && channel.count > degree) {
      open.per_packet = std::clamp<unsigned>(degree, 1, open.per_packet);
      open.window = std::max(1u, degree / open.per_packet);
    } else if (config_.circuits && channel.count > open.per_packet) {
      const unsigned full_packet = payload_elements(config_.packet_bytes, channel.size);
      open.packets = (channel.count - 1) / full_packet + 1;
    }
    return open;
  }
  open.root = channel.root;
  open.own = channel.own;
  open.first = channel.first;
  open.stride = static_cast<unsigned>(static_cast<int>(channel.stride));
  open.ranks = channel.ranks;
  const unsigned linear = std::max(1u, open.ranks - 1u);
  const bool tree = config_.arity > 0 && (channel.kind == SMI__BCAST || channel.kind == SMI__REDUCE);
  open.arity = tree ? std::min(config_.arity, linear) : linear;
  if (channel.kind == SMI__REDUCE && open.arity > config_.children)
    reject(running, {channel.file, channel.line},
           "a reduction of " + std::to_string(open.ranks) + " ranks has " + std::to_string(open.arity) +
               " children at one rank, whose hardware has " + std::to_string(config_.children) +
               " at most: give the cluster an arity, or more children");
  open.tile = config_.synchronous ? 1 : config_.tile;
  if (channel.degree >= 0) open.tile = std::clamp<unsigned>(static_cast<unsigned>(channel.degree), 1, open.tile);
  open.any_order = config_.any_order;
  return open;
}

}  // namespace thalweg::smi
