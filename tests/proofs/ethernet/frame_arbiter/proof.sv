// SPDX-License-Identifier: Apache-2.0
// Environment: frames of any lengths at all inputs, with any gaps. Of each word, one free bit and the number of its input are
// tracked.
module frame_arbiter_proof
  import tw_ethernet_pkg::*;
#(
    parameter int unsigned Inputs = 2,
    parameter int unsigned Others = Inputs - 1  // maximum number of frames that end while an input waits
) (
    input logic              clk_i,
    input logic              rst_i,
    input logic              watch_i,
    input logic [Inputs-1:0] in_valid_i,
    input logic [Inputs-1:0] bit_i,
    input logic [Inputs-1:0] in_last_i,
    input logic              tx_ready_i
);
  localparam int unsigned NumberBits = $clog2(Inputs);
  typedef struct packed {
    logic last;
    logic [NumberBits-1:0] input_number;
    logic free;
  } followed_t;

  logic [Inputs-1:0] in_ready;
  logic [Inputs-1:0][WordBits-1:0] data;
  logic tx_valid, tx_last;
  logic [WordBits-1:0] tx_data;
  followed_t front;

  tw_reset_first surroundings (.*);

  for (genvar i = 0; i < Inputs; i++) begin : words
    assign data[i] = WordBits'({NumberBits'(i), bit_i[i]});
  end
  assign front = {tx_last, tx_data[NumberBits:0]};

  tw_frame_arbiter #(
      .Inputs(Inputs)
  ) arbiter (
      .in_ready_o(in_ready),
      .in_data_i (data),
      .in_keep_i ('0),
      .tx_valid_o(tx_valid),
      .tx_data_o (tx_data),
      .tx_keep_o (),
      .tx_last_o (tx_last),
      .*
  );

  wire [Inputs-1:0] moves = in_valid_i & in_ready;
  logic [Inputs-1:0] ends, waits_q;
  logic inside_q, taking_q, idle_q;  // a frame has begun at the output; at an input
  logic [NumberBits-1:0] number_q;
  logic [Inputs-1:0] from_q;
  assign ends = moves & in_last_i;

  always_ff @(posedge clk_i) begin
    if (tx_valid && tx_ready_i) number_q <= front.input_number;
    if (moves != 0) from_q <= moves;
    waits_q <= in_valid_i & ~in_ready;
    if (rst_i) begin
      inside_q <= 1'b0;
      taking_q <= 1'b0;
      idle_q   <= 1'b0;
      waits_q  <= '0;
    end else begin
      if (tx_valid && tx_ready_i) inside_q <= !tx_last;
      if (moves != 0) taking_q <= ends == 0;
      idle_q <= in_valid_i != 0 && in_ready != 0 && moves == 0 && !taking_q;
    end

    valid_stays : assume (rst_i || (waits_q & ~in_valid_i) == 0);
    if (!rst_i) begin
      not_cut : assert (!tx_valid || !inside_q || front.input_number == number_q);
      one_at_a_time : assert ((moves & (moves - 1'b1)) == 0);
      never_idle_twice : assert (!idle_q || in_ready == 0 || moves != 0);
      turns : cover (tx_valid && tx_ready_i && front.input_number != number_q && !inside_q);

      lemma_inside : assert (arbiter.inside_q == taking_q && (!taking_q || arbiter.owner_q == from_q));
      lemma_idle : assert (!idle_q || (in_valid_i & arbiter.owner_q) != 0);
      lemma_front : assert (tx_valid ? (!inside_q || front.input_number == number_q) : arbiter.skid.spare_valid_q == 0);
      lemma_spare :
      assert (!arbiter.skid.spare_valid_q || tx_last || arbiter.skid.spare_q[NumberBits:1] == front.input_number);
      lemma_taking : assert (taking_q == (arbiter.skid.spare_valid_q ? !arbiter.skid.spare_q[WordBits+WordBytes] :
                                          tx_valid ? !tx_last : inside_q));
      lemma_from :
      assert (!taking_q || from_q == Inputs'(1) << (arbiter.skid.spare_valid_q ? arbiter.skid.spare_q[NumberBits:1] :
                                                    tx_valid ? front.input_number : number_q));
    end
  end

  for (genvar i = 0; i < Inputs; i++) begin : source
    logic [1:0] held;
    logic [NumberBits:0] others_q;

    tw_queue_properties #(
        .Width (2),
        .Depth (2),
        .Prompt(1'b0)
    ) queue (
        .in_valid_i (in_valid_i[i]),
        .in_ready_i (in_ready[i]),
        .in_data_i  ({in_last_i[i], bit_i[i]}),
        .out_valid_i(tx_valid && 32'(front.input_number) == i),
        .out_ready_i(tx_ready_i),
        .out_data_i ({front.last, front.free}),
        .held_o     (held),
        .*
    );

    always_ff @(posedge clk_i) begin
      if (rst_i || !in_valid_i[i] || in_ready[i]) others_q <= '0;
      else if (ends != 0) others_q <= others_q + 1'b1;
      if (!rst_i) fair : assert (32'(others_q) <= Others);
    end
  end
endmodule
