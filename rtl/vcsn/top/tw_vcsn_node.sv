// SPDX-License-Identifier: Apache-2.0
// A node of VCSN with the numbers of a cluster, which `thalweg rtl export` writes to tw_cluster_pkg: the shell, external ports of Ethernet, and streams of
// user logic; one reset for its two clocks. A host's commands for external ports cross into the MACs' clock.
//
// Order: that of its parts. Latency: that of its parts; it is out of reset three edges of each clock after rst_i falls; a command for an external port takes that
// of tw_async_fifo more. Throughput: that of its parts. Storage: that of its parts, and 16 commands of each external port. Critical path: that of tw_crossbar.
module tw_vcsn_node
  import tw_vcsn_pkg::*;
  import tw_cluster_pkg::*;
#(
    localparam int unsigned Streams   = Ports * VirtualPorts + Kernels,
    localparam int unsigned Externals = Ports * VirtualPorts,
    localparam int unsigned PortBits  = VirtualPorts > 1 ? $clog2(VirtualPorts) : 1,
    localparam int unsigned BurstBits = 5
) (
    input logic shell_clk_i,
    input logic mac_clk_i,
    input logic rst_i,

    input address_t [Ports-1:0] address_i, /// of the external ports; constant

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

    output logic [Ports-1:0]                        tx_valid_o,
    input  logic [Ports-1:0]                        tx_ready_i,
    output logic [Ports-1:0][ WordBits-1:0]         tx_data_o,
    output logic [Ports-1:0][WordBytes-1:0]         tx_keep_o,
    output logic [Ports-1:0]                        tx_last_o,
    input  logic [Ports-1:0]                        rx_valid_i,
    input  logic [Ports-1:0][ WordBits-1:0]         rx_data_i,
    input  logic [Ports-1:0][WordBytes-1:0]         rx_keep_i,
    input  logic [Ports-1:0]                        rx_last_i,
    input  logic [Ports-1:0]                        rx_error_i,
    output logic [Ports-1:0][ Outcomes-1:0][31:0]   counts_o
);
  localparam int unsigned CrossingWords = 16, CrossingStages = 2;

  logic shell_rst, mac_rst;
  tw_reset_sync shell_reset (
      .clk_i(shell_clk_i),
      .rst_i,
      .rst_o(shell_rst)
  );
  tw_reset_sync mac_reset (
      .clk_i(mac_clk_i),
      .rst_i,
      .rst_o(mac_rst)
  );

  logic set_valid;
  command_t set;
  logic [Ports-1:0] set_ready;
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
      .set_valid_o  (set_valid),
      .set_data_o   (set),
      .set_ready_i  (&set_ready),
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
    logic set_there;
    command_t sets;
    circuit_t row;
    pace_t pace;
    monitor_t monitor;
    reaction_t reaction;
    credits_t credits;

    // Two commands may follow the one that finds no room: tw_shell is told two cycles later.
    logic [1:0] held_q;
    logic crossing_ready, held_valid;
    command_t held;
    wire mine = set_valid && 32'(set.place) / VirtualPorts == i;

    tw_fifo #(
        .Width($bits(command_t)),
        .Depth(4)
    ) waiting (
        .clk_i      (shell_clk_i),
        .rst_i      (shell_rst),
        .in_valid_i (mine),
        .in_ready_o (),
        .in_data_i  (set),
        .out_valid_o(held_valid),
        .out_ready_i(crossing_ready),
        .out_data_o (held),
        .count_o    ()
    );
    assign set_ready[i] = !held_valid && held_q == 0;
    always_ff @(posedge shell_clk_i) held_q <= shell_rst ? '0 : {held_q[0], mine};

    tw_async_fifo #(
        .Width ($bits(command_t)),
        .Depth (CrossingWords),
        .Stages(CrossingStages)
    ) crossing (
        .wr_clk_i  (shell_clk_i),
        .wr_rst_i  (shell_rst),
        .wr_valid_i(held_valid),
        .wr_ready_o(crossing_ready),
        .wr_data_i (held),
        .rd_clk_i  (mac_clk_i),
        .rd_rst_i  (mac_rst),
        .rd_valid_o(set_there),
        .rd_ready_i(1'b1),
        .rd_data_o (sets)
    );
    assign row  = circuit_t'(sets.body[$bits(circuit_t)-1:0]);
    assign pace = pace_t'(sets.body[$bits(pace_t)-1:0]);
    assign monitor = monitor_t'(sets.body[$bits(monitor_t)-1:0]);
    assign credits = credits_t'(sets.body[$bits(credits_t)-1:0]);
    assign reaction = reaction_t'(sets.body[$bits(reaction_t)-1:0]);

    wire [PortBits-1:0] place = PortBits'(32'(sets.place) % VirtualPorts);

    tw_ethernet_port #(
        .Ports       (VirtualPorts),
        .SendWords   (SendWords),
        .Frames      (SendFrames),
        .ReceiveWords(ReceiveWords),
        .FrameWords  (FrameWords),
        .PriorityBits(LevelBits),
        .PaceBits    (PaceWidth),
        .CyclesBits  (TimerWidth),
        .WindowBits  (WindowWidth),
        .CreditsBits (CreditsWidth)
    ) external (
        .shell_clk_i,
        .shell_rst_i        (shell_rst),
        .shell_in_valid_i   (out_valid[i*VirtualPorts+:VirtualPorts]),
        .shell_in_ready_o   (out_ready[i*VirtualPorts+:VirtualPorts]),
        .shell_in_data_i    (out_data[i*VirtualPorts+:VirtualPorts]),
        .shell_in_first_i   (out_first[i*VirtualPorts+:VirtualPorts]),
        .shell_in_last_i    (out_last[i*VirtualPorts+:VirtualPorts]),
        .shell_in_channel_i (out_channel[i*VirtualPorts+:VirtualPorts]),
        .shell_out_valid_o  (in_valid[i*VirtualPorts+:VirtualPorts]),
        .shell_out_ready_i  (in_ready[i*VirtualPorts+:VirtualPorts]),
        .shell_out_data_o   (in_data[i*VirtualPorts+:VirtualPorts]),
        .shell_out_first_o  (in_first[i*VirtualPorts+:VirtualPorts]),
        .shell_out_last_o   (in_last[i*VirtualPorts+:VirtualPorts]),
        .shell_out_channel_o(in_channel[i*VirtualPorts+:VirtualPorts]),
        .mac_clk_i,
        .mac_rst_i          (mac_rst),
        .mac_address_i      (address_i[i]),
        .mac_set_valid_i    (set_there && sets.kind == SetPace),
        .mac_set_port_i     (place),
        .mac_set_priority_i (pace.level),
        .mac_set_pace_i     (pace.pace),
        .mac_write_valid_i  (set_there && sets.kind == SetCircuit),
        .mac_write_port_i   (place),
        .mac_write_row_i    (row),
        .mac_react_valid_i  (set_there && sets.kind == SetReaction),
        .mac_react_port_i   (place),
        .mac_react_cycles_i (reaction.cycles),
        .mac_react_stops_i  (reaction.stops),
        .mac_react_pace_i   (reaction.pace),
        .mac_monitor_valid_i(set_there && sets.kind == SetMonitor),
        .mac_monitor_cycles_i(monitor.cycles),
        .mac_monitor_words_i(monitor.words),
        .mac_credits_valid_i(set_there && sets.kind == SetCredits),
        .mac_credits_port_i (place),
        .mac_credits_words_i(credits.words),
        .mac_credits_report_i(credits.report),
        .mac_tx_valid_o     (tx_valid_o[i]),
        .mac_tx_ready_i     (tx_ready_i[i]),
        .mac_tx_data_o      (tx_data_o[i]),
        .mac_tx_keep_o      (tx_keep_o[i]),
        .mac_tx_last_o      (tx_last_o[i]),
        .mac_rx_valid_i     (rx_valid_i[i]),
        .mac_rx_data_i      (rx_data_i[i]),
        .mac_rx_keep_i      (rx_keep_i[i]),
        .mac_rx_last_i      (rx_last_i[i]),
        .mac_rx_error_i     (rx_error_i[i]),
        .mac_counts_o       (counts_o[i])
    );
  end
endmodule
