// SPDX-License-Identifier: Apache-2.0
// A link with faults between two routers: its two ends, and a noisy wire in each direction.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/scheduler.hpp"
#include "link/endpoint.hpp"
#include "link/flow.hpp"
#include "link/link_end.hpp"
#include "link/noisy_wire.hpp"
#include "link/rate.hpp"

namespace thalweg {

/// Maximum latency for which a replay window covers the round trip.
inline constexpr Tick kMaxFaultyLatency = 16'000;

/// Replay window, in words, for a link of that latency: the next power of two for the full rate, with a few words for
/// lost acknowledgements.
[[nodiscard]] unsigned replay_window(Tick latency);

/// Maximum link latency, in cycles, at which a replay with that window sustains the full rate.
[[nodiscard]] unsigned replay_reach(unsigned window);

/// Configuration of both ends of a link with faults.
struct FaultyLinkConfig {
  FlowControl flow = FlowControl::credits;
  unsigned virtual_channels = 1;
  unsigned buffer_flits = 1;  ///< per channel of an input port
  Tick latency = 1;           ///< cycles from an output register to the next input port
  unsigned rate_flits = 1, rate_cycles = 1;
  WireFaults from_a{}, from_b{};
  Tick silence = 1;                      ///< cycles without a good frame after which the link is given up
  std::array<std::uint64_t, 2> seeds{};  ///< for the wires from a and from b

  /// Frame format of the link.
  [[nodiscard]] FrameFormat frame() const;
};

/// Both ends of one link. It is stepped in every cycle while its frames carry new information. Once all flits and
/// credits have arrived, faults of frames change nothing.
class FaultyLink final : public Component {
 public:
  /// Puts a flit on the wires of an input port.
  using Deliver = std::function<void(const Flit&, Tick now)>;

  FaultyLink(const FaultyLinkConfig& config, Scheduler& scheduler);
  FaultyLink(const FaultyLink&) = delete;
  FaultyLink& operator=(const FaultyLink&) = delete;

  bool step(Tick now) override;

  // Wiring of ends 0 (a) and 1 (b) to their routers; before time starts.

  /// The wire that the output port writes in the cycle of the grant, and the level that permits grants.
  [[nodiscard]] FlitWire from_output(unsigned end) { return sides_[end].from_output; }
  [[nodiscard]] const Level& ready(unsigned end) const { return sides_[end].ready; }
  /// The wire for the input port's credits or changes of stop bits.
  [[nodiscard]] EventWire from_input(unsigned end) { return EventWire(sides_[end].returned, 0, 1); }
  void connect(unsigned end, Deliver to_input, EventWire to_output);

  /// The reset of one end alone.
  struct Reset {
    unsigned end;
    Tick at;
  };
  /// Set once the link has detected such a reset: flits are lost, and the link is stopped.
  [[nodiscard]] const std::optional<Reset>& lost_by() const { return lost_by_; }
  /// Time of the last good frame if one end has received none for FaultyLinkConfig::silence; the link is then stopped.
  /// kNever otherwise.
  [[nodiscard]] Tick silent_since() const { return silent_since_; }
  /// Counters of frames from a to b, and from b to a.
  [[nodiscard]] const WireUse& use_from_a() const { return sides_[0].wire.use(); }
  [[nodiscard]] const WireUse& use_from_b() const { return sides_[1].wire.use(); }

 private:
  struct Side {
    LinkEnd end;
    NoisyWire wire;   ///< towards the other end
    RateLimit rate;   ///< rate of frames
    FlitSink sent{};  ///< from the output port's register
    FlitWire from_output{};
    Inbox returned{};  ///< from the input port: credits, or changes of stop bits
    Deliver to_input{};
    EventWire to_output{};              ///< to the output port: credits or changes of stop bits
    Level ready{true};                  ///< permits grants to the output port
    std::uint32_t stop_levels = 0;      ///< stop bits of the input port
    std::uint32_t reported_levels = 0;  ///< stop bits known to the output port
    Tick last_good_frame = 0;           ///< time of the last good frame
    Tick reset_at = kNever;             ///< pending reset
  };

  [[nodiscard]] static Side side(const FaultyLinkConfig& config, const WireFaults& faults, std::uint64_t seed);
  /// True if a flit or credit came from the router or was delivered to it.
  bool step_side(Side& side, bool taken, const WireFrame* arrived, Tick now);
  [[nodiscard]] bool settled(Tick now) const;
  void reset_ends(Tick now);
  /// True if an end was reset and the other has detected it, or both were reset.
  [[nodiscard]] bool notices_reset() const;
  void stop(Tick now);

  FlowControl flow_;
  Tick silence_, flush_;
  Scheduler& scheduler_;
  std::array<Side, 2> sides_;
  Tick stepped_ = -1;  ///< time of the last step
  Tick quiet_ = 0;     ///< steps since the last new information
  Tick silent_since_ = kNever;
  std::optional<Reset> reset_, lost_by_;
};

}  // namespace thalweg
