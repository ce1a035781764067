// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/open_ports.hpp"
#include "smi/pop.hpp"

namespace {

using thalweg::smi::Open;
using top::Inputs, top::Outputs, top::Parameters;
constexpr unsigned kRank = 0x5A, kBytes = Parameters::PacketBytes;

struct Twin {
  thalweg::smi::Pop pop{{.rank = kRank,
                         .port = Parameters::Port,
                         .packet_bytes = kBytes,
                         .size = Parameters::Size,
                         .circuits = Parameters::Circuits}};

  void outputs(const Inputs&, Outputs& out) const {
    out.open_ready_o.set(pop.open_ready());
    out.data_ready_o.set(pop.data_ready());
    const auto* element = pop.element();
    out.out_valid_o.set(element != nullptr);
    if (element) {
      out.out_data_o.set(element->data);
      out.out_source_o.set(element->source);
    }
    const auto* packet = pop.packet();
    out.packet_valid_o.set(packet != nullptr);
    if (packet) out.packet_data_o.set(blocks::words_of<kBytes>(*packet));
  }
  void step(const Inputs& in) {
    const Open open = blocks::open_of(in.open_i.get());
    const auto data = blocks::packet_of<kBytes>(in.data_data_i.get());
    pop.step({.open = in.open_valid_i.get() ? &open : nullptr,
              .element_taken = pop.element() && in.out_ready_i.get(),
              .data = in.data_valid_i.get() ? &data : nullptr,
              .packet_taken = pop.packet() && in.packet_ready_i.get()});
  }
};

/// Messages in the order in which they are opened, their opens early or late; eager ones may also arrive before their
/// opens. Lanes: opens, packets, the kernel, credits.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4;

  explicit Stimulus(bisim::Dice run)
      : opening_(run.pick(1000, 500, 30)),
        load_(run.pick(1000, 900, 300)),
        stall_(run.pick(0, 100, 500, 950)),
        back_(run.pick(0, 100, 900)),
        longest_(run.pick(100, 3, 12)),
        credits_(run.pick(500, 0, 1000)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice opens = draws.lane(0), packets = draws.lane(1);
    next.rank_i.set(kRank);
    if (opens_.empty() && packets_.empty()) add(packets);
    shows_open_ = !opens_.empty() && (shows_open_ || opens.chance(opening_));
    next.open_valid_i.set(shows_open_);
    if (shows_open_) next.open_i.set(blocks::open_port(opens_.front()));
    if (shows_open_ && seen.open_ready_o.get()) {
      shows_open_ = false;
      opens_.pop_front();
    }
    shows_packet_ = !packets_.empty() && (shows_packet_ || packets.chance(load_));
    next.data_valid_i.set(shows_packet_);
    if (shows_packet_) next.data_data_i.set(blocks::words_of<kBytes>(packets_.front()));
    if (shows_packet_ && seen.data_ready_o.get()) {
      shows_packet_ = false;
      packets_.pop_front();
    }
    next.out_ready_i.set(!draws.lane(2).chance(stall_));
    next.packet_ready_i.set(!draws.lane(3).chance(back_));
  }

 private:
  /// Adds some messages.
  void add(bisim::Dice& dice) {
    for (unsigned message = 0; message < 4; ++message) {
      Open open;
      open.count = dice.chance(50) ? 0 : 1 + dice.below(longest_);
      const unsigned most = thalweg::smi::max_elements(kBytes, Parameters::Size);
      open.window = dice.chance(credits_) ? 1 + dice.below(9) : 0;
      open.peer = dice.below(256);
      opens_.push_back(open);
      if (Parameters::Circuits && open.window == 0 && open.count > 0 && dice.chance(700)) {
        add_circuit(open, dice);
        continue;
      }
      for (unsigned left = open.count; left > 0;) {
        const unsigned count = std::min(left, dice.chance(800) ? most : 1 + dice.below(most));
        auto packet = blocks::random_packet<kBytes>(dice);
        packet.set_header(open.peer, kRank, Parameters::Port,
                          open.window > 0 ? blocks::Operation::receive : blocks::Operation::send, count);
        packets_.push_back(packet);
        left -= count;
      }
    }
  }

  void add_circuit(Open open, bisim::Dice& dice) {
    open.size = Parameters::Size;
    open.packets = blocks::circuit_packets<kBytes>(open);
    auto packet = blocks::random_packet<kBytes>(dice);
    packet.set_circuit(open.peer, kRank, Parameters::Port, open.packets, open.count);
    packets_.push_back(packet);
    for (unsigned i = 0; i < open.packets; ++i) packets_.push_back(blocks::random_packet<kBytes>(dice));
  }

  unsigned opening_, load_, stall_, back_, longest_, credits_;
  bool shows_open_ = false, shows_packet_ = false;
  std::deque<Open> opens_;
  std::deque<blocks::Packet> packets_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
