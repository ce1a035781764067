// SPDX-License-Identifier: Apache-2.0
// Progress of a process in its operation, and its next packet; C++ model of rtl/mpi_fpga/tw_progress.sv.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi_fpga/collective_control.hpp"
#include "mpi_fpga/packetizer.hpp"

namespace thalweg::mpi_fpga {

/// How long an operation's packets are, for streams of any length.
struct PacketLengths {
  std::size_t element_bytes = 1;
  unsigned shortest = 1, longest = 1;  ///< flits of a full one
  bool ring = false;
  std::uint32_t together = 1;  ///< streams that follow each other

  [[nodiscard]] Packetizer of(std::uint64_t elements) const {
    return ring ? Packetizer::of_ring(element_bytes, shortest, longest, elements)
                : Packetizer::of_stream(element_bytes, shortest, longest, elements * together);
  }
};

/// Which packet of which stream of which step, in the order of a process's turns.
class Progress {
 public:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  struct Part {
    std::uint64_t first, elements;  ///< of the stream
    unsigned flits;
    bool last;  ///< of the stream
  };
  enum class Next : std::uint8_t { same_step, other_step, over };

  [[nodiscard]] unsigned step() const { return step_; }
  [[nodiscard]] std::uint32_t round() const { return round_; }
  [[nodiscard]] std::uint32_t stream() const { return stream_; }
  [[nodiscard]] bool descriptor() const { return packet_ == 0; }

  /// The next packet; of the stream's elements once it is described. `alone`: a descriptor is all of its stream.
  [[nodiscard]] Part part(bool alone) const {
    if (descriptor()) return {0, 0, 1, alone};
    const std::uint64_t elements = layout_.elements_in(packet_ - 1, count_);
    return {(packet_ - 1) * layout_.elements_per_packet(), elements, layout_.flits(elements),
            packet_ == layout_.packets(count_)};
  }
  /// What the stream's descriptor says.
  void describe(std::uint64_t count, const Packetizer& layout) {
    count_ = count;
    layout_ = layout;
  }

  /// On to the next packet, of `process`, whose step has so many streams, and which takes so many packets of each at a time.
  Next advance(const Process& process, std::uint32_t streams, std::uint64_t packets, bool last) {
    if (!last && (packet_ + 1) % packets > 0) {
      ++packet_;
      return Next::same_step;
    }
    packet_ = packet_ / packets * packets;
    if (++stream_ < streams) return Next::same_step;
    return leave_step(process, packets, last);
  }
  /// The same without the rest of the step.
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
  std::uint32_t round_ = 0, stream_ = 0;  ///< of the turn, of the step
  std::uint64_t packet_ = 0;              ///< of the stream; 0 is the descriptor
  std::uint64_t count_ = 0;               ///< elements
  Packetizer layout_;
};

}  // namespace thalweg::mpi_fpga
