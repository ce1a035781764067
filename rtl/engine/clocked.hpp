// SPDX-License-Identifier: Apache-2.0
// A Verilated module that is evaluated only in cycles in which something in it may change.
//
// It rests after two edges with unchanged inputs have left all of its state unchanged: every further edge then leaves
// it unchanged as well. Block RAM memories, which are too large to compare, may be left out: RAM is read only into
// registers, so writes depend only on registers and inputs; the first edge that leaves these unchanged writes what all
// later edges write, and the second one has read it. Separately Verilated parts of a module rest or run independently;
// when an output of a part changes, the module is evaluated again.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace engine {

class Clocked {
 public:
  Clocked(const Clocked&) = delete;
  Clocked& operator=(const Clocked&) = delete;
  virtual ~Clocked() = default;

  /// Clocks an edge with the inputs in the model. `other`: they differ from the last edge's. True if an output may have
  /// changed.
  bool clock(bool other) {
    bool moved = false;
    if (!other && equal_ == kRests) {
      if (resting_) return false;
      bool all_rest = true;
      for (Clocked* part : parts_) {
        moved |= part->clock(false);
        all_rest &= part->resting_;
      }
      resting_ = !moved && all_rest;
      if (!moved) return false;
      for (Clocked* part : parts_) part->through_ = true;
    }
    resting_ = false;
    const Evaluation evaluation(*this);
    const bool changed = evaluate();
    look(other || moved);
    return changed;
  }

  /// True if no edge changes anything, here or in a part, unless an input changes.
  [[nodiscard]] bool resting() const { return resting_; }
  /// True once if the whole has already taken this part through the edge, with the same inputs.
  [[nodiscard]] bool through() { return std::exchange(through_, false); }

 protected:
  struct Words {
    std::byte* begin;
    std::size_t bytes;
  };

  /// Becomes a part of the module that is being evaluated, if any.
  Clocked() {
    if (evaluated != nullptr) evaluated->parts_.push_back(this);
  }

  /// Evaluates an edge; true if an output has changed.
  virtual bool evaluate() = 0;

  /// Evaluates every cycle from now on.
  void stay_awake() {
    awake_ = true;
    look(true);
    resting_ = false;
  }

  /// `symbols`: the complete state of a model, compared except for those `memories` in it that may be block RAM.
  template <class Symbols>
  void watch(Symbols& symbols, std::vector<Words> memories) {
    auto* model = reinterpret_cast<std::byte*>(&symbols);
    std::erase_if(memories, [](const Words& memory) { return memory.bytes < kBlockRam; });
    std::ranges::sort(memories, {}, &Words::begin);
    memories.push_back({model + sizeof symbols, 0});
    for (const Words& memory : memories) {
      state_.push_back({model, static_cast<std::size_t>(memory.begin - model)});
      model = memory.begin + memory.bytes;
    }
    std::size_t bytes = 0;
    for (const Words& words : state_) bytes += words.bytes;
    kept_.resize(bytes);
  }

 private:
  static constexpr unsigned kRests = 2;               ///< unchanged edges until it rests
  static constexpr unsigned kFirst = 2, kMost = 32;   ///< evaluations until the state is compared
  static constexpr std::size_t kBlockRam = 16 << 10;  ///< bytes; smaller memories may be read combinationally

  inline static thread_local Clocked* evaluated = nullptr;
  struct Evaluation {
    explicit Evaluation(Clocked& of) : outer(std::exchange(evaluated, &of)) {}
    ~Evaluation() { evaluated = outer; }
    Clocked* outer;
  };

  void look(bool stirred) {
    if (stirred || awake_) {
      looks_ = false;
      equal_ = 0;
      patience_ = left_ = kFirst;
    } else if (!looks_) {
      if (--left_ > 0) return;
      keep();
      looks_ = true;
    } else if (same()) {
      ++equal_;
    } else {
      looks_ = false;
      equal_ = 0;
      left_ = patience_ = std::min(2 * patience_, kMost);
    }
  }

  void keep() {
    std::byte* to = kept_.data();
    for (const Words& words : state_) to = std::copy_n(words.begin, words.bytes, to);
  }

  [[nodiscard]] bool same() const {
    const std::byte* at = kept_.data();
    return std::ranges::all_of(state_, [&](const Words& words) {
      return std::memcmp(std::exchange(at, at + words.bytes), words.begin, words.bytes) == 0;
    });
  }

  std::vector<Clocked*> parts_;
  std::vector<Words> state_;
  std::vector<std::byte> kept_;
  unsigned patience_ = kFirst, left_ = kFirst;  ///< evaluations
  unsigned equal_ = 0;                          ///< consecutive unchanged edges
  bool looks_ = false;                          ///< the state is compared with the kept one
  bool awake_ = false, resting_ = false, through_ = false;
};

}  // namespace engine
