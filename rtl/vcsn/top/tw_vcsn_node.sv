// SPDX-License-Identifier: Apache-2.0
// A node of VCSN: the shell, external ports for Ethernet, and streams of user logic. Host commands for external ports cross into the
// MACs' clock domain. A sequencer's command is accepted in a cycle without a host command;
// the sequencer with the lowest number goes first. shell_rst_i and mac_rst_i are asserted together, each until both clocks have had an edge.
//
// Order: that of its parts. Latency: that of its parts; a command for an external port takes that of tw_async_fifo and a cycle more. Throughput: that of its
// parts; a command two cycles after one for an external port may wait for two. Storage: that of its parts, and 16 commands for each external
// port. Critical path: that of tw_crossbar.
module tw_vcsn_node
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Ports        = 2,                                            /// external ports, at least 1
    parameter  int unsigned VirtualPorts = 2,                                            /// of each external port, 1 to 8
    parameter  int unsigned Dmas         = 2,                                            /// pairs of a read and a write engine, at least 1
    parameter  int unsigned Kernels      = 1,                                            /// streams of user logic in each direction, at least 1
    parameter  int unsigned Sequencers   = 0,                                            /// number of sequencers, 0 to 16
    parameter  int unsigned SendWords    = 512,                                          /// from here on as in tw_ethernet_port
    parameter  int unsigned SendFrames   = 32,
    parameter  int unsigned ReceiveWords = 2560,
    parameter  int unsigned FrameWords   = 143,
    parameter  int unsigned Resend       = 6445,
    parameter  int unsigned Reorder      = 3,
    parameter  int unsigned Tries        = 16,
    localparam int unsigned Externals    = Ports * VirtualPorts,
    localparam int unsigned Users        = Externals + Sequencers,                       /// index of user logic's first stream
    localparam int unsigned Streams      = Users + Kernels,
    localparam int unsigned PortBits     = VirtualPorts > 1 ? $clog2(VirtualPorts) : 1,
    localparam int unsigned BurstBits    = 5
) (
    input logic shell_clk_i,
    input logic shell_rst_i,
    input logic mac_clk_i,
    input logic mac_rst_i,

    input address_t [Ports-1:0] mac_address_i, /// of the external ports; constant

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
    output logic                             shell_refused_o,
    output logic [Dmas-1:0]                  shell_read_ended_o,
    output logic [Dmas-1:0]                  shell_write_ended_o,
    output logic [Dmas-1:0]                  shell_overrun_o,
    output logic [Dmas-1:0]                  shell_headless_o,
    output logic [Dmas-1:0]                  shell_broken_o,

    output logic [Ports-1:0]                        mac_tx_valid_o,
    input  logic [Ports-1:0]                        mac_tx_ready_i,
    output logic [Ports-1:0][ WordBits-1:0]         mac_tx_data_o,
    output logic [Ports-1:0][WordBytes-1:0]         mac_tx_keep_o,
    output logic [Ports-1:0]                        mac_tx_last_o,
    input  logic [Ports-1:0]                        mac_rx_valid_i,
    input  logic [Ports-1:0][ WordBits-1:0]         mac_rx_data_i,
    input  logic [Ports-1:0][WordBytes-1:0]         mac_rx_keep_i,
    input  logic [Ports-1:0]                        mac_rx_last_i,
    input  logic [Ports-1:0]                        mac_rx_error_i,
    output logic [Ports-1:0][ Outcomes-1:0][31:0]   mac_counts_o,
    output session_state_t [Ports-1:0][VirtualPorts-1:0] mac_session_o,

    output logic [(Sequencers > 0 ? Sequencers : 1)-1:0] shell_program_ended_o  /// of a sequencer
);
  localparam int unsigned CrossingWords = 16, CrossingStages = 2;

  logic set_valid;
  command_t set;
  logic [Ports-1:0] set_ready;
  logic [Streams-1:0] in_valid, in_ready, in_first, in_last, out_valid, out_ready, out_first, out_last;
  logic [Streams-1:0][WordBits-1:0] in_data, out_data;
  logic [Streams-1:0][7:0] in_channel, out_channel;

  assign in_valid[Streams-1:Users] = shell_user_in_valid_i;
  assign shell_user_in_ready_o = in_ready[Streams-1:Users];
  assign in_data[Streams-1:Users] = shell_user_in_data_i;
  assign in_first[Streams-1:Users] = shell_user_in_first_i;
  assign in_last[Streams-1:Users] = shell_user_in_last_i;
  assign in_channel[Streams-1:Users] = shell_user_in_channel_i;
  assign shell_user_out_valid_o = out_valid[Streams-1:Users];
  assign out_ready[Streams-1:Users] = shell_user_out_ready_i;
  assign shell_user_out_data_o = out_data[Streams-1:Users];
  assign shell_user_out_first_o = out_first[Streams-1:Users];
  assign shell_user_out_last_o = out_last[Streams-1:Users];
  assign shell_user_out_channel_o = out_channel[Streams-1:Users];

  // One extra entry that never has a command.
  localparam int unsigned GiverBits = $clog2(Sequencers + 1) > 0 ? $clog2(Sequencers + 1) : 1;
  logic [Sequencers:0] gives;
  command_t [Sequencers:0] given;
  logic [GiverBits-1:0] chosen;
  wire any_gives = gives != 0;
  assign gives[Sequencers] = 1'b0;
  assign given[Sequencers] = '0;
  always_comb begin
    chosen = GiverBits'(Sequencers);
    for (int unsigned i = Sequencers; i > 0; i--) if (gives[i-1]) chosen = GiverBits'(i - 1);
  end

  tw_shell #(
      .Dmas   (Dmas),
      .Streams(Streams)
  ) shell (
      .clk_i        (shell_clk_i),
      .rst_i        (shell_rst_i),
      .command_valid_i(shell_command_valid_i || any_gives),
      .command_ready_o(shell_command_ready_o),
      .command_data_i(shell_command_valid_i ? shell_command_data_i : given[chosen]),
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
      .refused_o    (shell_refused_o),
      .read_ended_o(shell_read_ended_o),
      .write_ended_o(shell_write_ended_o),
      .overrun_o(shell_overrun_o),
      .headless_o(shell_headless_o),
      .broken_o(shell_broken_o)
  );

  for (genvar i = 0; i < Ports; i++) begin : port
    logic set_there;
    command_t sets;
    circuit_t row;
    pace_t pace;
    monitor_t monitor;
    reaction_t reaction;
    credits_t credits;

    // Two commands may follow one that finds no room: tw_shell sees set_ready two cycles later.
    logic [1:0] held_q;
    logic crossing_ready, held_valid;
    command_t held;
    wire mine = set_valid && set.kind != Program && 32'(set.place) / VirtualPorts == i;

    tw_fifo #(
        .Width($bits(command_t)),
        .Depth(4)
    ) waiting (
        .clk_i      (shell_clk_i),
        .rst_i      (shell_rst_i),
        .in_valid_i (mine),
        .in_ready_o (),
        .in_data_i  (set),
        .out_valid_o(held_valid),
        .out_ready_i(crossing_ready),
        .out_data_o (held),
        .count_o    ()
    );
    assign set_ready[i] = !held_valid && held_q == 0;
    always_ff @(posedge shell_clk_i) held_q <= shell_rst_i ? '0 : {held_q[0], mine};

    tw_async_fifo #(
        .Width ($bits(command_t)),
        .Depth (CrossingWords),
        .Stages(CrossingStages)
    ) crossing (
        .wr_clk_i  (shell_clk_i),
        .wr_rst_i  (shell_rst_i),
        .wr_valid_i(held_valid),
        .wr_ready_o(crossing_ready),
        .wr_data_i (held),
        .rd_clk_i  (mac_clk_i),
        .rd_rst_i  (mac_rst_i),
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
        .Resend      (Resend),
        .Reorder     (Reorder),
        .Tries       (Tries),
        .PriorityBits(LevelBits),
        .PaceBits    (PaceWidth),
        .CyclesBits  (TimerWidth),
        .WindowBits  (WindowWidth),
        .CreditsBits (CreditsWidth)
    ) external (
        .shell_clk_i,
        .shell_rst_i        (shell_rst_i),
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
        .mac_rst_i          (mac_rst_i),
        .mac_address_i      (mac_address_i[i]),
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
        .mac_open_valid_i   (set_there && sets.kind == SetSession),
        .mac_open_port_i    (place),
        .mac_open_number_i  (sets.body[$bits(session_t)-1:0]),
        .mac_session_o      (mac_session_o[i]),
        .mac_tx_valid_o     (mac_tx_valid_o[i]),
        .mac_tx_ready_i     (mac_tx_ready_i[i]),
        .mac_tx_data_o      (mac_tx_data_o[i]),
        .mac_tx_keep_o      (mac_tx_keep_o[i]),
        .mac_tx_last_o      (mac_tx_last_o[i]),
        .mac_rx_valid_i     (mac_rx_valid_i[i]),
        .mac_rx_data_i      (mac_rx_data_i[i]),
        .mac_rx_keep_i      (mac_rx_keep_i[i]),
        .mac_rx_last_i      (mac_rx_last_i[i]),
        .mac_rx_error_i     (mac_rx_error_i[i]),
        .mac_counts_o       (mac_counts_o[i])
    );
  end

  if (Sequencers == 0) begin : no_sequencer
    assign shell_program_ended_o = '0;
  end
  for (genvar i = 0; i < Sequencers; i++) begin : sequencer
    localparam int unsigned Place = Externals + i;

    tw_sequencer #(
        .Dmas(Dmas)
    ) sequencer (
        .clk_i          (shell_clk_i),
        .rst_i          (shell_rst_i),
        .program_valid_i(set_valid && set.kind == Program && set.place == 8'(i)),
        .program_data_i (set.body),
        .command_valid_o(gives[i]),
        .command_ready_i(shell_command_ready_o && !shell_command_valid_i && 32'(chosen) == i),
        .command_data_o (given[i]),
        .read_ended_i   (shell_read_ended_o),
        .write_ended_i  (shell_write_ended_o),
        .out_valid_o    (in_valid[Place]),
        .out_ready_i    (in_ready[Place]),
        .in_valid_i     (out_valid[Place]),
        .in_ready_o     (out_ready[Place]),
        .ended_o        (shell_program_ended_o[i])
    );
    assign in_data[Place] = '0;
    assign in_first[Place] = 1'b1;
    assign in_last[Place] = 1'b1;
    assign in_channel[Place] = '0;
    wire unused_word = &{1'b0, out_data[Place], out_first[Place], out_last[Place], out_channel[Place]};
  end
endmodule
