// SPDX-License-Identifier: Apache-2.0
// Exported ranks in a ring, connected according to tables/links.csv, and one by itself. All other ports are unconnected: the test
// drives them in place.
module ranks #(
    parameter int unsigned Ranks = 4,
    parameter int unsigned PacketBits = 256  // as on the ranks' ports
) (
    input logic aclk,
    input logic aresetn
);
  // [n][l] is the output of link l of rank n: link 0 leads to the next rank's link 1, and link 1 to link 0 of the previous rank.
  logic [Ranks-1:0][1:0] valid, ready;
  logic [Ranks-1:0][1:0][PacketBits-1:0] data;

  for (genvar n = 0; n < Ranks; n++) begin : joined
    localparam int unsigned Next = (n + 1) % Ranks;
    localparam int unsigned Before = (n + Ranks - 1) % Ranks;

    thalweg_rank rank (
        .aclk,
        .aresetn,
        .m_axis_link_0_tvalid(valid[n][0]),
        .m_axis_link_0_tready(ready[n][0]),
        .m_axis_link_0_tdata(data[n][0]),
        .m_axis_link_1_tvalid(valid[n][1]),
        .m_axis_link_1_tready(ready[n][1]),
        .m_axis_link_1_tdata(data[n][1]),
        .s_axis_link_0_tvalid(valid[Next][1]),
        .s_axis_link_0_tready(ready[Next][1]),
        .s_axis_link_0_tdata(data[Next][1]),
        .s_axis_link_1_tvalid(valid[Before][0]),
        .s_axis_link_1_tready(ready[Before][0]),
        .s_axis_link_1_tdata(data[Before][0])
    );
  end

  thalweg_rank alone (
      .aclk,
      .aresetn
  );
endmodule
