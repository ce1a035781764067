// SPDX-License-Identifier: Apache-2.0
// A node of the direct network (DCN) with the numbers of a cluster, which `thalweg rtl export` writes to tw_cluster_pkg: the shell, external ports of serial links,
// and streams of user logic; one reset for its two clocks.
//
// Order: that of its parts. Latency: that of its parts; it is out of reset three edges of each clock after rst_i falls. Throughput: that of its parts. Storage: that
// of its parts. Critical path: that of tw_crossbar.
module tw_dcn_node
  import tw_vcsn_pkg::*;
  import tw_cluster_pkg::*;
#(
    localparam int unsigned Streams   = Ports + Kernels,
    localparam int unsigned Externals = Ports,
    localparam int unsigned BurstBits = 5
) (
    input logic shell_clk_i,
    input logic link_clk_i,
    input logic rst_i,

    input  logic     command_valid_i,
    output logic     command_ready_o,
    input  command_t command_data_i,

    input  logic [Kernels-1:0]               user_in_valid_i,
    output logic [Kernels-1:0]               user_in_ready_o,
    input  logic [Kernels-1:0][WordBits-1:0] user_in_data_i,
    input  logic [Kernels-1:0]               user_in_first_i,
    input  logic [Kernels-1:0]               user_in_last_i,
    input  logic [Kernels-1:0][         7:0] user_in_channel_i,
    output logic [Kernels-1:0]               user_out_valid_o,
    input  logic [Kernels-1:0]               user_out_ready_i,
    output logic [Kernels-1:0][WordBits-1:0] user_out_data_o,
    output logic [Kernels-1:0]               user_out_first_o,
    output logic [Kernels-1:0]               user_out_last_o,
    output logic [Kernels-1:0][         7:0] user_out_channel_o,

    output logic [Dmas-1:0]                  request_valid_o,
    output logic [Dmas-1:0][MemoryBits-1:0] request_address_o,
    output logic [Dmas-1:0][  BurstBits-1:0] request_words_o,
    input  logic [Dmas-1:0]                  answer_valid_i,
    input  logic [Dmas-1:0][   WordBits-1:0] answer_data_i,
    input  logic [Dmas-1:0]                  write_ready_i,
    output logic [Dmas-1:0]                  burst_valid_o,
    output logic [Dmas-1:0][MemoryBits-1:0] burst_address_o,
    output logic [Dmas-1:0][  BurstBits-1:0] burst_words_o,
    output logic [Dmas-1:0]                  word_valid_o,
    output logic [Dmas-1:0][   WordBits-1:0] word_data_o,
    output logic [Dmas-1:0][  WordBytes-1:0] word_keep_o,
    input  logic [Dmas-1:0]                  written_i,
    output logic [Dmas-1:0]                  read_ended_o,
    output logic [Dmas-1:0]                  write_ended_o,
    output logic [Dmas-1:0]                  overrun_o,
    output logic [Dmas-1:0]                  headless_o,
    output logic [Dmas-1:0]                  broken_o,

    output logic [Ports-1:0]               tx_valid_o,
    output logic [Ports-1:0][WordBits-1:0] tx_data_o,
    input  logic [Ports-1:0]               rx_valid_i,
    input  logic [Ports-1:0][WordBits-1:0] rx_data_i,
    output logic [Ports-1:0]               credit_o,
    input  logic [Ports-1:0]               credit_i
);
  logic shell_rst, link_rst;
  tw_reset_sync shell_reset (
      .clk_i(shell_clk_i),
      .rst_i,
      .rst_o(shell_rst)
  );
  tw_reset_sync link_reset (
      .clk_i(link_clk_i),
      .rst_i,
      .rst_o(link_rst)
  );

  logic [Streams-1:0] in_valid, in_ready, in_first, in_last, out_valid, out_ready, out_first, out_last;
  logic [Streams-1:0][WordBits-1:0] in_data, out_data;
  logic [Streams-1:0][7:0] in_channel, out_channel;

  assign in_valid[Streams-1:Externals] = user_in_valid_i;
  assign user_in_ready_o = in_ready[Streams-1:Externals];
  assign in_data[Streams-1:Externals] = user_in_data_i;
  assign in_first[Streams-1:Externals] = user_in_first_i;
  assign in_last[Streams-1:Externals] = user_in_last_i;
  assign in_channel[Streams-1:Externals] = user_in_channel_i;
  assign user_out_valid_o = out_valid[Streams-1:Externals];
  assign out_ready[Streams-1:Externals] = user_out_ready_i;
  assign user_out_data_o = out_data[Streams-1:Externals];
  assign user_out_first_o = out_first[Streams-1:Externals];
  assign user_out_last_o = out_last[Streams-1:Externals];
  assign user_out_channel_o = out_channel[Streams-1:Externals];

  tw_shell #(
      .Dmas   (Dmas),
      .Streams(Streams)
  ) shell (
      .clk_i        (shell_clk_i),
      .rst_i        (shell_rst),
      .command_valid_i,
      .command_ready_o,
      .command_data_i,
      .set_valid_o  (),
      .set_data_o   (),
      .set_ready_i  (1'b1),
      .in_valid_i   (in_valid),
      .in_ready_o   (in_ready),
      .in_data_i    (in_data),
      .in_first_i   (in_first),
      .in_last_i    (in_last),
      .in_channel_i (in_channel),
      .out_valid_o  (out_valid),
      .out_ready_i  (out_ready),
      .out_data_o   (out_data),
      .out_first_o  (out_first),
      .out_last_o   (out_last),
      .out_channel_o(out_channel),
      .request_valid_o,
      .request_address_o,
      .request_words_o,
      .answer_valid_i,
      .answer_data_i,
      .write_ready_i,
      .burst_valid_o,
      .burst_address_o,
      .burst_words_o,
      .word_valid_o,
      .word_data_o,
      .word_keep_o,
      .written_i,
      .read_ended_o,
      .write_ended_o,
      .overrun_o,
      .headless_o,
      .broken_o
  );

  for (genvar i = 0; i < Ports; i++) begin : port
    tw_serial_port #(
        .SendWords   (SendWords),
        .Packets     (SendFrames),
        .ReceiveWords(ReceiveWords),
        .PacketWords (FrameWords)
    ) external (
        .shell_clk_i,
        .shell_rst_i        (shell_rst),
        .shell_in_valid_i   (out_valid[i]),
        .shell_in_ready_o   (out_ready[i]),
        .shell_in_data_i    (out_data[i]),
        .shell_in_first_i   (out_first[i]),
        .shell_in_last_i    (out_last[i]),
        .shell_in_channel_i (out_channel[i]),
        .shell_out_valid_o  (in_valid[i]),
        .shell_out_ready_i  (in_ready[i]),
        .shell_out_data_o   (in_data[i]),
        .shell_out_first_o  (in_first[i]),
        .shell_out_last_o   (in_last[i]),
        .shell_out_channel_o(in_channel[i]),
        .link_clk_i,
        .link_rst_i         (link_rst),
        .link_tx_valid_o    (tx_valid_o[i]),
        .link_tx_data_o     (tx_data_o[i]),
        .link_rx_valid_i    (rx_valid_i[i]),
        .link_rx_data_i     (rx_data_i[i]),
        .link_credit_o      (credit_o[i]),
        .link_credit_i      (credit_i[i])
    );
  end
endmodule
