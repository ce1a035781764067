// SPDX-License-Identifier: Apache-2.0
// An Ethernet switch with output queues: learned or configured addresses, cut-through or store-and-forward, buffers per
// port or shared. Frames without buffer space are dropped and counted. There are no pause frames.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "common/ring.hpp"
#include "core/clock.hpp"
#include "core/usage.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"

namespace thalweg::ethernet {

/// Counters of one port.
struct PortCounts {
  std::uint64_t received = 0, sent = 0;
  std::uint64_t damaged = 0;     ///< dropped at the input: wrong FCS
  std::uint64_t full = 0;        ///< dropped at the output: no buffer space
  std::uint64_t flooded = 0;     ///< sent to all ports: unknown destination
  std::uint64_t filtered = 0;    ///< not forwarded: the destination, if any, is at the input port
  std::uint64_t unknown = 0;     ///< dropped at the input: no route to the destination
  std::uint64_t most_bytes = 0;  ///< maximum bytes queued at the output
};

class Switch final : public Component, public AssembledNode {
 public:
  enum class Mode : std::uint8_t { cut_through, store_and_forward };
  struct Config {
    unsigned ports = 0;
    double latency = 0;  ///< cycles from a frame's first word, or its end, to its earliest start at an output
    Mode mode = Mode::cut_through;
    std::uint64_t buffer_bytes = 0;   ///< for frames, without FCS, that wait for or are sent by an output
    bool shared = false;              ///< one buffer for all ports; else one per port
    bool learns = true;               ///< learns the ports of source addresses
    bool floods = true;               ///< floods frames to unknown addresses; else drops them
    std::vector<bool> flood_ports{};  ///< ports for broadcasts and flooded frames, chosen without loops; empty: all
  };

