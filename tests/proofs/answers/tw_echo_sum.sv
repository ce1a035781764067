// SPDX-License-Identifier: Apache-2.0
// Abstraction of a request's checksum: a free input bit decides in each cycle whether it is right.
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
