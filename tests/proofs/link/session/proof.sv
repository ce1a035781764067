// SPDX-License-Identifier: Apache-2.0
// Two ends, each reset and held at any time, and the wires between them, whose frames survive a reset. Once, the near end may
// lose its power while no frame is in flight: it is then replaced by another one with the initial session number. Each entry of a
// wire loads the entry before it or keeps its frame, and the last one is delivered or not, nondeterministically: frames get lost,
// are repeated, and take any time.
module session_proof
  import tw_link_pkg::*;
#(
    parameter int unsigned Entries = 1,  // of a wire: frames in flight, beside the one in the sender's register
    // Cycles without a fault, a reset or a hold until both ends are up: two round trips
    parameter int unsigned Calm   = 4 * (Entries + 1)
) (
    input logic              clk_i,
    input logic              rst_i,
    input logic              far_rst_i,
    input logic              near_hold_i,
    input logic              far_hold_i,
    input logic              power_lost_i,
    input logic              watch_i,
    input logic [Entries-1:0] there_moves_i,
    input logic [Entries-1:0] back_moves_i,
    input logic              there_delivers_i,
    input logic              back_delivers_i
);
  // A frame, with auxiliary state that is not transmitted.
  typedef struct packed {
    logic     valid;
    session_t session;
    logic     later;        // of a session of the near end after the watched one
    logic     later_known;  // of the far end: its echo comes from such a frame
    logic     after_loss;   // of the far end: its session follows a lost one
  } frame_t;

  frame_t [Entries:0] there, back;
  session_t near_session, far_session;
  logic near_current, far_current, near_lost, far_lost;
  logic begun_q = 1'b0;

  tw_reset_first surroundings (.*);

  logic powered_again_q;
  session_t [1:0] near_sessions;
  logic [1:0] near_currents, near_losts, near_resets;

  wire far_rst = far_rst_i || !begun_q;
  wire power_lost = power_lost_i && !powered_again_q && begun_q;

  assign near_resets  = {rst_i || !powered_again_q, rst_i};
  assign near_session = near_sessions[powered_again_q];
  assign near_current = near_currents[powered_again_q];
  assign near_lost    = near_losts[powered_again_q];

  for (genvar n = 0; n < 2; n++) begin : near
    tw_session session (
        .clk_i,
        .rst_i(near_resets[n]),
        .hold_i(near_hold_i),
        .session_o(near_sessions[n]),
        .peer_valid_i(back_delivers_i && back[Entries].valid),
        .peer_i(back[Entries].session),
        .current_o(near_currents[n]),
        .flush_o(),
        .lost_o(near_losts[n])
    );
  end

  tw_session far (
      .clk_i,
      .rst_i(far_rst),
      .hold_i(far_hold_i),
      .session_o(far_session),
      .peer_valid_i(there_delivers_i && there[Entries].valid),
      .peer_i(there[Entries].session),
      .current_o(far_current),
      .flush_o(),
      .lost_o(far_lost)
  );

  // Any end of a session in which the near end was up may be the watched one: while it was not up, nothing was sent. The far
  // end's sessions before and after are distinguished by the frame that gave them their echo.
  logic later_q, later_known_q, after_loss_q, took_earlier_q, noticed_q;

  wire near_flush = powered_again_q ? near[1].session.flush_d : near[0].session.flush_d;
  wire near_news = powered_again_q ? near[1].session.news : near[0].session.news;
  wire near_up_next = powered_again_q ? near[1].session.session_d.up : near[0].session.session_d.up;
  wire near_ends = rst_i || near_flush || power_lost;
  wire far_ends = far_rst || far.flush_d;
  wire near_rises = !rst_i && !power_lost && !near_session.up && near_up_next;

  assign there[0] = '{valid: 1'b1, session: near_session, later: later_q, default: '0};
  assign back[0] = '{valid: 1'b1, session: far_session, later: 1'b0, later_known: later_known_q, after_loss: after_loss_q};

  for (genvar p = 0; p < int'(Entries); p++) begin : place
    always_ff @(posedge clk_i) begin
      if (there_moves_i[p]) there[p+1] <= there[p];
      if (back_moves_i[p]) back[p+1] <= back[p];
      if (!begun_q || power_lost) begin
        there[p+1].valid <= 1'b0;
        back[p+1].valid  <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    begun_q         <= 1'b1;
    powered_again_q <= begun_q && (powered_again_q || power_lost);
    if (!begun_q) begin
      later_q        <= 1'b0;
      later_known_q  <= 1'b0;
      after_loss_q   <= 1'b0;
      took_earlier_q <= 1'b0;
      noticed_q      <= 1'b0;
    end else begin
      if (near_ends && near_session.up && watch_i) later_q <= 1'b1;

      if (there_delivers_i && there[Entries].valid && !there[Entries].session.up && !far.session_q.up)
        later_known_q <= there[Entries].later;
      if (far_rst) after_loss_q <= 1'b0;
      else if (far.flush_d) after_loss_q <= 1'b1;

      if (far_ends) took_earlier_q <= 1'b0;
      else if (far_current && !there[Entries].later) took_earlier_q <= 1'b1;

      if (rst_i || power_lost || near_rises) noticed_q <= 1'b0;
      else if (near_flush || near_news) noticed_q <= 1'b1;
    end
  end

  // Both ends are reset together and released one after the other, with no other disturbance.
  logic near_went_q, far_went_q, disturbed_q;
  logic [$clog2(Calm+1)-1:0] calm_q;

  wire calm = !rst_i && !far_rst && !power_lost && !near_hold_i && !far_hold_i && &there_moves_i && &back_moves_i && there_delivers_i &&
              back_delivers_i;

  always_ff @(posedge clk_i) begin
    if (!begun_q) begin
      near_went_q <= 1'b0;
      far_went_q  <= 1'b0;
      disturbed_q <= 1'b0;
    end else begin
      near_went_q <= near_went_q || !rst_i;
      far_went_q  <= far_went_q || !far_rst;
      disturbed_q <= disturbed_q || (rst_i && near_went_q) || (far_rst && far_went_q) || power_lost || near_hold_i || far_hold_i;
    end
    if (!begun_q || !calm) calm_q <= 0;
    else if (32'(calm_q) != Calm) calm_q <= calm_q + 1;
  end

  always_ff @(posedge clk_i) begin
    if (begun_q) begin
      takes_frames_to_itself : assert (rst_i || power_lost || powered_again_q || !near_current || !later_q || back[Entries].later_known);
      takes_frames_of_one : assert (far_rst || !far_current || !there[Entries].later || !took_earlier_q);
      notices : assert (!near_rises || !back[Entries].after_loss || noticed_q);
      loses_nothing_by_itself : assert (disturbed_q || (!near_lost && !far_lost));
      heals : assert (32'(calm_q) != Calm || (near_session.up && far_session.up));
      both_up : cover (near_session.up && far_session.up && later_q);
      is_lost : cover (near_lost && !disturbed_q == 0);
    end
  end
endmodule
