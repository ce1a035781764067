// SPDX-License-Identifier: Apache-2.0
// Progress of each process in its operation, and its next packet.
//
// A process executes its steps in order, and the streams of each in order, packet by packet: each stream completely or,
// if it takes turns, a number of packets of each stream per turn. A stream's first packet is its descriptor, whose
// element count determines the number and length of the packets that follow.
//
// Order: a process is requested (ask_*); its next packet is visible in the next cycle, in which it may advance; a
// descriptor's contents follow one cycle later. A process can be requested again one cycle after it advanced, after a
// descriptor two. Latency: one cycle. Throughput: a process per cycle. Storage: 190 bits per process. at_valid_o is a
// register, the position depends only on memories, the packet also on size_i and alone_i, and the next position on all
// inputs of the cycle. Critical path: from the elements taken through the remaining elements and the packet's elements
// to the memory.
module tw_progress #(
    parameter int unsigned Processes = 4096,
    localparam int unsigned ProcessWidth = Processes > 1 ? $clog2(Processes) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    start_valid_i,    /// a process begins, at its first step
    input logic [ProcessWidth-1:0] start_process_i,

    input logic                    request_valid_i,
    input logic [ProcessWidth-1:0] request_process_i,

    // The requested process: its position, and its next packet.
    output logic        at_valid_o,
    output logic [ 6:0] at_step_o,
    output logic [15:0] at_round_o,
    output logic [15:0] at_stream_o,
    output logic        at_descriptor_o,
    input  logic [ 2:0] size_i,           /// log2 of an element's bytes, at most 4
    input  logic        alone_i,          /// a descriptor is the whole stream
    output logic [ 2:0] at_size_o,      /// log2 of its flits
    output logic [10:0] at_elements_o,
    output logic [47:0] at_first_o,     /// index of its first element in the stream
    output logic        at_last_o,      /// last packet of its stream

    // It takes the packet and advances: to another step, to its end, or neither.
    input  logic        go_i,
    input  logic [ 6:0] steps_i,
    input  logic [15:0] rounds_i,      /// passes over the steps per turn
    input  logic [15:0] streams_i,     /// streams of the step, at least 1
    input  logic [15:0] packets_i,     /// packets of a stream per turn; 0: all
    output logic        at_next_step_o,
    output logic        at_over_o,

    // Contents of the descriptor taken in the cycle before, and the operation's packet lengths: shorter packets for
    // short streams, of which together_i are counted together.
    input logic        describe_i,
    input logic [47:0] count_i,        /// elements
    input logic [ 2:0] count_size_i,   /// log2 of an element's bytes
    input logic [ 2:0] shortest_i,     /// log2 of a full packet's flits
    input logic [ 2:0] longest_i,
    input logic        ring_i,
    input logic [15:0] together_i
);
  if (Processes < 1) begin : check_processes
    $error("tw_progress: at least 1 process");
  end

  typedef struct packed {
    logic [6:0]  step;
    logic [15:0] round;
    logic [15:0] stream;
    logic [15:0] taken;            // packets of the stream taken in this turn
    logic        descriptor;       // the next packet is a descriptor
    logic        turn_descriptor;  // its value when the turn began
    logic [47:0] done;             // elements of the stream already taken
    logic [47:0] turn_done;
  } position_t;

  typedef struct packed {
    logic [47:0] count;
    logic [2:0]  size;   // log2 of a full packet's flits
  } stream_t;

  function automatic position_t first_position();
    position_t at;
    at = '0;
    at.descriptor = 1'b1;
    at.turn_descriptor = 1'b1;
    return at;
  endfunction

  // Capacity of a packet, in elements.
  function automatic logic [10:0] capacity(logic [2:0] flits, logic [2:0] element);
    return element == 3'd4 ? 11'((12'd2 << flits) - 12'd1) : 11'(((12'd32 << flits) - 12'd8) >> element);
  endfunction

  // --- Memories. A process is at its beginning while the bit that its start writes differs from the one that its first
  // packet writes.

  position_t positions_q[Processes];
  stream_t streams_q[Processes];
  (* ram_style = "distributed" *) logic started_q[Processes];
  (* ram_style = "distributed" *) logic begun_q[Processes];

  logic [ProcessWidth-1:0] process_q, described_q;
  position_t read_q;
  stream_t stream_q;

  wire fresh = started_q[process_q] != begun_q[process_q];
  wire position_t at = fresh ? first_position() : read_q;
  position_t next;
  logic [2:0] full_size;  // of the described stream

  always_ff @(posedge clk_i) begin
    at_valid_o <= !rst_i && request_valid_i;
    process_q <= request_process_i;
    described_q <= process_q;
    read_q <= positions_q[request_process_i];
    stream_q <= streams_q[request_process_i];
    if (start_valid_i) started_q[start_process_i] <= !begun_q[start_process_i];
    if (go_i) positions_q[process_q] <= next;
    if (go_i) begun_q[process_q] <= started_q[process_q];
    if (describe_i) streams_q[described_q] <= '{count_i, full_size};
  end

  assign at_step_o = at.step;
  assign at_round_o = at.round;
  assign at_stream_o = at.stream;
  assign at_descriptor_o = at.descriptor;

  // --- The next packet

  wire [47:0] left = stream_q.count - at.done;
  wire [10:0] full = capacity(stream_q.size, size_i);
  wire all_left = left <= 48'(full);
  wire [10:0] elements = at.descriptor ? 11'd0 : all_left ? left[10:0] : full;

  always_comb begin
    at_size_o = stream_q.size;
    for (int unsigned k = 7; k > 0; k--)
      if (3'(k - 1) < stream_q.size && left <= 48'(capacity(3'(k - 1), size_i))) at_size_o = 3'(k - 1);
    if (at.descriptor) at_size_o = 3'd0;
  end
  assign at_elements_o = elements;
  assign at_first_o = at.done;
  assign at_last_o = at.descriptor ? alone_i : all_left;

  // --- The next position

  wire turn_ends = at_last_o || (packets_i != '0 && 16'(at.taken + 16'd1) == packets_i);
  wire step_ends = turn_ends && 16'(at.stream + 16'd1) == streams_i;
  wire round_ends = step_ends && 7'(at.step + 7'd1) == steps_i;
  wire all_ends = round_ends && 16'(at.round + 16'd1) == rounds_i;

  always_comb begin
    next = at;
    if (!turn_ends || (all_ends && !at_last_o)) begin
      next.descriptor = 1'b0;
      next.done = at.done + 48'(elements);
    end else begin
      next.descriptor = at.turn_descriptor;
      next.done = at.turn_done;
    end
    next.taken = turn_ends ? '0 : at.taken + 16'd1;
    if (turn_ends) next.stream = step_ends ? '0 : at.stream + 16'd1;
    if (step_ends) next.step = round_ends ? '0 : at.step + 7'd1;
    if (round_ends) next.round = all_ends ? '0 : at.round + 16'd1;
    if (all_ends) begin
      next.turn_descriptor = next.descriptor;
      next.turn_done = next.done;
    end
  end

  assign at_over_o = all_ends && at_last_o;
  assign at_next_step_o = step_ends && !at_over_o && steps_i != 7'd1;

  // --- Packet length of a stream

  wire [51:0] all_bytes = 52'(count_i) << count_size_i;
  wire [19:0] bytes = all_bytes[51:20] != '0 ? '1 : all_bytes[19:0];  // saturated: more makes no difference
  wire [35:0] together = 36'(bytes) * 36'(together_i);
  always_comb begin
    full_size = longest_i;
    for (int unsigned k = 7; k > 0; k--) begin
      if (3'(k - 1) >= shortest_i && 3'(k - 1) < longest_i
          && (ring_i ? (20'd8 << (k - 1)) > bytes >> 5 : (36'd16 << (2 * (k - 1))) > together >> 5))
        full_size = 3'(k - 1);
    end
  end

`ifndef SYNTHESIS
  logic went_q;
  always_ff @(posedge clk_i) begin
    went_q <= !rst_i && go_i && at.descriptor;
    if (!rst_i) descriptor_was_taken : assert (!describe_i || went_q);
  end
`endif
endmodule
