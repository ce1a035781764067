// SPDX-License-Identifier: Apache-2.0
// Queues of packets in a relay's memory, as linked lists. A packet is represented by the entry of its first flit. The
// packet behind a taken one is known a cycle later, so a queue is never taken from in two consecutive cycles.
//
// Order: kept in each queue. Latency: an entered packet can be taken in the next cycle. Throughput: a packet in and one
// out per cycle. Storage: head and tail of each queue; per entry the packet behind the one that begins there.
// dequeue_head_o depends on dequeue_queue_i, the other outputs only on registers. Critical path: from dequeue_queue_i
// through the queue's head to the address of the packet behind it.
module tw_relay_queues #(
    parameter int unsigned Queues = 25,
    parameter int unsigned Entries = 2048,
    localparam int unsigned QueueWidth = $clog2(Queues),
    localparam int unsigned EntryWidth = Entries > 1 ? $clog2(Entries) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  enter_valid_i,
    input logic [QueueWidth-1:0] enter_queue_i,
    input logic [2:0]            enter_size_i,   /// log2 of the packet's flits
    input logic [EntryWidth-1:0] enter_head_i,   /// entry of its first flit

    input  logic                  dequeue_valid_i,
    input  logic [QueueWidth-1:0] dequeue_queue_i,
    input  logic                  dequeue_last_i,   /// it is the queue's last packet
    output logic [EntryWidth-1:0] dequeue_head_o,

    output logic [Queues-1:0]      filled_o,
    output logic [Queues-1:0]      several_o,  /// more than one packet
    output logic [Queues-1:0][2:0] sizes_o     /// log2 of the first packet's flits
);
  logic [EntryWidth-1:0] head_q[Queues], tail_q[Queues];
  logic [Queues-1:0] filled_q, several_q;
  logic [Queues-1:0][2:0] size_q;

  logic [EntryWidth+2:0] next_packet_q[Entries];  // size and head of the next packet, at the head of each
  logic [EntryWidth+2:0] next_read_q;
  logic refill_q;
  logic [QueueWidth-1:0] refill_queue_q;

  assign filled_o = filled_q;
  assign several_o = several_q;
  assign sizes_o = size_q;
  assign dequeue_head_o = head_q[dequeue_queue_i];

  wire empties_queue = dequeue_valid_i && dequeue_last_i;
  wire to_front = !filled_q[enter_queue_i] || (empties_queue && dequeue_queue_i == enter_queue_i);

  always_ff @(posedge clk_i) begin
    if (enter_valid_i && !to_front) next_packet_q[tail_q[enter_queue_i]] <= {enter_size_i, enter_head_i};
    if (dequeue_valid_i) next_read_q <= next_packet_q[dequeue_head_o];
    refill_q <= dequeue_valid_i && !empties_queue;
    refill_queue_q <= dequeue_queue_i;
    if (refill_q) begin
      head_q[refill_queue_q] <= next_read_q[EntryWidth-1:0];
      size_q[refill_queue_q] <= next_read_q[EntryWidth+:3];
      several_q[refill_queue_q] <= next_read_q[EntryWidth-1:0] != tail_q[refill_queue_q];
    end
    if (empties_queue) filled_q[dequeue_queue_i] <= 1'b0;
    if (enter_valid_i) begin
      filled_q[enter_queue_i] <= 1'b1;
      tail_q[enter_queue_i] <= enter_head_i;
      several_q[enter_queue_i] <= !to_front;
      if (to_front) head_q[enter_queue_i] <= enter_head_i;
      if (to_front) size_q[enter_queue_i] <= enter_size_i;
    end
    if (rst_i) begin
      filled_q <= '0;
      several_q <= '0;
      refill_q <= 1'b0;
    end
  end
endmodule
