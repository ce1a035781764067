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

/// A longer link has no replay that covers its round trip.
inline constexpr Tick kMaxFaultyLatency = 16'000;

/// The words that a replay on a link of that latency holds: the next power of two that makes full rate, with a few to spare
/// for acknowledgements that get lost.
[[nodiscard]] unsigned replay_window(Tick latency);

/// The longest link, in cycles, on which a replay that holds so many words makes full rate.
[[nodiscard]] unsigned replay_reach(unsigned window);

/// What both ends of a link on which faults happen are built from.
struct FaultyLinkConfig {
  FlowControl flow = FlowControl::credits;
  unsigned virtual_channels = 1;
  unsigned buffer_flits = 1;  ///< of each channel of an input port
  Tick latency = 1;           ///< cycles from an output register to the next input port
  unsigned rate_flits = 1, rate_cycles = 1;
  WireFaults from_a{}, from_b{};
  Tick silence = 1;                      ///< cycles without a good frame after which it is given up
  std::array<std::uint64_t, 2> seeds{};  ///< of the wires from a and from b

  /// The frame on it.
  [[nodiscard]] FrameFormat frame() const;
};

/// Both ends of one link. It is stepped in every cycle as long as its frames say something new; they do not when all flits and
/// credits have arrived, and then whatever happens to them changes nothing.
class FaultyLink final : public Component {
 public:
  /// Takes a flit of its channel on the wires of an input port.
  using Deliver = std::function<void(const Flit&, Tick now)>;

  FaultyLink(const FaultyLinkConfig& config, Scheduler& scheduler);
  FaultyLink(const FaultyLink&) = delete;
  FaultyLink& operator=(const FaultyLink&) = delete;

  bool step(Tick now) override;

  // Wiring of end 0, a, and end 1, b, to the router there; before time starts.

  /// The wire that its output port writes in the cycle of the grant, and what says that a flit may be granted.
  [[nodiscard]] FlitWire from_output(unsigned end) { return sides_[end].from_output; }
  [[nodiscard]] const Level& ready(unsigned end) const { return sides_[end].ready; }
  /// Takes the credits or changes of stop bits of its input port.
  [[nodiscard]] EventWire from_input(unsigned end) { return EventWire(sides_[end].returned, 0, 1); }
  void connect(unsigned end, Deliver to_input, EventWire to_output);

  /// An end that was reset alone, and when.
  struct Reset {
    unsigned end;
    Tick at;
  };
  /// The link has noticed that: flits are lost, and it stands still from then on.
  [[nodiscard]] const std::optional<Reset>& lost_by() const { return lost_by_; }
  /// One end has heard nothing for the time that FaultyLinkConfig::silence says: since when. kNever: it is not so.
  /// The link stands still from then on.
  [[nodiscard]] Tick silent_since() const { return silent_since_; }
  /// Of frames from a to b, and from b to a.
  [[nodiscard]] const WireUse& use_from_a() const { return sides_[0].wire.use(); }
  [[nodiscard]] const WireUse& use_from_b() const { return sides_[1].wire.use(); }

 private:
  struct Side {
    LinkEnd end;
    NoisyWire wire;   ///< to the other end
    RateLimit rate;   ///< of frames
    FlitSink sent{};  ///< by the output port: its register
    FlitWire from_output{};
    Inbox returned{};  ///< by the input port: credits, or changes of stop bits
    Deliver to_input{};
    EventWire to_output{};              ///< the own output port's credits or changes of stop bits
    Level ready{true};                  ///< for a grant to the output port
    std::uint32_t stop_levels = 0;      ///< that the input port says
    std::uint32_t reported_levels = 0;  ///< that the output port knows
    Tick heard = 0;                     ///< the last good frame
    Tick reset_at = kNever;             ///< still to come
  };

  [[nodiscard]] static Side side(const FaultyLinkConfig& config, const WireFaults& faults, std::uint64_t seed);
  /// True: a flit or credit came from the router, or one is given to it.
  bool step_side(Side& side, bool taken, const WireFrame* arrived, Tick now);
  [[nodiscard]] bool settled(Tick now) const;
  void reset_ends(Tick now);
  /// An end was reset, and the other one knows, or both were.
  [[nodiscard]] bool notices_reset() const;
  void stand_still(Tick now);

  FlowControl flow_;
  Tick silence_, flush_;
  Scheduler& scheduler_;
  std::array<Side, 2> sides_;
  Tick stepped_ = -1;  ///< the last step
  Tick quiet_ = 0;     ///< steps since something new was said
  Tick silent_since_ = kNever;
  std::optional<Reset> reset_, lost_by_;
};

}  // namespace thalweg
