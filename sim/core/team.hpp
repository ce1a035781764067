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

/// The caller of run() and its helpers take one part after the other, so that a helper that the system does not let run
/// delays no other part. A helper that is soon needed again waits actively.
class Team {
 public:
  /// `part`: executed by each run() for 0 to `parts` - 1, by as many threads at most.
  Team(unsigned parts, std::function<void(unsigned)> part) : parts_(parts), part_(std::move(part)), failed_(parts) {
    for (unsigned helper = 1; helper < parts; ++helper) helpers_.emplace_back([this] { help(); });
  }
  ~Team() {
    over_ = true;
    begin(parts_);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Throws what a part throws, the first one's if several do.
  void run() {
    if (helpers_.empty()) return part_(0);
    ended_.store(0, std::memory_order_relaxed);
    begin(0);
    take_parts(round_);
    await(ended_, [this](unsigned ended) { return ended == parts_; });
    std::exception_ptr first;
    for (std::exception_ptr& failed : failed_)
      if (auto thrown = std::exchange(failed, nullptr); thrown && !first) first = thrown;
    if (first) std::rethrow_exception(first);
  }

 private:
  static constexpr unsigned kLooks = 10'000;  ///< before a thread sleeps

  [[nodiscard]] static std::uint32_t round_of(std::uint64_t next) { return static_cast<std::uint32_t>(next >> 32); }
  [[nodiscard]] static unsigned part_of(std::uint64_t next) { return static_cast<unsigned>(next); }

  void begin(unsigned first) {
    next_.store(std::uint64_t{++round_} << 32 | first, std::memory_order_release);
    next_.notify_all();
  }

  /// Waits until `done` holds for the value.
  template <class Value, class Done>
  static Value await(const std::atomic<Value>& value, Done&& done) {
    for (unsigned look = 0;; ++look) {
      const Value now = value.load(std::memory_order_acquire);
      if (done(now)) return now;
      if (look >= kLooks) value.wait(now, std::memory_order_acquire);
    }
  }

  void take_parts(std::uint32_t round) {
    for (std::uint64_t next = next_.load(std::memory_order_acquire);
         round_of(next) == round && part_of(next) < parts_;) {
      if (!next_.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel)) continue;
      const unsigned part = part_of(next);
      try {
        part_(part);
      } catch (...) {
        failed_[part] = std::current_exception();
      }
      if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts_) ended_.notify_one();
      next = next_.load(std::memory_order_acquire);
    }
  }

  void help() {
    for (std::uint32_t round = 0; !over_;) {
      round = round_of(await(next_, [round](std::uint64_t next) { return round_of(next) != round; }));
      take_parts(round);
    }
  }

  unsigned parts_;
  std::function<void(unsigned)> part_;
  std::vector<std::exception_ptr> failed_;
  std::uint32_t round_ = 0;
  alignas(64) std::atomic<std::uint64_t> next_ = 0;  ///< round, and its next part
  alignas(64) std::atomic<unsigned> ended_ = 0;      ///< parts
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> helpers_;  // last: joined first
};

}  // namespace thalweg
