// SPDX-License-Identifier: Apache-2.0
// Counts synchs by source rank, until they are used. At most three per rank are kept.
//
// Order: none. Latency: available_o refers to the rank requested in the cycle before, and to arrivals until then.
// Throughput: a synch and a use per cycle. Storage: 2 bits per rank of arrivals, and of uses, in rows of 16 ranks that
// can be LUT RAM; a row is valid when it has been written since reset. The output is a register. Critical path: from
// query_i through a row to the comparison.
module tw_synchs
  import tw_smi_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input logic  in_valid_i,
    input rank_t in_source_i,

    input  rank_t query_i,
    input  logic  use_i,   /// of the rank requested in the cycle before
    output logic  available_o
);
  typedef logic [15:0][1:0] row_t;

  row_t arrived_q[16], used_q[16];
  logic [15:0] has_arrived_q, has_used_q;  // by row
  rank_t queried_q;

  row_t arrived_row, used_row, arrived_query_row, used_query_row;
  always_comb begin
    arrived_row = has_arrived_q[in_source_i[7:4]] ? arrived_q[in_source_i[7:4]] : '0;
    arrived_row[in_source_i[3:0]] += 1;
    used_row = has_used_q[queried_q[7:4]] ? used_q[queried_q[7:4]] : '0;
    used_row[queried_q[3:0]] += 1;
    arrived_query_row = has_arrived_q[query_i[7:4]] ? arrived_q[query_i[7:4]] : '0;
    used_query_row = has_used_q[query_i[7:4]] ? used_q[query_i[7:4]] : '0;
  end
  wire [1:0] used = used_query_row[query_i[3:0]] + 2'(use_i && query_i == queried_q);

  always_ff @(posedge clk_i) begin
    if (in_valid_i) arrived_q[in_source_i[7:4]] <= arrived_row;
    if (use_i) used_q[queried_q[7:4]] <= used_row;
    if (rst_i) begin
      has_arrived_q <= '0;
      has_used_q <= '0;
      queried_q <= 0;
      available_o <= 1'b0;
    end else begin
      if (in_valid_i) has_arrived_q[in_source_i[7:4]] <= 1'b1;
      if (use_i) has_used_q[queried_q[7:4]] <= 1'b1;
      queried_q <= query_i;
      available_o <= arrived_query_row[query_i[3:0]] != used;
    end
  end

`ifndef SYNTHESIS
  row_t source_used;
  assign source_used = has_used_q[in_source_i[7:4]] ? used_q[in_source_i[7:4]] : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      only_available : assert (!use_i || available_o);
      three_at_most :
      assert (!in_valid_i || arrived_row[in_source_i[3:0]] != source_used[in_source_i[3:0]]);
    end
  end
`endif
endmodule
