// SPDX-License-Identifier: Apache-2.0
#include "vcsn/network.hpp"

#include "ethernet/kinds.hpp"
#include "ethernet/switch.hpp"
#include "vcsn/blocked.hpp"
#include "vcsn/kinds.hpp"
#include "vcsn/rtl_node.hpp"

namespace thalweg::vcsn {

Network::Network(const Description& description, const std::string& capture, const MakeCircuit& make)
    : assembly_(description, kinds(description.ticks_per_second, frames_)) {
  if (!capture.empty()) capture_.emplace(capture);
  partitions_.resize(assembly_.nodes());
  for (const auto& link : description.links)
    if (link.kind == "dcn") circles_.join({link.node_a, link.port_a, 0}, {link.node_b, link.port_b, 0});
  for (unsigned n = 0; n < assembly_.nodes(); ++n) {
    auto* found = dynamic_cast<Node*>(&assembly_.node(n));
    nodes_.push_back(found);
    if (!found) continue;
    found->start();
    found->ended = [this, found](const Ended& transfer) { end(*found, transfer); };
    found->taken = [this](Handle handle, Taken data) { taken_[handle] = std::move(data); };
    if (capture_)
      for (unsigned port = 0; port < found->externals.size(); ++port)
        if (auto* external = dynamic_cast<EthernetPort*>(found->externals[port].get())) watch(*external, n, port);
    if (make) follow(*found, n, make);
  }
  circles_.watch(nodes_);
}

Network::~Network() = default;

void Network::set_circuit(const VirtualPort& at, const std::optional<VirtualPort>& to) {
  external(at);
  if (to) check(at, *to);
  set_row(at, to ? std::optional(circuit_to(*to)) : std::nullopt);
}

std::vector<std::pair<VirtualPort, std::optional<VirtualPort>>> Network::changes(
    const std::vector<std::pair<VirtualPort, VirtualPort>>& circuits, const std::vector<unsigned>& numbers) {
  std::map<VirtualPort, VirtualPort> peers;
  for (const auto& [one, other] : circuits) {
    check(one, other);
    for (const auto& [at, to] : {std::pair{one, other}, std::pair{other, one}}) {
      require(std::ranges::find(numbers, at.node) != numbers.end(),
              to_string(at) + " is not on a node that is re-wired");
      const auto [found, added] = peers.emplace(at, to);
      require(added,
              to_string(at) + " is in two circuits, with " + to_string(found->second) + " and with " + to_string(to));
    }
  }
  std::vector<std::pair<VirtualPort, std::optional<VirtualPort>>> rows;
  for (const unsigned number : numbers)
    for (unsigned port = 0; port < node(number).config.ports; ++port)
      for (unsigned each = 0; each < node(number).config.virtual_ports; ++each) {
        const VirtualPort at{number, port, each};
        const auto found = peers.find(at);
        const auto to = found == peers.end() ? std::nullopt : std::optional(found->second);
        if (circuit(at) != to || sends_to_group(at)) rows.emplace_back(at, to);
      }
  return rows;
}

void Network::set_group(unsigned number, const VirtualPort& source, const std::vector<unsigned>& ports) {
  external(source);
  auto* found = number < assembly_.nodes() ? dynamic_cast<ethernet::Switch*>(&assembly_.node(number)) : nullptr;
  require(found, "node " + std::to_string(number) + " is not an Ethernet switch");
  found->set(group_of(circuit_to(source)), ports);
}

void Network::set_partition(const std::vector<unsigned>& numbers, const std::string& name) {
  std::vector<std::string> then = partitions_;
  for (const unsigned number : numbers) {
    require(number < nodes_.size() && nodes_[number], "node " + std::to_string(number) + " is not an FPGA");
    then[number] = name;
  }
  const auto check = [&](const VirtualPort& at, const std::optional<Circuit>& row, const char* has, const char* fix) {
    require(!row || then[at.node] == then[virtual_port_of(*row).node],
            to_string(at) + has + to_string(virtual_port_of(*row)) + ", which would leave its partition; " + fix);
  };
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n]) continue;
    for (unsigned port = 0; port < nodes_[n]->externals.size(); ++port) {
      auto* found = dynamic_cast<EthernetPort*>(nodes_[n]->externals[port].get());
      for (unsigned each = 0; found && each < found->circuits.ports(); ++each) {
        const VirtualPort at{n, port, each};
        check(at, row_of(at), " has a circuit with ", "close it first");
        check(at, found->circuits.of(each), " still has a circuit with ",
              "it is being closed: let time pass first (advance)");
      }
    }
    for (const Sequencer& sequencer : nodes_[n]->sequencers)
      for (const Instruction& each : sequencer.program())
        if (each.kind() == commands::Kind::circuit)
          check(virtual_port_of_register(n, each.place()), each.row,
                " will get a circuit from a sequencer's program with ", "wait for the program's end");
  }
  partitions_ = std::move(then);
}

