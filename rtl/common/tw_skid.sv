// SPDX-License-Identifier: Apache-2.0
// A register stage that cuts both the forward and the backward path of a handshake.
//
// Order: kept. Latency: one cycle. Throughput: one word per cycle. Storage: two words; the second holds the word that
// arrives in the cycle in which the receiver stops. All outputs are registers, or the inverse of one. Critical path:
// from out_ready_i to the enables of both words, one gate and the fan-out.
module tw_skid #(
    parameter int unsigned Width = 32  /// bits of a word, at least 1
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             in_valid_i,
    output logic             in_ready_o,
    input  logic [Width-1:0] in_data_i,
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output logic [Width-1:0] out_data_o
);
  if (Width < 1) begin : check_width
    $error("tw_skid: Width must be at least 1");
  end

  logic [Width-1:0] main_q, spare_q;
  logic main_valid_q, spare_valid_q;

  wire push = in_valid_i && in_ready_o;
  wire advance = !main_valid_q || out_ready_i;

  assign in_ready_o  = !spare_valid_q;
  assign out_valid_o = main_valid_q;
  assign out_data_o  = main_q;

  always_ff @(posedge clk_i) begin
    if (advance) main_q <= spare_valid_q ? spare_q : in_data_i;
    else if (push) spare_q <= in_data_i;
    if (rst_i) begin
      main_valid_q  <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (advance) begin
      main_valid_q  <= spare_valid_q || push;
      spare_valid_q <= 1'b0;
    end else if (push) begin
      spare_valid_q <= 1'b1;
    end
  end

`ifndef SYNTHESIS
  logic stalled_q;
  logic [Width-1:0] stalled_data_q;

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid_o && !out_ready_i;
    stalled_data_q <= out_data_o;
    if (!rst_i) begin
      spare_needs_main : assert (main_valid_q || !spare_valid_q);
      held_while_stalled : assert (!stalled_q || (out_valid_o && out_data_o == stalled_data_q));
    end
  end
`endif
endmodule
