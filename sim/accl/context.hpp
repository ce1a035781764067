// SPDX-License-Identifier: Apache-2.0
// State of a call in flight: its registers and the progress of its moves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accl/call.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/instructions.hpp"
#include "accl/receive_buffers.hpp"
#include "cluster/engine.hpp"
#include "core/types.hpp"
#include "thalweg_accl_programs.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::accl {

using spec::programs::OperandKind;

/// A message that a move receives.
struct Source {
  bool claimed = false;
  Channel channel{};
  std::uint32_t number = 0;
  std::uint64_t taken = 0;  ///< bytes
};

/// State of a move. Its operands have the values at its start.
struct Move {
  const Instruction* what = nullptr;  ///< null: no move
  std::array<std::uint64_t, 3> at{};  ///< of operand 0, 1, result: the address or rank
  std::uint64_t elements = 0, moved = 0;
  std::array<Source, 2> sources{};
  std::optional<std::uint32_t> number{};  ///< of the message being sent
  std::optional<std::uint32_t> offer{};   ///< of the rendezvous offer that it made or writes to
  bool eager = false;                     ///< its message uses receive buffers, whatever its size
  std::vector<std::byte> word{};          ///< of a kernel's stream: rest of a word
  bool continues = false;                 ///< the next move's result continues the same packet of a kernel's stream
  Tick resumes_at = 0;                    ///< cycle in which the move resumes
  Tick waits = kNever;                    ///< start of its wait for a message or an offer
  std::uint32_t from = 0;                 ///< rank from which the message or offer comes
  bool for_kernel = false;                ///< it waits for its kernel's stream
  bool for_room = false;                  ///< it waits until it can send
};

/// A piece of a call for collective units: some elements of each block.
struct UnitPiece {
  std::uint64_t elements = 0;            ///< per block
  std::vector<std::byte> send, receive;  ///< in wire format, block by block
  Tick done = kNever;                    ///< first cycle in which its result is available
};

/// State of a call in collective units: pieces are read, submitted and written in order.
struct UnitCall {
  spec::Operator op = spec::Operator::none;
  spec::Datatype type = spec::Datatype::byte;
  std::uint64_t piece = 1;  ///< maximum elements of a block per piece
  unsigned algorithm = 0;   ///< by the units' numbering
  Move in{}, out{};         ///< reads of operand 0, and writes of the result
  bool submitted = false;   ///< all pieces are submitted
  std::deque<std::shared_ptr<UnitPiece>> under_way{};
  Tick waits = kNever;  ///< start of its wait
};

struct Context {
  Call call;
  unsigned port = 0;
  Handle handle = 0;
  std::optional<std::size_t> kernel{};  ///< index of the stream pair of the kernel that submitted the call
  Tick called = 0;                      ///< time of submission by the host or kernel
  std::uint64_t order = 0;              ///< sequence number of the board's calls

  Communicator communicator{};
  std::uint32_t communicator_id = 0, collective = 0;
  Arithmetic arithmetic{};
  Registers registers{};
  ProgramPosition position{};
  bool started = false, ending = false, reporting = false, ended = false;

  Move move{}, background{};                      ///< of the program, and the one that it started in the background
  std::optional<UnitCall> units{};                ///< if units beside the engine execute it, without a program
  std::map<std::uint32_t, std::uint32_t> sent{};  ///< messages of a collective, by rank
  std::vector<std::byte> result{};                ///< data so far of an incomplete packet to a kernel's stream

  Tick resumes_at = 0;  ///< cycle in which its program resumes
  Tick effects = 0;     ///< first cycle in which all its effects are visible
  std::uint32_t code = 0;
  std::string why{};  ///< if the code is not 0

  [[nodiscard]] std::uint64_t& operator[](Register name) { return registers[static_cast<std::size_t>(name)]; }
  [[nodiscard]] std::uint64_t operator[](Register name) const { return registers[static_cast<std::size_t>(name)]; }
  [[nodiscard]] unsigned bytes(Role role) const {
    return call.compressed(role) ? arithmetic.compressed_bytes : arithmetic.bytes;
  }
  [[nodiscard]] unsigned wire_bytes() const {
    return call.compressed_on_wire() ? arithmetic.compressed_bytes : arithmetic.bytes;
  }
  [[nodiscard]] bool is_reset() const {
    return call.scenario == Scenario::config && static_cast<Setting>(call.function) == Setting::reset;
  }
  [[nodiscard]] bool is_collective() const {
    return call.scenario != Scenario::send && call.scenario != Scenario::recv && !communicator.members.empty();
  }
  /// Sets a bit of the call's return code, which ends the call.
  void fail(std::uint32_t bit, const std::string& reason) {
    code |= bit;
    why += (why.empty() ? "" : "; ") + reason;
  }
};

