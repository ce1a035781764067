// Registered wires between components. What is written for tick t is seen in tick t alone, whatever the order of the
// steps.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/scheduler.hpp"
#include "core/types.hpp"

namespace thalweg {

/// What reaches a component in one tick.
struct Arrivals {
  std::uint64_t events = 0;  ///< bits whose meaning the reader gives: credits, stop bits
  std::uint32_t words = 0;   ///< a bit per input wire that carries a value in this tick
};

/// The reader's end of all wires that lead to one block: tells what arrives when, and wakes the component around it.
class Inbox {
 public:
  void bind(Scheduler& scheduler, ComponentId component) {
    scheduler_ = &scheduler;
    component_ = component;
  }

  /// Makes room for a wire of that latency. Before the first write.
  void reserve(Tick latency) {
    const auto slots = std::bit_ceil(static_cast<std::uint64_t>(latency) + 1);
    if (slots > ring_.size()) ring_.resize(slots);
    mask_ = static_cast<Tick>(ring_.size() - 1);
  }

  void post_word(Tick at, unsigned input) {
    ring_[static_cast<std::size_t>(at & mask_)].words |= 1u << input;
    scheduler_->wake(component_, at);
  }
  void post_events(Tick at, std::uint64_t bits) {
    ring_[static_cast<std::size_t>(at & mask_)].events |= bits;
    scheduler_->wake(component_, at);
  }

  /// Call once in every step of the component.
  Arrivals take(Tick now) { return std::exchange(ring_[static_cast<std::size_t>(now & mask_)], {}); }

 private:
  Scheduler* scheduler_ = nullptr;
  ComponentId component_ = 0;
  Tick mask_ = 1;
  std::vector<Arrivals> ring_ = std::vector<Arrivals>(2);
};

/// One writer, one reader, one value a tick; belongs to the reader. Latency counts from the writer's step to the
/// reader's.
template <class T>
class Wire {
 public:
  void bind(Inbox& reader, unsigned input, Tick latency) {
    reader_ = &reader;
    input_ = input;
    latency_ = latency;
    slots_.resize(std::bit_ceil(static_cast<std::uint64_t>(latency) + 1));
    mask_ = static_cast<Tick>(slots_.size() - 1);
    reader.reserve(latency);
  }

  /// The place to fill with the value that is seen at now + latency; the reader is told.
  T& write(Tick now) {
    const Tick at = now + latency_;
    reader_->post_word(at, input_);
    return slots_[static_cast<std::size_t>(at & mask_)];
  }
  /// Valid in the ticks for which the inbox names this input.
  [[nodiscard]] const T& read(Tick now) const { return slots_[static_cast<std::size_t>(now & mask_)]; }

 private:
  Inbox* reader_ = nullptr;
  unsigned input_ = 0;
  Tick latency_ = 1;
  Tick mask_ = 0;
  std::vector<T> slots_;
};

/// Single bits, each an event of its own: credits that return, stop bits that change.
class EventWire {
 public:
  EventWire() = default;
  /// Bit b, written here, is the reader's bit b + shift.
  EventWire(Inbox& reader, unsigned shift, Tick latency) : reader_(&reader), shift_(shift), latency_(latency) {
    reader.reserve(latency);
  }
  void write(Tick now, std::uint64_t bits) { reader_->post_events(now + latency_, bits << shift_); }
  [[nodiscard]] bool connected() const { return reader_ != nullptr; }

 private:
  Inbox* reader_ = nullptr;
  unsigned shift_ = 0;
  Tick latency_ = 1;
};

}  // namespace thalweg
