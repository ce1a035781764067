// SPDX-License-Identifier: Apache-2.0
// A board with the offload engine. Calls wait in the queues of their ports; up to `contexts` of them are under way. A sequencer runs their
// programs (spec/accl/programs.txt), and the data path carries out their moves, a segment at a time: so a call that waits for a message lets others go on.
//
// A segment is one step here: its words' times follow from the rates of the memory's ports, of the data path (a word of 64 bytes a cycle)
// and of the line.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accl/arithmetic.hpp"
#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/memory.hpp"
#include "accl/receive_buffers.hpp"
#include "accl/udp_port.hpp"
#include "cluster/assembly.hpp"
#include "common/crc32.hpp"

namespace thalweg::accl {

inline constexpr unsigned kWord = 64;    ///< bytes that the data path moves in a cycle
inline constexpr unsigned kHeader = 64;  ///< of a packet

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
  /// Data that have left for a kernel, up to the end of a packet; the number of its stream.
  struct Packet {
    unsigned stream = 0;
    std::vector<std::byte> data;
  };

  Node(const NodeConfig& config, ethernet::UdpEnd own, unsigned number, Domain& engine, Domain& line,
       ethernet::Frames& frames)
      : device("the board's memory of node " + std::to_string(number), config.memory_limit),
        host("the host's memory of node " + std::to_string(number), config.memory_limit),
        udp(own, config.port_latency, line),
        config_(config),
        number_(number),
        domain_(engine),
        frames_(frames),
        reads_{MemoryPort(config.memory_bytes_per_cycle, config.memory_latency),
               MemoryPort(config.memory_bytes_per_cycle, config.memory_latency)},
        writes_(config.memory_bytes_per_cycle, config.memory_latency),
        arrivals_(config.memory_bytes_per_cycle, config.memory_latency),
        host_reads_(config.host_bytes_per_cycle, config.host_latency),
        host_writes_(config.host_bytes_per_cycle, config.host_latency) {
    component_ = engine.scheduler.add(*this);
    udp.receive = [this](const ethernet::FrameRef& frame, Tick first, Tick end) {
      const Tick at = domain_.clock.cycle_after(end);
      incoming_.push_back({frame, domain_.clock.cycle_after(first), at});
      domain_.wake(component_, at);
    };
    exchange.set_identity(kIdentity);
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
    const bool local = call.scenario == Scenario::copy || call.scenario == Scenario::combine ||
                       call.scenario == Scenario::config || call.scenario == Scenario::nop;
    const auto name = name_of(static_cast<std::uint32_t>(call.scenario));
    require(!name.empty(), "scenario " + std::to_string(static_cast<std::uint32_t>(call.scenario)) + " is none");
    if (!local) {
      const auto found = exchange.communicator(call.communicator);
      require(found.has_value(), std::string(name) + ": there is no communicator at " + hex(call.communicator) +
                                     " of the exchange memory that this rank is in");
      made.communicator = *found;
      require(!rooted(call.scenario) || call.root < found->members.size(),
              std::string(name) + ": the communicator has " + std::to_string(found->members.size()) +
                  " ranks, and no rank " + std::to_string(call.root));
      for (const Member& member : found->members)
        require(end_of(member).has_value(), std::string(name) + ": the communicator at " + hex(call.communicator) +
                                                " has a rank whose session " + std::to_string(member.session) +
                                                " and port " + std::to_string(member.port) + " are of no board");
    }
    const Tick now = domain_.scheduler.next();
    made.called = now;
    made.at = now + (port == kKernel ? 0 : config_.invocation);
    queues_[port].push_back(std::move(made));
    domain_.wake(component_, std::max(now, queues_[port].back().at));
  }

