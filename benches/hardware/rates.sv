// SPDX-License-Identifier: Apache-2.0
// Measures the throughput of a saturated router and a saturated join.
//
// Every link of the router receives back-to-back packets to the next link, on two virtual channels in turn. The join
// receives a flit of each operand in every cycle.
module rates
  import tw_spec_pkg::*, tw_network_pkg::*, tw_reduce_pkg::*;
#(
    parameter int unsigned Links   = 6,
    parameter int unsigned Flits   = 16,  /// per packet
    parameter int unsigned Vcs     = 4,
    parameter int unsigned Inputs  = 6,   /// of the join
    parameter int unsigned Latency = 14
) (
    input  logic                     clk_i,
    input  logic                     rst_i,
    output logic [Links-1:0][31:0]   router_flits_o,  /// flits sent by each link
    output logic            [31:0]   join_flits_o
);
  // --- The router

  logic [7:0] loading_q;  // table entry being loaded: the node at link i has the number i + 1
  wire loading = loading_q < 8'(Links);
  route_entry_t entry;
  assign entry = '{keep_class: 1'b0, route_class: 4'd0, last_link: 1'b0, port: 6'(loading_q)};

  logic [Links:0] valid;
  flit_t [Links:0] flit;
  logic [Links:0][Vcs-1:0] stops;
  logic [Links:0] out_valid;

  tw_vc_router #(
      .LinkPorts(Links),
      .LocalPorts(1),
      .Vcs(Vcs),
      .BufferFlits(24),
      .LocalBufferFlits(8),
      .Credits(1'b0),
      .MarginFlits(3),
      .Nodes(Links + 1)
  ) router (
      .clk_i,
      .rst_i,
      .self_i           (16'd0),
      .table_valid_i    (loading),
      .table_index_i    (16'(loading_q) + 16'd1),
      .table_reachable_i(1'b1),
      .table_entry_i    (entry),
      .in_valid_i       (valid),
      .in_flit_i        (flit),
      .in_back_o        (stops),
      .out_valid_o      (out_valid),
      .out_flit_o       (),
      .out_back_i       ('0),
      .out_ready_i      ('1),
      .eject_valid_o    (),
      .eject_flit_o     (),
      .unrouted_o       ()
  );

  assign valid[Links] = 1'b0;
  assign flit[Links]  = '0;

  for (genvar l = 0; l < Links; l++) begin : link
    logic [$clog2(Flits)-1:0] place_q;
    logic vc_q;
    network_header_t header;
    always_comb begin
      header = '0;
      header.destination = 16'((l + 1) % Links + 1);
    end
    assign valid[l] = !loading && !rst_i && !stops[l][vc_q];
    assign flit[l] = '{
            data: place_q == '0 ? 256'(header) : 256'(place_q),
            vc: 4'(vc_q),
            head: place_q == '0,
            tail: place_q == '1
        };
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        place_q <= '0;
        vc_q <= 1'b0;
        router_flits_o[l] <= '0;
      end else begin
        if (valid[l]) place_q <= place_q + 1'b1;
        if (valid[l] && place_q == '1) vc_q <= !vc_q;
        if (out_valid[l]) router_flits_o[l] <= router_flits_o[l] + 32'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) loading_q <= '0;
    else if (loading) loading_q <= loading_q + 8'd1;
  end

  // --- The join

  logic joined;

  tw_join #(
      .Inputs (Inputs),
      .Latency(Latency)
  ) join_ (
      .clk_i,
      .rst_i,
      .in_valid_i    (!rst_i),
      .in_count_i    (3'(Inputs)),
      .in_operation_i(OperatorSum),
      .in_datatype_i (DatatypeFloat64),
      .in_head_i     (1'b0),
      .in_bytes_i    (6'd32),
      .in_operands_i ({Inputs{{4{64'h3ff0000000000000}}}}),
      .in_tag_i      (1'b0),
      .out_valid_o   (joined),
      .out_data_o    (),
      .out_tag_o     ()
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) join_flits_o <= '0;
    else if (joined) join_flits_o <= join_flits_o + 32'd1;
  end
endmodule
