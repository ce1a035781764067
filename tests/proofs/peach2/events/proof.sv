// SPDX-License-Identifier: Apache-2.0
// Environment: events of any sources in any cycles, delivered whenever the other side is ready. Any one source (where_q)
// is tracked.
module events_proof #(
    parameter int unsigned Sources = 3,
    parameter int unsigned Width = 2,
    parameter int unsigned Others = Sources - 1,  // maximum number of events of other sources delivered while one waits
    localparam int unsigned EntryBits = $clog2(Sources)
) (
    input logic                              clk_i,
    input logic                              rst_i,
    input logic [   Sources-1:0]              happened_i,
    input logic [   Sources-1:0][  Width-1:0] note_i,
    input logic                              out_ready_i,
    input logic [EntryBits-1:0]              where_i
);
  logic out_valid;
  logic [EntryBits-1:0] out_place;
  logic [15:0] out_count;
  logic [Width-1:0] out_note;

  tw_reset_first surroundings (.*);

  tw_events #(
      .Sources(Sources),
      .Width (Width)
  ) events (
      .out_valid_o(out_valid),
      .out_place_o(out_place),
      .out_count_o(out_count),
      .out_note_o (out_note),
      .*
  );

  logic [EntryBits-1:0] where_q;
  logic [16:0] since_q;  // number of events since its last delivery, at most 65,535
  logic [Width-1:0] note_q;
  logic [EntryBits:0] others_q;  // events of others delivered while this one waits

  wire delivered = out_valid && out_ready_i;
  wire here = out_place == where_q;
  wire happens = happened_i[where_q];
  wire [16:0] left = delivered && here ? '0 : since_q;

  always_ff @(posedge clk_i) begin
    if (happens) note_q <= note_i[where_q];
    if (rst_i) begin
      where_q  <= 32'(where_i) < Sources ? where_i : '0;
      since_q  <= '0;
      others_q <= '0;
    end else begin
      since_q <= left == 17'd65535 ? left : left + 17'(happens);
      if (since_q == 0 || (delivered && here)) others_q <= '0;
      else if (delivered) others_q <= others_q + 1'b1;
    end
  end

  // Distance of the source from the one whose turn it is.
  wire [31:0] turn = 32'(events.arbiter.turn_q);
  wire [31:0] distance = 32'(where_q) + (32'(where_q) < turn ? Sources : 0) - turn;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      delivered_in_full : assert (!out_valid || !here || out_count == since_q[15:0]);
      delivered_once : assert (!out_valid || 32'(out_place) < Sources && (!here || since_q != 0));
      last_note : assert (!out_valid || !here || out_note == note_q);
      never_idle : assert (since_q == 0 || out_valid);
      fair : assert (since_q == 0 || (out_valid && here) || 32'(others_q) < Others);
      again : cover (delivered && here && since_q == 17'd3);

      lemma_where : assert (32'(where_q) < Sources);
      lemma_since : assert (32'(events.counts_q[where_q]) == 32'(since_q));
      lemma_note : assert (since_q == 0 || events.notes_q[where_q] == note_q);
      lemma_turns : assert (since_q == 0 ? others_q == 0 : 32'(others_q) + distance < Sources);
    end
  end
  for (genvar i = 0; i < Sources; i++) begin : each
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_some : assert (events.some_q[i] == (events.counts_q[i] != 0));
        lemma_full : assert (events.full_q[i] == (events.counts_q[i] == '1));
      end
    end
  end
endmodule
