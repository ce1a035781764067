// SPDX-License-Identifier: Apache-2.0
// The session of one end of a link. Between resets of either end, all frames that this end sends and accepts belong to
// one session of each end. Set-up takes three steps: send the own number; echo the other end's; receive the own one
// echoed. Every frame says whether its sender is up; an end that is up loses its session when a frame does not echo its
// number, or has another number. docs/links.md explains why one bit of number is enough.
//
// The next number is kept in a flip-flop without reset; it may start with any value.
//
// Order: none to keep. Latency: a frame changes session_o, flush_o and lost_o one cycle later; current_o is of the same
// cycle. Throughput: a frame per cycle. Storage: 9 bits. Critical path: comparison of two bits of a frame, and the next
// state. All outputs except current_o are registers.
module tw_session
  import tw_link_pkg::*;
(
    input  logic     clk_i,
    input  logic     rst_i,
    input  logic     hold_i,        /// no session is set up; one that is up stays up
    output session_t session_o,     /// sent in every frame
    // A good frame of the other end
    input  logic     peer_valid_i,
    input  session_t peer_i,
    output logic     current_o,     /// it belongs to this session: its words, credits and stop bits count
    // Events
    output logic     flush_o,       /// this end has lost its session: its state is cleared
    output logic     lost_o         /// this end has lost its session, or the other end reports that it has
);
  session_t session_d, session_q;
  logic next_d, noted_d, noted_q, flush_d, flush_q, lost_q;
  // verilator lint_off PROCASSINIT
  logic next_q = 1'b0;  // not reset
  // verilator lint_on PROCASSINIT

  wire echoed = peer_i.echo_valid && peer_i.echo == session_q.number;
  wire echo_matches = session_q.echo_valid && peer_i.number == session_q.echo;
  wire news = peer_valid_i && !peer_i.up && peer_i.lost && !noted_q;

  assign session_o = session_q;
  assign current_o = peer_valid_i && same_session(session_q, peer_i) && (session_q.up || !hold_i);
  assign flush_o   = flush_q;
  assign lost_o    = lost_q;

  always_comb begin
    session_d = session_q;
    next_d    = next_q;
    noted_d   = noted_q;
    flush_d   = 1'b0;
    if (session_q.up) begin
      if (peer_valid_i && !(echoed && echo_matches)) begin
        session_d = '{lost: 1'b1, number: next_q, default: '0};
        noted_d   = 1'b1;
        flush_d   = 1'b1;
      end
    end else begin
      if (news) noted_d = 1'b1;
      if (hold_i) begin
        session_d.echo_valid = 1'b0;
      end else if (peer_valid_i) begin
        if (!peer_i.up && !news) begin
          session_d.echo_valid = 1'b1;
          session_d.echo  = peer_i.number;
        end
        if (echoed && (echo_matches || !peer_i.up) && !news) begin
          session_d.up   = 1'b1;
          session_d.lost = 1'b0;
          noted_d        = 1'b0;
          next_d         = !session_q.number;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      session_q <= '{number: next_q, default: '0};
      noted_q   <= 1'b0;
      flush_q   <= 1'b0;
      lost_q    <= 1'b0;
    end else begin
      session_q <= session_d;
      next_q    <= next_d;
      noted_q   <= noted_d;
      flush_q   <= flush_d;
      lost_q    <= flush_d || (news && !session_q.up);
    end
  end
endmodule
