// SPDX-License-Identifier: Apache-2.0
// Environment: datagrams of any lengths, with any gaps, and a MAC that accepts words at any time. The contents of words
// are not checked.
module udp_sender_proof
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned MostBytes = 80,
    parameter int unsigned Words     = 16
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic        in_valid_i,
    input logic        in_last_i,
    input logic [15:0] in_bytes_i,
    input logic        tx_ready_i
);
  logic in_ready, tx_valid;

  tw_reset_first surroundings (.*);

  tw_udp_sender #(
      .MostBytes(MostBytes),
      .Words    (Words)
  ) sender (
      .own_i     ('0),
      .in_ready_o(in_ready),
      .in_data_i ('0),
      .in_to_i   ('0),
      .tx_valid_o(tx_valid),
      .tx_data_o (),
      .tx_keep_o (),
      .tx_last_o (),
      .*
  );

  // Words in the FIFO, and including those in flight to it.
  localparam int unsigned Room = 12;
  wire [$clog2(Words):0] there = sender.fifo.write_q - sender.fifo.read_q;
  logic [7:0] all;
  always_comb begin
    all = 8'(there) + 8'(sender.valid_7q);
    for (int unsigned i = 1; i <= 6; i++) all += 8'(sender.valid_q[i]);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      finds_a_place : assert (!sender.fifo.in_valid_i || 32'(there) < Words);
      full : cover (32'(there) == Words - Room + 5 && !in_ready);
      leaves : cover (tx_valid && tx_ready_i);

      lemma_used : assert (32'(sender.fifo.used_q) <= Words && 32'(sender.fifo.used_q) + 1 >= 32'(there));
      lemma_room : assert (!sender.room || 32'(sender.fifo.used_q) + 1 + Room <= Words);
      lemma_ready : assert (!in_ready || 32'(all) <= Words - Room + 8);
      lemma_more : assert (!sender.more_q || (!in_ready && 32'(all) <= Words - Room + 9));
      lemma_all : assert (32'(all) <= Words - Room + 10);
      lemma_kept : assert (($clog2(Words) + 1)'(sender.fifo.kept_q - sender.fifo.read_q) <= there);
    end
  end
endmodule
