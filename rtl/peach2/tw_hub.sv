// SPDX-License-Identifier: Apache-2.0
// A hub of PEACH2: four PCI Express links whose packets are routed by address windows; a DMA controller; and a bus
// with memory, working RAM, the reduction calculator and the registers. Packets have one clock, the bus a slower one.
//
// A link carries packets and credits: the lower layers are modelled by its rate and the overhead of a packet. Inside, the bus and the
// DMA controller are ports like the links, with their own stores, so that answers are always accepted. The calculator blocks
// its beats until its results have been copied; so the chains that copy them have a channel of the DMA controller and a lane of the
// bus to themselves.
//
// Order: from port to port, kept. Latency: from link to link a packet's words, and 10 cycles. Throughput: that of the links; a word
// per cycle to the bus, a beat of 16 bytes per cycle of its clock. Storage: that of the blocks, and the working RAM. All outputs
// are registers, or depend only on registers, except those to memory, which depend on bus_memory_ready_i. Critical path: that of the
// blocks.
module tw_hub
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
  import tw_peach2_pkg::*;
  import tw_peach2_spec_pkg::*;
#(
    parameter int unsigned Windows = 16,
    parameter int unsigned Packets = 32,  /// capacity of each end of a link
    parameter int unsigned Units = 256,  /// the same in units of 16 bytes of data
    parameter int unsigned Rate = 16,  /// bytes that each link but south carries in Scale cycles
    parameter int unsigned SouthRate = 32,  /// the same of south
    parameter int unsigned Scale = 1,
    parameter int unsigned Reads = 16,  /// outstanding reads of each channel of the DMA controller, 2 to 64
    parameter int unsigned BusReads = 4,  /// outstanding reads of each lane of the bus
    parameter int unsigned RamBits = 11,  /// log2 of the working RAM's beats of 16 bytes
    parameter int unsigned Contexts = 4,  /// of the calculator
    parameter int unsigned Sums = 16,  /// its beats of partial sums
    parameter int unsigned Records = 8,  /// beats of its results
    parameter int unsigned Latency = 8,  /// of its lanes, cycles
    parameter pairs_t Pairs = all_pairs(),  /// supported pairs of its lanes
    parameter int unsigned Starts = 8,  /// waiting chains
    parameter int unsigned Timeout = 0,  /// of the DMA controller's reads after reset, in units of tw_dma_reader; 0: none
    localparam int unsigned Links = 4,
    localparam int unsigned MemoryBits = 25
) (
    input logic net_clk_i,
    input logic net_rst_i,

    input logic [        15:0] net_own_i,   /// requester and completer ID; constant
    input logic [BaseBits-1:0] net_base_i,  /// the hub's own GByte; constant

    input  logic  [Links-1:0]                net_in_valid_i,
    input  word_t [Links-1:0]                net_in_data_i,
    input  logic  [Links-1:0]                net_in_last_i,
    output logic  [Links-1:0]                net_freed_valid_o,   /// returns a packet's credits
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
  localparam int unsigned NoteBits = $bits(note_t);
  localparam int unsigned PlacesBits = $clog2(Sources);
  localparam int unsigned EventBits = PlacesBits + 16 + NoteBits;
  localparam int unsigned CrossingDepth = 16;
  localparam int unsigned FewDepth = 8;

  // --- Ports

  logic  [Ports-1:Links] in_valid, in_ready, in_last, out_valid, out_ready, out_last;
  word_t [Ports-1:Links] in_data, out_data;
  logic [Ports-1:0] refused, refused_read;
  refusal_e [Ports-1:0] refused_reason;
  source_t [Ports-1:0] refused_source;
  logic [Ports-1:0][AddressBits-1:0] refused_address;
  logic [2**NodeBits-1:0] owners_q;
  logic [15:0] timeout_q;

  logic load;
  logic [LoadBits-1:0] load_index;
  window_t load_window;

  tw_hub_ports #(
      .Windows(Windows),
      .Packets(Packets),
      .Units  (Units),
      .Rate   (Rate),
      .SouthRate(SouthRate),
      .Scale  (Scale),
      .Links  (Links)
  ) ports (
      .clk_i              (net_clk_i),
      .rst_i              (net_rst_i),
      .own_i              (net_own_i),
      .base_i             (net_base_i),
      .owners_i           (owners_q),
      .load_valid_i       (load),
      .load_index_i       (load_index),
      .load_window_i      (load_window),
      .link_in_valid_i    (net_in_valid_i),
      .link_in_data_i     (net_in_data_i),
      .link_in_last_i     (net_in_last_i),
      .link_freed_valid_o (net_freed_valid_o),
      .link_freed_units_o (net_freed_units_o),
      .link_out_valid_o   (net_out_valid_o),
      .link_out_data_o    (net_out_data_o),
      .link_out_last_o    (net_out_last_o),
      .link_credit_valid_i(net_credit_valid_i),
      .link_credit_units_i(net_credit_units_i),
      .in_valid_i         (in_valid),
      .in_ready_o         (in_ready),
      .in_data_i          (in_data),
      .in_last_i          (in_last),
      .out_valid_o        (out_valid),
      .out_ready_i        (out_ready),
      .out_data_o         (out_data),
      .out_last_o         (out_last),
      .refused_o          (refused),
      .refused_read_o     (refused_read),
      .refused_reason_o   (refused_reason),
      .refused_source_o   (refused_source),
      .refused_address_o  (refused_address)
  );

  // --- The DMA controller

  logic [Channels-1:0] start, start_ready, finished, fault;
  logic commanded;
  logic [Channels-1:0] abort, purge;
  chain_fault_e [Channels-1:0] fault_reason;
  logic [Channels-1:0][AddressBits-1:0] fault_address;
  logic [Channels-1:0][AddressBits-1:0] start_address;

  tw_hub_dma #(
      .Reads(Reads)
  ) dma (
      .clk_i          (net_clk_i),
      .rst_i          (net_rst_i),
      .own_i          (net_own_i),
      .start_valid_i  (start),
      .start_ready_o  (start_ready),
      .start_address_i(start_address),
      .abort_i        (commanded ? abort : '0),
      .purge_i        (commanded ? purge : '0),
      .timeout_i      (timeout_q),
      .in_valid_i     (out_valid[Results:Engine]),
      .in_ready_o     (out_ready[Results:Engine]),
      .in_data_i      (out_data[Results:Engine]),
      .in_last_i      (out_last[Results:Engine]),
      .out_valid_o    (in_valid[Results:Engine]),
      .out_ready_i    (in_ready[Results:Engine]),
      .out_data_o     (in_data[Results:Engine]),
      .out_last_o     (in_last[Results:Engine]),
      .finished_o     (finished),
      .fault_o        (fault),
      .fault_reason_o (fault_reason),
      .fault_address_o(fault_address)
  );

  // --- Events

  logic [Sources-1:0] happened;
  note_t [Sources-1:0] notes;
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
      .Sources(Sources),
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

  // --- Clock domain crossings

  localparam int unsigned Lanes = 2;  // of the bus
  logic [Lanes-1:0] bus_in_valid, bus_in_ready, bus_in_last, bus_out_valid, bus_out_ready, bus_out_last;
  word_t [Lanes-1:0] bus_in_data, bus_out_data;
  logic window_valid, window_ready, window_read;
  logic [LoadBits-1:0] window_index;
  window_t window;
  logic [Channels-1:0] started, started_ready;
  logic [Channels-1:0][AddressBits-1:0] started_address;
  logic [EventBits-1:0] window_event;
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
      .Width(LoadBits + $bits(window_t)),
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
    if (net_rst_i) {owners_q, timeout_q} <= {(2 ** NodeBits)'(0), 16'(Timeout)};
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
      .rd_valid_o(window_read),
      .rd_ready_i(1'b1),
      .rd_data_o (window_event)
  );

  // --- The bus

  tw_hub_bus #(
      .Windows  (Windows),
      .BusReads (BusReads),
      .RamBits  (RamBits),
      .Contexts (Contexts),
      .Sums     (Sums),
      .Records  (Records),
      .Latency  (Latency),
      .Pairs    (Pairs),
      .Starts   (Starts),
      .Timeout  (Timeout),
      .Lanes    (Lanes),
      .EventBits(EventBits)
  ) bus (
      .clk_i               (bus_clk_i),
      .rst_i               (bus_rst_i),
      .own_i               (net_own_i),
      .in_valid_i          (bus_in_valid),
      .in_ready_o          (bus_in_ready),
      .in_data_i           (bus_in_data),
      .in_last_i           (bus_in_last),
      .out_valid_o         (bus_out_valid),
      .out_ready_i         (bus_out_ready),
      .out_data_o          (bus_out_data),
      .out_last_o          (bus_out_last),
      .memory_valid_o      (bus_memory_valid_o),
      .memory_ready_i      (bus_memory_ready_i),
      .memory_write_o      (bus_memory_write_o),
      .memory_address_o    (bus_memory_address_o),
      .memory_data_o       (bus_memory_data_o),
      .memory_enable_o     (bus_memory_enable_o),
      .memory_reply_valid_i(bus_memory_reply_valid_i),
      .memory_reply_data_i (bus_memory_reply_data_i),
      .window_valid_o      (window_valid),
      .window_ready_i      (window_ready),
      .window_index_o      (window_index),
      .window_o            (window),
      .start_valid_o       (started),
      .start_ready_i       (started_ready),
      .start_address_o     (started_address),
      .command_valid_o     (command_valid),
      .command_ready_i     (command_ready),
      .command_abort_o     (command_abort),
      .command_purge_o     (command_purge),
      .command_owners_o    (command_owners),
      .command_timeout_o   (command_timeout),
      .event_valid_i       (window_read),
      .event_i             (window_event)
  );
endmodule
