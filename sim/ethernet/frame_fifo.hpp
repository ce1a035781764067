// SPDX-License-Identifier: Apache-2.0
// FIFO of whole frames. C++ model of rtl/ethernet/tw_frame_fifo.sv.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace thalweg::ethernet {

/// Words leave once their frame has been committed, at least three cycles later; words of a dropped frame never leave.
/// Capacity: `depth` words, besides the two at the output.
template <class T>
class FrameFifo {
 public:
  FrameFifo(std::size_t depth, std::size_t room) : most_(depth - room - 2) {}

  /// True if `room` words can be pushed from this cycle on.
  [[nodiscard]] bool room() const { return room_; }
  [[nodiscard]] bool valid() const { return front_.has_value(); }
  [[nodiscard]] const T& front() const { return *front_; }

  /// One clock edge. push: an arriving word, or nullptr; commit, drop: all words of the frame, including this one; pop:
  /// the front word is taken.
  void step(const T* push, bool commit, bool drop, bool pop) {
    room_ = used_ <= most_;
    used_ = words_.size();
    if (pop) front_.reset();
    const bool loads = !next_ || !front_;
    if (!front_) front_ = std::exchange(next_, std::nullopt);
    const bool reads = loads && kept_ > 0;
    if (push) words_.push_back(*push);
    if (drop) words_.resize(kept_);
    if (commit) kept_ = words_.size();
    if (reads) {
      next_ = std::move(words_.front());
      words_.pop_front();
      --kept_;
    }
  }

 private:
  std::size_t most_;
  std::deque<T> words_;
  std::size_t kept_ = 0;  ///< number of words of committed frames
  std::size_t used_ = 0;  ///< number of words one cycle ago
  bool room_ = false;
  std::optional<T> next_, front_;
};

}  // namespace thalweg::ethernet
