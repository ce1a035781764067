// SPDX-License-Identifier: Apache-2.0
// CRC-32C of a word of any width, all of its bits in one cycle: the polynomial of G. Castagnoli, S. Braeuer, M. Herrmann,
// "Optimization of Cyclic Redundancy-Check Codes with 24 and 32 Parity Bits", IEEE Transactions on Communications 41(6),
// 1993, with the start value, bit order and complement of RFC 3720 (iSCSI). The CRC of the bytes of "123456789" is E3069283.
//
// Order: bit 0 of the word is the first. Latency: one cycle. Throughput: one word per cycle. Storage: 32 bits. Critical
// path: one XOR tree over about half of the word's bits, three levels of 6-input tables for 300 bits.
module tw_crc32 #(
    parameter int unsigned Width = 32  /// bits of a word, at least 1
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             in_valid_i,
    input  logic [Width-1:0] in_data_i,
    output logic [     31:0] crc_o        /// of the last valid word; 0 before the first
);
  if (Width < 1) begin : check_width
    $error("tw_crc32: Width must be at least 1");
  end

  // A CRC is affine: the CRC of zeros, changed by each set bit of the word.
  typedef logic [31:0][Width-1:0] rows_t;

  function automatic logic [31:0] shifted(input logic [31:0] crc);
    return crc >> 1 ^ (crc[0] ? 32'h82F6_3B78 : 0);
  endfunction

  function automatic rows_t bits_of_each();
    rows_t rows;
    logic [31:0] changed = shifted(1);
    for (int i = int'(Width) - 1; i >= 0; i--) begin
      for (int b = 0; b < 32; b++) rows[b][i] = changed[b];
      changed = shifted(changed);
    end
    return rows;
  endfunction

  function automatic logic [31:0] of_zeros();
    logic [31:0] crc = '1;
    for (int i = 0; i < int'(Width); i++) crc = shifted(crc);
    return ~crc;
  endfunction

  localparam rows_t Rows = bits_of_each();
  localparam logic [31:0] Zeros = of_zeros();

  logic [31:0] crc_q;

  assign crc_o = crc_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) crc_q <= 0;
    else if (in_valid_i) for (int b = 0; b < 32; b++) crc_q[b] <= Zeros[b] ^ ^(in_data_i & Rows[b]);
  end
endmodule
