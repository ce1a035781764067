// SPDX-License-Identifier: Apache-2.0
// The host's port of the exchange memory (tw_exchange_ports) as an AXI4-Lite subordinate. One outstanding access. SLVERR answers accesses that the memory refuses, and writes of less than a word, which
// are not performed.
//
// Order: kept among writes, and among reads; a write and a read that are both waiting alternate. Latency: that of the memory plus 2 cycles to a valid response. Throughput: one access per response
// plus 3 cycles. Storage: one write and one read. Outputs depend only on registers. Critical path: between two states.
module tw_accl_exchange (
    input logic clk_i,
    input logic rst_i,

    input  logic        axil_awvalid_i,
    output logic        axil_awready_o,
    input  logic [31:0] axil_awaddr_i,
    input  logic        axil_wvalid_i,
    output logic        axil_wready_o,
    input  logic [31:0] axil_wdata_i,
    input  logic [ 3:0] axil_wstrb_i,
    output logic        axil_bvalid_o,
    input  logic        axil_bready_i,
    output logic [ 1:0] axil_bresp_o,
    input  logic        axil_arvalid_i,
    output logic        axil_arready_o,
    input  logic [31:0] axil_araddr_i,
    output logic        axil_rvalid_o,
    input  logic        axil_rready_i,
    output logic [31:0] axil_rdata_o,
    output logic [ 1:0] axil_rresp_o,

    output logic        access_valid_o,  /// as in tw_exchange_ports
    input  logic        access_ready_i,
    output logic        access_write_o,
    output logic [31:0] access_at_o,
    output logic [31:0] access_data_o,
    input  logic        answer_valid_i,
    input  logic        answer_refused_i,
    input  logic [31:0] answer_data_i
);
  localparam logic [1:0] Okay = 2'b00, Refused = 2'b10;

  typedef enum logic [1:0] {
    Idle,
    Ask,
    Answer,
    Respond
  } state_e;

  state_e state_q;
  logic has_address_q, has_data_q, has_read_q, whole_q, writes_q, refused_q;
  logic [31:0] address_q, data_q, read_q, at_q, answer_q;
  wire has_write = has_address_q && has_data_q;
  wire responded = state_q == Respond && (writes_q ? axil_bready_i : axil_rready_i);

  assign axil_awready_o = !has_address_q;
  assign axil_wready_o = !has_data_q;
  assign axil_arready_o = !has_read_q;
  assign axil_bvalid_o = state_q == Respond && writes_q;
  assign axil_rvalid_o = state_q == Respond && !writes_q;
  assign axil_bresp_o = refused_q ? Refused : Okay;
  assign axil_rresp_o = refused_q ? Refused : Okay;
  assign axil_rdata_o = answer_q;
  assign access_valid_o = state_q == Ask;
  assign access_write_o = writes_q;
  assign access_at_o = at_q;
  assign access_data_o = data_q;

  always_ff @(posedge clk_i) begin
    if (!has_address_q) address_q <= axil_awaddr_i;
    if (!has_data_q) begin
      data_q  <= axil_wdata_i;
      whole_q <= axil_wstrb_i == '1;
    end
    if (!has_read_q) read_q <= axil_araddr_i;
    if (state_q == Idle) begin
      writes_q <= has_write;
      at_q <= has_write ? address_q : read_q;
      refused_q <= 1'b1;
    end
    if (state_q == Answer && answer_valid_i) begin
      refused_q <= answer_refused_i;
      answer_q  <= answer_data_i;
    end
    if (rst_i) begin
      state_q <= Idle;
      has_address_q <= 1'b0;
      has_data_q <= 1'b0;
      has_read_q <= 1'b0;
    end else begin
      has_address_q <= has_address_q ? !(responded && writes_q) : axil_awvalid_i;
      has_data_q <= has_data_q ? !(responded && writes_q) : axil_wvalid_i;
      has_read_q <= has_read_q ? !(responded && !writes_q) : axil_arvalid_i;
      unique case (state_q)
        Idle: if (has_write || has_read_q) state_q <= has_write && !whole_q ? Respond : Ask;
        Ask: if (access_ready_i) state_q <= Answer;
        Answer: if (answer_valid_i) state_q <= Respond;
        default: if (responded) state_q <= Idle;
      endcase
    end
  end
endmodule
