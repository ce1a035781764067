// SPDX-License-Identifier: Apache-2.0
// Reads packets for the host from the memories of a lane's links: one packet after another, without pauses, if the host
// has room for it.
//
// Order: that of the memories' queues; links take turns. Latency: one cycle from the selection of a packet to its first
// flit. Throughput: a flit per cycle, with one cycle between packets. Storage: the reader in use. request_o depends on
// the queued packets and on host_room_i, host_* on registers and read_*. Critical path: from host_room_i through the
// arbiter to request_o.
module tw_relay_host
  import tw_relay_pkg::*;
#(
    parameter int unsigned Lane = 0,  /// index of this lane
    parameter int unsigned Links = 6,
    parameter int unsigned Lanes = 3,
    parameter int unsigned RoomBits = 9,
    localparam int unsigned Own = links_of(Lane, Lanes, Links)  // number of its links
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [Links-1:0]             readable_i,
    input  logic [Links-1:0]             filled_i,
    input  logic [Links-1:0][2:0]        sizes_i,        /// log2 of the first packet's flits
    output logic [Own-1:0]               request_o,
    input  logic [Links-1:0]             grant_i,
    input  logic [Links-1:0]             next_reader_i,
    input  logic [Links-1:0][1:0][255:0] read_data_i,
    input  logic [Links-1:0][1:0]        read_last_i,

    input  logic [RoomBits-1:0] host_room_i,  /// free flits, after arrivals up to the cycle before
    output logic                host_valid_o,
    output logic [255:0]        host_data_o,
    output logic                host_last_o
);
  localparam int unsigned LinkWidth = Links > 1 ? $clog2(Links) : 1;

  logic busy_q, reader_q;
  logic [LinkWidth-1:0] from_q;
  logic [Own-1:0] requests;
  logic granted;
  logic [LinkWidth-1:0] from;

  always_comb begin
    granted = 1'b0;
    from = '0;
    for (int unsigned k = 0; k < Own; k++) begin
      requests[k] = !busy_q && readable_i[Lane+k*Lanes] && filled_i[Lane+k*Lanes]
          && (32'd1 << sizes_i[Lane+k*Lanes]) <= 32'(host_room_i);
      granted |= grant_i[Lane+k*Lanes];
      if (grant_i[Lane+k*Lanes]) from |= LinkWidth'(Lane + k * Lanes);
    end
  end

  tw_arbiter #(
      .Inputs(Own)
  ) arbiter (
      .clk_i,
      .rst_i,
      .request_i     (requests),
      .served_i      (granted),
      .grant_o       (request_o),
      .winner_valid_o(),
      .winner_index_o()
  );

  assign host_valid_o = busy_q;
  assign host_data_o = read_data_i[from_q][reader_q];
  assign host_last_o = read_last_i[from_q][reader_q];

  always_ff @(posedge clk_i) begin
    if (busy_q && host_last_o) busy_q <= 1'b0;
    if (granted) begin
      busy_q <= 1'b1;
      from_q <= from;
      reader_q <= next_reader_i[from];
    end
    if (rst_i) busy_q <= 1'b0;
  end
endmodule
