// SPDX-License-Identifier: Apache-2.0
// Environment: streams of any length and type, one after another; words arrive and flits are accepted with any pauses. The input
// of the output register is checked: the register is a tw_skid, whose own proof shows that it loses nothing.
module packetizer_proof
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*;
(
    input logic              clk_i,
    input logic              rst_i,
    input logic              start_valid_i,
    input descriptor_t       start_descriptor_i,
    input logic        [2:0] start_size_i,
    input logic              in_valid_i,
    input logic        [3:0] in_data_i,           // one bit of each lane
    input logic              out_ready_i
);
  logic start_ready, in_ready, out_valid, out_head, out_tail;
  logic [255:0] in_data, out_data;
  always_comb for (int i = 0; i < 4; i++) in_data[64*i+:64] = {64{in_data_i[i]}};

  tw_reset_first surroundings (.*);

  tw_packetizer packets (
      .start_ready_o(start_ready),
      .in_ready_o(in_ready),
      .in_data_i(in_data),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .out_head_o(out_head),
      .out_tail_o(out_tail),
      .*
  );

  // --- The stream that is produced, and its current packet

  logic stream_q, first_q, open_q;
  logic [7:0] left_q;  // remaining flits of the packet
  descriptor_t descriptor_q;

  wire starts = start_valid_i && start_ready;
  wire goes = packets.transfer;
  wire head = packets.state_q == 2'd1 || packets.head_q;
  wire tail = packets.tail;
  // verilator lint_off UNUSEDSIGNAL
  wire network_header_t header = network_header_t'(packets.data[47:0]);
  // verilator lint_on UNUSEDSIGNAL
  wire [7:0] left = open_q ? left_q : first_q ? 8'd1 : 8'd1 << header.size;
  logic last_q;  // the packet is its stream's last
  wire last = open_q ? last_q : header.last;

  logic stalled_q;
  logic [257:0] word_q;

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid && !out_ready_i;
    word_q <= {out_head, out_tail, out_data};
    if (starts) begin
      descriptor_q <= start_descriptor_i;
      descriptor_q.last <= start_descriptor_i.collective == CollectiveBarrier;
    end
    if (goes) begin
      left_q <= left - 1;
      last_q <= last;
    end
    if (rst_i) begin
      stream_q <= 1'b0;
      first_q <= 1'b0;
      open_q <= 1'b0;
    end else begin
      if (starts) begin
        stream_q <= 1'b1;
        first_q <= 1'b1;
      end
      if (goes) begin
        first_q <= 1'b0;
        open_q <= !tail;
        if (tail && last) stream_q <= 1'b0;
      end
    end

    if (!rst_i) begin
      waits_for_ready : assert (!stalled_q || (out_valid && {out_head, out_tail, out_data} == word_q));
      one_stream_at_a_time : assert (start_ready == !stream_q && (!goes || stream_q) && (!in_ready || stream_q));
      descriptor_first : assert (!goes || !first_q || (head && tail && packets.data == descriptor_q));
      whole_packets : assert (!goes || head == !open_q);
      as_long_as_it_says : assert (!goes || tail == (left == 1));
      ends : cover (goes && tail && last && !first_q && out_valid);

      lemma_state : assert (stream_q == (packets.state_q != 2'd0) && first_q == (packets.state_q == 2'd1) && packets.state_q != 2'd3);
      lemma_descriptor : assert (!first_q || packets.descriptor_q == descriptor_q);
      lemma_size : assert (!stream_q || packets.full_size_q <= 3'd6);
      lemma_open : assert (packets.state_q != 2'd2 ? !open_q : open_q == !packets.head_q);
      lemma_left : assert (packets.state_q != 2'd2 || (open_q ? left_q == 8'(packets.flits_q) && last_q == packets.last_q :
          8'(packets.flits_q) == 8'd1 << packets.size_q && packets.size_q <= 3'd6));
      lemma_flits : assert (!open_q || (left_q != 0 && left_q < 64));
      lemma_bytes : assert (packets.state_q != 2'd2 || 32'(packets.in_packet_q) <= 32 * 32'(packets.flits_q) -
          (!packets.head_q ? 0 : packets.wide_q ? 16 : 8));
    end
  end
endmodule
