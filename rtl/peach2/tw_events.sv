// SPDX-License-Identifier: Apache-2.0
// Counts events of several sources and reports them over one stream: the number since the last report, and the last event.
//
// Order: round-robin. Latency: one cycle if no other report is pending. Throughput: one per cycle; events in the meantime are
// counted, saturating at 65,535 for each source. Storage: a count and a note for each source. All outputs depend only on
// registers. Critical path: from the sources with events through the arbiter to the selection of a note.
module tw_events #(
    parameter int unsigned Sources = 8,   /// at least 2
    parameter int unsigned Width  = 46,  /// bits of a note
    localparam int unsigned PlaceBits = $clog2(Sources)
) (
    input  logic                              clk_i,
    input  logic                              rst_i,
    input  logic [   Sources-1:0]              happened_i,
    input  logic [   Sources-1:0][  Width-1:0] note_i,
    output logic                              out_valid_o,
    input  logic                              out_ready_i,
    output logic [PlaceBits-1:0]              out_place_o,
    output logic [         15:0]              out_count_o,
    output logic [    Width-1:0]              out_note_o
);
  if (Sources < 2) begin : check_places
    $error("tw_events: Sources must be at least 2");
  end

  logic [Sources-1:0][15:0] counts_q;
  logic [Sources-1:0][Width-1:0] notes_q;
  logic [Sources-1:0] some_q, full_q, chosen;  // a count is not 0; it is saturated
  wire delivered = out_valid_o && out_ready_i;

  tw_arbiter #(
      .Inputs(Sources)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (some_q),
      .served_i      (delivered),
      .grant_o       (chosen),
      .winner_valid_o(out_valid_o),
      .winner_index_o(out_place_o)
  );
  always_comb begin
    out_count_o = '0;
    out_note_o  = '0;
    for (int unsigned i = 0; i < Sources; i++) begin
      if (chosen[i]) out_count_o |= counts_q[i];
      if (chosen[i]) out_note_o |= notes_q[i];
    end
  end

  for (genvar i = 0; i < Sources; i++) begin : places
    wire leaves = delivered && chosen[i];
    wire counts = happened_i[i] && !full_q[i];
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        counts_q[i] <= '0;
        some_q[i]   <= 1'b0;
        full_q[i]   <= 1'b0;
      end else begin
        counts_q[i] <= leaves ? 16'(happened_i[i]) : counts_q[i] + 16'(counts);
        some_q[i]   <= happened_i[i] || (some_q[i] && !leaves);
        full_q[i]   <= !leaves && (full_q[i] || (happened_i[i] && counts_q[i] == 16'hFFFE));
      end
      if (happened_i[i]) notes_q[i] <= note_i[i];
    end
  end
endmodule
