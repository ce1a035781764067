// SPDX-License-Identifier: Apache-2.0
// Endpoint that receives elements from a rank for a kernel, C++ model of rtl/smi/tw_pop.sv.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "common/skid.hpp"
#include "smi/circuit.hpp"
#include "smi/endpoint.hpp"

namespace thalweg::smi {

/// Elements of eager packets are delivered as they arrive, so that a kernel need not wait until its channel is open: it checks their
/// source. Elements of credited packets are delivered only to an open channel; credits are returned when half the window, or the whole
/// message, has been taken. Elements of circuits are delivered like eager ones; a circuit's first packet is stored separately, so that it
/// costs no cycle of an element.
class Pop final : public Endpoint, public Foresight<Element> {
 public:
  explicit Pop(const Config& config) : config_(config) {}

  [[nodiscard]] bool open_ready() const override { return !next_; }
  [[nodiscard]] bool element_ready() const override { return true; }  // unused: its kernel writes no elements
  [[nodiscard]] bool data_ready() const override { return packets_.ready() && (!next_circuit_ || circuit_.inside()); }
  [[nodiscard]] const Element* element() const override { return valid() ? &element_ : nullptr; }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (left_ <= 0 && unreturned_ == 0 && !next_) return "";
    if (!out_.ready()) return "the network";
    if (packets_.valid()) return "its kernel to take elements";
    return "data of rank " + std::to_string(open_.peer);
  }

  [[nodiscard]] Foresight<Element>* foresight() override { return this; }
  /// Foresees the elements of a packet with a header between its first and its last.
  [[nodiscard]] bool pushes(Element& element) override {
    if (!valid() || payload() || index_ == 0 || index_ + 1 >= packets_.front().packet.count() || left_ == 1)
      return false;
    element = element_;
    --left_;
    ++index_;
    show();
    return true;
  }

  void step(const Inputs& in) override {
    const bool delivers = valid() && in.element_taken;
    const bool ends =
        delivers && (payload() ? within() == 1 || index_ + 1 == payload_elements(config_.packet_bytes, config_.size)
                               : index_ + 1 == packets_.front().packet.count());
    const bool returns =
        unreturned_ > 0 && (left_ <= 0 || unreturned_ >= std::max(1u, open_.window / 2)) && out_.ready();
    const Open* next = next_ ? &*next_ : in.open;
    const bool loads = left_ <= 0 && unreturned_ == 0 && next;
    Packet credits;
    credits.set_header(config_.rank, open_.peer, config_.port, Operation::synch, 1);
    credits.set_grant(unreturned_);
    const bool arrives = in.data && data_ready();
    moved_ = delivers || returns || loads || in.packet_taken || arrives || (in.open && !next_);
    out_.step(returns ? &credits : nullptr, in.packet_taken);
    if (returns) unreturned_ = 0;
    if (delivers) {
      --left_;
      if (ends && credited()) ++unreturned_;
      if (payload()) {
        const bool begins = begins_circuit();
        source_ = source();
        within_ = within() - 1;
        if (begins) next_circuit_.reset();
      }
      index_ = ends ? 0 : index_ + 1;
    }
    if (loads) {
      open_ = *next;
      left_ += open_.count;
      next_.reset();
    } else if (in.open && !next_) {
      next_ = *in.open;
    }
    Word word;
    if (arrives) word = classify(*in.data);
    packets_.step(arrives && !word.opens ? &word : nullptr, ends);
    if (packets_.valid()) show();
  }

 private:
  struct Word {
    Packet packet;
    bool payload = false;  ///< within a circuit, without a header
    bool begins = false;   ///< the first of these in its circuit
    bool opens = false;    ///< a circuit's first packet, which is not stored in packets_
  };

  /// Classifies an arriving packet.
  [[nodiscard]] Word classify(const Packet& packet) {
    Word word{packet};
    if (config_.circuits == 0) return word;
    word.payload = circuit_.inside();
    word.begins = word.payload && opened_;
    const auto offer = circuit_.offer(packet, 0);
    opened_ = word.opens = !word.payload && !offer.last;
    if (word.opens) next_circuit_ = packet.circuit();
    circuit_.step(offer);
    return word;
  }

  void show() {
    element_ = {packets_.front().packet.payload(index_, config_.size, config_.packet_bytes), false, source()};
  }

  // State of the packet whose elements are delivered.
  [[nodiscard]] bool payload() const { return packets_.front().payload; }
  [[nodiscard]] bool begins_circuit() const { return packets_.front().begins && index_ == 0; }
  [[nodiscard]] std::uint32_t within() const { return begins_circuit() ? next_circuit_->elements : within_; }
  [[nodiscard]] unsigned source() const {
    if (!payload()) return packets_.front().packet.source();
    return begins_circuit() ? next_circuit_->source : source_;
  }
  [[nodiscard]] bool credited() const {
    return !payload() && packets_.front().packet.operation() == Operation::receive;
  }
  [[nodiscard]] bool valid() const { return packets_.valid() && (left_ > 0 || !credited()); }

  Config config_;
  std::optional<Open> next_;
  Open open_;
  std::int64_t left_ = 0;  ///< remaining elements of the channel; negative: delivered ahead, of channels to be opened
  std::uint32_t unreturned_ = 0;  ///< packets whose credits have not been returned
  Skid<Word> packets_;
  unsigned index_ = 0;                            ///< of the next element in its packet
  Circuit circuit_;                               ///< state at the input
  bool opened_ = false;                           ///< the last arrived packet was a circuit's first
  std::optional<spec::SmiCircuit> next_circuit_;  ///< a circuit of which no element has been delivered
  std::uint32_t within_ = 0;                      ///< remaining elements of the current circuit
  unsigned source_ = 0;                           ///< source rank of the current circuit
  Element element_;
  Skid<Packet> out_;
  bool moved_ = false;
};

}  // namespace thalweg::smi
