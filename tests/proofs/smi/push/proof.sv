// SPDX-License-Identifier: Apache-2.0
// Environment: the kernel opens channels and pushes any elements; the network accepts packets and returns credits at any time,
// but only credits that it holds. Elements are bytes, all zero except one arbitrary element, which is tracked by counting the
// elements ahead of it.
module push_proof
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    parameter int unsigned Less = 0,  // packets of a window that are never sent before others return
    localparam int unsigned PacketBytes = 8,
    localparam int unsigned PacketBits = 8 * PacketBytes,
    localparam int unsigned Most = PacketBytes - HeaderBits / 8  // elements of a packet
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  watch_i,
    input logic                  open_valid_i,
    input open_t                 open_i,
    input logic                  in_valid_i,
    input logic                  in_flush_i,
    input logic                  control_valid_i,
    input logic [PacketBits-1:0] control_data_i,
    input logic                  packet_ready_i
);
  logic open_ready, in_ready, packet_valid;
  logic [PacketBits-1:0] packet_data;
  logic watched_q;
  wire watches = watch_i && !watched_q;

  tw_reset_first surroundings (.*);

  tw_push #(
      .Port       (3),
      .PacketBytes(PacketBytes)
  ) push (
      .rank_i        (8'd5),
      .open_ready_o  (open_ready),
      .in_ready_o    (in_ready),
      .in_data_i     (element_t'(watches)),
      .packet_valid_o(packet_valid),
      .packet_data_o (packet_data),
      .packet_last_o (),
      .*
  );

  wire accept = in_valid_i && in_ready;
  wire sends = packet_valid && packet_ready_i;
  wire smi_header_t sent = packet_data[HeaderBits-1:0];
  wire packets_t grant = control_valid_i ? control_data_i[HeaderBits+:16] : '0;

  // Contents: packets behind the packer, and the packer itself. A packet's header holds its count, except in the packer.
  wire smi_header_t main = push.out.main_q[HeaderBits-1:0];
  wire smi_header_t spare = push.out.spare_q[HeaderBits-1:0];
  wire [4:0] in_main = push.out.main_valid_q ? main.count : '0;
  wire [4:0] in_spare = push.out.spare_valid_q ? spare.count : '0;
  wire [4:0] in_packer = push.packer.count_q;
  wire [4:0] elements = in_main + in_spare + in_packer;
  wire packets_t held = packets_t'(in_packer != 0 && push.credited_q) +
      packets_t'(in_main != 0 && main.operation == OperationReceive) +
      packets_t'(in_spare != 0 && spare.operation == OperationReceive);

  packets_t unreturned_q;  // packets with credits
  logic [4:0] ahead_q;  // elements that leave before the watched one
  rank_t to_q;  // destination of the watched one, and whether its packet needs a credit
  logic credited_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      unreturned_q <= 0;
      watched_q <= 1'b0;
    end else begin
      unreturned_q <= unreturned_q + packets_t'(sends && sent.operation == OperationReceive) - grant;
      if (!watched_q) begin
        watched_q <= accept && watch_i;
        ahead_q <= elements - (sends ? sent.count : '0);
        to_q <= push.open_q.peer;
        credited_q <= push.open_q.window != 0;
      end else if (sends) begin
        watched_q <= ahead_q >= sent.count;
        ahead_q <= ahead_q - sent.count;
      end
    end
    has_it : assume (grant <= unreturned_q);
    bytes : assume (open_i.size == 0 && open_i.per_packet >= 1 && open_i.per_packet <= Most);
  end

  // True if element `index` is the watched one at its expected position and nowhere else.
  function automatic logic right(logic [Most-1:0][7:0] data, logic [4:0] count, logic [4:0] first);
    right = 1'b1;
    for (int unsigned i = 0; i < Most; i++)
    if (i < 32'(count)) right &= data[i] == 8'(watched_q && ahead_q == first + 5'(i));
  endfunction
  function automatic logic has(logic [4:0] count, logic [4:0] first);
    return watched_q && ahead_q >= first && ahead_q < first + count;
  endfunction

  wire packets_t window = push.open_q.window;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      within_window : assert (unreturned_q == 0 || 17'(unreturned_q) + 17'(Less) <= 17'(window));
      all_back_first : assert (!push.loads || (unreturned_q == 0 && held == 0));
      in_order : assert (!packet_valid || right(packet_data[PacketBits-1:HeaderBits], sent.count, 0));
      from_here : assert (!packet_valid || (sent.source == 5 && sent.port == 3 && sent.count >= 1 && sent.count <= 5'(Most)));
      to_its_rank : assert (!packet_valid || !has(sent.count, 0) ||
          (sent.destination == to_q && sent.operation == (credited_q ? OperationReceive : OperationSend)));
      watched_leaves : cover (sends && has(sent.count, 0) && ahead_q == 2);
      full_window : cover (window == 2 && unreturned_q == 2);

      lemma_watched : assert (!watched_q || ahead_q < elements);
      lemma_spare : assert (!push.out.spare_valid_q || (spare.source == 5 && spare.port == 3 && spare.count >= 1 && spare.count <= 5'(Most)));
      lemma_spare_order : assert (!push.out.spare_valid_q || right(push.out.spare_q[PacketBits-1:HeaderBits], spare.count, in_main));
      lemma_spare_to : assert (!push.out.spare_valid_q || !has(in_spare, in_main) ||
          (spare.destination == to_q && spare.operation == (credited_q ? OperationReceive : OperationSend)));
      lemma_packer : assert (in_packer <= 5'(Most) && (!push.packer.full_q || in_packer != 0) &&
          (push.packer.full_q || in_packer == 0 || (push.any_q && in_packer < 5'(push.open_q.per_packet))));
      lemma_packer_order : assert (right(push.packer.bytes_q, in_packer, in_main + in_spare));
      lemma_packer_to : assert (!has(in_packer, in_main + in_spare) || (push.peer_q == to_q && push.credited_q == credited_q));
      lemma_partial : assert (push.packer.full_q || in_packer == 0 || (push.peer_q == push.open_q.peer && push.credited_q == (window != 0)));
      lemma_open : assert (!push.any_q || (push.open_q.size == 0 && push.open_q.per_packet >= 1 && push.open_q.per_packet <= Most));
      lemma_next : assert (!push.next_valid_q || (push.next_q.size == 0 && push.next_q.per_packet >= 1 && push.next_q.per_packet <= Most));
      lemma_no_circuit : assert (!push.announces_q && (!push.any_q || !push.open_q.circuit) && (!push.next_valid_q || !push.next_q.circuit) &&
          (in_packer == 0 || !push.payload_q));
      lemma_under_way : assert (push.in_flight_q == packets_t'(unreturned_q + held));
      lemma_unwrapped : assert (17'(unreturned_q) + 17'(held) <= 17'(window));
      lemma_credits : assert (window == 0 ? push.in_flight_q == 0 : (!push.any_q && push.in_flight_q == 0) ||
          17'(push.credits_q) + 17'(push.in_flight_q) == 17'(window));
      lemma_credit : assert (!push.any_q || push.credit_q == (window == 0 || push.credits_q != 0));
    end
  end
endmodule
