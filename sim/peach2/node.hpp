// SPDX-License-Identifier: Apache-2.0
// A node of PEACH2: a hub with its memory, and its host.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/clock.hpp"
#include "link/lane.hpp"
#include "memory/sparse.hpp"
#include "peach2/board_memory.hpp"
#include "peach2/host.hpp"
#include "peach2/hub_model.hpp"
#include "peach2/processor.hpp"

namespace thalweg::peach2 {

/// Lane of a PCI Express link. The egress models rate, protocol overhead and credits; a credit carries the units of a packet that has
/// left the receiver's buffer.
using LinkLane = Lane<HubWord>;
using LinkEnd = LaneEnd<LinkLane>;

class Node final : public AssembledNode {
 public:
  struct Config {
    Tick host_latency = 1;  ///< of the link to the host, in cycles of the packet clock
    BoardMemory::Config memory;
    Host::Config host;
    Processor::Config processor;
  };
  /// A link's end on a node.
  struct Port : LinkPort {
    [[nodiscard]] std::string carries() const override { return sort; }
    std::string sort;
    LinkEnd end;
    /// Sent packets whose credits have not been returned: 0 in an idle ring, unless a hub was reset alone. Counted outside the hub,
    /// whose own count is lost by a reset.
    std::int64_t outstanding = 0;
    std::int64_t reported = 0;  ///< value of `outstanding` in the last report
  };

  Node(const Config& config, unsigned number, std::unique_ptr<HubModel> hub, Domain& net, Domain& bus)
      : hub_(std::move(hub)),
        net_(net),
        bus_(bus),
        host_(config.host, number),
        memory_(config.memory, "the memory of hub " + std::to_string(number)) {
    for (Step* step : {&at_net_, &at_host_}) step->id = net.scheduler.add(*step);
    at_bus_.id = bus.scheduler.add(at_bus_);
    hub_->bind(net, at_net_.id, bus, at_bus_.id);
    static constexpr std::array kSorts{"north", "end point", "root complex", "south"};
    for (unsigned l = 0; l < kLinks; ++l) {
      ports_[l].sort = kSorts[l];
      ports_[l].end = {.domain = &net, .component = at_net_.id};
    }
    host_end_ = {.domain = &net, .component = at_host_.id};
    host_link_.emplace(config.host_latency, ports_[kNorth].end, host_end_);
    processor_.emplace(config.processor, "the processor of node " + std::to_string(number), host_, net, at_host_.id);
  }

  /// East, west and south, numbered from 0; north connects to the host.
  [[nodiscard]] Port& port(unsigned number) override { return ports_.at(number + kEast); }
  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] Processor& processor() { return *processor_; }
  [[nodiscard]] const Processor& processor() const { return *processor_; }
  [[nodiscard]] SparseMemory& memory() { return memory_.bytes(); }
  [[nodiscard]] HubModel& hub() { return *hub_; }
  /// A write that was sent to an unconnected port.
  struct Astray {
    unsigned port = 0;
    Source source;
    std::uint64_t address = 0;
  };
  [[nodiscard]] std::vector<Astray> take_astray() { return std::exchange(astray_, {}); }
  /// Transfers on the ring's links, on the hub's bus and into the host. Measures progress: a processor that polls its hub does not
  /// count.
  [[nodiscard]] std::uint64_t moved() const { return moved_ + hub_->beats_taken() + host_.served(); }

 private:
  struct Step : Component {
    Step(Node& of, bool (Node::*call)(Tick)) : node(of), step_(call) {}
    bool step(Tick now) override { return (node.*step_)(now); }
    Node& node;
    bool (Node::*step_)(Tick);
    ComponentId id = 0;
  };

  static void write(const LinkEnd& end, Tick cycle, const HubWord* word, const std::optional<unsigned>& freed) {
    if (word) end.out->write(cycle, *word);
    if (freed) end.in->credits.write(cycle, *freed);
  }

  bool net(Tick cycle) {
    hub_->begin(net_.clock.edge(cycle));
    std::array<std::optional<HubWord>, kLinks> words;
    std::array<Hub::LinkIn, kLinks> links;
    bool open = false;
    for (unsigned l = 0; l < kLinks; ++l) {
      const auto& end = ports_[l].end;
      if (!end.in) {
        links[l].credit = std::exchange(open_[l].credit, std::nullopt);
        if (const auto* word = hub_->out(l)) leaves(l, *word);
        open |= open_[l].credit.has_value();
        continue;
      }
      write(end, cycle, hub_->out(l), hub_->freed(l));
      words[l] = end.in->words.take(cycle);
      if (words[l]) links[l].word = &*words[l];
      links[l].credit = end.out->credits.take(cycle);
      ports_[l].outstanding += hub_->out(l) && hub_->out(l)->last;
      ports_[l].outstanding -= links[l].credit.has_value();
      moved_ += l != kNorth && words[l].has_value();
    }
    hub_->step_net(cycle, links);
    return open || !hub_->net_idle(cycle + 1);
  }
  /// Drops and reports packets to an unconnected port, whose credits are returned so that it blocks no sender.
  void leaves(unsigned port, const HubWord& word) {
    auto& [first, units, credit] = open_[port];
    if (first) {
      const Word<256> whole = expanded(word.data);
      const auto header = peach2::header(whole);
      units = peach2::units(spec::pcie_memory_write::length(header));
      astray_.push_back({port, source_of(header[0]), spec::pcie_memory_write::address(header) * 4});
    }
    first = word.last;
    if (word.last) credit = units;
    ++moved_;
  }

  bool bus(Tick cycle) {
    hub_->begin(bus_.clock.edge(cycle));
    const bool ready = memory_.step(cycle, hub_->memory());
    hub_->step_bus(cycle, ready, memory_.reply());
    return !memory_.idle() || !hub_->bus_idle(cycle + 1);
  }

  bool host(Tick cycle) {
    write(host_end_, cycle, host_.out(), host_.freed());
    const auto word = host_end_.in->words.take(cycle);
    const auto credit = host_end_.out->credits.take(cycle);
    host_.step(cycle, word ? &*word : nullptr, credit);
    return !host_.idle();
  }

  std::unique_ptr<HubModel> hub_;
  Domain &net_, &bus_;
  Host host_;
  BoardMemory memory_;
  std::array<Port, kLinks> ports_;
  LinkEnd host_end_;
  std::optional<LanePair<LinkLane>> host_link_;
  std::uint64_t moved_ = 0;
  struct Open {
    bool first = true;
    unsigned units = 0;
    std::optional<unsigned> credit{};
  };
  std::array<Open, kLinks> open_;  ///< state of unconnected ports
  std::vector<Astray> astray_;
  Step at_net_{*this, &Node::net}, at_bus_{*this, &Node::bus}, at_host_{*this, &Node::host};
  std::optional<Processor> processor_;
};

/// Link between two nodes.
struct Cable final : AssembledLink {
  Cable(Tick latency, Node::Port& one, Node::Port& other) : lanes(latency, one.end, other.end) {}

  [[nodiscard]] std::array<Carried, 2> carried() const override { return lanes.carried(); }

  LanePair<LinkLane> lanes;
};

}  // namespace thalweg::peach2
