// SPDX-License-Identifier: Apache-2.0
#include "switch/rtl_router.hpp"

#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "switch/ejection.hpp"
#include "switch/rtl_library.hpp"

namespace thalweg {
namespace {

std::string text_of(const Flit* flit) {
  return flit == nullptr ? "nothing" : text_of(*flit);
}

bool same(const Flit& a, const Flit& b) {
  return a.data == b.data && a.vc == b.vc && a.head == b.head && a.tail == b.tail;
}

}  // namespace

RouterLibrary::RouterLibrary(const std::string& file, bool compares, std::optional<Recording> recording)
    : make_(function_of<RouterModel*(unsigned)>(file, "thalweg_make_router")),
      compares_(compares),
      recording_(std::move(recording)) {}

std::unique_ptr<RouterModel> RouterLibrary::make(NodeId self) const {
  return std::unique_ptr<RouterModel>(make_(self));
}

RtlDifference::RtlDifference(std::string block, NodeId node, Tick cycle, const std::string& port,
                             const std::string& expected, const std::string& got)
    : RtlDifference(std::move(block), node, cycle, port + ": the simulator has " + expected + ", the RTL " + got) {}

RtlDifference::RtlDifference(std::string block, NodeId node, Tick cycle, const std::string& failure)
    : std::runtime_error("cycle " + std::to_string(cycle) + ", " + block + " of node " + std::to_string(node) + ", " +
                         failure),
      block(std::move(block)),
      node(node),
      cycle(cycle) {}

/// The simulator's router on its own scheduler, with the same inputs; its outputs are compared in every cycle.
class RtlRouter::Comparison {
 public:
  Comparison(const RouterConfig& config, NodeId self, std::unique_ptr<VcRouter> router)
      : config_(config), self_(self), inside_(std::move(router)), bits_(inside_.router->channel_bits()) {
    const unsigned inputs = config.link_ports + config.local_ports;
    inside_.router->bind(scheduler_, scheduler_.add(inside_));
    const ComponentId outside = scheduler_.add(outside_);
    for (Inbox& inbox : taps_) inbox.bind(scheduler_, outside);
    for (unsigned port = 0; port < inputs; ++port) {
      const unsigned channel = port << bits_;
      in_.push_back(inside_.router->connect_input(port, 1, EventWire(taps_[channel / 64], channel % 64, 1)));
      events_.push_back(inside_.router->events(port, 1));
      ejection_.emplace_back(config, self);
    }
  }

  void connect_output(unsigned port, unsigned depth, const RateLimit& rate, const Level* ready) {
    const unsigned first = port << bits_;
    for (unsigned vc = 0; vc < config_.virtual_channels; ++vc) buffers_.set_depth(first | vc, depth + 2);
    // Latency 2: the wire is written in the cycle of the grant; the flit is on the wires after switch traversal.
    const FlitWire wire(taps_[first / 64], buffers_, first, 2);
    inside_.router->connect_output(port, wire, depth, rate, wire, ready);
  }

  /// Puts a flit on the wires of an input port in `now`. In the simulator the sender knows whether it ends here.
  void put(unsigned port, const Flit& flit, Tick now) {
    if (port < config_.link_ports && ejection_[port].takes(flit))
      ejected_.emplace_back(port, flit);
    else
      in_[port].write(now - 1, flit.vc) = flit;
  }
  void put_events(unsigned port, std::uint64_t channels, Tick now) { events_[port].write(now - 1, channels); }

  /// Compares the cycles in which the RTL was idle: its wires were idle, and so must be the simulator's.
  void catch_up(Tick now) {
    while (next_ < now) step(next_, quiet_, quiet_.back);
  }

