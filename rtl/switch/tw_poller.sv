// SPDX-License-Identifier: Apache-2.0
// Polls inputs for words that go to one of several outputs: an input a cycle. The word of the input whose turn it is is shown; an
// input whose word is taken keeps its turn, up to Reads times on end. Then, or where it has no word, or one that isn't taken, the
// next one has its turn: so what is shown may change without having been taken.
//
// Order: kept of each input. Latency: a word is shown in the cycle after it came, at the earliest, if it is its input's turn.
// Throughput: a word a cycle, Reads of Reads + Inputs - 1 where one input alone has words. Storage: two words for each input. in_ready_o
// are registers, the others depend on registers alone. Critical path: from the turn over the choice of the word and its output to
// out_goes_i, and on to the enables of its input's words.
module tw_poller #(
    parameter int unsigned Inputs  = 5,    /// at least 1
    parameter int unsigned Outputs = 5,    /// at least 1
    parameter int unsigned Width   = 256,  /// bits of a word, at least 1
    parameter int unsigned Reads   = 8,    /// of an input on end, at least 1
    localparam int unsigned ToWidth = Outputs > 1 ? $clog2(Outputs) : 1
) (
    input  logic                           clk_i,
    input  logic                           rst_i,
    input  logic [Inputs-1:0]              in_valid_i,
    output logic [Inputs-1:0]              in_ready_o,
    input  logic [Inputs-1:0][  Width-1:0] in_data_i,
    input  logic [Inputs-1:0][ToWidth-1:0] in_to_i,
    output logic                           out_valid_o,
    input  logic                           out_goes_i,   /// where a word is shown, it is taken
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
  logic [Inputs-1:0] valid;
  logic [Inputs-1:0][Width-1:0] data;
  logic [Inputs-1:0][ToWidth-1:0] to;

  wire goes = out_valid_o && out_goes_i;

  for (genvar i = 0; i < Inputs; i++) begin : inputs
    tw_skid #(
        .Width(ToWidth + Width)
    ) words (
        .clk_i,
        .rst_i,
        .in_valid_i (in_valid_i[i]),
        .in_ready_o (in_ready_o[i]),
        .in_data_i  ({in_to_i[i], in_data_i[i]}),
        .out_valid_o(valid[i]),
        .out_ready_i(goes && turn_q == TurnWidth'(i)),
        .out_data_o ({to[i], data[i]})
    );
  end

  assign out_valid_o = valid[turn_q];
  assign out_data_o  = data[turn_q];
  assign out_to_o    = to[turn_q];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      turn_q <= 0;
      read_q <= 0;
    end else if (goes && read_q != LastRead) begin
      read_q <= read_q + 1;
    end else begin
      turn_q <= turn_q == LastTurn ? 0 : turn_q + 1;
      read_q <= 0;
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
