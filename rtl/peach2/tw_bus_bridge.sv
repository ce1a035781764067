// SPDX-License-Identifier: Apache-2.0
// Converts packets to bus beats and back: writes and reads become beats of 16 bytes, and read data become completions.
//
// A completion has the byte count and the lower address of the bytes that are enabled in the read; a read without any asks for one. If the
// bus has nothing at a read's address, its completion has no data and the status Unsupported Request.
//
// Order: that of the packets at the bus; completions in the order of their reads. Latency: the first beat two cycles after its line
// arrived; a completion's header the cycle after its first beat, its lines the cycle after their last beat. Throughput: a beat per cycle,
// also across packets of at least two lines; completions take one more cycle each. Storage: a line, two beats, those
// of Reads reads. All outputs are registers, or depend only on registers. Critical path: from the remaining double words through a line's
// enables to the line's register.
module tw_bus_bridge
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
#(
    parameter int unsigned Reads = 4,  /// outstanding reads, at least 1
    localparam int unsigned BeatBits = AddressBits - 4
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,  /// completer ID

    input  logic  in_valid_i,
    output logic  in_ready_o,
    input  word_t in_data_i,
    input  logic  in_last_i,

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o,

    output logic                beat_valid_o,
    input  logic                beat_ready_i,
    output logic                beat_write_o,
    output logic [BeatBits-1:0] beat_address_o,  /// in beats
    output logic [       127:0] beat_data_o,
    output logic [        15:0] beat_enable_o,   /// byte enables

    input logic         reply_valid_i,  /// one for each beat read, in order
    input logic         reply_failed_i,  /// nothing is at the address; the same for all beats of a read
    input logic [127:0] reply_data_i
);
  if (Reads < 1) begin : check_reads
    $error("tw_bus_bridge: Reads must be at least 1");
  end

  localparam int unsigned MostBeats = 17;  // of a packet
  localparam int unsigned CountBits = $clog2(Reads + 1);
  localparam int unsigned DwordBits = AddressBits - 2;

  typedef struct packed {
    logic [15:0] requester;
    logic [7:0] tag;
    logic [2:0] traffic_class;
    logic [1:0] attributes;
    logic [4:0] at;  // the first double word's index in 128 bytes
    logic [3:0] first_enable, last_enable;
    logic [6:0] dwords;
  } read_t;

  // --- The current packet and line

  logic first_q, packet_q, write_q, begun_q;
  logic [DwordBits-1:0] at_q;
  logic [6:0] left_q;
  logic [3:0] first_enable_q, last_enable_q;
  read_t read_q;
  logic [1:0] beats_q;  // of the line, not yet issued
  word_t line_q;
  logic [31:0] enable_q;
  logic [DwordBits-4:0] line_at_q;

  pcie_memory_write_t request;
  assign request = pcie_memory_write_of(in_data_i[127:0]);

  logic beat_advance;
  wire upper = beats_q == 2'b10;  // the line's lower beat was issued, or has no enabled byte
  wire line_free = beats_q == 0 || (beat_advance && beats_q != 2'b11);
  wire takes_line = packet_q && write_q && line_free;
  wire accept = in_valid_i && in_ready_o;
  wire loads = accept && !first_q;
  assign in_ready_o = first_q ? !packet_q : takes_line;

  logic [31:0] enable;
  wire [3:0] room = 4'd8 - 4'(at_q[2:0]);
  wire [3:0] taken = left_q < 7'(room) ? left_q[3:0] : room;
  always_comb begin
    enable = '0;
    for (int unsigned i = 0; i < 8; i++) begin
      if (3'(i) >= at_q[2:0] && 4'(i) < 4'(at_q[2:0]) + taken) enable[4*i+:4] = 4'hF;
      if (!begun_q && 3'(i) == at_q[2:0]) enable[4*i+:4] = first_enable_q;
      else if (left_q == 7'(taken) && 4'(i) == 4'(at_q[2:0]) + taken - 4'd1) enable[4*i+:4] = last_enable_q;
    end
  end

  // --- Beats

  logic [CountBits-1:0] reads_q;
  logic plan_valid, reply_there, reply_failed, plan_done, reply_taken;
  read_t plan;
  logic [127:0] reply;
  wire reads = packet_q && !write_q && beats_q == 0 && (begun_q || reads_q != CountBits'(Reads));
  wire read_goes = reads && beat_advance;
  wire [2:0] beat_room = 3'd4 - 3'(at_q[1:0]);
  wire [2:0] beat_taken = left_q < 7'(beat_room) ? left_q[2:0] : beat_room;

  wire writes = beats_q != 0;
  wire [127:0] beat = upper ? line_q[255:128] : line_q[127:0];
  wire [15:0] beat_enable = upper ? enable_q[31:16] : enable_q[15:0];
  tw_skid #(
      .Width(1 + BeatBits + 128 + 16)
  ) beats_out (
      .clk_i,
      .rst_i,
      .in_valid_i (writes || reads),
      .in_ready_o (beat_advance),
      .in_data_i  ({writes, writes ? {line_at_q, upper} : at_q[DwordBits-1:2], writes ? {beat, beat_enable} : 144'd0}),
      .out_valid_o(beat_valid_o),
      .out_ready_i(beat_ready_i),
      .out_data_o ({beat_write_o, beat_address_o, beat_data_o, beat_enable_o})
  );

  always_ff @(posedge clk_i) begin
    if (accept && first_q) begin
      write_q <= is_write(in_data_i);
      begun_q <= 1'b0;
      at_q <= request.address[DwordBits-1:0];
      left_q <= request.length[6:0];
      first_enable_q <= request.first_enable;
      last_enable_q <= request.last_enable;
      read_q <= '{
          requester: request.requester,
          tag: request.tag,
          traffic_class: request.traffic_class,
          attributes: request.attributes,
          first_enable: request.first_enable,
          last_enable: request.length == 10'd1 ? request.first_enable : request.last_enable,
          at: request.address[4:0],
          dwords: request.length[6:0]
      };
    end
    if (loads) begin
      line_q <= in_data_i;
      enable_q <= enable;
      line_at_q <= at_q[DwordBits-1:3];
      at_q <= at_q + DwordBits'(taken);
      left_q <= left_q - 7'(taken);
      begun_q <= 1'b1;
    end
    if (read_goes) begin
      at_q <= at_q + DwordBits'(beat_taken);
      left_q <= left_q - 7'(beat_taken);
      begun_q <= 1'b1;
    end
    if (rst_i) begin
      first_q  <= 1'b1;
      packet_q <= 1'b0;
      beats_q  <= '0;
      reads_q  <= '0;
    end else begin
      if (accept) first_q <= in_last_i;
      if (accept && first_q) packet_q <= !in_last_i || is_read(in_data_i);
      else if ((loads && in_last_i) || (read_goes && left_q == 7'(beat_taken))) packet_q <= 1'b0;
      if (loads) beats_q <= {enable[31:16] != 0, enable[15:0] != 0};
      else if (writes && beat_advance) beats_q <= upper ? 2'b00 : {beats_q[1], 1'b0};
      reads_q <= reads_q + CountBits'(read_goes && !begun_q) - CountBits'(plan_done);
    end
  end

  // --- Completions

  tw_fifo #(
      .Width($bits(read_t)),
      .Depth(Reads)
  ) plans (
      .clk_i,
      .rst_i,
      .in_valid_i (read_goes && !begun_q),
      .in_ready_o (),
      .in_data_i  (read_q),
      .out_valid_o(plan_valid),
      .out_ready_i(plan_done),
      .out_data_o (plan),
      .count_o    ()
  );
  tw_fifo #(
      .Width(1 + 128),
      .Depth(Reads * MostBeats)
  ) replies (
      .clk_i,
      .rst_i,
      .in_valid_i (reply_valid_i),
      .in_ready_o (),
      .in_data_i  ({reply_failed_i, reply_data_i}),
      .out_valid_o(reply_there),
      .out_ready_i(reply_taken),
      .out_data_o ({reply_failed, reply}),
      .count_o    ()
  );

  pcie_completion_t completion;
  always_comb begin
    completion = pcie_completion_empty();
    completion.traffic_class = plan.traffic_class;
    completion.attributes = plan.attributes;
    completion.completer = own_i;
    completion.requester = plan.requester;
    completion.tag = plan.tag;
    completion.length = 10'(plan.dwords);
    completion.byte_count = {3'd0, plan.dwords, 2'd0} - 12'(leading(plan.first_enable)) - 12'(trailing(plan.last_enable));
    completion.lower_address = {plan.at, leading(plan.first_enable)};
    if (reply_failed) begin
      completion.packet_format = 3'd0;
      completion.length = '0;
      completion.status = UnsupportedRequest;
      completion.byte_count = 12'd4;
      completion.lower_address = '0;
    end
  end
  logic headed_q, half_q;
  logic [4:0] to_come_q;
  logic [127:0] lower_q;
  logic advance, goes, goes_last;
  word_t word;
  wire [4:0] beats = 5'((8'(plan.at[1:0]) + 8'(plan.dwords) + 8'd3) >> 2);
  wire last_beat = to_come_q == 5'd1;
  wire emits = !reply_failed && (half_q || last_beat);
  always_comb begin
    goes = plan_valid && reply_there && (!headed_q || emits);
    goes_last = headed_q ? last_beat : reply_failed;
    if (!headed_q) word = word_t'(pcie_completion_bytes(completion));
    else if (half_q) word = {reply, lower_q};
    else word = {128'd0, reply};
  end
  assign reply_taken = plan_valid && headed_q && reply_there && (!emits || advance);
  assign plan_done = reply_taken && last_beat;

  always_ff @(posedge clk_i) begin
    if (goes && advance && !headed_q) begin
      to_come_q <= beats;
      half_q <= plan.at[2];
      lower_q <= '0;
    end
    if (reply_taken) begin
      to_come_q <= to_come_q - 1'b1;
      half_q <= !half_q;
      lower_q <= reply;
    end
    if (rst_i) headed_q <= 1'b0;
    else if (plan_done) headed_q <= 1'b0;
    else if (goes && advance) headed_q <= 1'b1;
  end

  tw_skid #(
      .Width(WordBits + 1)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (goes),
      .in_ready_o (advance),
      .in_data_i  ({goes_last, word}),
      .out_valid_o,
      .out_ready_i,
      .out_data_o ({out_last_o, out_data_o})
  );
endmodule
