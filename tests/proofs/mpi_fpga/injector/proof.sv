// SPDX-License-Identifier: Apache-2.0
// Environment: sources are unconstrained except for the packet format: a packet's edges and length are constant, and its words
// come in order, with any pauses. Words carry their source and their index in the packet; the injector only stores that part of
// them.
module injector_proof
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter bit Credits = 1'b1,
    parameter int unsigned Sources = 2,
    parameter int unsigned Edges = 3,
    parameter int unsigned Vcs = 2,
    parameter int unsigned PeerFlits = 2,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 edge_valid_i,
    input logic [EdgeWidth-1:0] edge_index_i,
    input logic [          1:0] edge_neighbour_i,
    input logic                 edge_there_i,
    input logic [  VcWidth-1:0] edge_vc_i,

    input logic                 credit_valid_i,
    input logic [EdgeWidth-1:0] credit_edge_i,
    input logic [          1:0] credit_count_i,
    input logic                 single_valid_i,
    input logic                 single_data_i,
    input logic [  VcWidth-1:0] single_vc_i,

    input logic [Sources-1:0]              src_valid_i,
    input logic [Sources-1:0]              src_urgent_i,
    input logic [Sources-1:0]              src_header_i,
    input logic [Sources-1:0][  Edges-1:0] edges_i,       // of the next packet
    input logic [Sources-1:0][        1:0] last_i,        // index of its last word
    input logic [Sources-1:0][VcWidth-1:0] vc_i,

    input logic [Vcs-1:0] back_i  // a flit leaves the router's buffer, if there is one; or stop is asserted
);
  localparam logic [1:0] Single = 2'd3;  // words from source p carry p + 1; credits carry 0

  typedef struct packed {
    logic [1:0] neighbour;
    logic       there;
    logic [VcWidth-1:0] vc;
  } far_t;

  // --- The table: loaded before anything is sent

  far_t [Edges-1:0] far_q;
  logic [Edges-1:0] loaded_q;
  wire all_loaded = &loaded_q;
  wire loads = edge_valid_i && !all_loaded && 32'(edge_index_i) < Edges && 32'(edge_vc_i) < Vcs;

  always_ff @(posedge clk_i) begin
    if (loads) far_q[edge_index_i] <= '{edge_neighbour_i, edge_there_i, edge_vc_i};
    if (rst_i) loaded_q <= '0;
    else if (loads) loaded_q[edge_index_i] <= 1'b1;
  end

  // --- Inputs

  logic [Sources-1:0][1:0] place_q, last_q;
  logic [Sources-1:0][Edges-1:0] edges_q, sent_q;
  logic [Sources-1:0][VcWidth-1:0] vc_q;
  logic [Sources-1:0] valid, last, ready, again;
  logic [Sources-1:0][255:0] data;
  logic [Sources-1:0][Edges-1:0] remaining, lowest;
  logic [Sources-1:0][EdgeWidth-1:0] next_edge;
  logic [Sources-1:0][3:0] vc;
  logic [EdgeWidth-1:0] edge_;
  logic credit_ready, single_ready, out_valid;
  flit_t out_flit;
  logic [Vcs-1:0] back;

  wire credit_valid = credit_valid_i && all_loaded && 32'(credit_edge_i) < Edges;
  wire single_valid = single_valid_i && all_loaded && 32'(single_vc_i) < Vcs;
  wire [255:0] single_data = {Single, 253'd0, single_data_i};

  for (genvar p = 0; p < Sources; p++) begin : source
    assign valid[p] = src_valid_i[p] && all_loaded;
    assign last[p] = place_q[p] == last_q[p];
    assign data[p] = {2'(p + 1), place_q[p], 204'd0, {48{src_header_i[p]}}};
    assign vc[p] = 4'(vc_q[p]);
    assign remaining[p] = edges_q[p] & ~sent_q[p];

    always_comb begin
      next_edge[p] = '0;
      lowest[p] = '0;
      for (int k = Edges - 1; k >= 0; k--) begin
        if (remaining[p][k]) next_edge[p] = EdgeWidth'(k);
        if (remaining[p][k]) lowest[p] = Edges'(1) << k;
      end
    end

    wire takes = valid[p] && ready[p];
    wire leaves = takes && last[p] && remaining[p] == lowest[p];

    always_ff @(posedge clk_i) begin
      if (rst_i || leaves) begin
        edges_q[p] <= edges_i[p];
        last_q[p] <= last_i[p];
        vc_q[p] <= 32'(vc_i[p]) < Vcs ? vc_i[p] : '0;
        sent_q[p] <= '0;
        place_q[p] <= '0;
      end else if (takes) begin
        place_q[p] <= last[p] ? '0 : place_q[p] + 1;
        if (last[p]) sent_q[p] <= sent_q[p] | lowest[p];
      end
      if (!rst_i) begin
        each_edge_once : assert (!ready[p] || (valid[p] && edge_ == next_edge[p] && again[p] == (last[p] && !leaves)));
        again_with_last : assert (ready[p] || !again[p]);
        lemma_sent : assert (injector.sent_q[p] == sent_q[p] && (remaining[p] != '0 || edges_q[p] == '0));
        lemma_place : assert (place_q[p] <= last_q[p] && 32'(vc_q[p]) < Vcs);
        lemma_inside : assert (place_q[p] == 0 || (injector.sending_q && !injector.head_q && 32'(injector.source_q) == p));
        lemma_begun : assert (place_q[p] != 0 || !injector.sending_q || injector.head_q || 32'(injector.source_q) != p);
      end
    end
  end

  tw_injector #(
      .Sources(Sources),
      .Rows(1),
      .Edges(Edges),
      .Vcs(Vcs),
      .Credits(Credits),
      .PeerFlits(PeerFlits)
  ) injector (
      .edge_valid_i(loads),
      .edge_row_i('0),
      .edge_neighbour_i(16'(edge_neighbour_i)),
      .edge_there_i(5'(edge_there_i)),
      .edge_vc_i(4'(edge_vc_i)),
      .credit_valid_i(credit_valid),
      .credit_ready_o(credit_ready),
      .credit_row_i('0),
      .credit_count_i(16'(credit_count_i)),
      .single_valid_i(single_valid),
      .single_ready_o(single_ready),
      .single_data_i(single_data),
      .single_vc_i(4'(single_vc_i)),
      .src_valid_i(valid),
      .src_ready_o(ready),
      .src_again_o(again),
      .src_edge_o(edge_),
      .src_data_i(data),
      .src_last_i(last),
      .src_row_i('0),
      .src_edges_i(edges_q),
      .src_vc_i(vc),
      .out_valid_o(out_valid),
      .out_flit_o(out_flit),
      .out_back_i(back),
      .*
  );

  tw_reset_first surroundings (.*);

  // --- The expected flit on the port in the next cycle

  wire far_t credit_far = far_q[credit_edge_i];
  far_t far;
  network_header_t header;
  credit_t credit;
  flit_t flit, flit_q;
  logic sent_last_q;

  always_comb begin
    credit = credit_empty();
    credit.destination = 16'(credit_far.neighbour);
    credit.collective = CollectiveBarrier;
    credit.edge_ = 5'(credit_far.there);
    credit.last = 1'b1;
    credit.count = 16'(credit_count_i);
    flit = '{single_data, 4'(single_vc_i), 1'b1, 1'b1};
    if (credit_ready) flit = '{credit, 4'(credit_far.vc), 1'b1, 1'b1};
    far = '0;
    header = '0;
    for (int p = 0; p < int'(Sources); p++) begin
      if (ready[p]) begin
        far = far_q[next_edge[p]];
        header = network_header_t'(data[p][47:0]);
        header.destination = 16'(far.neighbour);
        header.edge_ = 5'(far.there);
        flit = '{data[p], edges_q[p] != '0 ? 4'(far.vc) : vc[p], place_q[p] == 0, last[p]};
        if (place_q[p] == 0 && edges_q[p] != '0) flit.data[47:0] = header;
      end
    end
  end

  wire [Sources+1:0] taken = {ready, credit_ready && credit_valid, single_ready && single_valid};

  // Checks of the port alone: the packet that is open on it.
  logic open_q;
  logic [1:0] from_q, at_q;
  logic [3:0] channel_q;
  wire [1:0] from = out_flit.data[255:254];
  wire [1:0] at = out_flit.data[253:252];

  always_ff @(posedge clk_i) begin
    sent_last_q <= !rst_i && taken != '0;
    flit_q <= flit;
    if (out_valid) begin
      from_q <= from;
      at_q <= at;
      channel_q <= out_flit.vc;
    end
    if (rst_i) open_q <= 1'b0;
    else if (out_valid) open_q <= !out_flit.tail;

    if (!rst_i) begin
      one_at_a_time : assert ((taken & (taken - 1)) == '0 && (!credit_ready || credit_valid) && (!single_ready || single_valid));
      nothing_lost : assert (out_valid == sent_last_q && (!out_valid || out_flit == flit_q));
      whole_packets : assert (!out_valid || out_flit.head == !open_q);
      not_mixed : assert (!out_valid || !open_q || (from == from_q && at == 2'(at_q + 1) && out_flit.vc == channel_q));
      lemma_flit : assert (!out_valid || 32'(out_flit.vc) < Vcs);
      lemma_source : assert (!injector.sending_q || 32'(injector.source_q) < Sources);
      lemma_waits : assert ((open_q ^ (out_valid && !out_flit.tail) ^ (out_valid && open_q)) ==
          (injector.sending_q && !injector.head_q));
      credit_between : cover (out_valid && from == 0 && from_q == 2 && sent_q[0] != '0 && sent_q[1] != '0);
    end
  end

  // The packet that is open behind the flit on the port.
  wire open = out_valid ? !out_flit.tail : open_q;
  wire [1:0] open_from = out_valid ? from : from_q;
  wire [1:0] open_at = out_valid ? at : at_q;
  wire [3:0] open_vc = out_valid ? out_flit.vc : channel_q;

  for (genvar p = 0; p < Sources; p++) begin : opened
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        lemma_open :
        assert (place_q[p] == 0 || (open && open_from == 2'(p + 1) && 2'(open_at + 1) == place_q[p] &&
            open_vc == (edges_q[p] != '0 ? 4'(far_q[next_edge[p]].vc) : vc[p])));
    end
  end

  for (genvar k = 0; k < Edges; k++) begin : far_end
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        lemma_table :
        assert (!loaded_q[k] || (injector.far_ends_q[k] == {16'(far_q[k].neighbour), 5'(far_q[k].there), 4'(far_q[k].vc)} &&
            32'(far_q[k].vc) < Vcs));
    end
  end

  always_ff @(posedge clk_i) if (!rst_i) lemma_silent : assert (all_loaded || (!out_valid && !injector.sending_q));

  // --- The router's buffers

  for (genvar v = 0; v < Vcs; v++) begin : channel
    wire comes = out_valid && out_flit.vc == 4'(v);

    if (Credits) begin : account
      logic [7:0] held_q;
      wire [31:0] total = 32'(injector.channel[v].flow.credits.credits_q) + 32'(comes) + 32'(held_q);

      assign back[v] = back_i[v] && held_q != 0;

      always_ff @(posedge clk_i) begin
        held_q <= rst_i ? 8'd0 : held_q + 8'(comes) - 8'(back[v]);
        if (!rst_i) begin
          credits_kept : assert (total == PeerFlits);
          never_too_many : assert (32'(held_q) + 32'(comes) <= PeerFlits);
          full : cover (32'(held_q) == PeerFlits);
        end
      end
    end else begin : level
      logic [1:0] stopped_q;

      assign back[v] = back_i[v];

      always_ff @(posedge clk_i) begin
        stopped_q <= rst_i ? '0 : {stopped_q[0], back_i[v]};
        if (!rst_i) begin
          lemma_stopped : assert (injector.channel[v].flow.margin.go_q == !stopped_q[0]);
          waits_while_stopped : assert (!comes || !stopped_q[1]);
        end
      end
    end
  end
endmodule
