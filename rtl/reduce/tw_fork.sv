// SPDX-License-Identifier: Apache-2.0
// Copies packets to several outputs, which read them independently from queues.
//
// Room is taken for a whole packet of known length before its words come, at each output that it goes to; the words then
// come in the order in which room was taken. An output reads a packet once, or again from its head as often as it likes, and
// gives its room back with the last word that it reads. A packet whose words come with pauses can be held until it is whole, so
// that an output reads it without a pause. Order: kept at each output. Latency: none where the queue is empty, and for what is
// held one cycle after the last word came in. Throughput: a word a cycle in, and out at every output. Storage: Words words for
// each output. room_o is a register, the other outputs depend on in_* where there is nothing else to read. Critical path: from
// in_valid_i, or read_q over the bit that says whether this word is the last of its packet, to room_q.
module tw_fork #(
    parameter int unsigned Outputs = 6,    /// at least 1
    parameter int unsigned Width   = 256,  /// bits of a word, at least 1
    parameter int unsigned Words   = 64,   /// room of a queue, at least 1
    localparam int unsigned CountWidth = $clog2(Words + 1)
) (
    input  logic                               clk_i,
    input  logic                               rst_i,
    input  logic [Outputs-1:0]                 take_i,        /// room, at these outputs
    input  logic [CountWidth-1:0]              take_words_i,  /// for so many words, no more than there is
    output logic [Outputs-1:0][CountWidth-1:0] room_o,
    input  logic [Outputs-1:0]                 in_valid_i,    /// a word for these outputs, for which room was taken
    input  logic [Width-1:0]                   in_data_i,
    input  logic                               in_last_i,     /// of its packet
    input  logic                               in_held_i,     /// nothing of its packet is read before the last one has come
    output logic [Outputs-1:0]                 out_valid_o,
    output logic [Outputs-1:0][Width-1:0]      out_data_o,
    output logic [Outputs-1:0]                 out_last_o,
    input  logic [Outputs-1:0]                 out_ready_i,   /// takes the word
    input  logic [Outputs-1:0]                 out_again_i    /// with the last word: the packet comes again
);
  if (Outputs < 1 || Width < 1 || Words < 1) begin : check_sizes
    $error("tw_fork: Outputs, Width and Words must be at least 1");
  end

  localparam int unsigned IndexWidth = Words > 1 ? $clog2(Words) : 1;
  localparam logic [IndexWidth-1:0] Last = IndexWidth'(Words - 1);

  for (genvar o = 0; o < Outputs; o++) begin : queue
    logic [Width-1:0] words_q[Words];
    (* ram_style = "distributed" *) logic lasts_q[Words];  // each the last of its packet? Read at once, as it moves read_q
    logic [IndexWidth-1:0] write_q, read_q, head_q;
    logic [CountWidth-1:0] room_q, unread_q, passed_q, held_q;  // passed: words read of the packet in front

    wire pop = out_valid_o[o] && out_ready_i[o];
    wire ends = pop && out_last_o[o];
    wire again = ends && out_again_i[o];
    wire [IndexWidth-1:0] next_read = read_q == Last ? 0 : read_q + 1;

    wire shown = in_valid_i[o] && !in_held_i;
    wire whole = in_valid_i[o] && in_held_i && in_last_i;
    wire waiting = unread_q != 0;

    assign out_valid_o[o] = waiting || shown;
    assign out_data_o[o]  = waiting ? words_q[read_q] : in_data_i;
    assign out_last_o[o]  = waiting ? lasts_q[read_q] : in_last_i;
    assign room_o[o] = room_q;

    always_ff @(posedge clk_i) begin
      if (in_valid_i[o]) words_q[write_q] <= in_data_i;
      if (in_valid_i[o]) lasts_q[write_q] <= in_last_i;
      if (rst_i) begin
        write_q  <= 0;
        read_q   <= 0;
        head_q   <= 0;
        unread_q <= 0;
        passed_q <= 0;
        held_q   <= 0;
        room_q   <= CountWidth'(Words);
      end else begin
        if (in_valid_i[o]) write_q <= write_q == Last ? 0 : write_q + 1;
        if (pop) read_q <= again ? head_q : next_read;
        if (ends && !again) head_q <= next_read;
        if (pop) passed_q <= ends ? 0 : passed_q + 1;
        unread_q <= unread_q + CountWidth'(shown) + (whole ? held_q + 1 : 0) - CountWidth'(pop) + (again ? passed_q + 1 : 0);
        if (in_valid_i[o] && in_held_i) held_q <= in_last_i ? 0 : held_q + 1;
        room_q <= room_q - (take_i[o] ? take_words_i : 0) + (ends && !again ? passed_q + 1 : 0);
      end
    end

`ifndef SYNTHESIS
    logic [CountWidth-1:0] awaited_q;  // words for which room was taken, and that have not come

    always_ff @(posedge clk_i) begin
      awaited_q <= rst_i ? '0 : awaited_q + (take_i[o] ? take_words_i : 0) - CountWidth'(in_valid_i[o]);
      if (!rst_i) begin
        room_is_there : assert (!take_i[o] || take_words_i <= room_q);
        room_was_taken : assert (!in_valid_i[o] || awaited_q != 0);
        nothing_lost : assert (32'(room_q) + 32'(awaited_q) + 32'(held_q) + 32'(unread_q) + 32'(passed_q) == Words);
      end
    end
`endif
  end
endmodule
