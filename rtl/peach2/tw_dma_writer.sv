// SPDX-License-Identifier: Apache-2.0
// The DMA controller's write half: receives the completions of reads, and writes their data to the chunks' destinations, each
// double word shifted to its position in the destination's lines.
//
// A read may have several completions, in the order of its addresses; those of different reads come in any order. Each becomes one write.
// A completion that has failed, or is not the next part of an outstanding read, is dropped and reported. Completions are dropped
// while the reader abandons its chain.
//
// Order: of the completions. Latency: a header is output six cycles after the completion's, without backpressure.
// Throughput: a line per cycle, and two or three cycles more for a packet. Storage: Words words, two behind their memory, the chunks, a line. All
// outputs are registers, or depend only on registers. Critical path: from the line at the head through the rotation by up to seven double words
// and the selection of each to the output register.
module tw_dma_writer
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
  import tw_peach2_spec_pkg::*;
#(
    parameter int unsigned Reads = 16,  /// outstanding reads, 2 to 64
    parameter int unsigned Words = 14 * Reads + 2,  /// of their completions: each up to 9 lines and 5 parts, 2 of a descriptor
    parameter logic SideTag = 1'b0  /// bit SideAt of the reads' tags
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,  /// requester ID

    input  logic  in_valid_i,
    output logic  in_ready_o,
    input  word_t in_data_i,
    input  logic  in_last_i,

    input  logic                   fetch_valid_i,   /// a descriptor's read was issued
    input  logic                   chunk_valid_i,   /// another read was issued
    input  logic [    TagBits-1:0] chunk_tag_i,
    input  logic [            4:0] chunk_from_i,    /// source in double words, of 128 bytes
    input  logic [AddressBits-3:0] chunk_to_i,      /// in double words
    input  logic [            6:0] chunk_dwords_i,
    input  logic                   abandon_i,       /// drop completions
    input  logic                   forget_i,        /// no read is outstanding, or will be answered

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o,

    output logic            descriptor_valid_o,
    output dma_descriptor_t descriptor_o,
    output logic [Reads-1:0] busy_o,             /// reads without all of their completions
    output logic            written_o,           /// a chunk has been written
    output logic            answered_o,          /// the last word of a read's last completion was accepted
    output logic            refused_o,           /// a completion says Unsupported Request
    output logic            failed_o,            /// another completion is wrong
    output logic            quiet_o,             /// between packets
    output logic            waits_o              /// no completion is left to process
);
  localparam int unsigned DwordBits = AddressBits - 2;
  localparam int unsigned IndexBits = $clog2(Reads);
  localparam logic [6:0] DescriptorDwords = 7'd8;

  typedef struct packed {
    logic [DwordBits-1:0] to;
    logic [4:0] from;
    logic [6:0] dwords;
  } chunk_t;
  typedef enum logic [2:0] {Header, Check, Descriptor, Prime, Data, Drop} state_e;

  state_e state_q;
  logic stored, stored_last, there, last, takes, forward;
  word_t stored_word, front;
  logic advance, out_last;
  word_t out;
  logic goes;

  chunk_t chunks_q[Reads];
  logic [6:0] lefts_q[Reads];  // double words that have not arrived, of reads that have begun
  logic [Reads-1:0] busy_q, begun_q;
  logic fetching_q;

  chunk_t chunk_q;  // of the completion at the head
  logic [6:0] left_q;
  logic known_q, ends_q, written_q;
  logic [2:0] turn_q;  // upward rotation of the lines, in double words
  logic [3:0] in_left_q, out_left_q;
  logic [7:0][31:0] before_q;  // the previous line, rotated

  pcie_completion_t completion;
  assign completion = pcie_completion_of(front[95:0]);
  wire [2:0] from = completion.lower_address[4:2];
  wire fetched = completion.tag[FetchAt];
  wire [TagBits-1:0] number = completion.tag[TagBits-1:0];
  wire [IndexBits-1:0] index = number[IndexBits-1:0];
  wire known = completion.tag[SideAt] == SideTag && (fetched ? fetching_q && number == 0 : 32'(number) < Reads && busy_q[index]);

  wire succeeds = is_completion(front) && has_data(front) && completion.status == Successful;
  wire last_part = !succeeds || completion.byte_count == {completion.length, 2'd0};
  wire [5:0] arrived = chunk_q.dwords[5:0] - left_q[5:0];  // of less than 64
  wire [6:0] most = fetched ? DescriptorDwords : left_q;
  wire right = known_q && succeeds && !completion.poisoned && completion.byte_count == {3'd0, most, 2'd0} && completion.length <= 10'(most) && completion.length != 0
               && (fetched ? last_part : completion.lower_address == {chunk_q.from + arrived[4:0], 2'd0});
  wire [6:0] dwords = completion.length[6:0];
  // A chunk is within 256 bytes.
  wire [DwordBits-1:0] to = {chunk_q.to[DwordBits-1:6], chunk_q.to[5:0] + arrived};
  wire skewed = from > to[2:0];

  tw_ram_fifo #(
      .Width(WordBits + 1),
      .Depth(Words)
  ) store (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i  ({in_last_i, in_data_i}),
      .out_valid_o(stored),
      .out_ready_i(forward),
      .out_data_o ({stored_last, stored_word}),
      .count_o    ()
  );
  // A memory's word is late in its cycle.
  tw_skid #(
      .Width(WordBits + 1)
  ) in_time (
      .clk_i,
      .rst_i,
      .in_valid_i (stored),
      .in_ready_o (forward),
      .in_data_i  ({stored_last, stored_word}),
      .out_valid_o(there),
      .out_ready_i(takes),
      .out_data_o ({last, front})
  );
  pcie_memory_write_t header;
  always_comb begin
    header = pcie_memory_write_empty();
    header.requester = own_i;
    header.length = 10'(dwords);
    header.first_enable = 4'hF;
    header.last_enable = dwords == 7'd1 ? 4'h0 : 4'hF;
    header.address = 62'(to);
  end
  wire accepts = right && !abandon_i;
  wire needs = in_left_q != 0;
  logic [7:0][31:0] moved, mixed;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) moved[i] = front[32*3'(3'(i)-turn_q)+:32];
    for (int unsigned i = 0; i < 8; i++) mixed[i] = 3'(i) < turn_q ? before_q[i] : needs ? moved[i] : 32'd0;
  end
  always_comb begin
    takes = 1'b0;
    goes = 1'b0;
    out = word_t'(pcie_memory_write_bytes(header));
    out_last = 1'b0;
    unique case (state_q)
      Header: ;
      Check: begin
        takes = !accepts || fetched || advance;
        goes  = accepts && !fetched;
      end
      Data: begin
        goes = there || !needs;
        takes = needs && there && advance;
        out = mixed;
        out_last = out_left_q == 4'd1;
      end
      default: takes = there;
    endcase
  end
  wire done = goes && advance && out_last;
  wire checked = state_q == Check && takes;
  wire ends = known_q && last_part;
  assign busy_o = busy_q;

  tw_skid #(
      .Width(WordBits + 1)
  ) skid (
      .clk_i,
      .rst_i,
      .in_valid_i (goes),
      .in_ready_o (advance),
      .in_data_i  ({out_last, out}),
      .out_valid_o,
      .out_ready_i,
      .out_data_o ({out_last_o, out_data_o})
  );

  assign quiet_o = state_q == Header;
  assign waits_o = !there;
  always_ff @(posedge clk_i) begin
    written_o <= !rst_i && done && written_q;
    answered_o <= !rst_i && takes && last && (state_q == Check ? ends : ends_q);
    refused_o <= !rst_i && checked && !abandon_i && known_q && is_completion(front) && completion.status == UnsupportedRequest;
    failed_o <= !rst_i && checked && !abandon_i && !right;
    descriptor_valid_o <= !rst_i && state_q == Descriptor && there;
    descriptor_o <= front;
    if (takes) before_q <= state_q == Check ? '0 : moved;
    unique case (state_q)
      Header: begin
        chunk_q <= chunks_q[index];
        left_q  <= begun_q[index] ? lefts_q[index] : chunks_q[index].dwords;
        known_q <= known;
        if (there) state_q <= Check;
      end
      Check:
      if (takes) begin
        ends_q <= ends;
        written_q <= last_part;
        turn_q <= to[2:0] - from;
        in_left_q <= lines(from, dwords);
        out_left_q <= lines(to[2:0], dwords);
        if (!accepts) state_q <= last ? Header : Drop;
        else if (fetched) state_q <= Descriptor;
        else state_q <= skewed ? Prime : Data;
      end
      Descriptor: if (there) state_q <= last ? Header : Drop;
      Prime:
      if (there) begin
        in_left_q <= in_left_q - 1'b1;
        state_q   <= Data;
      end
      Data: begin
        if (takes) in_left_q <= in_left_q - 1'b1;
        if (goes && advance) out_left_q <= out_left_q - 1'b1;
        if (done) state_q <= Header;
      end
      Drop: if (there && last) state_q <= Header;
      default: ;
    endcase
    if (chunk_valid_i) begin
      chunks_q[chunk_tag_i[IndexBits-1:0]] <= '{to: chunk_to_i, from: chunk_from_i, dwords: chunk_dwords_i};
      busy_q[chunk_tag_i[IndexBits-1:0]] <= 1'b1;
    end
    if (checked && known_q) begin
      if (fetched) fetching_q <= !last_part;
      else begin
        lefts_q[index] <= left_q - dwords;
        begun_q[index] <= !last_part;
        busy_q[index]  <= !last_part;
      end
    end
    if (fetch_valid_i) fetching_q <= 1'b1;
    if (forget_i || rst_i) begin
      busy_q <= '0;
      begun_q <= '0;
      fetching_q <= 1'b0;
      known_q <= 1'b0;
      ends_q <= 1'b0;
    end
    if (rst_i) begin
      state_q <= Header;
      before_q <= '0;
      turn_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      all_lines_are_taken : assert (!done || in_left_q == 4'(takes));
      tag_is_free : assert (!chunk_valid_i || !busy_q[chunk_tag_i[IndexBits-1:0]]);
    end
  end
`endif
endmodule