void Network::kernel_send(Handle handle, unsigned number, unsigned kernel, std::span<const std::byte> data, bool ends,
                          std::uint8_t channel) {
  require(!data.empty(), "a kernel must send at least one byte");
  require(ends || data.size() % kWord == 0, "data that do not end a packet must be whole words of 64 bytes");
  KernelPort& of = kernel_of(handle, number, kernel, false);
  of.send(handle, data, ends, channel);
}

void Network::kernel_receive(Handle handle, unsigned number, unsigned kernel, std::uint64_t words) {
  require(words > 0, "a kernel must receive at least one word");
  KernelPort& of = kernel_of(handle, number, kernel, true);
  of.receive(handle, words);
}

const KernelPort& Network::kernel(unsigned number, unsigned kernel) {
  Node& of = node(number);
  require(kernel < of.config.kernels, "node " + std::to_string(number) + " has no kernel " + std::to_string(kernel));
  return of.kernels[kernel];
}

Taken Network::taken(Handle handle) {
  const auto found = taken_.find(handle);
  require(found != taken_.end() && !open_.contains(handle),
          "handle " + std::to_string(handle) + " is not of a completed kernel_receive");
  Taken data = std::move(found->second);
  taken_.erase(found);
  return data;
}

void Network::connect(unsigned number, unsigned output, std::optional<unsigned> input) {
  Node& of = node(number);
  check_places(of, number, output, input);
  if (const auto other = input ? of.output_of(*input) : std::nullopt)
    require(*other == output, name_at(of, number, *input, false) + " is the input of " +
                                  name_at(of, number, *other, true) +
                                  "; connect that output to another input, or to none, first");
  of.connect(output, input);
}

void Network::sequence(Handle handle, unsigned number, unsigned sequencer, const std::vector<Step>& program) {
  Node& of = node(number);
  require(sequencer < of.config.sequencers, "node " + std::to_string(number) + " has no sequencer " +
                                                std::to_string(sequencer) + "; it has " +
                                                std::to_string(of.config.sequencers));
  require(!of.sequencers[sequencer].runs(),
          "sequencer " + std::to_string(sequencer) + " of node " + std::to_string(number) + " is running a program");
  require(!program.empty(), "a sequencer's program must have at least one command");
  std::vector<Instruction> instructions;
  const auto add = [&, step = 0U](const Step& each) mutable {
    ++step;
    for (Instruction& one :
         std::visit([&](const auto& of_kind) { return compiled(number, sequencer, of_kind); }, each)) {
      one.number = step;
      instructions.push_back(std::move(one));
    }
  };
  std::ranges::for_each(program, add);
  instructions.push_back({.command = {.word = commands::word(commands::Kind::finish, 0, 0)}});
  require(instructions.size() <= Sequencer::kInstructions,
          "a sequencer's program has " + std::to_string(instructions.size()) + " instructions; the maximum is " +
              std::to_string(Sequencer::kInstructions));
  open(handle, {number, sequencer, false, now(), true});
  of.sequencers[sequencer].ended = [this, &of, sequencer, handle](Tick cycle) {
    if (of.program_ended) of.program_ended(sequencer, cycle);
    of.later(Ended{handle, cycle, 0});
  };
  of.sequence(sequencer, std::move(instructions));
}

void Network::set_pace(const VirtualPort& at, const Pace& pace) {
  EthernetPort& port = external(at);
  Multiplexer::check(pace);
  node(at.node).commands->write({.word = commands::pace(register_of(at), pace),
                                 .port = at.port,
                                 .acts = [&port, at, pace] { port.encoder.set_pace(at.virtual_port, pace); }});
}

