// SPDX-License-Identifier: Apache-2.0
// The crossbar of a node's shell: each output takes packets from its configured input. A change takes effect after the end of the
// current packet. A packet start within a packet, whose end was lost, ends that packet, and moves in the next cycle at the earliest.
//
// in_ready_o depends on in_valid_i: it is set when a word is accepted. No two outputs may be set to the same input.
//
// Order: kept for each input. Latency: a cycle. Throughput: a word per cycle at each output. Storage: two words at each output. out_valid_o and
// its data are registers. Critical path: from in_valid_i and in_first_i through the input of an output to the selection of its word.
module tw_crossbar
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Inputs     = 6,                               /// at least 2
    parameter  int unsigned Outputs    = 6,                               /// at least 2
    localparam int unsigned InputBits  = $clog2(Inputs),
    localparam int unsigned OutputBits = $clog2(Outputs)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  set_valid_i,
    input logic [OutputBits-1:0] set_output_i,
    input logic                  set_open_i,    /// takes packets of set_input_i; otherwise of none, as after reset
    input logic [ InputBits-1:0] set_input_i,
    output logic                 refused_o,     /// for the previous cycle's setting: another output is set to the input

    input  logic [Inputs-1:0]               in_valid_i,
    output logic [Inputs-1:0]               in_ready_o,
    input  logic [Inputs-1:0][WordBits-1:0] in_data_i,
    input  logic [Inputs-1:0]               in_first_i,   /// of a packet
    input  logic [Inputs-1:0]               in_last_i,
    input  logic [Inputs-1:0][         7:0] in_channel_i,

    output logic [Outputs-1:0]               out_valid_o,
    input  logic [Outputs-1:0]               out_ready_i,
    output logic [Outputs-1:0][WordBits-1:0] out_data_o,
    output logic [Outputs-1:0]               out_first_o,
    output logic [Outputs-1:0]               out_last_o,
    output logic [Outputs-1:0][         7:0] out_channel_o
);
  if (Inputs < 2 || Outputs < 2) begin : check_sizes
    $error("tw_crossbar: Inputs and Outputs must be at least 2");
  end

  typedef struct packed {
    logic first, last;
    logic [7:0] channel;
    logic [WordBits-1:0] data;
  } word_t;

  word_t [Inputs-1:0] words;
  logic [Outputs-1:0][Inputs-1:0] select_q;  // the setting; zero: none
  logic [Outputs-1:0][Inputs-1:0] from_q;  // input of the current packet; zero: none
  logic [Outputs-1:0][Inputs-1:0] takes;  // inputs that may send a word to it
  logic [Outputs-1:0] open_q;  // a packet is in progress
  logic [Outputs-1:0] room, pushes;
  logic [Inputs-1:0] moving, offered;  // in a packet; words that may move: no packet start within a packet
  logic refuses, refused_q;

  assign refused_o = refused_q;
  always_comb begin
    refuses = 1'b0;
    for (int unsigned o = 0; o < Outputs; o++) begin
      if (set_output_i != OutputBits'(o)) refuses |= set_open_i && select_q[o][set_input_i];
    end
  end
  always_ff @(posedge clk_i) refused_q <= !rst_i && set_valid_i && refuses;

  for (genvar i = 0; i < Inputs; i++) begin : in
    assign words[i] = '{
            first: in_first_i[i],
            last: in_last_i[i],
            channel: in_channel_i[i],
            data: in_data_i[i]
        };
  end

  always_comb begin
    moving = '0;
    for (int unsigned o = 0; o < Outputs; o++) moving |= from_q[o];
    offered = in_valid_i & ~(moving & in_first_i);
  end

  always_comb begin
    in_ready_o = '0;
    for (int unsigned o = 0; o < Outputs; o++) if (room[o]) in_ready_o |= takes[o] & offered;
  end

  for (genvar o = 0; o < Outputs; o++) begin : out
    logic [Inputs-1:0] held;  // by packets to other outputs
    word_t word;

    always_comb begin
      held = '0;
      for (int unsigned other = 0; other < Outputs; other++) if (other != o) held |= from_q[other];
    end

    wire lost = (from_q[o] & in_valid_i & in_first_i) != 0;
    assign takes[o]  = open_q[o] ? from_q[o] : select_q[o] & ~held;
    assign pushes[o] = (takes[o] & offered) != 0;

    always_comb begin
      word = '0;
      for (int unsigned i = 0; i < Inputs; i++) if (takes[o][i]) word |= words[i];
    end

    always_ff @(posedge clk_i) begin
      if (set_valid_i && !refuses && set_output_i == OutputBits'(o)) begin
        select_q[o] <= set_open_i ? Inputs'(1) << set_input_i : '0;
      end
      if (room[o]) begin
        if (pushes[o]) begin
          from_q[o] <= word.last ? '0 : takes[o];
          open_q[o] <= !word.last;
        end else if (lost) begin
          from_q[o] <= '0;
          open_q[o] <= 1'b0;
        end
      end
      if (rst_i) begin
        select_q[o] <= '0;
        from_q[o]   <= '0;
        open_q[o]   <= 1'b0;
      end
    end

    tw_skid #(
        .Width($bits(word_t))
    ) skid (
        .clk_i,
        .rst_i,
        .in_valid_i (pushes[o]),
        .in_ready_o (room[o]),
        .in_data_i  (word),
        .out_valid_o(out_valid_o[o]),
        .out_ready_i(out_ready_i[o]),
        .out_data_o ({out_first_o[o], out_last_o[o], out_channel_o[o], out_data_o[o]})
    );
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      set_is_there : assert (!set_valid_i || (32'(set_output_i) < Outputs && (!set_open_i || 32'(set_input_i) < Inputs)));
      for (int unsigned o = 0; o < Outputs; o++) begin
        for (int unsigned other = 0; other < o; other++) begin
          one_output_of_an_input : assert ((select_q[o] & select_q[other]) == 0);
          one_packet_of_an_input : assert ((from_q[o] & from_q[other]) == 0);
        end
      end
    end
  end
`endif
endmodule
