// SPDX-License-Identifier: Apache-2.0
// The circuit table of an external port: the other end of each virtual port's circuit, written at run time. A received frame belongs
// to a virtual port's circuit if the row of its destination names its source.
//
// Order: none. Latency: a written row is valid in the next cycle; joined_o is that of the frame and the rows one cycle before.
// Throughput: one row and one frame per cycle. Storage: Ports rows. Outputs are registers, joined_o with a gate behind. Critical path: from the
// frame's source through its comparison with each row.
module tw_circuit_table
  import tw_vcsn_pkg::*;
#(
    parameter  int unsigned Ports    = 2,                             /// virtual ports, 1 to 8
    localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    write_valid_i,
    input logic     [PortBits-1:0] write_port_i,
    input circuit_t                write_row_i,

    output logic     [Ports-1:0]       row_valid_o,   /// has a circuit
    output address_t [Ports-1:0]       row_address_o,
    output logic     [Ports-1:0] [7:0] row_port_o,

    input  address_t             from_address_i,
    input  logic     [      7:0] from_port_i,
    input  logic     [      7:0] to_port_i,
    output logic     [Ports-1:0] joined_o         /// one-hot, or zero
);
  if (Ports < 1 || Ports > 8) begin : check_ports
    $error("tw_circuit_table: Ports must be 1 to 8");
  end

  circuit_t [Ports-1:0] rows_q;
  logic [Ports-1:0][2:0] parts_q;  // matching parts of the address
  logic [Ports-1:0] port_q;  // both ports match

  for (genvar i = 0; i < Ports; i++) begin : row
    assign row_valid_o[i] = rows_q[i].open;
    assign row_address_o[i] = rows_q[i].address;
    assign row_port_o[i] = rows_q[i].port;
    assign joined_o[i] = parts_q[i] == '1 && port_q[i];

    always_ff @(posedge clk_i) begin
      if (write_valid_i && write_port_i == PortBits'(i)) rows_q[i] <= write_row_i;
      for (int unsigned k = 0; k < 3; k++) parts_q[i][k] <= from_address_i[16*k+:16] == rows_q[i].address[16*k+:16];
      port_q[i] <= from_port_i == rows_q[i].port && to_port_i == 8'(i) && rows_q[i].open;
      if (rst_i) begin
        rows_q[i].open <= 1'b0;
        port_q[i] <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) port_is_there : assert (!write_valid_i || 32'(write_port_i) < Ports);
  end
`endif
endmodule
