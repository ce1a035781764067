// SPDX-License-Identifier: Apache-2.0
// A host's processor: a queue of operations on its hub and memories, each with its cost. Model only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "peach2/host.hpp"

namespace thalweg::peach2 {

class Processor final : public Component, public Host::Listener {
 public:
  struct Config {
    Tick store = 1;        ///< cycles from a store to its packet at the root complex, and until the next store
    Tick landing = 1;      ///< from the end of a packet until its data are visible to the processor
    Tick poll = 1;         ///< period of polling its memory
    Tick copy_start = 1;   ///< overhead of a copy between its memory and a GPU's
    double copy_rate = 1;  ///< bytes per cycle
  };
  /// Maximum size of a store: one write-combined cache line of the processor.
  static constexpr std::size_t kStoreBytes = 64;

  /// Called in the cycle in which an operation completes.
  using Then = std::function<void(Tick cycle)>;
  struct MemoryAddress {
    unsigned memory = kProcessor;
    std::uint64_t at = 0;
  };

  Processor(const Config& config, std::string name, Host& host, Domain& domain, ComponentId host_component)
      : config_(config), name_(std::move(name)), host_(host), domain_(domain), host_component_(host_component) {
    id_ = domain.scheduler.add(*this);
    host.listen(*this);
  }

  /// Resets the host's root complex, in program order.
  void restart(Then then = {}) {
    work(0, [this, then = std::move(then)](Tick cycle) {
      host_.restart();
      if (then) then(cycle);
    });
  }

  // Each of these appends an operation to the queue.

  /// `start` is called in the cycle in which the work begins.
  void work(Tick cycles, Then then = {}, Then start = {}) {
    add({.kind = Kind::work, .cycles = cycles, .then = std::move(then), .start = std::move(start)});
  }
  /// Reads a GPU's memory. The read does not pass writes that have arrived before it, so the GPU sees them when it ends.
  void flush(unsigned memory, Then then = {}) {
    work(config_.store, [this, memory](Tick) { host_.flush(memory); });
    work(host_.read_latency(memory) + config_.landing, std::move(then));
  }
  /// Stores to the hub, or through it to other nodes: at most `kStoreBytes`; size and address are multiples of 4.
  void store(std::uint64_t address, std::vector<std::byte> data, Then then = {}) {
    add({.kind = Kind::store, .address = address, .data = std::move(data), .then = std::move(then)});
  }
  /// Waits until the 32 bits at offset `at` of its memory equal `value`.
  void await(std::uint64_t at, std::uint32_t value, Then then = {}) {
    add({.kind = Kind::await, .address = at, .value = value, .then = std::move(then)});
  }
  /// Polls its hub until the 32 bits at `address`, a multiple of 16, equal `value`.
  void await_register(std::uint64_t address, std::uint32_t value, Then then = {}) {
    add({.kind = Kind::await_register, .address = address, .value = value, .then = std::move(then)});
  }
  /// Reads 16 bytes of its hub.
  void load(std::uint64_t address, std::function<void(std::span<const std::byte>)> take) {
    add({.kind = Kind::load, .address = address, .take = std::move(take)});
  }
  /// Copies between memories of the node. Throws std::out_of_range if the range exceeds a memory.
  void copy(const MemoryAddress& from, const MemoryAddress& to, std::size_t bytes, Then then = {}) {
    std::vector<std::byte> nothing(1);
    for (const auto& place : {from, to})
      if (bytes > 0) host_.memory(place.memory).read(place.at + bytes - 1, nothing);
    add({.kind = Kind::copy, .from = from, .to = to, .bytes = bytes, .then = std::move(then)});
  }

