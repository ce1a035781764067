// SPDX-License-Identifier: Apache-2.0
// Route computation: a node's row of the routing table, and the virtual-channel masks.
//
// Lookups are independent of each other; the table is written one entry per cycle, visible in the next cycle. After
// reset no destination is reachable. A packet without a route gets no virtual channel; neither does one for the node's
// own unit, if it has one, since tw_vc_router ejects arriving packets for it.
//
// Order: each lookup by itself. Latency: none, lookups are combinational. Throughput: Lookups per cycle. Storage: Nodes
// entries, with Lookups read ports. Critical path: from destination_i through its entry and the mask that the entry
// selects to channels_o.
module tw_route
  import tw_network_pkg::*;
#(
    parameter int unsigned LinkPorts      = 4,  /// ports 0 .. LinkPorts-1
    parameter int unsigned LocalPorts     = 1,  /// then the host's; more than 1: nodes also have units
    parameter int unsigned Vcs            = 4,  /// virtual channels per port
    parameter int unsigned Nodes          = 64, /// destinations in the table
    parameter int unsigned MessageClasses = 2,  /// 2: packets for units have their own masks
    parameter int unsigned RouteClasses   = 2,
    /// [message class][route class]: the virtual channels that a packet may take
    parameter logic [MessageClasses*RouteClasses*Vcs-1:0] VcMask = 16'b1100_0011_1100_0011,
    parameter int unsigned Lookups        = 1
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] self_i,  /// index of this node, constant

    input logic         table_valid_i,
    input logic [15:0]  table_index_i,  /// below Nodes
    input logic         table_reachable_i,  /// whether the entry's destination is reachable
    input route_entry_t table_entry_i,

    input  logic [Lookups-1:0][15:0]    destination_i,
    input  logic [Lookups-1:0]          for_unit_i,    /// the packet is for a node's unit
    input  logic [Lookups-1:0][3:0]     vc_i,          /// virtual channel on which it arrived
    output logic [Lookups-1:0][5:0]     port_o,
    output logic [Lookups-1:0][Vcs-1:0] channels_o,    /// virtual channels that it may take there
    output logic [Lookups-1:0]          sinks_o        /// the next router ejects it: it needs no credit
);
  if (LinkPorts + LocalPorts > 64 || LocalPorts < 1) begin : check_ports
    $error("tw_route: 1 local port at least, 64 ports at most");
  end
  if (Vcs < 1 || Vcs > 16) begin : check_vcs
    $error("tw_route: 1 to 16 virtual channels");
  end
  if (MessageClasses < 1 || MessageClasses > 2 || RouteClasses < 1 || RouteClasses > 16) begin : check_classes
    $error("tw_route: 1 or 2 message classes, 1 to 16 route classes");
  end
  if (Nodes < 1 || Nodes > 65536) begin : check_nodes
    $error("tw_route: 1 to 65536 nodes");
  end

  localparam int unsigned IndexWidth = Nodes > 1 ? $clog2(Nodes) : 1;
  localparam bit Ejects = LocalPorts > 1;

  function automatic logic [Vcs-1:0] mask(int unsigned message_class, int unsigned route_class);
    return VcMask[(message_class*RouteClasses+route_class)*Vcs+:Vcs];
  endfunction

  // To the host's port, the route class does not matter.
  function automatic logic [Vcs-1:0] mask_of_all(int unsigned message_class);
    mask_of_all = '0;
    for (int unsigned i = 0; i < RouteClasses; i++) mask_of_all |= mask(message_class, i);
  endfunction

  // The first route class that may use the virtual channel.
  function automatic logic [3:0] class_of(int unsigned message_class, logic [3:0] vc);
    class_of = '0;
    for (int unsigned i = RouteClasses; i > 0; i--) begin
      if (1'(mask(message_class, i - 1) >> vc)) class_of = 4'(i - 1);
    end
  endfunction

  // One copy per lookup in distributed memory takes fewer LUTs than a multiplexer of registers per lookup.
  (* ram_style = "distributed" *) route_entry_t entries_q[Nodes];
  logic [Nodes-1:0] known_q;

  always_ff @(posedge clk_i) begin
    if (table_valid_i) entries_q[IndexWidth'(table_index_i)] <= table_entry_i;
    if (rst_i) known_q <= '0;
    else if (table_valid_i) known_q[IndexWidth'(table_index_i)] <= table_reachable_i;
  end

  for (genvar l = 0; l < Lookups; l++) begin : lookup
    wire in_table = 32'(destination_i[l]) < Nodes && known_q[IndexWidth'(destination_i[l])];
    wire route_entry_t entry = entries_q[IndexWidth'(destination_i[l])];
    wire [31:0] message_class = MessageClasses > 1 ? 32'(for_unit_i[l]) : 0;
    wire [3:0] route_class = entry.keep_class ? class_of(message_class, vc_i[l]) : entry.route_class;

    always_comb begin
      port_o[l] = '0;
      channels_o[l] = '0;
      sinks_o[l] = 1'b0;
      if (destination_i[l] == self_i) begin
        if (!Ejects || !for_unit_i[l]) begin
          port_o[l] = 6'(LinkPorts);
          channels_o[l] = mask_of_all(message_class);
        end
      end else if (in_table) begin
        port_o[l] = entry.port;
        channels_o[l] = mask(message_class, 32'(route_class));
        sinks_o[l] = Ejects && for_unit_i[l] && entry.last_link;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && table_valid_i) index_in_table : assert (32'(table_index_i) < Nodes);
    if (!rst_i && table_valid_i && table_reachable_i) begin
      class_exists : assert (table_entry_i.keep_class || 32'(table_entry_i.route_class) < RouteClasses);
      port_exists : assert (32'(table_entry_i.port) < LinkPorts + 32'(!table_entry_i.last_link));
    end
  end
`endif
endmodule
