// SPDX-License-Identifier: Apache-2.0
// Environment: a router that respects credits or stops and sends whole packets, those of several channels interleaved
// arbitrarily; a host that accepts beats at any time. With stops, a flit can still arrive two cycles after a stop.
//
// Bits of a flit that are only stored identify it: its index among its channel's flits, and its packet's among all packets in the
// order of their heads.
module stream_out_proof
  import tw_network_pkg::*;
#(
    parameter int unsigned Vcs = 2,
    parameter bit Credits = 1'b1,
    parameter int unsigned Depth = 2,
    parameter int unsigned Margin = 3
) (
    input logic clk_i,
    input logic rst_i,
    input logic valid_i,
    input logic vc_i,
    input logic tail_i,
    input logic ready_i
);
  localparam int unsigned Packets = Vcs * Depth + 1;  // capacity of the order
  localparam int unsigned IndexWidth = Depth > 1 ? $clog2(Depth) : 1;

  typedef struct packed {
    logic       head;
    logic       vc;
    logic [2:0] index;   // among its channel's flits, modulo 8
    logic [3:0] packet;  // modulo 16
  } tag_t;

  logic out_valid, out_last;
  logic [255:0] out_data;
  logic [Vcs-1:0] back;
  flit_t in_flit;

  // Arrived flits and packets
  logic [Vcs-1:0][2:0] came_q;
  logic [Vcs-1:0][3:0] packet_q;  // of the last flit
  logic [Vcs-1:0] inside_q, may_send;
  logic [3:0] packets_q;

  wire vc = Vcs > 1 ? vc_i : 1'b0;
  wire in_valid = valid_i && may_send[vc];
  wire head = !inside_q[vc];
  wire tag_t in_tag = '{head: head, vc: vc, index: came_q[vc], packet: head ? packets_q : packet_q[vc]};

  assign in_flit = {256'(in_tag), 4'(vc), head, tail_i};

  tw_reset_first surroundings (.*);

  tw_stream_out #(
      .Vcs(Vcs),
      .Credits(Credits),
      .Depth(Depth),
      .MarginFlits(Credits ? 0 : Margin)
  ) stream (
      .clk_i,
      .rst_i,
      .flit_valid_i(in_valid),
      .flit_i(in_flit),
      .back_o(back),
      .stream_valid_o(out_valid),
      .stream_ready_i(ready_i),
      .stream_data_o(out_data),
      .stream_last_o(out_last)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      came_q <= '0;
      inside_q <= '0;
      packets_q <= '0;
    end else if (in_valid) begin
      came_q[vc] <= came_q[vc] + 3'd1;
      inside_q[vc] <= !tail_i;
      packet_q[vc] <= in_tag.packet;
      packets_q <= packets_q + 4'(head);
    end
  end

  // Departed flits and packets
  logic [Vcs-1:0][2:0] left_q;
  logic [3:0] ended_q;  // packets that have ended
  logic open_q, vc_q, stalled_q;
  logic [256:0] stalled_beat_q;

  wire tag_t tag = out_data[$bits(tag_t)-1:0];

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid && !ready_i;
    stalled_beat_q <= {out_last, out_data};
    if (rst_i) begin
      left_q <= '0;
      ended_q <= '0;
      open_q <= 1'b0;
    end else if (out_valid && ready_i) begin
      left_q[tag.vc] <= left_q[tag.vc] + 3'd1;
      ended_q <= ended_q + 4'(out_last);
      open_q <= !out_last;
      vc_q <= tag.vc;
    end

    if (!rst_i) begin
      waits_for_ready : assert (!stalled_q || (out_valid && {out_last, out_data} == stalled_beat_q));
      nothing_invented : assert (!out_valid || left_q[tag.vc] != came_q[tag.vc]);
      in_order : assert (!out_valid || tag.index == left_q[tag.vc]);
      whole_packets : assert (!out_valid || (tag.head == !open_q && (!open_q || tag.vc == vc_q)));
      in_turn : assert (!out_valid || tag.packet == ended_q);
      packets_mix : cover (out_valid && out_last && inside_q[0] && inside_q[1] && came_q[0] > 1 && came_q[1] > 1);
    end
  end

  // The skid, and the packet that is open behind it
  wire tag_t main = stream.skid.main_q[$bits(tag_t)-1:0];
  wire tag_t spare = stream.skid.spare_q[$bits(tag_t)-1:0];
  wire main_valid = stream.skid.main_valid_q;
  wire spare_valid = stream.skid.spare_valid_q;
  wire main_last = stream.skid.main_q[256];
  wire spare_last = stream.skid.spare_q[256];
  wire open_then = main_valid ? !main_last : open_q;
  wire vc_then = main_valid ? main.vc : vc_q;
  wire [3:0] ended_then = ended_q + 4'(main_valid && main_last);
  wire open_behind = spare_valid ? !spare_last : open_then;
  wire vc_behind = spare_valid ? spare.vc : vc_then;
  wire [3:0] ended_behind = ended_then + 4'(spare_valid && spare_last);

  // The order of the packets
  wire [3:0] ordered = 4'(stream.order.count_q);
  logic [Packets-1:0] order;

  for (genvar j = 0; j < int'(Packets); j++) begin : place
    wire [4:0] slot = 5'(stream.order.read_q) + 5'(j);
    wire [4:0] wrapped = slot >= 5'(Packets) ? slot - 5'(Packets) : slot;
    assign order[j] = 32'(ordered) > j && 1'(stream.order.words_q[$clog2(Packets)'(wrapped)]);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      lemma_skid : assert (!spare_valid || main_valid);
      lemma_main : assert (!main_valid || (main.head == !open_q && (!open_q || main.vc == vc_q) &&
          main.packet == ended_q && main.index == left_q[main.vc]));
      lemma_spare : assert (!spare_valid || (spare.head == !open_then && (!open_then || spare.vc == vc_then) &&
          spare.packet == ended_then && spare.index == 3'(left_q[spare.vc] + 3'(spare.vc == main.vc))));
      lemma_order : assert (32'(stream.order.read_q) < Packets && 32'(stream.order.write_q) < Packets);
      lemma_packets : assert (4'(packets_q - ordered) == ended_behind && 32'(ordered) <= Packets);
      lemma_open : assert (!open_behind || (ordered != 0 && order[0] == vc_behind));
    end
  end

  for (genvar v = 0; v < int'(Vcs); v++) begin : channel
    wire [3:0] count = 4'(stream.channel[v].buffer.count_q);
    wire [3:0] outside = 4'(main_valid && main.vc == 1'(v)) + 4'(spare_valid && spare.vc == 1'(v));
    logic [Depth-1:0][256:0] words;
    // Of the flit at each index, the last one being the next to arrive: it is a head; it is that packet's turn.
    logic [Depth:0] starts, known;
    logic [Depth:0][3:0] ends_before;  // ends of packets ahead of it
    logic [Depth-1:0] kept;
    logic [3:0] entries;

    for (genvar k = 0; k < int'(Depth); k++) begin : flit
      wire [IndexWidth:0] slot = (IndexWidth + 1)'(stream.channel[v].buffer.read_q) + (IndexWidth + 1)'(k);
      wire tag_t held = words[k][$bits(tag_t)-1:0];

      assign words[k] = stream.channel[v].buffer.words_q[IndexWidth'(32'(slot) >= Depth ? 32'(slot) - Depth : 32'(slot))];
      assign kept[k] = 32'(count) <= k || (held.vc == 1'(v) && held.index == 3'(came_q[v] - 3'(count) + 3'(k)) &&
          starts[k+1] == words[k][256]);
    end

    // The packet of a flit with n ends before it is the channel's entry n in the order.
    function automatic logic in_turn_of(logic [3:0] ends, logic [3:0] packet);
      logic found;
      logic [3:0] seen;
      found = 1'b0;
      seen = '0;
      for (int j = 0; j < int'(Packets); j++) begin
        if (32'(ordered) > j && order[j] == 1'(v)) begin
          if (seen == ends) found = packet == 4'(ended_behind + 4'(j));
          seen = seen + 4'd1;
        end
      end
      return found;
    endfunction

    always_comb begin
      entries = '0;
      for (int j = 0; j < int'(Packets); j++) if (32'(ordered) > j && order[j] == 1'(v)) entries = entries + 4'd1;
      ends_before[0] = '0;
      for (int k = 0; k <= int'(Depth); k++) begin
        starts[k] = !inside_q[v];
        known[k] = !inside_q[v] || in_turn_of(ends_before[k], packet_q[v]);
        if (k < int'(Depth)) begin
          ends_before[k+1] = ends_before[k];
          if (32'(count) > k) begin
            starts[k] = words[k][$bits(tag_t)-1];
            known[k] = in_turn_of(ends_before[k], words[k][3:0]);
            ends_before[k+1] = ends_before[k] + 4'(words[k][256]);
          end
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_kept : assert (kept == '1);
        lemma_known : assert (known == '1);
        lemma_count : assert (3'(came_q[v] - left_q[v]) == 3'(count + outside) && 32'(count) <= Depth);
        lemma_start : assert (starts[0] == !(open_behind && vc_behind == 1'(v)));
        lemma_entries : assert (entries == 4'(ends_before[Depth] + 4'(inside_q[v])));
        lemma_held : assert (32'(stream.channel[v].flow.held_q) == 32'(count));
      end
    end

    if (Credits) begin : credits
      logic [3:0] credits_q;

      assign may_send[v] = credits_q != 0;

      always_ff @(posedge clk_i) begin
        if (rst_i) credits_q <= 4'(Depth);
        else credits_q <= credits_q + 4'(back[v]) - 4'(in_valid && vc == 1'(v));
        if (!rst_i) credits_kept : assert (32'(credits_q) + 32'(count) + 32'(back[v]) == Depth);
      end
    end else begin : margin
      logic [2:0] stops_q;

      assign may_send[v] = !stops_q[2];

      always_ff @(posedge clk_i) begin
        stops_q <= rst_i ? '0 : {stops_q[1:0], back[v]};
        if (!rst_i) begin
          has_room : assert (!(in_valid && vc == 1'(v)) || 32'(count) < Depth);
          lemma_told : assert (back[v] == (32'(count) >= Depth - Margin));
          lemma_will_have_room : assert (32'(count) + $countones(~stops_q) <= Depth);
        end
      end
    end
  end
endmodule
