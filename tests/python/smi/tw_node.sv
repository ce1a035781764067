// SPDX-License-Identifier: Apache-2.0
// Stands for a rank in the test of the tops that are generated around it: takes tables, echoes elements, and counts.
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNUSEDSIGNAL */
module tw_node
  import tw_smi_pkg::*;
#(
    parameter int unsigned Links = 1,
    parameter int unsigned Endpoints = 1,
    parameter logic [Endpoints-1:0][2:0] Kinds = '0,
    parameter logic [Endpoints-1:0][7:0] Ports = '0,
    parameter logic [Endpoints-1:0][15:0] Buffers = '0,
    parameter logic [Endpoints-1:0][1:0] Sizes = '0,
    parameter int unsigned PacketBytes = 32,
    parameter int unsigned Reads = 8,
    parameter int unsigned Depth = 16,
    parameter int unsigned Latency = 8,
    parameter int unsigned Children = 15,
    parameter int unsigned Tile = 32,
    parameter int unsigned Circuits = 0,
    localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1
) (
    input  logic                                  clk_i,
    input  logic                                  rst_i,
    input  logic  [          7:0]                 rank_i,
    input  logic                                  table_valid_i,
    input  logic                                  table_receive_i,
    input  logic  [ LinkBits-1:0]                 table_link_i,
    input  logic  [          8:0]                 table_index_i,
    input  logic  [          7:0]                 table_data_i,
    input  logic  [    Links-1:0]                 link_in_valid_i,
    output logic  [    Links-1:0]                 link_in_ready_o,
    input  logic  [    Links-1:0][8*PacketBytes-1:0] link_in_data_i,
    output logic  [    Links-1:0]                 link_out_valid_o,
    input  logic  [    Links-1:0]                 link_out_ready_i,
    output logic  [    Links-1:0][8*PacketBytes-1:0] link_out_data_o,
    input  logic  [Endpoints-1:0]                 open_valid_i,
    output logic  [Endpoints-1:0]                 open_ready_o,
    input  open_t [Endpoints-1:0]                 open_i,
    input  logic  [Endpoints-1:0]                 element_in_valid_i,
    output logic  [Endpoints-1:0]                 element_in_ready_o,
    input  logic  [Endpoints-1:0][          63:0] element_in_data_i,
    input  logic  [Endpoints-1:0]                 element_in_flush_i,
    output logic  [Endpoints-1:0]                 element_out_valid_o,
    input  logic  [Endpoints-1:0]                 element_out_ready_i,
    output logic  [Endpoints-1:0][          63:0] element_out_data_o,
    output logic  [Endpoints-1:0][           7:0] element_out_source_o,
    output logic  [         31:0]                 strays_o
);
  // What came into the tables, and where: a line for each, as a test reads it.
  always_ff @(posedge clk_i) begin
    if (table_valid_i && !rst_i) $display("table %0d %0d %0d %0d", table_receive_i, table_link_i, table_index_i, table_data_i);
  end
  initial begin
    for (int e = 0; e < Endpoints; ++e) $display("endpoint %0d %0d %0d %0d", e, Kinds[e], Ports[e], Buffers[e]);
    $display("node %0d %0d %0d", Links, Reads, PacketBytes);
  end
  assign link_in_ready_o = link_out_ready_i;
  assign link_out_valid_o = link_in_valid_i;
  assign link_out_data_o = link_in_data_i;
  assign open_ready_o = '1;
  assign element_in_ready_o = '1;
  assign element_out_valid_o = '1;
  for (genvar e = 0; e < Endpoints; ++e) begin : gen_echo
    assign element_out_data_o[e] = {56'(e), rank_i};
    assign element_out_source_o[e] = rank_i;
  end
  assign strays_o = 32'd77;
endmodule
