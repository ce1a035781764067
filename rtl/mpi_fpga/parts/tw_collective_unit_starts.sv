// SPDX-License-Identifier: Apache-2.0
// Starts and ends the operations of a collective unit. The host starts an operation; at a vertex without a rank, an
// arriving flit does. An operation occupies its entry of its row until its last process has ended.
//
// Order: the host's operation before an arriving one. Latency: none. Throughput: an operation per cycle. Storage: the
// constants of each operation and the number of its ended processes; per row the number of ranks, and the state of
// tw_openings. head_row_o and head_edge_o depend only on registers, constants_o on tried_operation_i, begin_*, add_*
// and lookup_constants_o on the inputs. Critical path: from a flit's header through tw_openings to add_*.
module tw_collective_unit_starts
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*, tw_node_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Entries = 4,        /// operations of a row in flight
    parameter int unsigned Edges = 6,
    parameter int unsigned ShortestSize = 2,  /// log2 of a packet's flits: in short streams,
    parameter int unsigned PacketSize = 4,    /// ordinary,
    parameter int unsigned LongestSize = 4,   /// and in long streams
    localparam int unsigned Operations = Rows * Entries,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned OperationWidth = Operations > 1 ? $clog2(Operations) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                row_valid_i,
    input logic [RowWidth-1:0] row_i,
    input logic                row_has_rank_i,
    input logic [15:0]         row_ranks_i,
    input logic [Edges-1:0]    row_tree_i,      /// edges of its trees
    input logic                unload_valid_i,
    input logic [RowWidth-1:0] unload_row_i,

    input logic                      start_valid_i,
    input logic [OperationWidth-1:0] start_operation_i,
    input operation_t                start_constants_i,
    input logic                      start_asks_i,       /// it has processes at this node

    // Arriving flits, and the head packet of the scanned slot, as of the cycle before.
    input  logic  [Links-1:0]     in_valid_i,
    input  flit_t [Links-1:0]     in_flit_i,
    input  logic  [Links-1:0]     in_to_empty_i,
    output logic  [RowWidth-1:0]  head_row_o,
    output logic  [EdgeWidth-1:0] head_edge_o,
    input  logic                  head_valid_i,
    input  head_t                 head_i,

    // Edges of a row that operations in flight read.
    output logic [RowWidth-1:0] reading_row_o,
    input  logic [Edges-1:0]    reading_i,

    input  logic                      idle_i,           /// no operation is being started
    output logic                      begin_valid_o,    /// an operation takes the next entry of this row,
    output logic [RowWidth-1:0]       begin_row_o,
    output logic                      add_valid_o,      /// and its processes are requested
    output logic [OperationWidth-1:0] add_operation_o,
    output logic                      add_tree_o,       /// it is along a tree

    input  logic [OperationWidth-1:0] lookup_operation_i,  /// one that begins, in this cycle or earlier
    output operation_t                lookup_constants_o,
    input  logic [OperationWidth-1:0] tried_operation_i,
    output operation_t                constants_o,         /// of the process that is tried

    // Processes that begin, with the number of the operation's processes; and the end of the process that is tried.
    input logic                      arriving_valid_i,
    input logic [OperationWidth-1:0] arriving_operation_i,
    input logic [5:0]                arriving_processes_i,
    input logic                      ends_i
);
  localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1;

  logic [Rows-1:0][Entries-1:0] active_q;
  logic [Operations-1:0][5:0] total_q, done_q;
  logic [15:0] ranks_q[Rows];
  operation_t constants_q[Operations];

  function automatic logic [RowWidth-1:0] row_of(logic [OperationWidth-1:0] operation);
    return RowWidth'(32'(operation) / Entries);
  endfunction

  // --- Arriving operations

  logic bare_begins;
  logic [RowWidth-1:0] bare_row;
  logic [EntryWidth-1:0] bare_place;
  // verilator lint_off UNUSEDSIGNAL
  head_t bare_opening;
  // verilator lint_on UNUSEDSIGNAL

  tw_openings #(
      .Links(Links),
      .Rows(Rows),
      .Entries(Entries),
      .Edges(Edges)
  ) openings (
      .clk_i,
      .rst_i,
      .row_valid_i,
      .row_i,
      .row_has_rank_i,
      .row_tree_i,
      .unload_valid_i,
      .unload_row_i,
      .in_valid_i,
      .in_flit_i,
      .in_to_empty_i,
      .scan_row_o    (head_row_o),
      .scan_edge_o   (head_edge_o),
      .front_valid_i (head_valid_i),
      .front_i       (head_i),
      .reading_row_o,
      .reading_i,
      .taken_i       (active_q),
      .idle_i        (idle_i && !start_valid_i),
      .ended_valid_i (ends_i),
      .ended_row_i   (row_of(tried_operation_i)),
      .begin_valid_o (bare_begins),
      .begin_row_o   (bare_row),
      .begin_entry_o (bare_place),
      .begin_head_o  (bare_opening)
  );

  function automatic logic vectors(collective_e collective);
    return collective inside {CollectiveGather, CollectiveAllgather, CollectiveScatter, CollectiveReduceScatter};
  endfunction
  function automatic logic [2:0] log2_size(datatype_e type_);
    automatic logic [4:0] size = size_of(type_);
    log2_size = '0;
    for (int unsigned i = 0; i < 5; i++) if (size[i]) log2_size = 3'(i);
  endfunction

  operation_t bare_constants;
  always_comb begin
    bare_constants = '0;
    bare_constants.collective = bare_opening.collective;
    bare_constants.algorithm = bare_opening.algorithm;
    bare_constants.operation = bare_opening.operation;
    bare_constants.type_ = bare_opening.type_;
    bare_constants.root = bare_opening.root;
    bare_constants.size = log2_size(bare_opening.type_);
    bare_constants.shortest = vectors(bare_opening.collective) || bare_opening.collective == CollectiveBarrier
        ? 3'(PacketSize) : 3'(ShortestSize);
    bare_constants.longest = 3'(LongestSize);
    bare_constants.together = vectors(bare_opening.collective) ? ranks_q[bare_row] : 16'd1;
  end

  // --- All operations

  operation_t add_constants;
  assign begin_valid_o = start_valid_i || bare_begins;
  assign begin_row_o = start_valid_i ? row_of(start_operation_i) : bare_row;
  assign add_valid_o = (start_valid_i && start_asks_i) || bare_begins;
  assign add_operation_o = start_valid_i ? start_operation_i : OperationWidth'(32'(bare_row) * Entries + 32'(bare_place));
  assign add_constants = start_valid_i ? start_constants_i : bare_constants;
  assign add_tree_o = add_constants.algorithm != AlgorithmExchange && !vectors(add_constants.collective);

  assign lookup_constants_o = add_valid_o && lookup_operation_i == add_operation_o ? add_constants : constants_q[lookup_operation_i];
  assign constants_o = constants_q[tried_operation_i];

  wire ends_operation = ends_i && 6'(done_q[tried_operation_i] + 6'd1) == total_q[tried_operation_i];

  always_ff @(posedge clk_i) begin
    if (row_valid_i) ranks_q[row_i] <= row_ranks_i;
    if (add_valid_o) constants_q[add_operation_o] <= add_constants;
    for (int unsigned o = 0; o < Operations; o++) begin
      if (add_valid_o && 32'(add_operation_o) == o) begin
        active_q[o/Entries][o%Entries] <= 1'b1;
        done_q[o] <= '0;
      end else if (ends_i && 32'(tried_operation_i) == o) begin
        active_q[o/Entries][o%Entries] <= !ends_operation;
        done_q[o] <= done_q[o] + 6'd1;
      end
      if (arriving_valid_i && 32'(arriving_operation_i) == o) total_q[o] <= arriving_processes_i;
    end
    if (rst_i) active_q <= '0;
  end
endmodule
