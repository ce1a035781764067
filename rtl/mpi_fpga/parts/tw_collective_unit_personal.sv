// SPDX-License-Identifier: Apache-2.0
// All-to-alls of a collective unit: selects their packets among those from the links, and passes them to the relay,
// whose lanes are the first local ports.
//
// Order: that of tw_relay. Latency: that of tw_relay. Throughput: a flit per cycle for each link and port. Storage:
// that of tw_relay, and one bit per virtual channel of a link. own_ready_o depends on own_valid_i and src_ready_i, the
// other outputs as in tw_relay. Critical path: that of tw_relay.
module tw_collective_unit_personal
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Ports = 6,
    parameter int unsigned Classes = 2,
    parameter int unsigned Nodes = 64,
    parameter int unsigned Flits = 1024,
    parameter int unsigned Vcs = 4,
    parameter int unsigned RoomBits = 9
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] self_i,

    input logic         table_valid_i,
    input logic [15:0]  table_index_i,
    input route_entry_t table_entry_i,
    input logic [3:0]   table_layer_i,
    input logic         peer_valid_i,
    input logic [5:0]   peer_link_i,
    input logic [15:0]  peer_node_i,
    input logic [7:0]   peer_port_i,
    input logic [3:0]   peer_vc_i,

    input logic  [Links-1:0] in_valid_i,  /// flits of all collectives
    input flit_t [Links-1:0] in_flit_i,

    input  logic [Ports-1:0]        own_valid_i,
    input  logic [Ports-1:0][255:0] own_data_i,
    input  logic [Ports-1:0]        own_last_i,
    output logic [Ports-1:0]        own_ready_o,  /// the word is sent in this cycle

    output logic [Ports-1:0]        src_valid_o,
    input  logic [Ports-1:0]        src_ready_i,
    output logic [Ports-1:0][255:0] src_data_o,
    output logic [Ports-1:0]        src_last_o,
    output logic [Ports-1:0][3:0]   src_vc_o,

    output logic [Ports-1:0]        single_valid_o,
    input  logic [Ports-1:0]        single_ready_i,
    output logic [Ports-1:0][255:0] single_data_o,
    output logic [Ports-1:0][3:0]   single_vc_o,

    input  logic [Ports-1:0][RoomBits-1:0] host_room_i,
    output logic [Ports-1:0]               host_valid_o,
    output logic [Ports-1:0][255:0]        host_data_o,
    output logic [Ports-1:0]               host_last_o,

    output logic [Links-1:0]       announce_valid_o,
    output logic [Links-1:0][4:0]  announce_context_o,
    output logic [Links-1:0][1:0]  announce_sequence_o,
    output logic [Links-1:0][15:0] announce_source_o
);
  localparam int unsigned Lanes = Ports < Links ? Ports : Links;
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;

  logic [Links-1:0] arrives;
  for (genvar l = 0; l < Links; l++) begin : links
    logic [Vcs-1:0] relays_q;  // the packet arriving on a channel is of an all-to-all
    // verilator lint_off UNUSEDSIGNAL
    wire network_header_t header = network_header_t'(in_flit_i[l].data[47:0]);
    // verilator lint_on UNUSEDSIGNAL
    wire relays = in_flit_i[l].head ? header.collective == CollectiveAlltoall : relays_q[VcWidth'(in_flit_i[l].vc)];
    assign arrives[l] = in_valid_i[l] && relays;
    always_ff @(posedge clk_i) if (in_valid_i[l]) relays_q[VcWidth'(in_flit_i[l].vc)] <= relays;
  end

  logic [Ports-1:0] own_grant;
  assign own_ready_o = own_grant & src_ready_i & own_valid_i;

  tw_relay #(
      .Links(Links),
      .Lanes(Lanes),
      .Classes(Classes),
      .Nodes(Nodes),
      .Flits(Flits),
      .Vcs(Vcs),
      .RoomBits(RoomBits)
  ) relay (
      .clk_i,
      .rst_i,
      .self_i,
      .table_valid_i,
      .table_index_i,
      .table_entry_i,
      .table_layer_i,
      .peer_valid_i,
      .peer_link_i,
      .peer_node_i,
      .peer_port_i,
      .peer_vc_i,
      .in_valid_i    (arrives),
      .in_flit_i,
      .own_valid_i   (own_valid_i[Lanes-1:0]),
      .own_data_i    (own_data_i[Lanes-1:0]),
      .own_last_i    (own_last_i[Lanes-1:0]),
      .own_grant_o   (own_grant[Lanes-1:0]),
      .src_valid_o   (src_valid_o[Lanes-1:0]),
      .src_ready_i   (src_ready_i[Lanes-1:0]),
      .src_data_o    (src_data_o[Lanes-1:0]),
      .src_last_o    (src_last_o[Lanes-1:0]),
      .src_vc_o      (src_vc_o[Lanes-1:0]),
      .single_valid_o(single_valid_o[Lanes-1:0]),
      .single_ready_i(single_ready_i[Lanes-1:0]),
      .single_data_o (single_data_o[Lanes-1:0]),
      .single_vc_o   (single_vc_o[Lanes-1:0]),
      .host_room_i   (host_room_i[Lanes-1:0]),
      .host_valid_o  (host_valid_o[Lanes-1:0]),
      .host_data_o   (host_data_o[Lanes-1:0]),
      .host_last_o   (host_last_o[Lanes-1:0]),
      .announce_valid_o,
      .announce_context_o,
      .announce_sequence_o,
      .announce_source_o
  );

  for (genvar p = Lanes; p < Ports; p++) begin : no_lane
    assign own_grant[p] = 1'b0;
    assign src_valid_o[p] = 1'b0;
    assign src_data_o[p] = '0;
    assign src_last_o[p] = 1'b0;
    assign src_vc_o[p] = '0;
    assign single_valid_o[p] = 1'b0;
    assign single_data_o[p] = '0;
    assign single_vc_o[p] = '0;
    assign host_valid_o[p] = 1'b0;
    assign host_data_o[p] = '0;
    assign host_last_o[p] = 1'b0;
  end
endmodule
