// SPDX-License-Identifier: Apache-2.0
// Threads that execute the parts of one job again and again.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace thalweg {

/// Each thread takes its own part, whose data are in its cache. The caller of run() takes a part that its helper has not
/// begun in time, so that a helper that the system does not let run delays little. Helpers that are soon needed again
/// wait actively.
class Team {
 public:
  /// `part`: executed by each run() for 0 to `parts` - 1, by as many threads at most.
  Team(unsigned parts, std::function<void(unsigned)> part) : part_(std::move(part)), parts_(parts) {
    for (unsigned helper = 1; helper < parts; ++helper) helpers_.emplace_back([this, helper] { help(helper); });
  }
  ~Team() {
    over_ = true;
    begin();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Throws what a part throws, the first one's if several do.
  void run() {
    if (helpers_.empty()) return part_(0);
    ended_.store(0, std::memory_order_relaxed);
    begin();
    take(0, round_);
    await(ended_, [this](unsigned ended) { return ended == parts_.size(); }, kPatience);
    for (unsigned part = 1; part < parts_.size(); ++part) take(part, round_);
    await(ended_, [this](unsigned ended) { return ended == parts_.size(); });
    std::exception_ptr first;
    for (Part& part : parts_)
      if (auto thrown = std::exchange(part.failed, nullptr); thrown && !first) first = thrown;
    if (first) std::rethrow_exception(first);
  }

 private:
  static constexpr unsigned kLooks = 10'000;    ///< before a thread sleeps
  static constexpr unsigned kPatience = 2'000;  ///< looks before a helper's part is taken

  struct alignas(64) Part {
    std::atomic<std::uint32_t> round = 0;  ///< in which it was begun last
    std::exception_ptr failed;
  };

  void begin() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  /// Waits until `done` holds for the value, or for `looks`.
  template <class Value, class Done>
  static Value await(const std::atomic<Value>& value, Done&& done, unsigned looks = 0) {
    for (unsigned look = 0;; ++look) {
      const Value now = value.load(std::memory_order_acquire);
      if (done(now) || (looks && look >= looks)) return now;
      if (look >= kLooks) value.wait(now, std::memory_order_acquire);
    }
  }

  /// Executes a part, unless another thread has begun it in this round.
  void take(unsigned index, std::uint32_t round) {
    Part& part = parts_[index];
    if (std::uint32_t last = round - 1; !part.round.compare_exchange_strong(last, round, std::memory_order_acq_rel))
      return;
    try {
      part_(index);
    } catch (...) {
      part.failed = std::current_exception();
    }
    if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts_.size()) ended_.notify_one();
  }

  void help(unsigned part) {
    for (std::uint32_t round = 0;;) {
      round = await(round_, [round](std::uint32_t now) { return now != round; });
      if (over_) return;
      take(part, round);
    }
  }

  std::function<void(unsigned)> part_;
  std::vector<Part> parts_;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
  alignas(64) std::atomic<unsigned> ended_ = 0;  ///< parts
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> helpers_;  // last: joined first
};

}  // namespace thalweg
