// SPDX-License-Identifier: Apache-2.0
// Checks whether a board can execute a call: its communicator, types and functions, streams, and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "accl/arithmetic.hpp"
#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/memory.hpp"
#include "accl/move_engine.hpp"
#include "core/require.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::accl {

class CallChecks {
 public:
  /// The arguments must outlive the object.
  CallChecks(const NodeConfig& config, const ExchangeMemory& exchange, const Memory& device, const Memory& host)
      : config_(config), exchange_(exchange), device_(device), host_(host) {}

  /// Returns the communicator of a submitted call; none for a local call. `end_of` maps a member to its UDP endpoint.
  /// Throws std::invalid_argument if the call is invalid.
  [[nodiscard]] std::optional<Communicator> communicator(
      const Call& call, const std::function<std::optional<ethernet::UdpEnd>(const Member&)>& end_of) const {
    const std::string name(name_of(static_cast<std::uint32_t>(call.scenario)));
    require(!name.empty(), "unknown scenario " + std::to_string(static_cast<std::uint32_t>(call.scenario)));
    if (is_local(call.scenario)) return std::nullopt;
    const auto found = exchange_.communicator(call.communicator);
    require(found.has_value(),
            name + ": the exchange memory has no communicator with this rank at " + hex(call.communicator));
    require(!is_rooted(call.scenario) || call.root < found->members.size(),
            name + ": " + std::string(role_of_root(call.scenario)) + " " + std::to_string(call.root) +
                " does not exist; the communicator has " + std::to_string(found->members.size()) + " ranks");
    for (std::size_t rank = 0; rank < found->members.size(); ++rank) {
      const Member& member = found->members[rank];
      if (end_of(member)) continue;
      throw std::invalid_argument(name + ": rank " + std::to_string(rank) + " of the communicator at " +
                                  hex(call.communicator) + " (session " + std::to_string(member.session) + ", " +
                                  dotted(member.ip) + ":" + std::to_string(member.port) +
                                  ") is not a board of this cluster");
    }
    return found;
  }
  /// Looks up the types and functions of a call's elements, and checks that its operands are in allocated memory. Fails
  /// the call if it cannot be executed.
  void operator()(Context& context) const {
    if (elements(context))
      for (const Range& range : ranges_of(context))
        if (!(range.host ? host_ : device_).has(range.begin, range.end - range.begin)) missing(context, range);
  }
  /// Looks up the types and functions of a call's elements. Returns false if it has no elements, or no such arithmetic
  /// configuration exists.
  bool elements(Context& context) const {
    const Call& call = context.call;
    if (call.scenario == Scenario::config || call.scenario == Scenario::nop || call.scenario == Scenario::barrier ||
        call.count == 0)
      return false;
    const auto found = exchange_.arithmetic(call.arithmetic);
    if (!found) {
      context.fail(code::kArithmetic, "there is no arithmetic configuration at " + hex(call.arithmetic));
      return false;
    }
    context.arithmetic = *found;
    for (const Role role : {Role::op0, Role::res})
      if (call.streams(role) && !can_stream(call.scenario, role))
        context.fail(code::kNotImplemented,
                     std::string(name_of(static_cast<std::uint32_t>(call.scenario))) +
                         (role == Role::op0 ? " cannot read an operand from" : " cannot write its result to") +
                         " a kernel's stream");
    if (!config_.compression && call.compression != 0)
      context.fail(code::kCompression, "its board has no plug-in for compression");
    if (!converts(found->bytes, found->compressed_bytes))
      context.fail(code::kCompression, "elements of " + std::to_string(found->bytes) + " and " +
                                           std::to_string(found->compressed_bytes) +
                                           " bytes; the engine only compresses 4 bytes to 2");
    if (combines(call.scenario) && !MoveEngine::unit(context))
      context.fail(code::kArithmetic, "no function " + std::to_string(call.function) + " for its type");
    return true;
  }
  /// Checks that the spare buffer of a bcast in parts is in allocated memory.
  void spare(Context& context) const {
    if (const auto at = context[Register::spare]; context.call.scenario == Scenario::bcast && at != 0)
      if (!device_.has(at, context[Register::part] * context.bytes(Role::op1)))
        context.fail(code::kSize, "the spare buffer is not in allocated memory");
  }
  /// Checks the plug-in for arithmetic, which calls executed by collective units do not need.
  void plugin(Context& context) const {
    if (!config_.arithmetic && combines(context.call.scenario) && context.call.count > 0)
      context.fail(code::kArithmetic, "its board has no plug-in for arithmetic");
  }

 private:
  static void missing(Context& context, const Range& range) {
    context.fail(code::kSize, "bytes " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
                                  (range.host ? " of the host's memory" : " of the board's memory") +
                                  " were not all allocated");
  }
  static bool is_local(Scenario scenario) {
    using enum Scenario;
    return scenario == copy || scenario == combine || scenario == config || scenario == nop;
  }
  /// True if an operand or result can be a kernel's stream: the program must access it once, from start to end.
  static bool can_stream(Scenario scenario, Role role) {
    using enum Scenario;
    if (scenario == copy || scenario == combine || scenario == reduce) return true;
    if (role == Role::op0) return scenario == send || scenario == gather;
    return scenario == send || scenario == recv || scenario == bcast || scenario == scatter ||
           scenario == reduce_scatter;
  }
  static std::string hex(std::uint32_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    do text.insert(text.begin(), kDigits[value & 15]);
    while (value >>= 4);
    return "0x" + text;
  }
  static std::string dotted(std::uint32_t ip) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += std::to_string(ip >> shift & 0xFF) + (shift > 0 ? "." : "");
    return text;
  }

  const NodeConfig& config_;
  const ExchangeMemory& exchange_;
  const Memory &device_, &host_;
};

}  // namespace thalweg::accl
