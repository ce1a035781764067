// SPDX-License-Identifier: Apache-2.0
// Interface of what executes the moves of a board's calls: the simulator's Mover (mover.hpp), or hardware
// (hardware_mover.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accl/arithmetic.hpp"
#include "accl/context.hpp"
#include "accl/data_path.hpp"
#include "cluster/engine.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::accl {

/// Transaction at a port of the engine: x, y: read of an operand; z: write of a result; s: a sent frame.
struct Transaction {
  char port = 0;
  bool host = false;  ///< host memory, not board memory
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::vector<std::byte> frame{};
};

class MoveEngine {
 public:
  virtual ~MoveEngine() = default;

  std::uint32_t eager = 0;  ///< maximum bytes of a message that always uses receive buffers
  std::function<std::optional<ethernet::UdpEnd>(const Member&)> end_of;  ///< UDP endpoint of a communicator's member
  std::function<std::string(const Context&, std::uint32_t rank)> dark;   ///< error text if no light path reaches a
                                                                         ///< rank, else empty
  std::vector<KernelPacket> output;                                      ///< packets for kernels

  std::function<void(Transaction)> seen;  ///< called for transactions at memory ports

  /// Operator and type for a call's elements; none if its configuration lacks the function, or the type does not match.
  [[nodiscard]] static std::optional<Unit> unit(const Context& context) {
    const Arithmetic& arithmetic = context.arithmetic;
    if (context.call.function >= arithmetic.functions.size()) return std::nullopt;
    const auto found = unit_of(arithmetic.functions[context.call.function]);
    if (!found || bytes_of(found->type) != combined_bytes(context)) return std::nullopt;
    return found;
  }

  /// Handles arrivals.
  virtual void step(Tick now) = 0;
  /// Executes the next segment of a move if all its inputs are available. Returns true on progress; the call may have
  /// failed.
  [[nodiscard]] virtual bool segment(Context& context, Move& move, Tick now) = 0;
  /// Ends the call and releases what its moves have claimed.
  virtual void release(const Context& context, Tick now) = 0;
  /// Empties all receive buffers and configures new ones; `bytes`: size of each. Returns false if unsupported.
  [[nodiscard]] virtual bool configure(const std::vector<std::uint64_t>& addresses, std::uint32_t bytes) = 0;
  /// Forgets all messages and offered buffers, and removes the receive buffers; arrivals are dropped until new ones are
  /// configured. Moves must have been released.
  virtual void reset(Tick now) = 0;
  /// Registers a communicator of the board by its identity. Returns false if there is no entry for it.
  [[nodiscard]] virtual bool know(std::uint32_t communicator) = 0;
  /// Starts sessions with the other members of a communicator.
  virtual void greet(const Communicator& all) = 0;
  /// Passes data of a kernel, padded to whole words; words() is the number of words held.
  virtual void give(std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual std::size_t words() const = 0;

  /// Receive buffers: size in bytes, and number.
  struct Buffers {
    std::uint32_t bytes = 0;
    std::size_t all = 0;
  };
  [[nodiscard]] virtual Buffers buffers() const = 0;
  /// Maximum elements of a call that each rank of a ring can send to the next before it receives any, four times over.
  [[nodiscard]] virtual std::uint64_t most_in_circle(const Context& context) const = 0;
  /// Bytes arrived in the buffer that a move has offered; none if it has offered none.
  [[nodiscard]] virtual std::optional<std::uint64_t> come(const Move& /*move*/) const { return std::nullopt; }
  /// Describes what a waiting call lacks.
  [[nodiscard]] std::string waits_for(const Context& context, const Move& move) const {
    if (move.for_kernel) return "for data from its kernel's stream";
    const auto bytes = " of " + std::to_string(move.elements * context.wire_bytes()) + " bytes have arrived";
    if (move.for_room)
      return "for buffer space to send to rank " + std::to_string(move.from) +
             " of its communicator, which has not accepted earlier packets";
    std::string text =
        std::string(move.what->z.kind == OperandKind::give ? "for a buffer offered by" : "for a message from") +
        " rank " + std::to_string(move.from) + " of its communicator";
    if (!context.is_collective() && context.call.tag != kAnyTag)
      text += " with tag " + std::to_string(context.call.tag);
    for (const Source& source : move.sources)
      if (source.claimed && source.channel.source == move.from)
        text += ", of which " + std::to_string(source.taken) + bytes;
    if (move.what->x.kind == OperandKind::take)
      if (const auto found = come(move)) text += ", of which " + std::to_string(*found) + bytes;
    return text;
  }
  /// Obstacles to the end of a move's wait that the board knows.
  [[nodiscard]] virtual std::vector<std::string> because(const Context& /*context*/, const Move& /*move*/) const {
    return {};
  }
  virtual void lost(NodeId node, std::vector<Lost>& all) const = 0;

  /// Size of an element in arithmetic.
  [[nodiscard]] static unsigned combined_bytes(const Context& context) {
    return context.arithmetic.compressed ? context.arithmetic.compressed_bytes : context.arithmetic.bytes;
  }
  static std::optional<Role> role_of(OperandKind kind) {
    if (kind == OperandKind::op0) return Role::op0;
    if (kind == OperandKind::op1) return Role::op1;
    if (kind == OperandKind::res) return Role::res;
    return std::nullopt;
  }
  static bool receives(OperandKind kind) { return kind == OperandKind::recv || kind == OperandKind::take; }
  /// The rank to which a move sends packets.
  static std::optional<std::uint64_t> sends_to(const Move& move) {
    const auto kind = move.what->z.kind;
    const bool sends = kind == OperandKind::send || kind == OperandKind::give || kind == OperandKind::put ||
                       move.what->operation == spec::programs::Operation::signal;
    return sends ? std::optional(move.at[2]) : std::nullopt;
  }
  /// The kind of the packets that a move sends.
  [[nodiscard]] static spec::MessageKind kind_of(const Context& context, const Move& move) {
    return move.offer                              ? spec::MessageKind::write
           : move.what->z.kind == OperandKind::put ? spec::MessageKind::stream
           : context.is_collective() || move.what->operation == spec::programs::Operation::signal
               ? spec::MessageKind::collective
               : spec::MessageKind::message;
  }

 protected:
  /// Fails a call because the sizes of a message differ between its two ends.
  static void differ(Context& context, const Move& move, Tick now, std::uint64_t peer, std::uint64_t theirs,
                     const std::string& does) {
    context.fail(code::kSize, "rank " + std::to_string(peer) + " " + does + " " + std::to_string(theirs) +
                                  " bytes, but this rank has " + std::to_string(move.elements * context.wire_bytes()));
    context.resumes_at = now;
  }
};

}  // namespace thalweg::accl
