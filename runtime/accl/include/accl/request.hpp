// SPDX-License-Identifier: Apache-2.0
// A started call, and the exception of a failed one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "accl/buffer.hpp"
#include "accl/constants.hpp"

namespace ACCL {

/// A call ended with a return code other than 0. The message names the missing data and their rank.
class call_error : public std::runtime_error {
 public:
  call_error(const std::string& text, std::uint32_t code) : std::runtime_error(text), code_(code) {}
  /// Bits of errorCode.
  [[nodiscard]] std::uint32_t code() const { return code_; }

 private:
  std::uint32_t code_;
};

struct ACCLRequest {
  std::uint64_t number = 0;  ///< number in the simulator
  std::string name{};        ///< the operation
  bool done = false;
  detail::End end{};
  std::string refused{};  ///< reason if the engine refused it once the calls before it had ended

  /// Memory that the call uses; of the last one, the bytes that are read back at the end.
  std::shared_ptr<detail::Block> operands[3]{};
  std::size_t result_offset = 0, result_bytes = 0;
  [[nodiscard]] std::pair<std::size_t, std::size_t> result() const {
    return {result_offset, result_offset + result_bytes};
  }
};

}  // namespace ACCL
