// SPDX-License-Identifier: Apache-2.0
// Starts operations: selects the operation, process and step that collective control computes next; C++ model of
// rtl/mpi_fpga/tw_starter.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "common/ring.hpp"
#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Operations start in sequence. Those along a tree, with up to two processes of one step, take one question in each of
/// two cycles, answered from the row alone. Others take one question per step of each process, each after the previous
/// answer.
class Starter {
 public:
  static constexpr Tick kAnswer = 3;  ///< latency of collective control, in cycles

  struct Question {
    std::uint32_t operation = 0;
    unsigned process = 0, step = 0;
    bool along_tree = false;
  };

  /// True if no operation has questions left.
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  /// True if the last answer has arrived.
  [[nodiscard]] bool idle(Tick now) const { return queue_.empty() && now >= busy_; }
  /// Adds an operation, with questions from the next cycle.
  void add(std::uint32_t operation, bool along_tree, Tick now) {
    if (queue_.empty()) at_ = std::max(at_, now + 1);
    queue_.push_growing({operation, 0, 0, along_tree});
  }
  /// Reserves cycle `at` for a running process's question. It precedes those of starting operations, and its answer
  /// those from the row alone.
  void reserve(Tick at) {
    reserved_[next_] = at;
    next_ = (next_ + 1) % static_cast<unsigned>(reserved_.size());
  }

  /// This cycle's question.
  [[nodiscard]] std::optional<Question> ask(Tick now) const {
    if (queue_.empty() || now < at_ || std::ranges::count(reserved_, now)) return std::nullopt;
    if (queue_.front().along_tree && std::ranges::count(reserved_, now - kAnswer)) return std::nullopt;
    return queue_.front();
  }
  /// The first cycle after `now` that may have a question.
  [[nodiscard]] Tick next(Tick now) const { return queue_.empty() ? kNever : std::max(at_, now + 1); }
  /// Advances past a question, given its answer: processes of the operation, steps of the process.
  void asked(unsigned processes, unsigned steps, Tick now) {
    Question& question = queue_.front();
    at_ = now + (question.along_tree ? 1 : kAnswer + 1);
    if (question.along_tree) processes = 2;
    if (++question.step < steps && !question.along_tree) return;
    question.step = 0;
    if (++question.process < processes) return;
    if (!question.along_tree) busy_ = at_++;
    queue_.pop();
  }

 private:
  Ring<Question> queue_;
  Tick at_ = 0;    ///< earliest cycle of the first question
  Tick busy_ = 0;  ///< when the last answer arrives
  std::array<Tick, 6> reserved_{-kAnswer - 1, -kAnswer - 1, -kAnswer - 1, -kAnswer - 1, -kAnswer - 1, -kAnswer - 1};
  unsigned next_ = 0;  ///< entry to replace next
};

}  // namespace thalweg::mpi_fpga
