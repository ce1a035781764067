// SPDX-License-Identifier: Apache-2.0
// A board with ACCL's complete engine: tw_control_plane and tw_accl_node. Hosts and kernels make calls; a host accesses the exchange memory, and sets the table of ends, the
// UDP address of each session, which on a board is in the network stack.
//
// Order: that of its parts. Latency: that of its parts. Throughput: that of its parts. Storage: that of its parts. Critical path: that of its parts, and the choice of the data path's
// command.
module tw_accl_engine
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
  import tw_reduce_pkg::pairs_t;
  import tw_ethernet_pkg::udp_end_t;
  import tw_ethernet_pkg::received_t;
  import tw_ethernet_pkg::answered_t;
#(
    parameter int unsigned Ports         = 3,     /// as in tw_control_plane: for hosts, and the last one for kernels
    parameter int unsigned Calls         = 8,
    parameter int unsigned CyclesPerUs   = 250,
    parameter int unsigned Buffers       = 16,    /// as in tw_accl_node
    parameter int unsigned Communicators = 8,
    parameter int unsigned Ranks         = 64,
    parameter int unsigned MostPackets   = 64,
    parameter int unsigned Room          = 512,
    parameter bit          Conversions   = 1'b1,
    parameter pairs_t      Pairs         = accl_pairs(),
    parameter int unsigned Ends          = 64,
    parameter int unsigned PacketBytes   = 4096,
    parameter int unsigned ReceiveWords  = 1024,
    parameter int unsigned OwnWords      = 256,
    localparam int unsigned Slots        = 2 * Calls
) (
    input logic     engine_clk_i,
    input logic     engine_rst_i,
    input logic     mac_clk_i,
    input logic     mac_rst_i,
    input udp_end_t mac_own_i,            /// constant
    input logic [31:0] engine_identity_i, /// of the exchange memory; constant

    input  logic        engine_end_valid_i,  /// UDP address of a session
    output logic        engine_end_ready_o,
    input  logic [ 7:0] engine_end_session_i,
    input  udp_end_t    engine_end_i,

    input  logic        engine_access_valid_i,  /// from the host, as in tw_exchange_ports
    output logic        engine_access_ready_o,
    input  logic        engine_access_write_i,
    input  logic [31:0] engine_access_at_i,
    input  logic [31:0] engine_access_data_i,
    output logic        engine_exchange_valid_o,
    output logic        engine_exchange_refused_o,
    output logic [31:0] engine_exchange_data_o,

    input  logic [Ports-1:0]       engine_call_valid_i,  /// words of calls, 15 per call
    output logic [Ports-1:0]       engine_call_ready_o,
    input  logic [Ports-1:0][31:0] engine_call_data_i,
    output logic                   engine_status_valid_o,  /// as in tw_control_plane
    input  logic                   engine_status_ready_i,
    output logic            [ 1:0] engine_status_port_o,
    output logic            [ 7:0] engine_status_count_o,
    output logic            [31:0] engine_status_code_o,
    output logic [Slots-1:0]       engine_message_waits_o,  /// moves of calls, as in tw_mover
    output logic [Slots-1:0]       engine_kernel_waits_o,

    output logic [1:0]                engine_request_valid_o,  /// from here on as in tw_accl_node
    input  logic [1:0]                engine_request_ready_i,
    output logic [1:0]                engine_request_host_o,
    output address_t [1:0]            engine_request_at_o,
    output logic [1:0][PieceBits-1:0] engine_request_bytes_o,
    input  logic [1:0]                engine_answer_valid_i,
    output logic [1:0]                engine_answer_ready_o,
    input  logic [1:0][ WordBits-1:0] engine_answer_data_i,

    output logic [1:0]                engine_write_valid_o,
    input  logic [1:0]                engine_write_ready_i,
    output logic [1:0]                engine_write_host_o,
    output address_t [1:0]            engine_write_at_o,
    output logic [1:0][PieceBits-1:0] engine_write_bytes_o,
    output logic [1:0]                engine_data_valid_o,
    input  logic [1:0]                engine_data_ready_i,
    output logic [1:0][ WordBits-1:0] engine_data_o,
    output logic [1:0]                engine_data_last_o,
    input  logic [1:0]                engine_written_i,

    input  logic                engine_from_kernel_valid_i,
    output logic                engine_from_kernel_ready_o,
    input  logic [WordBits-1:0] engine_from_kernel_data_i,
    output logic                engine_to_kernel_valid_o,
    input  logic                engine_to_kernel_ready_i,
    output logic [WordBits-1:0] engine_to_kernel_data_o,
    output logic                engine_to_kernel_last_o,
    output logic [         7:0] engine_to_kernel_number_o,

    output logic [$bits(taken_t)-1:0][31:0] engine_counts_o,
    output logic [31:0] engine_own_dropped_o,

    output logic                mac_tx_valid_o,
    input  logic                mac_tx_ready_i,
    output logic [WordBits-1:0] mac_tx_data_o,
    output logic [WordBytes-1:0] mac_tx_keep_o,
    output logic                mac_tx_last_o,
    input  logic                mac_rx_valid_i,
    input  logic [WordBits-1:0] mac_rx_data_i,
    input  logic [WordBytes-1:0] mac_rx_keep_i,
    input  logic                mac_rx_last_i,
    input  logic                mac_rx_error_i,
    output logic [$bits(received_t)-1:0][31:0] mac_received_o,
    output logic [$bits(answered_t)-1:0][31:0] mac_answered_o,
    output logic [31:0]         mac_dropped_o
);
  logic sets, command_valid, command_ready, moves, ended;
  setting_t set;
  command_e command_kind;
  logic [7:0] own, command_slot, ended_slot, moves_slot;
  move_t move;
  end_e ended_how;
  // verilator lint_off UNUSEDSIGNAL
  logic unused_move;
  logic [63:0] unused_length;
  // verilator lint_on UNUSEDSIGNAL

  tw_control_plane #(
      .Ports        (Ports),
      .Calls        (Calls),
      .Communicators(Communicators),
      .Ranks        (Ranks),
      .Buffers      (Buffers),
      .MostPackets  (MostPackets),
      .PacketBytes  (PacketBytes),
      .CyclesPerUs  (CyclesPerUs),
      .Arithmetic   (Pairs != '0),
      .Conversions  (Conversions)
  ) control (
      .clk_i           (engine_clk_i),
      .rst_i           (engine_rst_i),
      .identity_i      (engine_identity_i),
      .access_valid_i  (engine_access_valid_i),
      .access_ready_o  (engine_access_ready_o),
      .access_write_i  (engine_access_write_i),
      .access_at_i     (engine_access_at_i),
      .access_data_i   (engine_access_data_i),
      .answer_valid_o  (engine_exchange_valid_o),
      .answer_refused_o(engine_exchange_refused_o),
      .answer_data_o   (engine_exchange_data_o),
      .call_valid_i    (engine_call_valid_i),
      .call_ready_o    (engine_call_ready_o),
      .call_data_i     (engine_call_data_i),
      .status_valid_o  (engine_status_valid_o),
      .status_ready_i  (engine_status_ready_i),
      .status_port_o   (engine_status_port_o),
      .status_count_o  (engine_status_count_o),
      .status_code_o   (engine_status_code_o),
      .set_valid_o     (sets),
      .set_o           (set),
      .own_o           (own),
      .command_valid_o (command_valid),
      .command_ready_i (command_ready),
      .command_kind_o  (command_kind),
      .command_slot_o  (command_slot),
      .move_valid_o    (unused_move),
      .move_data_o     (move),
      .ended_valid_i   (ended),
      .ended_slot_i    (ended_slot),
      .ended_how_i     (ended_how),
      .waits_i         (engine_message_waits_o | engine_kernel_waits_o),
      .moves_i         (moves),
      .moves_slot_i    (moves_slot)
  );

  assign engine_end_ready_o = !sets;

  tw_accl_node #(
      .Slots        (Slots),
      .Buffers      (Buffers),
      .Communicators(Communicators),
      .Ranks        (Ranks),
      .MostPackets  (MostPackets),
      .Room         (Room),
      .Conversions  (Conversions),
      .Pairs        (Pairs),
      .Ends         (Ends),
      .PacketBytes  (PacketBytes),
      .ReceiveWords (ReceiveWords),
      .OwnWords     (OwnWords)
  ) node (
      .engine_clk_i,
      .engine_rst_i,
      .mac_clk_i,
      .mac_rst_i,
      .mac_own_i,
      .engine_own_i          (own),
      .engine_set_valid_i    (sets || engine_end_valid_i),
      .engine_set_i          (sets ? set : '{kind: SetEnd, index: engine_end_session_i, value: 96'(engine_end_i)}),
      .engine_command_valid_i(command_valid),
      .engine_command_ready_o(command_ready),
      .engine_command_kind_i (command_kind),
      .engine_command_slot_i (command_slot),
      .engine_command_move_i (move),
      .engine_ended_valid_o  (ended),
      .engine_ended_ready_i  (1'b1),
      .engine_ended_slot_o   (ended_slot),
      .engine_ended_how_o    (ended_how),
      .engine_ended_length_o (unused_length),
      .engine_message_waits_o,
      .engine_kernel_waits_o,
      .engine_moves_o        (moves),
      .engine_moves_slot_o   (moves_slot),
      .engine_request_valid_o,
      .engine_request_ready_i,
      .engine_request_host_o,
      .engine_request_at_o,
      .engine_request_bytes_o,
      .engine_answer_valid_i,
      .engine_answer_ready_o,
      .engine_answer_data_i,
      .engine_write_valid_o,
      .engine_write_ready_i,
      .engine_write_host_o,
      .engine_write_at_o,
      .engine_write_bytes_o,
      .engine_data_valid_o,
      .engine_data_ready_i,
      .engine_data_o,
      .engine_data_last_o,
      .engine_written_i,
      .engine_from_kernel_valid_i,
      .engine_from_kernel_ready_o,
      .engine_from_kernel_data_i,
      .engine_to_kernel_valid_o,
      .engine_to_kernel_ready_i,
      .engine_to_kernel_data_o,
      .engine_to_kernel_last_o,
      .engine_to_kernel_number_o,
      .engine_counts_o,
      .engine_own_dropped_o,
      .mac_tx_valid_o,
      .mac_tx_ready_i,
      .mac_tx_data_o,
      .mac_tx_keep_o,
      .mac_tx_last_o,
      .mac_rx_valid_i,
      .mac_rx_data_i,
      .mac_rx_keep_i,
      .mac_rx_last_i,
      .mac_rx_error_i,
      .mac_received_o,
      .mac_answered_o,
      .mac_dropped_o
  );
endmodule
