// SPDX-License-Identifier: Apache-2.0
// Forwards packets from inputs to outputs, one packet after another: a free output serves the next input that has a
// packet for it, round-robin, until the packet's last word.
//
// Order: kept from input to output. Latency: a packet's first word is at the output two cycles after its input shows
// it, if the output is free; other words one cycle. Throughput: a word per cycle at each output and each input; one
// cycle is lost between two packets of one input, none between packets of different inputs. Storage: two words per
// output. All outputs depend only on registers. Critical path: from the owners through the selection of an input's word
// to an output's skid register, or from in_to_i through the arbiter to the owner.
module tw_stream_switch #(
    parameter int unsigned Inputs  = 4,    /// at least 1
    parameter int unsigned Outputs = 4,    /// at least 1
    parameter int unsigned Width   = 256,  /// bits of a word, at least 1
    localparam int unsigned ToWidth = Outputs > 1 ? $clog2(Outputs) : 1,
    localparam int unsigned FromWidth = Inputs > 1 ? $clog2(Inputs) : 1
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic [ Inputs-1:0]              in_valid_i,
    output logic [ Inputs-1:0]              in_ready_o,
    input  logic [ Inputs-1:0][  Width-1:0] in_data_i,
    input  logic [ Inputs-1:0]              in_last_i,
    input  logic [ Inputs-1:0][ToWidth-1:0] in_to_i,     /// the packet's output; the same for all its words
    output logic [Outputs-1:0]              out_valid_o,
    input  logic [Outputs-1:0]              out_ready_i,
    output logic [Outputs-1:0][  Width-1:0] out_data_o,
    output logic [Outputs-1:0]              out_last_o
);
  if (Inputs < 1 || Outputs < 1 || Width < 1) begin : check_sizes
    $error("tw_stream_switch: Inputs, Outputs and Width must be at least 1");
  end

  logic [Outputs-1:0][Inputs-1:0] takes;  // input whose word an output takes now
  logic [Outputs-1:0][Inputs-1:0] owns;   // input whose packet an output serves
  logic [Inputs-1:0] owned;               // by any output
  always_comb begin
    in_ready_o = '0;
    owned = '0;
    for (int unsigned o = 0; o < Outputs; o++) begin
      in_ready_o |= takes[o];
      owned |= owns[o];
    end
  end

  for (genvar o = 0; o < Outputs; o++) begin : outputs
    logic busy_q, room;
    logic [FromWidth-1:0] from_q;
    logic [Inputs-1:0] asks;
    logic asked;
    logic [FromWidth-1:0] next;

    assign owns[o]  = busy_q ? Inputs'(1) << from_q : '0;
    assign takes[o] = room ? owns[o] : '0;
    wire moves = busy_q && room && in_valid_i[from_q];
    wire chooses = !busy_q || (moves && in_last_i[from_q]);
    for (genvar i = 0; i < Inputs; i++) begin : inputs
      assign asks[i] = in_valid_i[i] && !owned[i] && in_to_i[i] == ToWidth'(o);
    end

    tw_arbiter #(
        .Inputs(Inputs)
    ) arbiter (
        .clk_i,
        .rst_i,
        .request_i     (asks),
        .served_i      (chooses && asked),
        .grant_o       (),
        .winner_valid_o(asked),
        .winner_index_o(next)
    );

    always_ff @(posedge clk_i) begin
      if (rst_i) busy_q <= 1'b0;
      else if (chooses) busy_q <= asked;
      if (chooses) from_q <= next;
    end

    tw_skid #(
        .Width(Width + 1)
    ) out (
        .clk_i,
        .rst_i,
        .in_valid_i (moves),
        .in_ready_o (room),
        .in_data_i  ({in_last_i[from_q], in_data_i[from_q]}),
        .out_valid_o(out_valid_o[o]),
        .out_ready_i(out_ready_i[o]),
        .out_data_o ({out_last_o[o], out_data_o[o]})
    );
  end

`ifndef SYNTHESIS
  logic shared;
  always_comb begin
    shared = 1'b0;
    for (int unsigned o = 0; o < Outputs; o++) for (int unsigned p = 0; p < o; p++) shared |= (owns[o] & owns[p]) != '0;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) one_owner : assert (!shared);
  end
`endif
endmodule
