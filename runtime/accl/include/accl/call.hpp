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
  Operand(BaseBuffer& operand_buffer, std::size_t elements, bool copies)
      : buffer(&operand_buffer), elements(elements), sync(copies) {
    asm("" : "+r"(buffer));
    if (buffer) type = buffer->type();
  }
  explicit Operand(dataType stream_type) : type(stream_type), stream(true) {}

  BaseBuffer* buffer = nullptr;
  dataType type = dataType::none;
  std::size_t elements = 0;
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
  std::array<Operand, 3> operands{};
};

/// Throws std::invalid_argument if the result overlaps an operand, as the engine writes results while it still reads operands. They may be equal, and a
/// rank's block may be at its position among the blocks of all ranks. `rank` is the caller's in its communicator; `prefix` starts the message.
inline void check_overlap(const Call& call, unsigned rank, const std::string& prefix) {
  const Operand& result = call.operands[2];
  if (!result.buffer || result.elements == 0) return;
  const auto element = static_cast<std::int64_t>(size_of(result.type));
  const auto own = std::int64_t{rank} * call.count * element;
  for (std::size_t k = 0; k < 2; ++k) {
    const Operand& operand = call.operands[k];
    if (!operand.buffer || operand.elements == 0 || operand.buffer->is_host_only() != result.buffer->is_host_only())
      continue;
    const auto distance = static_cast<std::int64_t>(result.buffer->address() - operand.buffer->address());
    if (distance >= static_cast<std::int64_t>(operand.elements * size_of(operand.type)) ||
        -distance >= static_cast<std::int64_t>(result.elements) * element)
      continue;
    using op = operation;
    const auto is_one_of = [&](std::initializer_list<operation> operations) {
      return std::find(operations.begin(), operations.end(), call.scenario) != operations.end();
    };
    const bool allowed = (distance == 0 && is_one_of({op::copy, op::combine, op::gather, op::reduce, op::allgather,
                                                      op::allreduce, op::reduce_scatter})) ||
                         (distance == -own && is_one_of({op::gather, op::allgather})) ||
                         (distance == own && is_one_of({op::scatter, op::reduce_scatter}));
    if (!allowed || operand.type != result.type)
      throw std::invalid_argument(prefix + call.name + ": operand and result overlap");
  }
}

/// Returns the types of a call's elements in memory and on the wire: one type, or float32 and float16. Throws std::invalid_argument.
[[nodiscard]] inline std::pair<dataType, dataType> types_of(const Call& call, dataType compress,
                                                            const std::string& prefix) {
  dataType wide = dataType::none, narrow = dataType::none;
  for (const dataType type : {call.operands[0].type, call.operands[1].type, call.operands[2].type, compress}) {
    if (type == dataType::none || type == wide || type == narrow) continue;
    if (wide == dataType::none) {
      wide = narrow = type;
    } else if (wide == narrow && type == dataType::float32 && wide == dataType::float16) {
      wide = type;
    } else if (wide == narrow && type == dataType::float16 && wide == dataType::float32) {
      narrow = type;
    } else {
      throw std::invalid_argument(prefix + call.name +
                                  ": operands of several types; must be of one type, or float32 and float16");
    }
  }
  return {wide, narrow};
}

}  // namespace ACCL::detail
