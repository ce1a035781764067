// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_accl_engine as an engine of the simulator.
#include "circuit.hpp"

namespace {

using accl::Parameters;

class Engine final : public accl::Circuit {
 public:
  Engine(std::uint64_t address, std::uint32_t ip, std::uint16_t port, unsigned number) : Circuit(number) {
    in_.engine_access_write_i.set(1);
    in_.engine_status_ready_i.set(1);
    start(address, ip, port);
  }

  [[nodiscard]] Limits limits() const override { return limits_of(2 * Parameters::Calls, Parameters::Calls); }

 private:
  void set(const Inputs& from) override {
    in_.engine_end_valid_i.set(from.sets);
    if (from.sets) {
      const auto& [low, middle, high] = from.setting.value;
      in_.engine_end_session_i.set(from.setting.index);
      in_.engine_end_i.set({.address = std::uint64_t{high} << 16 | middle >> 16,
                            .ip = (middle & 0xFFFF) << 16 | low >> 16,
                            .port = low & 0xFFFF});
    }
    in_.engine_access_valid_i.set(from.exchange.has_value());
    if (from.exchange) {
      in_.engine_access_at_i.set(from.exchange->at);
      in_.engine_access_data_i.set(from.exchange->data);
    }
    for (unsigned k = 0; k < Parameters::Ports; ++k) {
      in_.engine_call_valid_i.set_bit(k, from.calls[k].has_value());
      if (from.calls[k]) in_.engine_call_data_i.set(*from.calls[k], k);
    }
  }
  void get(Outputs& to) const override {
    to.takes_setting = out_.engine_end_ready_o.get() != 0;
    to.takes_write = out_.engine_access_ready_o.get() != 0;
    for (unsigned k = 0; k < Parameters::Ports; ++k) to.takes_call[k] = out_.engine_call_ready_o.bit(k);
    to.status.reset();
    if (out_.engine_status_valid_o.get())
      to.status = {.port = static_cast<unsigned>(out_.engine_status_port_o.get()),
                   .count = static_cast<unsigned>(out_.engine_status_count_o.get()),
                   .code = static_cast<std::uint32_t>(out_.engine_status_code_o.get())};
  }
};

}  // namespace

extern "C" thalweg::accl::NodeCircuit* accl_make_node(std::uint64_t address, std::uint32_t ip, std::uint16_t port,
                                                      unsigned number) {
  return new Engine(address, ip, port, number);
}
