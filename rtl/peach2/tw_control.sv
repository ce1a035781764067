// SPDX-License-Identifier: Apache-2.0
// The registers of a hub, on its bus: windows, starts of the DMA controller, the calculator's contexts, and event
// counts.
//
// A register has 16 bytes, and is written in one beat, or its lower half before its upper one. At 0 the windows: lower and upper
// page, 32 bits each; mask, port in bits 34 to 32, used in bit 40. At 96 the translations, inbound and outbound for each link, alike: first
// page and page that it becomes; mask, used. A write to 64 starts a chain: its address, only the lower half. At 65
// the nodes, a bit each, whose packets may write registers; otherwise only the host may. At 66, bits 0 and 1 abort the chain of
// a channel, 8 and 9 also the waiting ones. At 67 the time-out of a chain's reads, 16 bits, in units of tw_dma_reader; 0: none; Timeout after
// reset. At 80 the contexts: beats, operator from bit 32, type from 40, log2 of a record's beats
// from 48, tree in bit 56; and, if bit 63 is set, the chain that each result starts without a host: only one for
// all contexts is active, and the context's result is kept until it has ended.
//
// Read at 128: finished chains and dropped starts, 32 bits each; aborted chains. At 129: beats dropped by the
// bus and by the calculator; the address of the bus's last one. At 130 for each channel: aborted chains, the last one's reason
// from bit 32; its descriptor. At 144 for each port: refused packets, the last one's reason from bit 32, whether it was a read in bit
// 35, its source: the port from bit 40, the node from 48; its address. At 160 for each context: results.
//
// Order: of starts. Latency: a window or a start is at its output the cycle after the write; a read takes one. Throughput: a
// register per cycle, while windows are accepted. Storage: the counts, the contexts' chains, Starts starts. All outputs but
// register_ready_o are registers, or depend only on registers. Critical path: from register_address_i through the selection of a count
// to the read data.
module tw_control
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
#(
    parameter int unsigned Windows = 16,  /// at least 2, at most 64
    parameter int unsigned Contexts = 4,  /// of the calculator, a power of two, at least 2, at most 16
    parameter int unsigned Starts = 8,  /// waiting starts, at least 1
    parameter int unsigned Timeout = 0,  /// of reads, after reset, at most 65,535
    localparam int unsigned ContextBits = $clog2(Contexts),
    localparam int unsigned BeatBits = AddressBits - 4
) (
    input logic clk_i,
    input logic rst_i,

    input  logic         register_write_i,
    output logic         register_ready_o,    /// a write
    input  logic [  7:0] register_address_i,
    input  logic [127:0] register_data_i,
    input  logic [ 15:0] register_enable_i,
    output logic [127:0] register_data_o,     /// for the address of the previous cycle

    output logic                    window_valid_o,
    input  logic                    window_ready_i,
    output logic    [ LoadBits-1:0] window_index_o,  /// the register's number
    output window_t                 window_o,

    output logic                   start_valid_o,
    input  logic                   start_ready_i,
    output logic [AddressBits-1:0] start_address_o,

    output logic                   command_valid_o,
    input  logic                   command_ready_i,
    output logic [   Channels-1:0] command_abort_o,
    output logic [   Channels-1:0] command_purge_o,
    output logic [2**NodeBits-1:0] command_owners_o,  /// nodes that may write registers
    output logic [           15:0] command_timeout_o,

    output logic                   chain_valid_o,    /// started by a result
    input  logic                   chain_ready_i,
    output logic [AddressBits-1:0] chain_address_o,
    output logic [   Contexts-1:0] kept_o,           /// contexts whose results' chains have not ended

    output logic                        setup_valid_o,
    output logic      [ContextBits-1:0] setup_context_o,
    output logic      [           31:0] setup_beats_o,
    output operator_e                   setup_operation_o,
    output datatype_e                   setup_datatype_o,
    output logic      [            1:0] setup_record_o,
    output logic                        setup_tree_o,

    input logic                   done_valid_i,
    input logic [ContextBits-1:0] done_context_i,
    input logic                   dropped_i,       /// the calculator dropped a beat

    input logic                stray_valid_i,    /// the bus dropped a beat
    input logic [BeatBits-1:0] stray_address_i,

    input logic                          event_valid_i,
    input logic        [            3:0] event_place_i,   /// ports; then, for each channel, finished chains, and faults
    input logic        [           15:0] event_count_i,
    input note_t                         event_note_i
);
  if (Windows < 2 || Windows > 64) begin : check_windows
    $error("tw_control: Windows must be 2 to 64");
  end
  if (Contexts < 2 || Contexts > 16 || (Contexts & (Contexts - 1)) != 0) begin : check_contexts
    $error("tw_control: Contexts must be a power of two from 2 to 16");
  end
  if (Timeout > 65535) begin : check_timeout
    $error("tw_control: Timeout must be at most 65,535");
  end
  if (Starts < 1) begin : check_starts
    $error("tw_control: Starts must be at least 1");
  end

  typedef struct packed {
    logic [31:0] count;
    note_t note;  // of the last one
  } record_t;
  typedef struct packed {
    logic starts;
    logic [AddressBits-1:0] address;
  } chain_t;

  record_t [Ports-1:0] refused_q;
  record_t [Channels-1:0] given_up_q;
  chain_t [Contexts-1:0] chains_q;
  logic [Contexts-1:0] due_q;  // chains to be started by a result
  logic running_q;  // one of them is active, from its start on
  logic [ContextBits-1:0] running_of_q;
  logic [Contexts-1:0][31:0] results_q;
  logic [31:0] finished_q, faults_q, missed_q, strays_q, dropped_q;
  logic [BeatBits-1:0] stray_address_q;
  logic [63:0] lower_q;

  // --- Writes

  wire goes = register_write_i && register_ready_o;
  wire lower_written = register_enable_i[7:0] == '1;
  wire upper_written = register_enable_i[15:8] == '1;
  wire [63:0] lower = lower_written ? register_data_i[63:0] : lower_q;
  wire [63:0] upper = register_data_i[127:64];
  wire to_window = goes && upper_written && (register_address_i[7:6] == 2'd0 && 7'(register_address_i[5:0]) < 7'(Windows)
                                             || register_address_i[7:3] == {1'b0, Translations});
  wire to_start = goes && lower_written && register_address_i == 8'd64;
  wire to_context = goes && upper_written && register_address_i[7:4] == 4'd5 && 5'(register_address_i[3:0]) < 5'(Contexts);
  wire [ContextBits-1:0] of = register_address_i[ContextBits-1:0];

  wire to_owners = goes && lower_written && register_address_i == 8'd65;
  wire to_abort = goes && lower_written && register_address_i == 8'd66;
  wire to_timeout = goes && lower_written && register_address_i == 8'd67;

  wire window_free = !window_valid_o || window_ready_i;
  wire command_free = !command_valid_o || command_ready_i;
  assign register_ready_o = window_free && command_free;

  // --- Starts

  logic starts_ready, next_due;
  logic [ContextBits-1:0] next;
  wire starts_due = next_due && !running_q;
  wire chain_ended = event_valid_i && (event_place_i == 4'(Finished + 1) || event_place_i == 4'(Faults + 1));
  always_comb begin
    kept_o = due_q;
    if (running_q) kept_o[running_of_q] = 1'b1;
  end
  tw_arbiter #(
      .Inputs(Contexts)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (due_q),
      .served_i      (starts_due),
      .grant_o       (),
      .winner_valid_o(next_due),
      .winner_index_o(next)
  );
  tw_fifo #(
      .Width(AddressBits),
      .Depth(Starts)
  ) starts (
      .clk_i,
      .rst_i,
      .in_valid_i (to_start),
      .in_ready_o (starts_ready),
      .in_data_i  (lower[AddressBits-1:0]),
      .out_valid_o(start_valid_o),
      .out_ready_i(start_ready_i),
      .out_data_o (start_address_o),
      .count_o    ()
  );

  // --- Reads

  function automatic logic [127:0] record(record_t from);
    return {64'(from.note.address), 12'd0, from.note.source.node, 5'd0, from.note.source.port, 4'd0, from.note.was_read, from.note.reason, from.count};
  endfunction
  logic [127:0] value;
  always_comb begin
    value = '0;
    if (register_address_i == 8'd128) value = {32'd0, faults_q, missed_q, finished_q};
    if (register_address_i == 8'd129) value = {64'({stray_address_q, 4'd0}), dropped_q, strays_q};
    for (int unsigned i = 0; i < Ports; i++)
    if (register_address_i == 8'(144 + i))
      value = record(refused_q[i]);
    for (int unsigned i = 0; i < Channels; i++) if (register_address_i == 8'(130 + i)) value = record(given_up_q[i]);
    for (int unsigned i = 0; i < Contexts; i++)
    if (register_address_i == 8'(160 + i)) value = 128'(results_q[i]);
  end

  always_ff @(posedge clk_i) begin
    register_data_o <= rst_i ? '0 : value;
    if (goes && lower_written) lower_q <= register_data_i[63:0];

    if (goes) begin
      command_abort_o <= to_abort ? lower[Channels-1:0] : '0;
      command_purge_o <= to_abort ? lower[8+:Channels] : '0;
    end
    if (register_ready_o) begin
      window_index_o <= register_address_i[LoadBits-1:0];
      window_o <= '{
          used: upper[40],
          to: upper[34:32],
          mask: upper[PageBits-1:0],
          lower: lower[PageBits-1:0],
          upper: lower[32+:PageBits]
      };
    end
    setup_context_o   <= of;
    setup_beats_o     <= lower[31:0];
    setup_operation_o <= operator_e'(lower[35:32]);
    setup_datatype_o  <= datatype_e'(lower[44:40]);
    setup_record_o    <= lower[49:48];
    setup_tree_o      <= lower[56];
    if (to_context) chains_q[of] <= '{starts: upper[63], address: upper[AddressBits-1:0]};

    if (event_valid_i && event_place_i < 4'(Ports)) begin
      refused_q[event_place_i[2:0]].count <= refused_q[event_place_i[2:0]].count + 32'(event_count_i);
      refused_q[event_place_i[2:0]].note  <= event_note_i;
    end
    for (int unsigned i = 0; i < Channels; i++)
    if (event_valid_i && event_place_i == 4'(Faults + i))
      given_up_q[i] <= '{count: given_up_q[i].count + 32'(event_count_i), note: event_note_i};
    if (stray_valid_i) stray_address_q <= stray_address_i;
    if (done_valid_i) results_q[done_context_i] <= results_q[done_context_i] + 1'b1;
    if (starts_due) begin
      due_q[next] <= 1'b0;
      running_of_q <= next;
      chain_address_o <= chains_q[next].address;
    end
    if (done_valid_i && chains_q[done_context_i].starts) due_q[done_context_i] <= 1'b1;

    if (rst_i) begin
      window_valid_o <= 1'b0;
      setup_valid_o <= 1'b0;
      chain_valid_o <= 1'b0;
      running_q <= 1'b0;
      command_valid_o <= 1'b0;
      command_owners_o <= '0;
      command_timeout_o <= 16'(Timeout);
      refused_q <= '0;
      given_up_q <= '0;
      due_q <= '0;
      results_q <= '0;
      lower_q <= '0;
      {finished_q, faults_q, missed_q, strays_q, dropped_q} <= '0;
      stray_address_q <= '0;
      for (int unsigned i = 0; i < Contexts; i++) chains_q[i].starts <= 1'b0;
    end else begin
      window_valid_o <= to_window || !window_free;
      command_valid_o <= to_owners || to_abort || to_timeout || !command_free;
      if (to_owners) command_owners_o <= lower[2**NodeBits-1:0];
      if (to_timeout) command_timeout_o <= lower[15:0];
      setup_valid_o <= to_context;
      chain_valid_o <= starts_due || (chain_valid_o && !chain_ready_i);
      running_q <= starts_due || (running_q && !chain_ended);
      if (event_valid_i && event_place_i >= 4'(Faults)) faults_q <= faults_q + 32'(event_count_i);
      else if (event_valid_i && event_place_i >= 4'(Finished)) finished_q <= finished_q + 32'(event_count_i);
      missed_q  <= missed_q + 32'(to_start && !starts_ready);
      strays_q  <= strays_q + 32'(stray_valid_i);
      dropped_q <= dropped_q + 32'(dropped_i);
    end
  end
endmodule
