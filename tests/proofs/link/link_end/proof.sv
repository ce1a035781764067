// SPDX-License-Identifier: Apache-2.0
// One end of a link with an unconstrained router and wire: any frames arrive, with any check. The proofs of its session alone
// (session) and of its replay alone (replay) hold for both together, as they exchange nothing but the signals named here.
module link_end_proof
  import tw_link_pkg::*;
  import tw_network_pkg::*;
#(
    parameter int unsigned Vcs       = 1,
    parameter bit          Credits   = 1'b1,
    parameter int unsigned Window    = 4,
    parameter int unsigned CountBits = 2,
    localparam int unsigned FlowBits = Credits ? (Vcs > 1 ? $clog2(Vcs) : 1) + CountBits : Vcs,
    localparam int unsigned FrameBits = $bits(flit_t) + 2 * ($clog2(Window) + 1) + 3 + $bits(session_t) + FlowBits + 32
) (
    input logic                 clk_i,
    input logic                 rst_i,
    input logic                 flit_valid_i,
    input flit_t                flit_i,
    input logic [      Vcs-1:0] back_i,
    input logic                 frame_ready_i,
    input logic                 frame_valid_i,
    input logic [FrameBits-1:0] frame_i,
    input logic                 hold_i
);
  logic ready, flit_valid, lost;

  tw_reset_first surroundings (.*);

  tw_link_end #(
      .Vcs(Vcs),
      .Credits(Credits),
      .Window(Window),
      .DownCycles(1),
      .CountBits(CountBits),
      .FrameBits(FrameBits)
  ) link_end (
      .clk_i,
      .rst_i,
      .flit_valid_i,
      .flit_i,
      .ready_o(ready),
      .flit_valid_o(flit_valid),
      .flit_o(),
      .back_i,
      .back_o(),
      .frame_valid_o(),
      .frame_ready_i,
      .frame_o(),
      .frame_valid_i,
      .frame_i,
      .hold_i,
      .up_o(),
      .lost_o(lost),
      .repeated_o(),
      .damaged_o()
  );

  wire up = link_end.session.up;
  wire flush = link_end.flush;
  wire nothing_given = link_end.replay.write_q == 0 && link_end.replay.next_q == 0 && link_end.replay.base_q == 0;
  wire nothing_taken = link_end.replay.expected_q == 0 && !flit_valid;
  logic no_credits;

  if (Credits) begin : credits
    assign no_credits = link_end.codec.credits.granted_q == '0 && link_end.codec.credits.given_q == '0;
  end else begin : stops
    assign no_credits = 1'b1;
  end

  logic begun_q = 1'b0;
  logic current_q;

  always_ff @(posedge clk_i) begin
    begun_q   <= 1'b1;
    current_q <= link_end.current && !rst_i && !flush;

    if (begun_q) begin
      takes_of_its_session : assert (!flit_valid || current_q);
      begins_with_nothing : assert (up || flush || (nothing_given && nothing_taken && no_credits));
      gives_in_a_session : assert (!ready || up);
      says_what_is_lost : assert (!flush || lost);
      words_come : cover (flit_valid);
    end
  end
endmodule
