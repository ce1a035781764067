// SPDX-License-Identifier: Apache-2.0
// tw_accl_engine with stream ports, to which `thalweg rtl export` gives flat names. The exchange memory is AXI4-Lite; memory ports are those of tw_accl_data_movers.
//
// Order: that of the engine. Latency: that of the engine. Throughput: that of the engine. Storage: that of the engine, of tw_accl_exchange and of tw_accl_data_movers. Critical path: that of the
// engine.
module tw_accl_engine_top
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
  import tw_reduce_pkg::pairs_t;
  import tw_ethernet_pkg::udp_end_t;
  import tw_ethernet_pkg::received_t;
  import tw_ethernet_pkg::answered_t;
#(
    parameter int unsigned Ports         = 3,     /// as in tw_accl_engine
    parameter int unsigned Calls         = 8,
    parameter int unsigned CyclesPerUs   = 250,
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
    localparam int unsigned Slots        = 2 * Calls,
    localparam int unsigned Accesses     = 4,     // x, y, z, received
    localparam int unsigned AccessBits   = 104
) (
    input logic        engine_clk_i,
    input logic        engine_rst_i,
    input logic        mac_clk_i,
    input logic        mac_rst_i,
    input udp_end_t    mac_own_i,          /// constant
    input logic [31:0] engine_identity_i,  /// constant

    input  logic         engine_end_valid_i,  /// UDP address of a session: the session in the lowest byte, the address from byte 4 on
    output logic         engine_end_ready_o,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [127:0] engine_end_data_i,
    // verilator lint_on UNUSEDSIGNAL

    input  logic        engine_axil_awvalid_i,  /// as in tw_accl_exchange
    output logic        engine_axil_awready_o,
    input  logic [31:0] engine_axil_awaddr_i,
    input  logic        engine_axil_wvalid_i,
    output logic        engine_axil_wready_o,
    input  logic [31:0] engine_axil_wdata_i,
    input  logic [ 3:0] engine_axil_wstrb_i,
    output logic        engine_axil_bvalid_o,
    input  logic        engine_axil_bready_i,
    output logic [ 1:0] engine_axil_bresp_o,
    input  logic        engine_axil_arvalid_i,
    output logic        engine_axil_arready_o,
    input  logic [31:0] engine_axil_araddr_i,
    output logic        engine_axil_rvalid_o,
    input  logic        engine_axil_rready_i,
    output logic [31:0] engine_axil_rdata_o,
    output logic [ 1:0] engine_axil_rresp_o,

    input  logic [Ports-1:0]       engine_call_valid_i,
    output logic [Ports-1:0]       engine_call_ready_o,
    input  logic [Ports-1:0][31:0] engine_call_data_i,
    output logic                   engine_result_valid_o,  /// a call's status: its code, and the number of calls before it
    input  logic                   engine_result_ready_i,
    output logic [           63:0] engine_result_data_o,
    output logic [            1:0] engine_result_port_o,
    output logic [      Slots-1:0] engine_message_waits_o,
    output logic [      Slots-1:0] engine_kernel_waits_o,

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
  logic access_valid, access_ready, access_write, answer_valid, answer_refused;
  logic [31:0] access_at, access_data, answer_data;

  tw_accl_exchange exchange (
      .clk_i           (engine_clk_i),
      .rst_i           (engine_rst_i),
      .axil_awvalid_i  (engine_axil_awvalid_i),
      .axil_awready_o  (engine_axil_awready_o),
      .axil_awaddr_i   (engine_axil_awaddr_i),
      .axil_wvalid_i   (engine_axil_wvalid_i),
      .axil_wready_o   (engine_axil_wready_o),
      .axil_wdata_i    (engine_axil_wdata_i),
      .axil_wstrb_i    (engine_axil_wstrb_i),
      .axil_bvalid_o   (engine_axil_bvalid_o),
      .axil_bready_i   (engine_axil_bready_i),
      .axil_bresp_o    (engine_axil_bresp_o),
      .axil_arvalid_i  (engine_axil_arvalid_i),
      .axil_arready_o  (engine_axil_arready_o),
      .axil_araddr_i   (engine_axil_araddr_i),
      .axil_rvalid_o   (engine_axil_rvalid_o),
      .axil_rready_i   (engine_axil_rready_i),
      .axil_rdata_o    (engine_axil_rdata_o),
      .axil_rresp_o    (engine_axil_rresp_o),
      .access_valid_o  (access_valid),
      .access_ready_i  (access_ready),
      .access_write_o  (access_write),
      .access_at_o     (access_at),
      .access_data_o   (access_data),
      .answer_valid_i  (answer_valid),
      .answer_refused_i(answer_refused),
      .answer_data_i   (answer_data)
  );

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

  logic [7:0] count;
  logic [31:0] code;
  assign engine_result_data_o = {24'd0, count, code};

  tw_accl_engine #(
      .Ports        (Ports),
      .Calls        (Calls),
      .CyclesPerUs  (CyclesPerUs),
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
  ) engine (
      .engine_clk_i,
      .engine_rst_i,
      .mac_clk_i,
      .mac_rst_i,
      .mac_own_i,
      .engine_identity_i,
      .engine_end_valid_i,
      .engine_end_ready_o,
      .engine_end_session_i     (engine_end_data_i[7:0]),
      .engine_end_i             (udp_end_t'(engine_end_data_i[127:32])),
      .engine_access_valid_i    (access_valid),
      .engine_access_ready_o    (access_ready),
      .engine_access_write_i    (access_write),
      .engine_access_at_i       (access_at),
      .engine_access_data_i     (access_data),
      .engine_exchange_valid_o  (answer_valid),
      .engine_exchange_refused_o(answer_refused),
      .engine_exchange_data_o   (answer_data),
      .engine_call_valid_i,
      .engine_call_ready_o,
      .engine_call_data_i,
      .engine_status_valid_o    (engine_result_valid_o),
      .engine_status_ready_i    (engine_result_ready_i),
      .engine_status_port_o     (engine_result_port_o),
      .engine_status_count_o    (count),
      .engine_status_code_o     (code),
      .engine_message_waits_o,
      .engine_kernel_waits_o,
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