  /// A packet for the engine's stream from a kernel; it is padded to whole words.
  void give(std::span<const std::byte> data) {
    const Tick now = domain_.scheduler.next();
    for (std::size_t at = 0; at < data.size(); at += kWord) {
      std::array<std::byte, kWord> word{};
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(kWord, data.size() - at),
                  word.begin());
      input_.push_back(word);
    }
    domain_.wake(component_, now);
  }
  /// What has left for kernels.
  [[nodiscard]] std::vector<Packet> take() { return std::exchange(output_, {}); }

  bool step(Tick now) override {
    receive(now);
    for (bool again = true; again;) {
      again = false;
      admit(now);
      for (Context& context : contexts_) again |= run(context, now);
      again |= std::erase_if(contexts_, [](const Context& context) { return context.ended; }) > 0;
    }
    schedule(now);
    return false;
  }

  /// Calls that have not ended.
  [[nodiscard]] std::size_t open() const {
    std::size_t count = contexts_.size();
    for (const auto& queue : queues_) count += queue.size();
    return count;
  }
  /// The tick of the next time-out; kNever where no call waits.
  [[nodiscard]] Tick time_out() const {
    Tick first = kNever;
    for (const Context& context : contexts_)
      if (context.waits != kNever && time_out_ != 0) first = std::min(first, context.waits + time_out_);
    return domain_.clock.edge(first);
  }
  /// Lets the calls end that have waited until `tick` for longer than their time. Between two advances.
  void expire(Tick tick) {
    const Tick now = domain_.scheduler.next();
    for (Context& context : contexts_)
      if (context.waits != kNever && domain_.clock.edge(context.waits + time_out_) <= tick) {
        fail(context, code::kReceiveTimeOut, "waited " + waits_for(context) + " for too long");
        context.at = now;
      }
    domain_.wake(component_, now);
  }
  void blocked(std::vector<Blocked>& all) const {
    for (const Context& context : contexts_) {
      const bool waits = context.waits != kNever;
      Blocked one{
          .who = who(context),
          .what = waits ? waits_for(context) : "to begin: a call before it uses the same data, stream or messages",
          .since = domain_.clock.edge(waits ? context.waits : context.called)};
      if (waits && !reads_stream(context))
        if (const auto end = end_of(context.communicator.members[context.from]))
          one.on = "node " + std::to_string(end->address & 0xFFFF'FFFF);
      if (buffers_.size() > 0 && buffers_.in_use() == buffers_.size())
        one.because("all " + std::to_string(buffers_.size()) + " receive buffers hold what no call has taken");
      all.push_back(std::move(one));
    }
    for (const auto& queue : queues_)
      for (const Context& context : queue)
        all.push_back({.who = who(context), .what = "to begin", .since = domain_.clock.edge(context.called)});
  }
  void lost(NodeId node, std::vector<Lost>& all) const override {
    udp.lost(node, all);
    for (const auto& [what, count] : {std::pair{"packets for which there was no receive buffer", no_room_},
                                      {"packets that came again", repeated_},
                                      {"packets whose header is of none", malformed_}})
      if (count > 0) all.push_back({node, what, count});
  }
  [[nodiscard]] Domain& domain() const { return domain_; }

 private:
  static constexpr unsigned kPorts = 3, kKernel = 2;
  static constexpr std::uint32_t kIdentity = 0x3c;  ///< UDP; DMA, arithmetic, compression, kernel streams
  // Cycles of the sequencer: a call's words, one a cycle, and what it looks up in the exchange memory.
  static constexpr Tick kFetch = kCallWords, kLookUp = 8, kDivide = 32, kMultiply = 3, kPipeline = 12;

  struct Incoming {
    ethernet::FrameRef frame;
    Tick first, end;
  };
  /// Cycles in which the first and the last word of a segment are there.
  struct Times {
    double first = 0, last = 0;
  };

  static std::string hex(std::uint32_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[value >> shift & 15];
    return text;
  }
  static bool rooted(Scenario scenario) {
    using enum Scenario;
    return scenario == send || scenario == recv || scenario == bcast || scenario == scatter || scenario == gather ||
           scenario == reduce;
  }
  [[nodiscard]] std::string who(const Context& context) const {
    return std::string(name_of(static_cast<std::uint32_t>(context.call.scenario))) + " of node " +
           std::to_string(number_);
  }

  /// What a call that waits is without.
  [[nodiscard]] std::string waits_for(const Context& context) const {
    if (reads_stream(context)) return "for data from its kernel's stream";
    std::string text = "for a message from rank " + std::to_string(context.from) + " of its communicator";
    if (context.call.scenario == Scenario::recv && context.call.tag != kAnyTag)
      text += " with tag " + std::to_string(context.call.tag);
    for (const Source& source : context.sources)
      if (source.claimed && source.channel.source == context.from)
        text += ", of which " + std::to_string(source.taken) + " of " +
                std::to_string(context.elements * context.wire_bytes()) + " bytes have come";
    return text;
  }
  /// The call ends with that bit of its return code.
  static void fail(Context& context, std::uint32_t code, const std::string& why) {
    context.code |= code;
    context.why += (context.why.empty() ? "" : "; ") + why;
  }

  // Packets.

  void receive(Tick now) {
    while (!waiting_.empty() && place(waiting_.front(), now)) {
      waiting_bytes_ -= waiting_.front().frame->size();
      waiting_.pop_front();
    }
    for (; !incoming_.empty() && incoming_.front().end <= now; incoming_.pop_front()) {
      const Incoming& packet = incoming_.front();
      if (waiting_.empty() && place(packet, now)) continue;
      if (waiting_bytes_ + packet.frame->size() > config_.fifo_bytes) {
        ++no_room_;
        continue;
      }
      waiting_bytes_ += packet.frame->size();
      waiting_.push_back(packet);
    }
  }
  /// False where it has to wait for a receive buffer.
  bool place(const Incoming& incoming, Tick now) {
    const auto payload = ethernet::udp_of(*incoming.frame)->payload;
    if (payload.size() < kHeader) {
      ++malformed_;
      return true;
    }
    std::array<std::uint64_t, kHeader / 8> words;
    std::memcpy(words.data(), payload.data(), kHeader);
    if ((words[0] & 0xFF) > static_cast<std::uint64_t>(spec::MessageKind::stream)) {
      ++malformed_;
      return true;
    }
    const auto packet = spec::AcclPacket::unpack(words);
    const auto data = payload.subspan(kHeader);
    if (packet.kind == spec::MessageKind::stream) {
      to_kernel(packet, data);
      return true;
    }
    const Channel channel{packet.communicator, packet.source, packet.kind,
                          packet.kind == spec::MessageKind::collective ? packet.tag : 0};
    ReceiveBuffers::Segment* segment = nullptr;
    switch (buffers_.place(channel, packet, static_cast<std::uint32_t>(data.size()), segment)) {
      case ReceiveBuffers::Verdict::no_room:
        return false;
      case ReceiveBuffers::Verdict::repeated:
        ++repeated_;
        return true;
      case ReceiveBuffers::Verdict::malformed:
        ++malformed_;
        return true;
      case ReceiveBuffers::Verdict::kept:
        break;
    }
    device.write(buffers_.address(*segment) + packet.offset - packet.segment, data);
    const double begin = std::max(static_cast<double>(incoming.first), arrivals_.free());
    const double last = arrivals_.take(begin, std::max(static_cast<double>(incoming.end), begin), data.size());
    if (ReceiveBuffers::whole(*segment)) {
      segment->full = cycle(last + arrivals_.latency());
      domain_.wake(component_, std::max(segment->full, now + 1));
    }
    return true;
  }
  void to_kernel(const spec::AcclPacket& packet, std::span<const std::byte> data) {
    std::vector<std::byte>& message = puts_[{packet.communicator, packet.source, packet.number}];
    if (packet.offset != message.size()) {  // a packet before it is lost, or came again
      ++(packet.offset < message.size() ? repeated_ : malformed_);
      return;
    }
    message.insert(message.end(), data.begin(), data.end());
    if (message.size() < packet.length) return;
    message.resize((message.size() + kWord - 1) / kWord * kWord);
    output_.push_back({packet.stream, std::move(message)});
    puts_.erase({packet.communicator, packet.source, packet.number});
  }

  // Calls.

  void admit(Tick now) {
    for (auto& queue : queues_)
      while (!queue.empty() && queue.front().at <= now && contexts_.size() < config_.contexts) {
        contexts_.push_back(std::move(queue.front()));
        queue.pop_front();
        prepare(contexts_.back(), now);
      }
  }
  /// Fetches the call: sets its registers.
  void prepare(Context& context, Tick now) {
    const Call& call = context.call;
    context.at = sequence(now, kFetch + kLookUp);
    const auto size = static_cast<std::uint32_t>(context.communicator.members.size());
    const auto rank = context.communicator.rank;
    if (size > 0) {
      context.communicator_id = identify(context.communicator, call.communicator);
      if (call.scenario != Scenario::send && call.scenario != Scenario::recv)
        context.collective = collectives_[context.communicator_id]++;
    }
    const bool moves = call.scenario != Scenario::config && call.scenario != Scenario::nop &&
                       call.scenario != Scenario::barrier && call.count > 0;
    if (moves) {
      const auto found = exchange.arithmetic(call.arithmetic);
      if (!found) {
        fail(context, code::kArithmetic, "there is no arithmetic configuration at " + hex(call.arithmetic));
        return;
      }
      context.arithmetic = *found;
      for (const Role role : {Role::op0, Role::op1, Role::res})
        if (!converts(context.bytes(role), context.arithmetic.compressed_bytes) ||
            !converts(context.bytes(role), context.arithmetic.bytes) ||
            !converts(context.bytes(role), context.wire_bytes()))
          fail(context, code::kCompression,
               "elements of " + std::to_string(context.arithmetic.bytes) + " and " +
                   std::to_string(context.arithmetic.compressed_bytes) + " bytes; the engine compresses 4 to 2");
      for (const Range& range : ranges_of(context))
        if (!(range.host ? host : device).has(range.begin, range.end - range.begin))
          fail(context, code::kSize,
               "bytes " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
                   (range.host ? " of the host's memory" : " of the board's memory") + " were not all allocated");
      if (combines(call.scenario) && !unit(context))
        fail(context, code::kArithmetic, "no function " + std::to_string(call.function) + " for its type");
    }
    if (context.code != 0) return;
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
  static bool combines(Scenario scenario) {
    using enum Scenario;
    return scenario == combine || scenario == reduce || scenario == allreduce || scenario == reduce_scatter;
  }
  /// What combines elements; none where the configuration has no such function, or not of its type.
  [[nodiscard]] static std::optional<Unit> unit(const Context& context) {
    const Arithmetic& arithmetic = context.arithmetic;
    if (context.call.function >= arithmetic.functions.size()) return std::nullopt;
    const auto found = unit_of(arithmetic.functions[context.call.function]);
    const auto bytes = arithmetic.compressed ? arithmetic.compressed_bytes : arithmetic.bytes;
    if (!found || bytes_of(found->type) != bytes) return std::nullopt;
    return found;
  }
  [[nodiscard]] static std::uint16_t begin_of(const Call& call) {
    auto name = name_of(static_cast<std::uint32_t>(call.scenario));
    if (call.scenario == Scenario::send && call.streams(Role::res)) name = "put";
    if (call.scenario == Scenario::config) name = "nop";
    for (const auto& [program, begin] : spec::programs::kBegin)
      if (program == name) return begin;
    return 0;
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

  /// The cycle in which so many cycles of the sequencer are over.
  Tick sequence(Tick now, Tick cycles) {
    sequencer_free_ = std::max(sequencer_free_, now) + cycles;
    return sequencer_free_;
  }
  /// Goes as far as it can in this cycle; true where something was done that may let others go on.
  bool run(Context& context, Tick now) {
    if (context.ended || context.at > now) return false;
    if (!context.started) {
      for (const Context& earlier : contexts_) {
        if (&earlier == &context) break;
        if (!earlier.ended && conflicts(earlier, context)) return false;
      }
      context.started = true;
      if (context.call.scenario == Scenario::config) configure(context);
    }
    if (context.code != 0 || context.ending) {
      finish(context, now);
      return true;
    }
    if (context.move) return segment(context, now);
    using enum spec::programs::Operation;
    Tick cycles = 0;
    for (;;) {
      const Instruction& one = spec::programs::kInstructions[context.next];
      const std::uint64_t a = context[one.a],
                          b = one.immediate >= 0 ? static_cast<std::uint64_t>(one.immediate) : context[one.b];
      ++context.next;
      ++cycles;
      switch (one.operation) {
        case end:
          context.at = std::max(sequence(now, cycles), context.effects);
          context.ending = true;
          return false;
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
        case spec::programs::Operation::call:
          context.link = context.next;
          context.next = one.target;
          break;
        case return_:
          context.next = context.link;
          break;
        case signal:
        case await_:
        case spec::programs::Operation::move:
          context.at = sequence(now, cycles);
          if (one.operation == spec::programs::Operation::move && context[Register::n] == 0) break;
          context.move = &one;
          context.elements = one.operation == spec::programs::Operation::move ? context[Register::n] : 0;
          context.moved = 0;
          context.sources = {};
          context.number.reset();
          return false;
      }
    }
  }

  void configure(Context& context) {
    const Call& call = context.call;
    switch (static_cast<Setting>(call.function)) {
      case Setting::reset:
        exchange.write(ExchangeMemory::kConfigured, 0);
        buffers_.configure({}, 0);
        time_out_ = 0;
        break;
      case Setting::enable_packets: {
        const auto found = exchange.buffers();
        const auto bytes = exchange.buffer_bytes();
        bool inside = found.has_value();
        if (found)
          for (const auto address : *found) inside = inside && device.has(address, bytes);
        if (inside)
          buffers_.configure(*found, bytes);
        else
          fail(context, code::kSize, "the receive buffers are not in memory that was allocated");
        break;
      }
      case Setting::time_out:
        time_out_ = static_cast<Tick>(call.count) * config_.cycles_per_us;
        break;
      case Setting::most_eager:
        if (call.count < exchange.buffer_bytes())
          fail(context, code::kEagerLimit,
               "an eager limit of " + std::to_string(call.count) + " bytes; it is a receive buffer or more");
        eager_ = call.count;
        break;
      case Setting::most_rendezvous:
        if (call.count <= eager_)
          fail(context, code::kRendezvousLimit,
               "a rendezvous limit of " + std::to_string(call.count) + " bytes; it is above the eager limit");
        break;
      default:
        fail(context, code::kNotImplemented, "there is no setting " + std::to_string(call.function));
    }
  }

  void finish(Context& context, Tick at) {
    context.ended = true;
    if (context.call.scenario != Scenario::send && context.call.scenario != Scenario::recv &&
        !context.communicator.members.empty())
      buffers_.end(context.communicator_id, context.collective);
    for (Source& source : context.sources)
      if (source.claimed) buffers_.finish(source.channel, source.number);
    const Tick tick = domain_.clock.edge(at);
    const Tick cycles = at - context.called;
    exchange.write(ExchangeMemory::kReturnCode, context.code);
    exchange.write(ExchangeMemory::kCycles, static_cast<std::uint32_t>(std::min<Tick>(cycles, 0xFFFF'FFFF)));
    done({context.handle, tick, context.code, context.why});
  }

  // Moves.

  [[nodiscard]] static bool reads_stream(const Context& context) {
    return context.move && context.move->x.place == Place::op0 && context.call.streams(Role::op0);
  }
  static std::optional<Role> role_of(Place place) {
    if (place == Place::op0) return Role::op0;
    if (place == Place::op1) return Role::op1;
    if (place == Place::res) return Role::res;
    return std::nullopt;
  }
  /// Elements of a segment: whole words of every operand, where a receive buffer takes one.
  [[nodiscard]] std::uint64_t most(const Context& context) const {
    const auto bytes = buffers_.bytes() > 0 ? buffers_.bytes() : config_.packet_bytes;
    const auto elements = std::max<std::uint64_t>(1, bytes / std::max(1U, context.wire_bytes()));
    return elements >= kWord ? elements / kWord * kWord : elements;
  }

  /// Carries out the next segment of the context's move, where all that it takes is there.
  bool segment(Context& context, Tick now) {
    const Instruction& move = *context.move;
    const bool awaits = move.operation == spec::programs::Operation::await_;
    const bool signals = move.operation == spec::programs::Operation::signal;
    auto elements = std::min(context.elements - context.moved, most(context));
    std::array<spec::programs::Operand, 2> operands{move.x, move.y};
    if (awaits) operands[0] = {Place::recv, move.a};
    for (std::size_t k = 0; k < 2; ++k) {
      if (operands[k].place != Place::recv) continue;
      Source& source = context.sources[k];
      const auto peer = static_cast<std::uint32_t>(context[operands[k].register_]);
      if (!claim(context, source, peer)) return wait(context, now, peer);
      const auto& message = buffers_.message(source.channel, source.number);
      if (message.length != context.elements * context.wire_bytes() && !(awaits && message.length == 0)) {
        fail(context, code::kSize,
             "rank " + std::to_string(peer) + " has sent " + std::to_string(message.length) + " bytes, and " +
                 std::to_string(context.elements * context.wire_bytes()) + " were to be received");
        finish(context, now);
        return true;
      }
      const auto found = message.segments.upper_bound(source.taken);
      if (found == message.segments.begin() || std::prev(found)->second.full > now) return wait(context, now, peer);
      const auto& piece = std::prev(found)->second;
      const auto left = piece.offset + piece.length - source.taken;
      if (!awaits) {
        if (left == 0) return wait(context, now, peer);
        elements = std::min(elements, left / context.wire_bytes());
      }
    }
    if (operands[0].place == Place::op0 && context.call.streams(Role::op0)) {
      const auto need = elements * context.bytes(Role::op0) -
                        std::min<std::uint64_t>(context.word.size(), elements * context.bytes(Role::op0));
      if (need > input_.size() * kWord) return wait(context, now, 0);
    }
    if (path_free_ > static_cast<double>(now)) {
      context.at = cycle(path_free_);
      return false;
    }
    context.waits = kNever;

    const auto width = move.y.place == Place::none     ? 0U
                       : context.arithmetic.compressed ? context.arithmetic.compressed_bytes
                                                       : context.arithmetic.bytes;
    std::vector<std::byte> data;
    Times times{static_cast<double>(now), static_cast<double>(now)};
    path_free_ = static_cast<double>(now);
    unsigned have = context.wire_bytes();
    for (std::size_t k = 0; k < 2; ++k) {
      if (operands[k].place == Place::none) continue;
      std::vector<std::byte> operand;
      unsigned bytes = context.wire_bytes();
      if (operands[k].place == Place::recv) {
        fetch(context, context.sources[k], k, elements, operand, times, now);
      } else {
        const Role role = *role_of(operands[k].place);
        bytes = context.bytes(role);
        read(context, role, k, context[operands[k].register_], elements, operand, times, now);
      }
      if (width > 0) {
        convert(operand, bytes, width);
        bytes = width;
      }
      if (k == 0) {
        data = std::move(operand);
        have = bytes;
      } else {
        const auto found = unit(context);
        lane(found->op, found->type)(data.data(), operand.data(), elements);
      }
    }
    times.first += kPipeline;
    times.last = std::max(times.last + kPipeline, times.first + static_cast<double>(data.size() / kWord));
    if (signals)
      send(context, move.a, spec::MessageKind::collective, {}, times);
    else if (!awaits)
      write(context, move.z, data, have, times);
    context.moved += elements;
    if (context.moved < context.elements) {
      context.at = std::max(now + 1, cycle(path_free_));
      return true;
    }
    for (Source& source : context.sources)
      if (source.claimed) {
        buffers_.finish(source.channel, source.number);
        source.claimed = false;
      }
    context.move = nullptr;
    // What follows may read what a move has written; what it has sent, it does not see.
    const bool writes = role_of(move.z.place).has_value();
    context.at = std::max(now + 1, writes ? context.effects : cycle(path_free_));
    return true;
  }
  bool wait(Context& context, Tick now, std::uint32_t from) {
    if (context.waits == kNever) context.waits = now;
    context.from = from;
    return false;
  }
  bool claim(Context& context, Source& source, std::uint32_t peer) {
    if (source.claimed) return true;
    const bool recv = context.call.scenario == Scenario::recv;
    source.channel = {context.communicator_id, static_cast<std::uint16_t>(peer),
                      recv ? spec::MessageKind::message : spec::MessageKind::collective, recv ? 0 : context.collective};
    const auto found = buffers_.claim(source.channel, recv ? context.call.tag : kAnyTag);
    if (!found) return false;
    source.claimed = true;
    source.number = *found;
    source.taken = 0;
    return true;
  }

  /// Of a message's segment in a receive buffer, whose buffer is free when all of it has been taken.
  void fetch(Context& context, Source& source, std::size_t port, std::uint64_t elements, std::vector<std::byte>& data,
             Times& times, Tick now) {
    auto& segments = buffers_.message(source.channel, source.number).segments;
    const auto& piece = std::prev(segments.upper_bound(source.taken))->second;
    data.resize(elements * context.wire_bytes());
    device.read(buffers_.address(piece) + source.taken - piece.offset, data);
    pass(reads_[port], data.size(), times, now);
    source.taken += data.size();
    if (source.taken == piece.offset + piece.length) {
      buffers_.release(source.channel, source.number, piece.offset);
      if (!waiting_.empty()) domain_.wake(component_, now + 1);
    }
  }
  void read(Context& context, Role role, std::size_t port, std::uint64_t address, std::uint64_t elements,
            std::vector<std::byte>& data, Times& times, Tick now) {
    const auto bytes = context.bytes(role);
    data.resize(elements * bytes);
    if (context.call.streams(role)) {
      auto& word = context.word;
      while (word.size() < data.size()) {
        word.insert(word.end(), input_.front().begin(), input_.front().end());
        input_.pop_front();
      }
      std::copy_n(word.begin(), data.size(), data.begin());
      word.erase(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(data.size()));
      times.last = std::max(times.last, static_cast<double>(now) + static_cast<double>(data.size()) / kWord);
      path_free_ = std::max(path_free_, times.last);
      return;
    }
    const bool from_host = context.call.in_host(role);
    (from_host ? host : device).read(address + context.moved * bytes, data);
    pass(from_host ? host_reads_ : reads_[port], data.size(), times, now);
  }
  /// A memory's port reads bytes.
  void pass(MemoryPort& port, std::size_t bytes, Times& times, Tick now) {
    const double last = port.take(static_cast<double>(now), 0, bytes);
    times.first = std::max(times.first, static_cast<double>(now) + port.latency());
    times.last = std::max(times.last, last + port.latency());
    path_free_ = std::max(path_free_, last);
  }

  void write(Context& context, const spec::programs::Operand& to, std::vector<std::byte>& data, unsigned have,
             const Times& times) {
    const auto role = role_of(to.place);
    if (!role) {
      convert(data, have, context.wire_bytes());
      const auto kind = to.place == Place::put                    ? spec::MessageKind::stream
                        : context.call.scenario == Scenario::send ? spec::MessageKind::message
                                                                  : spec::MessageKind::collective;
      send(context, to.register_, kind, data, times);
      return;
    }
    const auto bytes = context.bytes(*role);
    convert(data, have, bytes);
    if (context.call.streams(*role)) {
      context.result.insert(context.result.end(), data.begin(), data.end());
      context.effects = std::max(context.effects, cycle(times.last));
      if (context.moved + data.size() / bytes < context.elements) return;
      context.result.resize((context.result.size() + kWord - 1) / kWord * kWord);
      output_.push_back({context.call.tag == kAnyTag ? 0 : context.call.tag & 0xFF, std::exchange(context.result, {})});
      return;
    }
    const bool to_host = context.call.in_host(*role);
    (to_host ? host : device).write(context[to.register_] + context.moved * bytes, data);
    MemoryPort& port = to_host ? host_writes_ : writes_;
    const double last = port.take(times.first, times.last, data.size());
    // The next segment's first word is there when the port is free.
    path_free_ = std::max(path_free_, last - times.first + static_cast<double>(domain_.scheduler.now()));
    context.effects = std::max(context.effects, cycle(last + port.latency()));
  }

  /// A segment of a message, or a message without data, as packets.
  void send(Context& context, Register peer_in, spec::MessageKind kind, std::span<const std::byte> data,
            const Times& times) {
    const auto peer = static_cast<std::uint32_t>(context[peer_in]);
    if (!context.number)
      context.number =
          kind == spec::MessageKind::collective ? context.sent[peer]++ : sent_[{context.communicator_id, peer, kind}]++;
    const auto wire = context.wire_bytes();
    spec::AcclPacket header{.kind = kind,
                            .stream = static_cast<std::uint8_t>(context.call.tag),
                            .source = static_cast<std::uint16_t>(context.communicator.rank),
                            .communicator = context.communicator_id,
                            .tag = kind == spec::MessageKind::collective ? context.collective : context.call.tag,
                            .number = *context.number,
                            .length = context.elements * wire,
                            .offset = context.moved * wire,
                            .segment = context.moved * wire,
                            .segment_length = static_cast<std::uint32_t>(data.size())};
    const auto to = *end_of(context.communicator.members[peer]);
    const double pace = data.empty() ? 0 : (times.last - times.first) / static_cast<double>(data.size());
    for (std::size_t at = 0;;) {
      const auto part = data.subspan(at, std::min<std::size_t>(config_.packet_bytes, data.size() - at));
      header.offset = context.moved * wire + at;
      const auto frame =
          ethernet::make_udp(frames_, udp.own, to, kHeader + part.size(), [&](std::span<std::byte> bytes) {
            const auto words = header.pack();
            std::memcpy(bytes.data(), words.data(), kHeader);
            std::copy(part.begin(), part.end(), bytes.begin() + kHeader);
          });
      const Tick first = cycle(times.first + pace * static_cast<double>(at));
      const Tick last = cycle(times.first + pace * static_cast<double>(at + part.size()));
      const auto [begin, end] = udp.send(domain_.clock.edge(first), domain_.clock.edge(last), frame);
      context.effects = std::max(context.effects, domain_.clock.cycle_after(end));
      at += part.size();
      if (at >= data.size()) break;
    }
    // The engine goes on when no more is ahead of the line than the port holds.
    const Tick held = static_cast<Tick>(config_.send_bytes) * udp.port.out->rate.byte / udp.port.out->rate.cycle;
    const auto& line = udp.port.domain->clock;
    const Tick free = udp.port.out->rate.seen(udp.port.out->free()) - held;
    if (free > 0) path_free_ = std::max(path_free_, static_cast<double>(domain_.clock.cycle_from(line.edge(free))));
  }

  // Time.

  static Tick cycle(double at) { return static_cast<Tick>(std::ceil(at)); }
  void schedule(Tick now) {
    Tick next = kNever;
    for (const Context& context : contexts_)
      if (context.at > now) next = std::min(next, context.at);
    for (const auto& queue : queues_)
      if (!queue.empty() && queue.front().at > now) next = std::min(next, queue.front().at);
    if (next != kNever) domain_.wake(component_, next);
  }

  const NodeConfig config_;
  const unsigned number_;
  Domain& domain_;
  ethernet::Frames& frames_;
  ComponentId component_ = 0;

  std::array<MemoryPort, 2> reads_;
  MemoryPort writes_, arrivals_, host_reads_, host_writes_;
  double path_free_ = 0;  ///< the cycle from which on the data path takes another segment
  Tick sequencer_free_ = 0;
  Tick time_out_ = 0;  ///< cycles; 0: none
  std::uint32_t eager_ = 0;

  std::array<std::deque<Context>, kPorts> queues_;
  std::list<Context> contexts_;  ///< in the order in which they were admitted
  ReceiveBuffers buffers_;
  std::deque<Incoming> incoming_, waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::map<std::uint32_t, std::uint32_t> collectives_;  ///< of a communicator, so far
  std::map<std::tuple<std::uint32_t, std::uint32_t, spec::MessageKind>, std::uint32_t> sent_;
  std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>, std::vector<std::byte>> puts_;
  std::deque<std::array<std::byte, kWord>> input_;
  std::vector<Packet> output_;
  std::uint64_t no_room_ = 0, repeated_ = 0, malformed_ = 0;
};

}  // namespace thalweg::accl
