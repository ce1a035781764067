// SPDX-License-Identifier: Apache-2.0
// A router between neighbours that respect the credits or the stops and send whole packets, and are otherwise unconstrained.
// With stops, flits still arrive for as many cycles as the margin has flits; a receiver that stops the router has a margin of
// three.
//
// Any one flit is watched, and with it its packet: data bits that the router only stores mark them. A flit that is ejected
// needs no credit, nor does one that sinks: the next router ejects it.
module vc_router_proof
  import tw_network_pkg::*;
#(
    parameter int unsigned LinkPorts = 2,
    parameter int unsigned LocalPorts = 1,
    parameter int unsigned Vcs = 1,
    parameter int unsigned Depth = 2,
    parameter int unsigned PeerDepth = 2,
    parameter bit Credits = 1'b1,
    parameter int unsigned Margin = 1,  // of the router's links
    parameter int unsigned LocalMargin = 0,  // of its local ports
    parameter int unsigned Nodes = 3,
    parameter int unsigned RouteClasses = 1,
    parameter logic [RouteClasses*Vcs-1:0] VcMask = '1,
    localparam int unsigned Inputs = LinkPorts + LocalPorts,
    localparam int unsigned Outputs = LinkPorts + 1,
    localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1,
    localparam int unsigned OutWidth = $clog2(Outputs),
    localparam int unsigned NodeWidth = $clog2(Nodes),
    localparam bit Ejects = LocalPorts > 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic [NodeWidth-1:0] node_i,
    input logic                 table_valid_i,
    input logic [NodeWidth-1:0] table_index_i,
    input logic                 table_reachable_i,
    input route_entry_t         table_entry_i,

    // [input port]: a flit arrives for this channel; it is a tail; fields of a head flit
    input logic [Inputs-1:0]                valid_i,
    input logic [Inputs-1:0][  VcWidth-1:0] vc_i,
    input logic [Inputs-1:0]                tail_i,
    input logic [Inputs-1:0][NodeWidth-1:0] destination_i,
    input logic [Inputs-1:0]                for_unit_i,
    input logic [Inputs-1:0]                payload_i,
    input logic [Inputs-1:0]                watch_i,         // the flit is the watched one
    input logic [Inputs-1:0]                watch_packet_i,  // the packet is the watched one, if this is its head

    input logic [Outputs-1:0][Vcs-1:0] returns_i,  // [output channel]: a flit leaves the receiver's buffer, if it holds one
    input logic [      LinkPorts-1:0] ready_i     // [link]: it accepts flits
);
  // The part of a flit's data that the router only stores. It holds the flit's expected route.
  typedef struct packed {
    logic watched;
    logic payload;
    logic mine;    // of the watched packet
    logic sinks;
    logic lost;    // has no route
    logic [OutWidth-1:0] port;
    logic [1:0] index;  // in its packet, modulo 4
  } tag_t;

  localparam int unsigned TagLow = 256 - $bits(tag_t);

  // A flit as the router stores it, and as the next one of a channel.
  typedef struct packed {
    tag_t tag;
    logic [TagLow-1:0] header;
    logic head;
    logic tail;
  } word_t;

  typedef struct packed {
    logic head;
    tag_t tag;
  } next_t;

  function automatic logic follows(logic open, tag_t last, next_t flit);
    return flit.head == !open && (flit.head ? flit.tag.index == 0 :
        flit.tag.index == 2'(last.index + 1) && {flit.tag.mine, flit.tag.sinks, flit.tag.lost, flit.tag.port} ==
        {last.mine, last.sinks, last.lost, last.port});
  endfunction

  logic [Inputs-1:0] in_valid;
  flit_t [Inputs-1:0] in_flit;
  logic [Inputs-1:0][Vcs-1:0] in_back;
  logic [Outputs-1:0] out_valid;
  flit_t [Outputs-1:0] out_flit;
  logic [Outputs-1:0][Vcs-1:0] out_back;
  logic [LinkPorts-1:0] eject_valid;
  flit_t [LinkPorts-1:0] eject_flit;

  function automatic route_entry_t route_of(logic [NodeWidth-1:0] node);
    return 32'(node) < Nodes ? router.route.entries_q[node] : '0;
  endfunction

  function automatic logic is_lost(logic [NodeWidth-1:0] node, logic here, logic for_unit);
    return here ? Ejects && for_unit : 32'(node) >= Nodes || !router.route.known_q[node];
  endfunction

  logic [NodeWidth-1:0] self_q;
  logic running_q;  // flits have arrived: the table no longer changes

  tw_reset_first surroundings (.*);

  tw_vc_router #(
      .LinkPorts(LinkPorts),
      .LocalPorts(LocalPorts),
      .Vcs(Vcs),
      .BufferFlits(Depth),
      .LocalBufferFlits(Depth),
      .PeerFlits(PeerDepth),
      .LocalPeerFlits(PeerDepth),
      .Credits(Credits),
      .MarginFlits(Credits ? 0 : Margin),
      .LocalMarginFlits(Credits ? 0 : LocalMargin),
      .Nodes(Nodes),
      .MessageClasses(1),
      .RouteClasses(RouteClasses),
      .VcMask(VcMask)
  ) router (
      .self_i(16'(self_q)),
      .table_valid_i(table_valid_i && !running_q && in_valid == '0),
      .table_index_i(16'(table_index_i)),
      .in_valid_i(in_valid),
      .in_flit_i(in_flit),
      .in_back_o(in_back),
      .out_valid_o(out_valid),
      .out_flit_o(out_flit),
      .out_back_i(out_back),
      .out_ready_i(ready_i),
      .eject_valid_o(eject_valid),
      .eject_flit_o(eject_flit),
      .unrouted_o(),
      .*
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      self_q <= node_i;
      running_q <= 1'b0;
    end else if (in_valid != '0) begin
      running_q <= 1'b1;
    end
  end

  for (genvar n = 0; n < Nodes; n++) begin : entry
    wire route_entry_t stored = router.route.entries_q[n];

    always_ff @(posedge clk_i) begin
      if (!rst_i) lemma_class : assert (!router.route.known_q[n] || stored.keep_class || 32'(stored.route_class) < RouteClasses);
    end
  end

  // --- Inputs

  tag_t [Inputs-1:0] in_tag;
  logic [Inputs-1:0] watched_in, ejects;
  logic went_q, came_q, packet_went_q;  // the watched flit went in, came out; the watched packet's head went in
  flit_t watched_q;

  for (genvar p = 0; p < Inputs; p++) begin : source
    logic [Vcs-1:0][3:0] credits_q;
    localparam int unsigned Late = p < LinkPorts ? Margin : LocalMargin;
    logic [Vcs-1:0][Late:0] stops;  // of this cycle, of the cycle before, and so on
    logic [Vcs-1:0][Late:0] stops_q;
    logic [Vcs-1:0] inside_q, ejecting_q;  // a packet with outstanding flits
    tag_t [Vcs-1:0] tag_q;
    logic [16:0] header;

    wire [VcWidth-1:0] vc = Vcs > 1 ? vc_i[p] : 0;
    wire head = !inside_q[vc];
    wire here = destination_i[p] == self_q;
    wire route_entry_t entry = route_of(destination_i[p]);

    assign ejects[p] = Ejects && p < LinkPorts && (head ? here && for_unit_i[p] : ejecting_q[vc]);
    assign in_valid[p] = valid_i[p] && (ejects[p] || (Credits ? credits_q[vc] != 0 : !stops[vc][Late]));
    assign watched_in[p] = in_valid[p] && watch_i[p] && !went_q && (watch_i & in_valid & ((1 << p) - 1)) == 0;

    always_comb begin
      in_tag[p] = tag_q[vc];
      if (head) begin
        in_tag[p].mine = watch_packet_i[p] && !packet_went_q && (watch_packet_i & in_valid & ((1 << p) - 1)) == 0;
        in_tag[p].lost = is_lost(destination_i[p], here, for_unit_i[p]);
        in_tag[p].sinks = Ejects && !here && for_unit_i[p] && entry.last_link;
        in_tag[p].port = here ? OutWidth'(LinkPorts) : OutWidth'(entry.port);
        in_tag[p].index = 0;
      end
      in_tag[p].watched = watched_in[p];
      in_tag[p].payload = payload_i[p];

      header = {for_unit_i[p], 16'(destination_i[p])};
      in_flit[p] = {in_tag[p], TagLow'(header), 4'(vc), head, tail_i[p]};
    end

    for (genvar v = 0; v < Vcs; v++) begin : stop
      assign stops[v] = (Late + 1)'({stops_q[v], in_back[p][v]});
    end

    always_ff @(posedge clk_i) begin
      for (int v = 0; v < Vcs; v++) begin
        if (rst_i) credits_q[v] <= 4'(Depth);
        else credits_q[v] <= credits_q[v] + 4'(in_back[p][v]) - 4'(in_valid[p] && !ejects[p] && vc == VcWidth'(v));
        stops_q[v] <= rst_i ? '0 : stops[v];
      end
      if (rst_i) begin
        inside_q <= '0;
      end else if (in_valid[p]) begin
        inside_q[vc] <= !tail_i[p];
        ejecting_q[vc] <= ejects[p];
        tag_q[vc] <= in_tag[p];
        tag_q[vc].index <= in_tag[p].index + 1;
      end
    end

    if (Ejects && p < LinkPorts) begin : ejection
      always_ff @(posedge clk_i) begin
        if (!rst_i) lemma_ejects : assert (router.input_port[p].ejection.ejecting_q == (inside_q & ejecting_q));
      end
    end else begin : no_ejection
      always_ff @(posedge clk_i) if (!rst_i) lemma_ejects : assert ((inside_q & ejecting_q) == '0);
    end
  end

  // --- Contents, and the number of locations of the watched flit

  logic [Inputs-1:0][Vcs-1:0][Depth-1:0] watched_in_buffer;
  logic [Inputs-1:0] watched_leaving, watched_dropped, drops;
  logic [Outputs-1:0] watched_out;
  logic [LinkPorts-1:0] watched_ejected;
  next_t [Inputs*Vcs-1:0] front;  // the flit that leaves an input channel next, in its buffer or still to arrive

  wire word_t watched_word = {watched_q.data, watched_q.head, watched_q.tail};

  for (genvar p = 0; p < Inputs; p++) begin : storage
    logic [Outputs-1:0] crosses;
    wire word_t leaving = {router.leaving_q[p].data, router.leaving_q[p].head, router.leaving_q[p].tail};

    for (genvar v = 0; v < Vcs; v++) begin : vc
      localparam int unsigned I = p * Vcs + v;
      localparam int unsigned IndexWidth = Depth > 1 ? $clog2(Depth) : 1;
      wire [31:0] count = 32'(router.input_port[p].vc[v].buffer.count_q);
      wire stays = source[p].inside_q[v] && !source[p].ejecting_q[v];
      word_t [Depth-1:0] words;  // from the front on
      next_t [Depth:0] next;
      logic [Depth-1:0] chained, routed, known, kept;

      for (genvar k = 0; k < Depth; k++) begin : place
        wire [31:0] slot = (32'(router.input_port[p].vc[v].buffer.read_q) + k) % Depth;
        wire [16:0] header = words[k].header[16:0];
        wire [NodeWidth-1:0] destination = NodeWidth'(header[15:0]);
        wire for_unit = header[16];
        wire route_entry_t entry = route_of(destination);
        wire here = destination == self_q;

        assign words[k] = router.input_port[p].vc[v].buffer.words_q[IndexWidth'(slot)];
        assign watched_in_buffer[p][v][k] = k < count && words[k].tag.watched;
        assign chained[k] = k >= count || follows(!words[k].tail, words[k].tag, next[k+1]);
        assign kept[k] = !watched_in_buffer[p][v][k] || words[k] == watched_word;
        assign known[k] = k >= count || !words[k].head || header[15:0] == 16'(destination) &&
            words[k].tag.lost == is_lost(destination, here, for_unit);
        assign routed[k] = k >= count || !words[k].head || words[k].tag.index == 0 &&
            (words[k].tag.lost || (here ? words[k].tag.port == OutWidth'(LinkPorts) && !words[k].tag.sinks :
             words[k].tag.port == OutWidth'(entry.port) &&
             words[k].tag.sinks == (Ejects && for_unit && entry.last_link)));
      end

      always_comb begin
        for (int k = 0; k <= Depth; k++) begin
          next[k] = '0;
          next[k].head = !stays;
          if (stays) next[k].tag = source[p].tag_q[v];
          if (k < count) next[k] = {words[k].head, words[k].tag};
        end
      end

      assign front[I] = next[0];

      wire as_routed = !front[I].tag.lost && 32'(router.output_port_q[I]) == 32'(front[I].tag.port) &&
          router.sinks_q[I] == front[I].tag.sinks;

      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_held : assert (32'(router.flow[I].flow.held_q) == count);
          lemma_chained : assert (chained == '1);
          lemma_routed : assert (routed == '1);
          lemma_known : assert (known == '1);
          lemma_kept : assert (kept == '1);
          lemma_runs : assert (running_q || (count == 0 && !source[p].inside_q[v] && !router.waiting_q[I] &&
              !router.active_q[I]));
          lemma_idle : assert (router.waiting_q[I] || router.active_q[I] || front[I].head);
          lemma_waiting : assert (!router.waiting_q[I] || (router.allowed_q[I] == '0 ?
              front[I].tag.lost && (count != 0 || !front[I].head) : count != 0 && front[I].head && as_routed));
          lemma_active : assert (!router.active_q[I] || (as_routed && 32'(router.output_vc_q[I]) < Vcs &&
              (count != 0 || !front[I].head)));
        end
      end
    end

    for (genvar o = 0; o < Outputs; o++) begin : crossing
      assign crosses[o] = router.crossing_q[o] && 32'(router.crossing_from_q[o]) == p;
    end
    assign watched_leaving[p] = crosses != '0 && leaving.tag.watched;

    wire word_t offered = router.input_port[p].offered_flit;
    assign drops[p] = router.drops[p];
    assign watched_dropped[p] = drops[p] && offered.tag.watched;

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        only_lost_dropped : assert (!drops[p] || offered.tag.lost);
        lemma_one_way : assert ((crosses & (crosses - 1)) == '0);
        lemma_leaves_as_it_came : assert (!watched_leaving[p] || leaving == watched_word);
      end
    end
  end

  wire [31:0] places = $countones(watched_in_buffer) + $countones(watched_leaving) + $countones(watched_out) +
      $countones(watched_ejected);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      went_q <= 1'b0;
      came_q <= 1'b0;
      packet_went_q <= 1'b0;
    end else begin
      if (watched_in != '0) went_q <= 1'b1;
      if (watched_out != '0 || watched_ejected != '0 || watched_dropped != '0) came_q <= 1'b1;
      for (int p = 0; p < Inputs; p++) if (in_valid[p] && in_tag[p].mine) packet_went_q <= 1'b1;
    end
    for (int p = 0; p < Inputs; p++) if (watched_in[p]) watched_q <= in_flit[p];

    if (!rst_i) begin
      in_one_place : assert (places + 32'(came_q) == 32'(went_q));
      comes_out : cover (watched_out != '0);
      is_dropped : cover (watched_dropped != '0);
      packets_meet : cover (out_valid[0] && came_q && router.crossing_q[0] && router.crossing_q[1]);
    end
  end

  // --- Outputs

  for (genvar o = 0; o < Outputs; o++) begin : sink
    wire tag_t tag = out_flit[o].data[255-:$bits(tag_t)];
    logic [Vcs-1:0] inside_q;
    tag_t [Vcs-1:0] tag_q;  // of the last flit

    wire [VcWidth-1:0] vc = VcWidth'(out_flit[o].vc);
    wire [1:0] index = out_flit[o].head ? 0 : tag_q[vc].index + 1;

    assign watched_out[o] = out_valid[o] && tag.watched;

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        inside_q <= '0;
      end else if (out_valid[o]) begin
        inside_q[vc] <= !out_flit[o].tail;
        tag_q[vc] <= tag;
      end

      if (!rst_i && out_valid[o]) begin
        channel_exists : assert (32'(out_flit[o].vc) < Vcs);
        right_port : assert (!tag.lost && tag.port == OutWidth'(o));
        whole_packets : assert (out_flit[o].head == !inside_q[vc]);
        not_mixed : assert (out_flit[o].head || tag.mine == tag_q[vc].mine);
        in_order : assert (tag.index == index);
        unaltered : assert (!tag.watched || {out_flit[o].data, out_flit[o].head, out_flit[o].tail} ==
            {watched_q.data, watched_q.head, watched_q.tail});
      end
    end

    wire flit_t leaving = router.leaving_q[router.crossing_from_q[o]];
    wire tag_t leaving_tag = leaving.data[255-:$bits(tag_t)];

    for (genvar w = 0; w < Vcs; w++) begin : channel
      localparam int unsigned C = o * Vcs + w;
      wire shown = out_valid[o] && 32'(out_flit[o].vc) == w;
      wire crosses = router.crossing_q[o] && 32'(leaving.vc) == w;

      // Flow control: flits that the receiver holds or owes a credit for, and with them those in flight to it.
      logic [3:0] held_q;
      wire arrives = shown && !tag.sinks;
      wire leaves = returns_i[o][w] && held_q != 0;
      wire [31:0] held = 32'(crosses && !leaving_tag.sinks) + 32'(arrives) + 32'(held_q);

      always_ff @(posedge clk_i) begin
        if (rst_i) held_q <= 0;
        else held_q <= held_q + 4'(arrives) - 4'(leaves);
      end

      if (Credits) begin : credits
        assign out_back[o][w] = leaves;

        always_ff @(posedge clk_i) begin
          if (!rst_i) credits_kept : assert (32'(router.flow[C].flow.credits.credits_q) + held == PeerDepth);
        end
      end else begin : margin
        assign out_back[o][w] = 32'(held_q) >= PeerDepth - 3;

        always_ff @(posedge clk_i) begin
          if (!rst_i) begin
            has_room : assert (!arrives || 32'(held_q) < PeerDepth);
            lemma_will_have_room : assert (held + 32'(router.flow[C].flow.margin.go_q) <= PeerDepth);
          end
        end
      end

      // The channel's flits in order: those that have left, the one in the output register, the one that crosses the switch,
      // and the next one of the input channel that holds the output channel.
      wire inside_after_shown = shown ? !out_flit[o].tail : inside_q[w];
      wire tag_t tag_after_shown = shown ? tag : tag_q[w];
      wire inside_after_all = crosses ? !leaving.tail : inside_after_shown;
      wire tag_t tag_after_all = crosses ? leaving_tag : tag_after_shown;
      logic [Inputs*Vcs-1:0] owners, continues;

      for (genvar i = 0; i < Inputs * Vcs; i++) begin : owner
        assign owners[i] = router.active_q[i] && 32'(router.output_port_q[i]) == o && 32'(router.output_vc_q[i]) == w;
        assign continues[i] = !owners[i] || follows(inside_after_all, tag_after_all, front[i]);
      end

      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_one_owner : assert ($countones(owners) == 32'(!router.free_q[C]));
          lemma_free : assert (!router.free_q[C] || !inside_after_all);
          lemma_continues : assert (continues == '1);
          lemma_crosses : assert (!crosses || (follows(inside_after_shown, tag_after_shown, {leaving.head, leaving_tag}) &&
              leaving_tag.port == OutWidth'(o) && !leaving_tag.lost));
          lemma_shown : assert (!shown || (follows(inside_q[w], tag_q[w], {out_flit[o].head, tag}) &&
              tag.port == OutWidth'(o) && !tag.lost));
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_crosses : assert (!router.crossing_q[o] || (32'(router.crossing_from_q[o]) < Inputs && 32'(leaving.vc) < Vcs));
      end
    end
  end

  for (genvar p = 0; p < Inputs; p++) begin : upstream
    for (genvar v = 0; v < Vcs; v++) begin : channel
      localparam int unsigned I = p * Vcs + v;
      wire [31:0] count = 32'(router.input_port[p].vc[v].buffer.count_q);

      if (Credits) begin : credits
        always_ff @(posedge clk_i) begin
          if (!rst_i) credits_kept : assert (32'(source[p].credits_q[v]) + count + 32'(in_back[p][v]) == Depth);
        end
      end else begin : margin
        localparam int unsigned Late = p < LinkPorts ? Margin : LocalMargin;
        wire [Late:0] may_come = ~source[p].stops[v] & ~(Late + 1)'(1);  // one bit for each previous cycle without a stop

        always_ff @(posedge clk_i) begin
          if (!rst_i) begin
            has_room : assert (!router.push[I] || count < Depth);
            stops : assert (in_back[p][v] == (count >= Depth - Late));
            lemma_will_have_room : assert (count + $countones(may_come) <= Depth);
          end
        end
      end
    end
  end

  for (genvar p = 0; p < LinkPorts; p++) begin : ejection
    logic ejects_q;
    flit_t flit_q;

    assign watched_ejected[p] = eject_valid[p] && eject_flit[p].data[255];

    always_ff @(posedge clk_i) begin
      ejects_q <= !rst_i && in_valid[p] && ejects[p];
      flit_q <= in_flit[p];
      if (!rst_i) ejected_at_once : assert (eject_valid[p] == ejects_q && (!ejects_q || eject_flit[p] == flit_q));
    end
  end
endmodule
