// SPDX-License-Identifier: Apache-2.0
// Environment: beats with any pauses; a router that accepts flits and returns credits, or stops the sender, at any
// time.
module stream_in_proof
  import tw_network_pkg::*;
#(
    parameter int unsigned Vcs = 2,
    parameter bit Credits = 1'b1,
    parameter int unsigned PeerFlits = 2
) (
    input logic           clk_i,
    input logic           rst_i,
    input logic           enable_i,
    input logic           beat_i,
    input logic [1:0]     data_i,
    input logic           last_i,
    input logic           vc_i,
    input logic [Vcs-1:0] back_i
);
  typedef struct packed {
    logic [1:0] data;
    logic       last;
    logic [3:0] vc;
  } beat_t;

  logic ready, out_valid;
  flit_t out_flit;
  logic [Vcs-1:0] back;

  tw_reset_first surroundings (.*);

  tw_stream_in #(
      .Vcs(Vcs),
      .Credits(Credits),
      .PeerFlits(PeerFlits)
  ) stream (
      .clk_i,
      .rst_i,
      .enable_i,
      .stream_valid_i(beat_i),
      .stream_ready_o(ready),
      .stream_data_i({254'd0, data_i}),
      .stream_last_i(last_i),
      .stream_vc_i(4'(vc_i)),
      .flit_valid_o(out_valid),
      .flit_o(out_flit),
      .back_i(back)
  );

  // The accepted beats, the first of them at index 0.
  beat_t [3:0] beats_q;
  logic [2:0] count_q;
  logic open_q;       // a packet is open; channel of its last flit
  logic [3:0] vc_q;

  wire takes = beat_i && ready;
  wire [2:0] left = count_q - 3'(out_valid);

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < 4; i++) begin
      if (out_valid && i < 3) beats_q[i] <= beats_q[i+1];
      if (takes && 32'(left) == i) beats_q[i] <= '{data_i, last_i, 4'(vc_i)};
    end
    if (out_valid) vc_q <= out_flit.vc;
    count_q <= rst_i ? '0 : left + 3'(takes);
    open_q <= !rst_i && (out_valid ? !out_flit.tail : open_q);

    if (!rst_i) begin
      nothing_invented : assert (!out_valid || count_q != 0);
      never_too_many : assert (count_q <= 2);
      takes_while_enabled : assert (!ready || enable_i);
      in_order : assert (!out_valid || (out_flit.data[1:0] == beats_q[0].data && out_flit.tail == beats_q[0].last));
      whole_packets : assert (!out_valid || out_flit.head == !open_q);
      on_its_channel : assert (!out_valid || (out_flit.vc == (open_q ? vc_q : beats_q[0].vc) && 32'(out_flit.vc) < Vcs));
      full : cover (count_q == 2 && beats_q[0].last && !beats_q[1].last);

      lemma_count : assert (32'(count_q) == 32'(out_valid) + 32'(stream.skid.main_valid_q) + 32'(stream.skid.spare_valid_q));
      lemma_main : assert (!stream.skid.main_valid_q || stream.skid.main_q[6:0] == beats_q[out_valid ? 1 : 0]);
      lemma_spare : assert (!stream.skid.spare_valid_q || stream.skid.spare_q[6:0] == beats_q[out_valid ? 2 : 1]);
      lemma_head : assert (stream.head_q == (out_valid ? out_flit.tail : !open_q) &&
          (stream.head_q || stream.vc_q == (out_valid ? out_flit.vc : vc_q)));
      lemma_vc : assert ((count_q < 1 || 32'(beats_q[0].vc) < Vcs) && (count_q < 2 || 32'(beats_q[1].vc) < Vcs) &&
          (count_q < 3 || 32'(beats_q[2].vc) < Vcs) && (!open_q || 32'(vc_q) < Vcs));
    end
  end

  for (genvar v = 0; v < Vcs; v++) begin : channel
    wire comes = out_valid && out_flit.vc == 4'(v);

    if (Credits) begin : account
      logic [7:0] held_q;
      assign back[v] = back_i[v] && held_q != 0;
      always_ff @(posedge clk_i) begin
        held_q <= rst_i ? 8'd0 : held_q + 8'(comes) - 8'(back[v]);
        if (!rst_i)
          credits_kept : assert (32'(stream.channel[v].flow.credits.credits_q) + 32'(comes) + 32'(held_q) == PeerFlits);
      end
    end else begin : level
      logic [1:0] stopped_q;
      assign back[v] = back_i[v];
      always_ff @(posedge clk_i) begin
        stopped_q <= rst_i ? '0 : {stopped_q[0], back_i[v]};
        if (!rst_i) begin
          lemma_stopped : assert (stream.channel[v].flow.margin.go_q == !stopped_q[0]);
          waits_while_stopped : assert (!comes || !stopped_q[1]);
        end
      end
    end
  end
endmodule
