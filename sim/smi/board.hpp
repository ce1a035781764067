// SPDX-License-Identifier: Apache-2.0
// A board of an SMI cluster: a rank's hardware, its streams to kernels, and its link ends.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/stream.hpp"
#include "smi/link.hpp"
#include "smi/node_model.hpp"

namespace thalweg::smi {

class Board final : public AssembledNode, public Component {
 public:
  /// A kernel's streams to and from an endpoint.
  struct Port {
    Port(const EndpointOf& description, const std::string& name)
        : endpoint(description), open(name), in(name), out(name) {}

    EndpointOf endpoint;
    Stream<Open> open;
    Stream<Element> in, out;
  };

  Board(std::unique_ptr<NodeModel> node, const std::vector<EndpointOf>& endpoints, unsigned rank, Domain& clock)
      : clock_(clock.clock),
        node_(std::move(node)),
        inputs_(node_->links(), static_cast<unsigned>(endpoints.size())),
        links_(node_->links()) {
    const auto id = clock.scheduler.add(*this);
    clock.wake(id, 0);  // streams wake it from then on
    for (const auto& endpoint : endpoints) {
      const std::string name = "port " + std::to_string(endpoint.port) + " of rank " + std::to_string(rank);
      auto& port = ports_.emplace_back(endpoint, name);
      port.open.reader.bind(name, clock, id);
      port.in.reader.bind(name, clock, id);
      port.out.writer.bind(name, clock, id);
    }
    for (auto& link : links_) {
      link.domain = &clock;
      link.component = id;
    }
  }

  [[nodiscard]] SerialPort& port(unsigned number) override { return links_.at(number); }
  [[nodiscard]] NodeModel& node() { return *node_; }
  [[nodiscard]] std::deque<Port>& ports() { return ports_; }

  bool step(Tick now) override {
    if (now > next_) node_->skip(now - next_);
    next_ = now + 1;
    const Tick tick = clock_.edge(now);  // for streams; links count cycles
    bool moves = false;
    accepted_.clear();
    for (unsigned l = 0; l < links_.size(); ++l) {
      auto& link = links_[l];
      auto& in = inputs_.links[l];
      in = {};
      if (!link.in) continue;
      in.packet = link.in->front(now);
      const Packet* out = node_->packet(l);
      in.taken = out && link.out->ready(now);
      if (in.taken) link.out->write(now, *out);
      moves |= in.taken;
      if (in.packet && node_->packet_ready(l)) accepted_.push_back(l);
    }
    for (unsigned e = 0; e < ports_.size(); ++e) {
      auto& port = ports_[e];
      auto& in = inputs_.endpoints[e];
      in.open = port.open.can_pop(tick) ? &port.open.front() : nullptr;
      in.element = port.in.can_pop(tick) ? &port.in.front() : nullptr;
      const Element* out = node_->element(e);
      in.taken = out && port.out.can_push(tick);
      opened_[e] = in.open && node_->open_ready(e);
      written_[e] = in.element && node_->element_ready(e);
      if (in.taken) port.out.push_at(tick, *out);
      moves |= in.taken || opened_[e] || written_[e];
    }
    node_->step(inputs_);
    for (const unsigned l : accepted_) links_[l].in->pop(now);
    for (unsigned e = 0; e < ports_.size(); ++e) {
      if (opened_[e]) ports_[e].open.pop_at(tick);
      if (written_[e]) ports_[e].in.pop_at(tick);
    }
    return moves || !accepted_.empty() || !node_->idle();
  }

 private:
  Clock clock_;
  std::unique_ptr<NodeModel> node_;
  NodeModel::Inputs inputs_;
  std::vector<SerialPort> links_;
  std::deque<Port> ports_;
  std::vector<unsigned> accepted_;  ///< links whose packet is accepted in this cycle
  std::vector<bool> opened_ = std::vector<bool>(inputs_.endpoints.size()), written_ = opened_;
  Tick next_ = 0;
};

}  // namespace thalweg::smi
