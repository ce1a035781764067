// SPDX-License-Identifier: Apache-2.0
// Reduces all ranks' elements to one rank: every kernel supplies its own, the root's receives each result as soon as
// all ranks have contributed. Children in the tree are granted a tile of elements when there is room for it, at first
// two tiles. Elements from them are stored; one lane combines: the first child's element with the second's, and so on,
// last with the kernel's own. In any order, all except the first child's are combined as they become available. A rank
// other than the root sends results to its parent, as granted.
//
// The kernel's element enters the lane as soon as it can, since its call waits for the result. Children other than the
// first take turns: a child keeps its turn as long as it has an element that can enter the lane, then the next one gets
// it; turns do not change while nothing waits.
//
// Order: kept. Latency: from an arriving element to its combination Latency + 3 cycles, and three to the result's
// output. Throughput: an element per cycle into the lane. Storage: two tiles of each source, of the first child, of
// sums and of results, in memories with a registered output, of which the first child's and the sums have two read
// ports; counts by source and by element, and a child's index by rank, in memories that can be LUT RAM. Outputs depend
// only on registers. Critical path: from a source's next element through its completed steps to the next turn.
module tw_reduce
  import tw_spec_pkg::*;
  import tw_reduce_pkg::*;
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Port = 0,
    parameter int unsigned PacketBytes = 32,
    parameter int unsigned Latency = 8,  /// of the lane, in cycles
    parameter int unsigned Children = 15,  /// of a rank, at most
    parameter int unsigned Tile = 32,  /// elements, at most
    parameter pairs_t Pairs = reductions(),  /// operators of the lane
    localparam int unsigned PacketBits = 8 * PacketBytes
) (
    input logic clk_i,
    input logic rst_i,

    input rank_t rank_i,  /// own rank; constant while packets move

    input  logic  open_valid_i,
    output logic  open_ready_o,
    input  open_t open_i,

    input  logic     in_valid_i,
    output logic     in_ready_o,
    input  element_t in_data_i,

    output logic     out_valid_o,
    input  logic     out_ready_i,
    output element_t out_data_o,

    input  logic                  data_valid_i,
    output logic                  data_ready_o,
    input  logic [PacketBits-1:0] data_data_i,

    input logic                  control_valid_i,
    input logic [PacketBits-1:0] control_data_i,

    output logic                  packet_valid_o,
    input  logic                  packet_ready_i,
    output logic [PacketBits-1:0] packet_data_o
);
  if (Children < 1 || Children > 255 || Tile < 1 || Tile > 16384) begin : check_sizes
    $error("tw_reduce: Children must be 1 to 255, Tile 1 to 16384");
  end

  localparam int unsigned SlotBits = $clog2(2 * Tile);  // of two tiles
  localparam int unsigned Depth = 1 << SlotBits;
  // Counts are wide enough to tell which of two elements comes first.
  localparam int unsigned CountBits = SlotBits + 2;
  localparam int unsigned SourceBits = Children > 1 ? $clog2(Children) : 1;
  localparam int unsigned StepBits = $clog2(Children + 1);
  localparam int unsigned WaitingBits = $clog2((Children + 1) * Depth + 1);

  typedef logic [CountBits-1:0] count_t;
  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [SourceBits-1:0] source_t;
  typedef logic [StepBits-1:0] step_t;
  typedef enum logic [1:0] {
    Closed,
    Tree,
    Prepare,  // a child per cycle
    Run
  } state_e;
  typedef struct packed {
    slot_t slot;
    step_t step;  // number of elements combined into it after this step
    logic first, last;
  } tag_t;

  state_e state_q;
  open_t open_q;
  logic root_q;
  logic [31:0] left_q, results_left_q, to_grant_q;  // remaining: of the kernel, results, to be granted
  logic any_q, one_q, results_any_q, results_one_q, to_grant_any_q;  // of these: above 0, or 1
  logic [15:0] tile_left_q;  // remaining results of a tile
  logic tile_one_q;  // tile_left_q is 1
  logic [1:0] room_q;  // for tiles
  logic [SlotBits:0] outstanding_q;  // elements from the kernel whose results have not left
  logic granted_q;  // the parent has room for the packet
  member_t child_q;  // child whose turn it is
  rank_t at_q;

  logic tree_valid, synch_available, packer_ready, part_valid, part_last, part_empty, packet_valid, unpacker_ready, unpacker_valid, out_ready;
  logic result_valid, results_ready;
  rank_t parent, children;
  member_t first_child;
  element_t unpacked, result;
  logic [PacketBits-1:0] part, packet;
  wire smi_header_t packet_header = packet[HeaderBits-1:0];
  wire smi_header_t part_header = part[HeaderBits-1:0];

  wire opens = open_valid_i && open_ready_o && open_i.count != 0;
  wire accept = in_valid_i && in_ready_o;
  wire run = state_q == Run;
  wire tree_done = state_q == Tree && tree_valid;
  wire preparing = state_q == Prepare;
  wire leaf = children == 0;
  wire last_child = at_q + 8'd1 == children;
  wire element_t own_element = in_data_i & element_bits(open_q.size);

  // Packets: grants to the children, or results.
  wire grants = run && !leaf && to_grant_any_q && room_q != 0;
  wire sends = run && part_valid && granted_q && !grants && out_ready;
  wire uses = run && part_valid && !granted_q && synch_available;
  wire granted_one = grants && out_ready;
  wire tile_granted = granted_one && last_child;
  wire last_tile = to_grant_q <= 32'(open_q.tile);

  // A result goes to the kernel, or into a packet.
  wire ends_tile = tile_one_q || results_one_q;
  wire pops = result_valid && (root_q ? out_ready_i : packer_ready);
  wire closes = run && !results_any_q && part_empty;

  assign open_ready_o = state_q == Closed;
  assign in_ready_o   = run && any_q && !outstanding_q[SlotBits];
  assign out_valid_o  = root_q && result_valid;
  assign out_data_o   = result;

  always_ff @(posedge clk_i) begin
    if (opens) open_q <= open_i;
    if (tree_done) begin
      child_q <= first_child;
      at_q <= 0;
    end else if (preparing || granted_one) begin
      child_q <= last_child ? first_child : next_member(child_q, open_q);
      at_q <= last_child ? 0 : at_q + 1;
    end
    if (opens) begin
      results_left_q <= open_i.count;
      results_one_q <= open_i.count == 1;
      tile_left_q <= open_i.tile;
      tile_one_q <= open_i.tile == 1;
      to_grant_q <= open_i.count;
      room_q <= 2;
      outstanding_q <= 0;
    end else begin
      if (pops) begin
        results_left_q <= results_left_q - 1;
        results_one_q <= results_left_q == 2;
        tile_left_q <= ends_tile ? open_q.tile : tile_left_q - 1;
        tile_one_q <= ends_tile ? open_q.tile == 1 : tile_left_q == 2;
      end
      if (tile_granted) to_grant_q <= to_grant_q - 32'(open_q.tile);
      room_q  <= room_q + 2'(pops && ends_tile) - 2'(tile_granted);
      outstanding_q <= outstanding_q + (SlotBits + 1)'(accept) - (SlotBits + 1)'(pops);
    end
    if (rst_i) begin
      state_q <= Closed;
      root_q <= 1'b0;
      left_q <= 0;
      {any_q, results_any_q, to_grant_any_q} <= '0;
      granted_q <= 1'b0;
    end else begin
      unique case (state_q)
        Closed: if (opens) state_q <= Tree;
        Tree: if (tree_valid) state_q <= leaf ? Run : Prepare;
        Prepare: if (last_child) state_q <= Run;
        default: if (closes) state_q <= Closed;
      endcase
      granted_q <= (granted_q || uses) && !(sends && part_last);
      if (opens) begin
        root_q <= open_i.own == open_i.root;
        left_q <= open_i.count;
        any_q <= 1'b1;
        one_q <= open_i.count == 1;
        results_any_q <= 1'b1;
        to_grant_any_q <= 1'b1;
      end else begin
        if (accept) begin
          left_q <= left_q - 1;
          any_q <= !one_q;
          one_q <= left_q == 2;
        end
        if (pops) results_any_q <= !results_one_q;
        if (tile_granted) to_grant_any_q <= !last_tile;
      end
    end
  end

  tw_tree_neighbours tree (
      .clk_i,
      .rst_i,
      .open_valid_i  (opens),
      .open_i,
      .out_valid_o   (tree_valid),
      .out_parent_o  (parent),
      .out_children_o(children),
      .out_child_o   (first_child)
  );

  wire smi_header_t control_header = control_data_i[HeaderBits-1:0];
  tw_synchs synchs (
      .clk_i,
      .rst_i,
      .in_valid_i (control_valid_i),
      .in_source_i(control_header.source),
      .query_i    (parent),
      .use_i      (uses),
      .available_o(synch_available)
  );

  // Elements from children: one per cycle, always with room.
  logic [SourceBits:0] child_of_q[256], from_q;  // index of a child, from the first on
  count_t arrived_q[1<<SourceBits];  // of children other than the first
  count_t base_arrived_q, own_arrived_q;
  wire loads = packet_valid && unpacker_ready;
  wire from_base = from_q == 0;
  wire source_t from = source_t'(from_q - (SourceBits + 1)'(1));
  wire stores = unpacker_valid && !from_base;
  wire count_t arrived = arrived_q[from];
  wire source_t at = source_t'(at_q);

  always_ff @(posedge clk_i) begin
    if (preparing) child_of_q[child_q.rank] <= (SourceBits + 1)'(at_q);
    if (loads) from_q <= child_of_q[packet_header.source];
    if (preparing || stores) arrived_q[preparing ? at : from] <= preparing ? 0 : arrived + 1;
    if (opens) {base_arrived_q, own_arrived_q} <= '0;
    else begin
      if (unpacker_valid && from_base) base_arrived_q <= base_arrived_q + 1;
      if (accept) own_arrived_q <= own_arrived_q + 1;
    end
  end

  tw_skid #(
      .Width(PacketBits)
  ) packets (
      .clk_i,
      .rst_i,
      .in_valid_i (data_valid_i),
      .in_ready_o (data_ready_o),
      .in_data_i  (data_data_i),
      .out_valid_o(packet_valid),
      .out_ready_i(loads),
      .out_data_o (packet)
  );

  tw_unpacker #(
      .PacketBytes(PacketBytes)
  ) unpacker (
      .clk_i,
      .rst_i,
      .in_size_i  (open_q.size),
      .in_valid_i (packet_valid),
      .in_ready_o (unpacker_ready),
      .in_data_i  (packet),
      .out_valid_o(unpacker_valid),
      .out_ready_i(1'b1),
      .out_data_o (unpacked)
  );

  // Whether the next elements of the kernel, and of the child whose turn it is, can enter the lane.
  count_t entered_q[1<<SourceBits];
  step_t done_q[Depth], sent_q[Depth];  // steps of an element: completed; started
  source_t source_q;
  count_t next_q, own_next_q;  // its next element; the kernel's
  count_t opened_q, first_done_q;  // elements whose first step has entered the lane, has left it
  logic [WaitingBits-1:0] waiting_q;  // elements of these children that have not entered the lane

  wire lane_open = run && !leaf;
  wire source_t kernel = source_t'(children - 8'd1);  // index as a source, behind the children
  wire source_t next_source = source_q + 1 == kernel ? '0 : source_q + 1;
  wire slot_t slot = next_q[SlotBits-1:0], own_slot = own_next_q[SlotBits-1:0];
  wire first = next_q == opened_q, own_first = own_next_q == opened_q;
  wire count_t from_first_done = next_q - first_done_q, own_from_first_done = own_next_q - first_done_q;
  wire step_t done = done_q[slot], own_done = done_q[own_slot];
  wire base_arrived = base_arrived_q != opened_q;
  wire may_begin = base_arrived && (open_q.any_order || source_q == 0);
  wire own_may_begin = base_arrived && (open_q.any_order || kernel == 0);
  wire may_continue = from_first_done[CountBits-1] && done == (open_q.any_order ? sent_q[slot] : step_t'(source_q));
  wire own_may_continue = own_from_first_done[CountBits-1] && own_done == (open_q.any_order ? sent_q[own_slot] : step_t'(kernel));
  wire may_enter = lane_open && kernel != 0 && next_q != arrived_q[source_q] && (first ? may_begin : may_continue);
  wire own_enters = lane_open && own_next_q != own_arrived_q && (own_first ? own_may_begin : own_may_continue);
  wire child_enters = may_enter && !own_enters;
  wire advances = lane_open && !may_enter && waiting_q != 0;
  wire step_t step = first ? step_t'(1) : done + 1, own_step = own_first ? step_t'(1) : own_done + 1;

  always_ff @(posedge clk_i) begin
    if (preparing || child_enters) entered_q[preparing ? at : source_q] <= preparing ? 0 : next_q + 1;
    if (own_enters || child_enters) sent_q[own_enters ? own_slot : slot] <= own_enters ? own_step : step;
    if (opens) begin
      source_q   <= '0;
      next_q     <= 0;
      own_next_q <= 0;
      opened_q   <= 0;
      waiting_q  <= 0;
    end else begin
      if (own_enters) own_next_q <= own_next_q + 1;
      if (child_enters) next_q <= next_q + 1;
      if (own_enters ? own_first : child_enters && first) opened_q <= opened_q + 1;
      if (advances) begin
        source_q <= next_source;
        next_q   <= entered_q[next_source];
      end
      waiting_q <= waiting_q + WaitingBits'(stores) - WaitingBits'(child_enters);
    end
  end

  // Elements: both candidates are read while one enters; it is selected in the next cycle.
  element_t base_q[Depth], own_q[Depth], sums_q[Depth], others_q[1<<(SourceBits+SlotBits)];
  element_t base, own_base, own, sum, own_sum, others_element, a_q, b_q;
  tag_t tag_q, tag_chosen_q, tag;
  logic read_q, read_own_q, chosen_q, combines;
  logic [255:0] combined;

  always_ff @(posedge clk_i) begin
    if (unpacker_valid && from_base) base_q[base_arrived_q[SlotBits-1:0]] <= unpacked;
    base <= base_q[slot];
    own_base <= base_q[own_slot];
  end
  always_ff @(posedge clk_i) begin
    if (accept && !leaf) own_q[own_arrived_q[SlotBits-1:0]] <= own_element;
    own <= own_q[own_slot];
  end
  always_ff @(posedge clk_i) begin
    if (combines && !tag.last) sums_q[tag.slot] <= combined[ElementBits-1:0];
    sum <= sums_q[slot];
    own_sum <= sums_q[own_slot];
  end
  always_ff @(posedge clk_i) begin
    if (stores) others_q[{from, arrived[SlotBits-1:0]}] <= unpacked;
    others_element <= others_q[{source_q, slot}];
  end

  always_ff @(posedge clk_i) begin
    tag_q <= own_enters ? '{slot: own_slot, step: own_step, first: own_first, last: own_step == step_t'(children)}
        : '{slot: slot, step: step, first: first, last: step == step_t'(children)};
    read_own_q <= own_enters;
    tag_chosen_q <= tag_q;
    if (tag_q.first) a_q <= read_own_q ? own_base : base;
    else a_q <= read_own_q ? own_sum : sum;
    b_q <= read_own_q ? own : others_element;
    if (combines) done_q[tag.slot] <= tag.step;
    if (opens) first_done_q <= 0;
    else if (combines && tag.first) first_done_q <= first_done_q + 1;
    read_q   <= (own_enters || child_enters) && !rst_i;
    chosen_q <= read_q && !rst_i;
  end

  tw_lane #(
      .Latency(Latency),
      .Pairs  (Pairs),
      .TagBits($bits(tag_t))
  ) lane (
      .clk_i,
      .rst_i,
      .in_valid_i    (chosen_q),
      .in_operation_i(open_q.op),
      .in_datatype_i (open_q.datatype),
      .in_head_i     (1'b0),
      .in_bytes_i    (6'd1 << open_q.size),
      .in_a_i        (256'(a_q)),
      .in_b_i        (256'(b_q)),
      .in_tag_i      (tag_chosen_q),
      .out_valid_o   (combines),
      .out_data_o    (combined),
      .out_tag_o     (tag)
  );

  tw_ram_fifo #(
      .Width(ElementBits),
      .Depth(Depth)
  ) results (
      .clk_i,
      .rst_i,
      .in_valid_i (leaf ? accept : combines && tag.last),
      .in_ready_o (results_ready),
      .in_data_i  (leaf ? own_element : combined[ElementBits-1:0]),
      .out_valid_o(result_valid),
      .out_ready_i(pops),
      .out_data_o (result),
      .count_o    ()
  );

  tw_packer #(
      .PacketBytes(PacketBytes)
  ) packer (
      .clk_i,
      .rst_i,
      .in_valid_i     (pops && !root_q),
      .in_ready_o     (packer_ready),
      .in_data_i      (result),
      .in_last_i      (ends_tile),
      .in_size_i      (open_q.size),
      .in_per_packet_i(payload_t'(open_q.per_packet)),
      .in_circuit_i   (1'b0),
      .out_valid_o    (part_valid),
      .out_ready_i    (sends),
      .out_data_o     (part),
      .out_last_o     (part_last),
      .empty_o        (part_empty)
  );

  logic [PacketBits-1:0] sent;
  always_comb begin
    sent = {part[PacketBits-1:HeaderBits], header(rank_i, parent, 8'(Port), OperationReduce, part_header.count)};
    if (grants) sent = PacketBits'({32'd1, header(rank_i, child_q.rank, 8'(Port), OperationSynch, 5'd1)});
  end
  tw_skid #(
      .Width(PacketBits)
  ) out (
      .clk_i,
      .rst_i,
      .in_valid_i (grants || sends),
      .in_ready_o (out_ready),
      .in_data_i  (sent),
      .out_valid_o(packet_valid_o),
      .out_ready_i(packet_ready_i),
      .out_data_o (packet_data_o)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      results_fit : assert (results_ready || !(leaf ? accept : combines && tag.last));
      tile_fits : assert (!opens || (open_i.tile != 0 && 32'(open_i.tile) <= Tile));
      children_fit : assert (!tree_done || 32'(children) <= Children);
      flags_agree :
      assert (any_q == (left_q != 0) && (!run || (results_any_q == (results_left_q != 0) && (!results_any_q || results_one_q == (results_left_q == 1)))));
    end
  end
`endif
endmodule
