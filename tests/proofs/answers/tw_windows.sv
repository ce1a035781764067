// SPDX-License-Identifier: Apache-2.0
// Abstraction of rtl/peach2/tw_windows.sv with arbitrary windows: each query gets an arbitrary answer after the usual latency,
// namely the value of `load_window_i` in that cycle, which the proof leaves free.
module tw_windows
  import tw_peach2_pkg::*;
#(
    parameter  int unsigned Windows    = 16,
    localparam int unsigned IndexWidth = $clog2(Windows)
) (
    input  logic                       clk_i,
    input  logic                       rst_i,
    input  logic      [  BaseBits-1:0] base_i,
    input  logic                       load_valid_i,
    input  logic      [IndexWidth-1:0] load_index_i,
    input  window_t                    load_window_i,
    input  logic                       ask_valid_i,
    input  logic      [  PageBits-1:0] ask_page_i,
    output logic                       found_valid_o,
    output logic                       found_hit_o,
    output logic      [           2:0] found_to_o
);
  logic asked_q, found_q;

  assign found_valid_o = found_q;
  assign found_hit_o   = load_window_i.used;
  assign found_to_o    = load_window_i.to;

  always_ff @(posedge clk_i) begin
    asked_q <= !rst_i && ask_valid_i;
    found_q <= !rst_i && asked_q;
  end
endmodule
