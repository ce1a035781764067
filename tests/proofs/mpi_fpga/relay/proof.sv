// SPDX-License-Identifier: Apache-2.0
// Environment: a relay with any table, between neighbours that respect its buffers and their credits. Packets and credits arrive
// over its links in any order, interleaved by flit, and so do packets of the own host; receivers and the host pause at any time.
//
// Flits carry a tag, which the relay only stores: their packet's link and queue, and its number among the packets of that link
// and queue in the order of their last flits. The tool guesses this number with the first flit, and a packet may end only if the
// guess was right.
module relay_proof
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*, tw_network_pkg::*;
#(
    parameter int unsigned Links = 1,
    parameter int unsigned Lanes = 1,
    parameter int unsigned Classes = 1,
    parameter int unsigned Nodes = 2,
    parameter int unsigned Flits = 4,
    parameter int unsigned Vcs = 2,
    parameter int unsigned RoomBits = 2,
    localparam int unsigned Buffers = Links * Classes,
    localparam int unsigned Queues = 2 * Buffers + 1,
    localparam int unsigned Entries = Classes * Flits,  // of a memory
    localparam int unsigned Batch = Flits / 4 > 0 ? Flits / 4 : 1,
    localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1,
    localparam int unsigned ClassWidth = Classes > 1 ? $clog2(Classes) : 1,
    localparam int unsigned NodeWidth = Nodes > 1 ? $clog2(Nodes) : 1,
    localparam int unsigned VcWidth = Vcs > 1 ? $clog2(Vcs) : 1,
    localparam int unsigned BufferWidth = Buffers > 1 ? $clog2(Buffers) : 1,
    localparam int unsigned QueueWidth = $clog2(Queues),
    localparam int unsigned EntryWidth = $clog2(Entries)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [NodeWidth-1:0]  self_i,
    input logic                  load_i,
    input logic [LinkWidth-1:0]  load_port_i,   // of the table
    input logic [ClassWidth-1:0] load_class_i,
    input logic                  load_keep_i,
    input logic [ClassWidth-1:0] load_layer_i,
    input logic                  load_node_i,   // of a neighbour: one bit of its number
    input logic                  load_vc_i,

    // [link]: a flit arrives on this channel; fields of a head flit
    input logic [Links-1:0]                 come_i,
    input logic [Links-1:0][VcWidth-1:0]    vc_i,
    input logic [Links-1:0][1:0]            kind_i,
    input logic [Links-1:0]                 size_i,
    input logic [Links-1:0][NodeWidth-1:0]  receiver_i,
    input logic [Links-1:0][ClassWidth-1:0] class_i,
    input logic [Links-1:0][2:0]            number_i,       // the guess
    input logic [Links-1:0]                 payload_i,
    input logic [Links-1:0]                 watch_i,
    input logic [Links-1:0][LinkWidth-1:0]  credit_link_i,
    input logic [Links-1:0][2:0]            credit_count_i,

    // [lane]: the own host's next word is available
    input logic [Lanes-1:0]                own_i,
    input logic [Lanes-1:0][NodeWidth-1:0] own_receiver_i,
    input logic [Lanes-1:0]                own_size_i,
    input logic [Lanes-1:0]                own_announces_i,

    input logic [Lanes-1:0] src_ready_i,
    input logic [Lanes-1:0] single_ready_i,
    input logic [Lanes-1:0] read_i           // the host has read a flit
);
  typedef struct packed {
    logic                  own;
    logic                  watched;
    logic                  payload;
    logic [LinkWidth-1:0]  link;
    logic [ClassWidth-1:0] route_class;  // its route class at this node
    logic [QueueWidth-1:0] row;
    logic [2:0]            number;
    logic                  size;
    logic                  index;
  } tag_t;

  function automatic tag_t tag_of(logic [255:0] data);
    return data[255-:$bits(tag_t)];
  endfunction
  // True if both tags are of the same packet; index and contents may differ.
  function automatic logic one_packet(tag_t a, tag_t b);
    return {a.own, a.link, a.route_class, a.row, a.number, a.size} == {b.own, b.link, b.route_class, b.row, b.number, b.size};
  endfunction
  function automatic logic [1:0] flits_of(logic size);
    return size ? 2'd2 : 2'd1;
  endfunction

  tw_reset_first surroundings (.*);

  // --- The table and the neighbours, which are loaded first

  logic [7:0] loaded_q;
  logic [NodeWidth-1:0] self_q;
  logic [Nodes-1:0][LinkWidth-1:0] port_q;
  logic [Nodes-1:0][ClassWidth-1:0] class_q, layer_q;
  logic [Nodes-1:0] keep_q;
  logic [Links-1:0] neighbour_q, channel_q;

  wire loads_link = load_i && 32'(loaded_q) < Links;
  wire loads_node = load_i && 32'(loaded_q) >= Links && 32'(loaded_q) < Links + Nodes && 32'(load_port_i) < Links &&
      32'(load_class_i) < Classes && 32'(load_layer_i) < Classes;
  wire runs = 32'(loaded_q) == Links + Nodes;
  wire [7:0] load_node = loaded_q - 8'(Links);

  always_ff @(posedge clk_i) begin
    if (rst_i) self_q <= 32'(self_i) < Nodes ? self_i : '0;
    loaded_q <= rst_i ? '0 : loaded_q + 8'(loads_link || loads_node);
    if (loads_link) neighbour_q[LinkWidth'(loaded_q)] <= load_node_i;
    if (loads_link) channel_q[LinkWidth'(loaded_q)] <= load_vc_i && Vcs > 1;
    if (loads_node) begin
      port_q[NodeWidth'(load_node)] <= load_port_i;
      class_q[NodeWidth'(load_node)] <= load_class_i;
      keep_q[NodeWidth'(load_node)] <= load_keep_i;
      layer_q[NodeWidth'(load_node)] <= load_layer_i;
    end
  end

  function automatic logic [BufferWidth-1:0] next_of(logic [NodeWidth-1:0] node, logic [ClassWidth-1:0] came);
    return BufferWidth'(32'(port_q[node]) * Classes + 32'(keep_q[node] ? came : class_q[node]));
  endfunction

  logic [Links-1:0] in_valid, announce_valid;
  flit_t [Links-1:0] in_flit;
  logic [Links-1:0][4:0] announce_context;
  logic [Lanes-1:0] own_valid, own_last, own_grant, src_valid, src_last, single_valid, host_valid, host_last;
  logic [Lanes-1:0][255:0] own_data, src_data, single_data, host_data;
  logic [Lanes-1:0][3:0] src_vc, single_vc;
  logic [Lanes-1:0][RoomBits-1:0] host_room;

  route_entry_t load_entry;
  assign load_entry = '{keep_class: load_keep_i, route_class: 4'(load_class_i), last_link: 1'b0, port: 6'(load_port_i)};

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
      .self_i(16'(self_q)),
      .table_valid_i(loads_node),
      .table_index_i(16'(load_node)),
      .table_entry_i(load_entry),
      .table_layer_i(4'(load_layer_i)),
      .peer_valid_i(loads_link),
      .peer_link_i(6'(loaded_q)),
      .peer_node_i(16'(load_node_i)),
      .peer_port_i(loaded_q),
      .peer_vc_i(4'(load_vc_i && Vcs > 1)),
      .in_valid_i(in_valid),
      .in_flit_i(in_flit),
      .own_valid_i(own_valid),
      .own_data_i(own_data),
      .own_last_i(own_last),
      .own_grant_o(own_grant),
      .src_valid_o(src_valid),
      .src_ready_i,
      .src_data_o(src_data),
      .src_last_o(src_last),
      .src_vc_o(src_vc),
      .single_valid_o(single_valid),
      .single_ready_i,
      .single_data_o(single_data),
      .single_vc_o(single_vc),
      .host_room_i(host_room),
      .host_valid_o(host_valid),
      .host_data_o(host_data),
      .host_last_o(host_last),
      .announce_valid_o(announce_valid),
      .announce_context_o(announce_context),
      .announce_sequence_o(),
      .announce_source_o()
  );

  // --- Outputs

  wire [Lanes-1:0] goes = src_valid & src_ready_i;
  wire [Lanes-1:0] tells = single_valid & single_ready_i;
  tag_t [Lanes-1:0] src_tag, host_tag;
  relay_credit_t [Lanes-1:0] credit;
  network_header_t [Lanes-1:0] src_header;
  relay_header_t [Lanes-1:0] src_way;
  always_comb begin
    for (int p = 0; p < int'(Lanes); p++) begin
      src_tag[p] = tag_of(src_data[p]);
      host_tag[p] = tag_of(host_data[p]);
      credit[p] = relay_credit_t'(single_data[p]);
      src_header[p] = network_header_t'(src_data[p][47:0]);
      src_way[p] = relay_header_t'(src_data[p][127:64]);
    end
  end

  // Tail flits that leave, by the packet's input link and queue.
  logic [Links-1:0][Queues-1:0] left;
  logic [Links-1:0][Classes-1:0][2:0] left_flits;
  always_comb begin
    left = '0;
    left_flits = '0;
    for (int p = 0; p < int'(Lanes); p++) begin
      if (goes[p] && src_last[p] && !src_tag[p].own) begin
        left[src_tag[p].link][src_tag[p].row] = 1'b1;
        left_flits[src_tag[p].link][src_tag[p].route_class] += 3'(flits_of(src_tag[p].size));
      end
      if (host_valid[p] && host_last[p]) begin
        left[host_tag[p].link][host_tag[p].row] = 1'b1;
        left_flits[host_tag[p].link][host_tag[p].route_class] += 3'(flits_of(host_tag[p].size));
      end
    end
  end

  // --- Arrivals over the links, and the relay's state of them

  logic watched_q, watched_now_q;  // the watched flit has arrived; it is the one that arrived last
  logic word_q, word_size_q;
  logic [1:0] word_kind_q;
  logic [NodeWidth-1:0] word_receiver_q;

  logic [Links-1:0] watched_comes;
  logic [Links-1:0][1:0] come_kind;
  logic [Links-1:0] come_size;
  logic [Links-1:0][NodeWidth-1:0] come_receiver;
  logic [Links-1:0][Queues-1:0][2:0] came_q, out_q;  // the number of the next packet that arrives; that leaves
  logic [Links-1:0][Classes-1:0][3:0] room_q, held_q, owed_q;  // of a buffer: free at the neighbour; occupied here; freed, not credited
  logic [Links-1:0][Classes-1:0][3:0] sent_q;  // occupied at the other end by sent packets
  logic [Links-1:0][Classes-1:0][3:0] returned;
  logic [Links-1:0][1:0] busy;
  tag_t [Links-1:0][1:0] reading;  // the reader's flit
  logic [Links-1:0][1:0] reads_first;

  always_comb begin
    returned = '0;
    for (int l = 0; l < int'(Links); l++)
      if (in_valid[l] && in_flit[l].head && kind_i[l] == 2'(KindCredit))
        returned[credit_link_i[l]][class_i[l]] = 4'(credit_count_i[l]);
  end

  for (genvar l = 0; l < Links; l++) begin : link
    logic [Vcs-1:0] open_q;  // a packet with outstanding flits; its first flit
    tag_t [Vcs-1:0] tag_q;

    wire [VcWidth-1:0] vc = 32'(vc_i[l]) < Vcs ? vc_i[l] : '0;
    wire open = open_q[vc];
    wire fields = 32'(receiver_i[l]) < Nodes && 32'(class_i[l]) < Classes;
    wire is_credit = kind_i[l] == 2'(KindCredit);
    wire announces = kind_i[l] == 2'(KindDescriptor);
    wire size = size_i[l] && Flits > 3;
    wire for_host = receiver_i[l] == self_q;

    // A buffer's credits come one packet at a time.
    logic other;
    always_comb begin
      other = 1'b0;
      for (int k = 0; k < l; k++)
        other |= in_valid[k] && in_flit[k].head && kind_i[k] == 2'(KindCredit) && credit_link_i[k] == credit_link_i[l] &&
            class_i[k] == class_i[l];
    end
    wire credit_comes = is_credit && !open && fields && 32'(credit_link_i[l]) < Links && credit_count_i[l] != 0 && !other &&
        4'(credit_count_i[l]) <= sent_q[credit_link_i[l]][class_i[l]];
    wire begins = !open && fields && (kind_i[l] == 2'(KindData) || (announces && !size)) &&
        room_q[l][class_i[l]] >= 4'(flits_of(size));
    wire announced = begins && announces && for_host;

    tag_t tag;
    always_comb begin
      tag = tag_q[vc];
      tag.index = 1'b1;
      if (!open) begin
        tag = '0;
        tag.link = LinkWidth'(l);
        tag.route_class = class_i[l];
        tag.row = for_host ? QueueWidth'(2 * Buffers) :
            QueueWidth'((announces ? 0 : Buffers) + 32'(next_of(receiver_i[l], class_i[l])));
        tag.size = size;
        tag.number = size ? number_i[l] : came_q[l][tag.row];
      end
      tag.payload = payload_i[l];
      tag.watched = watched_comes[l];
    end

    wire ends = open ? tag_q[vc].number == came_q[l][tag_q[vc].row] : !size;
    assign in_valid[l] = come_i[l] && runs && (open ? ends : credit_comes || begins);
    wire stores = in_valid[l] && (open || (begins && !announced));
    wire enters = stores && ends;
    assign watched_comes[l] = in_valid[l] && (open || begins) && watch_i[l] && !watched_q &&
        (watch_i & in_valid & Links'((1 << l) - 1)) == '0;

    network_header_t header;
    relay_header_t way;
    relay_credit_t back;
    always_comb begin
      header = '0;
      header.kind = kind_e'(kind_i[l]);
      header.size = 3'(size);
      header.context_ = 5'(payload_i[l]);
      way = '0;
      way.route_class = 8'(class_i[l]);
      way.link = 8'(l);
      way.receiver = 16'(receiver_i[l]);
      back = relay_credit_empty();
      back.count = 32'(credit_count_i[l]);
      back.link = 8'(credit_link_i[l]);
      back.route_class = 8'(class_i[l]);
      in_flit[l] = '0;
      in_flit[l].vc = 4'(vc);
      in_flit[l].head = !open;
      in_flit[l].tail = open || is_credit || !size;
      if (!open) in_flit[l].data[47:0] = header;
      if (!open) in_flit[l].data[127:64] = way;
      in_flit[l].data[255-:$bits(tag_t)] = tag;
      if (!open && is_credit) in_flit[l].data = back;
    end
    assign come_kind[l] = open ? '0 : kind_i[l];
    assign come_size[l] = !open && size;
    assign come_receiver[l] = open ? '0 : receiver_i[l];

    always_ff @(posedge clk_i) begin
      if (stores) begin
        tag_q[vc] <= tag;
        open_q[vc] <= !ends;
      end
      for (int q = 0; q < int'(Queues); q++) begin
        came_q[l][q] <= came_q[l][q] + 3'(enters && 32'(tag.row) == q);
        out_q[l][q] <= out_q[l][q] + 3'(left[l][q]);
      end
      if (rst_i) begin
        open_q <= '0;
        came_q[l] <= '0;
        out_q[l] <= '0;
      end
    end

    for (genvar c = 0; c < Classes; c++) begin : buffer
      wire credited = tells[l%Lanes] && 32'(credit[l%Lanes].link) == l && 32'(credit[l%Lanes].route_class) == c;
      wire [3:0] taken = in_valid[l] && begins && 32'(class_i[l]) == c ? 4'(flits_of(size)) : '0;
      wire [3:0] read = announced && in_valid[l] && 32'(class_i[l]) == c ? 4'd1 : '0;
      wire sends = goes[l%Lanes] && src_tag[l%Lanes].index == 0 && 32'(src_way[l%Lanes].link) == l &&
          32'(src_way[l%Lanes].route_class) == c;

      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          room_q[l][c] <= 4'(Flits);
          held_q[l][c] <= '0;
          owed_q[l][c] <= '0;
          sent_q[l][c] <= '0;
        end else begin
          room_q[l][c] <= room_q[l][c] - taken + (credited ? 4'(credit[l%Lanes].count) : 4'd0);
          held_q[l][c] <= held_q[l][c] + taken - read - 4'(left_flits[l][c]);
          owed_q[l][c] <= (credited ? 4'd0 : owed_q[l][c]) + read + 4'(left_flits[l][c]);
          sent_q[l][c] <= sent_q[l][c] - returned[l][c] + (sends ? 4'(flits_of(src_tag[l%Lanes].size)) : 4'd0);
        end
      end
    end

    logic announced_q, announced_bit_q;
    always_ff @(posedge clk_i) begin
      announced_q <= !rst_i && in_valid[l] && announced;
      announced_bit_q <= payload_i[l];
      if (!rst_i)
        credited_once : assert (announce_valid[l] == announced_q && (!announced_q || announce_context[l] == 5'(announced_bit_q)));
    end

    // The entries: occupied ones, and those of incomplete packets, by channel.
    logic [Entries-1:0] used_q;
    logic [Vcs-1:0][Entries-1:0] coming_q;
    tag_t [Entries-1:0] place_tag_q;
    logic [1:0] reads;
    logic [1:0][EntryWidth-1:0] read_place, free_read, free_write;  // and the readers' free entries
    logic [1:0][EntryWidth:0] free_count;
    logic [1:0][Entries-1:0][EntryWidth-1:0] free_place;
    wire [EntryWidth-1:0] place = relay.links[l].memory.entry;
    logic [Entries-1:0] arriving;
    always_comb begin
      arriving = '0;
      for (int v = 0; v < int'(Vcs); v++) arriving |= coming_q[v];
    end
    wire [Entries-1:0] entered = used_q & ~arriving;

    always_ff @(posedge clk_i) begin
      for (int r = 0; r < 2; r++) if (reads[r]) used_q[read_place[r]] <= 1'b0;
      if (stores) begin
        used_q[place] <= 1'b1;
        place_tag_q[place] <= tag;
        coming_q[vc][place] <= 1'b1;
        if (ends) coming_q[vc] <= '0;
      end
      if (rst_i) begin
        used_q <= '0;
        coming_q <= '0;
      end
    end

    for (genvar r = 0; r < 2; r++) begin : reader
      wire [255:0] data = relay.links[l].memory.readers[r].reader.data_q;
      tag_t tag_read;
      assign tag_read = tag_of(data);
      assign reading[l][r] = tag_read;
      assign busy[l][r] = relay.links[l].memory.readers[r].reader.busy_q;
      assign reads[r] = relay.links[l].memory.readers[r].reader.read;
      assign read_place[r] = relay.links[l].memory.readers[r].reader.read_entry;
      assign free_count[r] = (EntryWidth + 1)'(relay.links[l].memory.readers[r].reader.free.count_q);
      assign free_read[r] = relay.links[l].memory.readers[r].reader.free.read_q;
      assign free_write[r] = relay.links[l].memory.readers[r].reader.free.write_q;
      for (genvar i = 0; i < Entries; i++) begin : freed
        assign free_place[r][i] = relay.links[l].memory.readers[r].reader.free.words_q[i];
      end
      assign reads_first[l][r] = relay.links[l].memory.readers[r].reader.first_q;
      wire host = relay.links[l].memory.readers[r].reader.host_q;
      wire [EntryWidth-1:0] next = relay.links[l].memory.readers[r].reader.next_q;
      wire more = tag_read.size && !tag_read.index;
      network_header_t head;
      relay_header_t head_way;
      assign head = network_header_t'(data[47:0]);
      assign head_way = relay_header_t'(data[127:64]);

      always_ff @(posedge clk_i) begin
        if (!rst_i && busy[l][r]) begin
          lemma_tag : assert (!tag_read.own && 32'(tag_read.link) == l && 32'(tag_read.row) < Queues &&
              32'(tag_read.route_class) < Classes && tag_read.number == out_q[l][tag_read.row] &&
              (tag_read.size || !tag_read.index) && !(tag_read.size && (Flits < 4 || 32'(tag_read.row) < Buffers)));
          lemma_left : assert (relay.links[l].memory.readers[r].reader.left_q == (more ? 8'd2 : 8'd1) &&
              relay.links[l].memory.readers[r].reader.flits_read_q == 8'(flits_of(tag_read.size)) &&
              reads_first[l][r] == !tag_read.index &&
              (tag_read.index ? relay.links[l].memory.readers[r].reader.class_q == tag_read.route_class :
              head_way.route_class == 8'(tag_read.route_class)));
          lemma_next : assert (!more || (entered[next] && one_packet(place_tag_q[next], tag_read) && place_tag_q[next].index));
          lemma_host : assert (host == (32'(tag_read.row) == 2 * Buffers));
          lemma_watched : assert (!tag_read.watched || (watched_q && tag_read.payload == word_q && (tag_read.index ||
              ({2'(head.kind), head.size, head_way.receiver} == {word_kind_q, 3'(word_size_q), 16'(word_receiver_q)}))));
        end
      end

      for (genvar p = 0; p < Entries; p++) begin : at
        wire [255:0] kept = relay.links[l].memory.readers[r].reader.flits_q[p];
        wire network_header_t kept_header = network_header_t'(kept[47:0]);
        wire relay_header_t kept_way = relay_header_t'(kept[127:64]);
        wire [EntryWidth-1:0] follower = relay.links[l].memory.readers[r].reader.nexts_q[p];
        always_ff @(posedge clk_i) begin
          if (!rst_i && used_q[p]) begin
            lemma_kept : assert (tag_of(kept) == place_tag_q[p]);
            lemma_class : assert (place_tag_q[p].index || kept_way.route_class == 8'(place_tag_q[p].route_class));
            lemma_follower : assert (arriving[p] || place_tag_q[p].index || !place_tag_q[p].size || (entered[follower] &&
                one_packet(place_tag_q[follower], place_tag_q[p]) && place_tag_q[follower].index));
            lemma_watched : assert (!place_tag_q[p].watched || (watched_q && place_tag_q[p].payload == word_q &&
                (place_tag_q[p].index || ({2'(kept_header.kind), kept_header.size, kept_way.receiver} ==
                {word_kind_q, 3'(word_size_q), 16'(word_receiver_q)}))));
          end
        end
      end
    end

    // State of each entry.
    for (genvar p = 0; p < Entries; p++) begin : place_
      logic [3:0] times;
      always_comb begin
        times = 4'(used_q[p]) + 4'(p >= 32'(relay.links[l].memory.fresh_q));
        for (int r = 0; r < 2; r++)
          for (int i = 0; i < int'(Entries); i++)
            times += 4'(i < 32'(free_count[r]) && 32'(free_place[r][EntryWidth'((32'(free_read[r])+i)%Entries)]) == p);
      end

      // Whether the entry is in its queue, as a packet's first flit, or is still to be read.
      wire tag_t tag_here = place_tag_q[p];
      wire [2:0] ahead = tag_here.number - out_q[l][tag_here.row];
      wire [2:0] length = came_q[l][tag_here.row] - out_q[l][tag_here.row];
      logic was_read;  // it was read, or a packet behind it was
      always_comb begin
        was_read = 1'b0;
        for (int r = 0; r < 2; r++)
          was_read |= busy[l][r] && reading[l][r].row == tag_here.row && ahead == 0 &&
              (tag_here.index <= reading[l][r].index || !one_packet(tag_here, reading[l][r]));
      end
      wire [EntryWidth+2:0] behind = relay.links[l].memory.queues.behind_q[p];
      wire [EntryWidth-1:0] follower = behind[EntryWidth-1:0];

      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          in_one_place : assert (times == 1);
          if (used_q[p]) begin
            lemma_tag : assert (runs && !tag_here.own && 32'(tag_here.link) == l && 32'(tag_here.row) < Queues &&
                32'(tag_here.route_class) < Classes && (tag_here.size || !tag_here.index) &&
                !(tag_here.size && (Flits < 4 || 32'(tag_here.row) < Buffers)));
            if (!arriving[p]) begin
              lemma_number : assert (ahead < length);
              lemma_read : assert (!was_read);
              lemma_behind : assert (tag_here.index || 3'(ahead + 1) == length || (entered[follower] &&
                  place_tag_q[follower].row == tag_here.row && !place_tag_q[follower].index &&
                  place_tag_q[follower].number == 3'(tag_here.number + 1) &&
                  behind[EntryWidth+:3] == 3'(place_tag_q[follower].size)));
            end
          end
        end
      end

      for (genvar o = p + 1; o < Entries; o++) begin : other_
        always_ff @(posedge clk_i) begin
          if (!rst_i)
            lemma_unique : assert (!entered[p] || !entered[o] || tag_here.row != place_tag_q[o].row ||
                tag_here.number != place_tag_q[o].number ||
                (one_packet(tag_here, place_tag_q[o]) && tag_here.index != place_tag_q[o].index));
        end
      end
    end

    // Arriving packets.
    for (genvar v = 0; v < Vcs; v++) begin : coming
      wire [EntryWidth-1:0] head = relay.links[l].memory.coming_q[v].head;
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_open : assert (open_q[v] ? coming_q[v] == Entries'(1) << head && used_q[head] &&
              relay.links[l].memory.coming_q[v].previous == head && place_tag_q[head] == tag_q[v] &&
              32'(relay.links[l].memory.coming_q[v].row) == 32'(tag_q[v].row) &&
              relay.links[l].memory.coming_q[v].size == 3'(tag_q[v].size) && tag_q[v].size && !tag_q[v].index && runs
              : coming_q[v] == '0);
        end
      end
      for (genvar w = v + 1; w < Vcs; w++) begin : other_
        always_ff @(posedge clk_i) if (!rst_i) lemma_apart : assert ((coming_q[v] & coming_q[w]) == '0);
      end
    end

    for (genvar q = 0; q < Queues; q++) begin : queue
      wire follows = relay.links[l].memory.queues.follows_q && 32'(relay.links[l].memory.queues.follows_queue_q) == q;
      logic being_read;
      logic [2:0] heads;
      always_comb begin
        being_read = 1'b0;
        for (int r = 0; r < 2; r++) being_read |= busy[l][r] && 32'(reading[l][r].row) == q;
        heads = '0;
        for (int p = 0; p < int'(Entries); p++)
          heads += 3'(entered[p] && !place_tag_q[p].index && 32'(place_tag_q[p].row) == q);
      end
      wire [2:0] waiting = came_q[l][q] - out_q[l][q] - 3'(being_read);
      wire [2:0] first_number = out_q[l][q] + 3'(being_read);
      wire [EntryWidth+2:0] behind = relay.links[l].memory.queues.behind_read_q;
      wire [EntryWidth-1:0] head = follows ? behind[EntryWidth-1:0] : relay.links[l].memory.queues.head_q[q];
      wire [2:0] size_of_head = follows ? behind[EntryWidth+:3] : relay.links[l].memory.queues.size_q[q];
      wire [EntryWidth-1:0] tail = relay.links[l].memory.queues.tail_q[q];

      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          lemma_heads : assert (heads == waiting && (came_q[l][q] - out_q[l][q] <= 3'(Entries + 1)));
          lemma_filled : assert (relay.links[l].memory.queues.filled_q[q] == (waiting != 0) &&
              (!follows || (waiting != 0 && being_read)));
          lemma_several : assert (waiting == 0 || relay.links[l].memory.queues.several_q[q] == (waiting > 1 || follows));
          lemma_head : assert (waiting == 0 || (entered[head] && !place_tag_q[head].index && 32'(place_tag_q[head].row) == q &&
              place_tag_q[head].number == first_number && size_of_head == 3'(place_tag_q[head].size)));
          lemma_tail : assert (waiting == 0 || (entered[tail] && !place_tag_q[tail].index && 32'(place_tag_q[tail].row) == q &&
              place_tag_q[tail].number == 3'(came_q[l][q] - 1)));
        end
      end
    end

    for (genvar c = 0; c < Classes; c++) begin : room
      logic [3:0] sum;
      always_comb begin
        sum = '0;
        for (int p = 0; p < int'(Entries); p++) sum += 4'(used_q[p] && 32'(place_tag_q[p].route_class) == c);
        for (int v = 0; v < int'(Vcs); v++) sum += 4'(open_q[v] && 32'(tag_q[v].route_class) == c);
        for (int r = 0; r < 2; r++)
          if (busy[l][r] && 32'(reading[l][r].route_class) == c) sum += reading[l][r].index ? 4'd2 : 4'd1;
      end
      wire [3:0] credits = 4'(relay.credits.credits_q[l*Classes+c]);
      wire [3:0] owed = 4'(relay.credits.owed_q[l*Classes+c]);
      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          conserved : assert (room_q[l][c] + held_q[l][c] + owed_q[l][c] == 4'(Flits) && room_q[l][c] <= 4'(Flits) &&
              held_q[l][c] <= 4'(Flits) && owed_q[l][c] <= 4'(Flits));
          lemma_held : assert (sum == held_q[l][c]);
          lemma_owed : assert (owed == owed_q[l][c]);
          lemma_silent : assert (runs || (held_q[l][c] == 0 && owed_q[l][c] == 0 && sent_q[l][c] == 0));
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_fifos : assert (32'(relay.links[l].memory.fresh_q) <= Entries && 32'(free_read[0]) < Entries &&
            32'(free_read[1]) < Entries && 32'(free_write[0]) < Entries && 32'(free_write[1]) < Entries);
        lemma_readers : assert (busy[l] != 2'b11 || reading[l][0].row != reading[l][1].row);
        lemma_follows : assert (!relay.links[l].memory.queues.follows_q ||
            32'(relay.links[l].memory.queues.follows_queue_q) < Queues);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) watched_q <= 1'b0;
    else if (watched_comes != '0) watched_q <= 1'b1;
    for (int l = 0; l < int'(Links); l++) begin
      if (watched_comes[l]) begin
        word_q <= payload_i[l];
        word_kind_q <= come_kind[l];
        word_size_q <= come_size[l];
        word_receiver_q <= come_receiver[l];
      end
    end
  end

  // --- The lanes

  for (genvar p = 0; p < Lanes; p++) begin : lane
    // The own host's packet.
    logic there_q, index_q, size_q, announces_q;
    logic [NodeWidth-1:0] receiver_q;
    logic [2:0] number_q;
    tag_t own_tag;
    network_header_t own_header;
    relay_header_t own_way;
    wire own_goes = own_grant[p] && goes[p];
    wire ends = index_q == size_q;
    wire next_index = own_goes ? !ends : index_q;
    wire may = 32'(own_receiver_i[p]) < Nodes && own_receiver_i[p] != self_q &&
        32'(port_q[own_receiver_i[p]]) % Lanes == p && runs;
    always_comb begin
      own_tag = '0;
      own_tag.own = 1'b1;
      own_tag.number = number_q;
      own_tag.size = size_q;
      own_tag.index = index_q;
      own_header = '0;
      own_header.kind = announces_q ? KindDescriptor : KindData;
      own_header.size = 3'(size_q);
      own_way = '0;
      own_way.receiver = 16'(receiver_q);
      own_data[p] = '0;
      if (!index_q) own_data[p][47:0] = own_header;
      if (!index_q) own_data[p][127:64] = own_way;
      own_data[p][255-:$bits(tag_t)] = own_tag;
    end
    assign own_valid[p] = there_q;
    assign own_last[p] = ends;
    wire [BufferWidth-1:0] own_buffer = next_of(receiver_q, layer_q[receiver_q]);

    always_ff @(posedge clk_i) begin
      if (!there_q || own_goes) begin
        there_q <= own_i[p] && (may || next_index);
        if (!next_index) begin
          receiver_q <= own_receiver_i[p];
          announces_q <= own_announces_i[p];
          size_q <= own_size_i[p] && !own_announces_i[p] && Flits > 3;
        end
      end
      index_q <= next_index;
      if (own_goes && ends) number_q <= number_q + 1;
      if (rst_i) begin
        there_q <= 1'b0;
        index_q <= 1'b0;
        size_q <= 1'b0;
        number_q <= '0;
      end
    end

    // The packet that is open on the lane, with its first flit's tag; and the one open towards the host.
    logic open_q, host_open_q;
    tag_t tag_q, host_tag_q;
    logic stalled_q, single_stalled_q;
    logic [RoomBits-1:0] host_held_q;
    assign host_room[p] = RoomBits'((1 << RoomBits) - 1) - host_held_q;

    wire tag_t tag = src_tag[p];
    wire tag_t to_host = host_tag[p];
    typedef struct packed {
      network_header_t header;
      relay_header_t   way;
      tag_t            tag;
      logic            last;
      logic [3:0]      vc;
    } shown_t;
    shown_t shown, shown_q;
    assign shown = '{src_header[p], src_way[p], tag, src_last[p], src_vc[p]};
    wire [31:0] way = 32'(tag.row) < Buffers ? 32'(tag.row) : 32'(tag.row) - Buffers;
    wire [31:0] buffer = tag.own ? 32'(own_buffer) : way;
    wire [LinkWidth-1:0] to = LinkWidth'(buffer / Classes);

    always_ff @(posedge clk_i) begin
      stalled_q <= !rst_i && src_valid[p] && !src_ready_i[p];
      shown_q <= shown;
      single_stalled_q <= !rst_i && single_valid[p] && !single_ready_i[p];
      if (goes[p]) tag_q <= tag;
      if (host_valid[p]) host_tag_q <= to_host;
      open_q <= !rst_i && (goes[p] ? !src_last[p] : open_q);
      host_open_q <= !rst_i && (host_valid[p] ? !host_last[p] : host_open_q);
      host_held_q <= rst_i ? '0 : host_held_q + RoomBits'(host_valid[p]) - RoomBits'(read_i[p] && host_held_q != 0);

      if (!rst_i) begin
        waits_for_ready : assert (!stalled_q || (src_valid[p] && shown == shown_q));
        credit_stays : assert (!single_stalled_q || single_valid[p]);
        whole_packets : assert (!src_valid[p] || (tag.index == open_q && src_last[p] == (tag.index == tag.size)));
        not_mixed : assert (!src_valid[p] || !open_q || one_packet(tag, tag_q));
        host_whole_packets : assert ((host_open_q ? host_valid[p] && to_host.index && one_packet(to_host, host_tag_q) :
            !host_valid[p] || !to_host.index) && (!host_valid[p] || host_last[p] == (to_host.index == to_host.size)));
        host_has_room : assert (!host_valid[p] || host_room[p] != 0);
        in_order : assert ((!src_valid[p] || tag.own || tag.number == out_q[tag.link][tag.row]) &&
            (!host_valid[p] || to_host.number == out_q[to_host.link][to_host.row]));
        right_way : assert (!src_valid[p] || (tag.own == own_grant[p] && 32'(to) % Lanes == p && 32'(tag.row) < 2 * Buffers &&
            src_vc[p] == 4'(channel_q[to]) && (tag.index || (32'(src_header[p].destination) == 32'(neighbour_q[to]) &&
            32'(src_header[p].edge_) == 32'(to) % Lanes && 32'(src_way[p].link) == 32'(to) &&
            32'(src_way[p].route_class) == buffer % Classes))));
        host_is_meant : assert (!host_valid[p] || (32'(to_host.row) == 2 * Buffers && 32'(to_host.link) % Lanes == p));
        unaltered : assert ((!src_valid[p] || !tag.watched || (tag.payload == word_q && (tag.index ||
            {2'(src_header[p].kind), src_header[p].size, src_way[p].receiver} ==
            {word_kind_q, 3'(word_size_q), 16'(word_receiver_q)}))) &&
            (!host_valid[p] || !to_host.watched || to_host.payload == word_q));
        both : cover (goes[p] && !tag.own && host_valid[p] && tag.size == (Flits > 3) && to_host.size == (Flits > 3));
      end
    end

    // State of the relay.
    wire own_now = relay.lanes[p].lane.own_q;
    wire [LinkWidth-1:0] from = relay.lanes[p].lane.from_q;
    wire reader = relay.lanes[p].lane.reader_q;
    wire [LinkWidth-1:0] host_from = relay.lanes[p].host.from_q;
    wire host_reader = relay.lanes[p].host.reader_q;
    logic [7:0] readers, host_readers;  // readers that read for the lane; for its host
    always_comb begin
      readers = '0;
      host_readers = '0;
      for (int l = 0; l < int'(Links); l++) begin
        for (int r = 0; r < 2; r++) begin
          if (busy[l][r] && 32'(reading[l][r].row) != 2 * Buffers &&
              (32'(reading[l][r].row) % Buffers) / Classes % Lanes == p) readers += 1;
          if (busy[l][r] && 32'(reading[l][r].row) == 2 * Buffers && l % int'(Lanes) == p) host_readers += 1;
        end
      end
    end
    wire tag_t from_tag = reading[from][reader];
    wire [31:0] from_way = 32'(from_tag.row) % Buffers;
    wire tag_t host_from_tag = reading[host_from][host_reader];

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_silent : assert (runs || (!relay.lanes[p].lane.busy_q && !there_q && !index_q));
        lemma_receiver : assert ((!there_q && !index_q) || (32'(receiver_q) < Nodes && receiver_q != self_q &&
            32'(port_q[receiver_q]) % Lanes == p && (!announces_q || !size_q) && !(size_q && Flits < 4)));
        lemma_index : assert (!index_q || (size_q && relay.lanes[p].lane.busy_q && own_now));
        lemma_first : assert (!relay.lanes[p].lane.busy_q || relay.lanes[p].lane.first_q == !open_q);
        lemma_idle : assert (relay.lanes[p].lane.busy_q || !open_q);
        lemma_own : assert (!relay.lanes[p].lane.busy_q || !own_now || ((there_q || index_q) &&
            relay.lanes[p].lane.buffer_q == own_buffer && index_q == open_q &&
            (!open_q || (tag_q.own && tag_q.number == number_q && tag_q.size == size_q &&
            tag_q.link == 0 && tag_q.row == 0 && tag_q.route_class == 0))));
        lemma_from : assert (!relay.lanes[p].lane.busy_q || own_now || (32'(from) < Links && busy[from][reader] &&
            32'(from_tag.row) < 2 * Buffers && 32'(relay.lanes[p].lane.buffer_q) == from_way &&
            from_way / Classes % Lanes == p && from_tag.index == open_q &&
            (!open_q || one_packet(from_tag, tag_q))));
        lemma_readers : assert (readers == 8'(relay.lanes[p].lane.busy_q && !own_now));
        lemma_host_readers : assert (host_readers == 8'(relay.lanes[p].host.busy_q));
        lemma_host : assert (!relay.lanes[p].host.busy_q || (32'(host_from) < Links && 32'(host_from) % Lanes == p &&
            busy[host_from][host_reader] && 32'(host_from_tag.row) == 2 * Buffers && host_from_tag.index == host_open_q &&
            (!host_open_q || one_packet(host_from_tag, host_tag_q)) &&
            32'(host_room[p]) >= (host_from_tag.size && !host_from_tag.index ? 2 : 1)));
        lemma_host_idle : assert (relay.lanes[p].host.busy_q || !host_open_q);
      end
    end

    // The reader that the tag names, so that its lane is known.
    for (genvar l = 0; l < Links; l++) begin : of_link
      for (genvar r = 0; r < 2; r++) begin : of_reader
        always_ff @(posedge clk_i) begin
          if (!rst_i)
            lemma_lane : assert (!busy[l][r] || 32'(reading[l][r].row) == 2 * Buffers ||
                (32'(reading[l][r].row) % Buffers) / Classes % Lanes != p ||
                32'(relay.links[l].memory.readers[r].reader.lane_q) == p);
        end
      end
    end

    // Credits in both directions.
    for (genvar i = 0; i < (Links + Lanes - 1 - p) / Lanes * Classes; i++) begin : buffer_
      localparam int unsigned L = p + i / Classes * Lanes;
      localparam int unsigned C = i % Classes;
      localparam int unsigned B = L * Classes + C;
      wire names = 32'(credit[p].link) == L && 32'(credit[p].route_class) == C;
      wire waits = relay.lanes[p].lane.busy_q && relay.lanes[p].lane.first_q && 32'(relay.lanes[p].lane.buffer_q) == B;
      wire waiting_size = own_now ? size_q : from_tag.size;

      always_ff @(posedge clk_i) begin
        if (!rst_i) begin
          room_there : assert (4'(relay.credits.credits_q[B]) + sent_q[L][C] +
              (waits ? 4'(flits_of(waiting_size)) : 4'd0) == 4'(Flits) && sent_q[L][C] <= 4'(Flits));
          tells_what_left : assert (!single_valid[p] || !names || (32'(credit[p].count) == 32'(owed_q[L][C]) &&
              32'(owed_q[L][C]) >= Batch && 32'(credit[p].destination) == 32'(neighbour_q[L]) &&
              32'(credit[p].edge_) == L % Lanes && single_vc[p] == 4'(channel_q[L])));
          credited_when_due : assert (32'(owed_q[L][C]) < Batch || single_valid[p]);
          lemma_credits : assert (32'(relay.credits.credits_q[B]) <= Flits);
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        credit_is_ours : assert (!single_valid[p] || (32'(credit[p].link) < Links && 32'(credit[p].link) % Lanes == p &&
            32'(credit[p].route_class) < Classes));
    end
  end

  // --- Loaded configuration

  for (genvar l = 0; l < Links; l++) begin : loaded
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        lemma_peer : assert (32'(loaded_q) <= l ||
            relay.table_.peers_q[l] == {16'(neighbour_q[l]), 8'(l), 5'(l % Lanes), 4'(channel_q[l])});
    end
  end
  for (genvar n = 0; n < Nodes; n++) begin : entry
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        lemma_entry : assert (32'(loaded_q) <= Links + n || (32'(port_q[n]) < Links && 32'(class_q[n]) < Classes &&
            32'(layer_q[n]) < Classes && relay.table_.layers_q[n] == 4'(layer_q[n]) &&
            relay.table_.entries_q[n].port == 6'(port_q[n]) &&
            relay.table_.entries_q[n].route_class == 4'(class_q[n]) && relay.table_.entries_q[n].keep_class == keep_q[n]));
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) lemma_loaded : assert (32'(loaded_q) <= Links + Nodes && 32'(self_q) < Nodes);
  end
endmodule
