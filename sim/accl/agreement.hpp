// SPDX-License-Identifier: Apache-2.0
// Checks that the members of a communicator call the same collective next. A board does not see the others' calls, and
// messages of equal sizes would silently give wrong data; the simulation sees all calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "accl/arithmetic.hpp"
#include "accl/call.hpp"
#include "accl/context.hpp"

namespace thalweg::accl {

class Agreement {
 public:
  /// Enters a member's call of a collective. Returns how it differs from the first member's call; empty if it matches.
  [[nodiscard]] std::string enter(const Context& context) {
    const std::pair key{context.communicator_id, context.collective};
    const auto [found, is_first] =
        open_.try_emplace(key, First{what(context), type(context), context.communicator.rank, 0});
    First& first = found->second;
    std::string differs;
    if (const auto own = what(context); own != first.what) {
      differs = "rank " + std::to_string(first.rank) + " calls " + first.what + ", but this rank calls " + own;
    } else if (const auto mine = type(context); mine && first.type && *mine != *first.type) {
      differs =
          "rank " + std::to_string(first.rank) + " has elements of " + *first.type + ", but this rank of " + *mine;
    }
    if (++first.entered == context.communicator.members.size())
      open_.erase(found);
    else if (is_first && open_.size() > kMost)
      open_.erase(open_.begin());
    return differs;
  }

  /// Call when a member restarts its count of the communicator's collectives.
  void forget(std::uint32_t communicator) {
    std::erase_if(open_, [communicator](const auto& one) { return one.first.first == communicator; });
  }

 private:
  static constexpr std::size_t kMost =
      4096;  ///< open collectives; some never complete, if members are outside of the simulation

  struct First {
    std::string what;
    std::optional<std::string> type;
    std::uint32_t rank;
    std::size_t entered;
  };

  static std::string what(const Context& context) {
    const Call& call = context.call;
    std::string text(name_of(static_cast<std::uint32_t>(call.scenario)));
    if (call.scenario == Scenario::barrier) return text;
    text += " of " + std::to_string(call.count) + " elements";
    if (is_rooted(call.scenario)) text += ", root " + std::to_string(call.root);
    if (combines(call.scenario)) text += ", function " + std::to_string(call.function);
    return text;
  }
  /// Ranks may have floating-point types of different sizes, if one of them is compressed.
  static std::optional<std::string> type(const Context& context) {
    using enum spec::Datatype;
    if (context.units && context.call.scenario != Scenario::barrier)
      return std::string(spec::name(context.units->type)) + ", in the switches";
    const auto& functions = context.arithmetic.functions;
    if (functions.empty()) return std::nullopt;
    const auto unit = unit_of(functions.front());
    if (!unit) return std::nullopt;
    if (unit->type == float16 || unit->type == float32 || unit->type == float64) return "floating point";
    return "integers of " + std::to_string(bytes_of(unit->type)) + " bytes";
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, First> open_;
};

}  // namespace thalweg::accl
