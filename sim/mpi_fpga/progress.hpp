// SPDX-License-Identifier: Apache-2.0
// Progress of a process in its operation, and its next packet; C++ model of rtl/mpi_fpga/tw_progress.sv.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi_fpga/collective_control.hpp"
#include "mpi_fpga/packetizer.hpp"

namespace thalweg::mpi_fpga {

/// Packet lengths of an operation, for streams of any length.
struct PacketLengths {
  std::size_t element_bytes = 1;
  unsigned shortest = 1, longest = 1;  ///< flits of a full packet
  bool ring = false;
  std::uint32_t together = 1;  ///< consecutive streams

  [[nodiscard]] Packetizer of(std::uint64_t elements) const {
    return ring ? Packetizer::of_ring(element_bytes, shortest, longest, elements)
                : Packetizer::of_stream(element_bytes, shortest, longest, elements * together);
  }
};

/// Position of a process: step, round, stream and packet, in the order of its turns.
class Progress {
 public:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  struct Part {
    std::uint64_t first, elements;  ///< first element and their number, in the stream
    unsigned flits;
    bool last;  ///< last packet of the stream
  };
  enum class Next : std::uint8_t { same_step, other_step, over };

  [[nodiscard]] unsigned step() const { return step_; }
  [[nodiscard]] std::uint32_t round() const { return round_; }
  [[nodiscard]] std::uint32_t stream() const { return stream_; }
  [[nodiscard]] bool descriptor() const { return packet_ == 0; }

  /// The next packet; its elements are valid once the stream is described. `alone`: each stream is only a descriptor.
  [[nodiscard]] Part part(bool alone) const {
    if (descriptor()) return {0, 0, 1, alone};
    const std::uint64_t elements = layout_.elements_in(packet_ - 1, count_);
    return {(packet_ - 1) * layout_.elements_per_packet(), elements, layout_.flits(elements),
            packet_ == layout_.packets(count_)};
  }
  /// Sets the stream's length, from its descriptor.
  void describe(std::uint64_t count, const Packetizer& layout) {
    count_ = count;
    layout_ = layout;
  }

  /// Advances to the next packet of `process`. `streams`: streams of the step; `packets`: packets per stream and turn;
  /// `last`: this packet is its stream's last.
  Next advance(const Process& process, std::uint32_t streams, std::uint64_t packets, bool last) {
    if (!last && (packet_ + 1) % packets > 0) {
      ++packet_;
      return Next::same_step;
    }
    packet_ = packet_ / packets * packets;
    if (++stream_ < streams) return Next::same_step;
    return leave_step(process, packets, last);
  }
  /// The same, skipping the rest of the step.
  Next leave_step(const Process& process, std::uint64_t packets, bool last) {
    stream_ = 0;
    const Next next = process.steps > 1 ? Next::other_step : Next::same_step;
    if (++step_ < process.steps) return next;
    if (last && round_ + 1 == process.rounds) return Next::over;
    step_ = 0;
    if (++round_ < process.rounds) return next;
    round_ = 0;
    packet_ += packets;
    return next;
  }

 private:
  unsigned step_ = 0;
  std::uint32_t round_ = 0, stream_ = 0;  ///< round of the turn, stream of the step
  std::uint64_t packet_ = 0;              ///< packet of the stream; 0 is the descriptor
  std::uint64_t count_ = 0;               ///< elements of the stream
  Packetizer layout_;
};

}  // namespace thalweg::mpi_fpga
