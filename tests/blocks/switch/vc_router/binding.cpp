// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <memory>
#include <optional>

#include "blocks/router_config.hpp"
#include "switch/ejection.hpp"
#include "switch/vc_router.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;

constexpr thalweg::NodeId kSelf = Parameters::Nodes / 2;
constexpr unsigned kInputs = Parameters::Inputs, kOutputs = Parameters::Outputs, kLinks = Parameters::LinkPorts,
                   kVcs = Parameters::Vcs;
constexpr bool kEjects = Parameters::LocalPorts > 1;

constexpr bool is_link(unsigned port) {
  return port < kLinks;
}

constexpr thalweg::HeaderFields kHeader{.destination_lsb = Parameters::DestinationLsb,
                                        .unit_mask = Parameters::UnitMask};

thalweg::RouterConfig config() {
  thalweg::RouterConfig config = blocks::route_config();
  config.header = kHeader;
  config.buffer_flits = Parameters::BufferFlits;
  config.local_buffer_flits = Parameters::LocalBufferFlits;
  config.flow = Parameters::Credits ? thalweg::FlowControl::credits : thalweg::FlowControl::margin;
  config.margin_flits = Parameters::MarginFlits;
  return config;
}

/// The router on a scheduler of its own, stepped only when it asked for it; its outputs reach `outside`.
class Fabric {
 public:
  explicit Fabric(const std::vector<thalweg::RouteEntry>& row) : inside_{config(), kSelf, row} {
    inside_.router.bind(scheduler_, scheduler_.add(inside_));
    outside_.inbox.bind(scheduler_, scheduler_.add(outside_));
    const unsigned bits = inside_.router.channel_bits();
    for (unsigned port = 0; port < kInputs; ++port)
      in_flit_[port] = inside_.router.connect_input(port, 1, thalweg::EventWire(outside_.inbox, port << bits, 1));
    if constexpr (kEjects)
      for (unsigned link = 0; link < kLinks; ++link) ejected_[link].in = inside_.router.connect_ejection(link, 1);
    for (unsigned port = 0; port < kOutputs; ++port) {
      const unsigned first = port << bits;
      in_back_[port] = thalweg::EventWire(inside_.router.inbox(), first, 1);
      const unsigned depth = is_link(port) ? Parameters::PeerFlits : Parameters::LocalPeerFlits;
      for (unsigned vc = 0; vc < kVcs; ++vc) outside_.buffers.set_depth(first | vc, depth);
      // two cycles: the switch, and the wires of a link of one cycle
      const thalweg::FlitWire wire(outside_.inbox, outside_.buffers, first, 2);
      if (is_link(port)) {
        inside_.router.connect_output(port, wire, depth, {Parameters::RateFlits, Parameters::RateCycles}, wire,
                                      &ready_[port]);
      } else {
        inside_.router.connect_output(port, wire, depth);
      }
    }
  }

  [[nodiscard]] unsigned channel(unsigned port, unsigned vc) const {
    return port << inside_.router.channel_bits() | vc;
  }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t unrouted() const { return inside_.router.flits_unrouted(); }
  /// The flit on an output port's wires, or nullptr.
  [[nodiscard]] const thalweg::Flit* flit(unsigned port) const { return flit_[port] ? &*flit_[port] : nullptr; }
  /// The flit on the wires from a link to the unit.
  [[nodiscard]] const thalweg::Flit* ejected(unsigned link) const { return ejected_[link].flit; }

  /// Puts a flit on the wires in this cycle, before step(). In the simulator the sender knows where its packet ends.
  void put_flit(unsigned port, const thalweg::Flit& flit) {
    thalweg::FlitWire* wire = &in_flit_[port];
    if (kEjects && is_link(port)) {
      Ejected& ejected = ejected_[port];
      if (ejected.ejection.takes(flit)) wire = &ejected.in;
    }
    wire->write(now_ - 1, flit.vc) = flit;
  }
  void put_ready(unsigned link, bool ready) { ready_[link].write(now_ - 1, ready); }
  void put_event(unsigned port, unsigned vc) { in_back_[port].write(now_ - 1, std::uint64_t{1} << vc); }

  void step() {
    scheduler_.advance(++now_);
    const thalweg::Arrivals arrivals = outside_.inbox.take(now_);
    events_ = arrivals.events;
    flit_.fill(std::nullopt);
    for (auto rest = arrivals.words; rest; rest &= rest - 1) {
      const auto channel = static_cast<unsigned>(std::countr_zero(rest));
      flit_[channel >> inside_.router.channel_bits()] = outside_.buffers.front(channel);
      outside_.buffers.pop(channel, now_);
    }
    if constexpr (kEjects)
      for (unsigned link = 0; link < kLinks; ++link) ejected_[link].flit = inside_.router.ejected()[link].receive(now_);
  }

 private:
  struct Inside : thalweg::Component {
    thalweg::VcRouter router;
    Inside(const thalweg::RouterConfig& config, thalweg::NodeId self, const std::vector<thalweg::RouteEntry>& row)
        : router(config, self, row) {}
    bool step(Tick now) override { return router.step(now); }
  };
  struct Outside : thalweg::Component {
    thalweg::Inbox inbox;
    thalweg::FlitBuffers buffers;
    bool step(Tick) override { return false; }
  };

