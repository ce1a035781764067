// SPDX-License-Identifier: Apache-2.0
// A board with ACCL's data path: tw_move_engine, and tw_udp_port in the MAC's clock domain. Packets of a rank to itself stay on the board.
// A packet that arrives without room for it is dropped and counted. engine_rst_i and mac_rst_i are asserted together, each until both
// clocks have had an edge.
//
// Order: that of its parts. Latency: that of its parts, and of a tw_async_fifo in each direction. Throughput: a word per cycle of the slower clock. Storage: that of its parts,
// ReceiveWords of received packets, and OwnWords of packets to the board itself. Critical path: that of its parts.
module tw_accl_node
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
  import tw_reduce_pkg::pairs_t;
  import tw_ethernet_pkg::udp_end_t;
  import tw_ethernet_pkg::received_t;
  import tw_ethernet_pkg::answered_t;
#(
    parameter int unsigned Slots         = 16,  /// as in tw_move_engine
    parameter int unsigned Buffers       = 16,
    parameter int unsigned Communicators = 8,
    parameter int unsigned Ranks         = 64,
    parameter int unsigned MostPackets   = 64,
    parameter int unsigned Room          = 512,
    parameter bit          Conversions   = 1'b1,
    parameter pairs_t      Pairs         = accl_pairs(),
    parameter int unsigned Ends          = 64,   /// boards, a power of two, at most 256
    parameter int unsigned PacketBytes   = 4096, /// maximum payload of a packet, a multiple of 64
    parameter int unsigned ReceiveWords  = 1024, /// a power of two
    parameter int unsigned OwnWords      = 256   /// a power of two
) (
    input logic     engine_clk_i,
    input logic     engine_rst_i,
    input logic     mac_clk_i,
    input logic     mac_rst_i,
    input udp_end_t mac_own_i,    /// constant
    input logic [7:0] engine_own_i, /// this board's index in the table of ends; constant

    input  logic       engine_set_valid_i,
    input  setting_t   engine_set_i,
    input  logic       engine_command_valid_i,  /// as in tw_mover
    output logic       engine_command_ready_o,
    input  command_e   engine_command_kind_i,
    input  logic [7:0] engine_command_slot_i,
    input  move_t      engine_command_move_i,

    output logic             engine_ended_valid_o,
    input  logic             engine_ended_ready_i,
    output logic [      7:0] engine_ended_slot_o,
    output end_e             engine_ended_how_o,
    output logic [     63:0] engine_ended_length_o,
    output logic [Slots-1:0] engine_message_waits_o,
    output logic [Slots-1:0] engine_kernel_waits_o,
    output logic             engine_moves_o,
    output logic [      7:0] engine_moves_slot_o,

    output logic [1:0]                engine_request_valid_o,  /// operands, as in tw_operand
    input  logic [1:0]                engine_request_ready_i,
    output logic [1:0]                engine_request_host_o,
    output address_t [1:0]            engine_request_at_o,
    output logic [1:0][PieceBits-1:0] engine_request_bytes_o,
    input  logic [1:0]                engine_answer_valid_i,
    output logic [1:0]                engine_answer_ready_o,
    input  logic [1:0][ WordBits-1:0] engine_answer_data_i,

    output logic [1:0]                engine_write_valid_o,  /// 0: results, as in tw_result; 1: received packets
    input  logic [1:0]                engine_write_ready_i,
    output logic [1:0]                engine_write_host_o,
    output address_t [1:0]            engine_write_at_o,
    output logic [1:0][PieceBits-1:0] engine_write_bytes_o,
    output logic [1:0]                engine_data_valid_o,
    input  logic [1:0]                engine_data_ready_i,
    output logic [1:0][ WordBits-1:0] engine_data_o,
    output logic [1:0]                engine_data_last_o,
    input  logic [1:0]                engine_written_i,

    input  logic                engine_from_kernel_valid_i,
    output logic                engine_from_kernel_ready_o,
    input  logic [WordBits-1:0] engine_from_kernel_data_i,
    output logic                engine_to_kernel_valid_o,
    input  logic                engine_to_kernel_ready_i,
    output logic [WordBits-1:0] engine_to_kernel_data_o,
    output logic                engine_to_kernel_last_o,    /// of a message
    output logic [         7:0] engine_to_kernel_number_o,

    output logic [$bits(taken_t)-1:0][31:0] engine_counts_o,
    output logic [31:0] engine_own_dropped_o,  /// packets to itself, dropped without room

    output logic                mac_tx_valid_o,
    input  logic                mac_tx_ready_i,
    output logic [WordBits-1:0] mac_tx_data_o,
    output logic [WordBytes-1:0] mac_tx_keep_o,
    output logic                mac_tx_last_o,
    input  logic                mac_rx_valid_i,
    input  logic [WordBits-1:0] mac_rx_data_i,
    input  logic [WordBytes-1:0] mac_rx_keep_i,
    input  logic                mac_rx_last_i,
    input  logic                mac_rx_error_i,
    output logic [$bits(received_t)-1:0][31:0] mac_received_o,
    output logic [$bits(answered_t)-1:0][31:0] mac_answered_o,
    output logic [31:0]         mac_dropped_o   /// received datagrams, dropped without room
);
  localparam int unsigned FrameWords = 1 + PacketBytes / WordBytes;  // of a datagram's payload
  localparam int unsigned EndBits = $clog2(Ends);

  if (PacketBytes % WordBytes != 0 || PacketBytes > 8896) begin : check_packets
    $error("tw_accl_node: PacketBytes must be a multiple of 64, at most 8896");
  end

  typedef struct packed {
    logic [15:0] bytes;
    logic last;
    logic [WordBits-1:0] data;
  } incoming_t;
  typedef struct packed {
    udp_end_t to;
    logic [15:0] bytes;
    logic last;
    logic [WordBits-1:0] data;
  } outgoing_t;

  udp_end_t ends_q[Ends];
  always_ff @(posedge engine_clk_i)
    if (engine_set_valid_i && engine_set_i.kind == SetEnd)
      ends_q[engine_set_i.index[EndBits-1:0]] <= udp_end_t'(engine_set_i.value);

  // Outgoing packets: the destination is looked up in a registered stage.
  logic packet_valid, packet_ready, packet_last, sent_valid, sent_ready, own_q;
  logic [WordBits-1:0] packet_data;
  logic [7:0] packet_to;
  logic [15:0] packet_bytes;
  outgoing_t sent;
  logic [1:0] in_valid, in_ready, in_last;
  logic [1:0][WordBits-1:0] in_data;
  logic [1:0][15:0] in_bytes;

  tw_move_engine #(
      .Slots        (Slots),
      .Buffers      (Buffers),
      .Communicators(Communicators),
      .Ranks        (Ranks),
      .MostPackets  (MostPackets),
      .Room         (Room),
      .Conversions  (Conversions),
      .Pairs        (Pairs)
  ) engine (
      .clk_i              (engine_clk_i),
      .rst_i              (engine_rst_i),
      .set_valid_i        (engine_set_valid_i),
      .set_i              (engine_set_i),
      .command_valid_i    (engine_command_valid_i),
      .command_ready_o    (engine_command_ready_o),
      .command_kind_i     (engine_command_kind_i),
      .command_slot_i     (engine_command_slot_i),
      .command_move_i     (engine_command_move_i),
      .ended_valid_o      (engine_ended_valid_o),
      .ended_ready_i      (engine_ended_ready_i),
      .ended_slot_o       (engine_ended_slot_o),
      .ended_how_o        (engine_ended_how_o),
      .ended_length_o     (engine_ended_length_o),
      .message_waits_o    (engine_message_waits_o),
      .kernel_waits_o     (engine_kernel_waits_o),
      .moves_o            (engine_moves_o),
      .moves_slot_o       (engine_moves_slot_o),
      .request_valid_o    (engine_request_valid_o),
      .request_ready_i    (engine_request_ready_i),
      .request_host_o     (engine_request_host_o),
      .request_at_o       (engine_request_at_o),
      .request_bytes_o    (engine_request_bytes_o),
      .answer_valid_i     (engine_answer_valid_i),
      .answer_ready_o     (engine_answer_ready_o),
      .answer_data_i      (engine_answer_data_i),
      .write_valid_o      (engine_write_valid_o),
      .write_ready_i      (engine_write_ready_i),
      .write_host_o       (engine_write_host_o),
      .write_at_o         (engine_write_at_o),
      .write_bytes_o      (engine_write_bytes_o),
      .data_valid_o       (engine_data_valid_o),
      .data_ready_i       (engine_data_ready_i),
      .data_o             (engine_data_o),
      .data_last_o        (engine_data_last_o),
      .written_i          (engine_written_i),
      .from_kernel_valid_i(engine_from_kernel_valid_i),
      .from_kernel_ready_o(engine_from_kernel_ready_o),
      .from_kernel_data_i (engine_from_kernel_data_i),
      .to_kernel_valid_o  (engine_to_kernel_valid_o),
      .to_kernel_ready_i  (engine_to_kernel_ready_i),
      .to_kernel_data_o   (engine_to_kernel_data_o),
      .to_kernel_last_o   (engine_to_kernel_last_o),
      .to_kernel_number_o (engine_to_kernel_number_o),
      .packet_valid_o     (packet_valid),
      .packet_ready_i     (packet_ready),
      .packet_data_o      (packet_data),
      .packet_last_o      (packet_last),
      .packet_to_o        (packet_to),
      .packet_bytes_o     (packet_bytes),
      .in_valid_i         (in_valid),
      .in_ready_o         (in_ready),
      .in_data_i          (in_data),
      .in_last_i          (in_last),
      .in_bytes_i         (in_bytes),
      .counts_o           (engine_counts_o)
  );

  wire sent_free = !sent_valid || sent_ready;
  assign packet_ready = sent_free;
  always_ff @(posedge engine_clk_i) begin
    if (sent_free) begin
      sent  <= '{ends_q[packet_to[EndBits-1:0]], packet_bytes, packet_last, packet_data};
      own_q <= packet_to == engine_own_i;
    end
    if (engine_rst_i) sent_valid <= 1'b0;
    else if (sent_free) sent_valid <= packet_valid;
  end

  // Packets to itself: without room at its start, a whole packet is dropped.
  logic own_inside_q, own_drops_q, own_room;
  wire own_valid = sent_valid && own_q;
  wire own_drops = own_inside_q ? own_drops_q : !own_room;
  always_ff @(posedge engine_clk_i) begin
    if (engine_rst_i) begin
      own_inside_q <= 1'b0;
      engine_own_dropped_o <= '0;
    end else if (own_valid) begin
      own_inside_q <= !sent.last;
      if (!own_inside_q && !own_room) engine_own_dropped_o <= engine_own_dropped_o + 32'd1;
    end
    if (own_valid) own_drops_q <= own_drops;
  end
  tw_frame_fifo #(
      .Width($bits(incoming_t)),
      .Depth(OwnWords),
      .Room (FrameWords)
  ) to_itself (
      .clk_i      (engine_clk_i),
      .rst_i      (engine_rst_i),
      .in_valid_i (own_valid && !own_drops),
      .in_data_i  ({sent.bytes, sent.last, sent.data}),
      .in_commit_i(own_valid && !own_drops && sent.last),
      .in_drop_i  (1'b0),
      .room_o     (own_room),
      .out_valid_o(in_valid[1]),
      .out_ready_i(in_ready[1]),
      .out_data_o ({in_bytes[1], in_last[1], in_data[1]})
  );

  // Clock domain crossing.
  logic out_valid, out_ready;
  outgoing_t out;
  logic crossing_ready;
  assign sent_ready = own_q || crossing_ready;
  tw_async_fifo #(
      .Width($bits(outgoing_t)),
      .Depth(16)
  ) to_mac (
      .wr_clk_i  (engine_clk_i),
      .wr_rst_i  (engine_rst_i),
      .wr_valid_i(sent_valid && !own_q),
      .wr_ready_o(crossing_ready),
      .wr_data_i (sent),
      .rd_clk_i  (mac_clk_i),
      .rd_rst_i  (mac_rst_i),
      .rd_valid_o(out_valid),
      .rd_ready_i(out_ready),
      .rd_data_o (out)
  );

  logic come_valid, come_first, come_last, commit, drop, come_room, come_ready, come_whole;
  logic [WordBits-1:0] come_data;
  logic [15:0] come_bytes;
  udp_end_t unused_from;
  tw_udp_port #(
      .MostBytes  (WordBytes + PacketBytes),
      .AskWords   (144),
      .AnswerWords(512)
  ) udp (
      .clk_i      (mac_clk_i),
      .rst_i      (mac_rst_i),
      .own_i      (mac_own_i),
      .in_valid_i (out_valid),
      .in_ready_o (out_ready),
      .in_data_i  (out.data),
      .in_last_i  (out.last),
      .in_to_i    (out.to),
      .in_bytes_i (out.bytes),
      .out_valid_o(come_valid),
      .out_data_o (come_data),
      .out_first_o(come_first),
      .out_last_o (come_last),
      .out_from_o (unused_from),
      .out_bytes_o(come_bytes),
      .commit_o   (commit),
      .drop_o     (drop),
      .tx_valid_o (mac_tx_valid_o),
      .tx_ready_i (mac_tx_ready_i),
      .tx_data_o  (mac_tx_data_o),
      .tx_keep_o  (mac_tx_keep_o),
      .tx_last_o  (mac_tx_last_o),
      .rx_valid_i (mac_rx_valid_i),
      .rx_data_i  (mac_rx_data_i),
      .rx_keep_i  (mac_rx_keep_i),
      .rx_last_i  (mac_rx_last_i),
      .rx_error_i (mac_rx_error_i),
      .received_o (mac_received_o),
      .answered_o (mac_answered_o)
  );

  // Drops datagrams without room, and those longer than the board's packets.
  logic refuses_q;
  wire refuses = come_first ? !come_room || 32'(come_bytes) > WordBytes * FrameWords : refuses_q;
  always_ff @(posedge mac_clk_i) begin
    if (come_valid) refuses_q <= refuses;
    if (mac_rst_i) mac_dropped_o <= '0;
    else if (commit && (come_valid ? refuses : refuses_q)) mac_dropped_o <= mac_dropped_o + 32'd1;
  end
  wire keeps = come_valid ? !refuses : !refuses_q;
  logic [15:0] fifo_bytes;
  logic fifo_last;
  logic [WordBits-1:0] fifo_data;
  tw_frame_fifo #(
      .Width($bits(incoming_t)),
      .Depth(ReceiveWords),
      .Room (FrameWords)
  ) come (
      .clk_i      (mac_clk_i),
      .rst_i      (mac_rst_i),
      .in_valid_i (come_valid && !refuses),
      .in_data_i  ({come_bytes, come_last, come_data}),
      .in_commit_i(commit && keeps),
      .in_drop_i  (drop && keeps),
      .room_o     (come_room),
      .out_valid_o(come_whole),
      .out_ready_i(come_ready),
      .out_data_o ({fifo_bytes, fifo_last, fifo_data})
  );
  tw_async_fifo #(
      .Width($bits(incoming_t)),
      .Depth(16)
  ) to_engine (
      .wr_clk_i  (mac_clk_i),
      .wr_rst_i  (mac_rst_i),
      .wr_valid_i(come_whole),
      .wr_ready_o(come_ready),
      .wr_data_i ({fifo_bytes, fifo_last, fifo_data}),
      .rd_clk_i  (engine_clk_i),
      .rd_rst_i  (engine_rst_i),
      .rd_valid_o(in_valid[0]),
      .rd_ready_i(in_ready[0]),
      .rd_data_o ({in_bytes[0], in_last[0], in_data[0]})
  );
endmodule
