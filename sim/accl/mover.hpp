// SPDX-License-Identifier: Apache-2.0
// Executes the moves of calls segment by segment, so that a call that waits for a message does not block others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
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
#include "accl/kernel_streams.hpp"
#include "accl/move_engine.hpp"
#include "accl/receiver.hpp"
#include "accl/transport.hpp"
#include "accl/udp_port.hpp"

namespace thalweg::accl {

class Mover final : public MoveEngine {
 public:
  /// The arguments must outlive the object. `waker`: of the engine. `connections`: null without a reliable transport.
  Mover(const NodeConfig& config, Memory& device, Memory& host, UdpPort& udp, Transport* connections, Domain& domain,
        ethernet::Frames& frames, KernelStreams& kernels, Waker waker)
      : path(config, device, host),
        receiver(config, device, host, output, kernels, waker),
        config_(config),
        udp_(udp),
        connections_(connections),
        domain_(domain),
        frames_(frames),
        kernels_(kernels) {
    path.seen = [this](char port, bool host, std::uint64_t address, std::size_t bytes) {
      if (seen) seen({port, host, address, bytes, {}});
    };
  }

  DataPath path;
  Receiver receiver;

  void step(Tick now) override { receiver.step(now); }
  [[nodiscard]] bool configure(const std::vector<std::uint64_t>& addresses, std::uint32_t bytes) override {
    receiver.buffers.configure(addresses, bytes);
    receiver.freed(domain_.scheduler.now());
    return true;
  }
  void reset(Tick now) override {
    receiver.reset(now);
    sent_.clear();
    if (connections_) connections_->restart_all(domain_.clock.edge(domain_.scheduler.now()));
  }
  [[nodiscard]] bool know(std::uint32_t) override { return true; }
  void give(std::span<const std::byte> data) override { path.give(data); }
  [[nodiscard]] std::size_t words() const override { return path.words(); }
  [[nodiscard]] Buffers buffers() const override { return {receiver.buffers.bytes(), receiver.buffers.size()}; }
  [[nodiscard]] std::vector<std::string> because(const Context& context, const Move& move) const override {
    std::vector<std::string> all;
    const Channel from = channel(context, move.from);
    const auto later = move.what->z.kind == OperandKind::give ? 0 : receiver.buffers.behind_missing(from);
    if (later > 0)
      all.push_back("a message is missing, and " + std::to_string(later) +
                    " later ones from that rank wait for it, as messages are received in the order of their sends");
    if (auto text = receiver.full(from.communicator); !text.empty()) all.push_back(std::move(text));
    return all;
  }
  void lost(NodeId node, std::vector<Lost>& all) const override { receiver.lost(node, all); }

