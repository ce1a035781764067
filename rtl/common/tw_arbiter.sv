// SPDX-License-Identifier: Apache-2.0
// Round-robin arbiter: the last winner has the lowest priority.
//
// The grant goes, in the same cycle, to the first requester at or after the pointer, cyclically. If the grant is used
// (served_i), the pointer moves to the input after the winner. A requester is therefore served after at most
// Inputs-1 others.
//
// Order: round-robin. Latency: none, the outputs depend on request_i. Throughput: a grant per cycle. Storage: the
// pointer. Critical path: from request_i through the selection of the candidates and the carry chain that finds the
// lowest one to winner_index_o and the pointer.
module tw_arbiter #(
    parameter int unsigned Inputs = 4,  /// requesters, at least 1, any number
    localparam int unsigned IndexWidth = Inputs > 1 ? $clog2(Inputs) : 1
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic [    Inputs-1:0] request_i,
    input  logic                  served_i,        /// the winner is served in this cycle; only with a request
    output logic [    Inputs-1:0] grant_o,         /// one-hot; zero without requests
    output logic                  winner_valid_o,
    output logic [IndexWidth-1:0] winner_index_o
);
  if (Inputs < 1) begin : check_inputs
    $error("tw_arbiter: Inputs must be at least 1");
  end

  logic [IndexWidth-1:0] turn_q;
  logic [Inputs-1:0] at_or_after, candidates;

  always_comb begin
    for (int unsigned i = 0; i < Inputs; i++) at_or_after[i] = request_i[i] && IndexWidth'(i) >= turn_q;
  end
  assign candidates  = at_or_after != 0 ? at_or_after : request_i;
  assign grant_o     = candidates & (~candidates + Inputs'(1));

  assign winner_valid_o = request_i != 0;
  always_comb begin
    winner_index_o = 0;
    for (int unsigned i = 0; i < Inputs; i++) if (grant_o[i]) winner_index_o |= IndexWidth'(i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) turn_q <= 0;
    else if (served_i) turn_q <= winner_index_o == IndexWidth'(Inputs - 1) ? 0 : winner_index_o + 1;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      served_only_with_request : assert (!served_i || winner_valid_o);
      turn_in_range : assert (32'(turn_q) < Inputs);
      one_hot : assert ((grant_o & (grant_o - Inputs'(1))) == 0);
      granted_requested : assert ((grant_o & ~request_i) == 0 && (grant_o != 0) == (request_i != 0));
    end
  end
`endif
endmodule
