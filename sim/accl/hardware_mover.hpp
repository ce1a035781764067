// SPDX-License-Identifier: Apache-2.0
// Hardware that carries out a board's moves (rtl/accl/top): its memory, its kernels and its MAC are the simulator's, as is the sequencer that gives
// it the moves. Unlike the simulator's mover it goes cycle by cycle.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/kernel_streams.hpp"
#include "accl/memory.hpp"
#include "accl/move_engine.hpp"
#include "accl/move_maker.hpp"
#include "accl/node_circuit.hpp"
#include "accl/packet.hpp"
#include "accl/udp_port.hpp"
#include "core/require.hpp"
#include "ethernet/frame.hpp"

namespace thalweg::accl {

class HardwareMover final : public MoveEngine {
 public:
  static constexpr std::size_t kWords = 16;  ///< of kernels, that wait for the hardware

  /// What is given outlives it. `ends`: of all boards. `waker`: of the node. Throws std::invalid_argument.
  HardwareMover(const NodeConfig& config, Memory& device, Memory& host, UdpPort& udp, Domain& engine,
                KernelStreams& kernels, ethernet::Frames& frames, Waker waker,
                const std::vector<ethernet::UdpEnd>& ends, std::unique_ptr<NodeCircuit> circuit)
      : config_(config),
        memories_{&device, &host},
        udp_(udp),
        engine_(engine),
        kernels_(kernels),
        frames_(frames),
        waker_(waker),
        circuit_(std::move(circuit)),
        limits_(circuit_->limits()),
        slots_(limits_.slots),
        on_engine_{*this, false},
        on_line_{*this, true},
        engine_component_(engine.scheduler.add(on_engine_)),
        line_component_(line().scheduler.add(on_line_)) {
    require(ends.size() <= limits_.ends, "the hardware knows " + std::to_string(limits_.ends) + " boards");
    require(config.packet_bytes <= limits_.packet_bytes, "the hardware's packets have less payload");
    for (unsigned k = 0; k < ends.size(); ++k)
      set(NodeCircuit::Sets::end, k,
          {ends[k].port | (ends[k].ip & 0xFFFF) << 16,
           ends[k].ip >> 16 | static_cast<std::uint32_t>(ends[k].address & 0xFFFF) << 16,
           static_cast<std::uint32_t>(ends[k].address >> 16)});
    static_cast<void>(configure({}, 0));
    udp.arrived = [this](const ethernet::Arrival& arrival) { arrive(arrival); };
  }

  void step(Tick /*now*/) override {}

  [[nodiscard]] bool configure(const std::vector<std::uint64_t>& addresses, std::uint32_t bytes) override {
    if (addresses.size() > limits_.buffers || addresses.size() == 1 || bytes % kGrain != 0 ||
        bytes > std::uint64_t{limits_.packets} * config_.packet_bytes)
      return false;
    buffers_ = addresses.size();
    buffer_bytes_ = bytes;
    for (unsigned k = 0; k < addresses.size(); ++k)
      set(NodeCircuit::Sets::buffer, k,
          {static_cast<std::uint32_t>(addresses[k]), static_cast<std::uint32_t>(addresses[k] >> 32)});
    const auto last = addresses.empty() ? 0 : static_cast<std::uint32_t>(addresses.size() - 1);
    set(NodeCircuit::Sets::sizes, 0, {last << 24 | bytes / kWord << 8 | config_.packet_bytes / kWord});
    commands_.push_back({.does = NodeCircuit::Does::clear});
    wake();
    return true;
  }
  void reset(Tick /*now*/) override {
    moves_.reset();
    ending_.clear();
    static_cast<void>(configure({}, 0));
  }
  [[nodiscard]] bool know(std::uint32_t communicator) override {
    if (communicators_.contains(communicator)) return true;
    if (communicators_.size() == limits_.communicators) return false;
    const auto index = static_cast<unsigned>(communicators_.size());
    communicators_[communicator] = index;
    set(NodeCircuit::Sets::communicator, index, {communicator, 1});
    return true;
  }
  void greet(const Communicator& /*all*/) override {}
  void give(std::span<const std::byte> data) override {
    for (std::size_t at = 0; at < data.size(); at += kWord)
      from_kernel_.push_back(data_of(data.subspan(at, std::min<std::size_t>(kWord, data.size() - at))));
    wake();
  }
  [[nodiscard]] std::size_t words() const override { return from_kernel_.size(); }
  [[nodiscard]] Buffers buffers() const override { return {.bytes = buffer_bytes_, .all = buffers_}; }
  [[nodiscard]] std::uint64_t most_in_circle(const Context& context) const override {
    return std::max<std::uint64_t>(1, context.call.count);
  }

