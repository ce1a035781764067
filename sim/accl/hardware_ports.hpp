// SPDX-License-Identifier: Apache-2.0
// Ports of the hardware that is a board's engine or data path (rtl/accl/top): memory, kernels and MAC, which the
// simulator models. Unlike the simulator's mover, it runs cycle by cycle.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/kernel_streams.hpp"
#include "accl/memory.hpp"
#include "accl/move_engine.hpp"
#include "accl/node_circuit.hpp"
#include "accl/packet.hpp"
#include "accl/udp_port.hpp"
#include "core/require.hpp"
#include "ethernet/frame.hpp"

namespace thalweg::accl {

class HardwarePorts : public MoveEngine {
 public:
  static constexpr std::size_t kWords = 16;  ///< maximum words from kernels that wait for the hardware

  /// The arguments must outlive the object. `ends`: of all boards. `waker`: of the node. Throws std::invalid_argument
  /// if the hardware supports fewer boards or a smaller payload.
  HardwarePorts(const NodeConfig& config, Memory& device, Memory& host, UdpPort& udp, Domain& engine,
                KernelStreams& kernels, ethernet::Frames& frames, Waker waker,
                const std::vector<ethernet::UdpEnd>& ends, std::unique_ptr<NodeCircuit> circuit)
      : config_(config),
        engine_(engine),
        waker_(waker),
        circuit_(std::move(circuit)),
        limits_(circuit_->limits()),
        memories_{&device, &host},
        udp_(udp),
        kernels_(kernels),
        frames_(frames),
        on_engine_{*this, false},
        on_line_{*this, true},
        engine_component_(engine.scheduler.add(on_engine_)),
        line_component_(line().scheduler.add(on_line_)) {
    require(ends.size() <= limits_.ends, "the hardware supports at most " + std::to_string(limits_.ends) + " boards");
    require(config.packet_bytes <= limits_.packet_bytes, "packet_bytes exceeds the payload of the hardware's packets");
    for (unsigned k = 0; k < ends.size(); ++k)
      set(NodeCircuit::Sets::end, k,
          {ends[k].port | (ends[k].ip & 0xFFFF) << 16,
           ends[k].ip >> 16 | static_cast<std::uint32_t>(ends[k].address & 0xFFFF) << 16,
           static_cast<std::uint32_t>(ends[k].address >> 16)});
    udp.arrived = [this](const ethernet::Arrival& arrival) { arrive(arrival); };
  }

  void step(Tick /*now*/) override {}
  void greet(const Communicator& /*all*/) override {}
  void give(std::span<const std::byte> data) override {
    for (std::size_t at = 0; at < data.size(); at += kWord) {
      Data& word = from_kernel_.emplace_back(Data{});
      std::memcpy(word.data(), &data[at], std::min<std::size_t>(kWord, data.size() - at));
    }
    wake();
  }
  [[nodiscard]] std::size_t words() const override { return from_kernel_.size(); }
  void lost(NodeId node, std::vector<Lost>& all) const override {
    static constexpr std::array<const char*, 6> kCounts{"packets after a missing one",
                                                        "packets of communicators without this board",
                                                        "packets without an ACCL header",
                                                        "packets received again",
                                                        "",
                                                        ""};
    for (unsigned k = 0; k < 4; ++k)
      if (counts_[k] > 0) all.push_back({node, kCounts[k], counts_[k]});
    if (dropped_ > 0) all.push_back({node, "packets without buffer space", dropped_});
  }

 protected:
  using Data = NodeCircuit::Data;

  /// Sets the derived class's inputs of this cycle; returns whether any is valid.
  virtual bool tell(NodeCircuit::Inputs& in, Tick now) = 0;
  /// Handles inputs that the hardware has accepted, and its outputs; returns whether there were any.
  virtual bool look(const NodeCircuit::Inputs& in, const NodeCircuit::Outputs& out, Tick now) = 0;
  /// Number of cycles without activity at any port after which the hardware is idle.
  [[nodiscard]] virtual unsigned quiet() const = 0;

  void set(NodeCircuit::Sets what, unsigned index, const std::array<std::uint32_t, 3>& value) {
    settings_.push_back({what, index, value});
    wake();
  }
  /// Runs both clocks from their next cycles on.
  void wake() {
    quiet_ = 0;
    if (std::exchange(awake_, true)) return;
    engine_.wake(engine_component_, engine_.next());
    line().wake(line_component_, line().next());
  }
  [[nodiscard]] bool sets() const { return !settings_.empty(); }

  const NodeConfig& config_;
  Domain& engine_;
  Waker waker_;
  std::unique_ptr<NodeCircuit> circuit_;
  NodeCircuit::Limits limits_;

 private:
  static constexpr std::size_t kRequests = 8, kWrites = 4;  ///< maximum in flight per memory port
  static constexpr Tick kMacCycles = 128;                   ///< cycles by which the MAC may run ahead of the line

  struct Reader {
    struct Word {
      double at;
      Data data;
    };
    double free = 0;
    std::deque<Word> words;
    std::deque<std::size_t> requests;  ///< remaining words of each request
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
    Side(HardwarePorts& of, bool line) : of(of), line(line) {}
    bool step(Tick now) override { return line ? of.step_line(now) : of.step_engine(now); }
    HardwarePorts& of;
    bool line;
  };

  [[nodiscard]] Domain& line() const { return *udp_.port.domain; }
  /// A word; bytes past the end are not zero, as from real memory or a MAC.
  static Data data_of(std::span<const std::byte> bytes) {
    Data data;
    data.fill(0xA5A5A5A5A5A5A5A5);
    std::memcpy(data.data(), bytes.data(), bytes.size());
    return data;
  }

  // The engine's clock.

  bool step_engine(Tick now) {
    if (!awake_) return false;
    in_.sets = !settings_.empty();
    if (in_.sets) in_.setting = settings_.front();
    bool moved = tell(in_, now) || in_.sets;
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
      write.takes = !writer.open.empty() && writer.free < at + 1;  // the previous word ends within this cycle
      write.written = !writer.written.empty() && writer.written.front() <= now;
    }
    in_.from_kernel = !from_kernel_.empty();
    if (in_.from_kernel) in_.word = from_kernel_.front();

    const auto& out = circuit_->show(in_);
    if (in_.sets && out.takes_setting) settings_.pop_front();
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
    moved |= look(in_, out, now);
    counts_ = out.counts;
    dropped_ = std::uint64_t{out.own_dropped} + out.dropped;
    circuit_->edge(false);
    for (unsigned k = 0; k < 2; ++k)
      moved |= !readers_[k].words.empty() || !writers_[k].written.empty() || !writers_[k].open.empty();
    quiet_ = moved ? 0 : quiet_ + 1;
    if (quiet_ > quiet() && beats_.empty()) awake_ = false;
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

  std::array<Memory*, 2> memories_;
  UdpPort& udp_;
  KernelStreams& kernels_;
  ethernet::Frames& frames_;
  Side on_engine_, on_line_;
  ComponentId engine_component_, line_component_;

  NodeCircuit::Inputs in_;
  std::deque<NodeCircuit::Setting> settings_;
  std::array<Reader, 2> readers_;
  std::array<Writer, 2> writers_;
  std::deque<Data> from_kernel_;
  std::map<unsigned, std::vector<std::byte>> packets_;  ///< incomplete packets to kernels, by stream
  std::deque<Beat> beats_;
  std::vector<std::byte> frame_;  ///< words already given to the MAC
  bool awake_ = false;
  unsigned quiet_ = 0;
  std::array<std::uint32_t, 6> counts_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace thalweg::accl
