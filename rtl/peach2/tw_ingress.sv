// SPDX-License-Identifier: Apache-2.0
// Input port of a hub: stores packets until they are complete, and routes them by the windows of their addresses, or drops them.
//
// Writes are routed by windows; reads too, but only to targets that answer, the host or the bus, and only from ports with Reads. An
// answer goes to the requesting DMA channel (a bit of its tag), or else to the host. Packets of the channel Results for the bus use its
// side lane. Registers, except that of starts, are written only by north, and by the nodes of owners_i. Refused packets are
// reported with reason, source and address. A refused read goes back as a completion with the status Unsupported Request; others are
// dropped.
//
// A write that arrives by a cable increments the cable count in its header; any other gets its source there.
//
// Order: kept. Latency: the header is at the output four cycles after its arrival, and two after the packet's last word.
// Throughput: a word per cycle. Storage: Words words, and one at the output. A sender with credits, one for a packet and one for
// each 16 bytes of its data, gets them back with freed_*_o, and always finds in_ready_o set. Critical path: that of the windows,
// or from their answer through the choice of the refusal to the verdicts.
module tw_ingress
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
#(
    parameter logic [2:0] Port = North,
    parameter logic Reads = 1'b0,  /// reads are allowed
    parameter logic Answers = 1'b0,  /// completions are allowed
    parameter int unsigned Words = 144,  /// capacity, at least that of a packet, 10
    parameter int unsigned Packets = 16,  /// capacity, at least 1
    parameter int unsigned Windows = 16,  /// at least 2
    localparam int unsigned IndexWidth = $clog2(Windows)
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,  /// requester ID of the engine's reads, and completer ID
    input logic [BaseBits-1:0] base_i,  /// the hub's own GByte
    input logic [2**NodeBits-1:0] owners_i,  /// nodes that may write registers

    input logic                     load_valid_i,
    input logic    [IndexWidth-1:0] load_index_i,
    input window_t                  load_window_i,

    input  logic  in_valid_i,
    output logic  in_ready_o,
    input  word_t in_data_i,
    input  logic  in_last_i,

    output logic        out_valid_o,
    input  logic        out_ready_i,
    output word_t       out_data_o,
    output logic        out_last_o,
    output logic  [2:0] out_to_o,

    output logic                 freed_valid_o,  /// a packet has left
    output logic [UnitsBits-1:0] freed_units_o,  /// units of 16 bytes of its data

    output logic                       refused_valid_o,
    output refusal_e                   refused_reason_o,
    output logic                       refused_read_o,
    output source_t                    refused_source_o,
    output logic     [AddressBits-1:0] refused_address_o
);
  if (Words < 10 || Packets < 1) begin : check_sizes
    $error("tw_ingress: Words must be at least 10, Packets at least 1");
  end

  localparam int unsigned CountBits = $clog2(Packets + 1);
  localparam logic Cable = Port == East || Port == West || Port == South;
  localparam int unsigned BusAt = 32, FunctionAt = 40, TagAt = 48;  // in a header
  localparam logic [17:0] RegistersAt = 18'h38000;  // of a hub's pages
  localparam logic [7:0] Start = 8'd64;  // the register that starts chains

  typedef struct packed {
    logic write, read, answer, data;
    logic [9:0] length;
    logic [61:0] address;
    logic [15:0] requester;
    logic side;  // of an answer: to the channel Results
    logic led;
    source_t source;
  } header_t;
  typedef struct packed {
    logic passes, unsupported;
    logic [2:0] to;
    logic [UnitsBits-1:0] units;
  } verdict_t;

  logic first_q;
  logic [CountBits-1:0] packets_q, whole_q;
  logic store_ready;
  wire  accept = in_valid_i && in_ready_o;
  wire  begins = accept && first_q;
  assign in_ready_o = store_ready && (!first_q || packets_q != CountBits'(Packets));

  source_t source;
  always_comb begin
    source = '{node: in_data_i[BusAt+:NodeBits], port: in_data_i[FunctionAt+:3]};
    if (!Cable) source = '{node: base_i[BaseBits-1-:NodeBits], port: Port};
  end
  word_t kept;
  always_comb begin
    kept = in_data_i;
    if (first_q && is_write(in_data_i)) begin
      if (Cable) kept[TagAt+:8] = in_data_i[TagAt+:8] + 1'b1;
      else kept[TagAt+7:BusAt] = {8'd0, 5'd0, source.port, 4'd0, source.node};
    end
  end

  // --- The verdict, two cycles after the header

  pcie_memory_write_t request;
  pcie_completion_t answer;
  assign request = pcie_memory_write_of(in_data_i[127:0]);
  assign answer  = pcie_completion_of(in_data_i[95:0]);

  header_t asked_q, found_q;
  logic found, hit;
  logic [2:0] to;
  always_ff @(posedge clk_i) begin
    asked_q <= '{
        write: is_write(in_data_i),
        read: is_read(in_data_i) && in_last_i,
        answer: is_completion(in_data_i),
        data: has_data(in_data_i),
        length: request.length,  // the same field in all kinds
        address: request.address,
        requester: answer.requester,
        side: answer.tag[SideAt],
        led: in_data_i[TagAt+:8] >= 8'(MostCables),
        source: source
    };
    found_q <= asked_q;
  end
  tw_windows #(
      .Windows(Windows)
  ) windows (
      .clk_i,
      .rst_i,
      .base_i,
      .load_valid_i,
      .load_index_i,
      .load_window_i,
      .ask_valid_i  (begins),
      .ask_page_i   (request.address[36:10]),
      .found_valid_o(found),
      .found_hit_o  (hit),
      .found_to_o   (to)
  );

  wire to_start = found_q.address[9:2] == Start && found_q.length <= 10'd4 && 3'(found_q.address[1:0]) + found_q.length[2:0] <= 3'd4;
  wire locked = found_q.write && Port != North && to == Bus && found_q.address[27:10] == RegistersAt && !to_start
                && !owners_i[found_q.source.node];
  wire sized = !found_q.answer || found_q.data;
  refusal_e refusal;
  always_comb begin
    if (!(found_q.write || found_q.read || found_q.answer) || (sized && (found_q.length == 0 || found_q.length > 10'(MaxDwords))))
      refusal = RefusedMalformed;
    else if (found_q.answer) refusal = Answers ? RefusedNot : RefusedRead;
    else if (11'(found_q.address[9:0]) + 11'(found_q.length) > 11'd1024) refusal = RefusedCrosses;
    else if (!hit || found_q.address[61:37] != 0) refusal = RefusedOutside;
    else if (to == Port || to > Bus) refusal = RefusedBack;
    else if (found_q.read && !(Reads && (to == North || to == Bus))) refusal = RefusedRead;
    else if (Cable && found_q.write && found_q.led) refusal = RefusedLed;
    else if (locked) refusal = RefusedLocked;
    else refusal = RefusedNot;
  end
  verdict_t verdict;
  always_comb begin
    verdict.unsupported = refusal != RefusedNot && found_q.read;
    verdict.passes = refusal == RefusedNot || found_q.read;
    if (verdict.unsupported) verdict.to = Port;
    else if (found_q.answer) verdict.to = found_q.requester != own_i ? North : found_q.side ? Results : Engine;
    else verdict.to = Port == Results && to == Bus ? Side : to;
    verdict.units = found_q.data ? units(found_q.length[6:0]) : '0;
  end
  always_ff @(posedge clk_i) begin
    refused_valid_o   <= !rst_i && found && refusal != RefusedNot;
    refused_reason_o  <= refusal;
    refused_read_o    <= found_q.read;
    refused_source_o  <= found_q.source;
    refused_address_o <= {found_q.address[36:0], 2'd0};
  end

  // --- The packets

  logic there, last, judged, verdict_ready;
  verdict_t front;
  wire shown = there && judged && whole_q != 0;
  wire leaves = shown && (!front.passes || out_ready_i);
  wire ends = leaves && last;
  assign out_valid_o = shown && front.passes;
  assign out_last_o = last;
  assign out_to_o = front.to;

  word_t stored;
  pcie_memory_read_t read;
  pcie_completion_without_data_t unsupported;
  assign read = pcie_memory_read_of(stored[127:0]);
  always_comb begin
    unsupported = pcie_completion_without_data_empty();
    unsupported.traffic_class = read.traffic_class;
    unsupported.attributes = read.attributes;
    unsupported.completer = own_i;
    unsupported.status = UnsupportedRequest;
    unsupported.byte_count = 12'd4;
    unsupported.requester = read.requester;
    unsupported.tag = read.tag;
  end
  assign out_data_o = front.unsupported ? word_t'(pcie_completion_without_data_bytes(unsupported)) : stored;

  tw_ram_fifo #(
      .Width(WordBits + 1),
      .Depth(Words)
  ) store (
      .clk_i,
      .rst_i,
      .in_valid_i (accept),
      .in_ready_o (store_ready),
      .in_data_i  ({in_last_i, kept}),
      .out_valid_o(there),
      .out_ready_i(leaves),
      .out_data_o ({last, stored}),
      .count_o    ()
  );
  tw_fifo #(
      .Width($bits(verdict_t)),
      .Depth(Packets)
  ) verdicts (
      .clk_i,
      .rst_i,
      .in_valid_i (found),
      .in_ready_o (verdict_ready),
      .in_data_i  (verdict),
      .out_valid_o(judged),
      .out_ready_i(ends),
      .out_data_o (front),
      .count_o    ()
  );

  always_ff @(posedge clk_i) begin
    freed_valid_o <= !rst_i && ends;
    freed_units_o <= front.units;
    if (rst_i) begin
      first_q   <= 1'b1;
      packets_q <= '0;
      whole_q   <= '0;
    end else begin
      if (accept) first_q <= in_last_i;
      packets_q <= packets_q + CountBits'(begins) - CountBits'(ends);
      whole_q   <= whole_q + CountBits'(accept && in_last_i) - CountBits'(ends);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) verdict_has_room : assert (!found || verdict_ready);
  end
`endif
endmodule
