// SPDX-License-Identifier: Apache-2.0
// Collective units beside the boards, such as those of switches, which carry out collectives in place of the engines' programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "accl/context.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class CollectiveUnits {
 public:
  /// What a rank of a communicator waits for, and the board at which it is looked for.
  struct Waits {
    std::string what;
    std::optional<std::uint32_t> board;
  };

  virtual ~CollectiveUnits() = default;
  /// A call that has been checked; none where it stays with the engines' programs. All members get the same answer, so it follows from what
  /// they have in common alone. Throws std::invalid_argument where the units have no room for its communicator.
  [[nodiscard]] virtual std::optional<UnitCall> begin(const Context& context, Tick tick) = 0;
  /// Pieces of a call that may be under way.
  [[nodiscard]] virtual unsigned at_once() const = 0;
  /// A member's part of a piece, from a tick on; `done` is called with the tick in which its result is there. Parts of a member are taken one behind the other.
  virtual void submit(const Context& context, const std::shared_ptr<UnitPiece>& piece, Tick tick,
                      std::function<void(Tick)> done) = 0;
  /// A member's call has failed, so its communicator's parts are out of step from now on.
  virtual void stop(const Context& context) = 0;
  /// Whose call of the communicator has failed, and why; empty: none.
  [[nodiscard]] virtual std::string stopped(const Context& context) const = 0;
  [[nodiscard]] virtual Waits waits(const Context& context) const = 0;
};

}  // namespace thalweg::accl
