// SPDX-License-Identifier: Apache-2.0
// Copies packets to several outputs, which read them independently from queues.
//
// Room is reserved for a whole packet of known length before its words arrive, at each of its outputs; the words then
// arrive in the order of reservation. An output reads a packet once, or again from its head any number of times, and
// releases its room with the last word of the last read. A packet whose words arrive with pauses can be held until it
// is complete, so that an output reads it without pauses. Order: kept at each output. Latency: none if the queue is
// empty; for held packets one cycle after the last word arrived. Throughput: a word per cycle in, and out at every
// output. Storage: Words words per output. room_o is a register, the other outputs depend on in_* if nothing else is
// queued. Critical path: from in_valid_i, or from read_q through the bit that marks the last word of a packet, to
// room_q.
module tw_fork #(
    parameter int unsigned Outputs = 6,    /// at least 1
    parameter int unsigned Width   = 256,  /// bits of a word, at least 1
    parameter int unsigned Words   = 64,   /// capacity of a queue, at least 1
    localparam int unsigned CountWidth = $clog2(Words + 1)
) (
    input  logic                               clk_i,
    input  logic                               rst_i,
    input  logic [Outputs-1:0]                 take_i,        /// reserves room at these outputs
    input  logic [CountWidth-1:0]              take_words_i,  /// for this many words, at most room_o
    output logic [Outputs-1:0][CountWidth-1:0] room_o,
    input  logic [Outputs-1:0]                 in_valid_i,    /// a word for these outputs, with reserved room
    input  logic [Width-1:0]                   in_data_i,
    input  logic                               in_last_i,     /// last word of its packet
    input  logic                               in_held_i,     /// its packet is not read before the last word has arrived
    output logic [Outputs-1:0]                 out_valid_o,
    output logic [Outputs-1:0][Width-1:0]      out_data_o,
    output logic [Outputs-1:0]                 out_last_o,
    input  logic [Outputs-1:0]                 out_ready_i,   /// takes the word
    input  logic [Outputs-1:0]                 out_again_i    /// with the last word: the packet is read again
);
  if (Outputs < 1 || Width < 1 || Words < 1) begin : check_sizes
    $error("tw_fork: Outputs, Width and Words must be at least 1");
  end

  localparam int unsigned IndexWidth = Words > 1 ? $clog2(Words) : 1;
  localparam logic [IndexWidth-1:0] Last = IndexWidth'(Words - 1);

  for (genvar o = 0; o < Outputs; o++) begin : queue
    logic [Width-1:0] words_q[Words];
    (* ram_style = "distributed" *) logic lasts_q[Words];  // last word of a packet; read combinationally, as it moves read_q
    logic [IndexWidth-1:0] write_q, read_q, head_q;
    logic [CountWidth-1:0] room_q, unread_q, passed_q, held_q;  // passed: words already read of the packet at the head

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
    logic [CountWidth-1:0] awaited_q;  // words with reserved room that have not arrived

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
