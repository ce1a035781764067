// SPDX-License-Identifier: Apache-2.0
module arbiter_proof #(
    parameter int unsigned Inputs = 4,
    parameter int unsigned Others = Inputs - 1,  // maximum number of other requesters served while one waits
    localparam int unsigned IndexWidth = Inputs > 1 ? $clog2(Inputs) : 1
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic [    Inputs-1:0] request_i,
    input logic                  served_i,
    input logic [IndexWidth-1:0] who_i
);
  logic [Inputs-1:0] grant;
  logic winner_valid;
  logic [IndexWidth-1:0] winner_index;

  tw_reset_first surroundings (.*);

  tw_arbiter #(
      .Inputs(Inputs)
  ) arbiter (
      .grant_o(grant),
      .winner_valid_o(winner_valid),
      .winner_index_o(winner_index),
      .*
  );

  // An arbitrary requester, and the number of others served during its uninterrupted request.
  logic [IndexWidth-1:0] who_q;
  logic [IndexWidth:0] others_q;

  wire asks = request_i[who_q];
  wire granted = grant[who_q];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      who_q <= 32'(who_i) < Inputs ? who_i : 0;
      others_q <= 0;
    end else begin
      if (!asks || (granted && served_i)) others_q <= 0;
      else if (served_i) others_q <= others_q + 1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      only_requesters : assert ((grant & ~request_i) == 0);
      at_most_one : assert ((grant & (grant - Inputs'(1))) == 0);
      never_idle : assert ((grant != 0) == (request_i != 0));
      says_whom : assert (winner_valid == (grant != 0) && (!winner_valid || grant == Inputs'(1) << winner_index));
      fair : assert (!asks || granted || 32'(others_q) < Others);
    end
  end
endmodule
