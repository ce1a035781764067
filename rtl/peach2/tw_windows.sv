// SPDX-License-Identifier: Apache-2.0
// Routes a page: the hub's own pages to its bus, others by the first window that contains them.
//
// Order: kept. Latency: two cycles. Throughput: a page per cycle. Storage: the windows. A loaded window is valid from the next
// cycle on. Critical path: from ask_page_i through a mask and two comparisons of 27 bits.
module tw_windows
  import tw_peach2_pkg::*;
#(
    parameter  int unsigned Windows    = 16,  /// at least 2
    localparam int unsigned IndexWidth = $clog2(Windows)
) (
    input  logic                       clk_i,
    input  logic                       rst_i,
    input  logic      [  BaseBits-1:0] base_i,         /// the hub's own GByte
    input  logic                       load_valid_i,
    input  logic      [IndexWidth-1:0] load_index_i,
    input  window_t                    load_window_i,
    input  logic                       ask_valid_i,
    input  logic      [  PageBits-1:0] ask_page_i,
    output logic                       found_valid_o,
    output logic                       found_hit_o,
    output logic      [           2:0] found_to_o
);
  if (Windows < 2) begin : check_windows
    $error("tw_windows: Windows must be at least 2");
  end

  window_t [Windows-1:0] windows_q;
  logic [Windows-1:0] hits_q;
  logic asked_q, own_q;
  logic [Windows-1:0][2:0] to_q;
  logic [2:0] to;

  always_comb begin
    to = '0;
    for (int i = Windows - 1; i >= 0; i--) if (hits_q[i]) to = to_q[i];
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Windows; i++) begin
      hits_q[i] <= windows_q[i].used && (ask_page_i & windows_q[i].mask) >= windows_q[i].lower
                   && (ask_page_i & windows_q[i].mask) <= windows_q[i].upper;
      to_q[i] <= windows_q[i].to;
    end
    own_q <= ask_page_i[PageBits-1-:BaseBits] == base_i;
    found_hit_o <= own_q || hits_q != 0;
    found_to_o  <= own_q ? Bus : to;
    if (rst_i) begin
      for (int unsigned i = 0; i < Windows; i++) windows_q[i].used <= 1'b0;
      asked_q <= 1'b0;
      found_valid_o <= 1'b0;
    end else begin
      if (load_valid_i) windows_q[load_index_i] <= load_window_i;
      asked_q <= ask_valid_i;
      found_valid_o <= asked_q;
    end
  end
endmodule
