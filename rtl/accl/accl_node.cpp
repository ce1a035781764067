// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_accl_node as a node of the simulator.

#include "accl/node_circuit.hpp"
#include "engine/edges.hpp"
#include "ports.hpp"

namespace {

using thalweg::accl::NodeCircuit;
using top::Parameters;

class Circuit final : public NodeCircuit, private engine::Edges<Vtop> {
 public:
  Circuit(std::uint64_t address, std::uint32_t ip, std::uint16_t port, unsigned number) : Edges(number) {
    in_.mac_own_i.set({.address = address, .ip = ip, .port = port});
    in_.engine_own_i.set(number);
    in_.engine_ended_ready_i.set(1);
    in_.engine_to_kernel_ready_i.set(1);
    Edges::reset(in_);
    for (unsigned edge = 0; edge < 16; ++edge) evaluate(kAll);  // its FIFOs are ready
  }

  [[nodiscard]] Limits limits() const override {
    return {.slots = Parameters::Slots,
            .buffers = Parameters::Buffers,
            .communicators = Parameters::Communicators,
            .ranks = Parameters::Ranks,
            .packets = Parameters::MostPackets,
            .ends = Parameters::Ends,
            .packet_bytes = Parameters::PacketBytes};
  }

  const Outputs& show(const Inputs& from) override {
    in_.engine_set_valid_i.set(from.sets);
    if (from.sets)
      in_.engine_set_i.set(
          {.kind = static_cast<unsigned>(from.setting.sets),
           .index = from.setting.index,
           .value = {from.setting.value[0] | std::uint64_t{from.setting.value[1]} << 32, from.setting.value[2]}});
    in_.engine_command_valid_i.set(from.commands);
    if (from.commands) command(from.command);
    accl::set_ports(from, in_);
    top::load(model_, in_);
    settle();
    top::store(model_, out_);
    auto& to = shown_;
    to.takes_command = out_.engine_command_ready_o.get() != 0;
    to.ended = out_.engine_ended_valid_o.get() != 0;
    to.slot = static_cast<unsigned>(out_.engine_ended_slot_o.get());
    to.how = static_cast<How>(out_.engine_ended_how_o.get());
    to.length = out_.engine_ended_length_o.get();
    to.moves = out_.engine_moves_o.get() != 0;
    to.moves_slot = static_cast<unsigned>(out_.engine_moves_slot_o.get());
    to.message_waits = out_.engine_message_waits_o.get();
    to.kernel_waits = out_.engine_kernel_waits_o.get();
    accl::get_ports(out_, to);
    return to;
  }
  void edge(bool line) override { evaluate(1U << static_cast<unsigned>(line)); }

 private:
  void command(const Command& of) {
    in_.engine_command_kind_i.set(static_cast<unsigned>(of.does));
    in_.engine_command_slot_i.set(of.slot);
    in_.engine_command_move_i.set(thalweg::accl::move_of<top::move_t>(of.move));
  }

  top::Inputs in_{};
  top::Outputs out_{};
  Outputs shown_;
};

}  // namespace

extern "C" thalweg::accl::NodeCircuit* accl_make_node(std::uint64_t address, std::uint32_t ip, std::uint16_t port,
                                                      unsigned number) {
  return new Circuit(address, ip, port, number);
}
