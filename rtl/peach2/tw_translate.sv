// SPDX-License-Identifier: Apache-2.0
// A link's translation of addresses, in one direction: requests to a range of pages, a power of two, go to another one. That is what a
// non-transparent bridge does between the addresses of its two sides. Completions pass: they have no address.
//
// A page p with (p & mask) == lower becomes (p & ~mask) | upper. Inbound, headers of three double words become those of four, which
// all other blocks expect. Outbound, requests to addresses below 4 GByte are marked: tw_egress sends them with three.
//
// Order: kept. Latency: one cycle. Throughput: a word per cycle. Storage: two words. All outputs are registers, or the inverse of one.
// Critical path: from the page through a masked comparison of 27 bits to the header's registers.
module tw_translate
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
#(
    parameter logic Inbound = 1'b1
) (
    input logic    clk_i,
    input logic    rst_i,
    input logic    load_valid_i,
    input window_t load_window_i,

    input  logic  in_valid_i,
    output logic  in_ready_o,
    input  word_t in_data_i,
    input  logic  in_last_i,

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o
);
  window_t window_q;
  logic first_q;

  word_t long, translated;
  pcie_memory_write_t request;
  logic [PageBits-1:0] page;
  always_comb begin
    long = in_data_i;
    if (Inbound && !in_data_i[LongAt]) begin
      long[LongAt] = 1'b1;
      long[127:64] = {in_data_i[95:64], 32'd0};
    end
    request = pcie_memory_write_of(long[127:0]);
    page = request.address[10+:PageBits];
    if (window_q.used && request.address[61:10+PageBits] == 0 && (page & window_q.mask) == window_q.lower)
      page = (page & ~window_q.mask) | window_q.upper;
    request.address[10+:PageBits] = page;
    translated = {long[255:128], pcie_memory_write_bytes(request)};
    if (!Inbound && request.address[61:30] == 0) translated[LongAt] = 1'b0;
  end
  wire asks = first_q && (is_write(long) || is_read(long));

  always_ff @(posedge clk_i) begin
    if (load_valid_i) window_q <= load_window_i;
    if (in_valid_i && in_ready_o) first_q <= in_last_i;
    if (rst_i) begin
      first_q <= 1'b1;
      window_q.used <= 1'b0;
    end
  end

  tw_skid #(
      .Width(WordBits + 1)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i,
      .in_ready_o,
      .in_data_i  ({in_last_i, asks ? translated : in_data_i}),
      .out_valid_o,
      .out_ready_i,
      .out_data_o ({out_last_o, out_data_o})
  );
endmodule
