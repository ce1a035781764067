// SPDX-License-Identifier: Apache-2.0
// A channel between two kernels of a rank, as Intel's compiler has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "core/stream_end.hpp"

namespace thalweg::smi {

/// Holds `depth` values, and as many more as are written or read in one cycle: an unrolled loop makes a wider channel. What is
/// written is seen a cycle later, room is seen a cycle after a value was read.
class Pipe {
 public:
  Pipe(std::string called, std::size_t bytes, std::size_t depth)
      : name(std::move(called)), bytes_(bytes), depth_(static_cast<std::int64_t>(std::max<std::size_t>(depth, 2))) {
    grow(depth_);
  }

  const std::string name;
  StreamEnd writer{name}, reader{name};

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  [[nodiscard]] std::int64_t written() const { return pushed_; }
  [[nodiscard]] std::int64_t unread() const { return pushed_ - popped_; }

  void write(Kernel& kernel, const void* value, Where where) {
    const auto freed = room(kernel);
    if (freed >= popped_) {
      writer_waits_ = true;
      wanted_ = freed;
      kernel.block({"write into", &reader, where});
    }
    if (freed >= 0) kernel.continue_after(slot(freed).popped, {"write into", &name});
    put(kernel, value);
  }
  void read(Kernel& kernel, void* value, Where where) {
    if (popped_ == pushed_) {
      own(reader, reader_, kernel);
      reader_waits_ = true;
      kernel.block({"read from", &writer, where});
    }
    kernel.continue_after(slot(popped_).pushed, {"read from", &name});
    get(kernel, value);
  }
  /// False: there was no room in this cycle.
  [[nodiscard]] bool try_write(Kernel& kernel, const void* value) {
    const auto freed = room(kernel);
    if (freed >= popped_) kernel.synchronize();
    if (freed >= popped_ || (freed >= 0 && slot(freed).popped >= kernel.tick())) return false;
    put(kernel, value);
    return true;
  }
  /// False: there was no value in this cycle.
  [[nodiscard]] bool try_read(Kernel& kernel, void* value) {
    own(reader, reader_, kernel);
    if (popped_ == pushed_) kernel.synchronize();
    if (popped_ == pushed_ || slot(popped_).pushed >= kernel.tick()) return false;
    get(kernel, value);
    return true;
  }

 private:
  struct Slot {
    Tick pushed = -1;  ///< seen after this tick
    Tick popped = -1;  ///< its room is seen after this tick
  };
  /// How many in a cycle.
  struct Burst {
    Tick tick = -1;
    std::int64_t now = 0, most = 1;

    void count(Tick at) {
      now = at == tick ? now + 1 : 1;
      tick = at;
      most = std::max(most, now);
    }
    /// Those of a cycle, with the one to come.
    [[nodiscard]] std::int64_t with(Tick at) const { return std::max(most, at == tick ? now + 1 : 1); }
  };

  [[nodiscard]] Slot& slot(std::int64_t index) { return slots_[static_cast<std::size_t>(index & mask_)]; }
  [[nodiscard]] std::byte* value(std::int64_t index) {
    return values_.data() + static_cast<std::size_t>(index & mask_) * bytes_;
  }

  static void own(StreamEnd& end, Kernel*& user, Kernel& kernel) {
    if (user == &kernel) return;
    end.bind(kernel);
    user = &kernel;
  }

  /// The value whose room the next one takes.
  [[nodiscard]] std::int64_t room(Kernel& kernel) {
    own(writer, writer_, kernel);
    const auto words =
        std::max(depth_, 2 * std::max(written_.with(kernel.tick()), read_.most)) + kernel.depth() * written_.most;
    if (words > mask_ + 1) grow(words);
    return pushed_ - words;
  }
  void grow(std::int64_t words) {
    std::size_t places = 2;
    while (places < static_cast<std::size_t>(words)) places *= 2;
    std::vector<Slot> slots(places);
    std::vector<std::byte> values(places * bytes_);
    const auto mask = static_cast<std::int64_t>(places) - 1;
    for (auto i = std::max<std::int64_t>(0, pushed_ - mask_ - 1); i < pushed_ && !slots_.empty(); ++i) {
      slots[static_cast<std::size_t>(i & mask)] = slot(i);
      std::memcpy(values.data() + static_cast<std::size_t>(i & mask) * bytes_, value(i), bytes_);
    }
    slots_ = std::move(slots);
    values_ = std::move(values);
    mask_ = mask;
  }
  void put(Kernel& kernel, const void* from) {
    written_.count(kernel.tick());
    const auto index = pushed_++;
    std::memcpy(value(index), from, bytes_);
    slot(index).pushed = kernel.tick() + kernel.depth_ticks();
    if (reader_waits_) {
      reader_waits_ = false;
      reader_->awake(slot(index).pushed);
    }
  }
  void get(Kernel& kernel, void* to) {
    own(reader, reader_, kernel);
    read_.count(kernel.tick());
    const auto index = popped_++;
    std::memcpy(to, value(index), bytes_);
    slot(index).popped = kernel.tick();
    if (writer_waits_ && popped_ > wanted_) {
      writer_waits_ = false;
      writer_->awake(kernel.tick());
    }
  }

  std::size_t bytes_;
  std::int64_t depth_;
  std::vector<Slot> slots_;
  std::vector<std::byte> values_;
  std::int64_t mask_ = -1;
  std::int64_t pushed_ = 0, popped_ = 0;
  std::int64_t wanted_ = 0;
  Burst written_, read_;
  Kernel *writer_ = nullptr, *reader_ = nullptr;
  bool writer_waits_ = false, reader_waits_ = false;
};

}  // namespace thalweg::smi
