// SPDX-License-Identifier: Apache-2.0
// A Verilated module that is evaluated in those cycles alone in which something in it may change.
//
// It rests from where its inputs are the same and an edge has left all of its state as it was, twice: then every further edge leaves
// it so as well. Memories of block RAM, which are too large to be looked at, may be left out: RAM is read into registers alone, so
// that what is written depends on registers and inputs; the first edge that leaves these as they are writes what all the others
// write, and the second one has read it. Parts of a module that are Verilated on their own rest, or go on, by themselves; when an
// output of a part changes, the module is evaluated again.
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

  /// An edge; its inputs are in the model. `other`: they are not those of the last one. True where an output may have changed.
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

  /// No edge changes anything, here or in a part, unless an input does.
  [[nodiscard]] bool resting() const { return resting_; }
  /// The whole has taken this part through the edge already, with the same inputs.
  [[nodiscard]] bool through() { return std::exchange(through_, false); }

 protected:
  struct Words {
    std::byte* begin;
    std::size_t bytes;
  };

  /// Of the module that is being evaluated, if one is, it becomes a part.
  Clocked() {
    if (evaluated != nullptr) evaluated->parts_.push_back(this);
  }

  /// An edge; true where an output has changed.
  virtual bool evaluate() = 0;

  /// It is evaluated in all cycles from now on.
  void stay_awake() {
    awake_ = true;
    look(true);
    resting_ = false;
  }

  /// `symbols` is all that there is of a model; a few of the `memories` in it may be block RAM.
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
  static constexpr unsigned kRests = 2;               ///< edges that left everything as it was
  static constexpr unsigned kFirst = 2, kMost = 32;   ///< evaluations until it is looked whether they do
  static constexpr std::size_t kBlockRam = 16 << 10;  ///< bytes; a smaller one may be read at once

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
  unsigned equal_ = 0;                          ///< edges, one after another
  bool looks_ = false;                          ///< at whether the state is what was kept
  bool awake_ = false, resting_ = false, through_ = false;
};

}  // namespace engine
