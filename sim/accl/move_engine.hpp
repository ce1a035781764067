// SPDX-License-Identifier: Apache-2.0
// What carries out the moves of a board's calls: the simulator's (mover.hpp), or hardware (hardware_mover.hpp).
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

/// At a port of the engine: x, y: an operand is read; z: a result is written; s: a frame is sent.
struct Transaction {
  char port = 0;
  bool host = false;  ///< the host's memory, not the board's
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::vector<std::byte> frame{};
};

class MoveEngine {
 public:
  virtual ~MoveEngine() = default;

  std::uint32_t eager = 0;  ///< the largest message, in bytes, that always comes into receive buffers
  std::function<std::optional<ethernet::UdpEnd>(const Member&)> end_of;  ///< where a member of a communicator is
  std::function<std::string(const Context&, std::uint32_t rank)> dark;   ///< that no light path joins a rank; or empty
  std::vector<KernelPacket> output;                                      ///< what has left for kernels

  std::function<void(Transaction)> seen;  ///< at a port of a memory

  /// What combines elements of a call; none where its configuration has no such function, or not of its type.
  [[nodiscard]] static std::optional<Unit> unit(const Context& context) {
    const Arithmetic& arithmetic = context.arithmetic;
    if (context.call.function >= arithmetic.functions.size()) return std::nullopt;
    const auto found = unit_of(arithmetic.functions[context.call.function]);
    if (!found || bytes_of(found->type) != combined_bytes(context)) return std::nullopt;
    return found;
  }

  /// Takes what has come.
  virtual void step(Tick now) = 0;
  /// Carries out the next segment of a move, where all that it takes is there. True where it did something; the call may have failed.
  [[nodiscard]] virtual bool segment(Context& context, Move& move, Tick now) = 0;
  /// The call ends: gives up what its moves have claimed.
  virtual void release(const Context& context, Tick now) = 0;
  /// Empties all receive buffers; `bytes`: of each. False where it cannot have these.
  [[nodiscard]] virtual bool configure(const std::vector<std::uint64_t>& addresses, std::uint32_t bytes) = 0;
  /// Forgets all messages and places, and has no receive buffers; what comes from now on is dropped until it has some. Its moves are released.
  virtual void reset(Tick now) = 0;
  /// A communicator that the board is in, by what all members know it by. False where it cannot have one more.
  [[nodiscard]] virtual bool know(std::uint32_t communicator) = 0;
  /// Begins sessions with the other members of a communicator.
  virtual void greet(const Communicator& all) = 0;
  /// Words from a kernel, padded to whole ones; and how many of them it holds.
  virtual void give(std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual std::size_t words() const = 0;

  /// Receive buffers: their bytes, and how many there are.
  struct Buffers {
    std::uint32_t bytes = 0;
    std::size_t all = 0;
  };
  [[nodiscard]] virtual Buffers buffers() const = 0;
  /// Elements of a call that each rank can send to the next one before it takes any, four times.
  [[nodiscard]] virtual std::uint64_t most_in_circle(const Context& context) const = 0;
  /// Of the place that a move has offered: bytes that have come; none where it has offered none.
  [[nodiscard]] virtual std::optional<std::uint64_t> come(const Move& /*move*/) const { return std::nullopt; }
  /// What a call that waits is without.
  [[nodiscard]] std::string waits_for(const Context& context, const Move& move) const {
    if (move.for_kernel) return "for data from its kernel's stream";
    const auto bytes = " of " + std::to_string(move.elements * context.wire_bytes()) + " bytes have come";
    if (move.for_room)
      return "for room to send to rank " + std::to_string(move.from) +
             " of its communicator, which has not taken the packets before";
    std::string text = std::string(move.what->z.kind == OperandKind::give ? "for a place at" : "for a message from") +
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
  /// What keeps away that a move waits for, as far as its board sees it.
  [[nodiscard]] virtual std::vector<std::string> because(const Context& /*context*/, const Move& /*move*/) const {
    return {};
  }
  virtual void lost(NodeId node, std::vector<Lost>& all) const = 0;

  /// Of an element where it is combined.
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
  /// Of what a packet carries.
  [[nodiscard]] static spec::MessageKind kind_of(const Context& context, const Move& move) {
    return move.offer                              ? spec::MessageKind::write
           : move.what->z.kind == OperandKind::put ? spec::MessageKind::stream
           : context.is_collective() || move.what->operation == spec::programs::Operation::signal
               ? spec::MessageKind::collective
               : spec::MessageKind::message;
  }

 protected:
  /// The sizes of a message differ at its two ends: the call ends.
  static void differ(Context& context, const Move& move, Tick now, std::uint64_t peer, std::uint64_t theirs,
                     const std::string& does) {
    context.fail(code::kSize, "rank " + std::to_string(peer) + " " + does + " " + std::to_string(theirs) +
                                  " bytes, and this one has " + std::to_string(move.elements * context.wire_bytes()));
    context.resumes_at = now;
  }
};

}  // namespace thalweg::accl
