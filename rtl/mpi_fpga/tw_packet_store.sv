// SPDX-License-Identifier: Apache-2.0
// Stores the host's packets for processes until units read them.
//
// The host writes a packet, flit by flit, into an entry of its choice; the last flit appends it to the queue of its
// process, and it is announced in the next cycle. A unit takes the packet at the head: flits follow from the next cycle
// on, one per `pace` cycles. When the last flit has been read, the entry is reported free; the host does not use it
// before, so nothing here overflows.
//
// Order: packets of a process in the order of their last flits; free entries in the order of takes. Latency: a flit is
// out in the cycle after the take. Throughput: a flit in, and one out for each unit, per cycle. Storage: the entries
// once per unit; per process two heads and a tail, per entry the next one. Flags that show which of two sides wrote
// last are cleared after reset, one process per cycle; until then ready_o is low and no input is allowed. All outputs
// are registers, or a few bits beside them. Critical path: from take_process_i through the process's head to the
// memories' address.
module tw_packet_store #(
    parameter int unsigned Units     = 6,
    parameter int unsigned Processes = 2048,
    parameter int unsigned Entries    = 256,
    parameter int unsigned Flits     = 16,    /// flits per entry: a power of two
    localparam int unsigned ProcessWidth = Processes > 1 ? $clog2(Processes) : 1,
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic ready_o,

    input  logic                    in_valid_i,
    input  logic [255:0]            in_data_i,
    input  logic                    in_last_i,
    input  logic [ProcessWidth-1:0] in_process_i,  /// valid with the last flit
    input  logic [EntryWidth-1:0]   in_place_i,
    output logic                    announce_valid_o,
    output logic [ProcessWidth-1:0] announce_process_o,

    input  logic                    take_valid_i,    /// at most every other cycle for one process
    input  logic [ProcessWidth-1:0] take_process_i,
    input  logic [UnitWidth-1:0]    take_unit_i,
    input  logic [2:0]              take_size_i,     /// log2 of its flits
    input  logic [3:0]              take_pace_i,
    output logic [Units-1:0]        host_valid_o,
    output logic [Units-1:0][255:0] host_data_o,

    output logic                    free_valid_o,
    input  logic                    free_ready_i,
    output logic [EntryWidth-1:0]   free_place_o
);
  if (Units < 1 || Processes < 1 || Entries < 1 || Flits < 1 || Flits > 64 || 1 << $clog2(Flits) != Flits) begin : check_sizes
    $error("tw_packet_store: at least a unit, a process and a place, of 1, 2, 4, 8, 16, 32 or 64 flits");
  end

  localparam int unsigned FlitWidth = Flits > 1 ? $clog2(Flits) : 1;
  localparam int unsigned LeftWidth = $clog2(Flits + 1);

  function automatic logic [31:0] address(logic [EntryWidth-1:0] place, logic [FlitWidth-1:0] flit);
    return 32'(place) * Flits + 32'(flit);
  endfunction

  // --- Packets by process. Arrivals and takes each write their own memories; a pair of flags, one of each side, shows
  // which side wrote last.

  (* ram_style = "distributed" *) logic filled_q[Processes];   // packets are queued if they differ
  (* ram_style = "distributed" *) logic emptied_q[Processes];
  (* ram_style = "distributed" *) logic came_q[Processes];     // if they are equal, the head is the packet that arrived
  (* ram_style = "distributed" *) logic taken_q[Processes];    // else the one behind the packet taken
  (* ram_style = "distributed" *) logic [EntryWidth-1:0] first_came_q[Processes];
  (* ram_style = "distributed" *) logic [EntryWidth-1:0] first_behind_q[Processes];
  (* ram_style = "distributed" *) logic [EntryWidth-1:0] tail_q[Processes];
  (* ram_style = "distributed" *) logic [EntryWidth-1:0] next_q[Entries];

  logic ready_q;
  logic [ProcessWidth-1:0] clear_q;
  logic [FlitWidth-1:0] in_flit_q;
  logic behind_q;  // a packet was taken: entry of the one behind it
  logic [ProcessWidth-1:0] behind_process_q;
  logic [EntryWidth-1:0] behind_place_q;

  wire arrives = in_valid_i && in_last_i;
  wire [EntryWidth-1:0] taken = came_q[take_process_i] == taken_q[take_process_i] ?
      first_came_q[take_process_i] : first_behind_q[take_process_i];
  wire takes_last = taken == tail_q[take_process_i];
  wire takes_all = take_valid_i && takes_last && take_process_i == in_process_i;  // the queue becomes empty
  wire is_first = filled_q[in_process_i] == emptied_q[in_process_i] || takes_all;

  assign ready_o = ready_q;

  always_ff @(posedge clk_i) begin
    announce_valid_o   <= !rst_i && arrives;
    announce_process_o <= in_process_i;
    if (rst_i) in_flit_q <= '0;
    else if (in_valid_i) in_flit_q <= in_last_i ? '0 : in_flit_q + 1'b1;

    if (rst_i) begin
      ready_q <= 1'b0;
      clear_q <= '0;
    end else if (!ready_q) begin
      ready_q <= clear_q == ProcessWidth'(Processes - 1);
      clear_q <= clear_q + 1'b1;
    end

    if (!ready_q) filled_q[clear_q] <= 1'b0;
    else if (arrives) filled_q[in_process_i] <= emptied_q[in_process_i] == takes_all;
    if (!ready_q) emptied_q[clear_q] <= 1'b0;
    else if (take_valid_i && takes_last) emptied_q[take_process_i] <= filled_q[take_process_i];
    if (!ready_q) came_q[clear_q] <= 1'b0;
    else if (arrives && is_first) came_q[in_process_i] <= taken_q[in_process_i];
    if (!ready_q) taken_q[clear_q] <= 1'b0;
    else if (take_valid_i && !takes_last) taken_q[take_process_i] <= !came_q[take_process_i];
    if (arrives && is_first) first_came_q[in_process_i] <= in_place_i;
    behind_q         <= take_valid_i && ready_q;
    behind_process_q <= take_process_i;
    behind_place_q   <= next_q[taken];
    if (behind_q) first_behind_q[behind_process_q] <= behind_place_q;
    if (arrives) tail_q[in_process_i] <= in_place_i;
    if (arrives && !is_first) next_q[tail_q[in_process_i]] <= in_place_i;
  end

  // --- A memory and a reader for each unit

  logic [Units-1:0] reading;
  logic [Units-1:0][EntryWidth-1:0] entry_q;

  for (genvar u = 0; u < int'(Units); u++) begin : unit
    (* ram_style = "block" *) logic [255:0] flits_q[Entries*Flits];

    logic valid_q;
    logic [255:0] data_q;
    logic [LeftWidth-1:0] left_q;  // flits still to be read
    logic [FlitWidth-1:0] flit_q;
    logic [3:0] pace_q, wait_q;

    wire takes = take_valid_i && take_unit_i == UnitWidth'(u);
    wire reads = takes || (left_q != '0 && wait_q == '0);

    assign reading[u]      = left_q != '0;
    assign host_valid_o[u] = valid_q;
    assign host_data_o[u]  = data_q;

    always_ff @(posedge clk_i) begin
      if (in_valid_i) flits_q[address(in_place_i, in_flit_q)] <= in_data_i;
      if (reads) data_q <= flits_q[takes ? address(taken, '0) : address(entry_q[u], flit_q)];
    end

    always_ff @(posedge clk_i) begin
      valid_q <= reads && !rst_i;
      if (takes) begin
        entry_q[u] <= taken;
        pace_q     <= take_pace_i - 1'b1;
        wait_q     <= take_pace_i - 1'b1;
        flit_q     <= FlitWidth'(1);
      end else if (reads) begin
        wait_q <= pace_q;
        flit_q <= flit_q + 1'b1;
      end else begin
        wait_q <= wait_q - 1'b1;
      end
      if (rst_i) left_q <= '0;
      else if (takes) left_q <= LeftWidth'((32'd1 << take_size_i) - 32'd1);
      else if (reads) left_q <= left_q - 1'b1;
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) if (!rst_i) unit_reads_one : assert (!(takes && reading[u]));
`endif
  end

  // --- Entries in the order of takes, until the unit has read them

  logic freed_valid;
  logic [UnitWidth-1:0] freed_unit;
  wire read = !(reading[freed_unit] && entry_q[freed_unit] == free_place_o);

  assign free_valid_o = freed_valid && read;

  tw_fifo #(
      .Width(UnitWidth + EntryWidth),
      .Depth(Entries)
  ) freed (
      .clk_i,
      .rst_i,
      .in_valid_i(take_valid_i),
      .in_ready_o(),
      .in_data_i({take_unit_i, taken}),
      .out_valid_o(freed_valid),
      .out_ready_i(free_ready_i && read),
      .out_data_o({freed_unit, free_place_o}),
      .count_o()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      takes_what_is_there : assert (!take_valid_i || filled_q[take_process_i] != emptied_q[take_process_i]);
      takes_every_other_cycle : assert (!(take_valid_i && behind_q && take_process_i == behind_process_q));
      nothing_before_ready : assert (ready_q || !(in_valid_i || take_valid_i));
    end
  end
`endif
endmodule
