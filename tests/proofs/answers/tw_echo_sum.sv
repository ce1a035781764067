// SPDX-License-Identifier: Apache-2.0
// Stands for a request's checksum: it is right or not in any cycle, as a bit that comes in, which is free, says then.
module tw_echo_sum
  import tw_ethernet_pkg::*;
(
    input  logic                clk_i,
    input  logic                valid_i,
    input  logic                first_i,
    input  logic [WordBits-1:0] data_i,
    output logic                right_o
);
  assign right_o = data_i[0];
endmodule
