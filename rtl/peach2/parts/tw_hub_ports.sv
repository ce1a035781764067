// SPDX-License-Identifier: Apache-2.0
// The ports of a hub: translates the addresses of packets at links, stores received packets, routes them by the windows and switches
// them; packets to a link wait for its rate and its credits. Links are the lowest ports; those above them are inside the hub.
//
// Order: from port to port, kept. Latency: a packet's words, and 10 cycles from link to link. Throughput: a word per cycle for each port,
// less at links. Storage: that of the ingresses. Critical path: that of the blocks.
module tw_hub_ports
  import tw_peach2_pkg::*;
#(
    parameter int unsigned Windows = 16,
    parameter int unsigned Packets = 32,  /// capacity of each end of a link
    parameter int unsigned Units = 256,  /// the same in units of 16 bytes of data
    parameter int unsigned Rate = 16,  /// bytes in Scale cycles of each link but south
    parameter int unsigned SouthRate = 32,
    parameter int unsigned Scale = 1,
    parameter int unsigned Links = 4
) (
    input logic clk_i,
    input logic rst_i,

    input logic [        15:0] own_i,
    input logic [BaseBits-1:0] base_i,
    input logic [2**NodeBits-1:0] owners_i,

    input logic load_valid_i,
    input logic [LoadBits-1:0] load_index_i,  /// a register's number
    input window_t load_window_i,

    input  logic  [Links-1:0]                link_in_valid_i,
    input  word_t [Links-1:0]                link_in_data_i,
    input  logic  [Links-1:0]                link_in_last_i,
    output logic  [Links-1:0]                link_freed_valid_o,
    output logic  [Links-1:0][UnitsBits-1:0] link_freed_units_o,
    output logic  [Links-1:0]                link_out_valid_o,
    output word_t [Links-1:0]                link_out_data_o,
    output logic  [Links-1:0]                link_out_last_o,
    input  logic  [Links-1:0]                link_credit_valid_i,
    input  logic  [Links-1:0][UnitsBits-1:0] link_credit_units_i,

    input  logic  [Ports-1:Links] in_valid_i,
    output logic  [Ports-1:Links] in_ready_o,
    input  word_t [Ports-1:Links] in_data_i,
    input  logic  [Ports-1:Links] in_last_i,
    output logic  [Ports-1:Links] out_valid_o,
    input  logic  [Ports-1:Links] out_ready_i,
    output word_t [Ports-1:Links] out_data_o,
    output logic  [Ports-1:Links] out_last_o,

    output logic [Ports-1:0] refused_o,
    output logic [Ports-1:0] refused_read_o,
    output refusal_e [Ports-1:0] refused_reason_o,
    output source_t [Ports-1:0] refused_source_o,
    output logic [Ports-1:0][AddressBits-1:0] refused_address_o
);
  // A packet with an odd number of units has up to units / 2 + 2 1/2 words: a header, and lines of which the first
  // and the last hold one double word.
  localparam int unsigned LinkWords = (5 * Packets + Units) / 2;

  logic [Ports-1:0] in_valid, in_ready, in_last;
  word_t [Ports-1:0] in_data;
  logic [Ports-1:0] shown, taken, shown_last;
  word_t [Ports-1:0] shown_data;
  logic [Ports-1:0][2:0] shown_to;
  logic [Ports-1:0] out_valid, out_ready, out_last;
  word_t [Ports-1:0] out_data;
  // verilator lint_off UNUSEDSIGNAL
  logic [Ports-1:0] freed;  // only links return credits
  logic [Ports-1:0][UnitsBits-1:0] freed_units;
  // verilator lint_on UNUSEDSIGNAL

  logic [Links-1:0] came_valid, came_last;
  word_t [Links-1:0] came_data;
  assign in_valid = {in_valid_i, came_valid};
  assign in_data = {in_data_i, came_data};
  assign in_last = {in_last_i, came_last};
  wire loads_window = load_valid_i && load_index_i[6:3] != Translations;
  wire loads_translation = load_valid_i && load_index_i[6:3] == Translations;
  assign in_ready_o = in_ready[Ports-1:Links];
  assign out_valid_o = out_valid[Ports-1:Links];
  assign out_data_o = out_data[Ports-1:Links];
  assign out_last_o = out_last[Ports-1:Links];
  assign out_ready[Ports-1:Links] = out_ready_i;
  assign link_freed_valid_o = freed[Links-1:0];
  assign link_freed_units_o = freed_units[Links-1:0];

  for (genvar p = 0; p < Ports; p++) begin : ports
    localparam logic Inside = p >= Links;
    tw_ingress #(
        .Port   (3'(p)),
        .Reads  (p == 32'(North) || p == 32'(Engine) || p == 32'(Results)),
        .Answers(p == 32'(North) || p == 32'(Bus) || p == 32'(Side)),
        .Words  (Inside ? 2 * 10 : LinkWords),
        .Packets(Inside ? 8 : Packets),
        .Windows(Windows)
    ) ingress (
        .clk_i           (clk_i),
        .rst_i           (rst_i),
        .own_i           (own_i),
        .base_i          (base_i),
        .owners_i        (owners_i),
        .load_valid_i    (loads_window),
        .load_index_i    (load_index_i[$clog2(Windows)-1:0]),
        .load_window_i   (load_window_i),
        .in_valid_i      (in_valid[p]),
        .in_ready_o      (in_ready[p]),
        .in_data_i       (in_data[p]),
        .in_last_i       (in_last[p]),
        .out_valid_o     (shown[p]),
        .out_ready_i     (taken[p]),
        .out_data_o      (shown_data[p]),
        .out_last_o      (shown_last[p]),
        .out_to_o        (shown_to[p]),
        .freed_valid_o   (freed[p]),
        .freed_units_o   (freed_units[p]),
        .refused_valid_o (refused_o[p]),
        .refused_reason_o(refused_reason_o[p]),
        .refused_read_o  (refused_read_o[p]),
        .refused_source_o(refused_source_o[p]),
        .refused_address_o(refused_address_o[p])
    );
  end

  tw_stream_switch #(
      .Inputs (Ports),
      .Outputs(Ports),
      .Width  (WordBits)
  ) packets (
      .clk_i      (clk_i),
      .rst_i      (rst_i),
      .in_valid_i (shown),
      .in_ready_o (taken),
      .in_data_i  (shown_data),
      .in_last_i  (shown_last),
      .in_to_i    (shown_to),
      .out_valid_o(out_valid),
      .out_ready_i(out_ready),
      .out_data_o (out_data),
      .out_last_o (out_last)
  );

  for (genvar l = 0; l < Links; l++) begin : links
    logic goes_valid, goes_ready, goes_last;
    word_t goes_data;
    tw_translate #(
        .Inbound(1'b1)
    ) inbound (
        .clk_i        (clk_i),
        .rst_i        (rst_i),
        .load_valid_i (loads_translation && load_index_i[2:0] == {2'(l), 1'b0}),
        .load_window_i(load_window_i),
        .in_valid_i   (link_in_valid_i[l]),
        .in_ready_o   (),
        .in_data_i    (link_in_data_i[l]),
        .in_last_i    (link_in_last_i[l]),
        .out_valid_o  (came_valid[l]),
        .out_ready_i  (1'b1),
        .out_data_o   (came_data[l]),
        .out_last_o   (came_last[l])
    );
    tw_translate #(
        .Inbound(1'b0)
    ) outbound (
        .clk_i        (clk_i),
        .rst_i        (rst_i),
        .load_valid_i (loads_translation && load_index_i[2:0] == {2'(l), 1'b1}),
        .load_window_i(load_window_i),
        .in_valid_i   (out_valid[l]),
        .in_ready_o   (out_ready[l]),
        .in_data_i    (out_data[l]),
        .in_last_i    (out_last[l]),
        .out_valid_o  (goes_valid),
        .out_ready_i  (goes_ready),
        .out_data_o   (goes_data),
        .out_last_o   (goes_last)
    );
    tw_egress #(
        .Rate   (l == 32'(South) ? SouthRate : Rate),
        .Scale  (Scale),
        .Packets(Packets),
        .Units  (Units)
    ) egress (
        .clk_i         (clk_i),
        .rst_i         (rst_i),
        .in_valid_i    (goes_valid),
        .in_ready_o    (goes_ready),
        .in_data_i     (goes_data),
        .in_last_i     (goes_last),
        .out_valid_o   (link_out_valid_o[l]),
        .out_data_o    (link_out_data_o[l]),
        .out_last_o    (link_out_last_o[l]),
        .notice_valid_i  (link_in_valid_i[l] && link_in_last_i[l]),
        .credit_valid_i(link_credit_valid_i[l]),
        .credit_units_i(link_credit_units_i[l])
    );
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) credits_suffice : assert ((came_valid & ~in_ready[Links-1:0]) == '0);
  end
`endif
endmodule
