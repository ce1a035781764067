// SPDX-License-Identifier: Apache-2.0
// A board with the offload engine. Calls wait in the queues of their ports; up to `contexts` of them are under way. A sequencer runs their
// programs (spec/accl/programs.txt), and the data path carries out their moves, a segment at a time: so a call that waits for a message lets others go on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accl/arithmetic.hpp"
#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/data_path.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/memory.hpp"
#include "accl/receiver.hpp"
#include "accl/udp_port.hpp"
#include "cluster/assembly.hpp"
#include "common/crc32.hpp"

namespace thalweg::accl {

/// A call that has ended.
struct Ended {
  Handle handle = 0;
  Tick at = 0;  ///< tick
  std::uint32_t code = 0;
  std::string why{};  ///< where the code is not 0
};

class Node final : public Component, public AssembledNode {
 public:
  using Done = std::function<void(const Ended&)>;

  Node(const NodeConfig& config, ethernet::UdpEnd own, unsigned number, Domain& engine, Domain& line,
       ethernet::Frames& frames)
      : device("the board's memory of node " + std::to_string(number), config.memory_limit),
        host("the host's memory of node " + std::to_string(number), config.memory_limit),
        udp(own, config.port_latency, line, frames),
        config_(config),
        number_(number),
        domain_(engine),
        frames_(frames),
        path_(config_, device, host),
        component_(engine.scheduler.add(*this)),
        receiver_(config_, device, host, path_.output, waker()) {
    udp.receive = [this](const ethernet::FrameRef& frame, Tick first, Tick end) {
      receiver_.push(frame, domain_.clock.cycle_after(first), domain_.clock.cycle_after(end));
    };
    exchange.set_identity(kPlugIns | (config.rendezvous ? kRdma : 0));
  }

