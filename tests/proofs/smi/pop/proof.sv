// SPDX-License-Identifier: Apache-2.0
// Environment: any packets from the network; the kernel opens channels and takes elements at any time. Elements are bytes, all
// zero except one arbitrary element, which is tracked by counting the elements ahead of it. Packets with credits belong to the
// channel that is open when they are delivered.
module pop_proof
  import tw_smi_pkg::*;
  import tw_smi_spec_pkg::*;
#(
    localparam int unsigned PacketBytes = 8,
    localparam int unsigned PacketBits = 8 * PacketBytes,
    localparam int unsigned Most = PacketBytes - HeaderBits / 8  // elements of a packet
) (
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  watch_i,
    input logic [1:0]            watch_at_i,
    input logic                  open_valid_i,
    input open_t                 open_i,
    input logic                  out_ready_i,
    input logic                  data_valid_i,
    input smi_header_t           data_i,
    input logic                  packet_ready_i
);
  logic open_ready, out_valid, data_ready, packet_valid;
  element_t out_data;
  rank_t out_source;
  logic [PacketBits-1:0] packet_data;
  logic watched_q;

  wire watches = watch_i && !watched_q && 5'(watch_at_i) < data_i.count;
  logic [Most-1:0][7:0] bytes;
  always_comb begin
    bytes = '0;
    bytes[watch_at_i] = 8'(watches);
  end

  tw_reset_first surroundings (.*);

  tw_pop #(
      .Port       (3),
      .Size       (0),
      .PacketBytes(PacketBytes)
  ) pop (
      .rank_i        (8'd5),
      .open_ready_o  (open_ready),
      .out_valid_o   (out_valid),
      .out_data_o    (out_data),
      .out_source_o  (out_source),
      .data_ready_o  (data_ready),
      .data_data_i   ({bytes, data_i}),
      .packet_valid_o(packet_valid),
      .packet_data_o (packet_data),
      .*
  );

  wire accept = data_valid_i && data_ready;
  wire gives = out_valid && out_ready_i;
  wire sends = packet_valid && packet_ready_i;
  wire smi_header_t returned = packet_data[HeaderBits-1:0];
  wire packets_t grant = packet_data[HeaderBits+:16];

  wire smi_header_t main = pop.packets.main_q[HeaderBits-1:0];
  wire smi_header_t spare = pop.packets.spare_q[HeaderBits-1:0];
  wire [4:0] in_main = pop.packets.main_valid_q ? main.count - pop.index_q : '0;
  wire [4:0] in_spare = pop.packets.spare_valid_q ? spare.count : '0;
  wire [4:0] elements = in_main + in_spare;
  wire ends = gives && in_main == 1;
  wire packets_t returning = (pop.out.main_valid_q ? pop.out.main_q[15:0] : '0) + (pop.out.spare_valid_q ? pop.out.spare_q[15:0] : '0);

  packets_t taken_q;  // credited packets whose last element was delivered and whose credits have not been sent
  logic [4:0] ahead_q;  // elements delivered before the watched one
  rank_t watched_from_q, from_q;  // source of the watched one; of the last credited packet

  always_ff @(posedge clk_i) begin
    if (ends && main.operation == OperationReceive) from_q <= main.source;
    if (rst_i) begin
      watched_q <= 1'b0;
      taken_q <= 0;
    end else begin
      taken_q <= taken_q + packets_t'(ends && main.operation == OperationReceive) - (sends ? grant : '0);
      if (!watched_q) begin
        watched_q <= accept && watches;
        ahead_q <= elements - 5'(gives) + 5'(watch_at_i);
        watched_from_q <= data_i.source;
      end else if (gives) begin
        watched_q <= ahead_q != 0;
        ahead_q <= ahead_q - 1;
      end
    end
    some_elements : assume (data_i.count >= 1 && data_i.count <= 5'(Most));
    of_the_channel : assume (!gives || main.operation != OperationReceive || main.source == pop.open_q.peer);
    not_for_ever : assume (taken_q < 16'h8000);
  end

  function automatic logic right(logic [Most-1:0][7:0] data, logic [4:0] from, logic [4:0] count, logic [4:0] first);
    right = 1'b1;
    for (int unsigned i = 0; i < Most; i++)
    if (i >= 32'(from) && i < 32'(count)) right &= data[i] == 8'(watched_q && ahead_q + from == first + 5'(i));
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      in_order : assert (!out_valid || out_data == element_t'(watched_q && ahead_q == 0));
      by_its_rank : assert (!out_valid || !watched_q || ahead_q != 0 || out_source == watched_from_q);
      gives_what_it_holds : assert (!out_valid || elements != 0);
      eager_at_once : assert (in_main == 0 || main.operation == OperationReceive || out_valid);
      credited_to_an_open_channel : assert (!out_valid || main.operation != OperationReceive || pop.any);
      returns_what_was_taken : assert (!packet_valid || (grant >= 1 && grant <= taken_q));
      back_to_the_sender : assert (!packet_valid || (returned.source == 5 && returned.port == 3 && returned.operation == OperationSynch));
      to_the_sender : assert (!pop.returns || pop.open_q.peer == from_q);
      all_back_first : assert (!pop.loads || taken_q == returning);
      watched_comes_out : cover (gives && watched_q && ahead_q == 0 && in_spare != 0);
      two_back : cover (packet_valid && grant == 2);

      lemma_watched : assert (!watched_q || ahead_q < elements);
      lemma_main : assert (!pop.packets.main_valid_q ? pop.index_q == 0 : main.count <= 5'(Most) && pop.index_q < main.count);
      lemma_spare : assert (!pop.packets.spare_valid_q || (pop.packets.main_valid_q && spare.count >= 1 && spare.count <= 5'(Most)));
      lemma_plain : assert ((!pop.packets.main_valid_q || pop.packets.main_q[PacketBits+:2] == 0) &&
          (!pop.packets.spare_valid_q || pop.packets.spare_q[PacketBits+:2] == 0));
      lemma_main_order : assert (!pop.packets.main_valid_q ||
          right(pop.packets.main_q[PacketBits-1:HeaderBits], pop.index_q, main.count, 0));
      lemma_spare_order : assert (!pop.packets.spare_valid_q ||
          right(pop.packets.spare_q[PacketBits-1:HeaderBits], 0, spare.count, in_main));
      lemma_main_from : assert (!watched_q || !pop.packets.main_valid_q || ahead_q >= in_main || main.source == watched_from_q);
      lemma_spare_from : assert (!watched_q || !pop.packets.spare_valid_q || ahead_q < in_main || spare.source == watched_from_q);
      lemma_owes : assert (taken_q == pop.unreturned_q + returning);
      lemma_owed : assert (pop.unreturned_q == 0 || pop.open_q.peer == from_q);
      lemma_returning : assert ((!pop.out.main_valid_q || (pop.out.main_q[15:0] >= 1 && pop.out.main_q[15:0] <= taken_q)) &&
          (!pop.out.spare_valid_q || (pop.out.main_valid_q && pop.out.spare_q[15:0] >= 1 && pop.out.spare_q[15:0] <= taken_q)) &&
          17'(pop.unreturned_q) + 17'(pop.out.main_valid_q ? pop.out.main_q[15:0] : '0) +
          17'(pop.out.spare_valid_q ? pop.out.spare_q[15:0] : '0) == 17'(taken_q));
    end
  end
endmodule
