// SPDX-License-Identifier: Apache-2.0
// The communicator table: rows of vertices, their edges, and, if each root has its own tree, their branches.
//
// A lookup by label returns the path to a root: the edge towards it (none if it is this vertex), the tree's other
// edges, and the interval of labels behind each edge. A lookup by edge returns its far end. Order: answers in the order
// of lookups. Latency: one cycle. Throughput: one lookup per port and one write of each kind per cycle; a lookup sees
// writes of earlier cycles. Storage: Rows vertices, Rows x Edges edges, Rows x Roots branches, in memories; nothing is
// reset. All outputs are registered. Critical path: from end_row_i through the address of the edge to its far end.
module tw_context_table
  import tw_node_pkg::*;
#(
    parameter int unsigned Rows  = 32,
    parameter int unsigned Edges = 6,   /// edges per row, at most 32
    parameter int unsigned Roots = 64,  /// labels that can have their own tree, at least 1
    parameter int unsigned Ends  = 6,   /// lookups of an edge's far end per cycle
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned RootWidth = Roots > 1 ? $clog2(Roots) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                vertex_valid_i,
    input logic [RowWidth-1:0] vertex_row_i,
    input vertex_t             vertex_i,

    input logic                 edge_valid_i,
    input logic [ RowWidth-1:0] edge_row_i,
    input logic [EdgeWidth-1:0] edge_index_i,
    input tree_edge_t           edge_i,

    input logic                 branch_valid_i,
    input logic [ RowWidth-1:0] branch_row_i,
    input logic [RootWidth-1:0] branch_label_i,
    input logic [    Edges-1:0] branch_up_i,    /// one edge, or none
    input logic [    Edges-1:0] branch_down_i,

    input logic                lookup_valid_i,
    input logic [RowWidth-1:0] lookup_row_i,
    input logic [        15:0] lookup_label_i,  /// below the row's ranks

    output logic                   answer_valid_o,
    output vertex_t                answer_vertex_o,
    output logic [Edges-1:0]       answer_towards_o,
    output logic [Edges-1:0]       answer_away_o,
    output logic [Edges-1:0][15:0] answer_behind_o,  /// number of labels behind each edge; undefined in a rooted row
    output logic [Edges-1:0][15:0] answer_last_o,    /// last label behind each edge

    input  logic [Ends-1:0]                end_valid_i,
    input  logic [Ends-1:0][ RowWidth-1:0] end_row_i,
    input  logic [Ends-1:0][EdgeWidth-1:0] end_index_i,
    output logic [Ends-1:0]                far_valid_o,
    output logic [Ends-1:0][         15:0] far_neighbour_o,
    output logic [Ends-1:0][          4:0] far_there_o
);
  if (Rows < 1 || Edges < 1 || Edges > 32 || Ends < 1) begin : check_sizes
    $error("tw_context_table: at least 1 row and 1 lookup of an edge, 1 to 32 edges");
  end
  if (Roots < 1 || Roots > 65535) begin : check_roots
    $error("tw_context_table: 1 to 65535 roots");
  end

  localparam int unsigned EntryWidth = Rows * Roots > 1 ? $clog2(Rows * Roots) : 1;

  vertex_t vertices_q[Rows];

  always_ff @(posedge clk_i) begin
    if (vertex_valid_i) vertices_q[vertex_row_i] <= vertex_i;
  end

  wire vertex_t vertex = vertices_q[lookup_row_i];
  wire [Edges-1:0] up = vertex.up[Edges-1:0];
  wire [Edges-1:0] down = vertex.down[Edges-1:0];

  // --- By label

  typedef struct packed {
    logic [15:0] first;
    logic [15:0] behind;
  } interval_t;

  function automatic logic in_interval(logic [15:0] label, logic [15:0] first, logic [15:0] count);
    return 16'(label - first) < count;
  endfunction

  // Behind the edge up are all labels outside this vertex's subtree; their interval ends before its label.
  wire [15:0] before_own = (vertex.label == '0 ? vertex.ranks : vertex.label) - 16'd1;
  logic [Edges-1:0] leads, towards;
  logic [Edges-1:0][15:0] behind, last;

  // Each edge has its own memory, so that all intervals of a row are read at once.
  for (genvar k = 0; k < Edges; k++) begin : interval
    (* ram_style = "distributed" *) interval_t intervals_q[Rows];
    wire interval_t below = intervals_q[lookup_row_i];

    always_ff @(posedge clk_i) begin
      if (edge_valid_i && 32'(edge_index_i) == k) intervals_q[edge_row_i] <= '{edge_i.first, edge_i.behind};
    end

    assign leads[k] = down[k] && in_interval(lookup_label_i, below.first, below.behind);
    assign behind[k] = up[k] ? vertex.ranks - vertex.below : below.behind;
    assign last[k] = up[k] ? before_own : below.first + below.behind - 16'd1;
  end

  assign towards = in_interval(lookup_label_i, vertex.label, vertex.below) ? leads & -leads : up;

  wire [15:0] following = vertex.label + 16'd1 == vertex.ranks ? '0 : vertex.label + 16'd1;

  logic [2*Edges-1:0] branches_q[Rows*Roots];

  function automatic logic [EntryWidth-1:0] place(logic [RowWidth-1:0] row, logic [RootWidth-1:0] label);
    return EntryWidth'(32'(row) * Roots + 32'(label));
  endfunction

  wire [Edges-1:0] branch_up, branch_down;
  assign {branch_up, branch_down} = branches_q[place(lookup_row_i, RootWidth'(lookup_label_i))];

  always_ff @(posedge clk_i) begin
    if (branch_valid_i) branches_q[place(branch_row_i, branch_label_i)] <= {branch_up_i, branch_down_i};
  end

  always_ff @(posedge clk_i) begin
    answer_vertex_o <= vertex;
    if (vertex.ring) begin
      answer_towards_o <= lookup_label_i == vertex.label ? '0 : vertex.previous[Edges-1:0];
      answer_away_o <= lookup_label_i == following ? '0 : vertex.next[Edges-1:0];
    end else if (vertex.rooted) begin
      answer_towards_o <= branch_up;
      answer_away_o <= branch_down;
    end else begin
      answer_towards_o <= towards;
      answer_away_o <= (up | down) & ~towards;
    end
    answer_behind_o <= behind;
    answer_last_o <= last;
    if (rst_i) answer_valid_o <= 1'b0;
    else answer_valid_o <= lookup_valid_i;
  end

  // --- By edge

  localparam int unsigned EndWidth = Rows * Edges > 1 ? $clog2(Rows * Edges) : 1;

  function automatic logic [EndWidth-1:0] end_place(logic [RowWidth-1:0] row, logic [EdgeWidth-1:0] index);
    return EndWidth'(32'(row) * Edges + 32'(index));
  endfunction

  (* ram_style = "distributed" *) logic [20:0] ends_q[Rows*Edges];

  always_ff @(posedge clk_i) begin
    if (edge_valid_i) ends_q[end_place(edge_row_i, edge_index_i)] <= {edge_i.neighbour, edge_i.there};
  end

  for (genvar i = 0; i < Ends; i++) begin : far_end
    always_ff @(posedge clk_i) begin
      {far_neighbour_o[i], far_there_o[i]} <= ends_q[end_place(end_row_i[i], end_index_i[i])];
      if (rst_i) far_valid_o[i] <= 1'b0;
      else far_valid_o[i] <= end_valid_i[i];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && lookup_valid_i) begin
      label_exists : assert (lookup_label_i < vertex.ranks);
      root_has_branch : assert (!vertex.rooted || 32'(lookup_label_i) < Roots);
    end
    if (!rst_i && branch_valid_i) one_edge_up : assert ($countones(branch_up_i) <= 1);
  end
`endif
endmodule
