// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/open_ports.hpp"
#include "smi/push.hpp"

namespace {

using thalweg::smi::Element, thalweg::smi::Open;
using top::Inputs, top::Outputs, top::Parameters;
constexpr unsigned kRank = 0x5A, kBytes = Parameters::PacketBytes;

struct Twin {
  thalweg::smi::Push push{
      {.rank = kRank, .port = Parameters::Port, .packet_bytes = kBytes, .circuits = Parameters::Circuits}};

  void outputs(const Inputs&, Outputs& out) const {
    out.open_ready_o.set(push.open_ready());
    out.in_ready_o.set(push.element_ready());
    const auto* packet = push.packet();
    out.packet_valid_o.set(packet != nullptr);
    if (!packet) return;
    out.packet_data_o.set(blocks::words_of<kBytes>(*packet));
    out.packet_last_o.set(push.packet_last());
  }
  void step(const Inputs& in) {
    const Open open = blocks::open_of(in.open_i.get());
    const Element element{in.in_data_i.get(), in.in_flush_i.get() != 0};
    const auto control = blocks::packet_of<kBytes>(in.control_data_i.get());
    push.step({.open = in.open_valid_i.get() ? &open : nullptr,
               .element = in.in_valid_i.get() ? &element : nullptr,
               .control = in.control_valid_i.get() ? &control : nullptr,
               .packet_taken = push.packet() && in.packet_ready_i.get()});
  }
};

/// A receiver returns credits late, or several at once. Lanes: opens, elements, packets, credits.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4;

  explicit Stimulus(bisim::Dice run)
      : opening_(run.pick(1000, 500, 30)),
        load_(run.pick(1000, 900, 300)),
        stall_(run.pick(0, 100, 500, 950)),
        back_(run.pick(200, 1000, 20)),
        flush_(run.pick(20, 0, 500)),
        longest_(run.pick(100, 3, 12)),
        credits_(run.pick(500, 0, 1000)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice opens = draws.lane(0), elements = draws.lane(1), packets = draws.lane(2), returns = draws.lane(3);
    next.rank_i.set(kRank);
    if (!shows_open_ && opens.chance(opening_)) shows_open_ = true, open_ = any_open(opens);
    next.open_valid_i.set(shows_open_);
    next.open_i.set(blocks::open_port(open_));
    if (shows_open_ && seen.open_ready_o.get()) {
      shows_open_ = false;
      if (open_.count > 0) messages_.push_back(open_);
    }

    if (!shows_element_ && elements.chance(load_)) {
      shows_element_ = true;
      element_ = {elements.bits(), elements.chance(flush_)};
    }
    next.in_valid_i.set(shows_element_);
    next.in_data_i.set(element_.data);
    next.in_flush_i.set(element_.flush);
    if (seen.in_ready_o.get()) shows_element_ = false;

    if (under_way_ > 0 && returns.chance(back_)) {
      auto control = blocks::random_packet<kBytes>(returns);
      const unsigned grant = 1 + returns.below(under_way_);
      control.set_grant(grant);
      under_way_ -= grant;
      next.control_valid_i.set(true);
      next.control_data_i.set(blocks::words_of<kBytes>(control));
    }
    const bool takes = !packets.chance(stall_);
    next.packet_ready_i.set(takes);
    if (!takes || !seen.packet_valid_o.get()) return;
    Open& message = messages_.front();
    if (message.packets == 0) {
      message.count -= blocks::packet_of<kBytes>(seen.packet_data_o.get()).count();
      under_way_ += message.window > 0;
    } else if (follow_ == 0) {
      follow_ = blocks::packet_of<kBytes>(seen.packet_data_o.get()).circuit().packets;
    } else {
      --follow_;
      message.count -= std::min(message.count, thalweg::smi::payload_elements(kBytes, message.size));
    }
    if (message.count == 0) messages_.pop_front();
  }

 private:
  Open any_open(bisim::Dice& dice) const {
    Open open;
    open.count = dice.chance(50) ? 0 : 1 + dice.below(longest_);
    open.size = dice.below(4);
    const unsigned most = thalweg::smi::max_elements(kBytes, open.size);
    open.per_packet = dice.chance(700) ? most : 1 + dice.below(most);
    open.window = dice.chance(credits_) ? 1 + dice.below(6) : 0;
    open.peer = dice.below(256);
    if (Parameters::Circuits && open.window == 0 && dice.chance(700))
      open.packets = blocks::circuit_packets<kBytes>(open);
    return open;
  }

  unsigned opening_, load_, stall_, back_, flush_, longest_, credits_;
  bool shows_open_ = false, shows_element_ = false;
  Open open_;
  Element element_;
  std::deque<Open> messages_;  ///< messages with outstanding packets; their counts are the remaining elements
  unsigned follow_ = 0;        ///< outstanding packets of a circuit
  unsigned under_way_ = 0;     ///< packets whose credits have not returned
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
