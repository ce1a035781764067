// SPDX-License-Identifier: Apache-2.0
module rate_proof #(
    parameter int unsigned Flits  = 1,
    parameter int unsigned Cycles = 1,
    parameter int unsigned Most   = Flits  // maximum sends in any Cycles cycles
) (
    input logic clk_i,
    input logic rst_i,
    input logic wants_i,  // there is something to send
    input logic start_i   // a window starts
);
  logic ready;
  wire send = wants_i && ready;

  tw_reset_first surroundings (.*);

  tw_rate #(
      .Flits (Flits),
      .Cycles(Cycles)
  ) rate (
      .ready_o(ready),
      .send_i (send),
      .*
  );

  // An arbitrary window of consecutive cycles: its length, its number of sends, and whether there always was something to
  // send.
  localparam int unsigned CountWidth = $clog2(Cycles + 1);
  logic open_q, busy_q;
  logic [CountWidth-1:0] cycles_q, sends_q;
  logic [31:0] first_level_q;

  wire begins = !open_q && start_i;
  wire [CountWidth-1:0] sends = (begins ? 0 : sends_q) + CountWidth'(send);
  wire [CountWidth-1:0] cycles = (begins ? 0 : cycles_q) + 1;
  wire busy = (begins || busy_q) && wants_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q <= 1'b0;
    end else if (begins || open_q) begin
      open_q   <= 32'(cycles) < Cycles;
      busy_q   <= busy;
      cycles_q <= cycles;
      sends_q  <= sends;
      if (begins) first_level_q <= 32'(rate.level_q);
    end
  end

  wire in_window = begins || open_q;

  // The accumulator's gain since the window began, and the cost of the sends.
  wire [31:0] gains = first_level_q + 32'(cycles_q) * Flits;
  wire [31:0] costs = 32'(rate.level_q) + 32'(sends_q) * Cycles;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      lemma_within : assert (!open_q || (cycles_q != 0 && 32'(cycles_q) < Cycles && sends_q <= cycles_q));
      lemma_gained : assert (32'(rate.level_q) >= Flits);
      lemma_began_within : assert (!open_q || (first_level_q >= Flits && first_level_q < Cycles + Flits));
      lemma_paid : assert (!open_q || costs <= gains);
      lemma_nothing_wasted : assert (!open_q || !busy_q || costs == gains);
      at_most : assert (!in_window || 32'(sends) <= Most);
      share_reached : assert (!in_window || !busy || 32'(cycles) < Cycles || 32'(sends) >= Flits);
      window_full : cover (in_window && 32'(cycles) == Cycles && 32'(sends) == Flits);
    end
  end
endmodule
