// SPDX-License-Identifier: Apache-2.0
// A rank of SMI, C++ model of rtl/smi/tw_node.sv: endpoints, a send and a receive kernel per link, and the FIFOs between them.
#pragma once

#include <algorithm>
#include <bit>
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
    outputs_.links.resize(count_);
    connect();
    for (unsigned l = 0; l < count_; ++l) outputs_.links[l].packet_ready = links_[l].receives.words().ready(0);
    for (const auto& endpoint : endpoints_) {
      const auto& hardware = *endpoint.hardware;
      outputs_.endpoints.push_back({hardware.element(), hardware.open_ready(), hardware.element_ready()});
    }
  }

  [[nodiscard]] unsigned links() const override { return count_; }
  void load_send(unsigned link, unsigned index, unsigned to) override { links_.at(link).sends.load(index, to); }
  void load_receive(unsigned link, unsigned index, unsigned to) override { links_.at(link).receives.load(index, to); }

  [[nodiscard]] const Outputs& outputs() const override { return outputs_; }
  [[nodiscard]] std::string waits(unsigned e) const override { return endpoints_[e].hardware->waits(); }
  [[nodiscard]] std::uint64_t strays() const override { return strays_; }
  [[nodiscard]] std::uint64_t unrouted() const override { return unrouted_; }

  [[nodiscard]] Foresight<Element>* foresight(unsigned e) override { return endpoints_[e].hardware->foresight(); }

  void step(const Inputs& in) override {
    bool moves = false;
    unsigned polled = std::exchange(busy_, 0);
    for (unsigned l = 0; l < count_; ++l) {
      if (in.links[l].packet) polled |= links_[l].receiving.bit;
      if (in.links[l].taken) links_[l].to_link.take(), moves = true;
    }
    for (unsigned kernels = polled; kernels; kernels &= kernels - 1) {
      const auto kernel = static_cast<unsigned>(std::countr_zero(kernels)), l = kernel / 2;
      auto& link = links_[l];
      if (kernel % 2 == 0) {
        moves |= step_kernel(link.sends, link.sending, nullptr, [&](const auto& offer) { return send(link, offer); });
      } else {
        moves |= step_kernel(link.receives, link.receiving, in.links[l].packet,
                             [&](const auto& offer) { return deliver(link, offer); });
        outputs_.links[l].packet_ready = link.receives.words().ready(0);
      }
    }
    for (unsigned e = 0; e < endpoints_.size(); ++e)
      if (endpoints_[e].steps(in.endpoints[e])) moves |= step_endpoint(e, in.endpoints[e]);
    for (Queue* queue : used_) busy_ |= queue->step();
    used_.clear();
    ++edges_;
    still_ = moves ? 0 : still_ + 1;
  }
  [[nodiscard]] Tick rest() const override {
    if (still_ == 0) return 0;
    if (still_ > quiet_after_) return kNever;
    Tick rest = kNever;
    for (unsigned kernels = busy_; kernels; kernels &= kernels - 1) {
      const auto kernel = static_cast<unsigned>(std::countr_zero(kernels));
      const auto& link = links_[kernel / 2];
      const auto& words = kernel % 2 == 0 ? link.sends.words() : link.receives.words();
      if (!words.empty()) rest = std::min<Tick>(rest, words.until_polled());
    }
    return rest;
  }
  void skip(Tick cycles) override { edges_ += cycles; }

 private:
  class Queue;
  /// The inputs of a send or receive kernel. A kernel without packets is not stepped: its polling is made up for.
  struct Polling {
    unsigned bit = 0;          ///< of the kernel in busy_
    std::vector<Queue*> from;  ///< by input; null: the link
    unsigned offers = 0;       ///< inputs with a packet, apart from the link
    Tick edges = 0;            ///< executed
  };
  /// A FIFO whose two sides are used in any order within a cycle.
  class Queue {
   public:
    explicit Queue(unsigned depth) : words_(depth) {}
    /// `used`: collects the queues that are to be stepped. `reader`: a kernel's inputs; null for others. `shown`: set to
    /// the front after each step.
    void bind(std::vector<Queue*>& used, Polling* reader, const Packet** shown = nullptr) {
      used_ = &used, reader_ = reader, shown_ = shown;
    }
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
    /// Returns the bit of its reader's kernel if that has a packet to accept.
    unsigned step() {
      const bool was_valid = words_.valid();
      words_.step(puts_ ? &packet_ : nullptr, last_, takes_);
      puts_ = takes_ = false;
      if (shown_) *shown_ = front();
      if (!reader_) return 0;
      reader_->offers += words_.valid() - was_valid;
      return reader_->offers > 0 ? reader_->bit : 0;
    }

   private:
    void use() {
      if (!puts_ && !takes_) used_->push_back(this);
    }

    MessageFifo<Packet> words_;
    Packet packet_;
    bool last_ = true, puts_ = false, takes_ = false;
    std::vector<Queue*>* used_ = nullptr;
    Polling* reader_ = nullptr;
    const Packet** shown_ = nullptr;
  };
  struct At {
    At(std::unique_ptr<Endpoint> made, Queue&& to_kernel, Queue&& from_kernel)
        : hardware(std::move(made)), out(std::move(to_kernel)), data(std::move(from_kernel)) {}
    std::unique_ptr<Endpoint> hardware;
    Queue out, data;
    bool controls = false;  ///< a control packet arrives in this cycle
    Packet control;
    bool rests = false;  ///< a step without input changes nothing; such steps are made up for
    Tick edges = 0;      ///< executed

    [[nodiscard]] bool steps(const Inputs::At& in) const {
      return !rests || in.open || in.element || in.taken || controls || data.front();
    }
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
    unsigned next_bit = 1;
    for (unsigned l = 0; l < count_; ++l) {
      auto& link = links_[l];
      link.to_link.bind(used_, nullptr, &outputs_.links[l].packet);
      for (Polling* polling : {&link.sending, &link.receiving}) {
        polling->bit = next_bit;
        next_bit <<= 1;
        for (Queue* queue : polling->from)
          if (queue) queue->bind(used_, polling);
      }
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
  /// Forwards the polled packet if its output has space, and accepts others. `by_link`: packet from the link, for the
  /// input that is not a FIFO. Returns true if a packet moves.
  template <class Kernel, class Forward>
  bool step_kernel(Kernel& kernel, Polling& polling, const Packet* by_link, const Forward& forward) {
    auto& words = kernel.words();
    if (const Tick missed = edges_ - polling.edges) words.skip(missed);
    polling.edges = edges_ + 1;
    const auto* const polled = words.front();
    const bool forwards = polled && forward(*polled);
    bool moves = forwards;
    if (polling.offers > 0 || by_link) {
      for (unsigned i = 0; i < polling.from.size(); ++i) {
        Queue* const queue = polling.from[i];
        const Packet* packet = queue ? queue->front() : by_link;
        if (packet && words.ready(i)) {
          moves = true;
          if (queue) queue->take();
        }
        if (packet || forwards) kernel.step(i, packet, forwards);
      }
    } else if (forwards) {
      kernel.step(words.polled(), nullptr, true);
    }
    words.turn(forwards);
    if (!words.empty() || polling.offers > 0) busy_ |= polling.bit;
    return moves;
  }
  bool step_endpoint(unsigned number, const Inputs::At& at) {
    auto& of = endpoints_[number];
    auto& hardware = *of.hardware;
    if (const Tick missed = edges_ - of.edges) hardware.skip(missed);
    of.edges = edges_ + 1;
    const Packet *packet = hardware.packet(), *data = of.data.front();
    const bool taken = packet && of.out.put(*packet, hardware.packet_last());
    if (data && hardware.data_ready()) of.data.take();
    hardware.step({.open = at.open,
                   .element = at.element,
                   .element_taken = at.taken,
                   .data = data,
                   .control = of.controls ? &of.control : nullptr,
                   .packet_taken = taken});
    of.controls = false;
    const bool idle = hardware.idle();
    of.rests = idle && !hardware.packet();
    outputs_.endpoints[number] = {hardware.element(), hardware.open_ready(), hardware.element_ready()};
    return taken || !idle;
  }

  unsigned count_;
  std::vector<At> endpoints_;
  std::vector<Link> links_;
  Outputs outputs_;
  std::vector<Queue*> used_;  ///< in this cycle
  Tick edges_ = 0;
  std::uint64_t strays_ = 0, unrouted_ = 0;
  unsigned busy_ = 0;  ///< kernels with packets: a bit each, of a link's send kernel, then of its receive kernel
  unsigned still_ = 0, quiet_after_;
};

}  // namespace thalweg::smi
