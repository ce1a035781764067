// Flits of the router's port to the host, as an AXI4-Stream of whole packets, a flit a beat.
//
// Virtual channels mix on the port and do not on the stream: each has a buffer, and one is chosen for a packet, in turn. A packet that
// has begun holds the stream until its last flit has come: the router holds its output channel as long, so that it comes.
// Order: kept within a virtual channel. Latency: two cycles. Throughput: a flit a cycle. Storage: Depth flits a channel and two.
// All outputs are registers. Critical path: from the buffers' counts over the arbiter and the choice of a flit to the skid.
module tw_stream_out
  import tw_network_pkg::*;
#(
    parameter int unsigned Vcs         = 4,
    parameter bit          Credits     = 1'b1,
    parameter int unsigned Depth       = 16,    /// flits of one channel; the router has as many credits
    parameter int unsigned MarginFlits = 3      /// free places at which the router is stopped; with margin
) (
    input  logic           clk_i,
    input  logic           rst_i,
    input  logic           flit_valid_i,
    // verilator lint_off UNUSEDSIGNAL
    input  flit_t          flit_i,          // but for its head
    // verilator lint_on UNUSEDSIGNAL
    output logic [Vcs-1:0] back_o,
    output logic           stream_valid_o,
    input  logic           stream_ready_i,
    output logic [  255:0] stream_data_o,
    output logic           stream_last_o
);
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;

  logic [256:0] front[Vcs];
  logic [Vcs-1:0] occupied;
  logic [VcWidth-1:0] winner, vc_q;
  logic any, within_q, taken;

  wire [VcWidth-1:0] vc = within_q ? vc_q : winner;
  wire valid = within_q ? occupied[vc_q] : any;
  wire pop = valid && taken;

  for (genvar v = 0; v < int'(Vcs); v++) begin : channel
    wire push_here = flit_valid_i && flit_i.vc == 4'(v);
    wire pop_here = pop && vc == VcWidth'(v);

    tw_fifo #(
        .Width(257),
        .Depth(Depth)
    ) buffer (
        .clk_i,
        .rst_i,
        .in_valid_i(push_here),
        .in_ready_o(),
        .in_data_i({flit_i.tail, flit_i.data}),
        .out_valid_o(occupied[v]),
        .out_ready_i(pop_here),
        .out_data_o(front[v]),
        .count_o()
    );

    tw_flow #(
        .Credits(Credits),
        .Depth(Depth),
        .PeerDepth(1),
        .MarginFlits(MarginFlits)
    ) flow (
        .clk_i,
        .rst_i,
        .ready_o(),
        .send_i(1'b0),
        .back_i(1'b0),
        .push_i(push_here),
        .pop_i(pop_here),
        .back_o(back_o[v])
    );
  end

  tw_arbiter #(
      .Inputs(Vcs)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i(occupied),
      .served_i(pop && !within_q),
      .grant_o(),
      .winner_valid_o(any),
      .winner_index_o(winner)
  );

  tw_skid #(
      .Width(257)
  ) skid (
      .clk_i,
      .rst_i,
      .in_valid_i(valid),
      .in_ready_o(taken),
      .in_data_i(front[vc]),
      .out_valid_o(stream_valid_o),
      .out_ready_i(stream_ready_i),
      .out_data_o({stream_last_o, stream_data_o})
  );

  always_ff @(posedge clk_i) begin
    if (pop) vc_q <= vc;
    if (rst_i) within_q <= 1'b0;
    else if (pop) within_q <= !front[vc][256];
  end
endmodule
