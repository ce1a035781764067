// SPDX-License-Identifier: Apache-2.0
// A node that forwards words, C++ model of rtl/relay/tw_relay_node.sv, and the hardware in its place.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "common/async_fifo.hpp"
#include "core/blocked.hpp"
#include "core/clock.hpp"
#include "link/lane.hpp"
#include "relay/node_model.hpp"

namespace relay {

using thalweg::AsyncFifo, thalweg::Domain, thalweg::Tick;

/// Remaining hops in the highest 8 bits, then the handle of the waiting operation in 16 bits, and a sum that never
/// overflows into them.
using Word = std::uint64_t;
constexpr unsigned kSumBits = 56;
constexpr Word kSum = (Word{1} << kSumBits) - 1;
constexpr unsigned kHandleShift = 40;
constexpr unsigned kStages = 2;  ///< of every crossing
using Lane = thalweg::CreditedLane<Word>;

class Node : public thalweg::AssembledNode {
 public:
  struct Port : thalweg::LinkPort {
    Port(bool is_output, Domain& clock, Node& of) : output(is_output), domain(clock), node(of) {}
    [[nodiscard]] std::string carries() const override { return output ? "relay out" : "relay in"; }
    bool output;
    Domain& domain;
    Node& node;
    Lane* lane = nullptr;
  };

  Node(unsigned number, Domain& net, Domain& core)
      : number_(number), net_(net), core_(core), ports_{{true, net, *this}, {false, net, *this}} {
    net_step_.id = net.scheduler.add(net_step_);
    core_step_.id = core.scheduler.add(core_step_);
  }

  Port& port(unsigned number) override { return ports_.at(number); }
  unsigned next = 0;  ///< the node that it sends to
  [[nodiscard]] thalweg::ComponentId at_net() const { return net_step_.id; }

  /// Sends a word from a cycle of the core on, in the order of the calls.
  void send(Tick cycle, Word word) {
    host_.push_back({cycle, word});
    core_.scheduler.wake(core_step_.id, cycle);
  }
  /// Called when a word is done: the tick, and its handle and sum.
  std::function<void(Tick, Word)> done;
  /// A word that is blocked here.
  [[nodiscard]] virtual std::optional<thalweg::Blocked> blocked() const = 0;

 protected:
  struct Sent {
    Tick from;
    Word word;
  };
  struct Step : thalweg::Component {
    Step(Node& of, bool (Node::*call)(Tick)) : node(of), step_(call) {}
    bool step(Tick now) override { return (node.*step_)(now); }
    Node& node;
    bool (Node::*step_)(Tick);
    thalweg::ComponentId id = 0;
  };

  /// One cycle of each clock; true if the next one must be stepped, too.
  virtual bool net(Tick cycle) = 0;
  virtual bool core(Tick cycle) = 0;

  // Unconnected ports deliver and accept nothing.
  [[nodiscard]] bool may_write(Tick cycle) { return ports_[0].lane && ports_[0].lane->ready(cycle); }
  [[nodiscard]] const Word* arrived(Tick cycle) { return ports_[1].lane ? ports_[1].lane->front(cycle) : nullptr; }
  [[nodiscard]] Lane& out() { return *ports_[0].lane; }
  [[nodiscard]] Lane& in() { return *ports_[1].lane; }
  [[nodiscard]] thalweg::Blocked waits(const std::string& to) const {
    const bool joined = ports_[0].lane != nullptr;
    return {.who = "relay " + std::to_string(number_),
            .what = to,
            .on = joined ? "relay " + std::to_string(next) : "",
            .why = joined ? "" : "its port E is joined to nothing",
            .since = moved_};
  }
  [[nodiscard]] bool host_has(Tick cycle) const { return !host_.empty() && host_.front().from <= cycle; }

