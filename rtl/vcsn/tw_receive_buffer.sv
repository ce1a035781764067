// SPDX-License-Identifier: Apache-2.0
// A virtual port on its way in: words are written as they come from the MAC; a frame's are kept at its end (mac_commit_i), or thrown
// away (mac_drop_i), where its check sum or length was wrong. Words of frames that are kept cross into the shell's clock.
//
// A frame begins only where mac_room_o is set, and after the end of the one before; its end comes after its last word. So all of it is in
// the memory then, and its first word leaves the memory in that cycle.
//
// shell_rst_i and mac_rst_i are asserted together: each lasts until both clocks have had an edge in it.
//
// Order: kept. Latency: a frame's first word goes into the crossing in the cycle after the frame's end; then that of tw_async_fifo.
// Throughput: one word a cycle in and out. Storage: Words words in a memory with a registered output, which can be block RAM, and 16
// words and one in the crossing. The word at the memory's output counts as one in it: its place is free in the cycle after it has gone
// into the crossing. Outputs are registers, or depend on registers alone. Critical path: from the pointers of the crossing over a word that
// goes to the count of those that are kept.
module tw_receive_buffer #(
    parameter int unsigned Width      = 512,   /// bits of a word, at least 1
    parameter int unsigned Words      = 2560,  /// kept, at least FrameWords and 2, any number
    parameter int unsigned FrameWords = 143    /// of a frame at most, at least 1
) (
    input  logic             mac_clk_i,
    input  logic             mac_rst_i,
    output logic             mac_room_o,     /// for the longest frame
    input  logic             mac_valid_i,    /// a frame's next word
    input  logic [Width-1:0] mac_data_i,
    input  logic             mac_first_i,    /// of a packet
    input  logic             mac_last_i,
    input  logic [      7:0] mac_channel_i,  /// of the packet
    input  logic             mac_commit_i,   /// the frame has ended, and is kept; it has a word at least
    input  logic             mac_drop_i,     /// it is thrown away

    input  logic             shell_clk_i,
    input  logic             shell_rst_i,
    output logic             shell_valid_o,
    input  logic             shell_ready_i,
    output logic [Width-1:0] shell_data_o,
    output logic             shell_first_o,
    output logic             shell_last_o,
    output logic [      7:0] shell_channel_o
);
  if (Width < 1 || FrameWords < 1) begin : check_sizes
    $error("tw_receive_buffer: Width and FrameWords must be at least 1");
  end
  if (Words < 2 || Words < FrameWords) begin : check_words
    $error("tw_receive_buffer: Words must be at least FrameWords and 2");
  end

  localparam int unsigned IndexBits = $clog2(Words);
  localparam int unsigned CountBits = $clog2(Words + 1) + 1;
  localparam int unsigned PartBits = $clog2(FrameWords + 1);
  localparam int unsigned CrossingWords = 16, CrossingStages = 2;

  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [Width-1:0] data;
  } word_t;
  typedef struct packed {
    logic turn;  // changes with each round, so that full is not empty
    logic [IndexBits-1:0] index;
  } pointer_t;

  function automatic pointer_t after(pointer_t at);
    return at.index == IndexBits'(Words - 1) ? '{turn: !at.turn, index: '0} : '{turn: at.turn, index: at.index + 1'b1};
  endfunction

  word_t words_q[Words];
  word_t word_q;
  logic  there_q;  // it is a word that is kept, and has not gone
  pointer_t write_q, kept_q, read_q;  // of the next word; of the first one that may be thrown away; of the next one to leave
  logic [CountBits-1:0] spare_q;  // places beyond those of the longest frame and the words that are kept and have not gone; below 0: none
  logic [PartBits-1:0] part_q, less_q;  // words of the frame; less 1

  logic crossing_ready;
  wire  goes = there_q && crossing_ready;
  wire  load = (read_q != kept_q || mac_commit_i) && (!there_q || crossing_ready);

  assign mac_room_o = !spare_q[CountBits-1];

  logic [CountBits-1:0] more;  // words that come and go
  always_comb begin
    if (mac_commit_i) more = goes ? CountBits'(less_q) : CountBits'(part_q);
    else more = goes ? '1 : '0;
  end

  always_ff @(posedge mac_clk_i) begin
    if (mac_valid_i) begin
      words_q[write_q.index] <= '{
          first: mac_first_i,
          last: mac_last_i,
          channel: mac_channel_i,
          data: mac_data_i
      };
    end
    if (load) word_q <= words_q[read_q.index];
    if (mac_rst_i) begin
      there_q <= 1'b0;
      write_q <= '0;
      kept_q <= '0;
      read_q <= '0;
      spare_q <= CountBits'(Words - FrameWords);
      part_q <= '0;
      less_q <= '1;
    end else begin
      there_q <= load || (there_q && !crossing_ready);
      if (load) read_q <= after(read_q);
      if (mac_commit_i) kept_q <= write_q;
      if (mac_drop_i) write_q <= kept_q;
      else if (mac_valid_i) write_q <= after(write_q);
      if (mac_commit_i || mac_drop_i) begin
        part_q <= '0;
        less_q <= '1;
      end else if (mac_valid_i) begin
        part_q <= part_q + 1'b1;
        less_q <= part_q;
      end
      spare_q <= spare_q - more;
    end
  end

  tw_async_fifo #(
      .Width ($bits(word_t)),
      .Depth (CrossingWords),
      .Stages(CrossingStages)
  ) crossing (
      .wr_clk_i  (mac_clk_i),
      .wr_rst_i  (mac_rst_i),
      .wr_valid_i(there_q),
      .wr_ready_o(crossing_ready),
      .wr_data_i (word_q),
      .rd_clk_i  (shell_clk_i),
      .rd_rst_i  (shell_rst_i),
      .rd_valid_o(shell_valid_o),
      .rd_ready_i(shell_ready_i),
      .rd_data_o ({shell_first_o, shell_last_o, shell_channel_o, shell_data_o})
  );

`ifndef SYNTHESIS
  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_i) begin
      begins_with_room : assert (!mac_valid_i || part_q != 0 || mac_room_o);
      not_too_long : assert (!mac_valid_i || 32'(part_q) < FrameWords);
      ends_after_its_words : assert (!(mac_commit_i || mac_drop_i) || !mac_valid_i);
      one_end : assert (!mac_commit_i || (!mac_drop_i && part_q != 0));
      bounded : assert (signed'(spare_q) >= signed'(CountBits'(part_q)) - signed'(CountBits'(FrameWords)));
    end
  end
`endif
endmodule
