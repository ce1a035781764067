// SPDX-License-Identifier: Apache-2.0
// Two ports that face each other, each with a sender and a receiver. A flit enters the buffer behind the link Latency +
// 1 cycles after it is sent, and a receiver's signal reaches the sender Latency - 1 cycles later (docs/router.md).
// Latency 0 stands for a link with an arbitrary latency, different for each flit and each credit.
module flow_proof #(
    parameter bit          Credits     = 1'b1,
    parameter int unsigned LeftDepth   = 8,
    parameter int unsigned RightDepth  = 8,
    parameter int unsigned MarginFlits = 0,
    parameter int unsigned Latency     = 0
) (
    input logic       clk_i,
    input logic       rst_i,
    input logic [1:0] wants_i,    // [port]: has something to send
    input logic [1:0] takes_i,    // takes a flit out of its buffer, if there is one
    input logic [1:0] arrives_i,  // for a link of arbitrary latency: a flit arrives at this port
    input logic [1:0] returns_i   // a credit arrives
);
  localparam int unsigned Depths[2] = '{LeftDepth, RightDepth};

  logic [1:0] ready, send, back_in, push, pop, back_out;

  tw_reset_first surroundings (.*);

  for (genvar p = 0; p < 2; p++) begin : port
    localparam int unsigned Depth = Depths[p];
    localparam int unsigned PeerDepth = Depths[1-p];

    tw_flow #(
        .Credits(Credits),
        .Depth(Depth),
        .PeerDepth(PeerDepth),
        .MarginFlits(MarginFlits)
    ) flow (
        .clk_i,
        .rst_i,
        .ready_o(ready[p]),
        .send_i (send[p]),
        .back_i (back_in[p]),
        .push_i (push[p]),
        .pop_i  (pop[p]),
        .back_o (back_out[p])
    );

    assign send[p] = wants_i[p] && ready[p];

    // The buffer of this port, and the link from the other port to this one. These counts ignore the depths.
    logic [7:0] held_q, coming_q, returning_q;

    assign pop[p] = takes_i[p] && held_q != 0;

    if (Latency == 0) begin : any_time
      // A pulse on back_o is in flight from the cycle in which it appears.
      wire [7:0] returning = returning_q + 8'(back_out[1-p]);

      assign push[p] = arrives_i[p] && coming_q != 0;
      assign back_in[p] = returns_i[p] && returning != 0;
    end else begin : fixed
      logic [Latency:0] flits_q;
      logic [Latency-1:0] backs;
      logic [Latency-1:0] backs_q;

      assign push[p] = flits_q[Latency];
      assign backs = Latency'({backs_q, back_out[1-p]});
      assign back_in[p] = backs[Latency-1];

      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          flits_q <= '0;
          backs_q <= '0;
        end else begin
          flits_q <= (Latency + 1)'({flits_q, send[1-p]});
          backs_q <= backs;
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        held_q <= 0;
        coming_q <= 0;
        returning_q <= 0;
      end else begin
        held_q <= held_q + 8'(push[p]) - 8'(pop[p]);
        coming_q <= coming_q + 8'(send[1-p]) - 8'(push[p]);
        returning_q <= returning_q + 8'(back_out[1-p]) - 8'(back_in[p]);
      end
    end

    // The sender that feeds this port's buffer, and the location of its credits.
    if (Credits) begin : account
      wire [31:0] total = 32'(port[1-p].flow.credits.credits_q) + 32'(coming_q) + 32'(held_q) + 32'(back_out[p]) +
          32'(port[1-p].returning_q);

      always_ff @(posedge clk_i) begin
        if (!rst_i) conserved : assert (total == Depth);
      end
    end else begin : level
      logic [Latency-1:0] room_q;

      always_ff @(posedge clk_i) begin
        room_q <= rst_i ? '1 : Latency'({room_q, Depth - 32'(held_q) > MarginFlits});
        if (!rst_i) stopped_in_time : assert (ready[1-p] == room_q[Latency-1]);
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_counts : assert (32'(held_q) == 32'(flow.held_q));
        full : cover (32'(held_q) == Depth);
      end
    end
  end
endmodule