  unsigned number_;
  Domain &net_, &core_;
  std::vector<Port> ports_;
  std::deque<Sent> host_;
  Tick moved_ = 0;  ///< when a word last moved here
  Step net_step_{*this, &Node::net}, core_step_{*this, &Node::core};
};

class SimNode final : public Node {
 public:
  SimNode(unsigned number, Domain& net, Domain& core, std::size_t depth)
      : Node(number, net, core),
        to_core_(depth, kStages, net.clock, core.clock),
        to_net_(depth, kStages, core.clock, net.clock) {
    to_core_.writer.bind(net, net_step_.id);
    to_core_.reader.bind(core, core_step_.id);
    to_net_.writer.bind(core, core_step_.id);
    to_net_.reader.bind(net, net_step_.id);
  }

 private:
  [[nodiscard]] std::optional<thalweg::Blocked> blocked() const override {
    if (!to_core_.empty() || !to_net_.empty()) return waits("to pass a word on");
    if (!host_.empty()) return waits("to send a word of its host");
    return std::nullopt;
  }
  bool net(Tick cycle) override {
    const Word* came = arrived(cycle);
    const bool comes = came && to_core_.ready(cycle), goes = to_net_.valid(cycle) && may_write(cycle);
    if (comes) {
      to_core_.push(cycle, *came);
      in().pop(cycle);
    } else if (came) {
      to_core_.await_place();
    }
    if (goes) {
      out().write(cycle, to_net_.front());
      to_net_.pop(cycle);
    }
    return comes || goes;
  }

  bool core(Tick cycle) override {
    const bool there = to_core_.valid(cycle);
    const Word word = there ? to_core_.front() : 0, hops = word >> kSumBits, sum = (word + number_) & kSum;
    const bool passes = there && hops != 0, sends = !passes && host_has(cycle), ready = to_net_.ready(cycle);
    if ((there || sends) && (!passes || ready)) moved_ = core_.clock.edge(cycle);
    if (there && !passes) done(core_.clock.edge(cycle + 1), sum);
    if (passes && ready) to_net_.push(cycle, (hops - 1) << kSumBits | sum);
    if (sends && ready) {
      to_net_.push(cycle, host_.front().word);
      host_.pop_front();
    }
    if ((passes || sends) && !ready) to_net_.await_place();
    if (there && (!passes || ready)) to_core_.pop(cycle);
    return there || host_has(cycle + 1);
  }

  AsyncFifo<Word> to_core_, to_net_;
};

class RtlNode final : public Node {
 public:
  RtlNode(unsigned number, Domain& net, Domain& core, std::unique_ptr<NodeModel> model)
      : Node(number, net, core), model_(std::move(model)) {
    model_->edges(false, false, inputs_, outputs_);
    net.scheduler.wake(net_step_.id, 0);
    core.scheduler.wake(core_step_.id, 0);
  }

 private:
  [[nodiscard]] std::optional<thalweg::Blocked> blocked() const override {
    if (!host_.empty()) return waits("to send a word of its host");
    return std::nullopt;
  }
  bool net(Tick cycle) override {
    settle(net_.clock.edge(cycle));
    const Word* came = arrived(cycle);
    inputs_.in_valid = came != nullptr;
    inputs_.out_ready = may_write(cycle);
    if (came) inputs_.in_data = *came;
    if (came && outputs_.in_ready) in().pop(cycle);
    if (outputs_.out_valid && inputs_.out_ready) out().write(cycle, outputs_.out_data);
    return net_due_ = true;
  }

  bool core(Tick cycle) override {
    const Tick now = core_.clock.edge(cycle);
    settle(now);
    if (outputs_.done_valid) done(moved_ = now, outputs_.done_data);
    inputs_.host_valid = host_has(cycle);
    if (inputs_.host_valid) inputs_.host_data = host_.front().word;
    if (inputs_.host_valid && outputs_.host_ready) host_.pop_front();
    return core_due_ = true;
  }

  /// Edges at one instant are one evaluation, made when time advances.
  void settle(Tick now) {
    if (now == due_) return;
    model_->edges(net_due_, core_due_, inputs_, outputs_);
    net_due_ = core_due_ = false;
    due_ = now;
  }

  std::unique_ptr<NodeModel> model_;
  NodeModel::Inputs inputs_;
  NodeModel::Outputs outputs_;
  Tick due_ = -1;
  bool net_due_ = false, core_due_ = false;
};

}  // namespace relay
