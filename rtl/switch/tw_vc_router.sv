// SPDX-License-Identifier: Apache-2.0
// Wormhole router with virtual channels.
//
// Four stages, one cycle each: route computation, virtual-channel allocation, switch allocation, switch traversal; then
// the output register. Both allocators are separable and round-robin; a pointer moves only when its grant is used. All
// outputs are registers.
//
// Order: kept within an input channel and within an output channel; flits of packets do not interleave on an output
// channel. Latency: through an idle channel five cycles to the output register. Throughput: a flit per cycle and port.
// Storage: BufferFlits (LocalBufferFlits) flits per channel, two registers per port, one per link. Critical path: from
// a channel's credits through the selection of a channel in each input and of an input at each output to the channel
// that a packet's last flit frees.
//
// Ports 0 .. LinkPorts-1 are links, followed by the host's port, then those of a unit beside the router, which only
// sends. Packets for that unit from a link are ejected there: their flits are in the register to the unit in the next
// cycle, and pass neither buffers nor stages. The unit always accepts them, so their sender needs no credit and gets
// none back. A packet without a route is dropped, one flit per turn of its input port, and counted; its credits are
// returned as usual. in_back_o and out_back_i are those of tw_flow: credits or stop bits. The table is loaded before
// the first packet arrives.
module tw_vc_router
  import tw_network_pkg::*;
