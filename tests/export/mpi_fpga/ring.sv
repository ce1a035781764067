// SPDX-License-Identifier: Apache-2.0
// Exported nodes in a ring, connected according to its tables/links.csv, by wires that lose and damage frames under the test's
// control. All other ports of the nodes are unconnected: the test drives them in place.
module ring #(
    parameter int unsigned Nodes     = 4,
    parameter int unsigned Registers = 3,  // of a wire
    parameter int unsigned FrameBits = 1,  // as on the nodes' ports
    localparam int unsigned Wires = 2 * Nodes
) (
    input  logic                   aclk,
    input  logic [Nodes-1:0]       aresetn,
    // Wire 2 n + p is from port p of node n: port 0 leads to the next node's port 1, and port 1 to port 0 of the previous node
    input  logic [Wires-1:0]       taken,      // TREADY
    input  logic [Wires-1:0]       lost,
    input  logic [Wires-1:0]       damaged,
    input  logic [8:0]             wrong_bit,
    output logic [Wires-1:0]       valid,      // TVALID
    output logic [Nodes-1:0]       irq,
    output logic [Wires-1:0][31:0] lost_frames,
    output logic [Wires-1:0][31:0] damaged_frames
);
  logic [Wires-1:0] arrives;
  logic [Wires-1:0][FrameBits-1:0] frame, arrived;

  for (genvar w = 0; w < Wires; w++) begin : wires
    logic [Registers-1:0] valid_q;
    logic [FrameBits-1:0] frame_q[Registers];
    wire sent = valid[w] && taken[w];

    assign arrives[w] = valid_q[Registers-1];
    assign arrived[w] = frame_q[Registers-1];

    always_ff @(posedge aclk) begin
      valid_q <= Registers'({valid_q, sent && !lost[w]});
      frame_q[0] <= frame[w] ^ (FrameBits'(damaged[w]) << wrong_bit);
      for (int unsigned i = 1; i < Registers; i++) frame_q[i] <= frame_q[i-1];
      if (aresetn == 0) begin
        lost_frames[w]    <= 0;
        damaged_frames[w] <= 0;
      end else if (sent && lost[w]) begin
        lost_frames[w] <= lost_frames[w] + 1;
      end else if (sent && damaged[w]) begin
        damaged_frames[w] <= damaged_frames[w] + 1;
      end
    end
  end

  for (genvar n = 0; n < Nodes; n++) begin : nodes
    localparam int unsigned Next = (n + 1) % Nodes;
    localparam int unsigned Before = (n + Nodes - 1) % Nodes;

    thalweg_node node (
        .aclk,
        .aresetn(aresetn[n]),
        .irq(irq[n]),
        .m_axis_link0_tvalid(valid[2*n]),
        .m_axis_link0_tready(taken[2*n]),
        .m_axis_link0_tdata(frame[2*n]),
        .m_axis_link1_tvalid(valid[2*n+1]),
        .m_axis_link1_tready(taken[2*n+1]),
        .m_axis_link1_tdata(frame[2*n+1]),
        .s_axis_link0_tvalid(arrives[2*Next+1]),
        .s_axis_link0_tdata(arrived[2*Next+1]),
        .s_axis_link1_tvalid(arrives[2*Before]),
        .s_axis_link1_tdata(arrived[2*Before])
    );
  end
endmodule
