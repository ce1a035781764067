// SPDX-License-Identifier: Apache-2.0
// The DRAM of a hub's board behind its controller, as seen from the hub's bus. Model only: the RTL ends at the bus.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/ring.hpp"
#include "core/types.hpp"
#include "memory/bank.hpp"
#include "memory/sparse.hpp"
#include "peach2/bus.hpp"
#include "peach2/hub.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// The controller queues commands, and merges consecutive beats in one burst of the DRAM into one command. Replies are in the order
/// of reads.
class BoardMemory {
 public:
  struct Config {
    unsigned commands = 8;  ///< depth of the controller's command queue
    BankTiming bank{};      ///< in cycles of the bus
  };

  BoardMemory(const Config& config, std::string name)
      : config_(config), bank_(config.bank), bytes_(std::move(name), kMemoryBytes) {}

  [[nodiscard]] SparseMemory& bytes() { return bytes_; }
  [[nodiscard]] bool idle() const { return replies_.empty(); }

  /// One clock edge. `beat`: the beat offered, or null. Returns ready.
  bool step(Tick cycle, const BusBeat* beat) {
    reply_.reset();
    if (!replies_.empty() && replies_.front().first == cycle) {
      reply_ = replies_.front().second;
      replies_.pop();
    }
    while (!moved_.empty() && moved_.front() <= static_cast<double>(cycle)) moved_.pop();
    if (!beat) return moved_.size() < config_.commands;
    const std::uint64_t at = beat->address * sizeof(Word<128>) % kMemoryBytes,
                        burst = at / config_.bank.dram.burst_bytes;
    const bool joins = !moved_.empty() && burst == burst_ && beat->write == writes_;
    if (!joins && moved_.size() >= config_.commands) return false;
    if (!joins) {
      done_ = bank_.access(cycle, at, 1, beat->write);
      moved_.push_growing(done_);
      burst_ = burst;
      writes_ = beat->write;
    }
    serve(cycle, at, *beat);
    return true;
  }
  /// Read data of an earlier read in this cycle, or null.
  [[nodiscard]] const Word<128>* reply() const { return reply_ ? &*reply_ : nullptr; }

 private:
  void serve(Tick cycle, std::uint64_t at, const BusBeat& beat) {
    Word<128> word;
    const auto bytes = std::as_writable_bytes(std::span(word));
    bytes_.read(at, bytes);
    if (beat.write) {
      Hub::write(word, beat);
      bytes_.write(at, bytes);
      return;
    }
    last_ = std::max(last_ + 1, bank_.data(cycle, done_));
    replies_.push_growing({last_, word});
  }

  Config config_;
  Bank bank_;
  SparseMemory bytes_;
  Ring<double> moved_;       ///< DRAM completion times of outstanding commands
  double done_ = 0;          ///< completion time of the last command
  std::uint64_t burst_ = 0;  ///< burst of the last command
  bool writes_ = false;      ///< direction of the last command
  Ring<std::pair<Tick, Word<128>>> replies_;
  Tick last_ = 0;
  std::optional<Word<128>> reply_;
};

}  // namespace thalweg::peach2