#(
    parameter int unsigned LinkPorts        = 4,
    parameter int unsigned LocalPorts       = 1,     /// 1: only the host's, and nothing is ejected
    parameter int unsigned Vcs              = 4,     /// virtual channels of every port
    parameter int unsigned BufferFlits      = 8,     /// per virtual channel of a link port
    parameter int unsigned LocalBufferFlits = 8,     /// and of a local port
    parameter bit          Credits          = 1'b1,  /// flow control by credits; otherwise by stop bits
    parameter int unsigned MarginFlits      = 3,     /// free space at which a link's sender is stopped
    parameter int unsigned LocalMarginFlits = 3,     /// and a local port's
    parameter int unsigned RateFlits        = 1,     /// a link takes at most RateFlits in any RateCycles cycles
    parameter int unsigned RateCycles       = 1,
    parameter int unsigned PeerFlits        = 8,     /// buffer at the other end of a link port; with credits
    parameter int unsigned LocalPeerFlits   = 8,     /// and of the host's port
    parameter int unsigned Nodes            = 64,    /// entries of the table
    parameter int unsigned MessageClasses   = 2,     /// see tw_route
    parameter int unsigned RouteClasses     = 2,
    parameter logic [MessageClasses*RouteClasses*Vcs-1:0] VcMask = 16'b1100_0011_1100_0011,
    parameter int unsigned DestinationLsb   = 0,     /// in a header's first word, 16 bits wide
    parameter logic [63:0] UnitMask         = 64'h1_0000,  /// header bits of which one is set in packets for a node's unit
    localparam int unsigned Inputs  = LinkPorts + LocalPorts,
    localparam int unsigned Outputs = LinkPorts + 1
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] self_i,  /// index of this node, constant

    input logic         table_valid_i,
    input logic [15:0]  table_index_i,
    input logic         table_reachable_i,
    input route_entry_t table_entry_i,

    input  logic  [Inputs-1:0]          in_valid_i,
    input  flit_t [Inputs-1:0]          in_flit_i,
    output logic  [Inputs-1:0][Vcs-1:0] in_back_o,

    output logic  [Outputs-1:0]          out_valid_o,
    output flit_t [Outputs-1:0]          out_flit_o,
    input  logic  [Outputs-1:0][Vcs-1:0] out_back_i,
    input  logic  [LinkPorts-1:0]        out_ready_i,  /// a flit may be granted; two more may follow after it falls

    output logic  [LinkPorts-1:0] eject_valid_o,  /// per channel, flits of whole packets in order
    output flit_t [LinkPorts-1:0] eject_flit_o,

    output logic [31:0] unrouted_o  /// dropped flits of packets without a route; wraps
);
  // Channels are numbered port * Vcs + virtual channel.
  localparam int unsigned InChannels = Inputs * Vcs;
  localparam int unsigned OutChannels = Outputs * Vcs;
  localparam int unsigned InWidth = Inputs > 1 ? $clog2(Inputs) : 1;
  localparam int unsigned OutWidth = Outputs > 1 ? $clog2(Outputs) : 1;
  localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1;
  localparam int unsigned InChannelWidth = InChannels > 1 ? $clog2(InChannels) : 1;
  localparam int unsigned OutChannelWidth = OutChannels > 1 ? $clog2(OutChannels) : 1;

  typedef struct packed {
    logic [255:0] data;
    logic         head;
    logic         tail;
  } stored_t;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [15:0] destination_of(logic [63:0] header);
    return header[DestinationLsb+:16];
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  function automatic logic is_for_unit(logic [63:0] header);
    return |(header & UnitMask);
  endfunction

  function automatic logic [OutChannelWidth-1:0] channel(logic [OutWidth-1:0] port, logic [VcWidth-1:0] vc);
    return OutChannelWidth'(32'(port) * Vcs + 32'(vc));
  endfunction

  // Input channels: allocation state of the packet at the head. One without state computes its route.
  logic [InChannels-1:0] occupied, waiting_q, active_q;
  logic [OutWidth-1:0] output_port_q[InChannels];
  logic [VcWidth-1:0] output_vc_q[InChannels];
  logic [Vcs-1:0] allowed_q[InChannels];
  logic [InChannels-1:0] sinks_q;  // needs no credit at the link's other end
  logic [InChannels-1:0] push, pop, front_tail;
  logic [InChannels-1:0] lost;  // waiting without an allowed channel: the packet is dropped

  // Output channels, and their links.
  logic [OutChannels-1:0] free_q, ready, send;
  logic [Outputs-1:0] link_ready;

  // --- First stage: route computation

  logic [InChannels-1:0][15:0] destination;
  logic [InChannels-1:0] for_unit, route_sinks;
  logic [InChannels-1:0][3:0] input_vc;
  logic [InChannels-1:0][5:0] route_port;
  logic [InChannels-1:0][Vcs-1:0] route_channels;
  wire [InChannels-1:0] computing = occupied & ~waiting_q & ~active_q;

  tw_route #(
      .LinkPorts(LinkPorts),
      .LocalPorts(LocalPorts),
      .Vcs(Vcs),
      .Nodes(Nodes),
      .MessageClasses(MessageClasses),
      .RouteClasses(RouteClasses),
      .VcMask(VcMask),
      .Lookups(InChannels)
  ) route (
      .clk_i,
      .rst_i,
      .self_i,
      .table_valid_i,
      .table_index_i,
      .table_reachable_i,
      .table_entry_i,
      .destination_i(destination),
      .for_unit_i(for_unit),
      .vc_i(input_vc),
      .port_o(route_port),
      .channels_o(route_channels),
      .sinks_o(route_sinks)
  );

  // --- Second stage: each waiting channel requests one free output channel, which grants one request

  logic [Vcs-1:0] wanted_vc[InChannels];  // one-hot
  logic [VcWidth-1:0] wanted_index[InChannels];
  logic [InChannels-1:0] allocated[OutChannels];  // to which input channel, one-hot
  logic [OutChannels-1:0] taken;
  logic [InChannels-1:0] won;

  for (genvar i = 0; i < InChannels; i++) begin : choose_channel
    wire [Vcs-1:0] candidates = free_q[channel(output_port_q[i], 0)+:Vcs] & allowed_q[i];

    tw_arbiter #(
        .Inputs(Vcs)
    ) arbiter (
        .clk_i,
        .rst_i,
        .request_i(waiting_q[i] ? candidates : '0),
        .served_i(won[i]),
        .grant_o(wanted_vc[i]),
        .winner_valid_o(),
        .winner_index_o(wanted_index[i])
    );
  end

  for (genvar o = 0; o < OutChannels; o++) begin : choose_input
    logic [InChannels-1:0] requests;

    always_comb begin
      for (int unsigned i = 0; i < InChannels; i++) begin
        requests[i] = output_port_q[i] == OutWidth'(o / Vcs) && wanted_vc[i][o%Vcs];
      end
    end

    tw_arbiter #(
        .Inputs(InChannels)
    ) arbiter (
        .clk_i,
        .rst_i,
        .request_i(requests),
        .served_i(taken[o]),
        .grant_o(allocated[o]),
        .winner_valid_o(taken[o]),
        .winner_index_o()
    );
  end

  always_comb begin
    won = '0;
    for (int unsigned o = 0; o < OutChannels; o++) won |= allocated[o];
  end

  // --- Third stage: each input port offers one channel, each output port grants one of the offers

  logic [Inputs-1:0] offered, granted, drops;
  logic [VcWidth-1:0] offered_vc[Inputs];
  logic [OutWidth-1:0] offered_to[Inputs];
  logic [Inputs-1:0] switched[Outputs];  // to which input port, one-hot
  logic [Outputs-1:0] crossing;
  logic [InWidth-1:0] crossing_from[Outputs];

  always_comb begin
    granted = drops;
    for (int unsigned o = 0; o < Outputs; o++) granted |= switched[o];
  end

  for (genvar o = 0; o < Outputs; o++) begin : choose_port
    logic [Inputs-1:0] requests;

    always_comb begin
      for (int unsigned p = 0; p < Inputs; p++) requests[p] = offered[p] && !drops[p] && offered_to[p] == OutWidth'(o);
    end

    tw_arbiter #(
        .Inputs(Inputs)
    ) arbiter (
        .clk_i,
        .rst_i,
        .request_i(requests),
        .served_i(crossing[o]),
        .grant_o(switched[o]),
        .winner_valid_o(crossing[o]),
        .winner_index_o(crossing_from[o])
    );
  end

  // --- Input ports, with the registers between the third and the fourth stage

  flit_t leaving_q[Inputs];

  for (genvar p = 0; p < Inputs; p++) begin : input_port
    localparam int unsigned Depth = p < LinkPorts ? BufferFlits : LocalBufferFlits;
    stored_t front[Vcs];
    logic [Vcs-1:0] sendable;
    logic ejects;

    if (p < LinkPorts && LocalPorts > 1) begin : ejection
      logic [Vcs-1:0] ejecting_q;  // the rest of the packet is ejected

      assign ejects = in_flit_i[p].head ?
          destination_of(in_flit_i[p].data[63:0]) == self_i && is_for_unit(in_flit_i[p].data[63:0]) :
          ejecting_q[VcWidth'(in_flit_i[p].vc)];

      always_ff @(posedge clk_i) begin
        eject_flit_o[p] <= in_flit_i[p];
        if (rst_i) begin
          ejecting_q <= '0;
          eject_valid_o[p] <= 1'b0;
        end else begin
          eject_valid_o[p] <= in_valid_i[p] && ejects;
          if (in_valid_i[p]) ejecting_q[VcWidth'(in_flit_i[p].vc)] <= ejects && !in_flit_i[p].tail;
        end
      end
    end else begin : no_ejection
      assign ejects = 1'b0;
      if (p < LinkPorts) begin : nothing
        assign eject_valid_o[p] = 1'b0;
        assign eject_flit_o[p] = '0;
      end
    end

    for (genvar v = 0; v < Vcs; v++) begin : vc
      localparam int unsigned I = p * Vcs + v;
      wire fifo_ready;

      assign push[I] = in_valid_i[p] && in_flit_i[p].vc == 4'(v) && !ejects;
      assign pop[I] = granted[p] && offered_vc[p] == VcWidth'(v);
      assign front_tail[I] = front[v].tail;
      assign destination[I] = destination_of(front[v].data[63:0]);
      assign for_unit[I] = is_for_unit(front[v].data[63:0]);
      assign input_vc[I] = 4'(v);
      assign lost[I] = waiting_q[I] && allowed_q[I] == '0;
      assign sendable[v] = occupied[I] && (lost[I] || (active_q[I] && link_ready[output_port_q[I]] &&
          (sinks_q[I] || ready[channel(output_port_q[I], output_vc_q[I])])));

      tw_fifo #(
          .Width($bits(stored_t)),
          .Depth(Depth)
      ) buffer (
          .clk_i,
          .rst_i,
          .in_valid_i(push[I]),
          .in_ready_o(fifo_ready),
          .in_data_i({in_flit_i[p].data, in_flit_i[p].head, in_flit_i[p].tail}),
          .out_valid_o(occupied[I]),
          .out_ready_i(pop[I]),
          .out_data_o(front[v]),
          .count_o()
      );

`ifndef SYNTHESIS
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          buffer_has_room : assert (!push[I] || fifo_ready);
          packet_starts_with_head : assert (!computing[I] || front[v].head);
        end
      end
`endif
    end

    tw_arbiter #(
        .Inputs(Vcs)
    ) arbiter (
        .clk_i,
        .rst_i,
        .request_i(sendable),
        .served_i(granted[p]),
        .grant_o(),
        .winner_valid_o(offered[p]),
        .winner_index_o(offered_vc[p])
    );

    wire [InChannelWidth-1:0] offered_channel = InChannelWidth'(p * Vcs + 32'(offered_vc[p]));
    wire stored_t offered_flit = front[offered_vc[p]];

    assign offered_to[p] = output_port_q[offered_channel];
    assign drops[p] = offered[p] && lost[offered_channel];

    always_ff @(posedge clk_i) begin
      leaving_q[p] <= {offered_flit.data, 4'(output_vc_q[offered_channel]), offered_flit.head, offered_flit.tail};
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (!rst_i) vc_exists : assert (!in_valid_i[p] || 32'(in_flit_i[p].vc) < Vcs);
    end
`endif
  end

  // --- State of the channels

  logic [OutChannels-1:0] freed;

  always_comb begin
    send  = '0;
    freed = '0;
    for (int unsigned i = 0; i < InChannels; i++) begin
      if (pop[i] && !lost[i]) begin
        if (!sinks_q[i]) send[channel(output_port_q[i], output_vc_q[i])] = 1'b1;
        if (front_tail[i]) freed[channel(output_port_q[i], output_vc_q[i])] = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < InChannels; i++) begin
      if (computing[i]) begin
        output_port_q[i] <= OutWidth'(route_port[i]);
        allowed_q[i] <= route_channels[i];
        sinks_q[i] <= route_sinks[i];
      end
      if (won[i]) output_vc_q[i] <= wanted_index[i];
    end
    if (rst_i) begin
      waiting_q <= '0;
      active_q <= '0;
      free_q <= '1;
    end else begin
      waiting_q <= (waiting_q | computing) & ~won & ~(pop & front_tail);
      active_q <= (active_q | won) & ~(pop & front_tail);
      free_q <= (free_q & ~taken) | freed;
    end
  end

  logic [31:0] unrouted_q;

  assign unrouted_o = unrouted_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) unrouted_q <= 0;
    else unrouted_q <= unrouted_q + 32'($countones(drops));
  end

  for (genvar c = 0; c < InChannels; c++) begin : flow
    localparam bit Sends = c < OutChannels;
    // verilator lint_off UNUSEDSIGNAL
    logic channel_ready;  // unused if the port only receives
    // verilator lint_on UNUSEDSIGNAL
    if (Sends) begin : sender
      assign ready[c] = channel_ready;
    end

    tw_flow #(
        .Credits(Credits),
        .Depth(c / Vcs < LinkPorts ? BufferFlits : LocalBufferFlits),
        .PeerDepth(c / Vcs < LinkPorts ? PeerFlits : LocalPeerFlits),
        .MarginFlits(c / Vcs < LinkPorts ? MarginFlits : LocalMarginFlits)
    ) flow (
        .clk_i,
        .rst_i,
        .ready_o(channel_ready),
        .send_i(Sends ? send[Sends?c : 0] : 1'b0),
        .back_i(Sends ? out_back_i[Sends?c/Vcs : 0][c%Vcs] : 1'b0),
        .push_i(push[c]),
        .pop_i(pop[c]),
        .back_o(in_back_o[c/Vcs][c%Vcs])
    );
  end

  // --- Fourth stage: switch traversal, into the output registers

  logic [Outputs-1:0] crossing_q;
  logic [InWidth-1:0] crossing_from_q[Outputs];

  for (genvar o = 0; o < Outputs; o++) begin : output_port
    wire rate_ready;

    if (o < LinkPorts) begin : link
      assign link_ready[o] = rate_ready && out_ready_i[o];
    end else begin : host
      assign link_ready[o] = rate_ready;
    end

    tw_rate #(
        .Flits (o < LinkPorts ? RateFlits : 1),
        .Cycles(o < LinkPorts ? RateCycles : 1)
    ) rate (
        .clk_i,
        .rst_i,
        .ready_o(rate_ready),
        .send_i(crossing[o])
    );

    always_ff @(posedge clk_i) begin
      crossing_from_q[o] <= crossing_from[o];
      out_flit_o[o] <= leaving_q[crossing_from_q[o]];
      if (rst_i) begin
        crossing_q[o] <= 1'b0;
        out_valid_o[o] <= 1'b0;
      end else begin
        crossing_q[o] <= crossing[o];
        out_valid_o[o] <= crossing_q[o];
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      waiting_or_active : assert ((waiting_q & active_q) == '0);
      freed_was_owned : assert ((freed & free_q) == '0);
      sent_by_active : assert ((pop & ~active_q & ~lost) == '0);
    end
  end
`endif
endmodule
