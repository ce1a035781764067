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
    // Each kernel forwards its polled packet if the output FIFO has space.
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      const auto* sent = poll(link.sends, link.sending, nullptr);
      link.sending.forwards = sent && send(link, *sent);
      if (in.links[l].taken) link.to_link.take(), moves = true;
      const auto* received = poll(link.receives, link.receiving, in.links[l].packet);
      link.receiving.forwards = received && deliver(link, *received);
      moves |= link.sending.forwards || link.receiving.forwards;
    }
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      moves |= step_kernel(link.sends, link.sending, nullptr);
      moves |= step_kernel(link.receives, link.receiving, in.links[l].packet);
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
    for (Queue* queue : used_) queue->step();
    used_.clear();
    ++edges_;
    still_ = moves ? 0 : still_ + 1;
  }
  [[nodiscard]] bool idle() const override { return still_ > quiet_after_; }
  void skip(Tick cycles) override {
    edges_ += cycles;
    for (auto& endpoint : endpoints_) endpoint.hardware->skip(cycles);
  }

 private:
  /// A FIFO whose two sides are used in any order within a cycle.
  class Queue {
   public:
    explicit Queue(unsigned depth) : words_(depth) {}
    /// `used`: collects the queues that are to be stepped. `offers`: number of its reader's queues with a packet.
    void bind(std::vector<Queue*>& used, unsigned* offers) { used_ = &used, offers_ = offers; }
    /// `last`: ends a message that must be complete before it leaves.
    [[nodiscard]] bool put(const Packet& packet, bool last = true) {
      if (!words_.ready()) return false;
      use();
      packet_ = packet;
      last_ = last;
      return puts_ = true;
    }
    [[nodiscard]] const Packet* front() const { return words_.valid() ? &words_.front() : nullptr; }
    void take() {
      use();
      takes_ = true;
    }
    void step() {
      const bool was_valid = words_.valid();
      words_.step(puts_ ? &packet_ : nullptr, last_, takes_);
      puts_ = takes_ = false;
      if (offers_) *offers_ += words_.valid() - was_valid;
    }

   private:
    void use() {
      if (!puts_ && !takes_) used_->push_back(this);
    }

    MessageFifo<Packet> words_;
    Packet packet_;
    bool last_ = true, puts_ = false, takes_ = false;
    std::vector<Queue*>* used_ = nullptr;
    unsigned* offers_ = nullptr;
  };
  /// The inputs of a send or receive kernel. A kernel without packets is not stepped: its polling is made up for.
  struct Polling {
    std::vector<Queue*> from;  ///< by input; null: the link
    unsigned offers = 0;       ///< inputs with a packet, apart from the link
    Tick edges = 0;            ///< executed
    bool steps = false;        ///< in this cycle
    bool forwards = false;
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
    Polling sending, receiving;
  };

  void connect() {
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      link.send_to = {&link.to_link, &link.to_receiver};
      link.receive_to = {&link.to_sender};
      link.sending.from = {&link.to_sender};
      link.receiving.from = {nullptr, &link.to_receiver};
      for (unsigned k = 0; k + 1 < count_; ++k) {
        const unsigned other = k < l ? k : k + 1, there = l < other ? l : l - 1;
        link.send_to.push_back(&link.to_senders[k]);
        link.receive_to.push_back(&link.to_receivers[k]);
        link.sending.from.push_back(&links_[other].to_senders[there]);
        link.receiving.from.push_back(&links_[other].to_receivers[there]);
      }
      for (const unsigned e : link.endpoints) link.sending.from.push_back(&endpoints_[e].out);
    }
    for (auto& link : links_) {
      link.to_link.bind(used_, nullptr);
      for (Polling* polling : {&link.sending, &link.receiving})
        for (Queue* queue : polling->from)
          if (queue) queue->bind(used_, &polling->offers);
    }
    for (auto& endpoint : endpoints_) endpoint.data.bind(used_, nullptr);
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
  /// The packet that a kernel can forward, or null. `by_link`: packet from the link, for the input that is not a FIFO.
  template <class Kernel>
  const KernelInputs::Words::Offer* poll(Kernel& kernel, Polling& polling, const Packet* by_link) {
    auto& words = kernel.words();
    polling.steps = polling.offers > 0 || by_link || !words.empty();
    if (!polling.steps) return nullptr;
    if (const Tick missed = edges_ - polling.edges) words.skip(missed);
    polling.edges = edges_ + 1;
    return words.front();
  }
  template <class Kernel>
  static bool step_kernel(Kernel& kernel, const Polling& polling, const Packet* by_link) {
    if (!polling.steps) return false;
    auto& words = kernel.words();
    bool moves = false;
    for (unsigned i = 0; i < polling.from.size(); ++i) {
      Queue* const queue = polling.from[i];
      const Packet* packet = queue ? queue->front() : by_link;
      if (packet && words.ready(i)) {
        moves = true;
        if (queue) queue->take();
      }
      if (packet || polling.forwards) kernel.step(i, packet, polling.forwards);
    }
    words.turn(polling.forwards);
    return moves;
  }

  unsigned count_;
  std::vector<At> endpoints_;
  std::vector<Link> links_;
  std::vector<Queue*> used_;  ///< in this cycle
  Tick edges_ = 0;
  std::uint64_t strays_ = 0, unrouted_ = 0;
  unsigned still_ = 0, quiet_after_;
};

}  // namespace thalweg::smi
