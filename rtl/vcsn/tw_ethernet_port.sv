// SPDX-License-Identifier: Apache-2.0
// An external port for Ethernet: virtual ports with their buffers, the circuit table at both ends, encoder and decoder of frames, and the reception
// monitor. Streams of the shell are in its clock domain; the MAC's streams and the settings are in the MAC's, which is one for both directions.
//
// A written row of the circuit table applies, from the second cycle on, to frames that are chosen, and to those whose first word came two cycles before; frames in
// flight keep their row. shell_rst_i and mac_rst_i are asserted together, each until both clocks have had an edge.
//
// Order: kept for each virtual port. Latency: that of tw_send_buffer, tw_multiplexer and tw_encoder; of tw_decoder and tw_receive_buffer. Throughput: a word per cycle of the
// MAC. Storage: that of its blocks. Outputs: as of its blocks. Critical path: from the waiting frames through the choice of one to its pace.
module tw_ethernet_port
  import tw_vcsn_pkg::*;
  import tw_vcsn_spec_pkg::*;
#(
    parameter  int unsigned Ports        = 2,    /// virtual ports, 1 to 8
    parameter  int unsigned SendWords    = 512,  /// per virtual port, a power of two, at least FrameWords
    parameter  int unsigned Frames       = 32,   /// queued at each, a power of two, at least 2
    parameter  int unsigned ReceiveWords = 2560, /// per virtual port, at least FrameWords
    parameter  int unsigned FrameWords   = 143,  /// maximum of a frame
    parameter  int unsigned Resend       = 6445, /// of a session, as in tw_session_end, like the next two
    parameter  int unsigned Reorder      = 3,
    parameter  int unsigned Tries        = 16,
    parameter  int unsigned EtherType    = 'h88B5, /// default: for local experiments
    parameter  int unsigned PriorityBits = 3,    /// at least 1
    parameter  int unsigned PaceBits     = 20,   /// at least 10
    parameter  int unsigned CountBits    = 32,   /// of the counter of each outcome, even
    parameter  int unsigned CyclesBits   = 24,   /// of windows and reactions, at least 2
    parameter  int unsigned WindowBits   = 15,   /// of words in a window of the monitor, at least WordsBits
    parameter  int unsigned CreditsBits  = 15,   /// of outstanding words, as in tw_credits
    localparam int unsigned PortBits     = Ports > 1 ? $clog2(Ports) : 1,
    localparam int unsigned WordsBits    = $clog2(FrameWords + 1),
    localparam int unsigned FramesBits   = $clog2(Frames),
    /// Maximum number of a session's frames in flight, for which both buffers have room.
    localparam int unsigned Fitting      = ReceiveWords / FrameWords < Frames ? ReceiveWords / FrameWords : Frames,
    localparam int unsigned Window       = Fitting > 64 ? 64 : 2 ** ($clog2(Fitting + 1) - 1),
    localparam int unsigned SlotBits     = Window > 1 ? $clog2(Window) : 1
) (
    input  logic                            shell_clk_i,
    input  logic                            shell_rst_i,
    input  logic [Ports-1:0]                shell_in_valid_i,
    output logic [Ports-1:0]                shell_in_ready_o,
    input  logic [Ports-1:0][ WordBits-1:0] shell_in_data_i,
    input  logic [Ports-1:0]                shell_in_first_i,    /// of a packet
    input  logic [Ports-1:0]                shell_in_last_i,
    input  logic [Ports-1:0][          7:0] shell_in_channel_i,
    output logic [Ports-1:0]                shell_out_valid_o,
    input  logic [Ports-1:0]                shell_out_ready_i,
    output logic [Ports-1:0][ WordBits-1:0] shell_out_data_o,
    output logic [Ports-1:0]                shell_out_first_o,
    output logic [Ports-1:0]                shell_out_last_o,
    output logic [Ports-1:0][          7:0] shell_out_channel_o,

    input logic     mac_clk_i,
    input logic     mac_rst_i,
    input address_t mac_address_i, /// constant

    input logic                    mac_set_valid_i,     /// a virtual port's priority and pace, as in tw_multiplexer
    input logic [    PortBits-1:0] mac_set_port_i,
    input logic [PriorityBits-1:0] mac_set_priority_i,
    input logic [    PaceBits-1:0] mac_set_pace_i,
    input logic                    mac_write_valid_i,   /// a row of the circuit table
    input logic [    PortBits-1:0] mac_write_port_i,
    input circuit_t                mac_write_row_i,
    input logic                    mac_react_valid_i,   /// reaction of a virtual port to an indication, as in tw_encoder
    input logic [    PortBits-1:0] mac_react_port_i,
    input logic [  CyclesBits-1:0] mac_react_cycles_i,
    input logic                    mac_react_stops_i,
    input logic [    PaceBits-1:0] mac_react_pace_i,
    input logic                    mac_monitor_valid_i, /// limit of the monitor, as in tw_monitor
    input logic [  CyclesBits-1:0] mac_monitor_cycles_i,
    input logic [  WindowBits-1:0] mac_monitor_words_i,
    input logic                    mac_credits_valid_i, /// a virtual port's credits, as in tw_credits; writing a row turns them off
    input logic [    PortBits-1:0] mac_credits_port_i,
    input logic [ CreditsBits-1:0] mac_credits_words_i,
    input logic [ CreditsBits-1:0] mac_credits_report_i,
    input logic                    mac_open_valid_i,    /// a virtual port's session; turns its credits off, as writing a row ends its session
    input logic [    PortBits-1:0] mac_open_port_i,
    input session_t                mac_open_number_i,
    output session_state_t [Ports-1:0] mac_session_o,

    output logic                 mac_tx_valid_o,
    input  logic                 mac_tx_ready_i,
    output logic [ WordBits-1:0] mac_tx_data_o,
    output logic [WordBytes-1:0] mac_tx_keep_o,
    output logic                 mac_tx_last_o,
    input  logic                 mac_rx_valid_i,
    input  logic [ WordBits-1:0] mac_rx_data_i,
    input  logic [WordBytes-1:0] mac_rx_keep_i,
    input  logic                 mac_rx_last_i,
    input  logic                 mac_rx_error_i,  /// with the last word: the FCS is wrong

    output logic [Outcomes-1:0][CountBits-1:0] mac_counts_o  /// as in tw_decoder
);
  logic [Ports-1:0] frame_valid, frame_single, frame_first, frame_last, read, pop, read_valid;
  logic [Ports-1:0][WordsBits-1:0] frame_words, sent_words;
  logic [Ports-1:0][7:0] frame_channel, word_channel;
  logic [Ports-1:0][WordBits-1:0] read_data, word_data;
  logic [Ports-1:0] room, word_valid, word_first, word_last, commit, drop, indicate, indicated, writes, written_q;
  logic [Ports-1:0] held, sent, left, report, reported, credit, opens, opened_q;
  logic [Ports-1:0][31:0] report_number, credit_number;
  logic [WordsBits-1:0] kept_words;

  // Sessions.
  logic [Ports-1:0] keeps, closing, used, keep, select, release_frame, may_send, receiving, idle, begins_again, frame_left;
  logic [Ports-1:0] says, said, says_first, says_last, rx_valid, rx_first, rx_last;
  logic [Ports-1:0][FramesBits:0] frames;
  logic [Ports-1:0][FramesBits-1:0] offset;
  logic [Ports-1:0][Window-1:0] slots_held;
  logic [Ports-1:0][$bits(frame_kind_e)-1:0] says_kind, rx_kind;
  logic [Ports-1:0][63:0] says_number, rx_number;
  vcsn_sequence_t [Ports-1:0] sequence_headers, rx_sequence;
  logic [31:0] begin_number;
  logic begin_valid;

  // The encoder chooses with rows one cycle before the decoder decides; sessions begin and end with the decoder.
  logic write_valid_q;
  logic [PortBits-1:0] write_port_q;
  circuit_t write_row_q;
  session_t open_number_q;
  always_ff @(posedge mac_clk_i) begin
    write_valid_q <= !mac_rst_i && mac_write_valid_i;
    write_port_q  <= mac_write_port_i;
    write_row_q   <= mac_write_row_i;
    written_q     <= mac_rst_i ? '0 : writes;
    opened_q      <= mac_rst_i ? '0 : opens;
    open_number_q <= mac_open_number_i;
  end

  for (genvar i = 0; i < Ports; i++) begin : port
    assign writes[i] = mac_write_valid_i && mac_write_port_i == PortBits'(i);
    assign opens[i] = mac_open_valid_i && mac_open_port_i == PortBits'(i);

    tw_send_buffer #(
        .Width     (WordBits),
        .Words     (SendWords),
        .FrameWords(FrameWords),
        .Frames    (Frames)
    ) send (
        .shell_clk_i,
        .shell_rst_i,
        .shell_valid_i      (shell_in_valid_i[i]),
        .shell_ready_o      (shell_in_ready_o[i]),
        .shell_data_i       (shell_in_data_i[i]),
        .shell_first_i      (shell_in_first_i[i]),
        .shell_last_i       (shell_in_last_i[i]),
        .shell_channel_i    (shell_in_channel_i[i]),
        .mac_clk_i,
        .mac_rst_i,
        .mac_keep_i         (keeps[i]),
        .mac_select_i       (select[i]),
        .mac_offset_i       (offset[i]),
        .mac_release_i      (release_frame[i]),
        .mac_frames_o       (frames[i]),
        .mac_frame_valid_o  (frame_valid[i]),
        .mac_frame_words_o  (frame_words[i]),
        .mac_frame_single_o (frame_single[i]),
        .mac_frame_first_o  (frame_first[i]),
        .mac_frame_last_o   (frame_last[i]),
        .mac_frame_channel_o(frame_channel[i]),
        .mac_read_i         (read[i]),
        .mac_pop_i          (pop[i] && !keeps[i]),
        .mac_word_valid_o   (read_valid[i]),
        .mac_word_data_o    (read_data[i])
    );

    tw_receive_buffer #(
        .Width     (WordBits),
        .Words     (ReceiveWords),
        .FrameWords(FrameWords),
        .Window    (Window)
    ) receive (
        .mac_clk_i,
        .mac_rst_i,
        .mac_room_o     (room[i]),
        .mac_valid_i    (word_valid[i]),
        .mac_data_i     (word_data[i]),
        .mac_first_i    (word_first[i]),
        .mac_last_i     (word_last[i]),
        .mac_channel_i  (word_channel[i]),
        .mac_commit_i   (commit[i]),
        .mac_drop_i     (drop[i]),
        .mac_word_left_o(left[i]),
        .mac_slots_i    (keeps[i]),
        .mac_begin_again_i(begins_again[i]),
        .mac_idle_o     (idle[i]),
        .mac_begin_i    (begin_valid),
        .mac_slot_i     (SlotBits'(slot_of(begin_number[5:0], Window))),
        .mac_keep_i     (keep[i]),
        .mac_left_o     (frame_left[i]),
        .mac_held_o     (slots_held[i]),
        .shell_clk_i,
        .shell_rst_i,
        .shell_valid_o  (shell_out_valid_o[i]),
        .shell_ready_i  (shell_out_ready_i[i]),
        .shell_data_o   (shell_out_data_o[i]),
        .shell_first_o  (shell_out_first_o[i]),
        .shell_last_o   (shell_out_last_o[i]),
        .shell_channel_o(shell_out_channel_o[i])
    );

    tw_session_end #(
        .Window (Window),
        .Frames (Frames),
        .Resend (Resend),
        .Reorder(Reorder),
        .Tries  (Tries)
    ) session (
        .clk_i           (mac_clk_i),
        .rst_i           (mac_rst_i),
        .open_valid_i    (written_q[i] || opened_q[i]),
        .open_number_i   (written_q[i] ? '0 : open_number_q),
        .used_o          (used[i]),
        .closing_o       (closing[i]),
        .keeps_o         (keeps[i]),
        .state_o         (mac_session_o[i]),
        .frames_i        (frames[i]),
        .select_valid_o  (select[i]),
        .select_offset_o (offset[i]),
        .release_o       (release_frame[i]),
        .may_send_o      (may_send[i]),
        .chosen_i        (sent[i]),
        .done_i          (pop[i]),
        .says_o          (says[i]),
        .said_i          (said[i]),
        .says_kind_o     (says_kind[i]),
        .says_first_o    (says_first[i]),
        .says_last_o     (says_last[i]),
        .says_number_o   (says_number[i]),
        .sequence_o      (sequence_headers[i]),
        .receiving_i     (receiving[i]),
        .idle_i          (idle[i]),
        .left_i          (frame_left[i]),
        .held_i          (slots_held[i]),
        .begin_again_o   (begins_again[i]),
        .keep_o          (keep[i]),
        .commit_i        (commit[i]),
        .begin_valid_i   (begin_valid),
        .begin_number_i  (begin_number),
        .rx_valid_i   (rx_valid[i]),
        .rx_sequence_i(rx_sequence[i]),
        .rx_kind_i    (rx_kind[i]),
        .rx_first_i   (rx_first[i]),
        .rx_last_i    (rx_last[i]),
        .rx_received_i(rx_number[i][Window-1:0])
    );
  end

  tw_encoder #(
      .Ports       (Ports),
      .FrameWords  (FrameWords),
      .EtherType   (EtherType),
      .PriorityBits(PriorityBits),
      .PaceBits    (PaceBits),
      .CyclesBits  (CyclesBits)
  ) encoder (
      .clk_i          (mac_clk_i),
      .rst_i          (mac_rst_i),
      .address_i      (mac_address_i),
      .set_valid_i    (mac_set_valid_i),
      .set_port_i     (mac_set_port_i),
      .set_priority_i (mac_set_priority_i),
      .set_pace_i     (mac_set_pace_i),
      .write_valid_i  (write_valid_q),
      .write_port_i   (write_port_q),
      .write_row_i    (write_row_q),
      .react_valid_i  (mac_react_valid_i),
      .react_port_i   (mac_react_port_i),
      .react_cycles_i (mac_react_cycles_i),
      .react_stops_i  (mac_react_stops_i),
      .react_pace_i   (mac_react_pace_i),
      .indicate_i     (indicate),
      .indicated_i    (indicated),
      .held_i         (held),
      .sent_valid_o   (sent),
      .sent_words_o   (sent_words),
      .says_valid_i   (says),
      .said_o         (said),
      .says_kind_i    (says_kind),
      .says_first_i   (says_first),
      .says_last_i    (says_last),
      .says_number_i  (says_number),
      .sequenced_i    (keeps),
      .sequence_i     (sequence_headers),
      .report_i       (report),
      .reported_o     (reported),
      .report_number_i(report_number),
      .frame_valid_i  (frame_valid & may_send),
      .frame_words_i  (frame_words),
      .frame_single_i (frame_single),
      .frame_first_i  (frame_first),
      .frame_last_i   (frame_last),
      .frame_channel_i(frame_channel),
      .read_o         (read),
      .pop_o          (pop),
      .word_valid_i   (read_valid),
      .word_data_i    (read_data),
      .tx_valid_o     (mac_tx_valid_o),
      .tx_ready_i     (mac_tx_ready_i),
      .tx_data_o      (mac_tx_data_o),
      .tx_keep_o      (mac_tx_keep_o),
      .tx_last_o      (mac_tx_last_o)
  );

  tw_decoder #(
      .Ports     (Ports),
      .FrameWords(FrameWords),
      .EtherType (EtherType),
      .CountBits (CountBits)
  ) decoder (
      .clk_i         (mac_clk_i),
      .rst_i         (mac_rst_i),
      .address_i     (mac_address_i),
      .write_valid_i (mac_write_valid_i),
      .write_port_i  (mac_write_port_i),
      .write_row_i   (mac_write_row_i),
      .rx_valid_i    (mac_rx_valid_i),
      .rx_data_i     (mac_rx_data_i),
      .rx_keep_i     (mac_rx_keep_i),
      .rx_last_i     (mac_rx_last_i),
      .rx_error_i    (mac_rx_error_i),
      .room_i        (room & ~closing),
      .word_valid_o  (word_valid),
      .word_data_o   (word_data),
      .word_first_o  (word_first),
      .word_last_o   (word_last),
      .word_channel_o(word_channel),
      .commit_o      (commit),
      .drop_o        (drop),
      .receiving_o   (receiving),
      .kept_valid_o  (),
      .kept_words_o  (kept_words),
      .indicated_o   (indicated),
      .credit_valid_o(credit),
      .credit_number_o(credit_number),
      .session_i     (used),
      .begin_valid_o (begin_valid),
      .begin_number_o(begin_number),
      .rx_valid_o (rx_valid),
      .rx_sequence_o(rx_sequence),
      .rx_kind_o  (rx_kind),
      .rx_first_o (rx_first),
      .rx_last_o  (rx_last),
      .rx_number_o(rx_number),
      .counts_o      (mac_counts_o)
  );

  tw_credits #(
      .Ports      (Ports),
      .FrameWords (FrameWords),
      .CreditsBits(CreditsBits)
  ) credits (
      .clk_i          (mac_clk_i),
      .rst_i          (mac_rst_i),
      .set_valid_i    (mac_credits_valid_i),
      .set_port_i     (mac_credits_port_i),
      .set_words_i    (mac_credits_words_i),
      .set_report_i   (mac_credits_report_i),
      .forget_i       (writes | opens),
      .held_o         (held),
      .sent_i         (sent),
      .words_i        (sent_words),
      .taken_i        (credit),
      .number_i       (credit_number),
      .left_i         (left),
      .report_valid_o (report),
      .reported_i     (reported),
      .report_number_o(report_number)
  );

  tw_monitor #(
      .Ports     (Ports),
      .FrameWords(FrameWords),
      .CyclesBits(CyclesBits),
      .WordsBits (WindowBits)
  ) monitor (
      .clk_i       (mac_clk_i),
      .rst_i       (mac_rst_i),
      .set_valid_i (mac_monitor_valid_i),
      .set_cycles_i(mac_monitor_cycles_i),
      .set_words_i (mac_monitor_words_i),
      .forget_i    (written_q),
      .ends_i      (commit),
      .words_i     (kept_words),
      .indicate_o  (indicate)
  );
endmodule
