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

/// Operations begin one after another. Those along a tree, of up to two processes of a step each, have a question in each of two
/// cycles, which the row alone answers; others one for each step of each process, after the answer before.
class Starter {
 public:
  static constexpr Tick kAnswer = 3;  ///< cycles of collective control

  struct Question {
    std::uint32_t operation = 0;
    unsigned process = 0, step = 0;
    bool along_tree = false;
  };

  /// The last answer is there.
  [[nodiscard]] bool idle(Tick now) const { return queue_.empty() && now >= busy_; }
  /// An operation, to be asked for from the next cycle on.
  void add(std::uint32_t operation, bool along_tree, Tick now) {
    if (queue_.empty()) at_ = std::max(at_, now + 1);
    queue_.push_growing({operation, 0, 0, along_tree});
  }
  /// A running process asks in `at`, ahead of what begins, and its answer comes ahead of what the row alone answers.
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
  /// What its answer says: processes of the operation, and steps of the process.
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
  Tick at_ = 0;    ///< when the first of them is asked for
  Tick busy_ = 0;  ///< until then with the last answer
  std::array<Tick, 6> reserved_{-kAnswer - 1, -kAnswer - 1, -kAnswer - 1, -kAnswer - 1, -kAnswer - 1, -kAnswer - 1};
  unsigned next_ = 0;  ///< to be replaced, of the last ones
};

}  // namespace thalweg::mpi_fpga
