// SPDX-License-Identifier: Apache-2.0
// A hub with a cluster's parameters, which `thalweg rtl export` writes to tw_cluster_pkg; one reset for its two clocks, and credits
// in whole bytes, for streams.
//
// Order: that of the hub. Latency: that of the hub; it leaves reset three edges of each clock after rst_i falls. Throughput: that of
// the hub. Storage: that of the hub. Critical path: that of the hub.
module tw_top
  import tw_peach2_pkg::*;
  import tw_cluster_pkg::*;
#(
    localparam int unsigned Links = 4,
    localparam int unsigned MemoryBits = 25
) (
    input logic net_clk_i,
    input logic bus_clk_i,
    input logic rst_i,

    input logic [15:0]         own_i,  /// requester and completer ID; constant
    input logic [BaseBits-1:0] base_i, /// the hub's own GByte; constant

    input  logic  [Links-1:0]      net_in_valid_i,
    input  word_t [Links-1:0]      net_in_data_i,
    input  logic  [Links-1:0]      net_in_last_i,
    output logic  [Links-1:0]      net_freed_valid_o,
    output logic  [Links-1:0][7:0] net_freed_data_o,
    output logic  [Links-1:0]      net_out_valid_o,
    output word_t [Links-1:0]      net_out_data_o,
    output logic  [Links-1:0]      net_out_last_o,
    input  logic  [Links-1:0]      net_credit_valid_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic  [Links-1:0][7:0] net_credit_data_i,
    // verilator lint_on UNUSEDSIGNAL

    output logic                  memory_valid_o,
    input  logic                  memory_ready_i,
    output logic                  memory_write_o,
    output logic [MemoryBits-1:0] memory_address_o,
    output logic [         127:0] memory_data_o,
    output logic [          15:0] memory_enable_o,
    input  logic                  memory_reply_valid_i,
    input  logic [         127:0] memory_reply_data_i
);
  logic net_rst, bus_rst;
  tw_reset_sync net_reset (
      .clk_i(net_clk_i),
      .rst_i,
      .rst_o(net_rst)
  );
  tw_reset_sync bus_reset (
      .clk_i(bus_clk_i),
      .rst_i,
      .rst_o(bus_rst)
  );

  logic [Links-1:0][UnitsBits-1:0] freed_units, credit_units;
  for (genvar l = 0; l < Links; l++) begin : credits
    assign net_freed_data_o[l] = 8'(freed_units[l]);
    assign credit_units[l] = net_credit_data_i[l][UnitsBits-1:0];
  end

  tw_hub #(
      .Windows (Windows),
      .Packets (Packets),
      .Units   (Units),
      .Rate    (Rate),
      .SouthRate(SouthRate),
      .Scale   (Scale),
      .Timeout (Timeout),
      .Reads   (Reads),
      .BusReads(BusReads),
      .RamBits (RamBits),
      .Contexts(Contexts),
      .Sums    (Sums),
      .Records (Records),
      .Latency (Latency),
      .Pairs   (Pairs),
      .Starts  (Starts)
  ) hub (
      .net_clk_i,
      .net_rst_i               (net_rst),
      .net_own_i               (own_i),
      .net_base_i              (base_i),
      .net_in_valid_i,
      .net_in_data_i,
      .net_in_last_i,
      .net_freed_valid_o,
      .net_freed_units_o       (freed_units),
      .net_out_valid_o,
      .net_out_data_o,
      .net_out_last_o,
      .net_credit_valid_i,
      .net_credit_units_i      (credit_units),
      .bus_clk_i,
      .bus_rst_i               (bus_rst),
      .bus_memory_valid_o      (memory_valid_o),
      .bus_memory_ready_i      (memory_ready_i),
      .bus_memory_write_o      (memory_write_o),
      .bus_memory_address_o    (memory_address_o),
      .bus_memory_data_o       (memory_data_o),
      .bus_memory_enable_o     (memory_enable_o),
      .bus_memory_reply_valid_i(memory_reply_valid_i),
      .bus_memory_reply_data_i (memory_reply_data_i)
  );
endmodule
