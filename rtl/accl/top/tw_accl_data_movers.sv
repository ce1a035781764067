// SPDX-License-Identifier: Apache-2.0
// Memory ports of an ACCL board with the interface of AMD's AXI DataMover (PG022), with 64-bit addresses and no tags. Bit 48 of an address selects the host's memory.
//
// Order: kept. Latency: none. Throughput: that of the ports. Storage: the byte mask of the last word for each of two writes, and a bit for each DataMover. Critical path: from a write's number of
// bytes to its mask.
module tw_accl_data_movers
  import tw_accl_pkg::*;
  import tw_mover_pkg::*;
#(
    localparam int unsigned Accesses   = 4,   // x, y, z, received
    localparam int unsigned AccessBits = 104
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [1:0]                 request_host_i,  /// of x and y, as in tw_accl_node
    input  address_t [1:0]             request_at_i,
    input  logic [1:0][ PieceBits-1:0] request_bytes_i,
    output logic [1:0][AccessBits-1:0] read_data_o,     /// DataMover commands

    input  logic [1:0]                 write_valid_i,   /// of z, and of received data
    input  logic [1:0]                 write_ready_i,
    input  logic [1:0]                 write_host_i,
    input  address_t [1:0]             write_at_i,
    input  logic [1:0][ PieceBits-1:0] write_bytes_i,
    output logic [1:0][AccessBits-1:0] write_data_o,
    input  logic [1:0]                 data_last_i,
    output logic [1:0][ WordBytes-1:0] data_keep_o,

    input  logic [Accesses-1:0]        status_valid_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [Accesses-1:0][7:0]   status_data_i,
    // verilator lint_on UNUSEDSIGNAL
    output logic [Accesses-1:0]        failed_o         /// an access was not OKAY since the last reset
);
  localparam int unsigned HostBit = AddressBits;  // of an address
  localparam int unsigned Okay = 7;  // of a status

  // A DataMover command: bytes and incrementing address, terminated by EOF.
  function automatic logic [AccessBits-1:0] access(logic host, address_t at, logic [PieceBits-1:0] bytes);
    access = '0;
    access[22:0] = 23'(bytes);
    access[23] = 1'b1;  // INCR
    access[30] = 1'b1;  // EOF
    access[32+:AddressBits] = at;
    access[32+HostBit] = host;
  endfunction

  logic [1:0][WordBytes-1:0] last_keep_q;
  always_comb
    for (int unsigned k = 0; k < 2; k++) begin
      read_data_o[k]  = access(request_host_i[k], request_at_i[k], request_bytes_i[k]);
      write_data_o[k] = access(write_host_i[k], write_at_i[k], write_bytes_i[k]);
      data_keep_o[k]  = data_last_i[k] ? last_keep_q[k] : '1;
    end
  // A write's words follow its command.
  always_ff @(posedge clk_i)
    for (int unsigned k = 0; k < 2; k++)
      if (write_valid_i[k] && write_ready_i[k])
        for (int unsigned i = 0; i < WordBytes; i++)
          last_keep_q[k][i] <= write_bytes_i[k][5:0] == 0 || 6'(i) < write_bytes_i[k][5:0];

  always_ff @(posedge clk_i)
    for (int unsigned k = 0; k < Accesses; k++)
      failed_o[k] <= !rst_i && (failed_o[k] || (status_valid_i[k] && !status_data_i[k][Okay]));
endmodule
