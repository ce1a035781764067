// SPDX-License-Identifier: Apache-2.0
// Selects the packets that a local port of the collective unit sends: single-flit credit packets first; then packets of
// Sources sources, round-robin, urgent ones before others.
//
// A packet is sent to each of its edges, lowest first: its source reads it again for the next edge (src_again_o, with
// its last word). Its header receives the edge's far end, from this port's own table. A packet without edges is sent
// unchanged. A selected packet is sent completely, and waits only for its virtual channel.
//
// Order: kept for each source. Latency: one cycle from a word to the flit. Throughput: a flit per cycle; credits are
// sent only between packets. Storage: the table, and for each source the edges that its packet has been sent to.
// src_ready_o, src_again_o, src_edge_o and the credits' ready depend on the inputs' valid; the flit is registered.
// Critical path: from the inputs' valid through the arbiter, the edge, and its entry in the table to the flit and to
// src_ready_o.
module tw_injector
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter int unsigned Sources = 7,
    parameter int unsigned Rows = 32,
    parameter int unsigned Edges = 6,   /// edges per row, at most 32
    parameter int unsigned Vcs = 4,
    parameter bit Credits = 1'b1,       /// flow control of the router's port: credits, or stop bits
    parameter int unsigned PeerFlits = 8,  /// depth of its buffer; with credits
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned SourceWidth = Sources > 1 ? $clog2(Sources) : 1
) (
    input logic clk_i,
    input logic rst_i,

    // Far end of an edge, and the virtual channel to it.
    input logic                 edge_valid_i,
    input logic [ RowWidth-1:0] edge_row_i,
    input logic [EdgeWidth-1:0] edge_index_i,
    input logic [         15:0] edge_neighbour_i,
    input logic [          4:0] edge_there_i,
    input logic [          3:0] edge_vc_i,

    // Room of an edge's slot to return as credits.
    input  logic                 credit_valid_i,
    output logic                 credit_ready_o,
    input  logic [ RowWidth-1:0] credit_row_i,
    input  logic [EdgeWidth-1:0] credit_edge_i,
    input  logic [         15:0] credit_count_i,

    // A packet of one flit.
    input  logic         single_valid_i,
    output logic         single_ready_o,
    input  logic [255:0] single_data_i,
    input  logic [  3:0] single_vc_i,

    input  logic [Sources-1:0]               src_valid_i,
    output logic [Sources-1:0]               src_ready_o,
    output logic [Sources-1:0]               src_again_o,   /// the packet must be read again; with the last word
    output logic [EdgeWidth-1:0]             src_edge_o,    /// edge to which the accepted word is sent
    input  logic [Sources-1:0][       255:0] src_data_i,
    input  logic [Sources-1:0]               src_last_i,
    input  logic [Sources-1:0]               src_urgent_i,
    input  logic [Sources-1:0][RowWidth-1:0] src_row_i,
    input  logic [Sources-1:0][   Edges-1:0] src_edges_i,
    input  logic [Sources-1:0][         3:0] src_vc_i,      /// for a packet without edges

    output logic           out_valid_o,
    output flit_t          out_flit_o,
    input  logic [Vcs-1:0] out_back_i
);
  if (Sources < 1 || Rows < 1 || Rows > 32 || Edges < 1 || Edges > 32) begin : check_sizes
    $error("tw_injector: at least 1 source, 1 to 32 rows and edges");
  end
  if (Vcs < 1 || Vcs > 16) begin : check_vcs
    $error("tw_injector: 1 to 16 virtual channels");
  end

  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;

  typedef struct packed {
    logic [15:0] neighbour;
    logic [4:0]  there;
    logic [3:0]  vc;
  } far_end_t;

  far_end_t far_ends_q[Rows*Edges];

  localparam int unsigned EntryWidth = Rows * Edges > 1 ? $clog2(Rows * Edges) : 1;

  function automatic logic [EntryWidth-1:0] place(logic [RowWidth-1:0] row, logic [EdgeWidth-1:0] index);
    return EntryWidth'(32'(row) * Edges + 32'(index));
  endfunction

  always_ff @(posedge clk_i) begin
    if (edge_valid_i) far_ends_q[place(edge_row_i, edge_index_i)] <= '{edge_neighbour_i, edge_there_i, edge_vc_i};
  end

  // --- Selection of a packet

  logic sending_q, head_q;
  logic [SourceWidth-1:0] source_q, winner;
  logic [Sources-1:0][Edges-1:0] sent_q;  // edges to which the packet at the head has been sent
  logic any;

  wire [Sources-1:0] urgent = src_valid_i & src_urgent_i;
  wire singles = credit_valid_i || single_valid_i;
  wire begins = !sending_q && !singles && any;

  tw_arbiter #(
      .Inputs(Sources)
  ) turn (
      .clk_i,
      .rst_i,
      .request_i     (urgent != '0 ? urgent : src_valid_i),
      .served_i      (begins),
      .grant_o       (),
      .winner_valid_o(any),
      .winner_index_o(winner)
  );

  wire [SourceWidth-1:0] source = sending_q ? source_q : winner;
  wire head = !sending_q || head_q;
  wire [Edges-1:0] edges = src_edges_i[source] & ~sent_q[source];
  wire [Edges-1:0] lowest = edges & (~edges + Edges'(1));
  wire to_edge = src_edges_i[source] != '0;

  logic [EdgeWidth-1:0] index;
  always_comb begin
    index = '0;
    for (int unsigned k = 0; k < Edges; k++) if (lowest[k]) index |= EdgeWidth'(k);
  end

  // --- Its next flit

  wire credit_turn = !sending_q && credit_valid_i;
  wire single_turn = !sending_q && !credit_valid_i && single_valid_i;
  wire packet_turn = (sending_q || begins) && src_valid_i[source];

  wire far_end_t far = far_ends_q[credit_turn ? place(credit_row_i, credit_edge_i) : place(src_row_i[source], index)];

  network_header_t header;
  always_comb begin
    header = network_header_t'(src_data_i[source][47:0]);
    header.destination = far.neighbour;
    header.edge_ = far.there;
  end

  credit_t credit;
  always_comb begin
    credit = credit_empty();
    credit.destination = far.neighbour;
    credit.context_ = 5'(credit_row_i);
    credit.collective = CollectiveBarrier;  // any but 0, which is point to point
    credit.edge_ = far.there;
    credit.last = 1'b1;
    credit.count = credit_count_i;
  end

  flit_t flit;
  always_comb begin
    flit.head = head;
    flit.tail = src_last_i[source];
    flit.vc = to_edge ? far.vc : src_vc_i[source];
    flit.data = src_data_i[source];
    if (head && to_edge) flit.data[47:0] = header;
    if (credit_turn) flit = '{data: credit, vc: far.vc, head: 1'b1, tail: 1'b1};
    if (single_turn) flit = '{data: single_data_i, vc: single_vc_i, head: 1'b1, tail: 1'b1};
  end

  logic [Vcs-1:0] ready;
  wire transfer = (credit_turn || single_turn || packet_turn) && ready[VcWidth'(flit.vc)];
  wire ends = transfer && packet_turn && flit.tail;
  wire again = to_edge && edges != lowest;

  assign credit_ready_o = credit_turn && transfer;
  assign single_ready_o = single_turn && transfer;
  always_comb begin
    src_ready_o = '0;
    src_again_o = '0;
    src_ready_o[source] = packet_turn && transfer;
    src_again_o[source] = ends && again;
    src_edge_o = packet_turn && transfer ? index : '0;
  end

  for (genvar vc = 0; vc < Vcs; vc++) begin : channel
    tw_flow #(
        .Credits(Credits),
        .PeerDepth(PeerFlits)
    ) flow (
        .clk_i,
        .rst_i,
        .ready_o(ready[vc]),
        .send_i (transfer && VcWidth'(flit.vc) == VcWidth'(vc)),
        .back_i (out_back_i[vc]),
        .push_i (1'b0),
        .pop_i  (1'b0),
        .back_o ()
    );
  end

  always_ff @(posedge clk_i) begin
    out_valid_o <= transfer;
    out_flit_o  <= flit;
    if (packet_turn) begin
      source_q  <= source;
      sending_q <= !ends;
      head_q    <= head && !transfer;
    end
    if (ends) sent_q[source] <= again ? sent_q[source] | lowest : '0;
    if (rst_i) begin
      out_valid_o <= 1'b0;
      sending_q <= 1'b0;
      sent_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) channel_exists : assert (!transfer || 32'(flit.vc) < Vcs);
  end
`endif
endmodule
