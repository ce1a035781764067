// SPDX-License-Identifier: Apache-2.0
#include "smi/program.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "core/require.hpp"
#include "smi/running.hpp"

namespace thalweg::smi {

namespace {

Where at(const smi__place& place) {
  return {place.file, place.line};
}

std::string line(const smi__place& place) {
  return std::string(place.file) + ":" + std::to_string(place.line);
}

/// What a kernel's units for a bank do with a burst; `until`: the cycle by which all that they asked for has been moved.
auto asks(Kernel& kernel, MemoryBank& bank, double& until) {
  return [&](std::uint64_t address, std::uint64_t bytes, bool writes) {
    until = std::max(until, bank.move(kernel, address, bytes, writes));
  };
}

}  // namespace

Program::Program(Domains& time, Domain& clock, const Config& config, std::vector<std::vector<Port>> ports)
    : clock_(clock), config_(config), kernels_(time) {
  if (config_.world == 0) config_.world = static_cast<unsigned>(ports.size());
  require(config_.world <= ports.size(),
          "there are " + std::to_string(ports.size()) + " ranks, and programs for " + std::to_string(config_.world));
  require(config.latency > 0, "memory banks take time");
  for (auto& of : ports) {
    auto& rank = ranks_.emplace_back();
    for (auto& port : of) rank.ports.push_back({.port = std::move(port)});
    rank.banks.assign(config.banks, MemoryBank(config.dram, config.latency));
  }
}

Program::~Program() = default;

Buffer& Program::buffer(unsigned rank, unsigned bank, const std::string& name, std::size_t bytes) {
  require(rank < ranks(), "there is no rank " + std::to_string(rank));
  require(bank < config_.banks, "buffer " + name + " is in bank " + std::to_string(bank) + ", and a rank has " +
                                    std::to_string(config_.banks));
  auto& made = memory_.add(name, rank, bank, bytes);
  made.address = ranks_[rank].banks[bank].place(bytes);
  return made;
}

Library& Program::library(unsigned rank, const std::string& file) {
  auto& libraries = ranks_[rank].libraries;
  for (auto& [name, library] : libraries)
    if (name == file) return *library;
  libraries.emplace_back(file,
                         std::make_unique<Library>(file, smi_calls(), memory_.begin(), DeviceMemory::kReserved, rank));
  return *libraries.back().second;
}

void Program::start(unsigned rank, const std::string& file, const std::string& kernel, std::vector<Argument> arguments,
                    bool serves) {
  require(rank < ranks(), "there is no rank " + std::to_string(rank));
  auto& from = library(rank, file);
  const auto call = from.kernel(kernel);
  if (!call) throw std::runtime_error(file + " has no kernel " + kernel);
  auto& running = running_.emplace_back(*this, rank, kernel);
  running.library = &from;
  running.arguments = std::move(arguments);
  std::vector<bool> banks(config_.banks);
  std::vector<Buffer*> seen;
  for (auto& argument : running.arguments) {
    auto* buffer = argument.buffer;
    if (!buffer) continue;
    require(buffer->rank == rank, "kernel " + kernel + " of rank " + std::to_string(rank) + " gets buffer " +
                                      buffer->name + " of rank " + std::to_string(buffer->rank));
    argument.bytes.resize(sizeof buffer->at);
    std::memcpy(argument.bytes.data(), &buffer->at, sizeof buffer->at);
    if (std::find(seen.begin(), seen.end(), buffer) == seen.end()) {
      seen.push_back(buffer);
      ++buffer->kernels;
    }
    banks[buffer->bank] = true;
  }
  for (unsigned bank = 0; bank < config_.banks; ++bank)
    if (banks[bank]) ++ranks_[rank].banks[bank].kernels;
  running.call = [call, &running] {
    std::vector<void*> pointers;
    for (auto& argument : running.arguments) pointers.push_back(argument.bytes.data());
    call(pointers.data());
  };
  start(running, serves);
}

void Program::start(unsigned rank, const std::string& kernel, std::function<void()> call, bool serves) {
  require(rank < ranks(), "there is no rank " + std::to_string(rank));
  auto& running = running_.emplace_back(*this, rank, kernel);
  running.call = std::move(call);
  start(running, serves);
}

void Program::start(Running& running, bool serves) {
  running.number = static_cast<int>(running_.size()) - 1;
  running.banks.assign(config_.banks, {.bursts = Bursts(config_.dram.burst_bytes)});
  running.kernel = &kernels_.add("kernel " + running.name + " of rank " + std::to_string(running.rank), clock_,
                                 [this, &running] { body(running); },
                                 {.serves = serves, .context = &running, .stack_bytes = kStack});
}

/// Calls a kernel. What it throws and nobody catches is a fault of its own; what the runtime throws goes to the caller of run().
void Program::call(Running& running) const {
  try {
    running.call();
  } catch (...) {
    const auto current = std::current_exception();  // a pointer to what was thrown
    const void* thrown = nullptr;
    static_assert(sizeof current == sizeof thrown);
    std::memcpy(&thrown, &current, sizeof thrown);
    if (thrown != running.thrown) throw;
    std::string what;
    try {
      throw;
    } catch (const std::exception& error) {
      what = std::string(": ") + error.what();
    } catch (...) {
    }
    throw Misuse(place(running.number, std::array{const_cast<void*>(running.thrown_from)}) +
                 "throws what nothing catches" + what);
  }
}

int Program::number(const Running& running) const {
  return running.number;
}

std::string Program::place(int kernel, std::span<void* const> code) const {
  const auto& running = running_[static_cast<std::size_t>(kernel)];
  std::string where;
  const auto is_users = [](const std::string& line) { return !line.starts_with("/usr/"); };
  for (auto* at : code)
    for (const auto& line : running.library ? running.library->lines(at) : std::vector<std::string>{})
      if (where.empty() || (!is_users(where) && is_users(line))) where = line;
  return (where.empty() ? "" : where + ": ") + "rank " + std::to_string(running.rank) + ", kernel " + running.name +
         ": ";
}

void Program::body(Running& running) {
  call(running);
  auto& kernel = *running.kernel;
  auto& rank = ranks_[running.rank];
  double moved = 0;
  for (unsigned bank = 0; bank < config_.banks; ++bank) {
    auto& use = running.banks[bank];
    use.bursts.end(asks(kernel, rank.banks[bank], use.until));
    moved = std::max(moved, use.until);
  }
  if (const auto now = static_cast<double>(kernel.cycle()); moved > now) kernel.pause(static_cast<Tick>(moved - now));
  for (auto& state : rank.ports)
    if (state.user == &running && state.unfinished) {
      const smi__place opened{state.now.file, state.now.line};
      wrong(running, opened,
            "the kernel has ended, and of the channel that this opens on port " +
                std::to_string(state.port.endpoint.port) + " only " + std::to_string(state.now.done) + " of " +
                std::to_string(state.now.calls) + " elements have been used");
    }
  ++uses_;
  running.ended = kernel.cycle();
  running.is_over = true;
}

void Program::run() {
  try {
    kernels_.run();
  } catch (const Deadlock&) {
    throw Deadlock(report());
  }
  warn_of_unread();
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

std::vector<Program::Started> Program::started() const {
  std::vector<Started> all;
  for (const auto& running : running_)
    all.push_back({.rank = running.rank,
                   .kernel = running.name,
                   .serves = running.kernel->serves(),
                   .ended = running.is_over,
                   .cycle = running.ended});
  return all;
}

void Program::wrong(const Running& running, const smi__place& place, const std::string& what) const {
  throw Misuse(line(place) + ": rank " + std::to_string(running.rank) + ", kernel " + running.name + ": " + what);
}

void Program::warn(const std::string& what) {
  if (std::find(warnings_.begin(), warnings_.end(), what) == warnings_.end()) warnings_.push_back(what);
}

Program::PortState& Program::port_of(Running& running, const Channel& channel) {
  return ranks_[running.rank].ports[channel.port];
}

// Opening.

void Program::open(Running& running, Channel& channel, const smi__open& open) {
  const auto refuse = [&](const std::string& what) {
    wrong(running, open.place, open_name(static_cast<unsigned>(open.kind)) + ": " + what);
  };
  const int own = open.comm[0], size = open.comm[1], first = open.comm[2], stride = open.comm[3];
  if (open.type < 1 || open.type > 5) refuse("there is no datatype " + std::to_string(open.type));
  if (open.count < 0) refuse("a message has no " + std::to_string(open.count) + " elements");
  if (size < 1 || size > static_cast<int>(config_.world) || own < 0 || own >= size || first < 0 ||
      first + stride * own != static_cast<int>(running.rank))
    refuse("the communicator is none of this kernel's: use SMI_COMM_WORLD, or the one that it gets as an argument");
  const bool point_to_point = open.kind == SMI__SEND || open.kind == SMI__RECEIVE;
  if (!point_to_point && (open.root < 0 || open.root >= size))
    refuse("there is no root " + std::to_string(open.root) + " in a communicator of " + std::to_string(size));
  if (open.kind == SMI__REDUCE && (open.op < 0 || open.op > 2))
    refuse("there is no operator " + std::to_string(open.op));
  const auto kind = endpoint_kind(static_cast<unsigned>(open.kind));
  auto& ports = ranks_[running.rank].ports;
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const PortState& state) {
    return state.port.endpoint.kind == kind && static_cast<int>(state.port.endpoint.port) == open.port;
  });
  if (found == ports.end()) {
    std::string have;
    for (const auto& state : ports)
      have += (have.empty() ? "" : ", ") + std::to_string(state.port.endpoint.port) + " " +
              kind_name(state.port.endpoint.kind);
    refuse("the rank has no port " + std::to_string(open.port) + " for " + kind_name(kind) +
           (have.empty() ? ", and no others" : "; it has " + have));
  }
  channel = {.is = Channel::kOpened,
             .port = static_cast<std::uint16_t>(found - ports.begin()),
             .kind = static_cast<std::uint8_t>(open.kind),
             .type = static_cast<std::uint8_t>(open.type),
             .count = static_cast<std::uint32_t>(open.count),
             .file = open.place.file,
             .line = open.place.line,
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
  const bool parts = open.kind == SMI__SCATTER || open.kind == SMI__GATHER;
  if (parts && open.count != open.other_count)
    refuse("send_count is " + std::to_string(open.count) + ", recv_count " + std::to_string(open.other_count) +
           "; both are the elements of one rank");
  channel.calls = parts && is_root ? channel.count * channel.ranks : channel.count;
  if (point_to_point && open.peer >= 0 && open.peer < size)
    channel.peer = static_cast<std::int16_t>(channel.rank(static_cast<unsigned>(open.peer)));
}

/// At the first use of a channel. What is opened and never used, as at the border of a grid, is nothing that hardware sees.
Program::PortState& Program::enter(Running& running, Channel& channel, unsigned kind, const smi__place& place) {
  if (channel.is != Channel::kOpened || channel.port >= ranks_[running.rank].ports.size())
    wrong(running, place, "the channel has not been opened");
  auto& state = port_of(running, channel);
  if (channel.kind != kind)
    wrong(
        running, place,
        "the channel is one of " + open_name(channel.kind) + ", " + channel.file + ":" + std::to_string(channel.line));
  if (channel.done == channel.calls)
    wrong(running, place,
          "the channel has " + std::to_string(channel.calls) + " elements (" + channel.file + ":" +
              std::to_string(channel.line) + "), and this is one more");
  const auto port = [&] {
    return "port " + std::to_string(state.port.endpoint.port) + " (" + kind_name(state.port.endpoint.kind) + ")";
  };
  if (state.user != &running) {
    if (state.user)
      wrong(running, place, port() + " is used by kernel " + state.user->name + ", too, at " + line(state.used));
    state.user = &running;
    state.used = place;
  }
  if (!channel.entered) {
    if (state.unfinished)
      wrong(running, {channel.file, channel.line},
            "this opens a channel on " + port() + ", and of the one before (" + state.now.file + ":" +
                std::to_string(state.now.line) + ") only " + std::to_string(state.now.done) + " of " +
                std::to_string(state.now.calls) + " elements have been used");
    if ((kind == SMI__SEND || kind == SMI__RECEIVE) && channel.peer < 0) {
      const std::string what = std::string("there is no rank to ") + (kind == SMI__SEND ? "push to" : "pop from") +
                               " (" + channel.file + ":" + std::to_string(channel.line) + ")";
      if (kind == SMI__SEND || !running.kernel->serves()) wrong(running, place, what);
      running.now = {"SMI_Pop from no rank at all", place, &state};
      running.kernel->block({"pop from", &state.port.out->writer, at(place)});
    }
    check_others(running, channel, state.port.endpoint);
    state.now = channel;
    state.unfinished = true;
    running.now = {"", place, &state};
    submit(running, state, channel, place);
    channel.entered = true;
  }
  running.now = {"", place, &state};
  return state;
}

/// Has every other rank of the channel the port's other end?
void Program::check_others(const Running& running, const Channel& channel, const EndpointOf& own) const {
  const auto needs = [&](unsigned rank, EndpointKind kind) {
    if (!port_of(rank, kind, own.port))
      wrong(running, {channel.file, channel.line},
            "rank " + std::to_string(rank) + " has no port " + std::to_string(own.port) + " for " + kind_name(kind));
  };
  if (channel.kind == SMI__SEND) {
    needs(static_cast<unsigned>(channel.peer), EndpointKind::pop);
  } else if (channel.kind == SMI__RECEIVE) {
    if (!running.kernel->serves()) needs(static_cast<unsigned>(channel.peer), EndpointKind::push);
  } else {
    for (unsigned i = 0; i < channel.ranks; ++i) needs(channel.rank(i), own.kind);
  }
}

void Program::finish(PortState& state, Channel& channel) {
  ++channel.done;
  ++elements_;
  state.now.done = channel.done;
  if (channel.done < channel.calls) return;
  state.unfinished = false;
  if (channel.kind == SMI__SEND || channel.kind == SMI__RECEIVE)
    state.passed[static_cast<unsigned>(channel.peer)] += channel.count;
}

void Program::submit(Running& running, PortState& state, Channel& channel, const smi__place& place) {
  const auto port = state.port.endpoint.port;
  const auto open = protocol(running, channel, port);
  const Agreement::End end{.rank = running.rank,
                           .kernel = running.name.c_str(),
                           .place = {channel.file, channel.line},
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
  state.port.open->push(open, at(place));
}

Open Program::protocol(const Running& running, const Channel& channel, unsigned port) {
  Open open{.count = channel.count, .type = datatype(channel.type), .size = channel.size};
  constexpr spec::Operator kOperators[] = {spec::Operator::sum, spec::Operator::max, spec::Operator::min};
  open.op = kOperators[channel.op];
  open.per_packet = most_elements(config_.packet_bytes, channel.size);
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
      const unsigned whole = payload_elements(config_.packet_bytes, channel.size);
      open.packets = (channel.count - 1) / whole + 1;
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
    wrong(running, {channel.file, channel.line},
          "a reduction of " + std::to_string(open.ranks) + " ranks has " + std::to_string(open.arity) +
              " children at one rank, whose hardware has " + std::to_string(config_.children) +
              " at most: give the cluster an arity, or more children");
  open.tile = config_.synchronous ? 1 : config_.tile;
  if (channel.degree >= 0) open.tile = std::clamp<unsigned>(static_cast<unsigned>(channel.degree), 1, open.tile);
  open.any_order = config_.any_order;
  return open;
}

// Elements.

void Program::check_type(const Running& running, const Channel& channel, const smi__variable& value,
                         const smi__place& place) {
  if (value.type == 0 || value.type == channel.type) return;
  warn(line(place) + ": kernel " + running.name + ": the channel (" + channel.file + ":" +
       std::to_string(channel.line) + ") is of " + type_name(channel.type) + ", the variable is " +
       (value.type == 6 ? "of no SMI datatype" : "one of " + type_name(static_cast<unsigned>(value.type))));
}

void Program::give(PortState& state, const Channel& channel, const smi__variable& value, bool flush,
                   const smi__place& place) {
  Element element{.data = 0, .flush = flush};
  const std::size_t bytes = std::size_t{1} << channel.size;
  std::memcpy(&element.data, value.data, value.type == 0 ? bytes : std::min<std::size_t>(bytes, value.size));
  state.port.in->push(element, at(place));
}

/// The element that was pushed last is the only one under way, as its packet is full with one and the next one needs its credit.
void Program::wait_for_pop(Running& running, PortState& state, const smi__place& place) {
  state.not_popped = &running;
  running.kernel->block({"push into", &state.port.in->reader, at(place)});
  running.kernel->continue_after(state.popped_at);
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

unsigned Program::take(PortState& state, const Channel& channel, const smi__variable& to, const smi__place& place) {
  const auto element = state.port.out->pop(at(place));
  const std::size_t bytes = std::size_t{1} << channel.size;
  std::memcpy(to.data, &element.data, to.type == 0 ? bytes : std::min<std::size_t>(bytes, to.size));
  return element.source;
}

void Program::collective(Running& running, Channel& channel, unsigned kind, const smi__variable& send,
                         const smi__variable& receive, const smi__place& place) {
  auto& state = enter(running, channel, kind, place);
  check_type(running, channel, send, place);
  if (receive.data != send.data) check_type(running, channel, receive, place);
  const bool root = channel.own == channel.root;
  /// Of its own part a root knows what it gets: it takes it back as hardware's pipeline would, later than it gives it.
  constexpr unsigned kLag = 3;
  const auto take_back = [&](unsigned left) {
    for (; channel.owed > left; --channel.owed) static_cast<void>(state.port.out->pop(at(place)));
  };
  const auto own_part = [&] {
    give(state, channel, send, false, place);
    const std::size_t bytes = std::size_t{1} << channel.size;
    std::uint64_t data = 0;
    std::memcpy(&data, send.data, send.type == 0 ? bytes : std::min<std::size_t>(bytes, send.size));
    std::memcpy(receive.data, &data, receive.type == 0 ? bytes : std::min<std::size_t>(bytes, receive.size));
    ++channel.owed;
    take_back(channel.done + 1 == channel.calls ? 0 : kLag);
  };
  switch (kind) {
    case SMI__BCAST:
      if (root)
        give(state, channel, send, false, place);
      else
        take(state, channel, receive, place);
      break;
    case SMI__REDUCE:
      give(state, channel, send, false, place);
      if (root) take(state, channel, receive, place);
      break;
    case SMI__SCATTER:
      if (!root) {
        take(state, channel, receive, place);
      } else if (channel.done / channel.count == channel.own) {
        own_part();
      } else {
        take_back(0);
        give(state, channel, send, false, place);
      }
      break;
    case SMI__GATHER:
      if (!root) {
        give(state, channel, send, false, place);
      } else if (channel.done / channel.count == channel.own) {
        own_part();
      } else {
        take_back(0);
        take(state, channel, receive, place);
      }
      break;
    default:
      break;
  }
  finish(state, channel);
}

// Memory.

void Program::memory(Running& running, std::uintptr_t address, std::size_t bytes, bool writes, const void* from) {
  auto* buffer = memory_.find(address);
  const auto outside = [&] {
    const std::string what = std::string(writes ? "writes" : "reads") + " " + std::to_string(bytes) + " bytes";
    throw Misuse(place(running.number, std::array{const_cast<void*>(from)}) + what +
                 (buffer ? " at " + std::to_string(address - reinterpret_cast<std::uintptr_t>(buffer->at)) +
                               " of buffer " + buffer->name + " (rank " + std::to_string(buffer->rank) +
                               "), which has " + std::to_string(buffer->bytes)
                         : " of memory that is no buffer's"));
  };
  if (!buffer || buffer->rank != running.rank ||
      address - reinterpret_cast<std::uintptr_t>(buffer->at) + bytes > buffer->bytes)
    outside();
  auto& kernel = *running.kernel;
  ++uses_;
  if (buffer->kernels > 1) kernel.synchronize();
  auto& use = running.banks[buffer->bank];
  auto& bank = ranks_[running.rank].banks[buffer->bank];
  if (!writes && !use.reads) {
    use.reads = true;
    kernel.continue_after(kernel.tick() + bank.latency() * kernel.domain().clock.period - 1);
  }
  const auto at = buffer->address + (address - reinterpret_cast<std::uintptr_t>(buffer->at));
  use.bursts.use(at, bytes, writes, asks(kernel, bank, use.until));
}

// What libraries call.

struct Calls {
  static Program::Running& running() { return *static_cast<Program::Running*>(Kernel::current().context()); }

  static void open(void* channel, const smi__open* what) {
    auto& self = running();
    self.program.open(self, *static_cast<Channel*>(new (channel) Channel), *what);
  }
  static void push(void* to, smi__variable value, int flush, smi__place place) {
    auto& self = running();
    auto& channel = *static_cast<Channel*>(to);
    auto& program = self.program;
    auto& state = program.enter(self, channel, SMI__SEND, place);
    program.check_type(self, channel, value, place);
    if (flush != 0 && state.circuit)
      program.wrong(self, place,
                    std::string("SMI_Push_flush: the message (") + channel.file + ":" + std::to_string(channel.line) +
                        ") is a circuit, whose packets are full; a cluster with packet switching can flush");
    program.give(state, channel, value, flush != 0, place);
    if (program.config_.synchronous) program.wait_for_pop(self, state, place);
    program.finish(state, channel);
    if (flush) state.flushed = channel.done;
  }
  static void pop(void* from, smi__variable value, smi__place place) {
    auto& self = running();
    auto& channel = *static_cast<Channel*>(from);
    auto& program = self.program;
    auto& state = program.enter(self, channel, SMI__RECEIVE, place);
    program.check_type(self, channel, value, place);
    const unsigned source = program.take(state, channel, value, place);
    if (source != static_cast<unsigned>(channel.peer))
      program.wrong(self, place,
                    "what comes at port " + std::to_string(state.port.endpoint.port) + " is of rank " +
                        std::to_string(source) + ", and the channel (" + channel.file + ":" +
                        std::to_string(channel.line) + ") is for rank " + std::to_string(channel.peer));
    if (program.config_.synchronous) program.popped(self, channel, state.port.endpoint.port);
    program.finish(state, channel);
  }
  static void collective(void* channel, smi__kind kind, smi__variable send, smi__variable receive, smi__place place) {
    auto& self = running();
    self.program.collective(self, *static_cast<Channel*>(channel), kind, send, receive, place);
  }
  static void world(int* comm) {
    auto& self = running();
    comm[0] = static_cast<int>(self.rank);
    comm[1] = static_cast<int>(self.program.config_.world);
    comm[2] = 0;
    comm[3] = 1;
  }
  static void range(int* comm, int first, int stride, int size, smi__place place) {
    auto& self = running();
    const int last = first + stride * (size - 1), own = comm[0] - first;
    if (size < 1 || stride == 0 || first < 0 || first >= comm[1] || last < 0 || last >= comm[1])
      self.program.wrong(self, place,
                         "SMI_Comm_range: a communicator of " + std::to_string(comm[1]) + " has no ranks " +
                             std::to_string(first) + ", " + std::to_string(first + stride) + ", ..., " +
                             std::to_string(size) + " of them");
    if (own % stride != 0 || own / stride < 0 || own / stride >= size)
      self.program.wrong(self, place, "SMI_Comm_range: rank " + std::to_string(comm[0]) + " is none of them");
    comm[0] = own / stride;
    comm[1] = size;
    comm[2] += comm[3] * first;
    comm[3] *= stride;
  }
  static void write(void* channel, const void* value, unsigned long, smi__place place) {
    auto& self = running();
    self.now = {"", place, nullptr};
    ++self.program.uses_;
    self.library->pipe(channel).write(*self.kernel, value, at(place));
  }
  static void read(void* channel, void* value, unsigned long, smi__place place) {
    auto& self = running();
    self.now = {"", place, nullptr};
    ++self.program.uses_;
    self.library->pipe(channel).read(*self.kernel, value, at(place));
  }
  static int try_write(void* channel, const void* value, unsigned long, smi__place) {
    auto& self = running();
    return self.library->pipe(channel).try_write(*self.kernel, value);
  }
  static int try_read(void* channel, void* value, unsigned long, smi__place) {
    auto& self = running();
    return self.library->pipe(channel).try_read(*self.kernel, value);
  }
  static void turn(smi__loop* loop) { running().turn(*loop); }
  static void leave(smi__loop* loop) { running().leave(*loop); }
  static void begin_pipeline(smi__loop* loop, long depth, const void* from) {
    auto& self = running();
    if (loop->interval < 1 || depth < 0)
      throw Misuse(self.program.place(self.number, std::array{const_cast<void*>(from)}) + "#pragma smi: interval(" +
                   std::to_string(loop->interval) + ") depth(" + std::to_string(depth) +
                   "); an interval is 1 or more, a depth 0 or more");
    self.pipelines.push_back(std::make_unique<Pipeline>(loop->interval, depth));
    loop->pipeline = 1;
  }
  static void exits(int code, const void* from) {
    auto& self = running();
    throw Misuse(self.program.place(self.number, std::array{const_cast<void*>(from)}) + "calls exit(" +
                 std::to_string(code) + "); a kernel ends by return");
  }
  static void throws(const void* thrown, const void* from) {
    if (!Kernel::inside()) return;
    auto& self = running();
    self.thrown = thrown;
    self.thrown_from = from;
  }
  static void memory(unsigned long address, unsigned long bytes, int writes, const void* from) {
    auto& self = running();
    self.program.memory(self, address, bytes, writes != 0, from);
  }
  static void channel(void* to, void* place, unsigned long bytes, unsigned long element, long depth, const char* name) {
    static_cast<Library*>(to)->add_channel(place, bytes, element, depth, name);
  }
};

const smi__calls& smi_calls() {
  static const smi__calls kCalls = {.open = Calls::open,
                                    .push = Calls::push,
                                    .pop = Calls::pop,
                                    .collective = Calls::collective,
                                    .world = Calls::world,
                                    .range = Calls::range,
                                    .write = Calls::write,
                                    .read = Calls::read,
                                    .try_write = Calls::try_write,
                                    .try_read = Calls::try_read,
                                    .turn = Calls::turn,
                                    .leave = Calls::leave,
                                    .begin_pipeline = Calls::begin_pipeline,
                                    .exits = Calls::exits,
                                    .throws = Calls::throws,
                                    .memory = Calls::memory,
                                    .channel = Calls::channel};
  return kCalls;
}

}  // namespace thalweg::smi
