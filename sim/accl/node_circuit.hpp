// SPDX-License-Identifier: Apache-2.0
// Interface between the simulator and the hardware's node or engine (rtl/accl/top): its ports, edge by edge.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace thalweg::accl {

class NodeCircuit {
 public:
  using Data = std::array<std::uint64_t, 8>;

  // Numbered as in tw_mover_pkg.
  enum class Source : std::uint8_t { nothing, memory, stream, message };
  enum class Target : std::uint8_t { nothing, memory, stream, rank };
  enum class Conversion : std::uint8_t { none, narrow, widen };
  enum class Does : std::uint8_t { begin, cancel, end_collective, clear };
  enum class Sets : std::uint8_t { buffer, sizes, communicator, end };
  enum class How : std::uint8_t { moved, differs, cancelled };
  struct OperandAddress {
    bool host = false;
    std::uint64_t at = 0;
    unsigned bytes = 1;  ///< per element
    Conversion conversion = Conversion::none;
  };
  struct Move {
    Source x_source = Source::nothing, y_source = Source::nothing;
    Target target = Target::nothing;
    OperandAddress x{}, y{}, z{};
    unsigned operation = 0, datatype = 0;
    unsigned wire_bytes = 1;
    std::uint64_t elements = 0;
    unsigned from_communicator = 0, from = 0;
    bool from_collective = false;
    std::uint32_t from_tag = 0, from_number = 0;
    unsigned to = 0;
    std::uint32_t to_communicator = 0;
    unsigned own_rank = 0, kind = 0, stream = 0;
    std::uint32_t to_tag = 0, to_number = 0;
  };
  struct Command {
    Does does = Does::begin;
    unsigned slot = 0;
    Move move{};
  };
  struct Setting {
    Sets sets = Sets::buffer;
    unsigned index = 0;
    std::array<std::uint32_t, 3> value{};  ///< lowest bits first
  };

  /// A word of the exchange memory.
  struct Word {
    std::uint32_t at = 0, data = 0;
  };
  /// Completion of an engine's call: its port, and the number of earlier calls of that port, modulo 256.
  struct Status {
    unsigned port = 0, count = 0;
    std::uint32_t code = 0;
  };

  struct Inputs {
    struct Read {
      bool accepts = false, answers = false;
      Data answer{};
    };
    struct Write {
      bool accepts = false, takes = false, written = false;
    };
    bool sets = false, commands = false;
    Setting setting{};
    Command command{};  ///< for a node
    /// For an engine, instead of commands: a write of the exchange memory, and words of calls by port.
    std::optional<Word> exchange{};
    std::array<std::optional<std::uint32_t>, 3> calls{};
    std::array<Read, 2> reads{};
    std::array<Write, 2> writes{};
    bool from_kernel = false;
    Data word{};
    /// The MAC: ready for a word to send, and the arriving word.
    bool takes = false, comes = false, last = false, damaged = false;
    std::uint64_t keep = 0;
    Data data{};
  };
  struct Outputs {
    struct Request {
      bool valid = false, host = false;
      std::uint64_t at = 0;
      unsigned bytes = 0;
    };
    struct Read {
      Request request{};
      bool takes = false;
    };
    struct Write {
      Request request{};
      bool offers = false;
      Data data{};
    };
    bool takes_setting = true, takes_command = false, ended = false, moves = false;
    unsigned slot = 0, moves_slot = 0;
    How how = How::moved;
    std::uint64_t length = 0;
    std::uint64_t message_waits = 0, kernel_waits = 0;  ///< a bit per slot
    bool takes_write = false;                           ///< to the exchange memory
    std::array<bool, 3> takes_call{};
    std::optional<Status> status{};
    std::array<Read, 2> reads{};
    std::array<Write, 2> writes{};
    bool takes_word = false, to_kernel = false, to_kernel_last = false;
    unsigned to_kernel_number = 0;
    Data to_kernel_data{};
    bool offers = false, last = false;  ///< to the MAC
    std::uint64_t keep = 0;
    Data data{};
    std::array<std::uint32_t, 6> counts{};  ///< packets by outcome: the fields of taken_t, last one first
    std::uint32_t own_dropped = 0, dropped = 0;
  };
  struct Limits {
    unsigned slots = 0, buffers = 0, communicators = 0, ranks = 0, packets = 0, ends = 0, packet_bytes = 0;
    unsigned calls = 0;  ///< maximum calls in flight of an engine; 0: a node, which takes commands
  };

  virtual ~NodeCircuit() = default;
  [[nodiscard]] virtual Limits limits() const = 0;
  /// Returns the outputs in this cycle for these inputs.
  virtual const Outputs& show(const Inputs& in) = 0;
  /// A clock edge of the line or the engine.
  virtual void edge(bool line) = 0;
};

/// log2 of a number of bytes, as ports encode it; 0 for none.
[[nodiscard]] constexpr unsigned log_of(unsigned bytes) {
  return bytes == 0 ? 0 : static_cast<unsigned>(std::countr_zero(bytes));
}
/// Encodes a move for the port of a Verilated module; `Port` is the generated move_t.
template <class Port>
[[nodiscard]] Port move_of(const NodeCircuit::Move& move) {
  const auto place = [](const NodeCircuit::OperandAddress& of) {
    return decltype(Port::x){
        .host = of.host, .at = of.at, .size = log_of(of.bytes), .conversion = static_cast<unsigned>(of.conversion)};
  };
  return {.x_source = static_cast<unsigned>(move.x_source),
          .y_source = static_cast<unsigned>(move.y_source),
          .target = static_cast<unsigned>(move.target),
          .x = place(move.x),
          .y = place(move.y),
          .z = place(move.z),
          .operation = move.operation,
          .datatype = move.datatype,
          .wire_size = log_of(move.wire_bytes),
          .elements = move.elements,
          .from_communicator = move.from_communicator,
          .from = move.from,
          .from_collective = move.from_collective,
          .from_tag = move.from_tag,
          .from_number = move.from_number,
          .to = move.to,
          .to_communicator = move.to_communicator,
          .own_rank = move.own_rank,
          .kind = move.kind,
          .stream = move.stream,
          .to_tag = move.to_tag,
          .to_number = move.to_number};
}

}  // namespace thalweg::accl