  ExchangeMemory exchange;
  Memory device, host;
  UdpPort udp;
  Done done;
  std::function<std::optional<ethernet::UdpEnd>(const Member&)> end_of;  ///< where a member of a communicator is

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number == 0, "a board has one port, and no port " + std::to_string(number));
    return udp.port;
  }

  /// A call from the next cycle on. Throws std::invalid_argument where it is none.
  void submit(Handle handle, unsigned port, const Call& call) {
    require(port < kPorts, "there is no port " + std::to_string(port) + " for calls");
    Context made;
    made.call = call;
    made.port = port;
    made.handle = handle;
    const std::string name(name_of(static_cast<std::uint32_t>(call.scenario)));
    require(!name.empty(), "scenario " + std::to_string(static_cast<std::uint32_t>(call.scenario)) + " is none");
    if (!is_local(call.scenario)) {
      const auto found = exchange.communicator(call.communicator);
      require(found.has_value(), name + ": there is no communicator at " + hex(call.communicator) +
                                     " of the exchange memory that this rank is in");
      made.communicator = *found;
      require(!is_rooted(call.scenario) || call.root < found->members.size(),
              name + ": the communicator has " + std::to_string(found->members.size()) + " ranks, and no rank " +
                  std::to_string(call.root));
      for (std::size_t rank = 0; rank < found->members.size(); ++rank) {
        const Member& member = found->members[rank];
        require(end_of(member).has_value(), name + ": of the communicator at " + hex(call.communicator) + ", rank " +
                                                std::to_string(rank) + " (session " + std::to_string(member.session) +
                                                ", " + dotted(member.ip) + ":" + std::to_string(member.port) +
                                                ") is no board of this cluster");
      }
    }
    made.called = domain_.scheduler.next();
    made.goes_on = made.called + (port == kKernel ? 0 : config_.invocation);
    domain_.wake(component_, made.goes_on);
    queues_[port].push_back(std::move(made));
  }

  /// A packet for the engine's stream from a kernel; it is padded to whole words.
  void give(std::span<const std::byte> data) {
    path_.give(data);
    domain_.wake(component_, domain_.scheduler.next());
  }
  /// What has left for kernels; its times are ticks.
  [[nodiscard]] std::vector<KernelPacket> take() {
    for (KernelPacket& packet : path_.output) packet.at = domain_.clock.edge(packet.at);
    return std::exchange(path_.output, {});
  }

  bool step(Tick now) override {
    receiver_.step(now);
    for (bool again = true; again;) {
      again = false;
      admit(now);
      for (Context& context : contexts_) again |= run(context, now);
      again |= std::erase_if(contexts_, [](const Context& context) { return context.ended; }) > 0;
    }
    schedule(now);
    return false;
  }

  /// The tick of the next time-out; kNever where no call waits.
  [[nodiscard]] Tick time_out() const {
    Tick first = kNever;
    if (time_out_ == 0) return first;
    for (const Context& context : contexts_)
      for (const Move* move : {&context.move, &context.beside})
        if (move->what && move->waits != kNever) first = std::min(first, move->waits + time_out_);
    return domain_.clock.edge(first);
  }
  /// Lets the calls end that have waited until `tick` for longer than their time. Between two advances.
  void expire(Tick tick) {
    const Tick now = domain_.scheduler.next();
    for (Context& context : contexts_)
      for (const Move* move : {&context.move, &context.beside})
        if (move->what && move->waits != kNever && domain_.clock.edge(move->waits + time_out_) <= tick) {
          context.fail(code::kReceiveTimeOut,
                       "waited " + waits_for(context, *move) + " for too long" + (is_full() ? "; " + full_text() : ""));
          context.goes_on = now;
        }
    domain_.wake(component_, now);
  }
  void blocked(std::vector<Blocked>& all) const {
    for (const Context& context : contexts_) {
      const Move* waits = nullptr;
      for (const Move* move : {&context.move, &context.beside})
        if (move->what && move->waits != kNever) waits = move;
      Blocked one{.who = who(context),
                  .what = waits ? waits_for(context, *waits)
                                : "to begin: a call before it uses the same data, stream or messages",
                  .since = domain_.clock.edge(waits ? waits->waits : context.called)};
      if (waits && !waits->for_kernel)
        if (const auto end = end_of(context.communicator.members[waits->from]))
          one.on = "node " + std::to_string(end->address & 0xFFFF'FFFF);
      if (waits && is_full()) one.because(full_text());
      all.push_back(std::move(one));
    }
    for (const auto& queue : queues_)
      for (const Context& context : queue)
        all.push_back({.who = who(context),
                       .what = contexts_.size() == config_.contexts
                                   ? "to begin: " + std::to_string(config_.contexts) + " calls are under way"
                                   : "to begin",
                       .since = domain_.clock.edge(context.called)});
  }
  void lost(NodeId node, std::vector<Lost>& all) const override {
    udp.lost(node, all);
    receiver_.lost(node, all);
  }

 private:
  static constexpr unsigned kPorts = 3, kKernel = 2;
  // Of the identity: DMA, arithmetic, compression, kernel streams; RDMA.
  static constexpr std::uint32_t kPlugIns = 0x3c, kRdma = 2;
  // Cycles of the sequencer: a call's words, one a cycle, and what it looks up in the exchange memory; of a product and a quotient.
  static constexpr Tick kFetch = kCallWords, kLookUp = 8, kMultiply = 3, kDivide = 32;

  static bool is_local(Scenario scenario) {
    using enum Scenario;
    return scenario == copy || scenario == combine || scenario == config || scenario == nop;
  }
  static bool is_rooted(Scenario scenario) {
    using enum Scenario;
    return scenario == send || scenario == recv || scenario == bcast || scenario == scatter || scenario == gather ||
           scenario == reduce;
  }
  static bool combines(Scenario scenario) {
    using enum Scenario;
    return scenario == combine || scenario == reduce || scenario == allreduce || scenario == reduce_scatter;
  }
  /// Whether an operand or result can be a kernel's stream: its program reads or writes it once, from its begin to its end.
  static bool can_stream(Scenario scenario, Role role) {
    using enum Scenario;
    if (scenario == copy || scenario == combine || scenario == reduce) return true;
    if (role == Role::op0) return scenario == send || scenario == gather;
    return scenario == send || scenario == recv || scenario == bcast || scenario == scatter ||
           scenario == reduce_scatter;
  }
  static std::string hex(std::uint32_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    do text.insert(text.begin(), kDigits[value & 15]);
    while (value >>= 4);
    return "0x" + text;
  }
  static std::string dotted(std::uint32_t ip) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += std::to_string(ip >> shift & 0xFF) + (shift > 0 ? "." : "");
    return text;
  }
  [[nodiscard]] Waker waker() const {
    Waker made;
    made.bind(domain_, component_);
    return made;
  }
  [[nodiscard]] std::string who(const Context& context) const {
    return std::string(name_of(static_cast<std::uint32_t>(context.call.scenario))) + " of node " +
           std::to_string(number_);
  }
  static bool reads_stream(const Context& context, const Move& move) {
    return context.call.streams(Role::op0) && (move.what->x.place == Place::op0 || move.what->y.place == Place::op0);
  }
  /// Whether messages that no call wants yet may keep others out.
  [[nodiscard]] bool is_full() const {
    const auto& buffers = receiver_.buffers;
    return buffers.size() > 0 && buffers.in_use() == buffers.size();
  }
  [[nodiscard]] std::string full_text() const {
    return "all " + std::to_string(receiver_.buffers.size()) + " receive buffers hold what no call has taken";
  }
  /// What a call that waits is without.
  [[nodiscard]] std::string waits_for(const Context& context, const Move& move) const {
    if (move.for_kernel) return "for data from its kernel's stream";
    const auto bytes = " of " + std::to_string(move.elements * context.wire_bytes()) + " bytes have come";
    std::string text = std::string(move.what->z.place == Place::give ? "for a place at" : "for a message from") +
                       " rank " + std::to_string(move.from) + " of its communicator";
    if (!context.is_collective() && context.call.tag != kAnyTag)
      text += " with tag " + std::to_string(context.call.tag);
    for (const Source& source : move.sources)
      if (source.claimed && source.channel.source == move.from)
        text += ", of which " + std::to_string(source.taken) + bytes;
    if (move.what->x.place == Place::take && move.offer)
      if (const auto found = receiver_.places.find(*move.offer); found != receiver_.places.end())
        text += ", of which " + std::to_string(found->second.pieces.bytes()) + bytes;
    return text;
  }

  // Calls.

  void admit(Tick now) {
    for (auto& queue : queues_)
      while (!queue.empty() && queue.front().goes_on <= now && contexts_.size() < config_.contexts) {
        contexts_.push_back(std::move(queue.front()));
        queue.pop_front();
        prepare(contexts_.back(), now);
      }
  }
  /// Fetches the call: sets its registers.
  void prepare(Context& context, Tick now) {
    const Call& call = context.call;
    context.goes_on = sequence(now, kFetch + kLookUp);
    const auto size = static_cast<std::uint32_t>(context.communicator.members.size());
    const auto rank = context.communicator.rank;
    if (size > 0) context.communicator_id = identify(context.communicator, call.communicator);
    if (context.is_collective()) context.collective = collectives_[context.communicator_id]++;
    if (call.scenario != Scenario::config && call.scenario != Scenario::nop && call.scenario != Scenario::barrier &&
        call.count > 0)
      check(context);
    context[Register::rank] = rank;
    context[Register::size] = size;
    context[Register::root] = call.root;
    context[Register::next] = rank + 1 < size ? rank + 1 : 0;
    context[Register::prev] = rank > 0 ? rank - 1 : std::max(size, 1U) - 1;
    context[Register::count] = context[Register::n] = call.count;
    context[Register::op0] = call.address[0];
    context[Register::op1] = call.address[1];
    context[Register::res] = call.address[2];
    context[Register::e0] = context.bytes(Role::op0);
    context[Register::e1] = context.bytes(Role::op1);
    context[Register::er] = context.bytes(Role::res);
    context.next = begin_of(call);
  }
  /// Looks up how a call's elements are stored and combined, and whether its operands are in memory that was allocated.
  void check(Context& context) {
    const Call& call = context.call;
    const auto found = exchange.arithmetic(call.arithmetic);
    if (!found)
      return context.fail(code::kArithmetic, "there is no arithmetic configuration at " + hex(call.arithmetic));
    context.arithmetic = *found;
    for (const Role role : {Role::op0, Role::res})
      if (call.streams(role) && !can_stream(call.scenario, role))
        context.fail(code::kNotImplemented, std::string(name_of(static_cast<std::uint32_t>(call.scenario))) +
                                                (role == Role::op0 ? " takes no operand from" : " has no result to") +
                                                " a kernel's stream");
    if (!converts(found->bytes, found->compressed_bytes))
      context.fail(code::kCompression, "elements of " + std::to_string(found->bytes) + " and " +
                                           std::to_string(found->compressed_bytes) +
                                           " bytes; the engine compresses 4 to 2");
    for (const Range& range : ranges_of(context))
      if (!(range.host ? host : device).has(range.begin, range.end - range.begin))
        context.fail(code::kSize, "bytes " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
                                      (range.host ? " of the host's memory" : " of the board's memory") +
                                      " were not all allocated");
    if (combines(call.scenario) && !unit(context))
      context.fail(code::kArithmetic, "no function " + std::to_string(call.function) + " for its type");
  }
  /// What combines elements; none where the configuration has no such function, or not of its type.
  [[nodiscard]] static std::optional<Unit> unit(const Context& context) {
    const Arithmetic& arithmetic = context.arithmetic;
    if (context.call.function >= arithmetic.functions.size()) return std::nullopt;
    const auto found = unit_of(arithmetic.functions[context.call.function]);
    if (!found || bytes_of(found->type) != combined_bytes(context)) return std::nullopt;
    return found;
  }
  [[nodiscard]] static unsigned combined_bytes(const Context& context) {
    return context.arithmetic.compressed ? context.arithmetic.compressed_bytes : context.arithmetic.bytes;
  }
  [[nodiscard]] static std::uint16_t begin_of(const Call& call) {
    auto name = name_of(static_cast<std::uint32_t>(call.scenario));
    if (call.scenario == Scenario::send && call.streams(Role::res)) name = "put";
    if (call.scenario == Scenario::config) name = "nop";
    return std::ranges::find(spec::programs::kBegin, name, &std::pair<std::string_view, std::uint16_t>::first)->second;
  }
  /// What all members know a communicator by: its ranks, and how many communicators of these ranks stand before it. All members have made them
  /// in one order, and their driver places them one behind the other. The hardware finds it out while the host writes the table.
  [[nodiscard]] std::uint32_t identify(const Communicator& communicator, std::uint32_t address) const {
    std::vector<std::uint64_t> words;
    for (const Member& member : communicator.members) {
      words.push_back(member.ip | std::uint64_t{member.port} << 32);
      words.push_back(member.session);
    }
    std::uint64_t before = 0;
    for (std::uint32_t at = ExchangeMemory::kFirstBuffer; at < address; at += 4)
      if (exchange.read(at) == exchange.read(address))
        if (const auto other = exchange.communicator(at)) before += *other == communicator;
    words.push_back(before);
    return crc32(words, static_cast<unsigned>(64 * words.size()));
  }
  void configure(Context& context) {
    const Call& call = context.call;
    auto& buffers = receiver_.buffers;
    switch (static_cast<Setting>(call.function)) {
      case Setting::reset:
        exchange.write(ExchangeMemory::kConfigured, 0);
        buffers.configure({}, 0);
        time_out_ = 0;
        break;
      case Setting::enable_packets: {
        const auto found = exchange.buffers();
        const auto bytes = exchange.buffer_bytes();
        if (found && std::ranges::all_of(*found, [&](auto address) { return device.has(address, bytes); }))
          buffers.configure(*found, bytes);
        else
          context.fail(code::kSize, "the receive buffers are not in memory that was allocated");
        break;
      }
      case Setting::time_out:
        time_out_ = static_cast<Tick>(call.count) * config_.cycles_per_us;
        break;
      case Setting::most_eager:
        if (call.count < exchange.buffer_bytes())
          context.fail(code::kEagerLimit,
                       "an eager limit of " + std::to_string(call.count) + " bytes; it is a receive buffer or more");
        eager_ = call.count;
        break;
      case Setting::most_rendezvous:
        if (call.count <= eager_)
          context.fail(code::kRendezvousLimit,
                       "a rendezvous limit of " + std::to_string(call.count) + " bytes; it is above the eager limit");
        break;
      default:
        context.fail(code::kNotImplemented, "there is no setting " + std::to_string(call.function));
    }
  }
  void finish(Context& context, Tick now) {
    context.ended = true;
    for (Move* move : {&context.move, &context.beside}) {
      for (const Source& source : move->sources)
        if (source.claimed) receiver_.buffers.finish(source.channel, source.number);
      if (move->what && move->offer) receiver_.places.erase(*move->offer);
    }
    if (context.is_collective()) receiver_.buffers.end(context.communicator_id, context.collective);
    receiver_.freed(now);
    exchange.write(ExchangeMemory::kReturnCode, context.code);
    exchange.write(ExchangeMemory::kCycles,
                   static_cast<std::uint32_t>(std::min<Tick>(now - context.called, 0xFFFF'FFFF)));
    done({context.handle, domain_.clock.edge(now), context.code, context.why});
  }

  // Programs.

  /// The cycle in which so many cycles of the sequencer are over.
  Tick sequence(Tick now, Tick cycles) {
    sequencer_free_ = std::max(sequencer_free_, now) + cycles;
    return sequencer_free_;
  }
  /// Goes as far as it can in this cycle; true where something was done that may let others go on.
  bool run(Context& context, Tick now) {
    if (context.ended || !begins(context, now)) return false;
    if (context.goes_on <= now && (context.code != 0 || context.ending)) {
      finish(context, now);
      return true;
    }
    bool moved = context.beside.what && context.beside.goes_on <= now && segment(context, context.beside, now);
    if (context.ended) return true;
    if (context.move.what)
      moved |= context.move.goes_on <= now && segment(context, context.move, now);
    else if (context.goes_on <= now && context.code == 0)
      moved |= interpret(context, now);
    return moved;
  }
  /// A call begins when all before it that it could disturb have ended.
  bool begins(Context& context, Tick now) {
    if (context.started) return true;
    if (context.goes_on > now) return false;
    for (const Context& earlier : contexts_) {
      if (&earlier == &context) break;
      if (!earlier.ended && conflicts(earlier, context)) return false;
    }
    context.started = true;
    if (context.call.scenario == Scenario::config) configure(context);
    return true;
  }
  /// Runs the program up to its next move; true where it has begun one.
  bool interpret(Context& context, Tick now) {
    using enum spec::programs::Operation;
    for (Tick cycles = 1;; ++cycles) {
      const Instruction& one = spec::programs::kInstructions[context.next];
      const std::uint64_t a = context[one.a],
                          b = one.immediate >= 0 ? static_cast<std::uint64_t>(one.immediate) : context[one.b];
      ++context.next;
      switch (one.operation) {
        case set:
          context[one.d] = b;
          break;
        case copy:
          context[one.d] = a;
          break;
        case add:
          context[one.d] = a + b;
          break;
        case sub:
          context[one.d] = a - b;
          break;
        case mul:
          context[one.d] = a * b;
          cycles += kMultiply;
          break;
        case div:
          context[one.d] = b == 0 ? 0 : a / b;
          cycles += kDivide;
          break;
        case eq:
          if (a == b) context.next = one.target;
          break;
        case ne:
          if (a != b) context.next = one.target;
          break;
        case lt:
          if (a < b) context.next = one.target;
          break;
        case ge:
          if (a >= b) context.next = one.target;
          break;
        case call:
          context.link = context.next;
          context.next = one.target;
          break;
        case return_:
          context.next = context.link;
          break;
        case end:
        case start:
          if (context.beside.what) {  // it continues when the background move has ended
            --context.next;
            context.goes_on = kNever;
            return false;
          }
          context.goes_on = sequence(now, cycles);
          if (one.operation == start) {
            if (context[Register::n] > 0) begin(context, context.beside, one);
            return false;
          }
          context.goes_on = std::max(context.goes_on, context.effects);
          context.ending = true;
          return false;
        case signal:
        case await_:
        case move:
          context.goes_on = sequence(now, cycles);
          if (one.operation != move || context[Register::n] > 0) begin(context, context.move, one);
          return false;
      }
    }
  }
  static void begin(Context& context, Move& move, const Instruction& one) {
    move = {};
    move.what = &one;
    const bool is_move =
        one.operation != spec::programs::Operation::signal && one.operation != spec::programs::Operation::await_;
    move.at = is_move ? std::array{context[one.x.register_], context[one.y.register_], context[one.z.register_]}
                      : std::array{context[one.a], std::uint64_t{0}, context[one.a]};
    move.elements = is_move ? context[Register::n] : 0;
    move.goes_on = context.goes_on;
  }

  // Moves.

  static std::optional<Role> role_of(Place place) {
    if (place == Place::op0) return Role::op0;
    if (place == Place::op1) return Role::op1;
    if (place == Place::res) return Role::res;
    return std::nullopt;
  }
  static bool receives(Place place) { return place == Place::recv || place == Place::take; }
  /// Elements of a segment: whole words of every operand, where a receive buffer takes one, or a packet for a place that was offered.
  [[nodiscard]] std::uint64_t most(const Context& context, const Move& move) const {
    const auto buffer = receiver_.buffers.bytes();
    const auto bytes = move.offer || buffer == 0 ? config_.packet_bytes : buffer;
    const auto elements = std::max<std::uint64_t>(1, bytes / std::max(1U, context.wire_bytes()));
    return elements >= kWord ? elements / kWord * kWord : elements;
  }
  static bool wait(Move& move, Tick now, std::uint64_t from) {
    if (move.waits == kNever) move.waits = now;
    move.from = static_cast<std::uint32_t>(from);
    return false;
  }
  /// Whether a message goes straight to its place.
  [[nodiscard]] bool is_large(const Context& context, const Move& move) const {
    return config_.rendezvous && !context.call.compressed_on_wire() && !move.eager &&
           move.elements * context.wire_bytes() > eager_;
  }
  [[nodiscard]] static Channel channel(const Context& context, std::uint64_t peer) {
    const bool collective = context.is_collective();
    return {context.communicator_id, static_cast<std::uint16_t>(peer),
            collective ? spec::MessageKind::collective : spec::MessageKind::message,
            collective ? context.collective : 0};
  }
  [[nodiscard]] static std::uint32_t tag_of(const Context& context) {
    return context.is_collective() ? kAnyTag : context.call.tag;
  }

  /// Carries out the next segment of a move, where all that it takes is there; true where it did something.
  bool segment(Context& context, Move& move, Tick now) {
    using spec::programs::Operation;
    const Instruction& what = *move.what;
    if (what.x.place == Place::take && is_large(context, move)) return take(context, move, now);
    if (what.z.place == Place::give && !move.offer && is_large(context, move)) {
      const auto found = receiver_.offers.take(channel(context, move.at[2]), tag_of(context));
      if (!found) return wait(move, now, move.at[2]);
      if (found->length == 0)
        move.eager = true;
      else if (found->length != move.elements * context.wire_bytes())
        return differ(context, now, move.at[2], found->length, "receives");
      else
        move.offer = found->number;
    }
    auto elements = std::min(move.elements - move.moved, most(context, move));
    std::array<Place, 2> places{what.operation == Operation::await_ ? Place::recv : what.x.place, what.y.place};
    for (std::size_t k = 0; k < 2; ++k) {
      if (!receives(places[k])) continue;
      Source& source = move.sources[k];
      if (!claim(context, source, move.at[k])) return wait(move, now, move.at[k]);
      const auto& message = receiver_.buffers.message(source.channel, source.number);
      if (message.length != move.elements * context.wire_bytes())
        return differ(context, now, move.at[k], message.length, "has sent");
      const auto found = message.segments.upper_bound(source.taken);
      if (found == message.segments.begin() || std::prev(found)->second.full > now) return wait(move, now, move.at[k]);
      const auto& piece = std::prev(found)->second;
      const auto left = piece.offset + piece.length - source.taken;
      if (left == 0 && message.length > 0) return wait(move, now, move.at[k]);
      elements = std::min(elements, left / std::max(1U, context.wire_bytes()));
    }
    move.for_kernel = reads_stream(context, move) && !path_.has(elements * context.bytes(Role::op0), move.word);
    if (move.for_kernel) return wait(move, now, context.communicator.rank);
    if (path_.free() > now) {
      move.goes_on = path_.free();
      return false;
    }
    move.waits = kNever;
    path_.begin(now);
    std::vector<std::byte> data;
    unsigned bytes = context.wire_bytes();  // of an element of `data`
    for (std::size_t k = 0; k < 2; ++k) {
      if (places[k] == Place::none) continue;
      std::vector<std::byte> operand;
      unsigned stored = context.wire_bytes();
      if (const auto role = role_of(places[k])) {
        stored = context.bytes(*role);
        read(context, move, *role, k, elements, operand);
      } else {
        fetch(context, move.sources[k], k, elements, operand, now);
      }
      if (what.y.place != Place::none) {
        convert(operand, stored, combined_bytes(context));
        stored = combined_bytes(context);
      }
      if (k == 0) {
        data = std::move(operand);
        bytes = stored;
      } else {
        const auto with = *unit(context);
        lane(with.op, with.type)(data.data(), operand.data(), elements);
      }
    }
    if (what.operation == Operation::signal)
      send(context, move, spec::MessageKind::collective, {});
    else if (const auto role = role_of(what.z.place))
      write(context, move, *role, data, bytes);
    else if (what.operation != Operation::await_)
      dispatch(context, move, data, bytes);
    move.moved += elements;
    move.goes_on = std::max(now + 1, path_.free());
    if (move.moved == move.elements) end(context, move, now);
    return true;
  }
  /// The move has ended.
  void end(Context& context, Move& move, Tick now) {
    for (Source& source : move.sources)
      if (source.claimed) receiver_.buffers.finish(source.channel, source.number);
    const bool beside = &move == &context.beside;
    // What follows may read what a move has written; what it has sent, it does not see.
    const Tick then = role_of(move.what->z.place) ? std::max(context.effects, now + 1) : move.goes_on;
    if (!beside)
      context.goes_on = then;
    else if (context.goes_on == kNever)
      context.goes_on = std::max(now + 1, then);
    move = {};
  }
  /// The sizes of a message differ at its two ends.
  bool differ(Context& context, Tick now, std::uint64_t peer, std::uint64_t theirs, const std::string& does) {
    const Move& move = context.move.what ? context.move : context.beside;
    context.fail(code::kSize, "rank " + std::to_string(peer) + " " + does + " " + std::to_string(theirs) +
                                  " bytes, and this one has " + std::to_string(move.elements * context.wire_bytes()));
    finish(context, now);
    return true;
  }
  /// Takes a large message at the place that it has offered for it.
  bool take(Context& context, Move& move, Tick now) {
    const auto length = move.elements * context.wire_bytes();
    if (context.call.streams(Role::res)) {
      move.eager = true;
      offer(context, move, 0, 0, now);
      return true;
    }
    if (!move.offer) {
      if (path_.free() > now) {
        move.goes_on = path_.free();
        return false;
      }
      move.offer = offers_made_++;
      receiver_.places[*move.offer] = {.from = channel(context, move.at[0]),
                                       .host = context.call.in_host(Role::res),
                                       .address = move.at[2],
                                       .length = length};
      offer(context, move, *move.offer, length, now);
    }
    const auto& place = receiver_.places.at(*move.offer);
    if (place.full > now) return wait(move, now, move.at[0]);
    context.effects = std::max(context.effects, place.full);
    receiver_.places.erase(*move.offer);
    move.goes_on = now + 1;
    end(context, move, now);
    return true;
  }
  bool claim(Context& context, Source& source, std::uint64_t peer) {
    if (source.claimed) return true;
    source.channel = channel(context, peer);
    const auto found = receiver_.buffers.claim(source.channel, tag_of(context));
    if (!found) return false;
    source = {true, source.channel, *found, 0};
    return true;
  }

  /// Of a message's segment in a receive buffer, which is free when all of it has been taken.
  void fetch(Context& context, Source& source, std::size_t operand, std::uint64_t elements,
             std::vector<std::byte>& data, Tick now) {
    auto& segments = receiver_.buffers.message(source.channel, source.number).segments;
    const auto& piece = std::prev(segments.upper_bound(source.taken))->second;
    data.resize(elements * context.wire_bytes());
    path_.read(static_cast<unsigned>(operand), false, receiver_.buffers.address(piece) + source.taken - piece.offset,
               data);
    source.taken += data.size();
    if (source.taken == piece.offset + piece.length) {
      receiver_.buffers.release(source.channel, source.number, piece.offset);
      receiver_.freed(now);
    }
  }
  void read(Context& context, Move& move, Role role, std::size_t operand, std::uint64_t elements,
            std::vector<std::byte>& data) {
    const auto bytes = context.bytes(role);
    data.resize(elements * bytes);
    if (context.call.streams(role))
      path_.pop(move.word, data);
    else
      path_.read(static_cast<unsigned>(operand), context.call.in_host(role), move.at[operand] + move.moved * bytes,
                 data);
  }
  void write(Context& context, Move& move, Role role, std::vector<std::byte>& data, unsigned from) {
    const auto bytes = context.bytes(role);
    convert(data, from, bytes);
    if (!context.call.streams(role)) {
      const auto seen = path_.write(context.call.in_host(role), move.at[2] + move.moved * bytes, data);
      context.effects = std::max(context.effects, seen);
      return;
    }
    const Tick last = DataPath::cycle(path_.times(data.size()).last);
    context.effects = std::max(context.effects, last);
    move.result.insert(move.result.end(), data.begin(), data.end());
    if (move.moved + data.size() / bytes < move.elements) return;
    move.result.resize((move.result.size() + kWord - 1) / kWord * kWord);
    path_.output.push_back(
        {context.call.tag == kAnyTag ? 0 : context.call.tag & 0xFF, std::exchange(move.result, {}), last});
  }
  void dispatch(Context& context, Move& move, std::vector<std::byte>& data, unsigned from) {
    convert(data, from, context.wire_bytes());
    send(context, move,
         move.offer                         ? spec::MessageKind::write
         : move.what->z.place == Place::put ? spec::MessageKind::stream
         : context.is_collective()          ? spec::MessageKind::collective
                                            : spec::MessageKind::message,
         data);
  }

  // Packets.

  /// A segment of a message, or a message without data.
  void send(Context& context, Move& move, spec::MessageKind kind, std::span<const std::byte> data) {
    const auto peer = static_cast<std::uint32_t>(move.at[2]);
    if (move.offer) move.number = move.offer;
    if (!move.number)
      move.number =
          kind == spec::MessageKind::collective ? context.sent[peer]++ : sent_[{context.communicator_id, peer, kind}]++;
    const auto wire = context.wire_bytes();
    spec::AcclPacket header = header_of(context, kind);
    header.number = *move.number;
    header.length = move.elements * wire;
    header.segment = move.moved * wire;
    header.segment_length = static_cast<std::uint32_t>(data.size());
    const auto [first, last] = path_.times(data.size());
    const double pace = data.empty() ? 0 : (last - first) / static_cast<double>(data.size());
    for (std::size_t at = 0;;) {
      const auto part = data.subspan(at, std::min<std::size_t>(config_.packet_bytes, data.size() - at));
      header.offset = header.segment + at;
      send(context, peer, header, part, DataPath::cycle(first + pace * static_cast<double>(at)),
           DataPath::cycle(first + pace * static_cast<double>(at + part.size())));
      at += part.size();
      if (at >= data.size()) break;
    }
  }
  [[nodiscard]] static spec::AcclPacket header_of(const Context& context, spec::MessageKind kind) {
    return {.kind = kind,
            .stream = static_cast<std::uint8_t>(kind == spec::MessageKind::stream ? context.call.tag : 0),
            .source = static_cast<std::uint16_t>(context.communicator.rank),
            .communicator = context.communicator_id,
            .tag = context.is_collective() ? context.collective : context.call.tag};
  }
  void offer(Context& context, const Move& move, std::uint32_t number, std::uint64_t length, Tick now) {
    spec::AcclPacket header = header_of(context, spec::MessageKind::offer);
    header.stream = context.is_collective();
    header.number = number;
    header.length = length;
    send(context, static_cast<std::uint32_t>(move.at[0]), header, {}, now, now);
  }
  /// A packet whose first and last word are there in these cycles.
  void send(Context& context, std::uint32_t peer, const spec::AcclPacket& header, std::span<const std::byte> data,
            Tick first, Tick last) {
    const auto to = *end_of(context.communicator.members[peer]);
    const auto frame =
        ethernet::make_udp(frames_, udp.own, to, kPacketHeader + data.size(), [&](std::span<std::byte> bytes) {
          const auto words = header.pack();
          std::memcpy(bytes.data(), words.data(), kPacketHeader);
          std::copy(data.begin(), data.end(), bytes.begin() + kPacketHeader);
        });
    if (to.address == udp.own.address) {  // a switch does not send a frame back to where it came from
      receiver_.push(frame, first + 1, std::max(first, last) + 1);
      context.effects = std::max(context.effects, last + 1);
      return;
    }
    const Tick end = udp.send(domain_.clock.edge(first), domain_.clock.edge(last), frame);
    context.effects = std::max(context.effects, domain_.clock.cycle_after(end));
    path_.hold(domain_.clock.cycle_from(udp.behind(config_.send_bytes)));
  }

  void schedule(Tick now) {
    Tick next = kNever;
    const auto at = [&](Tick cycle) {
      if (cycle > now) next = std::min(next, cycle);
    };
    for (const Context& context : contexts_) {
      at(context.goes_on);
      for (const Move* move : {&context.move, &context.beside})
        if (move->what) at(move->goes_on);
    }
    for (const auto& queue : queues_)
      if (!queue.empty()) at(queue.front().goes_on);
    if (next != kNever) domain_.wake(component_, next);
  }

  const NodeConfig config_;
  const unsigned number_;
  Domain& domain_;
  ethernet::Frames& frames_;
  DataPath path_;
  ComponentId component_;
  Receiver receiver_;

  std::array<std::deque<Context>, kPorts> queues_;
  std::list<Context> contexts_;  ///< in the order in which they were admitted
  Tick sequencer_free_ = 0;
  Tick time_out_ = 0;  ///< cycles; 0: none
  std::uint32_t eager_ = 0, offers_made_ = 0;
  std::map<std::uint32_t, std::uint32_t> collectives_;  ///< of a communicator, so far
  std::map<std::tuple<std::uint32_t, std::uint32_t, spec::MessageKind>, std::uint32_t> sent_;
};

}  // namespace thalweg::accl