/// Range of memory that a call reads or writes.
struct Range {
  bool host, writes;
  std::uint64_t begin, end;
};

/// Number of blocks of `count` elements that a call reads as operands 0 and 1, and writes as the result.
[[nodiscard]] inline std::array<std::uint64_t, 3> blocks_of(const Context& context) {
  const Call& call = context.call;
  const auto size = context.communicator.members.size();
  const bool is_root = context.communicator.rank == call.root;
  std::array<std::uint64_t, 3> blocks{1, 0, 1};
  switch (call.scenario) {
    case Scenario::combine:
      blocks = {1, 1, 1};
      break;
    case Scenario::send:
      blocks = {1, 0, 0};
      break;
    case Scenario::recv:
      blocks = {0, 0, 1};
      break;
    case Scenario::scatter:
      blocks = {is_root ? size : 0, 0, 1};
      break;
    case Scenario::gather:
      blocks = {1, 0, is_root ? size : 0};
      break;
    case Scenario::allgather:
      blocks = {1, 0, size};
      break;
    case Scenario::reduce_scatter:
      blocks = {size, 0, 1};
      break;
    case Scenario::alltoall:
      blocks = {size, 0, size};
      break;
    case Scenario::bcast:
      blocks = {is_root ? 1U : 0U, 0, is_root ? 0U : 1U};
      break;
    case Scenario::reduce:
      blocks = {1, 0, is_root ? 1U : 0U};
      break;
    case Scenario::barrier:
    case Scenario::config:
    case Scenario::nop:
      blocks = {0, 0, 0};
      break;
    default:
      break;
  }
  return blocks;
}

/// Upper bound of the memory that a call reads and writes.
[[nodiscard]] inline std::vector<Range> ranges_of(const Context& context) {
  const Call& call = context.call;
  const auto blocks = blocks_of(context);
  std::vector<Range> all;
  for (const Role role : {Role::op0, Role::op1, Role::res}) {
    const auto at = static_cast<std::size_t>(role);
    const auto bytes = blocks[at] * call.count * context.bytes(role);
    if (bytes > 0 && !call.streams(role))
      all.push_back({call.in_host(role), role == Role::res, call.address[at], call.address[at] + bytes});
  }
  if (call.scenario == Scenario::reduce && context.communicator.rank == call.root &&
      context.communicator.members.size() > 2 && call.count <= context[Register::flat]) {
    const auto spare = context[Register::spare];
    all.push_back({call.in_host(Role::op1), true, spare, spare + call.count * context.bytes(Role::op1)});
  }
  if (call.scenario == Scenario::bcast && context[Register::spare] != 0) {
    const auto spare = context[Register::spare];
    all.push_back({call.in_host(Role::op1), true, spare, spare + context[Register::part] * context.bytes(Role::op1)});
  }
  return all;
}

/// True if the later call must wait for the earlier: they share memory that one of them writes, or a stream, or their
/// messages could be confused.
[[nodiscard]] inline bool conflicts(const Context& earlier, const Context& later) {
  const Call &a = earlier.call, &b = later.call;
  if (a.scenario == Scenario::config || b.scenario == Scenario::config) return true;
  if ((a.stream & b.stream & 3) != 0) return true;
  const bool same_tag = a.tag == b.tag || a.tag == kAnyTag || b.tag == kAnyTag;
  if (a.scenario == b.scenario && (a.scenario == Scenario::send || a.scenario == Scenario::recv) &&
      a.communicator == b.communicator && a.root == b.root && same_tag)
    return true;
  for (const Range& one : ranges_of(earlier))
    for (const Range& other : ranges_of(later))
      if (one.host == other.host && (one.writes || other.writes) && one.begin < other.end && other.begin < one.end)
        return true;
  return false;
}

}  // namespace thalweg::accl
