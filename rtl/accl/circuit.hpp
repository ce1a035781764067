// SPDX-License-Identifier: Apache-2.0
// Common part of the Verilated tw_accl_node and tw_accl_engine: clocks, and the ports of memory, kernels and MAC.
#pragma once

#include <cstdint>

#include "accl/node_circuit.hpp"
#include "engine/edges.hpp"
#include "top.hpp"

namespace accl {

using top::Parameters;

class Circuit : public thalweg::accl::NodeCircuit, private engine::Edges<Vtop> {
 public:
  const Outputs& show(const Inputs& from) final {
    set(from);
    set_ports(from);
    top::load(model_, in_);
    settle();
    top::store(model_, out_);
    get(shown_);
    get_ports(shown_);
    return shown_;
  }
  void edge(bool line) final { evaluate(1U << static_cast<unsigned>(line)); }

 protected:
  explicit Circuit(unsigned number) : Edges(number) {}

  /// Sets the remaining constant inputs and resets the model; called once.
  void start(std::uint64_t address, std::uint32_t ip, std::uint16_t port) {
    in_.mac_own_i.set({.address = address, .ip = ip, .port = port});
    in_.engine_to_kernel_ready_i.set(1);
    reset(in_);
    for (unsigned edge = 0; edge < 16; ++edge) evaluate(kAll);  // until the FIFOs are ready
  }
  static constexpr Limits limits_of(unsigned slots, unsigned calls) {
    return {.slots = slots,
            .buffers = Parameters::Buffers,
            .communicators = Parameters::Communicators,
            .ranks = Parameters::Ranks,
            .packets = Parameters::MostPackets,
            .ends = Parameters::Ends,
            .packet_bytes = Parameters::PacketBytes,
            .calls = calls};
  }
  /// Drives and samples the ports that only one of the modules has.
  virtual void set(const Inputs& from) = 0;
  virtual void get(Outputs& to) const = 0;

  top::Inputs in_{};
  top::Outputs out_{};

 private:
  void set_ports(const Inputs& from) {
    for (unsigned k = 0; k < 2; ++k) {
      const auto& read = from.reads[k];
      in_.engine_request_ready_i.set_bit(k, read.accepts);
      in_.engine_answer_valid_i.set_bit(k, read.answers);
      if (read.answers) in_.engine_answer_data_i.set(read.answer, k);
      const auto& write = from.writes[k];
      in_.engine_write_ready_i.set_bit(k, write.accepts);
      in_.engine_data_ready_i.set_bit(k, write.takes);
      in_.engine_written_i.set_bit(k, write.written);
    }
    in_.engine_from_kernel_valid_i.set(from.from_kernel);
    if (from.from_kernel) in_.engine_from_kernel_data_i.set(from.word);
    in_.mac_tx_ready_i.set(from.takes);
    in_.mac_rx_valid_i.set(from.comes);
    if (from.comes) {
      in_.mac_rx_data_i.set(from.data);
      in_.mac_rx_keep_i.set(from.keep);
      in_.mac_rx_last_i.set(from.last);
      in_.mac_rx_error_i.set(from.damaged);
    }
  }
  void get_ports(Outputs& to) const {
    for (unsigned k = 0; k < 2; ++k) {
      auto& read = to.reads[k];
      read.request = {out_.engine_request_valid_o.bit(k), out_.engine_request_host_o.bit(k),
                      out_.engine_request_at_o.get(k), static_cast<unsigned>(out_.engine_request_bytes_o.get(k))};
      read.takes = out_.engine_answer_ready_o.bit(k);
      auto& write = to.writes[k];
      write.request = {out_.engine_write_valid_o.bit(k), out_.engine_write_host_o.bit(k), out_.engine_write_at_o.get(k),
                       static_cast<unsigned>(out_.engine_write_bytes_o.get(k))};
      write.offers = out_.engine_data_valid_o.bit(k);
      if (write.offers) write.data = out_.engine_data_o.get(k);
    }
    to.takes_word = out_.engine_from_kernel_ready_o.get() != 0;
    to.to_kernel = out_.engine_to_kernel_valid_o.get() != 0;
    if (to.to_kernel) {
      to.to_kernel_data = out_.engine_to_kernel_data_o.get();
      to.to_kernel_last = out_.engine_to_kernel_last_o.get() != 0;
      to.to_kernel_number = static_cast<unsigned>(out_.engine_to_kernel_number_o.get());
    }
    to.offers = out_.mac_tx_valid_o.get() != 0;
    if (to.offers) {
      to.data = out_.mac_tx_data_o.get();
      to.keep = out_.mac_tx_keep_o.get();
      to.last = out_.mac_tx_last_o.get() != 0;
    }
    for (unsigned k = 0; k < to.counts.size(); ++k)
      to.counts[k] = static_cast<std::uint32_t>(out_.engine_counts_o.get(k));
    to.own_dropped = static_cast<std::uint32_t>(out_.engine_own_dropped_o.get());
    to.dropped = static_cast<std::uint32_t>(out_.mac_dropped_o.get());
    to.message_waits = out_.engine_message_waits_o.get();
    to.kernel_waits = out_.engine_kernel_waits_o.get();
  }

  Outputs shown_;
};

}  // namespace accl
