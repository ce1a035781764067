// SPDX-License-Identifier: Apache-2.0
// The routing table of a relay, and the nodes at the other ends of its links.
//
// Order: none. Latency: a write is visible in the next cycle, a lookup takes no cycle. Throughput: a write per cycle; a
// lookup per cycle for each link and each lane. Storage: an entry and a class per node, a peer per link. next_o and
// first_o depend on the receivers. Critical path: from a receiver through the table's memory to the index of the
// buffer.
module tw_relay_table
  import tw_network_pkg::*, tw_relay_pkg::*;
#(
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,
    parameter int unsigned Classes = 2,
    parameter int unsigned Nodes = 64,
    localparam int unsigned NodeWidth = Nodes > 1 ? $clog2(Nodes) : 1,
    localparam int unsigned BufferWidth = Links * Classes > 1 ? $clog2(Links * Classes) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic         table_valid_i,
    input logic [15:0]  table_index_i,
    input route_entry_t table_entry_i,
    input logic [3:0]   table_layer_i,
    input logic         peer_valid_i,
    input logic [5:0]   peer_link_i,
    input logic [15:0]  peer_node_i,
    input logic [7:0]   peer_port_i,
    input logic [3:0]   peer_vc_i,

    // Next buffer of packets from the links, for the route class of their buffer here.
    input  logic [Links-1:0][NodeWidth-1:0]   next_receiver_i,
    input  logic [Links-1:0][3:0]             next_class_i,
    output logic [Links-1:0][BufferWidth-1:0] next_o,

    // First buffer of the own host's packets.
    input  logic [Lanes-1:0][NodeWidth-1:0]   first_receiver_i,
    output logic [Lanes-1:0][BufferWidth-1:0] first_o,

    output peer_t [Links-1:0] peers_o
);
  localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1;

  (* ram_style = "distributed" *) route_entry_t entries_q[Nodes];
  (* ram_style = "distributed" *) logic [3:0] layers_q[Nodes];
  peer_t [Links-1:0] peers_q;
  assign peers_o = peers_q;

  always_ff @(posedge clk_i) begin
    if (table_valid_i) entries_q[NodeWidth'(table_index_i)] <= table_entry_i;
    if (table_valid_i) layers_q[NodeWidth'(table_index_i)] <= table_layer_i;
    if (peer_valid_i) peers_q[LinkWidth'(peer_link_i)] <= '{peer_node_i, peer_port_i, 5'(32'(peer_port_i) % Lanes), peer_vc_i};
  end

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [BufferWidth-1:0] next_buffer(route_entry_t entry, logic [3:0] route_class);
    return BufferWidth'(32'(entry.port) * Classes + 32'(entry.keep_class ? route_class : entry.route_class));
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  always_comb begin
    for (int unsigned l = 0; l < Links; l++) next_o[l] = next_buffer(entries_q[next_receiver_i[l]], next_class_i[l]);
    for (int unsigned p = 0; p < Lanes; p++)
      first_o[p] = next_buffer(entries_q[first_receiver_i[p]], layers_q[first_receiver_i[p]]);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && table_valid_i) index_in_table : assert (32'(table_index_i) < Nodes);
    if (!rst_i && table_valid_i) port_exists : assert (32'(table_entry_i.port) < Links);
    if (!rst_i && peer_valid_i) link_exists : assert (32'(peer_link_i) < Links);
  end
`endif
endmodule
