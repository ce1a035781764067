// SPDX-License-Identifier: Apache-2.0
// Components at a hub's bus, in its clock domain: two lanes of packets, memory, working RAM, the calculator and the registers.
//
// Order: of a lane's packets. Latency: that of the blocks. Throughput: a beat of 16 bytes per cycle. Storage: the working RAM, and that
// of the blocks. Outputs to memory depend on memory_ready_i. Critical path: that of the blocks.
module tw_hub_bus
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
  import tw_peach2_pkg::*;
#(
    parameter int unsigned Windows = 16,
    parameter int unsigned BusReads = 4,  /// outstanding reads of each lane
    parameter int unsigned RamBits = 11,  /// log2 of the working RAM's beats
    parameter int unsigned Contexts = 4,  /// of the calculator
    parameter int unsigned Sums = 16,  /// its beats of partial sums
    parameter int unsigned Records = 8,  /// beats of its results
    parameter int unsigned Latency = 8,  /// of its lanes, in cycles
    parameter pairs_t Pairs = all_pairs(),  /// supported pairs of its lanes
    parameter int unsigned Starts = 8,  /// waiting chains
    parameter int unsigned Timeout = 0,  /// of the DMA controller's reads after reset
    parameter int unsigned Lanes = 2,
    parameter int unsigned EventBits = 70,  /// source, count, note
    localparam int unsigned MemoryBits = 25
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,

    input  logic  [Lanes-1:0] in_valid_i,
    output logic  [Lanes-1:0] in_ready_o,
    input  word_t [Lanes-1:0] in_data_i,
    input  logic  [Lanes-1:0] in_last_i,
    output logic  [Lanes-1:0] out_valid_o,
    input  logic  [Lanes-1:0] out_ready_i,
    output word_t [Lanes-1:0] out_data_o,
    output logic  [Lanes-1:0] out_last_o,

    output logic                  memory_valid_o,
    input  logic                  memory_ready_i,
    output logic                  memory_write_o,
    output logic [MemoryBits-1:0] memory_address_o,
    output logic [         127:0] memory_data_o,
    output logic [          15:0] memory_enable_o,
    input  logic                  memory_reply_valid_i,
    input  logic [         127:0] memory_reply_data_i,

    output logic                    window_valid_o,
    input  logic                    window_ready_i,
    output logic    [ LoadBits-1:0] window_index_o,
    output window_t                 window_o,

    output logic [Channels-1:0]                  start_valid_o,
    input  logic [Channels-1:0]                  start_ready_i,
    output logic [Channels-1:0][AddressBits-1:0] start_address_o,

    output logic                   command_valid_o,
    input  logic                   command_ready_i,
    output logic [   Channels-1:0] command_abort_o,
    output logic [   Channels-1:0] command_purge_o,
    output logic [2**NodeBits-1:0] command_owners_o,
    output logic [           15:0] command_timeout_o,

    input logic                 event_valid_i,
    input logic [EventBits-1:0] event_i
);
  localparam int unsigned NoteBits = $bits(note_t);
  localparam int unsigned PlacesBits = $clog2(Sources);
  localparam int unsigned ContextBits = $clog2(Contexts);
  localparam int unsigned PlaceBits = $clog2(Sums);
  localparam int unsigned RecordBits = $clog2(Records);
  localparam int unsigned BeatBits = AddressBits - 4;

  logic [Lanes-1:0] beat_valid, beat_ready, beat_write;
  logic reply_valid, reply_side, reply_failed;
  logic [Lanes-1:0][BeatBits-1:0] beat_address;
  logic [Lanes-1:0][127:0] beat_data;
  logic [Lanes-1:0][15:0] beat_enable;
  logic [BeatBits-1:0] stray_address;
  logic [127:0] reply_data;
  logic calculates, calculator_ready, ram_write, register_write, register_ready, stray, dropped, done;
  logic [ContextBits-1:0] calculator_context, done_context, setup_context;
  logic [PlaceBits-1:0] calculator_place;
  logic [RecordBits-1:0] calculator_read;
  logic [RamBits-1:0] ram_address;
  logic [7:0] register_address;
  logic [127:0] calculator_data, ram_data_q, register_data;
  logic setup_valid, setup_tree;
  logic [31:0] setup_beats;
  operator_e setup_operation;
  datatype_e setup_datatype;
  logic [1:0] setup_record;
  logic [Contexts-1:0] kept;

  for (genvar l = 0; l < Lanes; l++) begin : lanes
    tw_bus_bridge #(
        .Reads(BusReads)
    ) bridge (
        .clk_i         (clk_i),
        .rst_i         (rst_i),
        .own_i         (own_i),
        .in_valid_i    (in_valid_i[l]),
        .in_ready_o    (in_ready_o[l]),
        .in_data_i     (in_data_i[l]),
        .in_last_i     (in_last_i[l]),
        .out_valid_o   (out_valid_o[l]),
        .out_ready_i   (out_ready_i[l]),
        .out_data_o    (out_data_o[l]),
        .out_last_o    (out_last_o[l]),
        .beat_valid_o  (beat_valid[l]),
        .beat_ready_i  (beat_ready[l]),
        .beat_write_o  (beat_write[l]),
        .beat_address_o(beat_address[l]),
        .beat_data_o   (beat_data[l]),
        .beat_enable_o (beat_enable[l]),
        .reply_valid_i (reply_valid && 32'(reply_side) == l),
        .reply_failed_i(reply_failed),
        .reply_data_i  (reply_data)
    );
  end
  tw_bus #(
      .RamBits (RamBits),
      .Contexts(Contexts),
      .Sums    (Sums),
      .Records (Records)
  ) bus (
      .clk_i               (clk_i),
      .rst_i               (rst_i),
      .beat_valid_i        (beat_valid),
      .beat_ready_o        (beat_ready),
      .beat_write_i        (beat_write),
      .beat_address_i      (beat_address),
      .beat_data_i         (beat_data),
      .beat_enable_i       (beat_enable),
      .reply_valid_o       (reply_valid),
      .reply_side_o        (reply_side),
      .reply_failed_o      (reply_failed),
      .reply_data_o        (reply_data),
      .memory_valid_o      (memory_valid_o),
      .memory_ready_i      (memory_ready_i),
      .memory_write_o      (memory_write_o),
      .memory_address_o    (memory_address_o),
      .memory_data_o       (memory_data_o),
      .memory_enable_o     (memory_enable_o),
      .memory_reply_valid_i(memory_reply_valid_i),
      .memory_reply_data_i (memory_reply_data_i),
      .calculator_valid_o  (calculates),
      .calculator_ready_i  (calculator_ready),
      .calculator_context_o(calculator_context),
      .calculator_place_o  (calculator_place),
      .calculator_read_o   (calculator_read),
      .calculator_data_i   (calculator_data),
      .ram_write_o         (ram_write),
      .ram_address_o       (ram_address),
      .ram_data_i          (ram_data_q),
      .register_write_o    (register_write),
      .register_ready_i    (register_ready),
      .register_address_o  (register_address),
      .register_data_i     (register_data),
      .stray_valid_o       (stray),
      .stray_address_o     (stray_address)
  );

  // A memory for each byte of a beat, with its own write enable.
  for (genvar i = 0; i < 16; i++) begin : ram
    (* ram_style = "block" *) logic [7:0] bytes_q[2**RamBits];
    initial for (int k = 0; k < 2 ** RamBits; k++) bytes_q[k] = '0;
    always_ff @(posedge clk_i) begin
      if (ram_write && memory_enable_o[i]) bytes_q[ram_address] <= memory_data_o[8*i+:8];
      ram_data_q[8*i+:8] <= bytes_q[ram_address];
    end
  end

  tw_calculator #(
      .Contexts(Contexts),
      .Sums    (Sums),
      .Records (Records),
      .Latency (Latency),
      .Pairs   (Pairs)
  ) calculator (
      .clk_i            (clk_i),
      .rst_i            (rst_i),
      .setup_valid_i    (setup_valid),
      .setup_context_i  (setup_context),
      .setup_beats_i    (setup_beats),
      .setup_operation_i(setup_operation),
      .setup_datatype_i (setup_datatype),
      .setup_record_i   (setup_record),
      .setup_tree_i     (setup_tree),
      .write_valid_i    (calculates),
      .write_ready_o    (calculator_ready),
      .write_context_i  (calculator_context),
      .write_place_i    (calculator_place),
      .write_data_i     (memory_data_o),
      .read_context_i   (calculator_context),
      .read_beat_i      (calculator_read),
      .read_data_o      (calculator_data),
      .done_valid_o     (done),
      .done_context_o   (done_context),
      .kept_i           (kept),
      .stray_o          (dropped)
  );
  tw_control #(
      .Windows (Windows),
      .Contexts(Contexts),
      .Starts  (Starts),
      .Timeout (Timeout)
  ) control (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .register_write_i  (register_write),
      .register_ready_o  (register_ready),
      .register_address_i(register_address),
      .register_data_i   (memory_data_o),
      .register_enable_i (memory_enable_o),
      .register_data_o   (register_data),
      .window_valid_o    (window_valid_o),
      .window_ready_i    (window_ready_i),
      .window_index_o    (window_index_o),
      .window_o          (window_o),
      .start_valid_o     (start_valid_o[0]),
      .start_ready_i     (start_ready_i[0]),
      .start_address_o   (start_address_o[0]),
      .command_valid_o   (command_valid_o),
      .command_ready_i   (command_ready_i),
      .command_abort_o   (command_abort_o),
      .command_purge_o   (command_purge_o),
      .command_owners_o  (command_owners_o),
      .command_timeout_o (command_timeout_o),
      .chain_valid_o     (start_valid_o[1]),
      .chain_ready_i     (start_ready_i[1]),
      .chain_address_o   (start_address_o[1]),
      .kept_o            (kept),
      .setup_valid_o     (setup_valid),
      .setup_context_o   (setup_context),
      .setup_beats_o     (setup_beats),
      .setup_operation_o (setup_operation),
      .setup_datatype_o  (setup_datatype),
      .setup_record_o    (setup_record),
      .setup_tree_o      (setup_tree),
      .done_valid_i      (done),
      .done_context_i    (done_context),
      .dropped_i         (dropped),
      .stray_valid_i     (stray),
      .stray_address_i   (stray_address),
      .event_valid_i     (event_valid_i),
      .event_place_i     (event_i[EventBits-1-:PlacesBits]),
      .event_count_i     (event_i[NoteBits+:16]),
      .event_note_i      (event_i[NoteBits-1:0])
  );
endmodule