  Switch(const Config& config, Domain& domain)
      : config_(config),
        domain_(&domain),
        outputs_(config.ports),
        counts_(config.ports),
        dropped_(config.ports),
        ports_(config.ports) {
    const ComponentId id = domain.scheduler.add(*this);
    for (auto& port : ports_) {
      port.domain = &domain;
      port.component = id;
    }
    if (config_.flood_ports.empty()) config_.flood_ports.assign(config.ports, true);
  }

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number < ports_.size(), "an Ethernet switch has no port " + std::to_string(number));
    return ports_[number];
  }

  /// Forwards frames for an address to exactly these ports, except the port of arrival. For a unicast address this
  /// overrides learning.
  void set(Address address, std::vector<unsigned> ports) {
    for (const unsigned port : ports)
      require(port < ports_.size(), "an Ethernet switch has no port " + std::to_string(port));
    table_[address] = {std::move(ports), true};
  }

  bool step(Tick now) override {
    for (unsigned from = 0; from < ports_.size(); ++from) {
      Line* in = ports_[from].in;
      if (!in) continue;
      while (const Arrival* arrival = in->front(now)) {
        const Units known = config_.mode == Mode::cut_through ? arrival->word(0, in->rate) : arrival->end(in->rate);
        if (in->rate.seen(known) > now) {
          in->reader.wake(in->rate.seen(known));
          break;
        }
        forward(from, *arrival, known);
        in->pop();
      }
    }
    return false;
  }

  [[nodiscard]] const PortCounts& counts(unsigned port) const { return counts_.at(port); }
  /// Dropped frames over time, for each output that has dropped any.
  [[nodiscard]] std::vector<LinkUse> dropped(unsigned node) const {
    std::vector<LinkUse> all;
    for (unsigned port = 0; port < ports_.size(); ++port)
      if (counts_[port].full > 0)
        all.push_back({node, port, dropped_[port].window() * domain_->clock.period, dropped_[port].until_last()});
    return all;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    for (unsigned port = 0; port < ports_.size(); ++port) {
      const PortCounts& of = counts_[port];
      const auto add = [&](std::uint64_t count, const char* what) {
        if (count > 0) all.push_back({node, what + std::to_string(port), count});
      };
      add(of.full, "frames without buffer space at port ");
      add(of.damaged, "frames with a wrong FCS at port ");
      add(of.unknown, "frames without a route at port ");
    }
  }

 private:
  struct Waiting {
    Units end = 0;  ///< time at which it has left
    unsigned bytes = 0;
  };
  struct Output {
    Ring<Waiting> waiting;
    std::uint64_t bytes = 0;
  };
  struct Entry {
    std::vector<unsigned> ports;
    bool given = false;  ///< configured, not learned
  };

  void forward(unsigned from, const Arrival& arrival, Units there) {
    ++counts_[from].received;
    // With cut-through, the next node that waits for the frame's end detects the damage.
    if (arrival.damaged && config_.mode == Mode::store_and_forward) {
      ++counts_[from].damaged;
      return;
    }
    const Frame& frame = *arrival.frame;
    if (config_.learns && !is_group(frame.source()) && !arrival.damaged) learn(frame.source(), from);
    const auto found = table_.find(frame.destination());
    bool went = false;
    const auto to = [&](unsigned port) {
      if (port == from || !ports_[port].out) return;
      went = true;
      send(port, arrival, begin_at(*ports_[port].out, *ports_[from].in, arrival, there));
    };
    if (found != table_.end()) {
      for (const unsigned port : found->second.ports) to(port);
    } else if (is_group(frame.destination()) || config_.floods) {
      counts_[from].flooded += !is_group(frame.destination());
      for (unsigned port = 0; port < ports_.size(); ++port)
        if (config_.flood_ports[port]) to(port);
    }
    if (went) return;
    const bool elsewhere =
        found != table_.end() ? std::ranges::any_of(found->second.ports, [from](unsigned port) { return port != from; })
                              : !is_group(frame.destination()) && !config_.floods;
    ++(elsewhere ? counts_[from].unknown : counts_[from].filtered);
  }

  /// Earliest start of a frame on an output. On a faster line it must wait for its end, to avoid an underrun.
  [[nodiscard]] Units begin_at(const Line& out, const Line& in, const Arrival& arrival, Units known) const {
    const Units from = out.rate.faster_than(in.rate) ? std::max(known, arrival.end(in.rate)) : known;
    return out.rate.from(from, in.rate) + out.rate.cycles(config_.latency);
  }

  void learn(Address source, unsigned from) {
    Entry& entry = table_[source];
    if (entry.given || (entry.ports.size() == 1 && entry.ports[0] == from)) return;
    entry.ports.assign(1, from);
  }

  void send(unsigned port, const Arrival& arrival, Units ready) {
    const unsigned bytes = arrival.frame->size();
    std::uint64_t held = 0;
    for (unsigned each = 0; each < outputs_.size(); ++each) {
      if (!ports_[each].out || !(config_.shared || each == port)) continue;
      leave(outputs_[each], ports_[each].out->rate.from(ready, ports_[port].out->rate));
      held += outputs_[each].bytes;
    }
    if (held + bytes > config_.buffer_bytes) {
      ++counts_[port].full;
      dropped_[port].add(ready / ports_[port].out->rate.cycle);
      return;
    }
    Output& output = outputs_[port];
    Line& out = *ports_[port].out;
    out.send(ready, arrival.frame, arrival.damaged);
    output.waiting.push_growing({out.free(), bytes});
    output.bytes += bytes;
    ++counts_[port].sent;
    counts_[port].most_bytes = std::max(counts_[port].most_bytes, output.bytes);
  }

  static void leave(Output& output, Units now) {
    while (!output.waiting.empty() && output.waiting.front().end <= now) {
      output.bytes -= output.waiting.front().bytes;
      output.waiting.pop();
    }
  }

  Config config_;
  Domain* domain_;
  std::unordered_map<Address, Entry> table_;
  std::vector<Output> outputs_;
  std::vector<PortCounts> counts_;
  std::vector<Usage> dropped_;
  std::vector<Port> ports_;
};

}  // namespace thalweg::ethernet
