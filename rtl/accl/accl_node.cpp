// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_accl_node as a node of the simulator.
#include "circuit.hpp"

namespace {

class Node final : public accl::Circuit {
 public:
  Node(std::uint64_t address, std::uint32_t ip, std::uint16_t port, unsigned number) : Circuit(number) {
    in_.engine_own_i.set(number);
    in_.engine_ended_ready_i.set(1);
    start(address, ip, port);
  }

  [[nodiscard]] Limits limits() const override { return limits_of(accl::Parameters::Slots, 0); }

 private:
  void set(const Inputs& from) override {
    in_.engine_set_valid_i.set(from.sets);
    if (from.sets)
      in_.engine_set_i.set(
          {.kind = static_cast<unsigned>(from.setting.sets),
           .index = from.setting.index,
           .value = {from.setting.value[0] | std::uint64_t{from.setting.value[1]} << 32, from.setting.value[2]}});
    in_.engine_command_valid_i.set(from.commands);
    if (from.commands) {
      in_.engine_command_kind_i.set(static_cast<unsigned>(from.command.does));
      in_.engine_command_slot_i.set(from.command.slot);
      in_.engine_command_move_i.set(thalweg::accl::move_of<top::move_t>(from.command.move));
    }
  }
  void get(Outputs& to) const override {
    to.takes_command = out_.engine_command_ready_o.get() != 0;
    to.ended = out_.engine_ended_valid_o.get() != 0;
    to.slot = static_cast<unsigned>(out_.engine_ended_slot_o.get());
    to.how = static_cast<How>(out_.engine_ended_how_o.get());
    to.length = out_.engine_ended_length_o.get();
    to.moves = out_.engine_moves_o.get() != 0;
    to.moves_slot = static_cast<unsigned>(out_.engine_moves_slot_o.get());
  }
};

}  // namespace

extern "C" thalweg::accl::NodeCircuit* accl_make_node(std::uint64_t address, std::uint32_t ip, std::uint16_t port,
                                                      unsigned number) {
  return new Node(address, ip, port, number);
}
