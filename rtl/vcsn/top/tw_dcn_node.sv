// SPDX-License-Identifier: Apache-2.0
// A node of the direct network (DCN): the shell, external ports for serial links, and streams of user logic. shell_rst_i and link_rst_i are
// asserted together, each until both clocks have had an edge.
//
// Order: that of its parts. Latency: that of its parts. Throughput: that of its parts. Storage: that of its parts. Critical path: that of tw_crossbar.
module tw_dcn_node
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Ports        = 2,                /// external ports, at least 1
    parameter  int unsigned Dmas         = 2,                /// pairs of a read and a write engine, at least 1
    parameter  int unsigned Kernels      = 1,                /// streams of user logic in each direction, at least 1
    parameter  int unsigned SendWords    = 512,              /// from here on as in tw_serial_port
    parameter  int unsigned SendFrames   = 32,
    parameter  int unsigned ReceiveWords = 512,
    parameter  int unsigned FrameWords   = 62,
    localparam int unsigned Streams      = Ports + Kernels,
    localparam int unsigned Externals    = Ports,
    localparam int unsigned BurstBits    = 5
) (
    input logic shell_clk_i,
    input logic shell_rst_i,
    input logic link_clk_i,
    input logic link_rst_i,

    input  logic     shell_command_valid_i,
    output logic     shell_command_ready_o,
    input  command_t shell_command_data_i,

    input  logic [Kernels-1:0]               shell_user_in_valid_i,
    output logic [Kernels-1:0]               shell_user_in_ready_o,
    input  logic [Kernels-1:0][WordBits-1:0] shell_user_in_data_i,
    input  logic [Kernels-1:0]               shell_user_in_first_i,
    input  logic [Kernels-1:0]               shell_user_in_last_i,
    input  logic [Kernels-1:0][         7:0] shell_user_in_channel_i,
    output logic [Kernels-1:0]               shell_user_out_valid_o,
    input  logic [Kernels-1:0]               shell_user_out_ready_i,
    output logic [Kernels-1:0][WordBits-1:0] shell_user_out_data_o,
    output logic [Kernels-1:0]               shell_user_out_first_o,
    output logic [Kernels-1:0]               shell_user_out_last_o,
    output logic [Kernels-1:0][         7:0] shell_user_out_channel_o,

    output logic [Dmas-1:0]                  shell_request_valid_o,
    output logic [Dmas-1:0][MemoryBits-1:0] shell_request_address_o,
    output logic [Dmas-1:0][  BurstBits-1:0] shell_request_words_o,
    input  logic [Dmas-1:0]                  shell_answer_valid_i,
    input  logic [Dmas-1:0][   WordBits-1:0] shell_answer_data_i,
    input  logic [Dmas-1:0]                  shell_write_ready_i,
    output logic [Dmas-1:0]                  shell_burst_valid_o,
    output logic [Dmas-1:0][MemoryBits-1:0] shell_burst_address_o,
    output logic [Dmas-1:0][  BurstBits-1:0] shell_burst_words_o,
    output logic [Dmas-1:0]                  shell_word_valid_o,
    output logic [Dmas-1:0][   WordBits-1:0] shell_word_data_o,
    output logic [Dmas-1:0][  WordBytes-1:0] shell_word_keep_o,
    input  logic [Dmas-1:0]                  shell_written_i,
    output logic [Dmas-1:0]                  shell_read_ended_o,
    output logic [Dmas-1:0]                  shell_write_ended_o,
    output logic [Dmas-1:0]                  shell_overrun_o,
    output logic [Dmas-1:0]                  shell_headless_o,
    output logic [Dmas-1:0]                  shell_broken_o,

    output logic [Ports-1:0]               link_tx_valid_o,
    output logic [Ports-1:0][WordBits-1:0] link_tx_data_o,
    input  logic [Ports-1:0]               link_rx_valid_i,
    input  logic [Ports-1:0][WordBits-1:0] link_rx_data_i,
    output logic [Ports-1:0]               link_credit_o,
    input  logic [Ports-1:0]               link_credit_i
);
  logic [Streams-1:0] in_valid, in_ready, in_first, in_last, out_valid, out_ready, out_first, out_last;
  logic [Streams-1:0][WordBits-1:0] in_data, out_data;
  logic [Streams-1:0][7:0] in_channel, out_channel;

  assign in_valid[Streams-1:Externals] = shell_user_in_valid_i;
  assign shell_user_in_ready_o = in_ready[Streams-1:Externals];
  assign in_data[Streams-1:Externals] = shell_user_in_data_i;
  assign in_first[Streams-1:Externals] = shell_user_in_first_i;
  assign in_last[Streams-1:Externals] = shell_user_in_last_i;
  assign in_channel[Streams-1:Externals] = shell_user_in_channel_i;
  assign shell_user_out_valid_o = out_valid[Streams-1:Externals];
  assign out_ready[Streams-1:Externals] = shell_user_out_ready_i;
  assign shell_user_out_data_o = out_data[Streams-1:Externals];
  assign shell_user_out_first_o = out_first[Streams-1:Externals];
  assign shell_user_out_last_o = out_last[Streams-1:Externals];
  assign shell_user_out_channel_o = out_channel[Streams-1:Externals];

  tw_shell #(
      .Dmas   (Dmas),
      .Streams(Streams)
  ) shell (
      .clk_i        (shell_clk_i),
      .rst_i        (shell_rst_i),
      .command_valid_i(shell_command_valid_i),
      .command_ready_o(shell_command_ready_o),
      .command_data_i(shell_command_data_i),
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
      .request_valid_o(shell_request_valid_o),
      .request_address_o(shell_request_address_o),
      .request_words_o(shell_request_words_o),
      .answer_valid_i(shell_answer_valid_i),
      .answer_data_i(shell_answer_data_i),
      .write_ready_i(shell_write_ready_i),
      .burst_valid_o(shell_burst_valid_o),
      .burst_address_o(shell_burst_address_o),
      .burst_words_o(shell_burst_words_o),
      .word_valid_o(shell_word_valid_o),
      .word_data_o(shell_word_data_o),
      .word_keep_o(shell_word_keep_o),
      .written_i(shell_written_i),
      .refused_o    (),
      .read_ended_o(shell_read_ended_o),
      .write_ended_o(shell_write_ended_o),
      .overrun_o(shell_overrun_o),
      .headless_o(shell_headless_o),
      .broken_o(shell_broken_o)
  );

  for (genvar i = 0; i < Ports; i++) begin : port
    tw_serial_port #(
        .SendWords   (SendWords),
        .Packets     (SendFrames),
        .ReceiveWords(ReceiveWords),
        .PacketWords (FrameWords)
    ) external (
        .shell_clk_i,
        .shell_rst_i        (shell_rst_i),
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
        .link_rst_i         (link_rst_i),
        .link_tx_valid_o    (link_tx_valid_o[i]),
        .link_tx_data_o     (link_tx_data_o[i]),
        .link_rx_valid_i    (link_rx_valid_i[i]),
        .link_rx_data_i     (link_rx_data_i[i]),
        .link_credit_o      (link_credit_o[i]),
        .link_credit_i      (link_credit_i[i])
    );
  end
endmodule