void Network::restart(unsigned number) {
  Node& of = node(number);
  require(dynamic_cast<EthernetPort*>(of.externals.front().get()),
          "node " + std::to_string(number) +
              " has serial links, whose ends count each other's words: it cannot be restarted alone");
  const auto operations = std::erase_if(open_, [&](const auto& each) { return each.second.node == number; });
  of.restart(operations);
  if (const auto found = hardware_.find(number); found != hardware_.end()) found->second->restart(now());
}

void Network::set_monitor(unsigned number, unsigned port, const MonitorConfig& config) {
  EthernetPort& of = external({number, port, 0});
  Monitor::check(config);
  node(number).commands->write({.word = commands::monitor(register_of({number, port, 0}), config),
                                .port = port,
                                .acts = [&of, config] { of.set_monitor(config); }});
}

void Network::set_reaction(const VirtualPort& at, const Reaction& reaction) {
  EthernetPort& port = external(at);
  Encoder::check(reaction);
  node(at.node).commands->write({.word = commands::reaction(register_of(at), reaction),
                                 .port = at.port,
                                 .acts = [&port, at, reaction] { port.set_reaction(at.virtual_port, reaction); }});
}

void Network::set_credits(const VirtualPort& at, bool used) {
  external(at);
  const auto found = circuit(at);
  require(found.has_value(), to_string(at) + " has no circuit of two ends");
  const VirtualPort to = *found;
  require(row_of(to) == circuit_to(at),
          to_string(to) + " is not connected to " + to_string(at) + "; credits need a circuit of two ends");
  require(!used || (session_number(at) == 0 && session_number(to) == 0),
          to_string(at) + " or its peer has a session, which needs no credits");
  use_credits(at, used ? credits_of(to.node) : 0);
  use_credits(to, used ? credits_of(at.node) : 0);
}

void Network::set_session(const VirtualPort& at, std::uint16_t number) {
  EthernetPort& port = external(at);
  const auto to = circuit(at);
  require(number == 0 || (to && !sends_to_group(*to)), to_string(at) + " has no circuit of two ends");
  require(number == 0 || number != session_number(at),
          to_string(at) + " already has session " + std::to_string(number) + "; use a new number");
  node(at.node).commands->write({.word = commands::session(register_of(at), number),
                                 .port = at.port,
                                 .after = 1,
                                 .acts =
                                     [&port, at, number] {
                                       port.numbers.acts(at.virtual_port);
                                       port.open_session(at.virtual_port, number);
                                     },
                                 .written = [&port, at, number] { port.numbers.write(at.virtual_port, number); }});
}

void Network::read(unsigned number, unsigned engine, Transfer transfer) {
  Node& of = checked(number, false, engine, transfer);
  if (transfer.handle != kNoHandle) open(transfer.handle, {number, engine, false, now()});
  of.read(engine, std::move(transfer));
}

void Network::write(unsigned number, unsigned engine, Transfer transfer) {
  Node& of = checked(number, true, engine, transfer);
  require(transfer.handle != kNoHandle, "a write needs a handle");
  open(transfer.handle, {number, engine, true, now()});
  of.write(engine, std::move(transfer));
}

std::uint64_t Network::written(Handle handle) const {
  const auto found = ended_bytes_.find(handle);
  require(found != ended_bytes_.end(), "handle " + std::to_string(handle) + " is not of a completed write");
  return found->second;
}

void Network::advance(Tick until, std::vector<Completion>& completed) {
  auto& time = assembly_.time();
  circle_.reset();
  if (until == kNever) {
    advance_without_end();
  } else {
    while (ended_.empty() && time.next_due() < until) time.advance(until);
    if (ended_.empty()) time.advance(until);
  }
  completed.insert(completed.end(), ended_.begin(), ended_.end());
  ended_.clear();
  for (auto& [number, hardware] : hardware_) hardware->run(idle() ? now() : now() - hardware->behind());
}

std::uint64_t Network::finish() {
  std::uint64_t cycles = 0;
  for (auto& [number, hardware] : hardware_) {
    hardware->finish(now());
    cycles += hardware->cycles();
  }
  return cycles;
}

std::vector<Blocked> Network::blocked() const {
  std::vector<Blocked> all;
  for (const auto& [handle, open] : open_)
    if (open.writes && !open.kernel)
      all.push_back({.who = engine_name(open.node, true, open.engine),
                     .what = "for words of transfer " + std::to_string(handle),
                     .on = source_of(*nodes_[open.node], open.node, open.engine),
                     .why = {},
                     .since = open.since,
                     .where = {}});
  for (unsigned n = 0; n < nodes_.size(); ++n)
    if (nodes_[n]) add_blocked(*nodes_[n], n, now(), [this](Handle handle) { return open_.at(handle).since; }, all);
  return all;
}

