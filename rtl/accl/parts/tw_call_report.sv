// SPDX-License-Identifier: Apache-2.0
// Reports the ends of calls: writes a call's duration in cycles and its return code to the exchange memory, then offers its status, with its port and the number of
// calls accepted before it from that port.
//
// Cycles are counted from a call's first word, modulo 2**32.
//
// Order: kept. Latency: 6 cycles, if the exchange memory accepts words at once. Throughput: one call in that time. Storage: a time and a number for each of Calls. Outputs depend only
// on registers. Critical path: a difference of 16 bits.
module tw_call_report
  import tw_call_pkg::*;
#(
    parameter int unsigned Ports = 3,  /// for calls, 2 to 4
    parameter int unsigned Calls = 8,  /// active at once; a power of two
    localparam int unsigned CallBits = $clog2(Calls)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                first_i,       /// a call's first word is accepted
    input logic                call_valid_i,  /// a call is accepted
    input logic [CallBits-1:0] call_number_i,
    input logic [         1:0] call_port_i,

    input  logic                end_valid_i,   /// a call has ended
    output logic                end_ready_o,
    input  logic [CallBits-1:0] end_number_i,
    input  logic [         1:0] end_port_i,
    input  logic [        31:0] end_code_i,

    output logic        access_valid_o,  /// writes to the exchange memory, as in tw_exchange_ports
    input  logic        access_ready_i,
    output logic [31:0] access_at_o,
    output logic [31:0] access_data_o,

    output logic        status_valid_o,
    input  logic        status_ready_i,
    output logic [ 1:0] status_port_o,
    output logic [ 7:0] status_count_o,
    output logic [31:0] status_code_o
);
  localparam logic [31:0] Cycles = 32'h1FF0;
  localparam logic [31:0] ReturnCode = 32'h1FFC;

  typedef enum logic [2:0] {
    Idle,
    Fetch,
    Low,  // half of the difference
    High,
    WriteCycles,
    WriteCode,
    Offer
  } state_e;

  state_e state_q;
  logic [15:0] low_q, high_q;  // cycle counter
  logic carries_q;
  logic [31:0] first_q, end_q, begin_q;
  logic [31:0] begins_q[Calls];
  logic [7:0] counts_q[Calls];
  logic [Ports-1:0][7:0] given_q;
  logic [15:0] low_difference_q, high_difference_q;
  logic borrows_q;

  assign end_ready_o = state_q == Offer && status_ready_i;
  assign access_valid_o = state_q == WriteCycles || state_q == WriteCode;
  assign access_at_o = state_q == WriteCycles ? Cycles : ReturnCode;
  assign access_data_o = state_q == WriteCycles ? {high_difference_q, low_difference_q} : end_code_i;
  assign status_valid_o = state_q == Offer;
  assign status_port_o = end_port_i;
  assign status_code_o = end_code_i;

  always_ff @(posedge clk_i) begin
    if (first_i) first_q <= {high_q, low_q};
    if (call_valid_i) begin
      begins_q[call_number_i] <= first_q;
      counts_q[call_number_i] <= given_q[call_port_i];
    end
    if (state_q == Idle) end_q <= {high_q, low_q};
    if (state_q == Fetch) begin
      begin_q <= begins_q[end_number_i];
      status_count_o <= counts_q[end_number_i];
    end
    if (state_q == Low) {borrows_q, low_difference_q} <= {1'b0, end_q[15:0]} - {1'b0, begin_q[15:0]};
    if (state_q == High) high_difference_q <= end_q[31:16] - begin_q[31:16] - 16'(borrows_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      {carries_q, low_q} <= '0;
      high_q <= '0;
      given_q <= '0;
    end else begin
      {carries_q, low_q} <= {1'b0, low_q} + 17'd1;
      high_q <= high_q + 16'(carries_q);
      if (call_valid_i) given_q[call_port_i] <= given_q[call_port_i] + 8'd1;
      unique case (state_q)
        Idle: if (end_valid_i) state_q <= Fetch;
        Fetch: state_q <= Low;
        Low: state_q <= High;
        High: state_q <= WriteCycles;
        WriteCycles: if (access_ready_i) state_q <= WriteCode;
        WriteCode: if (access_ready_i) state_q <= Offer;
        default: if (status_ready_i) state_q <= Idle;
      endcase
    end
  end
endmodule
