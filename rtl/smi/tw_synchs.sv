// SPDX-License-Identifier: Apache-2.0
// Counts synchs by source rank, until they are used. At most three per rank are kept.
//
// Order: none. Latency: there_o refers to the rank requested in the cycle before, and to arrivals until then.
// Throughput: a synch and a use per cycle. Storage: 2 bits per rank of arrivals, and of uses, in rows of 16 ranks that
// can be LUT RAM; a row is valid when it has been written since reset. The output is a register. Critical path: from
// ask_i through a row to the comparison.
module tw_synchs
  import tw_smi_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input logic  in_valid_i,
    input rank_t in_source_i,

    input  rank_t ask_i,
    input  logic  use_i,   /// of the rank requested in the cycle before
    output logic  there_o
);
  typedef logic [15:0][1:0] row_t;

  row_t came_q[16], used_q[16];
  logic [15:0] has_came_q, has_used_q;  // by row
  rank_t asked_q;

  row_t came_row, used_row, came_asked, used_asked;
  always_comb begin
    came_row = has_came_q[in_source_i[7:4]] ? came_q[in_source_i[7:4]] : '0;
    came_row[in_source_i[3:0]] += 1;
    used_row = has_used_q[asked_q[7:4]] ? used_q[asked_q[7:4]] : '0;
    used_row[asked_q[3:0]] += 1;
    came_asked = has_came_q[ask_i[7:4]] ? came_q[ask_i[7:4]] : '0;
    used_asked = has_used_q[ask_i[7:4]] ? used_q[ask_i[7:4]] : '0;
  end
  wire [1:0] used = used_asked[ask_i[3:0]] + 2'(use_i && ask_i == asked_q);

  always_ff @(posedge clk_i) begin
    if (in_valid_i) came_q[in_source_i[7:4]] <= came_row;
    if (use_i) used_q[asked_q[7:4]] <= used_row;
    if (rst_i) begin
      has_came_q <= '0;
      has_used_q <= '0;
      asked_q <= 0;
      there_o <= 1'b0;
    end else begin
      if (in_valid_i) has_came_q[in_source_i[7:4]] <= 1'b1;
      if (use_i) has_used_q[asked_q[7:4]] <= 1'b1;
      asked_q <= ask_i;
      there_o <= came_asked[ask_i[3:0]] != used;
    end
  end

`ifndef SYNTHESIS
  row_t source_used;
  assign source_used = has_used_q[in_source_i[7:4]] ? used_q[in_source_i[7:4]] : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      only_what_came : assert (!use_i || there_o);
      three_at_most :
      assert (!in_valid_i || came_row[in_source_i[3:0]] != source_used[in_source_i[3:0]]);
    end
  end
`endif
endmodule