  /// Compares a cycle: `shown` are the RTL's outputs after it, `reported` the credits or changes of stop bits sent
  /// upstream.
  void step(Tick now, const RouterModel::Outputs& shown,
            const std::array<std::uint16_t, RouterModel::kMaxPorts>& reported) {
    scheduler_.advance(now + 1);
    next_ = now + 1;
    quiet_.unrouted = shown.unrouted;
    std::array<Arrivals, 2> arrivals;
    for (unsigned i = 0; i < 2; ++i) arrivals[i] = taps_[i].take(now + 1);
    const auto name = [](const char* port, std::size_t index) {
      return std::string(port) + "[" + std::to_string(index) + "]";
    };
    const std::uint64_t channels = (std::uint64_t{1} << config_.virtual_channels) - 1;
    for (unsigned port = 0; port < in_.size(); ++port) {
      const unsigned first = port << bits_;
      const std::uint64_t expected = arrivals[first / 64].events >> first % 64 & channels;
      if (expected != reported[port])
        throw RtlDifference("vc_router", self_, now + 1, name("in_back_o", port), std::to_string(expected),
                            std::to_string(reported[port]));
    }
    for (unsigned port = 0; port <= config_.link_ports; ++port) {
      const unsigned first = port << bits_;
      const std::uint64_t words = arrivals[first / 64].words >> first % 64 & channels;
      std::optional<Flit> expected;
      if (words) {
        const unsigned channel = first | static_cast<unsigned>(std::countr_zero(words));
        expected = buffers_.front(channel);
        buffers_.pop(channel, now + 1);
      }
      compare(now, name("out_flit_o", port), expected ? &*expected : nullptr,
              shown.valid >> port & 1 ? &shown.flit[port] : nullptr);
    }
    if (const auto dropped = static_cast<std::uint32_t>(inside_.router->flits_unrouted()); dropped != shown.unrouted)
      throw RtlDifference("vc_router", self_, now + 1, "unrouted_o", std::to_string(dropped),
                          std::to_string(shown.unrouted));
    std::uint64_t expected = 0;
    for (const auto& [port, flit] : ejected_) {
      expected |= std::uint64_t{1} << port;
      compare(now, name("eject_flit_o", port), &flit, shown.ejected >> port & 1 ? &shown.eject[port] : nullptr);
    }
    each_bit(shown.ejected & ~expected,
             [&](unsigned port) { compare(now, name("eject_flit_o", port), nullptr, &shown.eject[port]); });
    ejected_.clear();
  }

 private:
  struct Inside final : Component {
    explicit Inside(std::unique_ptr<VcRouter> own) : router(std::move(own)) {}
    bool step(Tick now) override { return router->step(now); }
    std::unique_ptr<VcRouter> router;
  };
  struct Outside final : Component {
    bool step(Tick) override { return false; }
  };

  void compare(Tick now, const std::string& port, const Flit* expected, const Flit* got) const {
    if (expected == nullptr && got == nullptr) return;
    if (expected != nullptr && got != nullptr && same(*expected, *got)) return;
    throw RtlDifference("vc_router", self_, now + 1, port, text_of(expected), text_of(got));
  }

  RouterConfig config_;
  NodeId self_;
  Scheduler scheduler_;
  Inside inside_;
  Outside outside_;
  unsigned bits_;
  std::array<Inbox, 2> taps_;
  FlitBuffers buffers_;
  std::vector<FlitWire> in_;
  std::vector<EventWire> events_;
  std::vector<Ejection> ejection_;                  ///< per input port
  std::vector<std::pair<unsigned, Flit>> ejected_;  ///< ejected in this cycle
  Tick next_ = 0;                                   ///< first cycle not compared yet
  RouterModel::Outputs quiet_;                      ///< the RTL's outputs while it is idle
};

RtlRouter::RtlRouter(const RouterConfig& config, NodeId self, const RouteRow& row, std::unique_ptr<RouterModel> model,
                     std::unique_ptr<VcRouter> own, const Recording* recording)
    : config_(config),
      self_(self),
      bits_(static_cast<unsigned>(std::bit_width(config.virtual_channels - 1))),
      inputs_(config.link_ports + config.local_ports),
      outputs_(config.link_ports + 1),
      model_(std::move(model)),
      recording_(recording),
      in_(inputs_),
      to_(outputs_),
      eject_(config.link_ports),
      back_(inputs_),
      ready_(outputs_),
      flits_(inputs_),
      sent_(inputs_) {
  if (config.share.delay() > 0) throw std::invalid_argument("the RTL router does not support sharing between jobs");
  for (NodeId to = 0; to < row.size(); ++to)
    if (to != self) model_->write_table(to, row[to]);
  if (own) comparison_ = std::make_unique<Comparison>(config, self, std::move(own));
}

RtlRouter::~RtlRouter() = default;

FlitWire RtlRouter::connect_input(unsigned port, Tick latency, EventWire back) {
  const unsigned first = port << bits_;
  arriving_.set_common_depth(first, config_.virtual_channels, static_cast<unsigned>(slots_for(latency)));
  back_[port] = back;
  return in_[port] = FlitWire(inbox(first), arriving_, first, latency);
}

/// The model itself ejects flits, so they use the same wire as others.
FlitWire RtlRouter::connect_ejection(unsigned port, Tick, FlitSink& to) {
  eject_[port] = to.connect(1);
  return in_[port];
}

void RtlRouter::connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate, FlitWire,
                               const Level* ready) {
  to_[port] = to;
  settling_ = std::max(settling_, kThrough + rate.cycles());
  ready_[port] = ready;
  gated_ |= ready != nullptr;
  if (comparison_) comparison_->connect_output(port, depth, rate, ready);
}