  [[nodiscard]] bool idle() const { return queue_.empty(); }
  /// True if the current operation completes independently of other components.
  [[nodiscard]] bool works() const {
    return !queue_.empty() && (queue_.front().kind == Kind::work || queue_.front().kind == Kind::copy);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Discards all operations.
  void abandon() {
    queue_.clear();
    due_ = kNever;
    answer_ = false;
  }
  /// Describes what it waits for; must not be idle.
  [[nodiscard]] Blocked blocked() const {
    const auto& front = queue_.front();
    const auto value = std::to_string(front.value);
    return {.who = name_,
            .what = front.kind == Kind::await
                        ? "for " + value + " at " + std::to_string(front.address) + " of its memory"
                    : front.kind == Kind::await_register ? "for " + value + " in the hub at " + hex(front.address)
                    : front.kind == Kind::load           ? "for a completion from the hub at " + hex(front.address)
                                                         : "to end its current operation"};
  }
  /// Cycle in which the current operation began.
  [[nodiscard]] Tick since() const { return begun_; }
  /// Number of completed operations.
  [[nodiscard]] std::uint64_t ended() const { return ended_; }

  bool step(Tick cycle) override {
    if (queue_.empty() || cycle < due_) return false;
    auto& front = queue_.front();
    switch (front.kind) {
      case Kind::store:
        host_.store(front.address, front.data);
        domain_.wake(host_component_, cycle + 1);
        break;
      case Kind::await:
        if (!holds(front)) return due_ = kNever, false;
        if (const Tick seen = visible(front.address); seen > cycle) return look_from(seen), false;
        break;
      case Kind::await_register:
      case Kind::load:
        if (!answer_) {
          host_.load(front.address, 4);
          domain_.wake(host_component_, cycle + 1);
          return due_ = kNever, false;
        }
        answer_ = false;
        if (front.kind == Kind::load) {
          front.take(loaded_);
        } else if (word_of(loaded_) != front.value) {
          due_ = cycle + 1;
          return true;
        }
        break;
      case Kind::copy: {
        std::vector<std::byte> data(front.bytes);
        host_.memory(front.from.memory).read(front.from.at, data);
        host_.set(front.to.memory, front.to.at, data);
        break;
      }
      case Kind::work:
        break;
    }
    const Operation done = std::move(front);
    queue_.pop_front();
    ++ended_;
    if (!queue_.empty()) begin(cycle);
    if (done.then) done.then(cycle);
    return false;
  }

  void wrote(Tick cycle, unsigned memory, std::uint64_t at, std::size_t bytes) override {
    if (memory != kProcessor) return;
    while (!landing_.empty() && landing_.front().seen <= cycle) landing_.pop_front();
    landing_.push_back({cycle + config_.landing, at, bytes});
    if (due_ != kNever || queue_.empty()) return;
    const auto& front = queue_.front();
    if (front.kind == Kind::await && landing_.back().touches(front.address) && holds(front))
      look_from(landing_.back().seen);
  }
  void loaded(Tick cycle, std::span<const std::byte> data) override {
    std::copy_n(data.begin(), std::min(data.size(), loaded_.size()), loaded_.begin());
    answer_ = true;
    wake(cycle + config_.landing);
  }

 private:
  enum class Kind { work, store, await, await_register, load, copy };
  struct Operation {
    Kind kind = Kind::work;
    Tick cycles = 0;
    std::uint64_t address = 0;
    std::uint32_t value = 0;
    std::vector<std::byte> data{};
    MemoryAddress from{}, to{};
    std::size_t bytes = 0;
    Then then{}, start{};
    std::function<void(std::span<const std::byte>)> take{};
  };

  /// A write, and the cycle from which it is visible to the processor.
  struct Written {
    Tick seen;
    std::uint64_t at;
    std::size_t bytes;
    [[nodiscard]] bool touches(std::uint64_t address) const { return address < at + bytes && at < address + 4; }
  };

  static std::string hex(std::uint64_t address) {
    static constexpr const char* kDigits = "0123456789abcdef";
    std::string digits;
    for (; address; address >>= 4) digits.insert(digits.begin(), kDigits[address & 15]);
    return "0x" + (digits.empty() ? "0" : digits);
  }
  static std::uint32_t word_of(std::span<const std::byte> data) {
    std::uint32_t word = 0;
    std::memcpy(&word, data.data(), sizeof word);
    return word;
  }
  [[nodiscard]] bool holds(const Operation& operation) const {
    std::array<std::byte, 4> now;
    host_.memory(kProcessor).read(operation.address, now);
    return word_of(now) == operation.value;
  }

  /// Cycle from which the current data at an address are visible.
  [[nodiscard]] Tick visible(std::uint64_t address) const {
    Tick seen = 0;
    for (const auto& written : landing_)
      if (written.touches(address)) seen = std::max(seen, written.seen);
    return seen;
  }
  void look_from(Tick seen) { wake(begun_ + (seen - begun_ + config_.poll - 1) / config_.poll * config_.poll); }

  void add(Operation operation) {
    queue_.push_back(std::move(operation));
    if (queue_.size() == 1) begin(domain_.scheduler.now());
  }
  void begin(Tick cycle) {
    begun_ = cycle;
    const auto& front = queue_.front();
    switch (front.kind) {
      case Kind::work:
        if (front.start) front.start(cycle);
        return wake(cycle + std::max<Tick>(front.cycles, 1));
      case Kind::store:
      case Kind::load:
      case Kind::await_register:
        return wake(cycle + config_.store);
      case Kind::await:
        return wake(cycle + config_.poll);
      case Kind::copy:
        return wake(cycle + config_.copy_start +
                    static_cast<Tick>(std::ceil(static_cast<double>(front.bytes) / config_.copy_rate)));
    }
  }
  void wake(Tick cycle) {
    due_ = cycle;
    domain_.wake(id_, cycle);
  }

  Config config_;
  std::string name_;
  Host& host_;
  Domain& domain_;
  ComponentId host_component_, id_ = 0;
  std::deque<Operation> queue_;
  Tick begun_ = 0, due_ = kNever;
  std::deque<Written> landing_;
  bool answer_ = false;
  std::array<std::byte, 16> loaded_{};
  std::uint64_t ended_ = 0;
};

}  // namespace thalweg::peach2
