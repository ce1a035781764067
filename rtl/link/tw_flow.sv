// SPDX-License-Identifier: Apache-2.0
// Flow control of one virtual channel of a bidirectional port: a sender that tracks free buffer space, and a receiver
// that reports it to the other side's sender. Every output is a register, or the comparison of one with zero.
//
// With credits, back_i and back_o are pulses: one flit left the buffer. With margin flow control they are levels: stop,
// while the free space is at most MarginFlits. The buffers themselves are elsewhere.
//
// Order: none to keep, it counts. Latency: one cycle from a flit or from back_i to its effect. Throughput: a flit per
// cycle in each direction. Storage: the counts of credits, or of flits. Critical path: the count of credits onto
// itself; with margin from pop_i through the count of flits and its comparison to back_q.
module tw_flow #(
    parameter bit          Credits     = 1'b1,  /// flow control by credits; otherwise by stop bits
    parameter int unsigned Depth       = 8,     /// capacity of the own buffer in flits, at least 1
    parameter int unsigned PeerDepth   = 8,     /// capacity of the other side's buffer, at least 1; with credits
    parameter int unsigned MarginFlits = 0      /// below Depth; with margin flow control
) (
    input  logic clk_i,
    input  logic rst_i,
    // Sender
    output logic ready_o,  /// a flit may be sent
    input  logic send_i,   /// a flit is sent; only when ready
    input  logic back_i,   /// from the other side's receiver
    // Receiver
    input  logic push_i,   /// a flit enters the buffer
    input  logic pop_i,    /// a flit leaves it
    output logic back_o    /// to the other side's sender
);
  if (Depth < 1) begin : check_depth
    $error("tw_flow: Depth must be at least 1");
  end
  if (PeerDepth < 1) begin : check_peer_depth
    $error("tw_flow: PeerDepth must be at least 1");
  end
  if (!Credits && MarginFlits >= Depth) begin : check_margin
    $error("tw_flow: MarginFlits must be below Depth");
  end

  localparam int unsigned HeldWidth = $clog2(Depth + 1);

  logic [HeldWidth-1:0] held_d, held_q;
  logic back_q;

  assign held_d = held_q + HeldWidth'(push_i) - HeldWidth'(pop_i);
  assign back_o = back_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) held_q <= 0;
    else held_q <= held_d;
  end

  if (Credits) begin : credits
    localparam int unsigned CreditWidth = $clog2(PeerDepth + 1);
    logic [CreditWidth-1:0] credits_q;

    assign ready_o = credits_q != 0;

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        credits_q <= CreditWidth'(PeerDepth);
        back_q <= 1'b0;
      end else begin
        credits_q <= credits_q + CreditWidth'(back_i) - CreditWidth'(send_i);
        back_q <= pop_i;
      end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) no_credit_too_many : assert (32'(credits_q) + 32'(back_i) <= PeerDepth);
    end
`endif
  end else begin : margin
    logic go_q;

    assign ready_o = go_q;

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        go_q <= 1'b1;
        back_q <= 1'b0;
      end else begin
        go_q <= !back_i;
        back_q <= held_d >= HeldWidth'(Depth - MarginFlits);
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      sent_when_ready : assert (!send_i || ready_o);
      no_overflow : assert (!push_i || 32'(held_q) < Depth);
      no_underflow : assert (!pop_i || held_q != 0);
    end
  end
`endif
endmodule