bool RtlRouter::step(Tick now) {
  for (; next_ < now && quiet_ <= settling_; ++next_) settle(next_);
  next_ = now + 1;
  take_arrivals(now);
  clock(now);
  hand_on(now);
  return inside_ > 0 && (++quiet_ <= settling_ || gated_);
}

void RtlRouter::clock(Tick now) {
  if (recording_ && now >= recording_->from) model_->record(std::exchange(recording_, nullptr)->file);
  try {
    model_->clock(now, on_wires_, shown_);
  } catch (const std::logic_error& failed) {
    throw RtlDifference("vc_router", self_, now, failed.what());
  }
  if (config_.flow == FlowControl::credits) on_wires_.back = {};
}

/// Simulates a skipped cycle.
void RtlRouter::settle(Tick now) {
  ++quiet_;
  on_wires_.valid = 0;
  const auto back = config_.flow == FlowControl::credits ? decltype(shown_.back){} : shown_.back;
  clock(now);
  if (shown_.valid || shown_.ejected || shown_.back != back)
    throw RtlDifference("vc_router", self_, now, "an idle router's output is not zero");
}

void RtlRouter::take_arrivals(Tick now) {
  if (comparison_) comparison_->catch_up(now);
  on_wires_.valid = 0;
  for (unsigned port = 0; port < outputs_; ++port) {
    const bool ready = !ready_[port] || ready_[port]->read(now);
    on_wires_.ready = (on_wires_.ready & ~(std::uint64_t{1} << port)) | std::uint64_t{ready} << port;
  }
  for (unsigned i = 0; i < inbox_.size(); ++i) {
    const Arrivals arrivals = inbox_[i].take(now);
    if (arrivals.events | arrivals.words) quiet_ = 0;
    each_bit(arrivals.words, [&](unsigned bit) {
      const unsigned channel = 64 * i + bit, port = channel >> bits_;
      flits_[port] = arriving_.front(channel);
      arriving_.pop(channel, now);
      on_wires_.valid |= std::uint64_t{1} << port;
      on_wires_.flit[port] = &flits_[port];
      ++inside_;
      if (comparison_) comparison_->put(port, flits_[port], now);
    });
    each_bit(arrivals.events, [&](unsigned bit) {
      const unsigned channel = 64 * i + bit, port = channel >> bits_, vc = channel & ((1u << bits_) - 1);
      on_wires_.back[port] = static_cast<std::uint16_t>(on_wires_.back[port] ^ 1u << vc);
      if (comparison_) comparison_->put_events(port, std::uint64_t{1} << vc, now);
    });
  }
}

void RtlRouter::hand_on(Tick now) {
  std::array<std::uint16_t, RouterModel::kMaxPorts> reported = shown_.back;
  if (config_.flow == FlowControl::margin)
    for (unsigned port = 0; port < inputs_; ++port)
      reported[port] = static_cast<std::uint16_t>(shown_.back[port] ^ std::exchange(stops_[port], shown_.back[port]));
  if (comparison_) comparison_->step(now, shown_, reported);
  const std::uint32_t dropped = shown_.unrouted - static_cast<std::uint32_t>(unrouted_);
  unrouted_ += dropped;
  inside_ -= dropped;
  if (shown_.valid | shown_.ejected || dropped) quiet_ = 0;
  each_bit(shown_.valid, [&](unsigned port) {
    // A wire's latency starts in the cycle of the grant, one before switch traversal.
    const Flit& flit = shown_.flit[port];
    to_[port].write(now - 1, flit.vc) = flit;
    ++sent_[port];
    --inside_;
  });
  each_bit(shown_.ejected, [&](unsigned port) {
    eject_[port].write(now, shown_.eject[port].vc) = shown_.eject[port];
    --inside_;
  });
  for (unsigned port = 0; port < inputs_; ++port)
    if (reported[port] && back_[port].connected()) back_[port].write(now, reported[port]);
}

}  // namespace thalweg
