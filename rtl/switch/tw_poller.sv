// SPDX-License-Identifier: Apache-2.0
// Polls inputs for words to one of several outputs, one input per cycle. The polled input's word is shown; if it is
// taken, the input is polled again, for up to Reads consecutive reads. Then, or if it has no word, or one that is not
// taken, the next input is polled: a shown word may change without having been taken. With Circuits, words form
// messages: an output whose word was not the last of its message is held, and until the last one has been taken no
// other input's words for it are shown.
//
// Order: kept for each input; at an output, messages do not interleave. Latency: a word is shown in the cycle after it
// arrived, at the earliest, if its input is polled. Throughput: a word per cycle; Reads words in Reads + Inputs - 1
// cycles if only one input has words. Storage: two words per input; with Circuits a bit per input and output.
// in_ready_o are registers, the others depend only on registers. Critical path: from the polled input through the
// selection of the word and its output to out_goes_i, and on to the enables of its input's words.
module tw_poller #(
    parameter int unsigned Inputs  = 5,    /// at least 1
    parameter int unsigned Outputs = 5,    /// at least 1
    parameter int unsigned Width   = 256,  /// bits of a word, at least 1
    parameter int unsigned Reads   = 8,    /// maximum consecutive reads of an input, at least 1
    parameter bit Circuits = 1'b0,  /// words form messages; otherwise each word is one
    localparam int unsigned ToWidth = Outputs > 1 ? $clog2(Outputs) : 1
) (
    input  logic                           clk_i,
    input  logic                           rst_i,
    input  logic [Inputs-1:0]              in_valid_i,
    output logic [Inputs-1:0]              in_ready_o,
    input  logic [Inputs-1:0][  Width-1:0] in_data_i,
    input  logic [Inputs-1:0][ToWidth-1:0] in_to_i,     /// below Outputs; the same for all words of a message
    input  logic [Inputs-1:0]              in_last_i,   /// last word of its message
    output logic                           out_valid_o,
    input  logic                           out_goes_i,   /// takes the word, if one is shown
    output logic [  Width-1:0]             out_data_o,
    output logic [ToWidth-1:0]             out_to_o
);
  if (Inputs < 1 || Outputs < 1 || Width < 1 || Reads < 1) begin : check_sizes
    $error("tw_poller: Inputs, Outputs, Width and Reads must be at least 1");
  end

  localparam int unsigned TurnWidth = Inputs > 1 ? $clog2(Inputs) : 1;
  localparam int unsigned ReadWidth = Reads > 1 ? $clog2(Reads) : 1;
  localparam logic [TurnWidth-1:0] LastTurn = TurnWidth'(Inputs - 1);
  localparam logic [ReadWidth-1:0] LastRead = ReadWidth'(Reads - 1);

  logic [TurnWidth-1:0] turn_q;
  logic [ReadWidth-1:0] read_q;
  logic [Inputs-1:0] valid, last, may;
  logic [Inputs-1:0] holds_q;  // has begun a message and not ended it
  logic [Outputs-1:0] held_q;
  logic [Inputs-1:0][Width-1:0] data;
  logic [Inputs-1:0][ToWidth-1:0] to;

  wire forwards = out_valid_o && out_goes_i;

  for (genvar i = 0; i < Inputs; i++) begin : inputs
    tw_skid #(
        .Width(1 + ToWidth + Width)
    ) words (
        .clk_i,
        .rst_i,
        .in_valid_i (in_valid_i[i]),
        .in_ready_o (in_ready_o[i]),
        .in_data_i  ({in_last_i[i], in_to_i[i], in_data_i[i]}),
        .out_valid_o(valid[i]),
        .out_ready_i(forwards && turn_q == TurnWidth'(i)),
        .out_data_o ({last[i], to[i], data[i]})
    );
    assign may[i] = valid[i] && (!Circuits || holds_q[i] || !held_q[to[i]]);
  end

  assign out_valid_o = may[turn_q];
  assign out_data_o  = data[turn_q];
  assign out_to_o    = to[turn_q];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      turn_q <= 0;
      read_q <= 0;
    end else if (forwards && read_q != LastRead) begin
      read_q <= read_q + 1;
    end else begin
      turn_q <= turn_q == LastTurn ? 0 : turn_q + 1;
      read_q <= 0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || !Circuits) begin
      holds_q <= '0;
      held_q  <= '0;
    end else if (forwards) begin
      holds_q[turn_q]  <= !last[turn_q];
      held_q[out_to_o] <= !last[turn_q];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      turn_in_range : assert (32'(turn_q) < Inputs);
      reads_in_range : assert (32'(read_q) < Reads);
    end
  end
`endif
endmodule
