// SPDX-License-Identifier: Apache-2.0
// An external port of the direct network (DCN): packets of at most PacketWords words on a serial link. Each is preceded by a header word, and
// followed by a gap of half a word, which is a cycle after every second of consecutive packets. A packet is chosen when it is complete and the receiver has room for it:
// in each cycle credit_o signals whether a word has left the buffer, and arrives at the other end as its credit_i. So no word is lost.
//
// The link transfers a word in each cycle of its clock, and a credit, with the same latency. Both ends are reset together. shell_rst_i and link_rst_i are asserted
// together, each until both clocks have had an edge.
//
// Order: kept. Latency: that of tw_send_buffer to a complete packet, which is then chosen; two cycles to its header; an arriving word enters the crossing to the shell's clock domain
// in the next cycle. Throughput: a word per cycle of the link's clock, minus headers and gaps. Storage: that of tw_send_buffer; ReceiveWords words in a memory with a
// registered output, which can be block RAM; 16 words and one in the crossing. The link's outputs are registers; credit_o depends only on registers. Critical path: from the
// credits through their comparison with the packet's words to the remaining credits.
module tw_serial_port
  import tw_vcsn_pkg::*;
#(
    parameter int unsigned SendWords    = 512,  /// capacity, a power of two, at least PacketWords
    parameter int unsigned Packets      = 32,   /// capacity, a power of two, at least 2
    parameter int unsigned ReceiveWords = 512,  /// capacity at each end, a power of two, at least PacketWords
    parameter int unsigned PacketWords  = 62    /// maximum of a packet, at least 1
) (
    input  logic                shell_clk_i,
    input  logic                shell_rst_i,
    input  logic                shell_in_valid_i,
    output logic                shell_in_ready_o,
    input  logic [WordBits-1:0] shell_in_data_i,
    input  logic                shell_in_first_i,     /// of a packet of the stream
    input  logic                shell_in_last_i,
    input  logic [         7:0] shell_in_channel_i,
    output logic                shell_out_valid_o,
    input  logic                shell_out_ready_i,
    output logic [WordBits-1:0] shell_out_data_o,
    output logic                shell_out_first_o,
    output logic                shell_out_last_o,
    output logic [         7:0] shell_out_channel_o,

    input  logic                link_clk_i,
    input  logic                link_rst_i,
    output logic                link_tx_valid_o,
    output logic [WordBits-1:0] link_tx_data_o,
    input  logic                link_rx_valid_i,
    input  logic [WordBits-1:0] link_rx_data_i,
    output logic                link_credit_o,
    input  logic                link_credit_i
);
  if (ReceiveWords < PacketWords || (ReceiveWords & (ReceiveWords - 1)) != 0) begin : check_words
    $error("tw_serial_port: ReceiveWords must be a power of two, at least PacketWords");
  end

  localparam int unsigned WordsBits = $clog2(PacketWords + 1);
  localparam int unsigned CreditBits = $clog2(ReceiveWords + 1);
  localparam int unsigned CrossingWords = 16, CrossingStages = 2;

  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [15:0] words;
  } header_t;  // in the lowest bits of a word
  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [WordBits-1:0] data;
  } word_t;

  // Transmitter.
  logic packet, read_word;
  logic [WordsBits-1:0] words;
  header_t header;
  logic [WordBits-1:0] word, tx_data_q;
  logic free_q, exact_q, odd_q;  // a packet may be chosen; since this cycle; half a word of gap is pending
  logic waits_q, begins_q, reads_q;  // for the gap; its first word is read; words are read
  logic [WordsBits-1:0] left_q;  // words to read
  logic [CreditBits-1:0] credits_q;
  logic tx_valid_q;

  wire choose = free_q && packet && credits_q >= CreditBits'(words);
  wire gap = exact_q && odd_q;
  wire reads_last = reads_q && left_q == 1;

  assign header.words = 16'(words);
  assign link_tx_valid_o = tx_valid_q;
  assign link_tx_data_o = tx_data_q;

  tw_send_buffer #(
      .Width     (WordBits),
      .Words     (SendWords),
      .FrameWords(PacketWords),
      .Frames    (Packets)
  ) send (
      .shell_clk_i,
      .shell_rst_i,
      .shell_valid_i      (shell_in_valid_i),
      .shell_ready_o      (shell_in_ready_o),
      .shell_data_i       (shell_in_data_i),
      .shell_first_i      (shell_in_first_i),
      .shell_last_i       (shell_in_last_i),
      .shell_channel_i    (shell_in_channel_i),
      .mac_clk_i          (link_clk_i),
      .mac_rst_i          (link_rst_i),
      .mac_keep_i         (1'b0),
      .mac_select_i       (1'b0),
      .mac_offset_i       ('0),
      .mac_release_i      (1'b0),
      .mac_frames_o       (),
      .mac_frame_valid_o  (packet),
      .mac_frame_words_o  (words),
      .mac_frame_single_o (),
      .mac_frame_first_o  (header.first),
      .mac_frame_last_o   (header.last),
      .mac_frame_channel_o(header.channel),
      .mac_read_i         (reads_q),
      .mac_pop_i          (reads_last),
      .mac_word_valid_o   (read_word),
      .mac_word_data_o    (word)
  );

  always_ff @(posedge link_clk_i) begin
    tx_data_q <= begins_q ? WordBits'(header) : word;
    if (choose) left_q <= words;
    else if (reads_q) left_q <= left_q - 1'b1;
    if (link_rst_i) begin
      free_q <= 1'b1;
      exact_q <= 1'b0;
      odd_q <= 1'b0;
      waits_q <= 1'b0;
      begins_q <= 1'b0;
      reads_q <= 1'b0;
      credits_q <= CreditBits'(ReceiveWords);
      tx_valid_q <= 1'b0;
    end else begin
      free_q <= reads_last || (free_q && !choose);
      exact_q <= reads_last;
      if (choose) odd_q <= !gap;
      waits_q <= choose && gap;
      begins_q <= (choose && !gap) || waits_q;
      reads_q <= (choose && !gap) || waits_q || (reads_q && !reads_last);
      credits_q <= credits_q + CreditBits'(link_credit_i) - (choose ? CreditBits'(words) : '0);
      tx_valid_q <= begins_q || read_word;
    end
  end

  // Receiver.
  header_t coming_q;  // header of the packet, with the number of its missing words
  logic inside_q;  // words are missing
  word_t there;
  logic there_valid, crossing_ready;

  wire ends = coming_q.words == 1;

  assign link_credit_o = there_valid && crossing_ready;

  always_ff @(posedge link_clk_i) begin
    if (link_rx_valid_i) begin
      if (inside_q) begin
        coming_q.words <= coming_q.words - 1'b1;
        coming_q.first <= 1'b0;
      end else begin
        coming_q <= header_t'(link_rx_data_i[$bits(header_t)-1:0]);
      end
    end
    if (link_rst_i) inside_q <= 1'b0;
    else if (link_rx_valid_i) inside_q <= !inside_q || !ends;
  end

  tw_word_buffer #(
      .Width($bits(word_t)),
      .Depth(ReceiveWords)
  ) receive (
      .clk_i      (link_clk_i),
      .rst_i      (link_rst_i),
      .in_valid_i (link_rx_valid_i && inside_q),
      .in_data_i  ({coming_q.first, coming_q.last && ends, coming_q.channel, link_rx_data_i}),
      .out_valid_o(there_valid),
      .out_ready_i(crossing_ready),
      .out_data_o (there)
  );

  tw_async_fifo #(
      .Width ($bits(word_t)),
      .Depth (CrossingWords),
      .Stages(CrossingStages)
  ) crossing (
      .wr_clk_i  (link_clk_i),
      .wr_rst_i  (link_rst_i),
      .wr_valid_i(there_valid),
      .wr_ready_o(crossing_ready),
      .wr_data_i (there),
      .rd_clk_i  (shell_clk_i),
      .rd_rst_i  (shell_rst_i),
      .rd_valid_o(shell_out_valid_o),
      .rd_ready_i(shell_out_ready_i),
      .rd_data_o ({shell_out_first_o, shell_out_last_o, shell_out_channel_o, shell_out_data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge link_clk_i) begin
    if (!link_rst_i) begin
      credits_come_back : assert (!link_credit_i || 32'(credits_q) < ReceiveWords);
      packets_have_words : assert (!link_rx_valid_i || inside_q || (link_rx_data_i[15:0] != 0 && 32'(link_rx_data_i[15:0]) <= PacketWords));
    end
  end
`endif
endmodule
