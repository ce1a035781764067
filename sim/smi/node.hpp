// SPDX-License-Identifier: Apache-2.0
// A rank of SMI, C++ model of rtl/smi/tw_node.sv: endpoints, a send and a receive kernel per link, and the FIFOs between them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smi/message_fifo.hpp"
#include "smi/node_model.hpp"
#include "smi/receive_kernel.hpp"
#include "smi/send_kernel.hpp"

namespace thalweg::smi {

class Node final : public NodeModel {
 public:
  /// Depth of the FIFO to a link, which keeps the link busy while its kernel polls other inputs.
  static constexpr unsigned kLinkDepth = 8;

  explicit Node(const Config& config) : count_(config.links) {
    std::vector<std::vector<unsigned>> at(count_);
    for (unsigned e = 0; e < config.endpoints.size(); ++e) {
      const auto& of = config.endpoints[e];
      at[e % count_].push_back(e);
      endpoints_.emplace_back(make_endpoint(of.kind, {.rank = config.rank,
                                                      .port = of.port,
                                                      .packet_bytes = config.packet_bytes,
                                                      .size = of.size,
                                                      .latency = config.latency,
                                                      .children = config.children,
                                                      .tile = config.tile,
                                                      .circuits = config.circuits}),
                              Queue(config.depth), Queue(of.buffer));
    }
    links_.reserve(count_);
    for (unsigned l = 0; l < count_; ++l)
      links_.emplace_back(config, static_cast<unsigned>(at[l].size()), std::move(at[l]));
    quiet_after_ = 2 * (count_ + 2 + static_cast<unsigned>(config.endpoints.size()));
    connect();
  }

  [[nodiscard]] unsigned links() const override { return count_; }
  void load_send(unsigned link, unsigned index, unsigned to) override { links_.at(link).sends.load(index, to); }
  void load_receive(unsigned link, unsigned index, unsigned to) override { links_.at(link).receives.load(index, to); }

  [[nodiscard]] bool packet_ready(unsigned link) const override { return links_[link].receives.words().ready(0); }
  [[nodiscard]] const Packet* packet(unsigned link) const override { return links_[link].to_link.front(); }
  [[nodiscard]] bool open_ready(unsigned e) const override { return endpoints_[e].hardware->open_ready(); }
  [[nodiscard]] bool element_ready(unsigned e) const override { return endpoints_[e].hardware->element_ready(); }
  [[nodiscard]] const Element* element(unsigned e) const override { return endpoints_[e].hardware->element(); }
  [[nodiscard]] std::string waits(unsigned e) const override { return endpoints_[e].hardware->waits(); }
  [[nodiscard]] std::uint64_t strays() const override { return strays_; }
  [[nodiscard]] std::uint64_t unrouted() const override { return unrouted_; }