  struct Ejected {
    thalweg::FlitWire in;
    thalweg::Ejection ejection{config(), kSelf};
    const thalweg::Flit* flit = nullptr;
  };

  thalweg::Scheduler scheduler_;
  Inside inside_;
  Outside outside_;
  std::array<thalweg::FlitWire, kInputs> in_flit_;
  std::array<thalweg::EventWire, kOutputs> in_back_;
  std::uint64_t events_ = 0;
  std::array<std::optional<thalweg::Flit>, kOutputs> flit_;
  std::array<Ejected, kLinks> ejected_;
  std::vector<thalweg::Level> ready_ = std::vector<thalweg::Level>(kLinks, thalweg::Level(true));
  Tick now_ = 0;
};

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    const auto put = [](const thalweg::Flit* flit, auto& valid, auto& flits, unsigned port) {
      valid.set_bit(port, flit != nullptr);
      if (flit) flits.set({.data = flit->data, .vc = flit->vc, .head = flit->head, .tail = flit->tail}, port);
    };
    for (unsigned port = 0; port < kOutputs; ++port) put(fabric_->flit(port), out.out_valid_o, out.out_flit_o, port);
    for (unsigned link = 0; link < kLinks; ++link)
      put(fabric_->ejected(link), out.eject_valid_o, out.eject_flit_o, link);
    for (unsigned port = 0; port < kInputs; ++port) out.in_back_o.set(back_out_[port], port);
    out.unrouted_o.set(fabric_->unrouted());
  }

  void step(const Inputs& in) {
    if (in.table_valid_i.get()) {
      row_[in.table_index_i.get()] = blocks::written_entry(in);
      fabric_ = std::make_unique<Fabric>(row_);  // the table is loaded while the router is empty
    }
    for (unsigned port = 0; port < kInputs; ++port) {
      if (!in.in_valid_i.bit(port)) continue;
      const top::flit_t flit = in.in_flit_i.get(port);
      fabric_->put_flit(port, {.data = flit.data,
                               .vc = static_cast<std::uint8_t>(flit.vc),
                               .head = flit.head != 0,
                               .tail = flit.tail != 0});
    }
    for (unsigned port = 0; port < kOutputs; ++port) {
      const std::uint64_t back = in.out_back_i.get(port);
      const std::uint64_t events = Parameters::Credits ? back : back ^ back_in_[port];
      back_in_[port] = back;
      for (unsigned vc = 0; vc < kVcs; ++vc) {
        if (events >> vc & 1) fabric_->put_event(port, vc);
      }
    }
    for (unsigned link = 0; link < kLinks; ++link) fabric_->put_ready(link, in.out_ready_i.bit(link));
    fabric_->step();
    for (unsigned port = 0; port < kInputs; ++port) {
      const std::uint64_t events = fabric_->events() >> fabric_->channel(port, 0) & ((1U << kVcs) - 1);
      back_out_[port] = Parameters::Credits ? events : back_out_[port] ^ events;
    }
  }

 private:
  std::vector<thalweg::RouteEntry> row_{Parameters::Nodes, {.port = thalweg::kNoRoute}};
  std::unique_ptr<Fabric> fabric_ = std::make_unique<Fabric>(row_);
  std::array<std::uint64_t, kOutputs> back_in_{};
  std::array<std::uint64_t, kInputs> back_out_{};
};

