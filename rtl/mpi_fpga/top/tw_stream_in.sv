// SPDX-License-Identifier: Apache-2.0
// Sends packets of an AXI4-Stream, a flit per beat, into a local port of the router, under its flow control.
//
// Order: kept. Latency: two cycles. Throughput: a flit per cycle. Storage: three flits. All outputs are registers, or
// combine two of them. Critical path: from the skid's flit through the selection of its channel's ready to the skid's
// enables.
module tw_stream_in
  import tw_network_pkg::*;
#(
    parameter int unsigned Vcs       = 4,
    parameter bit          Credits   = 1'b1,
    parameter int unsigned PeerFlits = 16     /// depth of the router's buffer of a local port
) (
    input  logic           clk_i,
    input  logic           rst_i,
    input  logic           enable_i,        /// beats are accepted
    input  logic           stream_valid_i,
    output logic           stream_ready_o,
    input  logic [  255:0] stream_data_i,
    input  logic           stream_last_i,
    input  logic [    3:0] stream_vc_i,     /// in which the packet starts, below Vcs; valid with its first flit
    output logic           flit_valid_o,
    output flit_t          flit_o,
    input  logic [Vcs-1:0] back_i
);
  typedef struct packed {
    logic [255:0] data;
    logic         last;
    logic [3:0]   vc;
  } beat_t;

  beat_t beat;
  logic skid_ready, beat_valid, head_q;
  logic [3:0] vc_q;
  logic [Vcs-1:0] ready;

  wire [3:0] vc = head_q ? beat.vc : vc_q;
  wire send = beat_valid && 1'(ready >> vc);

  assign stream_ready_o = skid_ready && enable_i;

  tw_skid #(
      .Width($bits(beat_t))
  ) skid (
      .clk_i,
      .rst_i,
      .in_valid_i(stream_valid_i && enable_i),
      .in_ready_o(skid_ready),
      .in_data_i({stream_data_i, stream_last_i, stream_vc_i}),
      .out_valid_o(beat_valid),
      .out_ready_i(send),
      .out_data_o(beat)
  );

  for (genvar v = 0; v < int'(Vcs); v++) begin : channel
    tw_flow #(
        .Credits(Credits),
        .Depth(1),
        .PeerDepth(PeerFlits)
    ) flow (
        .clk_i,
        .rst_i,
        .ready_o(ready[v]),
        .send_i(send && vc == 4'(v)),
        .back_i(back_i[v]),
        .push_i(1'b0),
        .pop_i(1'b0),
        .back_o()
    );
  end

  always_ff @(posedge clk_i) begin
    flit_o <= '{data: beat.data, vc: vc, head: head_q, tail: beat.last};
    if (send) vc_q <= vc;
    if (rst_i) begin
      flit_valid_o <= 1'b0;
      head_q       <= 1'b1;
    end else begin
      flit_valid_o <= send;
      if (send) head_q <= beat.last;
    end
  end
endmodule
