// SPDX-License-Identifier: Apache-2.0
// Announces communicators that the host writes to the hardware's exchange memory, cycle by cycle. C++ model of
// rtl/accl/parts/tw_communicators.sv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "accl/exchange_memory.hpp"
#include "common/crc32.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class Communicators {
 public:
  struct Write {
    std::uint32_t at = 0, data = 0;
  };
  struct Set {
    unsigned index = 0;
    std::uint32_t at = 0, identity = 0;
  };
  struct In {
    std::optional<Write> write{};  ///< by the host, taken if ready()
    bool access_ready = false, set_ready = false;
    std::optional<std::uint32_t> answer{};
  };

  Communicators(unsigned communicators, unsigned ranks) : rows_(communicators), ranks_(ranks) {}

  [[nodiscard]] bool ready() const { return state_ == State::idle; }
  /// The exchange-memory address to read.
  [[nodiscard]] std::optional<std::uint32_t> access() const {
    return state_ == State::ask ? std::optional(at_) : std::nullopt;
  }
  [[nodiscard]] std::optional<Set> set() const {
    if (state_ != State::set) return std::nullopt;
    return Set{index_, begin_, identity_};
  }
  /// This board's session number.
  [[nodiscard]] std::uint32_t own() const { return own_; }

  void step(const In& in) {
    switch (state_) {
      case State::idle:
        if (!in.write) break;
        write_ = *in.write;
        state_ = State::track;
        break;
      case State::track:
        state_ = tracks() ? State::ask : State::idle;
        at_ = begin_;
        word_ = 0;
        break;
      case State::ask:
        if (in.access_ready) state_ = State::answer;
        break;
      case State::answer:
        if (!in.answer) break;
        data_ = *in.answer;
        left_ = 2;
        state_ = State::judge;
        break;
      case State::judge:
        if (--left_ == 0) judge();
        break;
      case State::look:
        if (--left_ == 0) state_ = look();
        break;
      case State::set:
        if (!in.set_ready) break;
        rows_[index_] = Row{true, begin_, members_};
        state_ = State::idle;
        break;
    }
  }

 private:
  enum class State : std::uint8_t { idle, track, ask, answer, judge, look, set };
  struct Row {
    bool known = false;
    std::uint32_t at = 0;
    std::vector<std::uint64_t> members{};  ///< words hashed into its identity
  };
  static constexpr std::uint32_t kLeastIp = 1 << 24, kMemberBytes = 24;

  /// Records a word written by the host. Returns true if it may be the last word of a communicator.
  bool tracks() {
    const auto [at, data] = write_;
    if (at >= ExchangeMemory::kBytes || at % 4 != 0) return false;
    const bool last = last_ && at == ((*last_ + 20) & 0x1FFF);
    if (data < kLeastIp) {
      if (last_ && at == ((*last_ + 4) & 0x1FFF) && data == 0) ports_fit_ = false;
      return last;
    }
    if (last_ && at == ((*last_ + kMemberBytes) & 0x1FFF)) {
      count_ = (count_ + 1) & 0x1FF;
    } else {
      count_ = 1;
      begin_ = (at - 8) & 0x1FFF;
      ports_fit_ = true;
    }
    last_ = at;
    return false;
  }
  /// Evaluates the word read and sets the next state, at once or after the cycles that hash its bytes into the
  /// identity.
  void judge() {
    state_ = State::ask;
    const auto next = [&](std::uint32_t bytes) { at_ = (at_ + bytes) & 0x1FFF; };
    if (word_ == 0) {
      next(4);
      ++word_;
      if (data_ != count_ || count_ > ranks_ || begin_ < ExchangeMemory::kFirstBuffer || !ports_fit_)
        state_ = State::idle;
    } else if (word_ == 1) {
      next(4);
      ++word_;
      if (data_ >= count_) state_ = State::idle;
      rank_ = data_;
      member_ = 0;
      members_.clear();
    } else if (mixing_) {
      mixing_ = false;
      if (word_ == 2) {
        members_.push_back(data_);
        next(4);
      } else if (word_ == 3) {
        members_.back() |= std::uint64_t{data_} << 32;
        next(12);
      } else {
        members_.push_back(data_);
        next(8);
        if (++member_ == count_) {
          state_ = State::look;
          left_ = 3 * rows_.size() + 1;
        }
      }
      word_ = word_ == 4 ? 2 : word_ + 1;
    } else {
      if (word_ == 4 && member_ == rank_) own_ = data_ & 0xFF;
      mixing_ = true;
      left_ = word_ == 4 ? 8 : 4;
      state_ = State::judge;
    }
  }
  /// Finds the communicator's table index, and counts communicators with the same members at lower addresses.
  State look() {
    if (mixing_) {
      mixing_ = false;
      return State::set;
    }
    std::optional<unsigned> found, free;
    std::uint64_t before = 0;
    for (unsigned k = 0; k < rows_.size(); ++k) {
      const Row& row = rows_[k];
      if (row.known && row.at == begin_) found = k;
      if (!row.known && !free) free = k;
      before += row.known && row.at < begin_ && row.members == members_;
    }
    if (!found && !free) return State::idle;
    index_ = found ? *found : *free;
    auto words = members_;
    words.push_back(before);
    identity_ = crc32(words, static_cast<unsigned>(64 * words.size()));
    mixing_ = true;
    left_ = 8;
    return State::look;
  }

  std::vector<Row> rows_;
  unsigned ranks_;
  State state_ = State::idle;
  Write write_;
  std::optional<std::uint32_t> last_{};  ///< address of the last IP address written
  std::uint32_t begin_ = 0, count_ = 0;  ///< base address and number of consecutive members
  bool ports_fit_ = true, mixing_ = false;
  std::uint32_t at_ = 0, data_ = 0, rank_ = 0, member_ = 0, own_ = 0;
  unsigned word_ = 0, index_ = 0;
  Tick left_ = 0;
  std::vector<std::uint64_t> members_;
  std::uint32_t identity_ = 0;
};

}  // namespace thalweg::accl
