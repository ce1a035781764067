// SPDX-License-Identifier: Apache-2.0
// Environment: packets of any kind and length that an ingress passes, with any pauses. The other end buffers a limited number of
// packets and units, and returns them at any time, in any portions. One bit of the words' data is checked, as they are only
// stored.
module egress_proof
  import tw_spec_pkg::*, tw_peach2_pkg::*;
#(
    parameter int unsigned Rate = 16,
    parameter int unsigned Packets = 2,
    parameter int unsigned Units = 17,
    parameter int unsigned NoticeBytes = 8,
    parameter int unsigned Most = Rate  // bytes per cycle
) (
    input logic                 clk_i,
    input logic                 rst_i,
    input logic                 watch_i,
    input logic                 start_i,        // a time window begins
    input logic                 in_valid_i,
    input logic [        127:0] in_bytes_i,
    input logic                 in_last_i,
    input logic                 notice_valid_i,
    input logic                 credit_valid_i,
    input logic [UnitsBits-1:0] credit_units_i
);
  logic in_ready, out_valid, out_last;
  word_t out_data;
  wire word_t in_data = {128'd0, in_bytes_i};
  logic inside_q;  // words of a packet are outstanding
  // A short header's address moves down by a double word.
  wire watched = !inside_q && !is_completion(in_data) && !in_bytes_i[5] ? in_bytes_i[77+32] : in_bytes_i[77];
  logic [1:0] held;

  tw_reset_first surroundings (.*);

  tw_egress #(
      .Rate(Rate),
      .Packets(Packets),
      .Units(Units),
      .NoticeBytes(NoticeBytes)
  ) egress (
      .in_ready_o (in_ready),
      .in_data_i  (in_data),
      .out_valid_o(out_valid),
      .out_data_o (out_data),
      .out_last_o (out_last),
      .*
  );

  tw_queue_properties #(
      .Width (2),
      .Depth (2),
      .Prompt(1'b0)
  ) queue (
      .in_ready_i(in_ready),
      .in_data_i({in_last_i, watched}),
      .out_valid_i(out_valid),
      .out_ready_i(1'b1),
      .out_data_i({out_last, out_data[77]}),
      .held_o(held),
      .*
  );

  // --- The arriving packet, and its bytes on the wires

  // verilator lint_off UNUSEDSIGNAL
  wire pcie_memory_write_t request = pcie_memory_write_of(in_bytes_i);
  wire pcie_completion_t answer = pcie_completion_of(in_bytes_i[95:0]);
  // verilator lint_on UNUSEDSIGNAL
  wire answers = is_completion(in_data);
  wire accept = in_valid_i && in_ready;

  logic [6:0] come_q, dwords_q;  // double words that have arrived, and their total
  logic [2:0] at_q;  // position of the first one in its line
  wire begins = accept && !inside_q;
  wire [6:0] units = in_bytes_i[6] ? (request.length[6:0] + 7'd3) / 7'd4 : 7'd0;

  // A line ends at the next multiple of eight double words.
  wire [7:0] line_end = ((8'(at_q) + 8'(come_q)) / 8'd8 + 8'd1) * 8'd8 - 8'(at_q);
  wire [7:0] come = line_end < 8'(dwords_q) ? line_end : 8'(dwords_q);
  wire [9:0] bytes = (inside_q ? 10'd4 * (10'(come) - 10'(come_q)) : 10'd3 + (answers || !in_bytes_i[5] ? 10'd12 : 10'd16)) + (in_last_i ? 10'd5 : 10'd0);
  wire [9:0] on_wires = (accept ? bytes : 10'd0) + (notice_valid_i ? 10'(NoticeBytes) : 10'd0);

  always_ff @(posedge clk_i) begin
    if (accept) begin
      come_q <= inside_q ? 7'(come) : '0;
      if (!inside_q) dwords_q <= request.length[6:0];
      if (!inside_q) at_q <= answers ? answer.lower_address[4:2] : request.address[2:0];
    end
    if (rst_i) inside_q <= 1'b0;
    else if (accept) inside_q <= !in_last_i;
  end

  logic notice_q;
  always_ff @(posedge clk_i) begin
    notice_q <= notice_valid_i;
    passes : assume (!in_valid_i || inside_q || (request.length <= 10'd64 && (request.length != 0 || in_bytes_i[7:0] == 8'h0A))
                     && (!answers || !in_bytes_i[5]));
    no_faster_than_packets : assume (!notice_valid_i || !notice_q);
  end

  // --- The other end: packets and units that it holds or that are in flight to or from it

  logic [15:0] packets_q, units_q;

  always_ff @(posedge clk_i) begin
    gives_back_what_it_has : assume (!credit_valid_i || (packets_q != 0 && 16'(credit_units_i) <= units_q));
    if (rst_i) begin
      packets_q <= '0;
      units_q   <= '0;
    end else begin
      packets_q <= packets_q + 16'(begins) - 16'(credit_valid_i);
      units_q   <= units_q + (begins ? 16'(units) : 16'd0) - (credit_valid_i ? 16'(credit_units_i) : 16'd0);
    end
  end

  // --- A time window starting at any cycle: bytes of packets and notices that arrived in it, and the capacity of its cycles

  logic open_q;
  logic [15:0] carried_q, bytes_q, owed_q;
  wire counts = (open_q || start_i) && carried_q < 16'd1024;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q <= 1'b0;
      carried_q <= '0;
      bytes_q <= '0;
      owed_q <= '0;
    end else begin
      open_q <= open_q || start_i;
      if (counts) begin
        carried_q <= carried_q + 16'(Most);
        bytes_q   <= bytes_q + 16'(on_wires);
      end
      owed_q <= owed_q + 16'(on_wires) < 16'(Rate) ? '0 : owed_q + 16'(on_wires) - 16'(Rate);
    end
  end
  // Everything that arrived before this cycle has left by its end.
  wire all_out = (held == 2'd0 || out_valid) && counts && open_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      never_too_many : assert (32'(packets_q) <= Packets && 32'(units_q) <= Units);
      room_for_the_largest : assert (!begins || (32'(packets_q) < Packets && 32'(units_q) + MaxDwords / 4 <= Units));
      conserved : assert (32'(packets_q) + 32'(egress.packets_q) == Packets && 32'(units_q) + 32'(egress.units_q) == Units);
      sends_where_there_is_room :
      assert (in_ready || owed_q >= 16'(Rate) || (!inside_q && (32'(packets_q) == Packets || 32'(units_q) + MaxDwords / 4 > Units)));
      at_most : assert (!out_valid || !counts || !open_q || 32'(bytes_q) <= 32'(carried_q) + Most - 1);
      no_slower : assert (held == 2'd0 || owed_q >= 16'(Rate) || out_valid);
      as_much : cover (all_out && bytes_q > 16'd90 && bytes_q >= carried_q);

      lemma_inside : assert (inside_q == !egress.first_q);
      lemma_line : assert (!inside_q || (7'(come_q) <= dwords_q && dwords_q <= 7'd64 && egress.left_q == dwords_q - come_q &&
          8'(egress.taken_q) == come - 8'(come_q) && (come_q == dwords_q || come_q == 0 || 3'(at_q + come_q) == 0)));
      lemma_owed : assert (16'(egress.owed_q) == owed_q && owed_q < 16'd64);
      lemma_window : assert (open_q ? carried_q >= 16'd1024 || 32'(bytes_q) <= 32'(carried_q) + 32'(owed_q) : bytes_q == 0 && carried_q == 0);
      lemma_held : assert (held == 2'(egress.pending_q) && (!queue.watched_q || queue.word_q == {egress.last_q, egress.data_q[77]}));
    end
  end
endmodule
