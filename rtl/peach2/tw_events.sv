// SPDX-License-Identifier: Apache-2.0
// Counts what happens at several places, and tells it over one stream: how often since it was told last, and what was the last.
//
// Order: by turns. Latency: one cycle where nothing else is told. Throughput: one a cycle; whatever happens meanwhile is counted,
// up to 65,535 times at a place, and stays that then. Storage: a count and a note for each place. All outputs depend on registers
// alone. Critical path: from the counts over the arbiter to the choice of a note.
module tw_events #(
    parameter int unsigned Places = 8,   /// at least 2
    parameter int unsigned Width  = 46,  /// bits of a note
    localparam int unsigned PlaceBits = $clog2(Places)
) (
    input  logic                              clk_i,
    input  logic                              rst_i,
    input  logic [   Places-1:0]              happened_i,
    input  logic [   Places-1:0][  Width-1:0] note_i,
    output logic                              out_valid_o,
    input  logic                              out_ready_i,
    output logic [PlaceBits-1:0]              out_place_o,
    output logic [         15:0]              out_count_o,
    output logic [    Width-1:0]              out_note_o
);
  if (Places < 2) begin : check_places
    $error("tw_events: Places must be at least 2");
  end

  logic [Places-1:0][15:0] counts_q;
  logic [Places-1:0][Width-1:0] notes_q;
  logic [Places-1:0] some, chosen;
  wire told = out_valid_o && out_ready_i;

  tw_arbiter #(
      .Inputs(Places)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (some),
      .served_i      (told),
      .grant_o       (chosen),
      .winner_valid_o(out_valid_o),
      .winner_index_o(out_place_o)
  );
  assign out_count_o = counts_q[out_place_o];
  assign out_note_o  = notes_q[out_place_o];

  for (genvar i = 0; i < Places; i++) begin : places
    wire [15:0] kept = told && chosen[i] ? 16'd0 : counts_q[i];
    assign some[i] = counts_q[i] != 0;
    always_ff @(posedge clk_i) begin
      if (rst_i) counts_q[i] <= '0;
      else counts_q[i] <= happened_i[i] && kept != '1 ? kept + 1'b1 : kept;
      if (happened_i[i]) notes_q[i] <= note_i[i];
    end
  end
endmodule
