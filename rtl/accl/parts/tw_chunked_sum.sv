// SPDX-License-Identifier: Apache-2.0
// The sum or difference of two numbers that are held for several cycles, 16 bits per cycle.
//
// Order: none. Latency: a cycle for each chunk of 16 bits, counted from when both inputs are stable; chunk k of the inputs is used in cycle k.
// Throughput: one in that time. Storage: the result and the carries. Outputs are registers. Critical path: the carries of a chunk.
module tw_chunked_sum #(
    parameter int unsigned Bits = 64,  /// of a number, at least 1
    parameter bit Subtracts = 1'b0
) (
    input  logic            clk_i,
    input  logic [Bits-1:0] a_i,
    input  logic [Bits-1:0] b_i,
    output logic [Bits-1:0] sum_o,   /// a_i + b_i, or a_i - b_i
    output logic            over_o   /// the carry; when subtracting, b_i > a_i
);
  localparam int unsigned Chunk = 16;
  localparam int unsigned Chunks = (Bits + Chunk - 1) / Chunk;

  logic [Chunks-1:0] carries_q;

  assign over_o = carries_q[Chunks-1];

  for (genvar i = 0; i < Chunks; i++) begin : chunk
    localparam int unsigned From = Chunk * i;
    localparam int unsigned Wide = Bits - From < Chunk ? Bits - From : Chunk;
    logic carry;
    logic [Wide:0] sum;
    if (i == 0) begin : first
      assign carry = 1'b0;
    end else begin : later
      assign carry = carries_q[i-1];
    end
    if (Subtracts) begin : difference
      assign sum = {1'b0, a_i[From+:Wide]} - {1'b0, b_i[From+:Wide]} - (Wide + 1)'(carry);
    end else begin : total
      assign sum = {1'b0, a_i[From+:Wide]} + {1'b0, b_i[From+:Wide]} + (Wide + 1)'(carry);
    end
    always_ff @(posedge clk_i) begin
      sum_o[From+:Wide] <= sum[Wide-1:0];
      carries_q[i] <= sum[Wide];
    end
  end
endmodule