  void step(const Inputs& in) override {
    bool moves = false;
    for (auto& queue : queues_) queue->begin();
    // Each kernel forwards its polled packet if the output FIFO has space.
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      const auto* sent = link.sends.words().front();
      link.sent = sent && send(link, *sent);
      if (in.links[l].taken) link.to_link.take(), moves = true;
      const auto* received = link.receives.words().front();
      link.received = received && deliver(link, *received);
      moves |= link.sent || link.received;
    }
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      moves |= step_kernel(link.sends, link.send_from, nullptr, link.sent);
      moves |= step_kernel(link.receives, link.receive_from, in.links[l].packet, link.received);
    }
    for (unsigned e = 0; e < endpoints_.size(); ++e) {
      auto& of = endpoints_[e];
      const auto& at = in.endpoints[e];
      const Packet* packet = of.hardware->packet();
      const bool taken = packet && of.out.put(*packet, of.hardware->packet_last());
      Endpoint::Inputs inputs{.open = at.open,
                              .element = at.element,
                              .element_taken = at.taken,
                              .data = of.data.front(),
                              .control = of.controls ? &of.control : nullptr,
                              .packet_taken = taken};
      if (inputs.data && of.hardware->data_ready()) of.data.take();
      of.hardware->step(inputs);
      of.controls = false;
      moves |= taken || !of.hardware->idle();
    }
    for (auto& queue : queues_) queue->step();
    still_ = moves ? 0 : still_ + 1;
  }
  [[nodiscard]] bool idle() const override { return still_ > quiet_after_; }
  void skip(Tick cycles) override {
    for (auto& link : links_) {
      link.sends.words().skip(cycles);
      link.receives.words().skip(cycles);
    }
    for (auto& endpoint : endpoints_) endpoint.hardware->skip(cycles);
  }

 private:
  /// A FIFO whose two sides are used in any order within a cycle.
  class Queue {
   public:
    explicit Queue(unsigned depth) : words_(depth) {}
    void begin() { room_ = words_.ready(), puts_ = false, takes_ = false; }
    /// `last`: ends a message that must be complete before it leaves.
    [[nodiscard]] bool put(const Packet& packet, bool last = true) {
      if (!room_) return false;
      packet_ = packet;
      last_ = last;
      return puts_ = true;
    }
    [[nodiscard]] const Packet* front() const { return words_.valid() ? &words_.front() : nullptr; }
    void take() { takes_ = true; }
    void step() {
      if (puts_ || takes_) words_.step(puts_ ? &packet_ : nullptr, last_, takes_);
    }

   private:
    MessageFifo<Packet> words_;
    Packet packet_;
    bool last_ = true, room_ = true, puts_ = false, takes_ = false;
  };
  struct At {
    At(std::unique_ptr<Endpoint> made, Queue&& to_kernel, Queue&& from_kernel)
        : hardware(std::move(made)), out(std::move(to_kernel)), data(std::move(from_kernel)) {}
    std::unique_ptr<Endpoint> hardware;
    Queue out, data;
    bool controls = false;  ///< a control packet arrives in this cycle
    Packet control;
  };
  struct Link {
    Link(const Config& config, unsigned count, std::vector<unsigned>&& endpoints_at)
        : sends({.inputs = config.links + count,
                 .outputs = config.links + 1,
                 .reads = config.reads,
                 .circuits = config.circuits > 0}),
          receives(config.rank, {.inputs = config.links + 1,
                                 .outputs = config.links + 2 * count,
                                 .reads = config.reads,
                                 .circuits = config.circuits > 0}),
          endpoints(std::move(endpoints_at)),
          to_link(kLinkDepth),
          to_receiver(config.depth),
          to_sender(config.depth) {
      for (unsigned other = 1; other < config.links; ++other) {
        to_senders.emplace_back(config.depth);
        to_receivers.emplace_back(config.depth);
      }
    }
    SendKernel sends;
    ReceiveKernel receives;
    std::vector<unsigned> endpoints;
    Queue to_link, to_receiver, to_sender;        ///< to_receiver, to_sender: between this link's two kernels
    std::vector<Queue> to_senders, to_receivers;  ///< to the kernels of other links, ascending
    std::vector<Queue*> send_to, receive_to;      ///< by output
    std::vector<Queue*> send_from, receive_from;  ///< by input; null: the link
    bool sent = false, received = false;
  };

  void connect() {
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      link.send_to = {&link.to_link, &link.to_receiver};
      link.receive_to = {&link.to_sender};
      link.send_from = {&link.to_sender};
      link.receive_from = {nullptr, &link.to_receiver};
      for (unsigned k = 0; k + 1 < count_; ++k) {
        const unsigned other = k < l ? k : k + 1, there = l < other ? l : l - 1;
        link.send_to.push_back(&link.to_senders[k]);
        link.receive_to.push_back(&link.to_receivers[k]);
        link.send_from.push_back(&links_[other].to_senders[there]);
        link.receive_from.push_back(&links_[other].to_receivers[there]);
      }
      for (const unsigned e : link.endpoints) link.send_from.push_back(&endpoints_[e].out);
      for (auto* queues : {&link.to_senders, &link.to_receivers})
        for (auto& queue : *queues) queues_.push_back(&queue);
      queues_.push_back(&link.to_link);
      queues_.push_back(&link.to_receiver);
      queues_.push_back(&link.to_sender);
    }
    for (auto& endpoint : endpoints_) {
      queues_.push_back(&endpoint.out);
      queues_.push_back(&endpoint.data);
    }
  }

  bool send(Link& link, const SendKernel::Words::Offer& offer) {
    if (offer.to < link.send_to.size()) return link.send_to[offer.to]->put(offer.word);
    ++unrouted_;
    return true;
  }
  bool deliver(Link& link, const ReceiveKernel::Words::Offer& offer) {
    if (offer.to < count_) return link.receive_to[offer.to]->put(offer.word);
    const unsigned place = offer.to - count_;
    if (place / 2 >= link.endpoints.size()) {
      ++strays_;
      return true;
    }
    auto& endpoint = endpoints_[link.endpoints[place / 2]];
    if (place % 2 == 0) return endpoint.data.put(offer.word);
    endpoint.controls = true;
    endpoint.control = offer.word;
    return true;
  }
  /// `by_link`: packet from the link, for the input that is not a FIFO.
  template <class Kernel>
  static bool step_kernel(Kernel& kernel, const std::vector<Queue*>& from, const Packet* by_link, bool went) {
    auto& words = kernel.words();
    bool moves = false;
    for (unsigned i = 0; i < from.size(); ++i) {
      const Packet* packet = from[i] ? from[i]->front() : by_link;
      if (packet && words.ready(i)) {
        moves = true;
        if (from[i]) from[i]->take();
      }
      kernel.step(i, packet, went);
    }
    words.turn(went);
    return moves;
  }

  unsigned count_;
  std::vector<At> endpoints_;
  std::vector<Link> links_;
  std::vector<Queue*> queues_;
  std::uint64_t strays_ = 0, unrouted_ = 0;
  unsigned still_ = 0, quiet_after_;
};

}  // namespace thalweg::smi