/// Loads a random table, then sends random packets, interleaved over the channels of each port as far as its flow
/// control permits, and returns credits or stop bits at random. Lanes: one sender per port, one receiver per port, the
/// table.
class Stimulus {
 public:
  static constexpr unsigned kLanes = kInputs + kOutputs + 1;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(200, 1000, 50, 10)),
        pause_(run.pick(0, 100, 600)),
        longest_(run.pick(16, 1, 4, 40)),
        hot_(run.pick(0, 700)),
        stall_(run.pick(100, 500, 900, 0)),
        change_(run.pick(50, 300, 5, 1)),
        unreachable_(run.pick(0, 20, 200)),
        closed_(run.pick(0, 100, 700)),
        here_(run.pick(100, 500)) {
    for (unsigned port = 0; port < kInputs; ++port) {
      const unsigned margin = is_link(port) ? Parameters::MarginFlits : Parameters::LocalMarginFlits;
      stop_delay_[port] = run.below(margin + 1);
      for (auto& channel : senders_[port]) {
        channel.credits = is_link(port) ? Parameters::BufferFlits : Parameters::LocalBufferFlits;
      }
    }
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next.self_i.set(kSelf);
    observe(seen);
    if (loaded_ < Parameters::Nodes) {
      bisim::Dice writer = draws.lane(kInputs + kOutputs);
      blocks::write_entry(next, loaded_, writer, unreachable_);
      last_link_[loaded_++] = next.table_entry_i.get().last_link != 0;
      return;
    }
    for (unsigned port = 0; port < kInputs; ++port) send(port, draws.lane(port), next);
    for (unsigned port = 0; port < kOutputs; ++port) receive(port, draws.lane(kInputs + port), next);
  }

 private:
  struct Sender {
    unsigned credits = 0;    ///< with credits
    unsigned remaining = 0;  ///< flits of the packet that is being sent
    bool head = false;
    std::uint64_t header = 0;
    bool sinks = false;  ///< the router ejects it
  };

  static constexpr std::uint64_t kDelays = 1 + std::max(Parameters::MarginFlits, Parameters::LocalMarginFlits);

  void observe(const Outputs& seen) {
    for (unsigned port = 0; port < kInputs; ++port) {
      const std::uint64_t back = seen.in_back_o.get(port);
      stops_[port][cycle_ % kDelays] = static_cast<std::uint32_t>(back);
      for (unsigned vc = 0; vc < kVcs; ++vc) senders_[port][vc].credits += static_cast<unsigned>(back >> vc & 1);
    }
    ++cycle_;
    for (unsigned port = 0; port < kOutputs; ++port) {
      if (!seen.out_valid_o.bit(port)) continue;
      const top::flit_t flit = seen.out_flit_o.get(port);
      bool& sinks = sinks_[port][flit.vc];
      if (flit.head) {
        const unsigned destination = kHeader.destination(flit.data[0]);
        sinks = kEjects && kHeader.for_unit(flit.data[0]) && last_link_[destination] && destination != kSelf;
      }
      if (!sinks) ++unreturned_[port][flit.vc];
    }
  }

  /// The sender's end of a link sees the stop bit late, by at most the cycles that the margin covers.
  [[nodiscard]] bool may_send(unsigned port, unsigned vc) const {
    if (Parameters::Credits) return senders_[port][vc].credits > 0;
    return (stops_[port][(cycle_ - 1 - stop_delay_[port]) % kDelays] >> vc & 1) == 0;
  }

  void send(unsigned port, bisim::Dice dice, Inputs& next) {
    if (dice.chance(load_)) {
      Sender& sender = senders_[port][dice.below(kVcs)];
      if (sender.remaining == 0) {
        sender.remaining = 1 + dice.below(longest_);
        sender.head = true;
        sender.header = header(port, dice);
        sender.sinks =
            kEjects && is_link(port) && kHeader.for_unit(sender.header) && kHeader.destination(sender.header) == kSelf;
      }
    }
    if (!dice.chance(1000) || dice.chance(pause_)) return;
    const unsigned first = dice.below(kVcs);
    for (unsigned i = 0; i < kVcs; ++i) {
      const unsigned vc = (first + i) % kVcs;
      Sender& sender = senders_[port][vc];
      if (sender.remaining == 0 || (!sender.sinks && !may_send(port, vc))) continue;
      top::flit_t flit{.data = {dice.bits(), dice.bits(), dice.bits(), dice.bits()},
                       .vc = vc,
                       .head = sender.head,
                       .tail = --sender.remaining == 0};
      if (sender.head) flit.data[0] = sender.header;
      sender.head = false;
      if (!sender.sinks) --sender.credits;
      next.in_valid_i.set_bit(port);
      next.in_flit_i.set(flit, port);
      return;
    }
  }

  [[nodiscard]] std::uint64_t header(unsigned port, bisim::Dice& dice) const {
    const unsigned destination = dice.chance(hot_) ? 0 : dice.chance(here_) ? kSelf : dice.below(Parameters::Nodes);
    const std::uint64_t word = (dice.bits() & ~kHeader.header(0xffff)) | kHeader.header(destination);
    return dice.chance(500) ? word & ~kHeader.unit_mask : word;
  }

  void receive(unsigned port, bisim::Dice dice, Inputs& next) {
    if (is_link(port) && !dice.chance(closed_)) next.out_ready_i.set_bit(port);
    for (unsigned vc = 0; vc < kVcs; ++vc) {
      bool back = false;
      if (Parameters::Credits) {
        back = unreturned_[port][vc] > 0 && !dice.chance(stall_);
        unreturned_[port][vc] -= back;
      } else {
        if (dice.chance(change_)) stopped_[port] ^= 1U << vc;
        back = stopped_[port] >> vc & 1;
      }
      if (back) next.out_back_i.set(next.out_back_i.get(port) | std::uint64_t{1} << vc, port);
    }
  }

  unsigned load_, pause_, longest_, hot_, stall_, change_, unreachable_, closed_, here_;
  unsigned loaded_ = 0;
  std::uint64_t cycle_ = kDelays;  ///< starts here, so that there are earlier cycles to look up
  std::array<std::array<Sender, kVcs>, kInputs> senders_;
  std::array<unsigned, kInputs> stop_delay_;
  std::array<std::array<std::uint32_t, kDelays>, kInputs> stops_{};
  std::array<std::array<unsigned, 16>, kOutputs> unreturned_{};
  std::array<std::uint32_t, kOutputs> stopped_{};
  std::array<std::array<bool, 16>, kOutputs> sinks_{};  ///< the packet that leaves there on a channel needs no room
  std::array<bool, Parameters::Nodes> last_link_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