void Network::open(Handle handle, const Open& of) {
  require(handle < Node::kSequencers, "handle " + std::to_string(handle) + " is invalid; handles must be below 2^63");
  require(!open_.contains(handle),
          "handle " + std::to_string(handle) + " belongs to an outstanding operation; use another one");
  open_[handle] = of;
  ended_bytes_.erase(handle);
}

void Network::advance_without_end() {
  auto& time = assembly_.time();
  Circles::Words before;
  Tick check = time.now() + circles_.patience();
  while (ended_.empty() && time.next_due() != kNever && !circle_) {
    time.advance(time.next_due() + kStride);
    if (time.now() < check || !ended_.empty()) continue;
    Circles::Words now = circles_.words();
    if (!before.empty()) circle_ = circles_.find(before, now);
    before = std::move(now);
    check = time.now() + circles_.patience();
  }
}

KernelPort& Network::kernel_of(Handle handle, unsigned number, unsigned kernel, bool receives) {
  static_cast<void>(this->kernel(number, kernel));
  open(handle, {number, kernel, receives, now(), true});
  return node(number).kernels[kernel];
}

void Network::check(const VirtualPort& at, const VirtualPort& to) {
  external(at);
  external(to);
  require(to != at, to_string(at) + " cannot have a circuit with itself");
  const auto of = [this](const VirtualPort& place) {
    const std::string& name = partitions_[place.node];
    return to_string(place) + (name.empty() ? " is in no partition" : " is in " + name);
  };
  require(partitions_[at.node] == partitions_[to.node],
          "a circuit connects virtual ports of one partition: " + of(at) + ", " + of(to));
}

Kinds Network::kinds(Tick ticks_per_second, ethernet::Frames& frames) {
  Kinds known;
  ethernet::add_kinds(known, ticks_per_second, frames);
  vcsn::add_kinds(known, ticks_per_second, frames);
  return known;
}

Command Network::row(const VirtualPort& at, const std::optional<Circuit>& to) {
  EthernetPort& port = external(at);
  return {.word = commands::circuit(register_of(at), to),
          .port = at.port,
          .after = 1,
          .acts =
              [&port, at, to] {
                port.rows.acts(at.virtual_port);
                port.numbers.acts(at.virtual_port);
                port.set_circuit(at.virtual_port, to);
              },
          .written =
              [&port, at, to] {
                port.rows.write(at.virtual_port, to);
                port.numbers.write(at.virtual_port, 0);
              }};
}

Command Network::credits(const VirtualPort& at, std::uint64_t words) {
  EthernetPort& port = external(at);
  const CreditsConfig config = port.credits(words);
  Credits::check(config);
  return {.word = commands::credits(register_of(at), config), .port = at.port, .after = 1, .acts = [&port, at, words] {
            port.set_credits(at.virtual_port, words);
          }};
}

EthernetPort& Network::external(const VirtualPort& place) {
  Node& of = node(place.node);
  require(place.port < of.config.ports && place.virtual_port < of.config.virtual_ports,
          to_string(place) + " does not exist; the node has " + std::to_string(of.config.ports) +
              " external ports with " + std::to_string(of.config.virtual_ports) + " virtual ports each");
  auto* found = dynamic_cast<EthernetPort*>(of.externals[place.port].get());
  require(found, to_string(place) + " is at a serial link, which has no circuits");
  return *found;
}

void Network::check_places(const Node& of, unsigned number, unsigned output, std::optional<unsigned> input) {
  const unsigned all = of.places();
  for (const unsigned each : {output, input.value_or(0)})
    require(each < all, "a crossbar has no input or output " + std::to_string(each) + "; node " +
                            std::to_string(number) + " has " + std::to_string(all) + " of each");
}

std::vector<Instruction> Network::compiled(unsigned number, unsigned, const Row& step) {
  const VirtualPort at{number, step.port, step.virtual_port};
  external(at);
  if (step.to) check(at, *step.to);
  const auto to = step.to ? std::optional(circuit_to(*step.to)) : std::nullopt;
  std::vector<Instruction> all{{.command = row(at, to), .row = to}};
  if (step.to && step.credits) all.push_back({.command = credits(at, credits_of(step.to->node))});
  return all;
}

