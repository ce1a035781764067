// SPDX-License-Identifier: Apache-2.0
// Credits of a relay: free room in the buffers at the other ends of its links, and freed room in its own buffers that
// it owes to them. It returns room in batches, each in a single-flit packet through the link's lane; the buffers of a
// lane take turns.
//
// Order: none. Latency: an arriving credit counts in the next cycle. Throughput: a credit per cycle over each link and
// by each lane, at most one per cycle for a buffer. Storage: two counts per buffer. All outputs depend only on
// registers. Critical path: from the counts through a lane's arbiter to single_data_o.
module tw_relay_credits
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_relay_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,
    parameter int unsigned Classes = 2,
    parameter int unsigned Flits = 1024,  /// per buffer
    localparam int unsigned Buffers = Links * Classes,
    localparam int unsigned BufferWidth = Buffers > 1 ? $clog2(Buffers) : 1,
    localparam int unsigned CountWidth = $clog2(Flits + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input peer_t [Links-1:0] peers_i,

    // Room at the other ends: credits from the links, and room taken by packets that the lanes select.
    input  logic          [Links-1:0]                  credit_valid_i,
    input  relay_credit_t [Links-1:0]                  credit_i,
    input  logic          [Lanes-1:0]                  consume_valid_i,
    input  logic          [Lanes-1:0][BufferWidth-1:0] consume_buffer_i,
    input  logic          [Lanes-1:0][2:0]             consume_size_i,   /// log2 of the packet's flits
    output logic          [Buffers-1:0][7:0]           has_room_o,       /// has room for a packet of 2^i flits

    // Room in the own buffers.
    input  logic [Buffers-1:0][CountWidth-1:0] freed_i,
    output logic [Lanes-1:0]                   single_valid_o,
    input  logic [Lanes-1:0]                   single_ready_i,
    output logic [Lanes-1:0][255:0]            single_data_o,
    output logic [Lanes-1:0][3:0]              single_vc_o
);
  localparam int unsigned Batch = Flits / 4 > 0 ? Flits / 4 : 1;

  logic [Buffers-1:0][CountWidth-1:0] credits_q, unreturned_q, returned;
  logic [Buffers-1:0] due;
  always_comb begin
    for (int unsigned b = 0; b < Buffers; b++) begin
      for (int unsigned i = 0; i < 8; i++) has_room_o[b][i] = (32'(credits_q[b]) >> i) != 0;
      due[b] = 32'(unreturned_q[b]) >= Batch;
    end
  end

  for (genvar b = 0; b < Buffers; b++) begin : buffers
    logic [Links-1:0] hits;
    always_comb begin
      returned[b] = '0;
      for (int unsigned k = 0; k < Links; k++) begin
        hits[k] = credit_valid_i[k] && 32'(credit_i[k].link) == b / Classes && 32'(credit_i[k].route_class) == b % Classes;
        if (hits[k]) returned[b] |= CountWidth'(credit_i[k].count);
      end
    end
`ifndef SYNTHESIS
    // The routers send a buffer's credits along one path, and a link receives at most one per cycle.
    always_ff @(posedge clk_i) if (!rst_i) one_path : assert ($onehot0(hits));
`endif
  end

  for (genvar p = 0; p < Lanes; p++) begin : lanes
    localparam int unsigned Own = links_of(p, Lanes, Links) * Classes;

    logic [Own-1:0] requests, choice;
    always_comb for (int unsigned i = 0; i < Own; i++) requests[i] = due[buffer_of(p, Lanes, Classes, i)];
    tw_arbiter #(
        .Inputs(Own)
    ) arbiter (
        .clk_i,
        .rst_i,
        .request_i     (requests),
        .served_i      (single_valid_o[p] && single_ready_i[p]),
        .grant_o       (choice),
        .winner_valid_o(single_valid_o[p]),
        .winner_index_o()
    );

    relay_credit_t credit;
    always_comb begin
      credit = relay_credit_empty();
      credit.last = 1'b1;
      single_vc_o[p] = '0;
      for (int unsigned i = 0; i < Own; i++) begin
        if (choice[i]) begin
          credit.destination |= peers_i[buffer_of(p, Lanes, Classes, i)/Classes].node;
          credit.edge_ |= peers_i[buffer_of(p, Lanes, Classes, i)/Classes].edge_;
          credit.count |= 32'(unreturned_q[buffer_of(p, Lanes, Classes, i)]);
          credit.link |= peers_i[buffer_of(p, Lanes, Classes, i)/Classes].port;
          credit.route_class |= 8'(buffer_of(p, Lanes, Classes, i) % Classes);
          single_vc_o[p] |= peers_i[buffer_of(p, Lanes, Classes, i)/Classes].vc;
        end
      end
    end
    assign single_data_o[p] = credit;

    for (genvar i = 0; i < Own; i++) begin : own
      localparam int unsigned B = buffer_of(p, Lanes, Classes, i);
      wire consumes = consume_valid_i[p] && 32'(consume_buffer_i[p]) == B;
      wire sends = choice[i] && single_ready_i[p];
      always_ff @(posedge clk_i) begin
        credits_q[B] <= credits_q[B] + returned[B] - (consumes ? CountWidth'(8'd1 << consume_size_i[p]) : '0);
        unreturned_q[B] <= (sends ? '0 : unreturned_q[B]) + freed_i[B];
        if (rst_i) begin
          credits_q[B] <= CountWidth'(Flits);
          unreturned_q[B] <= '0;
        end
      end
`ifndef SYNTHESIS
      always_ff @(posedge clk_i) begin
        if (!rst_i) room_exists : assert (32'(credits_q[B]) <= Flits && 32'(unreturned_q[B]) <= Flits);
      end
`endif
    end
  end

`ifndef SYNTHESIS
  for (genvar l = 0; l < Links; l++) begin : links
    always_ff @(posedge clk_i) begin
      if (!rst_i && credit_valid_i[l])
        credit_has_buffer : assert (32'(credit_i[l].link) < Links && 32'(credit_i[l].route_class) < Classes);
    end
  end
`endif
endmodule
