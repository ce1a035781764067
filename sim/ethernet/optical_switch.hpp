// SPDX-License-Identifier: Apache-2.0
// An optical circuit switch: light that enters at a port leaves at the connected port without delay. While mirrors
// turn, frames are lost and counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/clock.hpp"
#include "ethernet/line.hpp"

namespace thalweg::ethernet {

class OpticalSwitch final : public Component, public AssembledNode {
 public:
  using Pairs = std::span<const std::pair<unsigned, unsigned>>;

  /// `turning`: cycles until a new connection passes light. Throws std::invalid_argument like rewire().
  OpticalSwitch(unsigned ports, Tick turning, Pairs pairs, Domain& domain)
      : turning_(turning), domain_(&domain), ports_(ports), to_(ports), dark_(ports) {
    const ComponentId id = domain.scheduler.add(*this);
    for (auto& port : ports_) {
      port.domain = &domain;
      port.component = id;
    }
    rewire(pairs);
    for (auto& connected : to_) connected.from = 0;
  }

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number < ports_.size(), "an optical switch has no port " + std::to_string(number));
    return ports_[number];
  }

  /// Connects exactly these pairs of ports, from the next cycle on. Unchanged connections are not interrupted. Throws
  /// std::invalid_argument if a port is in two pairs or does not exist.
  void rewire(Pairs pairs) {
    std::vector<std::optional<unsigned>> wanted(ports_.size());
    for (const auto& [one, other] : pairs)
      for (const auto& [port, with] : {std::pair{one, other}, {other, one}}) {
        require(port < ports_.size(), "an optical switch has no port " + std::to_string(port));
        require(!wanted[port] && one != other, "port " + std::to_string(port) + " in two pairs");
        wanted[port] = with;
      }
    const Tick from = domain_->next() + turning_;
    for (unsigned port = 0; port < ports_.size(); ++port)
      if (to_[port].port != wanted[port]) to_[port] = {wanted[port], from};
  }

  /// The port connected to `port`, if any.
  [[nodiscard]] std::optional<unsigned> connected(unsigned port) const { return to_[port].port; }
  /// True while mirrors turn: the connection passes no light yet.
  [[nodiscard]] bool turns(unsigned port) const { return to_[port].port && to_[port].from > domain_->next(); }

  bool step(Tick now) override {
    for (unsigned from = 0; from < ports_.size(); ++from) {
      Line* in = ports_[from].in;
      if (!in) continue;
      while (const Arrival* arrival = in->front(now)) {
        const Connected& to = to_[from];
        Line* out = to.port && to.from <= now ? ports_[*to.port].out : nullptr;
        if (out)
          out->send(out->rate.from(arrival->begin, in->rate), arrival->frame, arrival->damaged);
        else
          ++dark_[from];
        in->pop();
      }
    }
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    for (unsigned port = 0; port < ports_.size(); ++port)
      if (dark_[port] > 0)
        all.push_back({node, "frames without a light path at port " + std::to_string(port), dark_[port]});
  }

 private:
  struct Connected {
    std::optional<unsigned> port{};
    Tick from = 0;  ///< first cycle that passes light
  };

  Tick turning_;
  Domain* domain_;
  std::vector<Port> ports_;
  std::vector<Connected> to_;
  std::vector<std::uint64_t> dark_;
};

}  // namespace thalweg::ethernet
