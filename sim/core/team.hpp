// SPDX-License-Identifier: Apache-2.0
// Threads that execute the parts of one job again and again.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace thalweg {

/// Between two calls of run(), a thread that is soon needed again waits actively.
class Team {
 public:
  /// `part`: executed by run() for 0 to `threads` - 1, each by a thread of its own, 0 by the caller's.
  Team(unsigned threads, std::function<void(unsigned)> part) : part_(std::move(part)), failed_(threads) {
    for (unsigned index = 1; index < threads; ++index) helpers_.emplace_back([this, index] { help(index); });
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
    running_.store(static_cast<unsigned>(helpers_.size()), std::memory_order_relaxed);
    begin();
    attempt(0);
    for (unsigned left; (left = running_.load(std::memory_order_acquire)) > 0;) wait(running_, left);
    for (std::exception_ptr& failed : failed_)
      if (failed) std::rethrow_exception(std::exchange(failed, nullptr));
  }

 private:
  static constexpr unsigned kPatience = 20'000;  ///< looks before a thread sleeps

  static void wait(const std::atomic<unsigned>& value, unsigned old) {
    for (unsigned look = 0; look < kPatience; ++look)
      if (value.load(std::memory_order_acquire) != old) return;
    value.wait(old, std::memory_order_acquire);
  }
  void begin() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  void attempt(unsigned index) {
    try {
      part_(index);
    } catch (...) {
      failed_[index] = std::current_exception();
    }
  }
  void help(unsigned index) {
    for (unsigned round = 0;; ++round) {
      wait(round_, round);
      if (over_) return;
      attempt(index);
      if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
    }
  }

  std::function<void(unsigned)> part_;
  std::vector<std::exception_ptr> failed_;
  std::atomic<unsigned> round_ = 0, running_ = 0;
  bool over_ = false;
  std::vector<std::jthread> helpers_;  // last: joined first
};

}  // namespace thalweg
