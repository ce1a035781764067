// SPDX-License-Identifier: Apache-2.0
// Checks ICMP's checksum over the received words of a frame.
//
// Order: as words arrive. Latency: ten cycles. Throughput: a word per cycle. Storage: sums of a word in six cycles, and that of the frame. Critical path:
// an adder of 21 bits.
module tw_echo_sum
  import tw_ethernet_pkg::*;
(
    input  logic                clk_i,
    input  logic                valid_i,
    input  logic                first_i,  /// of the frame; with zeros after the packet's end
    input  logic [WordBits-1:0] data_i,
    output logic                right_o   /// of the word ten cycles ago and those before it
);
  localparam int unsigned AheadBits = 8 * 34;  // bits of the first word that the checksum does not cover

  logic [WordBits-1:0] data_1q, covered;
  logic [8:1] valid_q, first_q;
  // The order of bytes does not affect a sum.
  logic [15:0][16:0] sums_2q;
  logic [7:0][17:0] sums_3q;
  logic [3:0][18:0] sums_4q;
  logic [1:0][19:0] sums_5q;
  logic [20:0] sum_6q;
  logic [16:0] sum_7q;
  logic [15:0] sum_8q;
  logic [16:0] sum_9q;  // of the words so far, and the carry to be added
  logic right_10q;

  assign covered = {data_1q[WordBits-1:AheadBits], first_q[1] ? AheadBits'(0) : data_1q[AheadBits-1:0]};
  assign right_o = right_10q;

  always_ff @(posedge clk_i) begin
    data_1q <= data_i;
    valid_q <= {valid_q[7:1], valid_i};
    first_q <= {first_q[7:1], first_i};
    for (int unsigned i = 0; i < 16; i++) sums_2q[i] <= 17'(covered[32*i+:16]) + 17'(covered[32*i+16+:16]);
    for (int unsigned i = 0; i < 8; i++) sums_3q[i] <= 18'(sums_2q[2*i]) + 18'(sums_2q[2*i+1]);
    for (int unsigned i = 0; i < 4; i++) sums_4q[i] <= 19'(sums_3q[2*i]) + 19'(sums_3q[2*i+1]);
    for (int unsigned i = 0; i < 2; i++) sums_5q[i] <= 20'(sums_4q[2*i]) + 20'(sums_4q[2*i+1]);
    sum_6q <= 21'(sums_5q[0]) + 21'(sums_5q[1]);
    sum_7q <= folded(sum_6q);
    sum_8q <= sum_7q[15:0] + 16'(sum_7q[16]);
    if (valid_q[8]) sum_9q <= first_q[8] ? 17'(sum_8q) : 17'(sum_9q[15:0]) + 17'(sum_8q) + 17'(sum_9q[16]);
    right_10q <= sum_9q == 17'h0FFFF || sum_9q == 17'h1FFFE;
  end
endmodule
