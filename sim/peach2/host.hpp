// SPDX-License-Identifier: Apache-2.0
// The host at a hub's north port: memories of the processor and of GPUs behind a PCI Express root complex, which accepts writes and
// completes reads. Model only: the RTL ends at the hub's link.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory/sparse.hpp"
#include "peach2/addresses.hpp"
#include "peach2/egress.hpp"
#include "peach2/packet.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

class Host {
 public:
  struct MemoryConfig {
    std::uint64_t bytes = std::uint64_t{1} << kMemoryShift;
    double read_latency = 1;  ///< cycles from a read to its first byte
    double read_rate = 16;    ///< bytes per cycle
  };
  struct Config {
    std::array<MemoryConfig, kMemories> memories;
    Tick gpu_landing = 1;                ///< cycles from the end of a packet until a GPU sees its data
    unsigned packets = 32, units = 256;  ///< receive buffer at each end of a link
    unsigned rate = 16, scale = 1;       ///< bytes that the link carries in `scale` cycles
  };
  /// Is notified of received writes and load data.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void wrote(Tick cycle, unsigned memory, std::uint64_t at, std::size_t bytes) = 0;
    virtual void loaded(Tick cycle, std::span<const std::byte> data) = 0;
  };

  Host(const Config& config, unsigned node)
      : config_(config),
        node_(node),
        egress_({.rate = config.rate, .scale = config.scale, .packets = config.packets, .units = config.units}) {
    static constexpr std::array kNames{"the processor's memory", "GPU 0", "GPU 1"};
    for (unsigned m = 0; m < kMemories; ++m)
      memories_[m].emplace(std::string(kNames[m]) + " of node " + std::to_string(node), config.memories[m].bytes);
  }

  [[nodiscard]] SparseMemory& memory(unsigned number) { return *memories_.at(number); }
  void listen(Listener& listener) { listener_ = &listener; }

  /// A read by the GPU itself, which sees a write only `gpu_landing` cycles after its arrival, or once a read over PCI
  /// Express has flushed it: reads do not pass writes. Returns the last write in the range that it does not see.
  struct Unseen {
    Tick arrived = 0;
    Source source;
    std::uint64_t at = 0;
    std::vector<std::byte> before{};  ///< what it has overwritten
  };
  [[nodiscard]] std::optional<Unseen> read_by_gpu(Tick cycle, unsigned number, std::uint64_t at,
                                                  std::span<std::byte> to) {
    memory(number).read(at, to);
    std::optional<Unseen> last;
    for (auto write = unseen_[number].rbegin(); write != unseen_[number].rend(); ++write) {
      const auto [first, end] = overlap(*write, at, to.size());
      if (write->arrived + config_.gpu_landing <= cycle || first >= end) continue;
      std::ranges::copy(std::span(write->before).subspan(first - write->at, end - first),
                        to.subspan(first - at).begin());
      if (!last) last = *write;
    }
    return last;
  }
  /// Cycles from a read to its first byte.
  [[nodiscard]] Tick read_latency(unsigned number) const {
    return static_cast<Tick>(std::ceil(config_.memories.at(number).read_latency));
  }
  /// Writes by the node's own means: also a GPU sees the data, and no longer what earlier writes have overwritten there.
  void set(unsigned number, std::uint64_t at, std::span<const std::byte> data) {
    memory(number).write(at, data);
    std::deque<Unseen> rest;
    for (const auto& write : unseen_.at(number)) {
      const auto [first, end] = overlap(write, at, data.size());
      if (first >= end) {
        rest.push_back(write);
        continue;
      }
      const auto keep = [&](std::uint64_t from, std::uint64_t to) {
        const auto old = write.before.begin() + static_cast<std::ptrdiff_t>(from - write.at);
        if (from < to)
          rest.push_back({write.arrived, write.source, from, {old, old + static_cast<std::ptrdiff_t>(to - from)}});
      };
      keep(write.at, first);
      keep(end, write.at + write.before.size());
    }
    unseen_[number] = std::move(rest);
  }
  /// The GPU sees all writes that have arrived.
  void flush(unsigned number) { unseen_.at(number).clear(); }

  /// A posted write of the processor, at most one packet.
  void store(std::uint64_t address, std::span<const std::byte> data) { add_write(stores_, address, data); }
  /// A read of the processor; the listener gets its data.
  void load(std::uint64_t address, unsigned dwords) {
    load_address_ = address;
    add_read(stores_, address, dwords, kRootComplex);
  }
  [[nodiscard]] bool stored() const { return stores_.empty(); }
  /// Resets the root complex: drops all pending reads and completions, except a completion being sent.
  void restart() {
    reads_.clear();
    if (within_ == &answers_) {
      const auto last = std::ranges::find_if(answers_, [](const HubWord& word) { return word.last; });
      answers_.erase(last + 1, answers_.end());
    } else {
      answers_.clear();
    }
  }

  [[nodiscard]] const HubWord* out() const { return egress_.out(); }
  [[nodiscard]] const std::optional<unsigned>& freed() const { return freed_; }
  [[nodiscard]] bool idle() const {
    return stores_.empty() && reads_.empty() && answers_.empty() && egress_.idle() && !freed_;
  }
  /// Number of received writes and reads.
  [[nodiscard]] std::uint64_t served() const { return served_; }
  /// Number of received requests to addresses without memory.
  [[nodiscard]] std::uint64_t unclaimed() const { return unclaimed_; }
  /// Source and address of the writes among them since the last call.
  [[nodiscard]] std::vector<std::pair<Source, std::uint64_t>> take_unclaimed() { return std::exchange(lost_, {}); }
  /// Addresses of the processor's loads whose completion reported an error since the last call.
  [[nodiscard]] std::vector<std::uint64_t> take_failed_loads() { return std::exchange(failed_loads_, {}); }
  /// Their number, without taking them.
  [[nodiscard]] std::size_t failed_loads() const { return failed_loads_.size(); }

  /// One clock edge. `word`: received word, or null; `credit`: units of a packet that has left the hub.
  void step(Tick cycle, const HubWord* word, const std::optional<unsigned>& credit) {
    freed_.reset();
    const bool last = word && word->last;
    if (word) take(cycle, *word);
    if (!reads_.empty() && reads_.front().ready <= cycle) {
      answer(reads_.front());
      reads_.pop_front();
    }
    auto* from = turn();
    const HubWord* offered = from ? &from->front() : nullptr;
    const bool goes = offered && egress_.ready();
    if (goes) within_ = offered->last ? nullptr : from;
    if (goes && offered->last) stores_next_ = from != &stores_;
    egress_.step(offered, last, credit);
    if (goes) from->pop_front();
  }

 private:
  static constexpr std::uint16_t kRootComplex = 0;  ///< as a requester of the processor's loads, and as a completer

  struct Read {
    Tick ready;
    spec::PcieMemoryRead request;
  };
  /// Memory and offset of an address of the node.
  struct MemoryAddress {
    unsigned memory;
    std::uint64_t at;
  };

  [[nodiscard]] std::optional<MemoryAddress> place(std::uint64_t address, std::size_t bytes) const {
    if (address >> kNodeShift != node_) return std::nullopt;
    const MemoryAddress found{static_cast<unsigned>(address >> kMemoryShift) % (1U << (kNodeShift - kMemoryShift)),
                              address % (std::uint64_t{1} << kMemoryShift)};
    if (found.memory >= kMemories || found.at + bytes > config_.memories[found.memory].bytes) return std::nullopt;
    return found;
  }

  /// The queue that sends: the one whose packet is incomplete, otherwise alternating.
  [[nodiscard]] std::deque<HubWord>* turn() {
    if (within_) return within_;
    auto &first = stores_next_ ? stores_ : answers_, &second = stores_next_ ? answers_ : stores_;
    return !first.empty() ? &first : !second.empty() ? &second : nullptr;
  }

  void take(Tick cycle, const HubWord& word) {
    if (first_) {
      const Word<256> header = expanded(word.data);
      kind_ = kind(header);
      header_ = {header[0], header[1]};
      data_.clear();
      if (kind_ == Kind::read) read(cycle);
    } else {
      const auto* bytes = reinterpret_cast<const std::byte*>(word.data.data());
      data_.insert(data_.end(), bytes, bytes + kLineBytes);
    }
    first_ = word.last;
    if (!word.last) return;
    freed_ = data_.empty() ? 0 : units(spec::pcie_memory_write::length(header_));
    served_ += kind_ != Kind::completion;
    if (kind_ == Kind::write) write(cycle);
    if (kind_ == Kind::completion && listener_) {
      const auto completion = spec::PcieCompletion::unpack(header_);
      // As root complexes do, a load that failed gets ones.
      const bool failed = completion.status != kSuccessful;
      if (failed) failed_loads_.push_back(load_address_);
      if (failed) data_.assign(kLineBytes, std::byte{0xFF});
      listener_->loaded(cycle, failed ? std::span<const std::byte>(data_)
                                      : std::span<const std::byte>(data_).subspan(
                                            completion.lower_address / 4 * 4 % kLineBytes, completion.length * 4u));
    }
  }
  void write(Tick cycle) {
    const auto write = spec::PcieMemoryWrite::unpack(header_);
    const std::size_t dwords = write.length;
    const auto place = this->place(write.address * 4, dwords * 4);
    if (!place) {
      ++unclaimed_;
      lost_.emplace_back(source_of(header_[0]), write.address * 4);
      return;
    }
    auto& memory = *memories_[place->memory];
    const auto data = std::span(data_).subspan(place->at % kLineBytes, dwords * 4);
    const unsigned first = write.first_enable, last = dwords == 1 ? 15 : write.last_enable;
    if (place->memory != kProcessor) remember(cycle, *place, data.size());
    if (first == 15 && last == 15) {
      memory.write(place->at, data);
    } else {
      for (std::size_t i = 0; i < data.size(); ++i) {
        const unsigned enable = i < 4 ? first : i >= data.size() - 4 ? last : 15;
        if (enable >> i % 4 & 1) memory.write(place->at + i, data.subspan(i, 1));
      }
    }
    if (listener_) listener_->wrote(cycle, place->memory, place->at, data.size());
  }
  /// First and last offset of what a write and a range have in common, the last one excluded.
  [[nodiscard]] static std::pair<std::uint64_t, std::uint64_t> overlap(const Unseen& write, std::uint64_t at,
                                                                       std::size_t bytes) {
    return {std::max(at, write.at), std::min(at + bytes, write.at + write.before.size())};
  }
  void remember(Tick cycle, const MemoryAddress& place, std::size_t bytes) {
    auto& unseen = unseen_[place.memory];
    while (!unseen.empty() && unseen.front().arrived + config_.gpu_landing <= cycle) unseen.pop_front();
    unseen.push_back({cycle, source_of(header_[0]), place.at, std::vector<std::byte>(bytes)});
    memories_[place.memory]->read(place.at, unseen.back().before);
  }
  void read(Tick cycle) {
    const auto request = spec::PcieMemoryRead::unpack(header_);
    const auto place = this->place(request.address * 4, request.length * 4u);
    const auto& memory = config_.memories[place ? place->memory : kProcessor];
    free_ = std::max(free_, static_cast<double>(cycle) + memory.read_latency) + request.length * 4 / memory.read_rate;
    reads_.push_back({static_cast<Tick>(std::ceil(free_)), request});
  }
  void answer(const Read& read) {
    std::array<std::byte, std::size_t{kMaxDwords} * 4> data;
    const auto bytes = std::span(data).first(std::min<std::size_t>(read.request.length * 4u, data.size()));
    const auto place = this->place(read.request.address * 4, bytes.size());
    if (!place) ++unclaimed_;
    if (place) {
      memories_[place->memory]->read(place->at, bytes);
      add_packet(answers_, completion(read.request, kRootComplex), read.request.address * 4, bytes);
    } else {
      add_packet(answers_, unsupported(read.request.pack(), kRootComplex), 0, {});
    }
  }

  Config config_;
  unsigned node_;
  Listener* listener_ = nullptr;
  std::array<std::optional<SparseMemory>, kMemories> memories_;
  std::array<std::deque<Unseen>, kMemories>
      unseen_;  ///< writes to GPUs in order of arrival, the last `gpu_landing` cycles'
  Egress egress_;
  std::deque<HubWord> stores_, answers_;
  std::deque<HubWord>* within_ = nullptr;  ///< queue whose packet is partly sent
  bool stores_next_ = false;
  std::deque<Read> reads_;
  double free_ = 0;  ///< cycle in which the last read's data are complete
  bool first_ = true;
  std::array<std::uint64_t, 2> header_{};
  Kind kind_ = Kind::other;
  std::vector<std::byte> data_;
  std::optional<unsigned> freed_;
  std::uint64_t served_ = 0, unclaimed_ = 0;
  std::vector<std::pair<Source, std::uint64_t>> lost_;
  std::uint64_t load_address_ = 0;  ///< of the last load
  std::vector<std::uint64_t> failed_loads_;
};

}  // namespace thalweg::peach2
