// SPDX-License-Identifier: Apache-2.0
// A call of the offload engine, as ACCL's command streams carry it, and its return code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace thalweg::accl {

/// Operation of a call; ACCL's numbers.
enum class Scenario : std::uint32_t {
  config,
  copy,
  combine,
  send,
  recv,
  bcast,
  scatter,
  gather,
  reduce,
  allgather,
  allreduce,
  reduce_scatter,
  barrier,
  alltoall,
  nop = 255
};

/// Name of a scenario by number; empty if there is no such scenario.
[[nodiscard]] constexpr std::string_view name_of(std::uint32_t scenario) {
  constexpr std::array<std::string_view, 14> kNames{"config",    "copy",           "combine", "send",    "recv",
                                                    "bcast",     "scatter",        "gather",  "reduce",  "allgather",
                                                    "allreduce", "reduce_scatter", "barrier", "alltoall"};
  if (scenario == static_cast<std::uint32_t>(Scenario::nop)) return "nop";
  return scenario < kNames.size() ? kNames[scenario] : std::string_view{};
}

/// What the rank in a call's field `root` is; empty if the call names none.
[[nodiscard]] constexpr std::string_view role_of_root(Scenario scenario) {
  switch (scenario) {
    case Scenario::send:
      return "destination";
    case Scenario::recv:
      return "source";
    case Scenario::bcast:
    case Scenario::scatter:
    case Scenario::gather:
    case Scenario::reduce:
      return "root";
    default:
      return {};
  }
}
[[nodiscard]] constexpr bool is_rooted(Scenario scenario) {
  return !role_of_root(scenario).empty();
}
[[nodiscard]] constexpr bool combines(Scenario scenario) {
  using enum Scenario;
  return scenario == combine || scenario == reduce || scenario == allreduce || scenario == reduce_scatter;
}

/// Settings of a config call, in its field `function`.
enum class Setting : std::uint32_t { reset, enable_packets, time_out, most_eager, most_rendezvous };

inline constexpr std::uint32_t kAnyTag = 0xFFFF'FFFF;
inline constexpr unsigned kCallWords = 15;

/// Operands 0 and 1, and the result.
enum class Role : std::uint8_t { op0, op1, res };

struct Call {
  Scenario scenario = Scenario::nop;
  std::uint32_t count = 0;         ///< elements
  std::uint32_t communicator = 0;  ///< address in the exchange memory
  std::uint32_t root = 0;          ///< or source, or destination rank
  std::uint32_t function = 0;
  std::uint32_t tag = kAnyTag;   ///< of a send whose result is a stream: number of the peer's stream
  std::uint32_t arithmetic = 0;  ///< address of the arithmetic configuration
  std::uint32_t compression =
      0;  ///< bits 0 to 2: operand 0, 1, result are in the compressed type; 3: compressed on the wire
  std::uint32_t stream =
      0;  ///< bits 0, 1: operand 0, result is a stream; 8 to 10: operand 0, 1, result are in host memory
  std::array<std::uint64_t, 3> address{};  ///< of operand 0, 1, result

  [[nodiscard]] static constexpr Call of(std::span<const std::uint32_t, kCallWords> word) {
    const auto wide = [&](std::size_t at) { return word[at] | std::uint64_t{word[at + 1]} << 32; };
    return {static_cast<Scenario>(word[0]), word[1], word[2], word[3], word[4], word[5], word[6], word[7], word[8],
            {wide(9), wide(11), wide(13)}};
  }
  [[nodiscard]] constexpr std::array<std::uint32_t, kCallWords> words() const {
    const auto low = [&](std::size_t at) { return static_cast<std::uint32_t>(address[at]); };
    const auto high = [&](std::size_t at) { return static_cast<std::uint32_t>(address[at] >> 32); };
    return {static_cast<std::uint32_t>(scenario),
            count,
            communicator,
            root,
            function,
            tag,
            arithmetic,
            compression,
            stream,
            low(0),
            high(0),
            low(1),
            high(1),
            low(2),
            high(2)};
  }
  [[nodiscard]] constexpr bool compressed(Role role) const { return compression >> static_cast<unsigned>(role) & 1; }
  [[nodiscard]] constexpr bool compressed_on_wire() const { return compression >> 3 & 1; }
  [[nodiscard]] constexpr bool in_host(Role role) const { return stream >> (8 + static_cast<unsigned>(role)) & 1; }
  [[nodiscard]] constexpr bool streams(Role role) const {
    return role == Role::op0 ? stream & 1 : role == Role::res && stream >> 1 & 1;
  }
};

/// Bits of a return code, with ACCL's numbers; 0: success.
namespace code {
inline constexpr std::uint32_t kReceiveTimeOut = 1 << 11, kNotImplemented = 1 << 14, kEagerLimit = 1 << 16,
                               kRendezvousLimit = 1 << 17, kSize = 1 << 18, kArithmetic = 1 << 19,
                               kCompression = 1 << 22, kNotReady = 1U << 31;
}  // namespace code

}  // namespace thalweg::accl
