// SPDX-License-Identifier: Apache-2.0
// A channel between two kernels of a rank, as in Intel's OpenCL compiler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "core/stream_ring.hpp"

namespace thalweg::smi {

/// Holds `depth` values, and more if more are written or read in one cycle: an unrolled loop makes a wider channel. A
/// value is visible one cycle after it was written, and free space one cycle after a value was read.
class Pipe : public StreamRing<std::vector<std::byte>> {
 public:
  /// `bytes`: size of a value.
  Pipe(std::string pipe_name, std::size_t bytes, std::size_t depth)
      : StreamRing(std::move(pipe_name), effective_depth(depth), std::vector<std::byte>(bytes)),
        bytes_(bytes),
        depth_(effective_depth(depth)) {}

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void write(Kernel& kernel, const void* value, SourceLine location) {
    await_room(kernel, room(kernel), "write into", location);
    put(kernel, value);
  }
  void read(Kernel& kernel, void* value, SourceLine location) {
    reader.bind(kernel);
    await_word(kernel, "read from", location);
    get(kernel, value);
  }
  /// Returns false if the channel is full in this cycle.
  [[nodiscard]] bool try_write(Kernel& kernel, const void* value) {
    if (!has_room(kernel, room(kernel))) return false;
    put(kernel, value);
    return true;
  }
  /// Returns false if the channel is empty in this cycle.
  [[nodiscard]] bool try_read(Kernel& kernel, void* value) {
    reader.bind(kernel);
    if (!has_word(kernel)) return false;
    get(kernel, value);
    return true;
  }

 private:
  /// Counts values per cycle and keeps the maximum.
  struct Burst {
    Tick tick = -1;
    std::int64_t now = 0, max = 1;

    void count(Tick at) {
      now = at == tick ? now + 1 : 1;
      tick = at;
      max = std::max(max, now);
    }
    /// The maximum if one more value follows at `at`.
    [[nodiscard]] std::int64_t max_with(Tick at) const { return std::max(max, at == tick ? now + 1 : 1); }
  };

  static std::int64_t effective_depth(std::size_t depth) {
    return static_cast<std::int64_t>(std::max<std::size_t>(depth, 2));
  }

  /// The index of the value whose slot the next one takes.
  [[nodiscard]] std::int64_t room(Kernel& kernel) {
    writer.bind(kernel);
    return freed_by(std::max(depth_, 2 * std::max(written_.max_with(kernel.tick()), read_.max)) +
                    kernel.depth() * written_.max);
  }
  void put(Kernel& kernel, const void* from) {
    written_.count(kernel.tick());
    std::memcpy(next().data(), from, bytes_);
    add(kernel.tick() + kernel.depth_ticks());
  }
  void get(Kernel& kernel, void* to) {
    read_.count(kernel.tick());
    std::memcpy(to, remove(kernel.tick()).data(), bytes_);
  }

  std::size_t bytes_;
  std::int64_t depth_;
  Burst written_, read_;
};

}  // namespace thalweg::smi
