// SPDX-License-Identifier: Apache-2.0
// Rate limiter of a link that is slower than its port: at most Flits in any Cycles consecutive cycles, and exactly that
// rate in the long run while flits are waiting. ready_o depends on a register only.
//
// Order: none to keep, it counts. Latency: one cycle from a sent flit to ready_o. Throughput: Flits in Cycles. Storage:
// a counter. Critical path: its addition and comparison.
module tw_rate #(
    parameter int unsigned Flits  = 1,  /// at least 1
    parameter int unsigned Cycles = 1   /// at least Flits; equal: never stops
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic ready_o,  /// a flit may be sent in this cycle
    input  logic send_i    /// a flit is sent; only when ready
);
  if (Flits < 1 || Cycles < Flits) begin : check_rate
    $error("tw_rate: Flits must be at least 1, and Cycles at least Flits");
  end

  // Gains Flits per cycle, up to Full; a flit costs Cycles.
  localparam int unsigned Full = Cycles + Flits - 1;
  localparam int unsigned Width = $clog2(Full + Flits + 1);
  logic [Width-1:0] left, gained, level_q;

  assign ready_o = level_q >= Width'(Cycles);
  assign left    = send_i ? level_q - Width'(Cycles) : level_q;
  assign gained  = left + Width'(Flits);

  always_ff @(posedge clk_i) begin
    if (rst_i) level_q <= Width'(Full);
    else level_q <= gained > Width'(Full) ? Width'(Full) : gained;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      sent_when_ready : assert (!send_i || ready_o);
      bounded : assert (32'(level_q) <= Full);
    end
  end
`endif
endmodule
