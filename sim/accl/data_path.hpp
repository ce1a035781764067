// SPDX-License-Identifier: Apache-2.0
// The engine's data path. Two operands from memory, receive buffers or a kernel's stream are converted and combined,
// and the result goes to memory, a stream or the network, 64 bytes per cycle. The model moves a segment in one step.
// The times of its first and last word follow from the rates of the memory ports, of the path and of the line.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "accl/config.hpp"
#include "accl/memory.hpp"
#include "accl/packet.hpp"
#include "accl/plugins.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

/// A packet for a kernel, with its stream number, and the cycle in which its last word is available.
struct KernelPacket {
  unsigned stream = 0;
  std::vector<std::byte> data;
  Tick at = 0;
};

class DataPath {
 public:
  /// Cycles in which the first and the last word are available.
  struct Times {
    double first = 0, last = 0;
  };

  DataPath(const NodeConfig& config, Memory& device, Memory& host)
      : plugins_(Plugins::latency(config.compression, config.arithmetic)),
        memories_{&device, &host},
        reads_{ports(config), ports(config)},
        writes_(ports(config)) {}

  std::function<void(char port, bool host, std::uint64_t address, std::size_t bytes)> seen;  ///< as in Transaction

  /// The first cycle in which it accepts another segment.
  [[nodiscard]] Tick free() const { return cycle(free_); }
  /// Starts a segment.
  void begin(Tick now) {
    now_ = free_ = static_cast<double>(now);
    times_ = {now_, now_};
  }
  /// Accepts no other segment before cycle `until`.
  void hold(Tick until) { free_ = std::max(free_, static_cast<double>(until)); }
  /// Times of the segment's words after the plug-ins.
  [[nodiscard]] Times times(std::size_t bytes) const {
    const double first = times_.first + plugins_;
    return {first, std::max(times_.last + plugins_, first + static_cast<double>(bytes) / kWord)};
  }

  /// Reads operand `operand` from memory.
  void read(unsigned operand, bool host, std::uint64_t address, std::span<std::byte> data) {
    seen(static_cast<char>('x' + operand), host, address, data.size());
    memories_[host]->read(address, data);
    MemoryPort& port = reads_[operand][host];
    const double last = port.take(now_, 0, data.size());
    times_.first = std::max(times_.first, now_ + port.latency());
    times_.last = std::max(times_.last, last + port.latency());
    free_ = std::max(free_, last);
  }
  /// Writes the result to memory. Returns the first cycle in which it is visible.
  Tick write(bool host, std::uint64_t address, std::span<const std::byte> data) {
    seen('z', host, address, data.size());
    memories_[host]->write(address, data);
    MemoryPort& port = writes_[host];
    const auto [first, end] = times(data.size());
    const double last = port.take(first, end, data.size());
    free_ = std::max(free_, now_ + last - first);  // the next segment's first word arrives when the port is free
    return cycle(last + port.latency());
  }

  // For units beside the data path: only the memory ports' times count.

  /// Reads an operand through the port of operand 0. Returns when the port is free, and when the last word arrives.
  std::pair<double, double> fetch(Tick now, bool host, std::uint64_t address, std::span<std::byte> data) {
    seen('x', host, address, data.size());
    memories_[host]->read(address, data);
    MemoryPort& port = reads_[0][host];
    const double last = port.take(static_cast<double>(now), 0, data.size());
    return {last, last + port.latency()};
  }
  /// Writes a result. Returns when the port is free, and when the result is visible.
  std::pair<double, double> store(Tick now, bool host, std::uint64_t address, std::span<const std::byte> data) {
    seen('z', host, address, data.size());
    memories_[host]->write(address, data);
    MemoryPort& port = writes_[host];
    const double last = port.take(static_cast<double>(now), 0, data.size());
    return {last, last + port.latency()};
  }

  /// Appends data from a kernel, padded to whole words.
  void give(std::span<const std::byte> data) {
    for (std::size_t at = 0; at < data.size(); at += kWord) {
      std::array<std::byte, kWord> word{};
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(kWord, data.size() - at),
                  word.begin());
      input_.push_back(word);
    }
  }
  /// Number of buffered words from kernels.
  [[nodiscard]] std::size_t words() const { return input_.size(); }
  /// True if the kernel's stream has this many bytes; `word` holds the rest of a partly used word.
  [[nodiscard]] bool has(std::size_t bytes, std::span<const std::byte> word) const {
    return bytes <= word.size() + input_.size() * kWord;
  }
  /// Pops an operand from the kernel's stream; requires has(). The rest of its last word stays in `word`.
  void pop(std::vector<std::byte>& word, std::span<std::byte> data) {
    pull(word, data);
    times_.last = std::max(times_.last, now_ + static_cast<double>(data.size()) / kWord);
    free_ = std::max(free_, times_.last);
  }
  /// The same for units beside the data path.
  void pull(std::vector<std::byte>& word, std::span<std::byte> data) {
    while (word.size() < data.size()) {
      word.insert(word.end(), input_.front().begin(), input_.front().end());
      input_.pop_front();
    }
    std::copy_n(word.begin(), data.size(), data.begin());
    word.erase(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(data.size()));
  }

  static Tick cycle(double at) { return static_cast<Tick>(std::ceil(at)); }

 private:
  using Ports = std::array<MemoryPort, 2>;  ///< to board memory and host memory
  static Ports ports(const NodeConfig& config) {
    return {MemoryPort(config.memory_bytes_per_cycle, config.memory_latency),
            MemoryPort(config.host_bytes_per_cycle, config.host_latency)};
  }

  const double plugins_;  ///< plug-in latency in cycles, the same for all operations
  std::array<Memory*, 2> memories_;
  std::array<Ports, 2> reads_;  ///< of each operand
  Ports writes_;
  double now_ = 0, free_ = 0;
  Times times_;
  std::deque<std::array<std::byte, kWord>> input_;
};

}  // namespace thalweg::accl
