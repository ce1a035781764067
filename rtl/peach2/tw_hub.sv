// SPDX-License-Identifier: Apache-2.0
// A hub of PEACH2: four links of PCI Express whose packets go where the windows of their addresses say; a DMA controller; and a bus
// with memory, working RAM, the reduction calculator and the registers. Packets have one clock, the bus a slower one.
//
// At a link are packets and credits: the layers below are its rate and what they add to a packet. Inside, the bus and the DMA
// controller are ports as the links are, with stores of their own, so that an answer is always taken. The calculator holds back what
// it is given until its results have been copied; so the chains that copy them have a channel of the DMA controller and a lane of the
// bus to themselves.
//
// Order: from port to port, kept. Latency: from link to link a packet's words, and 8 cycles. Throughput: that of the links; a word a
// cycle to the bus, a beat of 16 bytes in a cycle of its clock. Storage: that of the blocks, and the working RAM. All outputs
// are registers, or depend on registers alone, but those to memory, which depend on bus_memory_ready_i. Critical path: that of the
// blocks.
module tw_hub
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
  import tw_peach2_pkg::*;
  import tw_peach2_spec_pkg::*;
#(
    parameter int unsigned Windows = 16,
    parameter int unsigned Packets = 32,  /// that a link's end keeps, here and there
    parameter int unsigned Units = 256,  /// of 16 bytes of data, likewise
    parameter int unsigned Reads = 16,  /// of each channel of the DMA controller under way, up to 32
    parameter int unsigned BusReads = 4,  /// of each lane of the bus under way
    parameter int unsigned RamBits = 11,  /// log2 of the working RAM's beats of 16 bytes
    parameter int unsigned Contexts = 4,  /// of the calculator
    parameter int unsigned Sums = 16,  /// its beats of partial sums
    parameter int unsigned Records = 8,  /// beats of its results
    parameter int unsigned Latency = 8,  /// of its lanes, cycles
    parameter pairs_t Pairs = all_pairs(),  /// what they can
    parameter int unsigned Starts = 8,  /// of chains that wait
    localparam int unsigned Links = 4,
    localparam int unsigned MemoryBits = 25
) (
    input logic net_clk_i,
    input logic net_rst_i,

    input logic [        15:0] net_own_i,   /// as requester and completer; constant
    input logic [BaseBits-1:0] net_base_i,  /// its GByte; constant

    input  logic  [Links-1:0]                net_in_valid_i,
    input  word_t [Links-1:0]                net_in_data_i,
    input  logic  [Links-1:0]                net_in_last_i,
    output logic  [Links-1:0]                net_freed_valid_o,   /// a packet's credits
    output logic  [Links-1:0][UnitsBits-1:0] net_freed_units_o,
    output logic  [Links-1:0]                net_out_valid_o,
    output word_t [Links-1:0]                net_out_data_o,
    output logic  [Links-1:0]                net_out_last_o,
    input  logic  [Links-1:0]                net_credit_valid_i,
    input  logic  [Links-1:0][UnitsBits-1:0] net_credit_units_i,

    input logic bus_clk_i,
    input logic bus_rst_i,

    output logic                  bus_memory_valid_o,
    input  logic                  bus_memory_ready_i,
    output logic                  bus_memory_write_o,
    output logic [MemoryBits-1:0] bus_memory_address_o,
    output logic [         127:0] bus_memory_data_o,
    output logic [          15:0] bus_memory_enable_o,
    input  logic                  bus_memory_reply_valid_i,
    input  logic [         127:0] bus_memory_reply_data_i
);
  localparam int unsigned IndexBits = $clog2(Windows);
  // A packet of an odd number of units can have as many words as half of its units and 2 1/2: a header, and lines of which the first
  // and the last hold one double word.
  localparam int unsigned LinkWords = (5 * Packets + Units) / 2;
  localparam int unsigned NoteBits = $bits(note_t);
  localparam int unsigned PlacesBits = $clog2(Places);
  localparam int unsigned EventBits = PlacesBits + 16 + NoteBits;
  localparam int unsigned CrossingDepth = 16;
  localparam int unsigned FewDepth = 8;
  localparam int unsigned ContextBits = $clog2(Contexts);
  localparam int unsigned PlaceBits = $clog2(Sums);
  localparam int unsigned RecordBits = $clog2(Records);
  localparam int unsigned BeatBits = AddressBits - 4;

  // --- Ports: what comes in, through the switch, out

  logic [Ports-1:0] in_valid, in_ready, in_last;
  word_t [Ports-1:0] in_data;
  logic [Ports-1:0] shown, taken, shown_last;
  word_t [Ports-1:0] shown_data;
  logic [Ports-1:0][2:0] shown_to;
  logic [Ports-1:0] out_valid, out_ready, out_last;
  word_t [Ports-1:0] out_data;
  logic [Ports-1:0] freed;
  logic [Ports-1:0][UnitsBits-1:0] freed_units;
  logic [Ports-1:0] refused, refused_read;
  refusal_e [Ports-1:0] refused_reason;
  source_t [Ports-1:0] refused_source;
  logic [Ports-1:0][AddressBits-1:0] refused_address;
  logic [2**NodeBits-1:0] owners_q;
  logic [15:0] timeout_q;

  logic load;
  logic [IndexBits-1:0] load_index;
  window_t load_window;

  for (genvar p = 0; p < Ports; p++) begin : ports
    localparam logic Inside = p >= Links;
    tw_ingress #(
        .Port   (3'(p)),
        .Reads  (p == 32'(North) || p == 32'(Engine) || p == 32'(Results)),
        .Answers(p == 32'(North) || p == 32'(Bus) || p == 32'(Side)),
        .Words  (Inside ? 2 * 10 : LinkWords),
        .Packets(Inside ? 8 : Packets),
        .Windows(Windows)
    ) ingress (
        .clk_i           (net_clk_i),
        .rst_i           (net_rst_i),
        .own_i           (net_own_i),
        .base_i          (net_base_i),
        .owners_i        (owners_q),
        .load_valid_i    (load),
        .load_index_i    (load_index),
        .load_window_i   (load_window),
        .in_valid_i      (in_valid[p]),
        .in_ready_o      (in_ready[p]),
        .in_data_i       (in_data[p]),
        .in_last_i       (in_last[p]),
        .out_valid_o     (shown[p]),
        .out_ready_i     (taken[p]),
        .out_data_o      (shown_data[p]),
        .out_last_o      (shown_last[p]),
        .out_to_o        (shown_to[p]),
        .freed_valid_o   (freed[p]),
        .freed_units_o   (freed_units[p]),
        .refused_valid_o (refused[p]),
        .refused_reason_o(refused_reason[p]),
        .refused_read_o  (refused_read[p]),
        .refused_source_o(refused_source[p]),
        .refused_address_o(refused_address[p])
    );
  end

  tw_stream_switch #(
      .Inputs (Ports),
      .Outputs(Ports),
      .Width  (WordBits)
  ) packets (
      .clk_i      (net_clk_i),
      .rst_i      (net_rst_i),
      .in_valid_i (shown),
      .in_ready_o (taken),
      .in_data_i  (shown_data),
      .in_last_i  (shown_last),
      .in_to_i    (shown_to),
      .out_valid_o(out_valid),
      .out_ready_i(out_ready),
      .out_data_o (out_data),
      .out_last_o (out_last)
  );

  assign in_valid[Links-1:0] = net_in_valid_i;
  assign in_data[Links-1:0] = net_in_data_i;
  assign in_last[Links-1:0] = net_in_last_i;
  assign net_freed_valid_o = freed[Links-1:0];
  assign net_freed_units_o = freed_units[Links-1:0];
  for (genvar l = 0; l < Links; l++) begin : links
    tw_egress #(
        .Rate   (l == 32'(South) ? 32 : 16),
        .Packets(Packets),
        .Units  (Units)
    ) egress (
        .clk_i         (net_clk_i),
        .rst_i         (net_rst_i),
        .in_valid_i    (out_valid[l]),
        .in_ready_o    (out_ready[l]),
        .in_data_i     (out_data[l]),
        .in_last_i     (out_last[l]),
        .out_valid_o   (net_out_valid_o[l]),
        .out_data_o    (net_out_data_o[l]),
        .out_last_o    (net_out_last_o[l]),
        .told_valid_i  (net_in_valid_i[l] && net_in_last_i[l]),
        .credit_valid_i(net_credit_valid_i[l]),
        .credit_units_i(net_credit_units_i[l])
    );
  end

  // --- The DMA controller

  logic [Channels-1:0] start, start_ready, finished, fault;
  logic commanded;
  logic [Channels-1:0] abort, purge;
  chain_fault_e [Channels-1:0] fault_reason;
  logic [Channels-1:0][AddressBits-1:0] fault_address;
  logic [Channels-1:0][AddressBits-1:0] start_address;

  for (genvar c = 0; c < Channels; c++) begin : channels
    localparam int unsigned Own = c == 0 ? 32'(Engine) : 32'(Results);
    logic read_valid, write_valid, read_ready, write_ready, write_last;
    word_t read_data, write_data;
    logic chunk_valid;
    logic [AddressBits-3:0] chunk_to;
    logic [6:0] chunk_dwords;
    logic fetched, written, answered, failed, quiet, waits, abandon, clear;
    dma_descriptor_t descriptor;

    tw_dma_reader #(
        .Reads(Reads),
        .SideTag(c == 1)
    ) reader (
        .clk_i             (net_clk_i),
        .rst_i             (net_rst_i),
        .own_i             (net_own_i),
        .start_valid_i     (start[c]),
        .start_ready_o     (start_ready[c]),
        .start_address_i   (start_address[c]),
        .out_valid_o       (read_valid),
        .out_ready_i       (read_ready),
        .out_data_o        (read_data),
        .chunk_valid_o     (chunk_valid),
        .chunk_to_o        (chunk_to),
        .chunk_dwords_o    (chunk_dwords),
        .descriptor_valid_i(fetched),
        .descriptor_i      (descriptor),
        .written_i         (written),
        .refused_i         (refused[Own] && refused_read[Own]),
        .answered_i        (answered),
        .failed_i          (failed),
        .quiet_i           (quiet),
        .waits_i           (waits),
        .abort_i           (commanded && abort[c]),
        .purge_i           (commanded && purge[c]),
        .timeout_i         (timeout_q),
        .abandon_o         (abandon),
        .clear_o           (clear),
        .finished_o        (finished[c]),
        .fault_valid_o     (fault[c]),
        .fault_reason_o    (fault_reason[c]),
        .fault_address_o   (fault_address[c])
    );
    tw_dma_writer #(
        .Words (10 * Reads + 2),
        .Chunks(Reads),
        .SideTag(c == 1)
    ) writer (
        .clk_i             (net_clk_i),
        .rst_i             (net_rst_i),
        .own_i             (net_own_i),
        .in_valid_i        (out_valid[Own]),
        .in_ready_o        (out_ready[Own]),
        .in_data_i         (out_data[Own]),
        .in_last_i         (out_last[Own]),
        .chunk_valid_i     (chunk_valid),
        .chunk_to_i        (chunk_to),
        .chunk_dwords_i    (chunk_dwords),
        .abandon_i         (abandon),
        .clear_i           (clear),
        .out_valid_o       (write_valid),
        .out_ready_i       (write_ready),
        .out_data_o        (write_data),
        .out_last_o        (write_last),
        .descriptor_valid_o(fetched),
        .descriptor_o      (descriptor),
        .written_o         (written),
        .answered_o        (answered),
        .failed_o          (failed),
        .quiet_o           (quiet),
        .waits_o           (waits)
    );
    tw_stream_switch #(
        .Inputs (2),
        .Outputs(1),
        .Width  (WordBits)
    ) engine (
        .clk_i      (net_clk_i),
        .rst_i      (net_rst_i),
        .in_valid_i ({write_valid, read_valid}),
        .in_ready_o ({write_ready, read_ready}),
        .in_data_i  ({write_data, read_data}),
        .in_last_i  ({write_last, 1'b1}),
        .in_to_i    ('0),
        .out_valid_o(in_valid[Own]),
        .out_ready_i(in_ready[Own]),
        .out_data_o (in_data[Own]),
        .out_last_o (in_last[Own])
    );
  end

  // --- What happened

  logic [Places-1:0] happened;
  note_t [Places-1:0] notes;
  logic event_valid, event_ready;
  logic [EventBits-1:0] event_;
  always_comb begin
    happened = {fault, finished, refused};
    notes = '0;
    for (int unsigned p = 0; p < Ports; p++)
      notes[p] = '{
          reason: refused_reason[p],
          was_read: refused_read[p],
          source: refused_source[p],
          address: refused_address[p]
      };
    for (int unsigned c = 0; c < Channels; c++) begin
      notes[Faults+c].reason  = fault_reason[c];
      notes[Faults+c].address = fault_address[c];
    end
  end
  tw_events #(
      .Places(Places),
      .Width (NoteBits)
  ) events (
      .clk_i      (net_clk_i),
      .rst_i      (net_rst_i),
      .happened_i (happened),
      .note_i     (notes),
      .out_valid_o(event_valid),
      .out_ready_i(event_ready),
      .out_place_o(event_[EventBits-1-:PlacesBits]),
      .out_count_o(event_[NoteBits+:16]),
      .out_note_o (event_[NoteBits-1:0])
  );

  // --- From clock to clock

  localparam int unsigned Lanes = 2;  // of the bus
  logic [Lanes-1:0] bus_in_valid, bus_in_ready, bus_in_last, bus_out_valid, bus_out_ready, bus_out_last;
  word_t [Lanes-1:0] bus_in_data, bus_out_data;
  logic window_valid, window_ready, told;
  logic [IndexBits-1:0] window_index;
  window_t window;
  logic [Channels-1:0] started, started_ready;
  logic [Channels-1:0][AddressBits-1:0] started_address;
  logic [EventBits-1:0] told_event;
  logic command_valid, command_ready;
  logic [Channels-1:0] command_abort, command_purge;
  logic [2**NodeBits-1:0] command_owners, owners;
  logic [15:0] command_timeout, timeout;

  for (genvar l = 0; l < Lanes; l++) begin : crossings
    localparam int unsigned Own = l == 0 ? 32'(Bus) : 32'(Side);
    tw_async_fifo #(
        .Width(WordBits + 1),
        .Depth(CrossingDepth)
    ) to_bus (
        .wr_clk_i  (net_clk_i),
        .wr_rst_i  (net_rst_i),
        .wr_valid_i(out_valid[Own]),
        .wr_ready_o(out_ready[Own]),
        .wr_data_i ({out_last[Own], out_data[Own]}),
        .rd_clk_i  (bus_clk_i),
        .rd_rst_i  (bus_rst_i),
        .rd_valid_o(bus_in_valid[l]),
        .rd_ready_i(bus_in_ready[l]),
        .rd_data_o ({bus_in_last[l], bus_in_data[l]})
    );
    tw_async_fifo #(
        .Width(WordBits + 1),
        .Depth(CrossingDepth)
    ) from_bus (
        .wr_clk_i  (bus_clk_i),
        .wr_rst_i  (bus_rst_i),
        .wr_valid_i(bus_out_valid[l]),
        .wr_ready_o(bus_out_ready[l]),
        .wr_data_i ({bus_out_last[l], bus_out_data[l]}),
        .rd_clk_i  (net_clk_i),
        .rd_rst_i  (net_rst_i),
        .rd_valid_o(in_valid[Own]),
        .rd_ready_i(in_ready[Own]),
        .rd_data_o ({in_last[Own], in_data[Own]})
    );
  end
  for (genvar c = 0; c < Channels; c++) begin : starts
    tw_async_fifo #(
        .Width(AddressBits),
        .Depth(FewDepth)
    ) crossing (
        .wr_clk_i  (bus_clk_i),
        .wr_rst_i  (bus_rst_i),
        .wr_valid_i(started[c]),
        .wr_ready_o(started_ready[c]),
        .wr_data_i (started_address[c]),
        .rd_clk_i  (net_clk_i),
        .rd_rst_i  (net_rst_i),
        .rd_valid_o(start[c]),
        .rd_ready_i(start_ready[c]),
        .rd_data_o (start_address[c])
    );
  end
  tw_async_fifo #(
      .Width(IndexBits + $bits(window_t)),
      .Depth(FewDepth)
  ) loads (
      .wr_clk_i  (bus_clk_i),
      .wr_rst_i  (bus_rst_i),
      .wr_valid_i(window_valid),
      .wr_ready_o(window_ready),
      .wr_data_i ({window_index, window}),
      .rd_clk_i  (net_clk_i),
      .rd_rst_i  (net_rst_i),
      .rd_valid_o(load),
      .rd_ready_i(1'b1),
      .rd_data_o ({load_index, load_window})
  );
  tw_async_fifo #(
      .Width(2 * Channels + 2 ** NodeBits + 16),
      .Depth(FewDepth)
  ) commands (
      .wr_clk_i  (bus_clk_i),
      .wr_rst_i  (bus_rst_i),
      .wr_valid_i(command_valid),
      .wr_ready_o(command_ready),
      .wr_data_i ({command_abort, command_purge, command_owners, command_timeout}),
      .rd_clk_i  (net_clk_i),
      .rd_rst_i  (net_rst_i),
      .rd_valid_o(commanded),
      .rd_ready_i(1'b1),
      .rd_data_o ({abort, purge, owners, timeout})
  );
  always_ff @(posedge net_clk_i) begin
    if (net_rst_i) {owners_q, timeout_q} <= '0;
    else if (commanded) {owners_q, timeout_q} <= {owners, timeout};
  end
  tw_async_fifo #(
      .Width(EventBits),
      .Depth(FewDepth)
  ) tells (
      .wr_clk_i  (net_clk_i),
      .wr_rst_i  (net_rst_i),
      .wr_valid_i(event_valid),
      .wr_ready_o(event_ready),
      .wr_data_i (event_),
      .rd_clk_i  (bus_clk_i),
      .rd_rst_i  (bus_rst_i),
      .rd_valid_o(told),
      .rd_ready_i(1'b1),
      .rd_data_o (told_event)
  );

  // --- The bus

  logic [Lanes-1:0] beat_valid, beat_ready, beat_write;
  logic reply_valid, reply_side;
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
        .clk_i         (bus_clk_i),
        .rst_i         (bus_rst_i),
        .own_i         (net_own_i),
        .in_valid_i    (bus_in_valid[l]),
        .in_ready_o    (bus_in_ready[l]),
        .in_data_i     (bus_in_data[l]),
        .in_last_i     (bus_in_last[l]),
        .out_valid_o   (bus_out_valid[l]),
        .out_ready_i   (bus_out_ready[l]),
        .out_data_o    (bus_out_data[l]),
        .out_last_o    (bus_out_last[l]),
        .beat_valid_o  (beat_valid[l]),
        .beat_ready_i  (beat_ready[l]),
        .beat_write_o  (beat_write[l]),
        .beat_address_o(beat_address[l]),
        .beat_data_o   (beat_data[l]),
        .beat_enable_o (beat_enable[l]),
        .reply_valid_i (reply_valid && 32'(reply_side) == l),
        .reply_data_i  (reply_data)
    );
  end
  tw_bus #(
      .RamBits (RamBits),
      .Contexts(Contexts),
      .Sums    (Sums),
      .Records (Records)
  ) bus (
      .clk_i               (bus_clk_i),
      .rst_i               (bus_rst_i),
      .beat_valid_i        (beat_valid),
      .beat_ready_o        (beat_ready),
      .beat_write_i        (beat_write),
      .beat_address_i      (beat_address),
      .beat_data_i         (beat_data),
      .beat_enable_i       (beat_enable),
      .reply_valid_o       (reply_valid),
      .reply_side_o        (reply_side),
      .reply_data_o        (reply_data),
      .memory_valid_o      (bus_memory_valid_o),
      .memory_ready_i      (bus_memory_ready_i),
      .memory_write_o      (bus_memory_write_o),
      .memory_address_o    (bus_memory_address_o),
      .memory_data_o       (bus_memory_data_o),
      .memory_enable_o     (bus_memory_enable_o),
      .memory_reply_valid_i(bus_memory_reply_valid_i),
      .memory_reply_data_i (bus_memory_reply_data_i),
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

  // A memory for each byte of a beat, as each is written by itself.
  for (genvar i = 0; i < 16; i++) begin : ram
    (* ram_style = "block" *) logic [7:0] bytes_q[2**RamBits];
    initial for (int k = 0; k < 2 ** RamBits; k++) bytes_q[k] = '0;
    always_ff @(posedge bus_clk_i) begin
      if (ram_write && bus_memory_enable_o[i]) bytes_q[ram_address] <= bus_memory_data_o[8*i+:8];
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
      .clk_i            (bus_clk_i),
      .rst_i            (bus_rst_i),
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
      .write_data_i     (bus_memory_data_o),
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
      .Starts  (Starts)
  ) control (
      .clk_i             (bus_clk_i),
      .rst_i             (bus_rst_i),
      .register_write_i  (register_write),
      .register_ready_o  (register_ready),
      .register_address_i(register_address),
      .register_data_i   (bus_memory_data_o),
      .register_enable_i (bus_memory_enable_o),
      .register_data_o   (register_data),
      .window_valid_o    (window_valid),
      .window_ready_i    (window_ready),
      .window_index_o    (window_index),
      .window_o          (window),
      .start_valid_o     (started[0]),
      .start_ready_i     (started_ready[0]),
      .start_address_o   (started_address[0]),
      .command_valid_o   (command_valid),
      .command_ready_i   (command_ready),
      .command_abort_o   (command_abort),
      .command_purge_o   (command_purge),
      .command_owners_o  (command_owners),
      .command_timeout_o (command_timeout),
      .chain_valid_o     (started[1]),
      .chain_ready_i     (started_ready[1]),
      .chain_address_o   (started_address[1]),
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
      .event_valid_i     (told),
      .event_place_i     (told_event[EventBits-1-:PlacesBits]),
      .event_count_i     (told_event[NoteBits+:16]),
      .event_note_i      (told_event[NoteBits-1:0])
  );

`ifndef SYNTHESIS
  always_ff @(posedge net_clk_i) begin
    if (!net_rst_i) credits_suffice : assert ((net_in_valid_i & ~in_ready[Links-1:0]) == '0);
  end
`endif
endmodule