  [[nodiscard]] bool segment(Context& context, Move& move, Tick now) override {
    using spec::programs::Operation;
    const Instruction& what = *move.what;
    if (what.x.kind == OperandKind::take && is_large(context, move)) return take(context, move, now);
    if (what.z.kind == OperandKind::give && !move.offer && is_large(context, move)) {
      const auto found = receiver.offers.take(channel(context, move.at[2]), tag_of(context));
      if (!found) return wait(move, now, move.at[2]);
      if (found->length == 0)
        move.eager = true;
      else if (found->length != move.elements * context.wire_bytes())
        return differs(context, move, now, move.at[2], found->length, "receives");
      else
        move.offer = found->number;
    }
    std::size_t room = kUnlimited;  // packets that can be sent
    if (const auto peer = sends_to(move)) {
      room = room_to(context, move, *peer, move.offer ? Lane::others : Lane::messages, now);
      if (room == 0) return context.code != 0;
    }
    const auto most = this->most(context, move);
    auto elements = std::min({move.elements - move.moved, most - move.moved % most,
                              room == kUnlimited ? most : room * packet_elements(context)});
    std::array<OperandKind, 2> kinds{what.operation == Operation::await_ ? OperandKind::recv : what.x.kind,
                                     what.y.kind};
    for (std::size_t k = 0; k < 2; ++k) {
      if (!receives(kinds[k])) continue;
      Source& source = move.sources[k];
      if (!claim(context, source, move.at[k])) return wait(move, now, move.at[k]);
      const auto& message = receiver.buffers.message(source.channel, source.number);
      if (message.length != move.elements * context.wire_bytes())
        return differs(context, move, now, move.at[k], message.length, "has sent");
      const auto* piece = ReceiveBuffers::next(message);
      if (!piece || piece->full > now) return wait(move, now, move.at[k]);
      const auto left = piece->offset + piece->length - source.taken;
      elements = std::min(elements, left / std::max(1U, context.wire_bytes()));
    }
    move.for_kernel = reads_stream(context, move) && !path.has(elements * context.bytes(Role::op0), move.word);
    if (move.for_kernel) {
      want(context, move);
      return wait(move, now, context.communicator.rank);
    }
    if (path.free() > now) {
      move.resumes_at = path.free();
      return false;
    }
    move.waits = kNever;
    path.begin(now);
    std::vector<std::byte> data;
    unsigned bytes = context.wire_bytes();  // per element of `data`
    for (std::size_t k = 0; k < 2; ++k) {
      if (kinds[k] == OperandKind::none) continue;
      std::vector<std::byte> operand;
      unsigned stored = context.wire_bytes();
      if (const auto role = role_of(kinds[k])) {
        stored = context.bytes(*role);
        read(context, move, *role, k, elements, operand);
      } else {
        fetch(context, move.sources[k], k, elements, operand, now);
      }
      if (what.y.kind != OperandKind::none) {
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
    else if (const auto role = role_of(what.z.kind))
      write(context, move, *role, data, bytes);
    else if (what.operation != Operation::await_)
      dispatch(context, move, data, bytes);
    move.moved += elements;
    if (reads_stream(context, move)) want(context, move);
    move.resumes_at = std::max(now + 1, path.free());
    if (move.moved == move.elements) end(context, move, now);
    return true;
  }
  void greet(const Communicator& all) override {
    if (!connections_) return;
    const Tick now = domain_.clock.edge(domain_.scheduler.now());
    for (const Member& member : all.members)
      if (const auto to = end_of(member); to && to->address != udp_.own.address) connections_->greet(*to, now);
  }
  /// True if a move of the call waits for this packet of a message.
  [[nodiscard]] bool wants(const Context& context, const Channel& of, const spec::AcclPacket& packet) const {
    for (const Move* move : {&context.move, &context.background}) {
      if (!move->what || move->waits == kNever || move->for_room || move->for_kernel) continue;
      const bool awaits = move->what->operation == spec::programs::Operation::await_;
      const std::array<OperandKind, 2> kinds{awaits ? OperandKind::recv : move->what->x.kind, move->what->y.kind};
      for (std::size_t k = 0; k < 2; ++k) {
        if (!receives(kinds[k])) continue;
        const Source& source = move->sources[k];
        const auto tag = tag_of(context);
        if (source.claimed
                ? source.channel == of && source.number == packet.number
                : channel(context, move->at[k]) == of && (tag == kAnyTag || packet.tag == kAnyTag || packet.tag == tag))
          return true;
      }
    }
    return false;
  }
  /// Reads a piece of operand 0 for units beside the engine. Returns the cycle in which its last word arrives; none if
  /// the kernel's stream has too few words.
  [[nodiscard]] std::optional<Tick> load(const Context& context, Move& move, UnitPiece& piece, Tick now) {
    const auto bytes = context.bytes(Role::op0);
    const auto blocks = blocks_of(context)[0];
    const auto part = piece.elements * bytes;
    double free = static_cast<double>(now), last = free;
    if (context.call.streams(Role::op0) && blocks > 0) {
      move.for_kernel = !path.has(part, move.word);
      if (move.for_kernel) {
        kernels_.want((part - move.word.size() + kWord - 1) / kWord);
        return std::nullopt;
      }
      piece.send.resize(part);
      path.pull(move.word, piece.send);
      free = last = free + static_cast<double>(part) / kWord;
    } else {
      piece.send.resize(blocks * part);
      for (std::uint64_t block = 0; block < blocks; ++block)
        std::tie(free, last) = path.fetch(now, context.call.in_host(Role::op0),
                                          context.call.address[0] + (block * context.call.count + move.moved) * bytes,
                                          std::span(piece.send).subspan(block * part, part));
    }
    convert(piece.send, bytes, context.wire_bytes());
    move.moved += piece.elements;
    move.resumes_at = std::max(now + 1, DataPath::cycle(free));
    return std::max(now + 1, DataPath::cycle(last));
  }
  /// Writes the result of a piece from units beside the engine.
  void store(Context& context, Move& move, UnitPiece& piece, Tick now) {
    const auto bytes = context.bytes(Role::res);
    const auto blocks = blocks_of(context)[2];
    const auto part = piece.elements * bytes;
    double free = static_cast<double>(now), seen = free;
    if (blocks > 0) convert(piece.receive, context.wire_bytes(), bytes);
    if (context.call.streams(Role::res) && blocks > 0) {
      free = seen = free + static_cast<double>(part) / kWord;
      deliver(context, move, piece.receive, static_cast<double>(now), free, piece.elements);
    } else {
      for (std::uint64_t block = 0; block < blocks; ++block)
        std::tie(free, seen) = path.store(now, context.call.in_host(Role::res),
                                          context.call.address[2] + (block * context.call.count + move.moved) * bytes,
                                          std::span(piece.receive).subspan(block * part, part));
    }
    move.moved += piece.elements;
    move.resumes_at = std::max(now + 1, DataPath::cycle(free));
    context.effects = std::max(context.effects, DataPath::cycle(seen));
  }
  void release(const Context& context, Tick now) override {
    for (const Move* move : {&context.move, &context.background}) {
      for (const Source& source : move->sources)
        if (source.claimed) receiver.buffers.finish(source.channel, source.number);
      if (move->what && move->what->x.kind == OperandKind::take && move->offer) receiver.places.erase(*move->offer);
    }
    if (context.is_collective()) receiver.buffers.end(context.communicator_id, context.collective);
    receiver.freed(now);
  }
  /// A quarter of a window.
  [[nodiscard]] std::uint64_t most_in_circle(const Context& context) const override {
    if (!connections_) return std::max<std::uint64_t>(1, context.call.count);
    const auto buffer = receiver.buffers.bytes();
    const auto bytes = std::min<std::uint64_t>(buffer == 0 ? config_.packet_bytes : buffer, config_.packet_bytes);
    const auto elements = config_.window() / 4 * bytes / std::max(1U, context.wire_bytes());
    return std::max<std::uint64_t>(elements / kWord * kWord, 1);
  }
  [[nodiscard]] std::optional<std::uint64_t> come(const Move& move) const override {
    const auto found = move.offer ? receiver.places.find(*move.offer) : receiver.places.end();
    return found == receiver.places.end() ? std::nullopt : std::optional(found->second.pieces.bytes());
  }

 private:
  static bool reads_stream(const Context& context, const Move& move) {
    return context.call.streams(Role::op0) &&
           (move.what->x.kind == OperandKind::op0 || move.what->y.kind == OperandKind::op0);
  }
  /// Requests words from the kernel for at most two segments: the current and the next one.
  void want(const Context& context, const Move& move) {
    const auto elements = std::min(move.elements - move.moved, 2 * most(context, move));
    const auto bytes = elements * context.bytes(Role::op0);
    kernels_.want(bytes > move.word.size() ? (bytes - move.word.size() + kWord - 1) / kWord : 0);
  }
  /// Maximum elements of a segment: whole words of every operand that fit into a receive buffer or, for an offered
  /// buffer, into a packet.
  [[nodiscard]] std::uint64_t most(const Context& context, const Move& move) const {
    const auto buffer = receiver.buffers.bytes();
    const auto bytes = move.offer || buffer == 0 ? config_.packet_bytes : buffer;
    const auto elements = std::max<std::uint64_t>(1, bytes / std::max(1U, context.wire_bytes()));
    return elements >= kWord ? elements / kWord * kWord : elements;
  }
  bool wait(Move& move, Tick now, std::uint64_t from) {
    if (move.waits == kNever) {
      move.waits = now;
      receiver.freed(now);  // the awaited packet may have been held back
    }
    move.from = static_cast<std::uint32_t>(from);
    return false;
  }
  [[nodiscard]] std::optional<unsigned> connection_with(const Context& context, std::uint64_t peer, Lane lane) const {
    if (!connections_) return std::nullopt;
    return connections_->with(*end_of(context.communicator.members[peer]), lane);
  }
  /// Number of packets that can be sent to a rank. 0: the move waits, or the call has failed because the rank does not
  /// respond.
  std::size_t room_to(Context& context, Move& move, std::uint64_t peer, Lane lane, Tick now) {
    const auto connection = connection_with(context, peer, lane);
    if (!connection) return kUnlimited;
    if (const auto failure = connections_->failure(*connection); !failure.empty()) {
      context.fail(code::kReceiveTimeOut,
                   "rank " + std::to_string(peer) + " " + failure + dark(context, static_cast<std::uint32_t>(peer)));
      connections_->restart(*connection, domain_.clock.edge(domain_.scheduler.now()));
      context.resumes_at = now;
      return 0;
    }
    const std::size_t window = config_.window();
    const std::size_t room = peer == context.communicator.rank
                                 ? window - std::min(window, receiver.held_back(*connection))
                                 : connections_->room(*connection);
    move.for_room = room == 0;
    if (move.for_room) wait(move, now, peer);
    return room;
  }
  /// Maximum elements of a packet.
  [[nodiscard]] std::uint64_t packet_elements(const Context& context) const {
    return std::max<std::uint64_t>(1, config_.packet_bytes / std::max(1U, context.wire_bytes()));
  }
  /// True if a message uses rendezvous, with direct writes to its destination.
  [[nodiscard]] bool is_large(const Context& context, const Move& move) const {
    return config_.rendezvous && !context.call.compressed_on_wire() && !move.eager &&
           move.elements * context.wire_bytes() > eager;
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

  /// Ends a move.
  void end(Context& context, Move& move, Tick now) {
    for (Source& source : move.sources)
      if (source.claimed) receiver.buffers.finish(source.channel, source.number);
    const bool background = &move == &context.background;
    // Later instructions may read data that the move has written, so they wait until it is visible; data sent need no
    // wait.
    const Tick then = role_of(move.what->z.kind) ? std::max(context.effects, now + 1) : move.resumes_at;
    if (!background)
      context.resumes_at = then;
    else if (context.resumes_at == kNever)
      context.resumes_at = std::max(now + 1, then);
    move = {};
  }
  static bool differs(Context& context, const Move& move, Tick now, std::uint64_t peer, std::uint64_t theirs,
                      const std::string& does) {
    differ(context, move, now, peer, theirs, does);
    return true;
  }
  /// Receives a large message in the buffer that the move has offered for it.
  bool take(Context& context, Move& move, Tick now) {
    const auto length = move.elements * context.wire_bytes();
    if (!move.offer && room_to(context, move, move.at[0], Lane::others, now) == 0) return context.code != 0;
    if (context.call.streams(Role::res)) {
      move.eager = true;
      offer(context, move, 0, 0, now);
      return true;
    }
    if (!move.offer) {
      if (path.free() > now) {
        move.resumes_at = path.free();
        return false;
      }
      move.offer = offers_++;
      receiver.places[*move.offer] = {.from = channel(context, move.at[0]),
                                      .host = context.call.in_host(Role::res),
                                      .address = move.at[2],
                                      .length = length};
      offer(context, move, *move.offer, length, now);
    }
    const auto& place = receiver.places.at(*move.offer);
    if (place.full > now) return wait(move, now, move.at[0]);
    context.effects = std::max(context.effects, place.full);
    receiver.places.erase(*move.offer);
    move.resumes_at = now + 1;
    end(context, move, now);
    return true;
  }
  bool claim(Context& context, Source& source, std::uint64_t peer) {
    if (source.claimed) return true;
    source.channel = channel(context, peer);
    const auto found = receiver.buffers.claim(source.channel, tag_of(context));
    if (!found) return false;
    source = {true, source.channel, *found, 0};
    return true;
  }

  /// Reads from a message's segment in a receive buffer, which is freed once the segment is taken completely.
  void fetch(Context& context, Source& source, std::size_t operand, std::uint64_t elements,
             std::vector<std::byte>& data, Tick now) {
    const auto& piece = *ReceiveBuffers::next(receiver.buffers.message(source.channel, source.number));
    data.resize(elements * context.wire_bytes());
    path.read(static_cast<unsigned>(operand), false, receiver.buffers.address(piece) + source.taken - piece.offset,
              data);
    source.taken += data.size();
    if (source.taken == piece.offset + piece.length) {
      receiver.buffers.release(source.channel, source.number);
      receiver.freed(now);
    }
  }
  void read(Context& context, Move& move, Role role, std::size_t operand, std::uint64_t elements,
            std::vector<std::byte>& data) {
    const auto bytes = context.bytes(role);
    data.resize(elements * bytes);
    if (context.call.streams(role))
      path.pop(move.word, data);
    else
      path.read(static_cast<unsigned>(operand), context.call.in_host(role), move.at[operand] + move.moved * bytes,
                data);
  }
  void write(Context& context, Move& move, Role role, std::vector<std::byte>& data, unsigned from) {
    const auto bytes = context.bytes(role);
    convert(data, from, bytes);
    if (!context.call.streams(role)) {
      const auto seen = path.write(context.call.in_host(role), move.at[2] + move.moved * bytes, data);
      context.effects = std::max(context.effects, seen);
      return;
    }
    const auto times = path.times(data.size());
    deliver(context, move, data, times.first, times.last, data.size() / bytes);
  }
  /// Delivers elements of a result to a kernel.
  void deliver(Context& context, Move& move, std::span<const std::byte> data, double first, double end,
               std::uint64_t elements) {
    const Tick last = DataPath::cycle(end);
    context.effects = std::max(context.effects, last);
    const unsigned number = context.call.tag == kAnyTag ? 0 : context.call.tag & 0xFF;
    const bool ends = move.moved + elements == move.elements && !move.continues;
    if (kernels_.has(number)) return kernels_.deliver(number, data, first, end, ends);
    context.result.insert(context.result.end(), data.begin(), data.end());
    if (!ends) return;
    context.result.resize((context.result.size() + kWord - 1) / kWord * kWord);
    output.push_back({number, std::exchange(context.result, {}), last});
  }
  void dispatch(Context& context, Move& move, std::vector<std::byte>& data, unsigned from) {
    convert(data, from, context.wire_bytes());
    send(context, move, kind_of(context, move), data);
  }

  // Packets.

  /// Sends a segment of a message, or a message without data.
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
    const auto most = this->most(context, move);
    const auto begin = move.moved - move.moved % most;
    header.segment = begin * wire;
    header.segment_length = static_cast<std::uint32_t>(std::min(most, move.elements - begin) * wire);
    const auto [first, last] = path.times(data.size());
    const double pace = data.empty() ? 0 : (last - first) / static_cast<double>(data.size());
    for (std::size_t at = 0;;) {
      const auto part = data.subspan(at, std::min<std::size_t>(config_.packet_bytes, data.size() - at));
      header.offset = move.moved * wire + at;
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
  /// Sends a packet whose first and last word are available in these cycles.
  void send(Context& context, std::uint32_t peer, const spec::AcclPacket& header, std::span<const std::byte> data,
            Tick first, Tick last) {
    const auto to = *end_of(context.communicator.members[peer]);
    if (connections_ && to.address != udp_.own.address) {
      std::vector<std::byte> bytes(kPacketHeader + data.size());
      put_packet(bytes, header, data);
      const auto& clock = domain_.clock;
      connections_->send(connections_->with(to, lane_of(header)), std::move(bytes), clock.edge(domain_.scheduler.now()),
                         clock.edge(std::max(first, last)));
      context.effects = std::max(context.effects, last + 1);
      return;
    }
    const auto frame = datagram(frames_, udp_.own, to, header, data);
    if (to.address == udp_.own.address) {  // a switch does not return a frame to its ingress port
      if (connections_)
        receiver.push(connections_->with(to, lane_of(header)), frame, first + 1, std::max(first, last) + 1);
      else
        receiver.push(frame, first + 1, std::max(first, last) + 1);
      context.effects = std::max(context.effects, last + 1);
      return;
    }
    const Tick end = udp_.send(domain_.clock.edge(first), domain_.clock.edge(last), frame);
    context.effects = std::max(context.effects, domain_.clock.cycle_after(end));
    path.hold(domain_.clock.cycle_from(udp_.behind(config_.send_bytes)));
  }

  static constexpr std::size_t kUnlimited = ~std::size_t{0};

  const NodeConfig& config_;
  UdpPort& udp_;
  Transport* connections_;
  Domain& domain_;
  ethernet::Frames& frames_;
  KernelStreams& kernels_;
  std::uint32_t offers_ = 0;  ///< offers made
  std::map<std::tuple<std::uint32_t, std::uint32_t, spec::MessageKind>, std::uint32_t> sent_;
};

}  // namespace thalweg::accl
