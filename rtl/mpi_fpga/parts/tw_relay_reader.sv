// SPDX-License-Identifier: Apache-2.0
// A copy of a relay's memory with its reader, which reads one packet at a time and keeps the freed entries until they
// are reused.
//
// Order: that of a packet's flits. Latency: a packet's first flit is at data_o in the cycle after begin_valid_i.
// Throughput: a flit per cycle. Storage: the flits, each with a next pointer, and the free entries. busy_o, data_o,
// last_o and free_* depend only on registers, freed_* on src_ready_i. Critical path: from begin_valid_i or src_ready_i
// to the address of the flit that is read.
module tw_relay_reader
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*;
#(
    parameter int unsigned Lanes = 3,
    parameter int unsigned Classes = 2,
    parameter int unsigned Entries = 2048,  /// flits
    localparam int unsigned LaneWidth = Lanes > 1 ? $clog2(Lanes) : 1,
    localparam int unsigned ClassWidth = Classes > 1 ? $clog2(Classes) : 1,
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  store_valid_i,
    input logic                  store_head_i,
    input logic [255:0]          store_data_i,
    input logic [EntryWidth-1:0] store_entry_i,
    input logic [EntryWidth-1:0] store_previous_i,  /// entry of the packet's previous flit

    // A packet to read, only while idle.
    input logic                  begin_valid_i,
    input logic                  begin_host_i,   /// for the host, which accepts a flit in each cycle,
    input logic [LaneWidth-1:0]  begin_lane_i,   /// or for this lane
    input logic [2:0]            begin_size_i,   /// log2 of its flits
    input logic [EntryWidth-1:0] begin_entry_i,

    output logic             busy_o,
    output logic [255:0]     data_o,
    output logic             last_o,
    input  logic [Lanes-1:0] src_ready_i,

    // Room freed in the buffer, when the packet's last flit is sent.
    output logic                  freed_valid_o,
    output logic [ClassWidth-1:0] freed_class_o,
    output logic [7:0]            freed_flits_o,

    // Entries that can be reused.
    output logic                  free_valid_o,
    input  logic                  free_ready_i,
    output logic [EntryWidth-1:0] free_entry_o
);
  logic [255:0] flits_q[Entries];
  logic [EntryWidth-1:0] nexts_q[Entries];
  logic [255:0] data_q;
  logic [EntryWidth-1:0] next_q;
  logic [LaneWidth-1:0] lane_q;
  logic busy_q, host_q, first_q;
  logic [7:0] left_q, flits_read_q;
  logic [ClassWidth-1:0] class_q;

  wire transfer = busy_q && (host_q || src_ready_i[lane_q]);
  wire last = left_q == 8'd1;
  wire read = begin_valid_i || (transfer && !last);
  wire [EntryWidth-1:0] read_entry = begin_valid_i ? begin_entry_i : next_q;
  // verilator lint_off UNUSEDSIGNAL
  wire relay_header_t header = relay_header_t'(data_q[127:64]);
  // verilator lint_on UNUSEDSIGNAL

  assign busy_o = busy_q;
  assign data_o = data_q;
  assign last_o = last;
  assign freed_valid_o = transfer && last;
  assign freed_class_o = first_q ? ClassWidth'(header.route_class) : class_q;
  assign freed_flits_o = flits_read_q;

  always_ff @(posedge clk_i) begin
    if (store_valid_i) flits_q[store_entry_i] <= store_data_i;
    if (store_valid_i && !store_head_i) nexts_q[store_previous_i] <= store_entry_i;
    if (read) data_q <= flits_q[read_entry];
    if (read) next_q <= nexts_q[read_entry];
    if (transfer) begin
      left_q <= left_q - 8'd1;
      first_q <= 1'b0;
      if (first_q) class_q <= ClassWidth'(header.route_class);
      if (last) busy_q <= 1'b0;
    end
    if (begin_valid_i) begin
      busy_q <= 1'b1;
      lane_q <= begin_lane_i;
      host_q <= begin_host_i;
      first_q <= 1'b1;
      left_q <= 8'd1 << begin_size_i;
      flits_read_q <= 8'd1 << begin_size_i;
    end
    if (rst_i) busy_q <= 1'b0;
  end

  tw_fifo #(
      .Width(EntryWidth),
      .Depth(Entries)
  ) free (
      .clk_i,
      .rst_i,
      .in_valid_i (read),
      .in_ready_o (),
      .in_data_i  (read_entry),
      .out_valid_o(free_valid_o),
      .out_ready_i(free_ready_i),
      .out_data_o (free_entry_o),
      .count_o    ()
  );
endmodule
