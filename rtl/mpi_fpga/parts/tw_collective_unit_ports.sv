// SPDX-License-Identifier: Apache-2.0
// The local ports of a collective unit, each with an injector. A port sends the units' results for its edges, the
// packets of a lane of the relay, and credits.
//
// Order: that of each source. Latency: that of tw_injector. Throughput: a flit per cycle for each port. Storage: that
// of the injectors. out_* depends only on registers, the other outputs on the sources. Critical path: that of
// tw_injector.
module tw_collective_unit_ports
  import tw_network_pkg::*;
#(
    parameter int unsigned Ports = 6,         /// edge k is sent by port k modulo Ports
    parameter int unsigned Units = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Edges = 6,
    parameter int unsigned Vcs = 4,
    parameter bit Credits = 1'b1,
    parameter int unsigned PeerFlits = 16,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 edge_valid_i,
    input logic [RowWidth-1:0]  edge_row_i,
    input logic [EdgeWidth-1:0] edge_index_i,
    input logic [15:0]          edge_neighbour_i,
    input logic [4:0]           edge_there_i,
    input logic [3:0]           edge_vc_i,

    input  logic [Units-1:0][Ports-1:0]               unit_valid_i,
    output logic [Units-1:0][Ports-1:0]               unit_ready_o,
    output logic [Units-1:0][Ports-1:0]               unit_again_o,   /// the packet must be sent to another edge
    input  logic [Units-1:0][Ports-1:0][255:0]        unit_data_i,
    input  logic [Units-1:0][Ports-1:0]               unit_last_i,
    input  logic [Units-1:0][Ports-1:0]               unit_urgent_i,
    input  logic [Units-1:0][Ports-1:0][RowWidth-1:0] unit_row_i,
    input  logic [Units-1:0][Ports-1:0][Edges-1:0]    unit_edges_i,

    input  logic [Ports-1:0]        relay_valid_i,
    output logic [Ports-1:0]        relay_ready_o,
    input  logic [Ports-1:0][255:0] relay_data_i,
    input  logic [Ports-1:0]        relay_last_i,
    input  logic [Ports-1:0][3:0]   relay_vc_i,

    // Credits of slots and of the relay.
    input  logic [Ports-1:0]                credit_valid_i,
    output logic [Ports-1:0]                credit_ready_o,
    input  logic [Ports-1:0][RowWidth-1:0]  credit_row_i,
    input  logic [Ports-1:0][EdgeWidth-1:0] credit_edge_i,
    input  logic [Ports-1:0][15:0]          credit_count_i,
    input  logic [Ports-1:0]                single_valid_i,
    output logic [Ports-1:0]                single_ready_o,
    input  logic [Ports-1:0][255:0]         single_data_i,
    input  logic [Ports-1:0][3:0]           single_vc_i,

    // A packet of a unit has been sent to an edge.
    output logic [Ports-1:0]                left_valid_o,
    output logic [Ports-1:0][UnitWidth-1:0] left_unit_o,
    output logic [Ports-1:0][RowWidth-1:0]  left_row_o,
    output logic [Ports-1:0][EdgeWidth-1:0] left_edge_o,
    output logic [Ports-1:0]                left_done_o,   /// to the last of its edges at the port

    output logic  [Ports-1:0]          out_valid_o,
    output flit_t [Ports-1:0]          out_flit_o,
    input  logic  [Ports-1:0][Vcs-1:0] out_back_i
);
  for (genvar p = 0; p < Ports; p++) begin : ports
    logic [Units:0] valid, ready, more, lasts, urgent;
    logic [Units:0][255:0] data;
    logic [Units:0][RowWidth-1:0] row;
    logic [Units:0][Edges-1:0] edges;
    logic [Units:0][3:0] vc;
    logic [Edges-1:0] own;
    for (genvar k = 0; k < Edges; k++) begin : edge_
      assign own[k] = k % Ports == p;
    end

    always_comb begin
      for (int unsigned u = 0; u < Units; u++) begin
        valid[u] = unit_valid_i[u][p];
        data[u] = unit_data_i[u][p];
        lasts[u] = unit_last_i[u][p];
        urgent[u] = unit_urgent_i[u][p];
        row[u] = unit_row_i[u][p];
        edges[u] = unit_edges_i[u][p] & own;
        vc[u] = '0;
      end
      valid[Units] = relay_valid_i[p];
      data[Units] = relay_data_i[p];
      lasts[Units] = relay_last_i[p];
      urgent[Units] = 1'b0;
      row[Units] = '0;
      edges[Units] = '0;
      vc[Units] = relay_vc_i[p];
    end
    for (genvar u = 0; u < Units; u++) begin : units
      assign unit_ready_o[u][p] = ready[u];
      assign unit_again_o[u][p] = more[u];
    end
    assign relay_ready_o[p] = ready[Units];

    tw_injector #(
        .Sources(Units + 1),
        .Rows(Rows),
        .Edges(Edges),
        .Vcs(Vcs),
        .Credits(Credits),
        .PeerFlits(PeerFlits)
    ) injector (
        .clk_i,
        .rst_i,
        .edge_valid_i,
        .edge_row_i,
        .edge_index_i,
        .edge_neighbour_i,
        .edge_there_i,
        .edge_vc_i,
        .credit_valid_i(credit_valid_i[p]),
        .credit_ready_o(credit_ready_o[p]),
        .credit_row_i  (credit_row_i[p]),
        .credit_edge_i (credit_edge_i[p]),
        .credit_count_i(credit_count_i[p]),
        .single_valid_i(single_valid_i[p]),
        .single_ready_o(single_ready_o[p]),
        .single_data_i (single_data_i[p]),
        .single_vc_i   (single_vc_i[p]),
        .src_valid_i   (valid),
        .src_ready_o   (ready),
        .src_again_o   (more),
        .src_edge_o    (left_edge_o[p]),
        .src_data_i    (data),
        .src_last_i    (lasts),
        .src_urgent_i  (urgent),
        .src_row_i     (row),
        .src_edges_i   (edges),
        .src_vc_i      (vc),
        .out_valid_o   (out_valid_o[p]),
        .out_flit_o    (out_flit_o[p]),
        .out_back_i    (out_back_i[p])
    );

    wire [Units:0] sends = valid & ready & lasts;
    always_comb begin
      left_valid_o[p] = sends[Units-1:0] != '0;
      left_unit_o[p] = '0;
      left_row_o[p] = '0;
      left_done_o[p] = 1'b0;
      for (int unsigned u = 0; u < Units; u++) begin
        if (sends[u]) begin
          left_unit_o[p] |= UnitWidth'(u);
          left_row_o[p] |= row[u];
          left_done_o[p] |= !more[u];
        end
      end
    end
  end
endmodule