  [[nodiscard]] bool segment(Context& context, Move& move, Tick now) override {
    if (move.continues && move.what->z.place == Place::res && context.call.streams(Role::res)) {
      context.fail(code::kNotImplemented,
                   "the hardware gives a kernel's stream what comes in parts in several packets");
      context.goes_on = now;
      return true;
    }
    const auto free = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.busy; });
    if (free == slots_.end()) {  // one of those that are under way ends
      waiting_.push_back(&move);
      move.goes_on = kNever;
      return false;
    }
    const auto slot = static_cast<unsigned>(free - slots_.begin());
    commands_.push_back(
        {.does = NodeCircuit::Does::begin, .slot = slot, .move = moves_.make(context, move, number_of(context))});
    *free = {.busy = true, .context = &context, .move = &move};
    move.goes_on = kNever;
    wake();
    return false;
  }
  void release(const Context& context, Tick /*now*/) override {
    bool cancels = false;
    std::erase_if(waiting_, [&](const Move* move) { return move == &context.move || move == &context.beside; });
    for (unsigned k = 0; k < slots_.size(); ++k) {
      Slot& slot = slots_[k];
      if (!slot.busy || slot.context != &context) continue;
      commands_.push_back({.does = NodeCircuit::Does::cancel, .slot = k});
      slot.context = nullptr;
      slot.move = nullptr;
      slot.of = context.collective;
      slot.communicator = context.communicator_id;
      cancels = true;
    }
    moves_.release(context);
    if (context.is_collective() && communicators_.contains(context.communicator_id)) {
      ending_.push_back({context.communicator_id, context.collective});
      if (!cancels) end_collectives();
    }
    wake();
  }
  void lost(NodeId node, std::vector<Lost>& all) const override {
    static constexpr std::array<const char*, 6> kCounts{"packets behind one that is missing",
                                                        "packets of communicators that the board is not in",
                                                        "packets without a header of ACCL",
                                                        "packets that came again",
                                                        "",
                                                        ""};
    for (unsigned k = 0; k < 4; ++k)
      if (counts_[k] > 0) all.push_back({node, kCounts[k], counts_[k]});
    if (dropped_ > 0) all.push_back({node, "packets for which there was no room", dropped_});
  }

 private:
  using Data = NodeCircuit::Data;
  static constexpr std::uint32_t kGrain = 512;  ///< bytes, of which a receive buffer has a multiple
  static constexpr unsigned kQuiet = 512;  ///< cycles in which nothing happens at any port, after which nothing will
  static constexpr std::size_t kRequests = 8, kWrites = 4;  ///< that a memory's port has under way
  static constexpr Tick kPoll = 16;                         ///< cycles, after which a move looks again for a slot
  static constexpr Tick kMacCycles = 128;                   ///< that the MAC may be ahead of the line

  struct Slot {
    bool busy = false;
    const Context* context = nullptr;  ///< null: the call has ended
    Move* move = nullptr;
    std::uint32_t of = 0, communicator = 0;
  };
  struct Reader {
    struct Word {
      double at;
      Data data;
    };
    double free = 0;
    std::deque<Word> words;
    std::deque<std::size_t> requests;  ///< words of each that are to be taken
  };
  struct Writer {
    struct Write {
      bool host;
      std::uint64_t at;
      std::uint32_t bytes;
    };
    double free = 0;
    std::deque<Write> open;
    std::deque<Tick> written;
  };
  struct Beat {
    Tick cycle = 0;
    Data data{};
    std::uint64_t keep = 0;
    bool last = false, damaged = false;
  };
  struct Side final : Component {
    Side(HardwareMover& of, bool line) : of(of), line(line) {}
    bool step(Tick now) override { return line ? of.step_line(now) : of.step_engine(now); }
    HardwareMover& of;
    bool line;
  };

  /// The hardware's number of its communicator.
  [[nodiscard]] unsigned number_of(const Context& context) const {
    const auto found = communicators_.find(context.communicator_id);
    return found == communicators_.end() ? 0 : found->second;
  }
  [[nodiscard]] Domain& line() const { return *udp_.port.domain; }
  static Data data_of(std::span<const std::byte> bytes) {
    Data data{};
    std::memcpy(data.data(), bytes.data(), bytes.size());
    return data;
  }
  void set(NodeCircuit::Sets what, unsigned index, const std::array<std::uint32_t, 3>& value) {
    settings_.push_back({what, index, value});
    wake();
  }
  /// Both clocks run from their next cycles on.
  void wake() {
    quiet_ = 0;
    if (std::exchange(awake_, true)) return;
    engine_.wake(engine_component_, engine_.next());
    line().wake(line_component_, line().next());
  }
  void end_collectives() {
    std::erase_if(ending_, [&](const auto& one) {
      if (std::ranges::any_of(slots_, [&](const Slot& slot) {
            return slot.busy && !slot.move && slot.communicator == one.first && slot.of == one.second;
          }))
        return false;
      commands_.push_back({.does = NodeCircuit::Does::end_collective,
                           .move = {.from_communicator = communicators_.at(one.first), .from_tag = one.second}});
      return true;
    });
  }

  // The engine's clock.

  bool step_engine(Tick now) {
    if (!awake_) return false;
    in_.sets = !settings_.empty();
    if (in_.sets) in_.setting = settings_.front();
    in_.commands = settings_.empty() && !commands_.empty();
    if (in_.commands) in_.command = commands_.front();
    const auto at = static_cast<double>(now);
    for (unsigned k = 0; k < 2; ++k) {
      const Reader& reader = readers_[k];
      auto& read = in_.reads[k];
      read.accepts = reader.requests.size() < kRequests;
      read.answers = !reader.words.empty() && reader.words.front().at <= at;
      if (read.answers) read.answer = reader.words.front().data;
      const Writer& writer = writers_[k];
      auto& write = in_.writes[k];
      write.accepts = writer.open.size() < kWrites;
      write.takes = !writer.open.empty() && writer.free < at + 1;  // as a word ends within a cycle
      write.written = !writer.written.empty() && writer.written.front() <= now;
    }
    in_.from_kernel = !from_kernel_.empty();
    if (in_.from_kernel) in_.word = from_kernel_.front();

    const auto& out = circuit_->show(in_);
    bool moved = in_.sets || in_.commands;
    if (in_.sets) settings_.pop_front();
    if (in_.commands && out.takes_command) {
      commands_.pop_front();
    }
    for (unsigned k = 0; k < 2; ++k) moved |= read(k, out.reads[k], now) | write(k, out.writes[k], now);
    if (in_.from_kernel && out.takes_word) {
      from_kernel_.pop_front();
      waker_.wake(now + 1);
      moved = true;
    }
    if (out.to_kernel) {
      to_kernel(out, now);
      moved = true;
    }
    if (out.moves)
      if (Move* move = slots_[out.moves_slot].move) move->waits = kNever;
    wait(out, now);
    if (out.ended) {
      end(out, now);
      moved = true;
    }
    counts_ = out.counts;
    dropped_ = std::uint64_t{out.own_dropped} + out.dropped;
    circuit_->edge(false);
    for (unsigned k = 0; k < 2; ++k)
      moved |= !readers_[k].words.empty() || !writers_[k].written.empty() || !writers_[k].open.empty();
    quiet_ = moved ? 0 : quiet_ + 1;
    if (quiet_ > kQuiet && beats_.empty()) awake_ = false;
    return awake_;
  }
  bool read(unsigned k, const NodeCircuit::Outputs::Read& shown, Tick now) {
    Reader& reader = readers_[k];
    bool moved = false;
    if (in_.reads[k].answers && shown.takes) {
      reader.words.pop_front();
      if (--reader.requests.front() == 0) reader.requests.pop_front();
      moved = true;
    }
    if (!shown.request.valid || !in_.reads[k].accepts) return moved;
    const auto& [valid, host, address, bytes] = shown.request;
    if (seen) seen({static_cast<char>('x' + k), host, address, bytes, {}});
    std::vector<std::byte> data(bytes);
    memories_[host]->read(address, data);
    const double latency = host ? config_.host_latency : config_.memory_latency;
    const double rate = host ? config_.host_bytes_per_cycle : config_.memory_bytes_per_cycle;
    reader.free = std::max(reader.free, static_cast<double>(now));
    for (std::size_t at = 0; at < data.size(); at += kWord) {
      const auto size = std::min<std::size_t>(kWord, data.size() - at);
      reader.free += static_cast<double>(size) / rate;
      reader.words.push_back({reader.free + latency, data_of(std::span(data).subspan(at, size))});
    }
    reader.requests.push_back((bytes + kWord - 1) / kWord);
    return true;
  }
  bool write(unsigned k, const NodeCircuit::Outputs::Write& shown, Tick now) {
    Writer& writer = writers_[k];
    bool moved = false;
    if (in_.writes[k].written) {
      writer.written.pop_front();
      moved = true;
    }
    if (shown.offers && in_.writes[k].takes) {
      auto& [host, at, bytes] = writer.open.front();
      const auto size = std::min<std::uint32_t>(kWord, bytes);
      memories_[host]->write(at, std::as_bytes(std::span(shown.data)).first(size));
      at += size;
      bytes -= size;
      const double rate = host ? config_.host_bytes_per_cycle : config_.memory_bytes_per_cycle;
      writer.free = std::max(writer.free, static_cast<double>(now)) + static_cast<double>(size) / rate;
      if (bytes == 0) {
        const double latency = host ? config_.host_latency : config_.memory_latency;
        const auto there = static_cast<Tick>(std::ceil(writer.free + latency));
        writer.written.push_back(writer.written.empty() ? there : std::max(there, writer.written.back()));
        writer.open.pop_front();
      }
      moved = true;
    }
    if (!shown.request.valid || !in_.writes[k].accepts) return moved;
    const auto& [valid, host, address, bytes] = shown.request;
    if (seen && k == 0) seen({'z', host, address, bytes, {}});
    writer.open.push_back({host, address, bytes});
    return true;
  }
  void to_kernel(const NodeCircuit::Outputs& out, Tick now) {
    const unsigned number = out.to_kernel_number;
    const auto bytes = std::as_bytes(std::span(out.to_kernel_data));
    const auto at = static_cast<double>(now);
    if (kernels_.has(number)) {
      kernels_.deliver(number, bytes, at, at, out.to_kernel_last);
      waker_.wake(now + 1);
      return;
    }
    auto& packet = packets_[number];
    packet.insert(packet.end(), bytes.begin(), bytes.end());
    if (out.to_kernel_last) output.push_back({number, std::exchange(packet, {}), now});
  }
  /// What moves wait for; a piece that moves ends it.
  void wait(const NodeCircuit::Outputs& out, Tick now) {
    for (auto bits = out.message_waits | out.kernel_waits; bits != 0; bits &= bits - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(bits));
      Move* move = slots_[slot].move;
      if (!move || move->waits != kNever) continue;
      move->waits = now;
      move->for_kernel = (out.kernel_waits >> slot & 1) != 0;
      waker_.wake(now + 1);
    }
  }
  void end(const NodeCircuit::Outputs& out, Tick now) {
    Slot& slot = slots_[out.slot];
    if (slot.move) {
      auto& context = const_cast<Context&>(*slot.context);
      Move& move = *slot.move;
      if (out.how == NodeCircuit::How::differs) {
        differ(context, move, now + 1, move.from, out.length, "has sent");
      } else {
        const bool beside = &move == &context.beside;
        if (!beside || context.goes_on == kNever) context.goes_on = now + 1;
        move = {};
      }
    }
    slot = {};
    for (Move* waits : std::exchange(waiting_, {})) waits->goes_on = now + 1;
    end_collectives();
    waker_.wake(now + 1);
  }

  // The line's clock.

  void arrive(const ethernet::Arrival& arrival) {
    std::vector<std::byte> bytes(arrival.frame->bytes().begin(), arrival.frame->bytes().end());
    bytes.resize(std::max<std::size_t>(bytes.size(), ethernet::kShortest));
    for (unsigned w = 0; w < arrival.words(); ++w) {
      const auto size = std::min<std::size_t>(kWord, bytes.size() - w * kWord);
      const bool last = w + 1 == arrival.words();
      beats_.push_back({arrival.cycle(w, udp_.port.in->rate), data_of(std::span(bytes).subspan(w * kWord, size)),
                        size == kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1, last,
                        last && arrival.damaged});
    }
    wake();
  }
  bool step_line(Tick now) {
    if (!awake_) return false;
    const auto& rate = udp_.port.out->rate;
    in_.takes = !frame_.empty() || udp_.port.out->free() <= rate.cycle * (now + kMacCycles);
    in_.comes = !beats_.empty() && beats_.front().cycle <= now;
    if (in_.comes) {
      const Beat& beat = beats_.front();
      in_.data = beat.data;
      in_.keep = beat.keep;
      in_.last = beat.last;
      in_.damaged = beat.damaged;
    }
    const auto& out = circuit_->show(in_);
    if (in_.comes) beats_.pop_front();
    if (in_.takes && out.offers) {
      const auto bytes = std::as_bytes(std::span(out.data)).first(static_cast<std::size_t>(std::popcount(out.keep)));
      frame_.insert(frame_.end(), bytes.begin(), bytes.end());
      if (out.last) {
        const auto frame = frames_.copy(frame_);
        frame_.clear();
        const auto begin = udp_.port.out->send((now + 1) * rate.cycle, frame);
        if (udp_.seen) udp_.seen(begin / rate.cycle, *frame);
      }
      quiet_ = 0;
    }
    if (in_.comes) quiet_ = 0;
    circuit_->edge(true);
    return awake_;
  }

  const NodeConfig& config_;
  std::array<Memory*, 2> memories_;
  UdpPort& udp_;
  Domain& engine_;
  KernelStreams& kernels_;
  ethernet::Frames& frames_;
  Waker waker_;
  std::unique_ptr<NodeCircuit> circuit_;
  NodeCircuit::Limits limits_;
  std::vector<Slot> slots_;
  std::vector<Move*> waiting_;  ///< for a slot
  Side on_engine_, on_line_;
  ComponentId engine_component_, line_component_;

  NodeCircuit::Inputs in_;
  std::deque<NodeCircuit::Setting> settings_;
  std::deque<NodeCircuit::Command> commands_;
  std::array<Reader, 2> readers_;
  std::array<Writer, 2> writers_;
  std::deque<Data> from_kernel_;
  std::map<unsigned, std::vector<std::byte>> packets_;  ///< for kernels, by stream
  std::deque<Beat> beats_;
  std::vector<std::byte> frame_;  ///< of which the MAC has words
  std::map<std::uint32_t, unsigned> communicators_;
  MoveMaker moves_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      ending_;  ///< collectives some of whose moves are not given up yet
  std::size_t buffers_ = 0;
  std::uint32_t buffer_bytes_ = 0;
  bool awake_ = false;
  unsigned quiet_ = 0;
  std::array<std::uint32_t, 6> counts_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace thalweg::accl
