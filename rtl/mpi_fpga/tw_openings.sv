// SPDX-License-Identifier: Apache-2.0
// Starts operations at a vertex without a rank, where no host submits them, when their first packet arrives.
//
// An operation's descriptor can start it in the cycle in which it enters an empty slot. Otherwise it is found at the
// head of the slot: rows whose next operation may be there are scanned in sequence, in two cycles per tree edge. Edges
// that an earlier operation still reads are skipped. Every tree edge carries all operations that use the tree, so a
// neighbour is ahead by at most the operations in flight, and the 2-bit sequence number distinguishes them.
//
// Order: arriving descriptors before scanned ones, the lowest link first; rows from 0 on. Latency: none for an arriving
// descriptor; two cycles per scanned edge. Throughput: an operation per cycle. Storage: for each row its tree, and the
// entry and sequence number of its next operation. look_* are registers; begin_* depend on all inputs except row_* and
// ended_*. Critical path: from a flit's header through the readers of its edge to begin_*.
module tw_openings
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Entries = 4,  /// operations of a row in flight
    parameter int unsigned Edges = 6,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                row_valid_i,
    input logic [RowWidth-1:0] row_i,
    input logic                row_has_rank_i,
    input logic [Edges-1:0]    row_tree_i,      /// edges of its trees
    input logic                unload_valid_i,
    input logic [RowWidth-1:0] unload_row_i,

    input logic  [Links-1:0] in_valid_i,
    input flit_t [Links-1:0] in_flit_i,
    input logic  [Links-1:0] in_to_empty_i,  /// the arriving packet's slot holds no other packet

    // The scanned slot, and its head packet as of the cycle before.
    output logic [RowWidth-1:0]  scan_row_o,
    output logic [EdgeWidth-1:0] scan_edge_o,
    input  logic                 front_valid_i,
    input  head_t                front_i,

    // Edges of a row that earlier operations read, and occupied entries.
    output logic [RowWidth-1:0]           reading_row_o,
    input  logic [Edges-1:0]              reading_i,
    input  logic [Rows-1:0][Entries-1:0]   taken_i,

    input  logic                  idle_i,         /// no other operation is being started
    input  logic                  ended_valid_i,  /// a process of the row has ended
    input  logic [RowWidth-1:0]   ended_row_i,
    output logic                  begin_valid_o,
    output logic [RowWidth-1:0]   begin_row_o,
    output logic [EntryWidth-1:0] begin_entry_o,
    output head_t                 begin_head_o
);
  if (Links < 1 || Links > 32 || Rows < 1 || Rows > 32 || Entries < 1 || Edges < 1 || Edges > 32) begin : check_sizes
    $error("tw_openings: 1 to 32 links, rows and edges, and a place at least");
  end

  localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1;

  logic [Rows-1:0] bare_q, sought_q, sought;  // rows without a rank; next operation may be at a slot's head
  logic [Rows-1:0][EntryWidth-1:0] entry_q;   // of the next operation
  logic [Rows-1:0][1:0] sequence_q;           // its number among those that use the tree
  logic [Edges-1:0] trees_q[Rows];

  logic scanning_q, scanned_q;
  logic [RowWidth-1:0] row_q;
  logic [Edges-1:0] edges_q;
  wire [Edges-1:0] edges_left = edges_q & (edges_q - 1'b1);

  wire [Rows-1:0] unloaded = unload_valid_i ? Rows'(1) << unload_row_i : '0;
  wire [Rows-1:0] bare = bare_q & ~unloaded;

  always_comb begin
    scan_edge_o = '0;
    for (int unsigned k = Edges; k > 0; k--) if (edges_q[k-1]) scan_edge_o = EdgeWidth'(k - 1);
  end
  assign scan_row_o = row_q;

  // Arriving descriptors.
  head_t [Links-1:0] arriving;
  logic [Links-1:0][RowWidth-1:0] arriving_row;
  logic [Links-1:0][EdgeWidth-1:0] arriving_edge;
  logic [Links-1:0] descriptors;
  always_comb begin
    for (int unsigned l = 0; l < Links; l++) begin
      // verilator lint_off UNUSEDSIGNAL
      automatic descriptor_t words = descriptor_t'(in_flit_i[l].data);
      // verilator lint_on UNUSEDSIGNAL
      arriving[l] = '{kind_e'(words.kind), words.sequence_, words.collective, words.algorithm, words.operation, words.type_,
                    words.root};
      arriving_row[l] = RowWidth'(words.context_);
      arriving_edge[l] = EdgeWidth'(words.edge_);
      descriptors[l] = in_valid_i[l] && in_flit_i[l].head && words.kind == 2'(KindDescriptor)
          && words.collective != CollectiveAlltoall && words.collective != CollectivePointToPoint;
    end
  end

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic may_begin(head_t head, logic [RowWidth-1:0] row, logic [EdgeWidth-1:0] index);
    return bare[row] && trees_q[row][index] && !taken_i[row][entry_q[row]] && head.kind == KindDescriptor
        && head.sequence_ == sequence_q[row];
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  logic arrives;
  logic [LinkWidth-1:0] link;
  always_comb begin
    arrives = 1'b0;
    link = '0;
    for (int unsigned l = Links; l > 0; l--) begin
      if (idle_i && descriptors[l-1] && in_to_empty_i[l-1] && may_begin(arriving[l-1], arriving_row[l-1], arriving_edge[l-1])) begin
        arrives = 1'b1;
        link = LinkWidth'(l - 1);
      end
    end
  end
  wire found = scanning_q && scanned_q && front_valid_i && may_begin(front_i, row_q, scan_edge_o);

  assign reading_row_o = arrives ? arriving_row[link] : row_q;
  wire begins_arriving = arrives && !reading_i[arriving_edge[link]];
  wire begins_found = idle_i && !arrives && found && !reading_i[scan_edge_o];
  assign begin_valid_o = begins_arriving || begins_found;
  assign begin_row_o = arrives ? arriving_row[link] : row_q;
  assign begin_entry_o = entry_q[begin_row_o];
  assign begin_head_o = arrives ? arriving[link] : front_i;

  logic [RowWidth-1:0] first;
  wire seeks = idle_i && !arrives && !scanning_q && (sought_q & ~unloaded) != '0;
  always_comb begin
    first = '0;
    for (int unsigned r = Rows; r > 0; r--) if (sought_q[r-1] && !unloaded[r-1]) first = RowWidth'(r - 1);
    sought = sought_q & ~unloaded;
    if (seeks) sought[first] = 1'b0;
    for (int unsigned l = 0; l < Links; l++) if (descriptors[l] && bare[arriving_row[l]]) sought[arriving_row[l]] = 1'b1;
    if (ended_valid_i && bare[ended_row_i]) sought[ended_row_i] = 1'b1;
    if (begin_valid_o) sought[begin_row_o] = 1'b1;
    if (row_valid_i) sought[row_i] = !row_has_rank_i;
  end

  always_ff @(posedge clk_i) begin
    sought_q <= sought;
    bare_q <= bare;
    if (begin_valid_o) begin
      entry_q[begin_row_o] <= 32'(begin_entry_o) == Entries - 1 ? '0 : begin_entry_o + 1'b1;
      if (begin_head_o.algorithm == AlgorithmTree) sequence_q[begin_row_o] <= sequence_q[begin_row_o] + 2'd1;
    end
    if (row_valid_i) begin
      bare_q[row_i] <= !row_has_rank_i;
      trees_q[row_i] <= row_tree_i;
      entry_q[row_i] <= '0;
      sequence_q[row_i] <= '0;
    end

    if (!idle_i) scanned_q <= 1'b0;
    else if (seeks) begin
      scanning_q <= 1'b1;
      row_q <= first;
      edges_q <= trees_q[first];
    end else if (!arrives && scanning_q) begin
      scanned_q <= edges_q != '0 && !scanned_q;
      if (scanned_q) edges_q <= edges_left;
      if (edges_q == '0 || (scanned_q && (edges_left == '0 || begins_found))) scanning_q <= 1'b0;
    end
    if (rst_i) begin
      bare_q <= '0;
      sought_q <= '0;
      scanning_q <= 1'b0;
      scanned_q <= 1'b0;
      row_q <= '0;
      edges_q <= '0;
      entry_q <= '0;
      sequence_q <= '0;
    end
  end
endmodule
