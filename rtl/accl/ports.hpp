// SPDX-License-Identifier: Apache-2.0
// The ports of memory, kernels and MAC, which tw_accl_node and tw_accl_engine have alike.
#pragma once

#include <cstdint>

#include "accl/node_circuit.hpp"
#include "top.hpp"

namespace accl {

using thalweg::accl::NodeCircuit;

inline void set_ports(const NodeCircuit::Inputs& from, top::Inputs& in) {
  for (unsigned k = 0; k < 2; ++k) {
    const auto& read = from.reads[k];
    in.engine_request_ready_i.set_bit(k, read.accepts);
    in.engine_answer_valid_i.set_bit(k, read.answers);
    if (read.answers) in.engine_answer_data_i.set(read.answer, k);
    const auto& write = from.writes[k];
    in.engine_write_ready_i.set_bit(k, write.accepts);
    in.engine_data_ready_i.set_bit(k, write.takes);
    in.engine_written_i.set_bit(k, write.written);
  }
  in.engine_from_kernel_valid_i.set(from.from_kernel);
  if (from.from_kernel) in.engine_from_kernel_data_i.set(from.word);
  in.mac_tx_ready_i.set(from.takes);
  in.mac_rx_valid_i.set(from.comes);
  if (from.comes) {
    in.mac_rx_data_i.set(from.data);
    in.mac_rx_keep_i.set(from.keep);
    in.mac_rx_last_i.set(from.last);
    in.mac_rx_error_i.set(from.damaged);
  }
}

inline void get_ports(const top::Outputs& out, NodeCircuit::Outputs& to) {
  for (unsigned k = 0; k < 2; ++k) {
    auto& read = to.reads[k];
    read.request = {out.engine_request_valid_o.bit(k), out.engine_request_host_o.bit(k), out.engine_request_at_o.get(k),
                    static_cast<unsigned>(out.engine_request_bytes_o.get(k))};
    read.takes = out.engine_answer_ready_o.bit(k);
    auto& write = to.writes[k];
    write.request = {out.engine_write_valid_o.bit(k), out.engine_write_host_o.bit(k), out.engine_write_at_o.get(k),
                     static_cast<unsigned>(out.engine_write_bytes_o.get(k))};
    write.offers = out.engine_data_valid_o.bit(k);
    if (write.offers) write.data = out.engine_data_o.get(k);
  }
  to.takes_word = out.engine_from_kernel_ready_o.get() != 0;
  to.to_kernel = out.engine_to_kernel_valid_o.get() != 0;
  if (to.to_kernel) {
    to.to_kernel_data = out.engine_to_kernel_data_o.get();
    to.to_kernel_last = out.engine_to_kernel_last_o.get() != 0;
    to.to_kernel_number = static_cast<unsigned>(out.engine_to_kernel_number_o.get());
  }
  to.offers = out.mac_tx_valid_o.get() != 0;
  if (to.offers) {
    to.data = out.mac_tx_data_o.get();
    to.keep = out.mac_tx_keep_o.get();
    to.last = out.mac_tx_last_o.get() != 0;
  }
  for (unsigned k = 0; k < to.counts.size(); ++k) to.counts[k] = static_cast<std::uint32_t>(out.engine_counts_o.get(k));
  to.own_dropped = static_cast<std::uint32_t>(out.engine_own_dropped_o.get());
  to.dropped = static_cast<std::uint32_t>(out.mac_dropped_o.get());
}

}  // namespace accl
