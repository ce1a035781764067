// SPDX-License-Identifier: Apache-2.0
// Environment: rows are written at any time, and frames arrive from any source for any virtual port. The reference state: the
// complete rows written, and the frame and the rows of the cycle before.
module circuit_table_proof
  import tw_vcsn_pkg::*;
#(
    parameter int unsigned Ports = 2,
    localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1
) (
    input logic                    clk_i,
    input logic                    rst_i,
    input logic                    write_valid_i,
    input logic     [PortBits-1:0] write_port_i,
    input circuit_t                write_row_i,
    input address_t                from_address_i,
    input logic     [         7:0] from_port_i,
    input logic     [         7:0] to_port_i
);
  logic [Ports-1:0] valid, joined;
  address_t [Ports-1:0] address;
  logic [Ports-1:0][7:0] port;

  tw_reset_first surroundings (.*);

  tw_circuit_table #(
      .Ports(Ports)
  ) table_of_rows (
      .row_valid_o  (valid),
      .row_address_o(address),
      .row_port_o   (port),
      .joined_o     (joined),
      .*
  );

  circuit_t [Ports-1:0] rows_q, rows_1q;
  address_t from_address_q;
  logic [7:0] from_port_q, to_port_q;

  always_ff @(posedge clk_i) begin
    rows_1q <= rows_q;
    from_address_q <= from_address_i;
    from_port_q <= from_port_i;
    to_port_q <= to_port_i;
    if (write_valid_i) rows_q[write_port_i] <= write_row_i;
    if (rst_i) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        rows_q[i].open  <= 1'b0;
        rows_1q[i].open <= 1'b0;
      end
    end

    of_a_port : assume (32'(write_port_i) < Ports);
    if (!rst_i) one_at_most : assert ((joined & (joined - 1'b1)) == 0);
  end

  for (genvar i = 0; i < Ports; i++) begin : row
    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        is_the_last_written : assert (valid[i] == rows_q[i].open && (!valid[i] || (address[i] == rows_q[i].address && port[i] == rows_q[i].port)));
        joins_its_source :
        assert (joined[i] == (rows_1q[i].open && from_address_q == rows_1q[i].address && from_port_q == rows_1q[i].port && to_port_q == 8'(i)));
        joins : cover (joined[i]);
        is_closed : cover (rows_1q[i].open && !valid[i]);
      end
    end
  end
endmodule
