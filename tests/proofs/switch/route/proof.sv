// SPDX-License-Identifier: Apache-2.0
module route_proof
  import tw_network_pkg::*;
#(
    parameter int unsigned LinkPorts = 4,
    parameter int unsigned LocalPorts = 1,
    parameter int unsigned Vcs = 4,
    parameter int unsigned Nodes = 16,
    parameter int unsigned MessageClasses = 2,
    parameter int unsigned RouteClasses = 2,
    parameter logic [MessageClasses*RouteClasses*Vcs-1:0] VcMask = 16'b1100_0011_1100_0011,
    localparam int unsigned IndexWidth = Nodes > 1 ? $clog2(Nodes) : 1,
    localparam bit Ejects = LocalPorts > 1
) (
    input logic         clk_i,
    input logic         rst_i,
    input logic [ 15:0] node_i,
    input logic [ 15:0] watched_i,
    input logic         table_valid_i,
    input logic [ 15:0] table_index_i,
    input logic         table_reachable_i,
    input route_entry_t table_entry_i,
    input logic         for_unit_i,
    input logic [  3:0] vc_i
);
  // The table of an arbitrary node, and an arbitrary destination in it.
  logic [15:0] self_q, watched_q;
  logic reachable_q;
  route_entry_t entry_q;

  always_ff @(posedge clk_i) begin
    if (table_valid_i && table_index_i == watched_q) entry_q <= table_entry_i;
    if (rst_i) begin
      self_q <= node_i;
      watched_q <= watched_i;
      reachable_q <= 1'b0;
    end else if (table_valid_i && table_index_i == watched_q) begin
      reachable_q <= table_reachable_i;
    end
  end

  tw_reset_first surroundings (.*);

  logic [5:0] port;
  logic [Vcs-1:0] channels;
  logic sinks;

  tw_route #(
      .LinkPorts(LinkPorts),
      .LocalPorts(LocalPorts),
      .Vcs(Vcs),
      .Nodes(Nodes),
      .MessageClasses(MessageClasses),
      .RouteClasses(RouteClasses),
      .VcMask(VcMask),
      .Lookups(1)
  ) route (
      .self_i(self_q),
      .destination_i(watched_q),
      .port_o(port),
      .channels_o(channels),
      .sinks_o(sinks),
      .*
  );

  // The masks of the packet's message class, and the first of them that contains its virtual channel.
  logic [RouteClasses-1:0][Vcs-1:0] masks;
  logic [Vcs-1:0] own, any;

  always_comb begin
    masks = MessageClasses > 1 && for_unit_i ? (RouteClasses * Vcs)'(VcMask >> (RouteClasses * Vcs)) :
        (RouteClasses * Vcs)'(VcMask);
    own = masks[0];
    any = '0;
    for (int r = RouteClasses - 1; r >= 0; r--) begin
      if (1'(masks[r] >> vc_i)) own = masks[r];
      any |= masks[r];
    end
  end

  wire here = watched_q == self_q;
  wire elsewhere = !here && reachable_q;
  wire [Vcs-1:0] told = Vcs'(masks >> (32'(entry_q.route_class) * Vcs));

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      lemma_known : assert (32'(watched_q) >= Nodes || route.known_q[IndexWidth'(watched_q)] == reachable_q);
      lemma_entry : assert (!reachable_q || (32'(watched_q) < Nodes &&
          route.entries_q[IndexWidth'(watched_q)] == entry_q));
      as_the_table_says : assert (!elsewhere || (port == entry_q.port &&
          sinks == (Ejects && for_unit_i && entry_q.last_link)));
      class_as_configured : assert (!elsewhere || entry_q.keep_class || channels == told);
      class_kept : assert (!elsewhere || !entry_q.keep_class || channels == own);
      host_at_home : assert (!here || (!sinks && (Ejects && for_unit_i ? channels == '0 :
          port == 6'(LinkPorts) && channels == any)));
      unreachable_goes_nowhere : assert (here || reachable_q || (channels == '0 && !sinks));
      port_is_there : assert (channels == '0 || 32'(port) <= LinkPorts);
      within_masks : assert ((channels & ~any) == '0);
      sinks_behind_links : assert (!sinks || 32'(port) < LinkPorts);
      far_away : cover (elsewhere && channels != '0);
      at_home : cover (here && channels != '0);
    end
  end
endmodule
