// SPDX-License-Identifier: Apache-2.0
// The DMA controller's write half: receives the completions of reads, and writes their data to the chunks' destinations, each
// double word shifted to its position in the destination's lines.
//
// A completion that is not the expected one, or has failed, is dropped and reported. Completions are dropped while the reader abandons its
// chain, until clear_i.
//
// Order: of the reads. Latency: a header is output five cycles after the completion's, without backpressure.
// Throughput: a line per cycle, and one or two cycles more for a packet. Storage: Words words, two behind their memory, the chunks, a line. All
// outputs are registers, or depend only on registers. Critical path: from the line at the head through the rotation by up to seven double words
// and the selection of each to the output register.
module tw_dma_writer
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
  import tw_peach2_spec_pkg::*;
#(
    parameter int unsigned Words = 176,  /// of completions, for all outstanding reads: up to 10 each, 2 of a descriptor
    parameter int unsigned Chunks = 16,  /// for all outstanding reads
    parameter logic SideTag = 1'b0  /// bit 6 of the reads' tags, which identifies the channel
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,  /// requester ID

    input  logic  in_valid_i,
    output logic  in_ready_o,
    input  word_t in_data_i,
    input  logic  in_last_i,

    input  logic                   chunk_valid_i,
    input  logic [AddressBits-3:0] chunk_to_i,      /// in double words
    input  logic [            6:0] chunk_dwords_i,
    input  logic                   abandon_i,       /// drop completions
    input  logic                   clear_i,         /// reset: no read is outstanding

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o,

    output logic            descriptor_valid_o,
    output dma_descriptor_t descriptor_o,
    output logic            written_o,           /// a chunk has been written
    output logic            answered_o,          /// the last word of a completion was accepted
    output logic            failed_o,            /// a completion is wrong
    output logic            quiet_o,             /// between packets
    output logic            waits_o              /// no completion is left to process
);
  localparam int unsigned DwordBits = AddressBits - 2;

  typedef struct packed {
    logic [DwordBits-1:0] to;
    logic [6:0] dwords;
  } chunk_t;
  typedef enum logic [2:0] {Header, Descriptor, Prime, Data, Drop} state_e;

  state_e state_q;
  logic stored, stored_last, there, last, takes, forward;
  word_t stored_word, front;
  logic planned, chunk_done, chunk_ready;
  chunk_t chunk;
  logic advance, out_last;
  word_t out;
  logic goes;

  logic [4:0] expected_q;
  logic [2:0] turn_q;  // upward rotation of the lines, in double words
  logic [3:0] in_left_q, out_left_q;
  logic [7:0][31:0] before_q;  // the previous line, rotated

  pcie_completion_t completion;
  assign completion = pcie_completion_of(front[95:0]);
  wire [2:0] from = completion.lower_address[4:2];
  wire fetched = completion.tag[7];
  wire right = is_completion(front) && completion.status == 0
               && (fetched || (completion.tag == {1'b0, SideTag, 1'b0, expected_q} && planned && completion.length == 10'(chunk.dwords)));
  wire skewed = from > chunk.to[2:0];

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
  tw_fifo #(
      .Width($bits(chunk_t)),
      .Depth(Chunks)
  ) chunks (
      .clk_i,
      .rst_i      (rst_i || clear_i),
      .in_valid_i (chunk_valid_i),
      .in_ready_o (chunk_ready),
      .in_data_i  ({chunk_to_i, chunk_dwords_i}),
      .out_valid_o(planned),
      .out_ready_i(chunk_done),
      .out_data_o (chunk),
      .count_o    ()
  );

  pcie_memory_write_t header;
  always_comb begin
    header = pcie_memory_write_empty();
    header.requester = own_i;
    header.length = 10'(chunk.dwords);
    header.first_enable = 4'hF;
    header.last_enable = chunk.dwords == 7'd1 ? 4'h0 : 4'hF;
    header.address = 62'(chunk.to);
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
      Header: begin
        takes = there && (!accepts || fetched || advance);
        goes  = there && accepts && !fetched;
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
  assign chunk_done = done;

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
    written_o <= !rst_i && done;
    answered_o <= !rst_i && takes && last;
    failed_o <= !rst_i && state_q == Header && there && !right && !abandon_i;
    descriptor_valid_o <= !rst_i && state_q == Descriptor && there;
    descriptor_o <= front;
    if (takes) before_q <= state_q == Header ? '0 : moved;
    unique case (state_q)
      Header:
      if (there) begin
        if (!accepts) state_q <= last ? Header : Drop;
        else if (fetched) begin
          state_q <= Descriptor;
        end else if (advance) begin
          expected_q <= expected_q + 1'b1;
          turn_q <= chunk.to[2:0] - from;
          in_left_q <= lines(from, chunk.dwords);
          out_left_q <= lines(chunk.to[2:0], chunk.dwords);
          state_q <= skewed ? Prime : Data;
        end
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
    if (clear_i) expected_q <= '0;
    if (rst_i) begin
      state_q <= Header;
      expected_q <= '0;
      before_q <= '0;
      turn_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      all_lines_are_taken : assert (!done || in_left_q == 4'(takes));
      chunk_has_room : assert (!chunk_valid_i || chunk_ready);
    end
  end
`endif
endmodule
