// SPDX-License-Identifier: Apache-2.0
// Registered wires between components. A value written for tick t is visible in tick t only, independent of the order
// of steps.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/scheduler.hpp"
#include "core/types.hpp"

namespace thalweg {

/// Arrivals at a block in one tick; the reader defines the meaning of the bits.
struct Arrivals {
  std::uint64_t events = 0;  ///< events without a value: credits, changes of stop bits
  std::uint64_t words = 0;   ///< inputs at which a value has arrived
};

/// Ticks for which a reader keeps arrivals over wires of this latency: the writer may be a window ahead (Scheduler), which
/// is no longer than the latency.
constexpr std::size_t slots_for(Tick latency) {
  return std::bit_ceil(2 * static_cast<std::size_t>(latency));
}

/// Which inboxes of a component have arrivals, per tick: at most 64, as bits.
class Agenda {
 public:
  void reserve(Tick latency) {
    const auto slots = slots_for(latency);
    if (slots <= slots_.size()) return;
    slots_.resize(slots);
    mask_ = slots - 1;
  }
  void post(Tick at, std::uint64_t inbox) { slot(at) |= inbox; }
  /// Call once in every step of the component.
  std::uint64_t take(Tick now) { return std::exchange(slot(now), 0); }

 private:
  std::uint64_t& slot(Tick at) { return slots_[static_cast<std::size_t>(at) & mask_]; }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1);
  std::size_t mask_ = 0;
};

/// The reader's end of all wires into one block: records arrivals per tick, and wakes the enclosing component.
class Inbox {
 public:
  void bind(Scheduler& scheduler, ComponentId component) {
    partition_ = &scheduler.partition(component);
    component_ = component;
  }
  [[nodiscard]] ComponentId component() const { return component_; }
  /// Arrivals are also noted as bit `index` of an agenda.
  void note_in(Agenda& agenda, unsigned index) {
    agenda_ = &agenda;
    noted_ = std::uint64_t{1} << index;
  }

  /// Makes room for notifications of this latency. Call before the first one.
  void expect(Tick latency) {
    if (agenda_) agenda_->reserve(latency);
  }
  /// Makes room for a wire of this latency. Call before the first write.
  void reserve(Tick latency) {
    expect(latency);
    const auto slots = slots_for(latency);
    if (slots <= std::size_t{mask_} + 1) return;
    far_.resize(slots);
    mask_ = static_cast<std::uint32_t>(slots - 1);
  }

  void post_word(Tick at, unsigned input) {
    slot(at).words |= std::uint64_t{1} << input;
    notify(at);
  }
  void post_events(Tick at, std::uint64_t bits) {
    slot(at).events |= bits;
    notify(at);
  }

  /// Something for which no slot is kept arrives at `at`.
  void notify(Tick at) {
    partition_->wake(Scheduler::index_of(component_), at);
    if (agenda_) agenda_->post(at, noted_);
  }

  /// Call once in every step of the component.
  Arrivals take(Tick now) { return std::exchange(slot(now), {}); }

 private:
  static constexpr unsigned kNear = 4;  ///< most wires have a latency below this; their slots need no allocation

  Arrivals& slot(Tick at) {
    const auto index = static_cast<std::size_t>(at) & mask_;
    return mask_ < kNear ? near_[index] : far_[index];
  }

  Partition* partition_ = nullptr;
  Agenda* agenda_ = nullptr;
  std::uint64_t noted_ = 0;
  ComponentId component_ = 0;
  std::uint32_t mask_ = kNear - 1;
  std::array<Arrivals, kNear> near_{};
  std::vector<Arrivals> far_;
};

/// Single bits, each an independent event: returning credits, changes of stop bits.
class EventWire {
 public:
  EventWire() = default;
  /// Bit b, written here, arrives as the reader's bit b + shift.
  EventWire(Inbox& reader, unsigned shift, Tick latency)
      : reader_(&reader), shift_(shift), latency_(static_cast<std::uint32_t>(latency)) {
    reader.reserve(latency);
  }
  /// Events that wait for the end of a window, as their reader is in another partition (Scheduler).
  struct Kept {
    Inbox* reader;
    Tick at;
    std::uint64_t bits;
    void deliver() const { reader->post_events(at, bits); }
  };
  void keep_in(std::vector<Kept>& kept) { kept_ = &kept; }

  void write(Tick now, std::uint64_t bits) {
    const Kept events{reader_, now + latency_, bits << shift_};
    if (kept_) [[unlikely]]
      kept_->push_back(events);
    else
      events.deliver();
  }
  [[nodiscard]] bool connected() const { return reader_ != nullptr; }

 private:
  Inbox* reader_ = nullptr;
  std::vector<Kept>* kept_ = nullptr;
  std::uint32_t shift_ = 0;
  std::uint32_t latency_ = 1;
};

/// A polled bit that wakes no component. A value written in a tick is visible from the next tick on.
class Level {
 public:
  explicit Level(bool level) : before_(level), level_(level) {}

  void write(Tick now, bool level) {
    if (level == level_) return;
    before_ = level_;
    level_ = level;
    changed_ = now;
  }
  [[nodiscard]] bool read(Tick now) const { return now > changed_ ? level_ : before_; }

 private:
  bool before_, level_;
  Tick changed_ = -1;
};

}  // namespace thalweg
