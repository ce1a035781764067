// SPDX-License-Identifier: Apache-2.0
// Environment: packets with as many flits as their bytes need, or more; any pauses on both sides. The input of the output
// register is checked: the register is a tw_skid, whose own proof shows that it loses nothing.
module depacketizer_proof (
    input logic         clk_i,
    input logic         rst_i,
    input logic         in_valid_i,
    input logic [  3:0] in_data_i,   // one bit of each lane
    input logic         in_tail_i,
    input logic         in_wide_i,
    input logic [ 10:0] in_bytes_i,
    input logic         out_ready_i
);
  logic in_ready, out_valid, out_last;
  logic [255:0] in_data, out_data;
  logic [5:0] out_bytes;
  logic inside_q;
  always_comb for (int i = 0; i < 4; i++) in_data[64*i+:64] = {64{in_data_i[i]}};

  tw_reset_first surroundings (.*);

  tw_depacketizer words (
      .in_ready_o(in_ready),
      .in_data_i(in_data),
      .in_head_i(!inside_q),
      .out_valid_o(out_valid),
      .out_data_o(out_data),
      .out_bytes_o(out_bytes),
      .out_last_o(out_last),
      .*
  );

  // --- Bytes of the packet, and bytes already sent

  logic open_q;  // the packet has begun to arrive, and is not yet sent completely
  logic [11:0] reported_q, gone_q;

  wire takes = in_valid_i && in_ready;
  wire [11:0] reported = takes && !inside_q ? 12'(in_bytes_i) : reported_q;
  wire goes = words.transfer;
  wire last = words.all_go;
  wire comes = inside_q || !open_q;  // its tail has not arrived yet
  wire [5:0] bytes = words.full ? 6'd32 : 6'(words.all_bytes);

  logic stalled_q;
  logic [262:0] word_q;

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid && !out_ready_i;
    word_q <= {out_last, out_bytes, out_data};
    reported_q <= reported;
    if (rst_i) begin
      inside_q <= 1'b0;
      open_q <= 1'b0;
      gone_q <= '0;
    end else begin
      if (takes) inside_q <= !in_tail_i;
      open_q <= (open_q || takes) && !(goes && last);
      if (goes) gone_q <= last ? '0 : gone_q + 12'(bytes);
    end

    if (!rst_i) begin
      waits_for_ready : assert (!stalled_q || (out_valid && {out_last, out_bytes, out_data} == word_q));
      only_last_is_short : assert (!goes || last || bytes == 6'd32);
      every_byte_once : assert (!goes || (12'(gone_q + 12'(bytes)) <= reported && (!last || gone_q + 12'(bytes) == reported)));
      packets_apart : assert (!goes || ((open_q || takes) && (!last || !comes || (takes && in_tail_i))));
      drains : cover (words.draining_q && goes && last);

      lemma_bytes : assert (!open_q || 12'(gone_q + 12'(words.held_bytes_q) + (inside_q ? 12'(words.left_q) : 12'd0)) == reported_q);
      lemma_reported : assert (!open_q || (reported_q < 2048 && gone_q <= reported_q));
      lemma_between : assert (open_q ? inside_q == !words.draining_q :
          !inside_q && !words.draining_q && gone_q == 0 && words.held_bytes_q == 0);
      lemma_held : assert (words.held_bytes_q <= 6'd32 && (!inside_q || words.held_bytes_q < 6'd32));
    end
  end
endmodule
