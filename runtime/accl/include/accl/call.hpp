// SPDX-License-Identifier: Apache-2.0
// A call before it starts, and its checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include "accl/buffer.hpp"
#include "accl/constants.hpp"

namespace ACCL::detail {

/// An operand or result: elements of a buffer, whose array is copied to or from the board's memory, or a kernel's stream.
struct Operand {
  Operand() = default;
  /// Programs of ACCL's driver pass a dereferenced null pointer for unused operands; the compiler must not assume that a reference is never null.
  Operand(BaseBuffer& of, std::size_t elements, bool copies) : buffer(&of), need(elements), sync(copies) {
    asm("" : "+r"(buffer));
    if (buffer) type = buffer->type();
  }
  explicit Operand(dataType of_stream) : type(of_stream), stream(true) {}

  BaseBuffer* buffer = nullptr;
  dataType type = dataType::none;
  std::size_t need = 0;
  bool sync = false, stream = false;
};
struct Call {
  operation scenario{};
  const char* name = "";
  unsigned count = 0;
  communicatorId communicator = GLOBAL_COMM;
  unsigned root = 0;
  unsigned tag = TAG_ANY;
  std::uint32_t function = 0;
  std::array<Operand, 3> places{};
};

/// Throws std::invalid_argument if the result overlaps an operand, as the engine writes results while it still reads operands. They may be equal, and a
/// rank's block may be at its position among the blocks of all ranks. `rank` is the caller's in its communicator; `who` is a prefix of the message.
inline void check_overlap(const Call& call, unsigned rank, const std::string& who) {
  const Operand& result = call.places[2];
  if (!result.buffer || result.need == 0) return;
  const auto element = static_cast<std::int64_t>(size_of(result.type));
  const auto own = std::int64_t{rank} * call.count * element;
  for (std::size_t k = 0; k < 2; ++k) {
    const Operand& place = call.places[k];
    if (!place.buffer || place.need == 0 || place.buffer->is_host_only() != result.buffer->is_host_only()) continue;
    const auto behind = static_cast<std::int64_t>(result.buffer->address() - place.buffer->address());
    if (behind >= static_cast<std::int64_t>(place.need * size_of(place.type)) ||
        -behind >= static_cast<std::int64_t>(result.need) * element)
      continue;
    using op = operation;
    const auto is = [&](std::initializer_list<operation> ones) {
      return std::find(ones.begin(), ones.end(), call.scenario) != ones.end();
    };
    const bool right =
        (behind == 0 &&
         is({op::copy, op::combine, op::gather, op::reduce, op::allgather, op::allreduce, op::reduce_scatter})) ||
        (behind == -own && is({op::gather, op::allgather})) || (behind == own && is({op::scatter, op::reduce_scatter}));
    if (!right || place.type != result.type)
      throw std::invalid_argument(who + call.name + ": operand and result overlap");
  }
}

/// Returns the types of a call's elements in memory and on the wire: one type, or float32 and float16. Throws std::invalid_argument.
[[nodiscard]] inline std::pair<dataType, dataType> types_of(const Call& call, dataType compress,
                                                            const std::string& who) {
  dataType wide = dataType::none, narrow = dataType::none;
  for (const dataType type : {call.places[0].type, call.places[1].type, call.places[2].type, compress}) {
    if (type == dataType::none || type == wide || type == narrow) continue;
    if (wide == dataType::none) {
      wide = narrow = type;
    } else if (wide == narrow && type == dataType::float32 && wide == dataType::float16) {
      wide = type;
    } else if (wide == narrow && type == dataType::float16 && wide == dataType::float32) {
      narrow = type;
    } else {
      throw std::invalid_argument(who + call.name +
                                  ": operands of several types; must be of one type, or float32 and float16");
    }
  }
  return {wide, narrow};
}

}  // namespace ACCL::detail
