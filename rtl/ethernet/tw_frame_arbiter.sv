// SPDX-License-Identifier: Apache-2.0
// Merges several streams into one, by whole frames, round-robin among the inputs with a frame.
//
// With a frame's last word the grant passes to the next input that has a word in that cycle. If there is none, it stays, and passes to the first input
// that has one later, whose frame begins a cycle after that.
//
// Order: kept for each input. Latency: one cycle, and one more if the grant passes while idle. Throughput: a word per cycle, also
// between frames of different inputs. Storage: two words. All outputs are registers, or two of them with a gate. Critical path: from the word's last
// and valid bits through tw_arbiter to the owner.
module tw_frame_arbiter
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned Inputs = 2  /// at least 2
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic [Inputs-1:0]               in_valid_i,
    output logic [Inputs-1:0]               in_ready_o,
    input  logic [Inputs-1:0][WordBits-1:0] in_data_i,
    input  logic [Inputs-1:0][WordBytes-1:0] in_keep_i,
    input  logic [Inputs-1:0]               in_last_i,
    output logic                            tx_valid_o,
    input  logic                            tx_ready_i,
    output logic [WordBits-1:0]             tx_data_o,
    output logic [WordBytes-1:0]            tx_keep_o,
    output logic                            tx_last_o
);
  if (Inputs < 2) begin : check_inputs
    $error("tw_frame_arbiter: Inputs must be at least 2");
  end

  typedef struct packed {
    logic last;
    logic [WordBytes-1:0] keep;
    logic [WordBits-1:0] data;
  } word_t;

  logic [Inputs-1:0] owner_q, next;  // one-hot
  logic inside_q, ready, passes;
  word_t word, front;

  wire valid = (in_valid_i & owner_q) != 0;
  wire last = (in_last_i & owner_q) != 0;
  wire ends = valid && ready && last;
  wire idle = !inside_q && !valid;
  wire [Inputs-1:0] others = in_valid_i & ~owner_q;

  assign in_ready_o = owner_q & {Inputs{ready}};
  assign tx_data_o = front.data;
  assign tx_keep_o = front.keep;
  assign tx_last_o = front.last;

  always_comb begin
    word = '0;
    for (int unsigned i = 0; i < Inputs; i++) if (owner_q[i]) word |= {in_last_i[i], in_keep_i[i], in_data_i[i]};
  end

  tw_arbiter #(
      .Inputs(Inputs)
  ) turns (
      .clk_i,
      .rst_i,
      .request_i     (others),
      .served_i      (passes && (ends || idle)),
      .grant_o       (next),
      .winner_valid_o(passes),
      .winner_index_o()
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      owner_q  <= Inputs'(1);
      inside_q <= 1'b0;
    end else begin
      if (passes && (ends || idle)) owner_q <= next;
      if (valid && ready) inside_q <= !last;
    end
  end

  tw_skid #(
      .Width($bits(word_t))
  ) skid (
      .clk_i,
      .rst_i,
      .in_valid_i (valid),
      .in_ready_o (ready),
      .in_data_i  (word),
      .out_valid_o(tx_valid_o),
      .out_ready_i(tx_ready_i),
      .out_data_o (front)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) one_owner : assert ($onehot(owner_q));
  end
`endif
endmodule