std::vector<Instruction> Network::compiled(unsigned number, unsigned sequencer, const Connect& step) {
  Node& of = node(number);
  check_places(of, number, step.output, step.input);
  Sequencer& by = of.sequencers[sequencer];
  return {{.command = of.connecting(step.output, step.input, [&by, number, step] {
    by.refuse("another output uses input " + std::to_string(*step.input) + " of node " + std::to_string(number) +
              "'s crossbar, which output " + std::to_string(step.output) + " was to be set to");
  })}};
}

std::vector<Instruction> Network::transfers(unsigned number, unsigned sequencer, bool writes, unsigned engine,
                                            const std::vector<Segment>& segments) {
  Node& of = node(number);
  check_segments(of, number, engine, segments);
  const std::string name = engine_name(number, writes, engine);
  require(of.under_way(writes, engine) == 0,
          name + " has outstanding transfers of a host; wait for them before starting a sequencer's program");
  if (const auto owner = of.owner(writes, engine))
    throw std::invalid_argument(name + " is used by the program of sequencer " + std::to_string(*owner));
  const Transfer transfer{.handle = Node::kSequencers + sequencer, .segments = segments};
  std::vector<Instruction> all;
  for (Command& command : writes ? of.writing(engine, transfer) : of.reading(engine, transfer))
    all.push_back({.command = std::move(command)});
  all.back().ends_transfer = true;
  return all;
}

Node& Network::checked(unsigned number, bool writes, unsigned engine, const Transfer& transfer) {
  Node& of = node(number);
  check_segments(of, number, engine, transfer.segments);
  if (const auto owner = of.owner(writes, engine))
    throw std::invalid_argument(engine_name(number, writes, engine) + " is used by the program of sequencer " +
                                std::to_string(*owner) + " until it ends");
  return of;
}

void Network::check_segments(const Node& of, unsigned number, unsigned engine, const std::vector<Segment>& segments) {
  require(engine < of.config.dmas, "node " + std::to_string(number) + " has no DMA engine " + std::to_string(engine));
  require(!segments.empty(), "a transfer must have at least one segment");
  require(segments.size() <= kSegments, "a transfer has " + std::to_string(segments.size()) +
                                            " segments; the maximum is " + std::to_string(kSegments));
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const Segment& segment = segments[k];
    require(segment.bytes > 0, "a segment of a transfer must have at least one byte");
    require(segment.bytes <= kMostSegment, "a segment of a transfer has " + std::to_string(segment.bytes) +
                                               " bytes; the maximum is " + std::to_string(kMostSegment));
    require(segment.address % kWord == 0 && (segment.bytes % kWord == 0 || k + 1 == segments.size()),
            "segments of a transfer must start at multiples of 64 bytes, and all but the last must be whole words of "
            "64 bytes");
    require(segment.address <= of.memory.bytes.size() && segment.bytes <= of.memory.bytes.size() - segment.address,
            of.memory.bytes.name() + " has " + std::to_string(of.memory.bytes.size()) + " bytes; " +
                std::to_string(segment.bytes) + " at " + std::to_string(segment.address) + " are outside");
    require(segment.address / of.config.bank_bytes == (segment.address + segment.bytes - 1) / of.config.bank_bytes,
            "a segment of a transfer must be within one bank of the memory");
  }
}

void Network::follow(Node& of, unsigned number, const MakeCircuit& make) {
  std::vector<std::uint64_t> addresses;
  for (unsigned port = 0; port < of.config.ports; ++port) addresses.push_back(address_of(number, port));
  if (auto circuit = make(number, addresses))
    hardware_[number] = std::make_unique<RtlNode>(of, number, std::move(circuit));
}

void Network::watch(EthernetPort& external, unsigned number, unsigned port) {
  const double ns = 1e9 / static_cast<double>(ticks_per_second()) * static_cast<double>(external.clock().period);
  external.encoder.sent = external.decoder.seen =
      capture_->tap("node " + std::to_string(number) + ", port " + std::to_string(port), ns);
}

void Network::end(const Node& of, const Ended& transfer) {
  if (transfer.handle == kNoHandle) return;
  open_.erase(transfer.handle);
  ended_bytes_[transfer.handle] = transfer.bytes;
  ended_.push_back({transfer.handle, of.shell().clock.edge(transfer.cycle)});
  assembly_.time().interrupt();
}

}  // namespace thalweg::vcsn
