// SPDX-License-Identifier: Apache-2.0
// Flits of the router's port to the host, as an AXI4-Stream of whole packets, a flit per beat.
//
// Virtual channels interleave on the port but not on the stream: each has a buffer, and packets leave in the order of
// their first flits. The packet at the head holds the stream until its last flit has arrived; it does arrive, since the
// router holds its output channel as long.
// Order: kept, also between packets of one input channel of the router. Latency: two cycles. Throughput: a flit per
// cycle. Storage: Depth flits per channel and two, and the order. All outputs are registers. Critical path: from the
// order's count through the selection of a flit to the skid.
module tw_stream_out
  import tw_network_pkg::*;
#(
    parameter int unsigned Vcs         = 4,
    parameter bit          Credits     = 1'b1,
    parameter int unsigned Depth       = 16,    /// per channel; the router has as many credits
    parameter int unsigned MarginFlits = 3      /// free entries at which the router is stopped; with margin
) (
    input  logic           clk_i,
    input  logic           rst_i,
    input  logic           flit_valid_i,
    input  flit_t          flit_i,
    output logic [Vcs-1:0] back_o,
    output logic           stream_valid_o,
    input  logic           stream_ready_i,
    output logic [  255:0] stream_data_o,
    output logic           stream_last_o
);
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;

  logic [256:0] front[Vcs];
  logic [Vcs-1:0] occupied;
  logic [VcWidth-1:0] vc;
  logic any, taken;

  wire valid = any && occupied[vc];
  wire pop = valid && taken;

  // One entry per packet whose last flit has not left.
  tw_fifo #(
      .Width(VcWidth),
      .Depth(Vcs * Depth + 1)
  ) order (
      .clk_i,
      .rst_i,
      .in_valid_i(flit_valid_i && flit_i.head),
      .in_ready_o(),
      .in_data_i(VcWidth'(flit_i.vc)),
      .out_valid_o(any),
      .out_ready_i(pop && front[vc][256]),
      .out_data_o(vc),
      .count_o()
  );

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
endmodule
