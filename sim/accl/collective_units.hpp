// SPDX-License-Identifier: Apache-2.0
// Collective units beside the boards, for example in switches, which execute collectives instead of the engines'
// programs.
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
  /// What a rank of a communicator waits for, and the board that must act.
  struct Waits {
    std::string what;
    std::optional<std::uint32_t> board;
  };

  virtual ~CollectiveUnits() = default;
  /// Begins a checked call. Returns none if the engines' programs execute it. All members must get the same answer, so
  /// it depends only on parameters that they share. Throws std::invalid_argument if the units have no resources for its
  /// communicator.
  [[nodiscard]] virtual std::optional<UnitCall> begin(const Context& context, Tick tick) = 0;
  /// Maximum number of pieces of a call in flight.
  [[nodiscard]] virtual unsigned at_once() const = 0;
  /// Submits a member's part of a piece from a tick on. `done` is called with the tick in which its result is
  /// available. Parts of a member are processed in order.
  virtual void submit(const Context& context, const std::shared_ptr<UnitPiece>& piece, Tick tick,
                      std::function<void(Tick)> done) = 0;
  /// A member's call has failed: the parts of its communicator are out of step from now on.
  virtual void stop(const Context& context) = 0;
  /// The failed call of the communicator and its reason; empty if none.
  [[nodiscard]] virtual std::string stopped(const Context& context) const = 0;
  [[nodiscard]] virtual Waits waits(const Context& context) const = 0;
};

}  // namespace thalweg::accl
