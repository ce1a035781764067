// A link on which faults happen, between two routers: at each end a replay and a framer, and a noisy wire each way.
#pragma once

#include <array>
#include <string>

#include "core/scheduler.hpp"
#include "fabric/config.hpp"
#include "link/endpoint.hpp"
#include "link/noisy_wire.hpp"
#include "link/rate.hpp"
#include "link/replay.hpp"
#include "switch/vc_router.hpp"

namespace thalweg {

/// A longer link has no replay that covers its round trip.
inline constexpr Tick kMaxFaultyLatency = 16'000;

/// The words that a replay on a link of that latency holds: the next power of two that makes full rate, with a few to spare
/// for acknowledgements that get lost.
[[nodiscard]] unsigned replay_window(Tick latency);

/// The longest link, in cycles, on which a replay that holds so many words makes full rate.
[[nodiscard]] unsigned replay_reach(unsigned window);

/// The frame on a link of the configuration.
[[nodiscard]] FrameFormat frame_format(const RouterConfig& router, Tick latency);

/// "the link between port 1 of node 2 and port 3 of node 4".
[[nodiscard]] std::string link_name(const LinkConfig& link);

/// Both ends of one link. It is stepped in every cycle as long as its frames say something new; they do not when all flits and
/// credits have arrived, and then whatever happens to them changes nothing.
class FaultyLink final : public Component {
 public:
  /// Joins the two routers. `index`: of the link, tells its random numbers from others'.
  FaultyLink(const FabricConfig& config, std::size_t index, VcRouter& a, VcRouter& b, Scheduler& scheduler);
  FaultyLink(const FaultyLink&) = delete;
  FaultyLink& operator=(const FaultyLink&) = delete;

  bool step(Tick now) override;

  [[nodiscard]] const LinkConfig& config() const { return config_; }
  /// One end has heard nothing for the time that FaultConfig::silence says: since when. kNever: it is not so.
  /// The link stands still from then on.
  [[nodiscard]] Tick silent_since() const { return silent_since_; }
  /// Of frames from a to b, and from b to a.
  [[nodiscard]] const WireUse& use_from_a() const { return ends_[0].wire.use(); }
  [[nodiscard]] const WireUse& use_from_b() const { return ends_[1].wire.use(); }

 private:
  struct End {
    NodeId node;
    Replay<LinkWord> replay;
    Framer framer;
    NoisyWire wire;        ///< to the other end
    RateLimit rate;        ///< of frames
    FlitSink from_router;  ///< its output register
    Inbox returned{};      ///< by its input port: credits, or changes of stop bits
    FlitWire to_router{}, to_unit{};
    EventWire to_output{};          ///< the own output port's credits or changes of stop bits
    Level ready{true};              ///< for a grant to the output port
    std::uint32_t stop_levels = 0;  ///< that the input port says
    std::uint32_t told_levels = 0;  ///< that the output port knows
    std::uint32_t ejecting = 0;     ///< channels in which the flits to come of a packet are for the unit
    Tick heard = 0;                 ///< the last good frame
  };

  [[nodiscard]] static End end(const FabricConfig& config, const LinkConfig& link, NodeId node,
                               const WireFaults& faults, std::uint64_t seed);
  void join(End& end, VcRouter& router, unsigned port, unsigned peer_depth, unsigned channels, ComponentId id);
  /// True: a flit or credit came from the router, or one is given to it.
  bool step_end(End& end, bool taken, const WireFrame* arrived, Tick now);
  void deliver(End& end, const LinkWord& word, Tick now);
  [[nodiscard]] bool settled(Tick now) const;

  LinkConfig config_;
  FlowControl flow_;
  Tick silence_, flush_;
  Scheduler& scheduler_;
  std::array<End, 2> ends_;
  Tick stepped_ = -1;  ///< the last step
  Tick quiet_ = 0;     ///< steps since something new was said
  Tick silent_since_ = kNever;
};

}  // namespace thalweg
