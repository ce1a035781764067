// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/circuit.hpp"

namespace {

using thalweg::smi::Circuit;
using top::Inputs, top::Outputs;

struct Twin {
  Circuit circuit;

  [[nodiscard]] Circuit::Offer offer(const Inputs& in) const {
    const auto first = in.packet_i.get();
    const auto number = [](std::uint64_t value) { return static_cast<unsigned>(value); };
    blocks::Packet packet;
    packet.set_header(number(first.source), number(first.destination), number(first.port),
                      static_cast<blocks::Operation>(first.operation), number(first.count));
    packet.set_element(0, 2, first.packets);
    packet.set_element(1, 2, first.elements);
    return circuit.offer(packet, number(in.to_i.get()));
  }
  void outputs(const Inputs& in, Outputs& out) const {
    const auto shown = offer(in);
    out.to_o.set(shown.to);
    out.last_o.set(shown.last);
    out.inside_o.set(circuit.inside());
  }
  void step(const Inputs& in) {
    if (in.taken_i.get()) circuit.step(offer(in));
  }
};

/// Packets that follow in circuits have any bits. Lanes: packets, whether they are accepted.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run) : takes_(run.pick(1000, 500, 50)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice packets = draws.lane(0), taking = draws.lane(1);
    if (taken_) {
      packet_ = arrivals_.next(packets, true, [](blocks::Packet&) {});
      to_ = packets.below(16);
    }
    top::smi_circuit_t first;
    first.source = packet_.source();
    first.destination = packet_.destination();
    first.port = packet_.port();
    first.operation = static_cast<unsigned>(packet_.operation());
    first.count = packet_.count();
    first.packets = packet_.element(0, 2);
    first.elements = packet_.element(1, 2);
    next.packet_i.set(first);
    next.to_i.set(to_);
    taken_ = taking.chance(takes_);
    next.taken_i.set(taken_);
  }

 private:
  unsigned takes_, to_ = 0;
  bool taken_ = true;
  blocks::Packet packet_;
  blocks::Arrivals<32> arrivals_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
