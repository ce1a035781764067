// SPDX-License-Identifier: Apache-2.0
// tw_accl_node with stream ports, to which `thalweg rtl export` gives flat names. Settings, commands and ended moves are words with
// byte-aligned fields; memory ports are those of tw_accl_data_movers.
//
// Order: that of the node. Latency: that of the node. Throughput: that of the node. Storage: that of the node and of tw_accl_data_movers. Critical path: that of the node.
module tw_accl_top
  import tw_spec_pkg::*;
  import tw_accl_spec_pkg::*;
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
  import tw_reduce_pkg::pairs_t;
  import tw_ethernet_pkg::udp_end_t;
  import tw_ethernet_pkg::received_t;
  import tw_ethernet_pkg::answered_t;
#(
    parameter int unsigned Slots         = 16,    /// as in tw_accl_node
    parameter int unsigned Buffers       = 16,
    parameter int unsigned Communicators = 8,
    parameter int unsigned Ranks         = 64,
    parameter int unsigned MostPackets   = 64,
    parameter bit          Conversions   = 1'b1,
    parameter pairs_t      Pairs         = accl_pairs(),
    parameter int unsigned Ends          = 64,
    parameter int unsigned PacketBytes   = 4096,
    parameter int unsigned ReceiveWords  = 1024,
    parameter int unsigned OwnWords      = 256,
    localparam int unsigned Accesses     = 4,     // x, y, z, received
    localparam int unsigned AccessBits   = 104
) (
    input logic       engine_clk_i,
    input logic       engine_rst_i,
    input logic       mac_clk_i,
    input logic       mac_rst_i,
    input udp_end_t   mac_own_i,    /// constant
    input logic [7:0] engine_own_i, /// constant

    // verilator lint_off UNUSEDSIGNAL
    input  logic             engine_set_valid_i,
    input  logic [    127:0] engine_set_data_i,
    input  logic             engine_command_valid_i,
    output logic             engine_command_ready_o,
    input  logic [    511:0] engine_command_data_i,
    // verilator lint_on UNUSEDSIGNAL
    output logic             engine_ended_valid_o,
    input  logic             engine_ended_ready_i,
    output logic [    127:0] engine_ended_data_o,
    output logic [Slots-1:0] engine_message_waits_o,
    output logic [Slots-1:0] engine_kernel_waits_o,
    output logic             engine_moves_o,
    output logic [      7:0] engine_moves_slot_o,

    output logic [1:0]                 engine_read_valid_o,  /// of x and y: DataMover commands
    input  logic [1:0]                 engine_read_ready_i,
    output logic [1:0][AccessBits-1:0] engine_read_data_o,
    input  logic [1:0]                 engine_word_valid_i,
    output logic [1:0]                 engine_word_ready_o,
    input  logic [1:0][  WordBits-1:0] engine_word_data_i,
    output logic [1:0]                 engine_write_valid_o,  /// of z, and of received data
    input  logic [1:0]                 engine_write_ready_i,
    output logic [1:0][AccessBits-1:0] engine_write_data_o,
    output logic [1:0]                 engine_data_valid_o,
    input  logic [1:0]                 engine_data_ready_i,
    output logic [1:0][  WordBits-1:0] engine_data_data_o,
    output logic [1:0][ WordBytes-1:0] engine_data_keep_o,
    output logic [1:0]                 engine_data_last_o,
    input  logic [Accesses-1:0]        engine_status_valid_i,
    output logic [Accesses-1:0]        engine_status_ready_o,
    input  logic [Accesses-1:0][7:0]   engine_status_data_i,
    output logic [Accesses-1:0]        engine_failed_o,  /// an access was not OKAY since the last reset

    input  logic                engine_from_kernel_valid_i,
    output logic                engine_from_kernel_ready_o,
    input  logic [WordBits-1:0] engine_from_kernel_data_i,
    output logic                engine_to_kernel_valid_o,
    input  logic                engine_to_kernel_ready_i,
    output logic [WordBits-1:0] engine_to_kernel_data_o,
    output logic                engine_to_kernel_last_o,
    output logic [         7:0] engine_to_kernel_number_o,

    output logic [$bits(taken_t)-1:0][31:0] engine_counts_o,
    output logic [31:0]                     engine_own_dropped_o,

    output logic                 mac_tx_valid_o,
    input  logic                 mac_tx_ready_i,
    output logic [ WordBits-1:0] mac_tx_data_o,
    output logic [WordBytes-1:0] mac_tx_keep_o,
    output logic                 mac_tx_last_o,
    input  logic                 mac_rx_valid_i,
    input  logic [ WordBits-1:0] mac_rx_data_i,
    input  logic [WordBytes-1:0] mac_rx_keep_i,
    input  logic                 mac_rx_last_i,
    input  logic                 mac_rx_error_i,
    output logic [$bits(received_t)-1:0][31:0] mac_received_o,
    output logic [$bits(answered_t)-1:0][31:0] mac_answered_o,
    output logic [31:0]                        mac_dropped_o
);
  // A command: byte-aligned fields, the last one in the lowest bits.
  typedef struct packed {
    logic [31:0] to_number, to_tag, to_communicator, from_number, from_tag;
    logic [15:0] from, from_communicator, own_rank;
    logic [7:0] to;
    logic [39:0] elements;
    logic [7:0] stream, z_how;
    address_t z_at;
    logic [7:0] kind, y_how;
    address_t y_at;
    logic [7:0] from_collective, x_how;
    address_t x_at;
    logic [7:0] datatype, operation, wire_size, target, y_source, x_source, slot, does;
  } command_t;
  typedef struct packed {
    logic [95:0] value;
    logic [15:0] unused;
    logic [7:0] index, kind;
  } set_t;
  // verilator lint_off UNUSEDSIGNAL
  function automatic place_t place(address_t at, logic [7:0] how);
    return '{host: how[4], at: at, size: how[1:0], conversion: conversion_e'(how[3:2])};
  endfunction
  wire command_t from = command_t'(engine_command_data_i);
  wire set_t set = set_t'(engine_set_data_i);
  // verilator lint_on UNUSEDSIGNAL
  move_t move;
  assign move = '{
          x_source: source_e'(from.x_source[1:0]),
          y_source: source_e'(from.y_source[1:0]),
          target: target_e'(from.target[1:0]),
          x: place(from.x_at, from.x_how),
          y: place(from.y_at, from.y_how),
          z: place(from.z_at, from.z_how),
          operation: operator_e'(from.operation[3:0]),
          datatype: datatype_e'(from.datatype[4:0]),
          wire_size: from.wire_size[1:0],
          elements: from.elements,
          from_communicator: from.from_communicator,
          from: from.from,
          from_collective: from.from_collective[0],
          from_tag: from.from_tag,
          from_number: from.from_number,
          to: from.to,
          to_communicator: from.to_communicator,
          own_rank: from.own_rank,
          kind: message_kind_e'(from.kind),
          stream: from.stream,
          to_tag: from.to_tag,
          to_number: from.to_number
      };

  logic [7:0] ended_slot;
  end_e ended_how;
  logic [63:0] ended_length;
  assign engine_ended_data_o = {ended_length, 48'd0, 6'd0, ended_how, ended_slot};

  // Reads and writes.
  logic [1:0] request_host, write_host;
  address_t [1:0] request_at, write_at;
  logic [1:0][PieceBits-1:0] request_bytes, write_bytes;

  assign engine_status_ready_o = '1;

  tw_accl_data_movers data_movers (
      .clk_i          (engine_clk_i),
      .rst_i          (engine_rst_i),
      .request_host_i (request_host),
      .request_at_i   (request_at),
      .request_bytes_i(request_bytes),
      .read_data_o    (engine_read_data_o),
      .write_valid_i  (engine_write_valid_o),
      .write_ready_i  (engine_write_ready_i),
      .write_host_i   (write_host),
      .write_at_i     (write_at),
      .write_bytes_i  (write_bytes),
      .write_data_o   (engine_write_data_o),
      .data_last_i    (engine_data_last_o),
      .data_keep_o    (engine_data_keep_o),
      .status_valid_i (engine_status_valid_i),
      .status_data_i  (engine_status_data_i),
      .failed_o       (engine_failed_o)
  );

  tw_accl_node #(
      .Slots        (Slots),
      .Buffers      (Buffers),
      .Communicators(Communicators),
      .Ranks        (Ranks),
      .MostPackets  (MostPackets),
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
      .engine_own_i,
      .engine_set_valid_i,
      .engine_set_i          ('{setting_e'(set.kind[1:0]), set.index, set.value}),
      .engine_command_valid_i,
      .engine_command_ready_o,
      .engine_command_kind_i (command_e'(from.does[1:0])),
      .engine_command_slot_i (from.slot),
      .engine_command_move_i (move),
      .engine_ended_valid_o,
      .engine_ended_ready_i,
      .engine_ended_slot_o   (ended_slot),
      .engine_ended_how_o    (ended_how),
      .engine_ended_length_o (ended_length),
      .engine_message_waits_o,
      .engine_kernel_waits_o,
      .engine_moves_o,
      .engine_moves_slot_o,
      .engine_request_valid_o(engine_read_valid_o),
      .engine_request_ready_i(engine_read_ready_i),
      .engine_request_host_o (request_host),
      .engine_request_at_o   (request_at),
      .engine_request_bytes_o(request_bytes),
      .engine_answer_valid_i (engine_word_valid_i),
      .engine_answer_ready_o (engine_word_ready_o),
      .engine_answer_data_i  (engine_word_data_i),
      .engine_write_valid_o,
      .engine_write_ready_i,
      .engine_write_host_o   (write_host),
      .engine_write_at_o     (write_at),
      .engine_write_bytes_o  (write_bytes),
      .engine_data_valid_o,
      .engine_data_ready_i,
      .engine_data_o         (engine_data_data_o),
      .engine_data_last_o,
      .engine_written_i      (engine_status_valid_i[3:2]),
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
