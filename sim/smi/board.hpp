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
      : domain_(clock),
        id_(clock.scheduler.add(*this)),
        node_(std::move(node)),
        inputs_(node_->links(), static_cast<unsigned>(endpoints.size())),
        links_(node_->links()) {
    clock.wake(id_, 0);  // streams wake it from then on
    for (const auto& endpoint : endpoints) {
      const std::string name = "port " + std::to_string(endpoint.port) + " of rank " + std::to_string(rank);
      auto& port = ports_.emplace_back(endpoint, name);
      port.open.reader.bind(name, clock, id_);
      port.in.reader.bind(name, clock, id_);
      port.out.writer.bind(name, clock, id_);
      auto* const foresight = node_->foresight(static_cast<unsigned>(users_.size()));
      users_.push_back({port, foresight != nullptr});
      if (!foresight) continue;
      port.in.foresee_by(*foresight);
      port.out.foresee_by(*foresight);
    }
    for (auto& link : links_) {
      link.domain = &clock;
      link.component = id_;
    }
  }

  [[nodiscard]] SerialPort& port(unsigned number) override { return links_.at(number); }
  [[nodiscard]] NodeModel& node() { return *node_; }
  [[nodiscard]] std::deque<Port>& ports() { return ports_; }

  bool step(Tick now) override {
    if (now > next_) node_->skip(now - next_);
    next_ = now + 1;
    const Tick tick = domain_.clock.edge(now);  // for streams; links count cycles
    const auto& outputs = node_->outputs();
    bool moves = false;
    accepted_.clear();
    const auto* shown = outputs.links.data();
    auto* input = inputs_.links.data();
    for (auto& link : links_) {
      const auto& [packet, packet_ready] = *shown++;
      auto& [arrived, taken] = *input++;
      if (!link.in) continue;
      arrived = link.in->front(now);
      taken = packet && link.out->ready(now);
      if (taken) link.out->write(now, *packet), moves = true;
      if (arrived && packet_ready) accepted_.push_back(link.in);
    }
    for (unsigned e = 0; e < users_.size(); ++e) {
      auto& user = users_[e];
      auto& in = inputs_.endpoints[e];
      const auto& [element, open_ready, element_ready] = outputs.endpoints[e];
      in.open = user.port.open.can_pop(tick) ? &user.port.open.front() : nullptr;
      in.element = user.port.in.can_pop(tick) ? &user.port.in.front() : nullptr;
      in.taken = element && user.port.out.can_push(tick);
      user.opened = in.open && open_ready;
      user.written = in.element && element_ready;
      if (in.taken) user.port.out.push_at(tick, *element);
      moves |= in.taken || user.opened || user.written;
    }
    node_->step(inputs_);
    for (auto* lane : accepted_) lane->pop(now);
    for (unsigned e = 0; e < users_.size(); ++e) {
      auto& user = users_[e];
      if (user.opened) user.port.open.pop_at(tick);
      if (user.written) user.port.in.pop_at(tick);
      if (!user.foresees) continue;
      if (user.written) user.port.in.pop_foreseen(tick);
      if (inputs_.endpoints[e].taken) user.port.out.push_foreseen(tick);
    }
    if (moves || !accepted_.empty()) return true;
    const Tick rest = node_->rest();
    if (rest > 0 && rest != kNever) domain_.wake(id_, next_ + rest);
    return rest == 0;
  }

 private:
  struct User {
    Port& port;
    bool foresees;
    bool opened = false, written = false;  ///< in this cycle
  };

  Domain& domain_;
  ComponentId id_;
  std::unique_ptr<NodeModel> node_;
  NodeModel::Inputs inputs_;
  std::vector<SerialPort> links_;
  std::deque<Port> ports_;
  std::vector<User> users_;          ///< by port
  std::vector<LinkLane*> accepted_;  ///< those whose packet is accepted in this cycle
  Tick next_ = 0;
};

}  // namespace thalweg::smi
