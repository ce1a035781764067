// SPDX-License-Identifier: Apache-2.0
// Tracks the edges that an operation must not use yet, because earlier operations of its communicator still use them.
//
// Every edge serves the operations of a row in order, in each direction. Operations take the row's entries in turn; the
// edges of a process are added step by step, and released when it ends.
//
// Order: none. Latency: begin, add and end are visible in the next cycle; queries are answered in the same. Throughput:
// one of each per cycle. Storage: 2 bits per edge, of each entry and of each process. held_* and reading_o depend on
// registers and on the queries. Critical path: from held_row_i through the row's entries to held_*.
module tw_precedence #(
    parameter int unsigned Rows = 32,
    parameter int unsigned Entries = 4,     /// operations of a row in flight
    parameter int unsigned Edges = 6,      /// edges per row, at most 32
    localparam int unsigned Processes = 32,  // per operation
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                load_valid_i,   /// a row is loaded: its first operation takes entry 0
    input logic [RowWidth-1:0] load_row_i,
    input logic                begin_valid_i,  /// an operation takes the next entry
    input logic [RowWidth-1:0] begin_row_i,

    input logic                  add_valid_i,    /// a step of a process uses edges
    input logic [  RowWidth-1:0] add_row_i,
    input logic [EntryWidth-1:0] add_entry_i,
    input logic [           4:0] add_process_i,
    input logic                  add_first_i,    /// first of the process's steps
    input logic [     Edges-1:0] add_reading_i,
    input logic [     Edges-1:0] add_writing_i,

    input logic                  end_valid_i,    /// a process ends; no other one of its operation uses its edges in the same direction
    input logic [  RowWidth-1:0] end_row_i,
    input logic [EntryWidth-1:0] end_entry_i,
    input logic [           4:0] end_process_i,

    // Edges still used by operations before the one in this entry.
    input  logic [  RowWidth-1:0] held_row_i,
    input  logic [EntryWidth-1:0] held_entry_i,
    output logic [     Edges-1:0] held_reading_o,
    output logic [     Edges-1:0] held_writing_o,

    // Edges that any operation of a row still reads.
    input  logic [RowWidth-1:0] reading_row_i,
    output logic [   Edges-1:0] reading_o
);
  if (Rows < 1 || Entries < 1 || Edges < 1 || Edges > 32) begin : check_sizes
    $error("tw_precedence: at least 1 row and place, 1 to 32 edges");
  end

  typedef struct packed {
    logic [Edges-1:0] reading;
    logic [Edges-1:0] writing;
  } edges_t;

  logic [EntryWidth-1:0] next_q[Rows];
  edges_t [Entries-1:0] open_q[Rows];
  (* ram_style = "distributed" *) edges_t used_q[Rows*Entries*Processes];

  localparam int unsigned ProcessWidth = $clog2(Rows * Entries * Processes);
  function automatic logic [ProcessWidth-1:0] number(logic [RowWidth-1:0] row, logic [EntryWidth-1:0] place,
                                                     logic [4:0] process_of);
    return ProcessWidth'((32'(row) * Entries + 32'(place)) * Processes + 32'(process_of));
  endfunction

  wire [ProcessWidth-1:0] add_number = number(add_row_i, add_entry_i, add_process_i);
  wire edges_t adds = '{add_reading_i, add_writing_i};
  wire edges_t ends = used_q[number(end_row_i, end_entry_i, end_process_i)];

  always_ff @(posedge clk_i) begin
    if (add_valid_i) used_q[add_number] <= add_first_i ? adds : adds | used_q[add_number];
    for (int unsigned r = 0; r < Rows; r++) begin
      if (begin_valid_i && 32'(begin_row_i) == r) next_q[r] <= 32'(next_q[r]) == Entries - 1 ? '0 : next_q[r] + 1'b1;
      if (rst_i || (load_valid_i && 32'(load_row_i) == r)) next_q[r] <= '0;
      for (int unsigned p = 0; p < Entries; p++) begin
        open_q[r][p] <= (open_q[r][p]
            & ~(end_valid_i && 32'(end_row_i) == r && 32'(end_entry_i) == p ? ends : '0))
            | (add_valid_i && 32'(add_row_i) == r && 32'(add_entry_i) == p ? adds : '0);
        if (rst_i) open_q[r][p] <= '0;
      end
    end
  end

  // --- Queries

  wire [EntryWidth-1:0] next = next_q[held_row_i];
  wire edges_t [Entries-1:0] open = open_q[held_row_i];
  wire edges_t [Entries-1:0] queried = open_q[reading_row_i];

  always_comb begin
    held_reading_o = '0;
    held_writing_o = '0;
    reading_o = '0;
    for (int unsigned p = 0; p < Entries; p++) begin
      // From the next entry to be taken, which is the oldest, up to the queried one.
      if (next <= held_entry_i ? p >= 32'(next) && p < 32'(held_entry_i) : p >= 32'(next) || p < 32'(held_entry_i)) begin
        held_reading_o |= open[p].reading;
        held_writing_o |= open[p].writing;
      end
      reading_o |= queried[p].reading;
    end
  end
endmodule
