// SPDX-License-Identifier: Apache-2.0
// A node: the router, the end of each link, the collective unit with its host side, the host's port and the registers
// of tw_registers.rdl. tw_cluster_pkg, which `thalweg rtl export` writes, has the parameters of a cluster. All ports
// except the registers' are AXI4-Streams, whose beat is a flit, or on a link a frame; docs/export.md describes what
// connects to them.
//
// Order: that of its parts. Latency: the sum of the parts on the path. Throughput: a beat per cycle on each stream.
// Storage: that of its parts, and per node a first virtual channel. Critical path: those of its parts.
module tw_top
  import tw_network_pkg::*;
  import tw_cluster_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    // Registers, AXI4-Lite
    input  logic                    axil_awvalid_i,
    output logic                    axil_awready_o,
    input  logic [AddressBits-1:0]  axil_awaddr_i,
    input  logic [2:0]              axil_awprot_i,
    input  logic                    axil_wvalid_i,
    output logic                    axil_wready_o,
    input  logic [31:0]             axil_wdata_i,
    input  logic [3:0]              axil_wstrb_i,
    output logic                    axil_bvalid_o,
    input  logic                    axil_bready_i,
    output logic [1:0]              axil_bresp_o,
    input  logic                    axil_arvalid_i,
    output logic                    axil_arready_o,
    input  logic [AddressBits-1:0]  axil_araddr_i,
    input  logic [2:0]              axil_arprot_i,
    output logic                    axil_rvalid_o,
    input  logic                    axil_rready_i,
    output logic [31:0]             axil_rdata_o,
    output logic [1:0]              axil_rresp_o,
    output logic                    interrupt_o,    /// a link has lost its session

    // The host's packets
    input  logic         host_in_valid_i,
    output logic         host_in_ready_o,
    input  logic [255:0] host_in_data_i,
    input  logic         host_in_last_i,
    output logic         host_out_valid_o,
    input  logic         host_out_ready_i,
    output logic [255:0] host_out_data_o,
    output logic         host_out_last_o,

    // The collective unit's host: packets for its processes, each into a free entry of the store; results; ended
    // processes
    input  logic         upload_valid_i,
    output logic         upload_ready_o,
    input  logic [255:0] upload_data_i,
    input  logic         upload_last_i,
    input  logic [15:0]  upload_process_i,
    input  logic [15:0]  upload_place_i,
    output logic         free_valid_o,
    input  logic         free_ready_i,
    output logic [15:0]  free_data_o,
    output logic [Units-1:0]               result_valid_o,
    input  logic [Units-1:0]               result_ready_i,
    output logic [Units-1:0][255:0]        result_data_o,
    output logic [Units-1:0]               result_last_o,
    output tw_node_pkg::result_t [Units-1:0] result_tag_o,
    output logic         ended_valid_o,
    input  logic         ended_ready_i,
    output logic [15:0]  ended_data_o,

    // Packets of all-to-alls, and the ranks that have announced themselves
    input  logic [UnitPorts-1:0]        personal_in_valid_i,
    output logic [UnitPorts-1:0]        personal_in_ready_o,
    input  logic [UnitPorts-1:0][255:0] personal_in_data_i,
    input  logic [UnitPorts-1:0]        personal_in_last_i,
    output logic [UnitPorts-1:0]        personal_out_valid_o,
    input  logic [UnitPorts-1:0]        personal_out_ready_i,
    output logic [UnitPorts-1:0][255:0] personal_out_data_o,
    output logic [UnitPorts-1:0]        personal_out_last_o,
    output logic [LinkPorts-1:0]        announced_valid_o,
    input  logic [LinkPorts-1:0]        announced_ready_i,
    output logic [LinkPorts-1:0][23:0]  announced_data_o,

    // Frames to and from the transceivers, padded to whole bytes
    output logic [LinkPorts-1:0]                   link_out_valid_o,
    input  logic [LinkPorts-1:0]                   link_out_ready_i,
    output logic [LinkPorts-1:0][8*FrameBytes-1:0] link_out_data_o,
    input  logic [LinkPorts-1:0]                   link_in_valid_i,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [LinkPorts-1:0][8*FrameBytes-1:0] link_in_data_i
    // verilator lint_on UNUSEDSIGNAL
);
  localparam int unsigned Inputs = LinkPorts + 1 + UnitPorts;
  localparam int unsigned Outputs = LinkPorts + 1;
  localparam int unsigned IndexBits = Nodes > 1 ? $clog2(Nodes) : 1;

  logic [Inputs-1:0] in_valid;
  flit_t [Inputs-1:0] in_flit;
  logic [Inputs-1:0][Vcs-1:0] in_back;
  logic [Outputs-1:0] out_valid;
  flit_t [Outputs-1:0] out_flit;
  logic [Outputs-1:0][Vcs-1:0] out_back;
  logic [LinkPorts-1:0] link_ready, link_up, link_lost, link_repeated, link_damaged;
  logic [LinkPorts-1:0] ejects;
  flit_t [LinkPorts-1:0] ejected;

  // --- Registers, and the tables written through them

  tw_registers_pkg::tw_registers__in_t status;
  // verilator lint_off UNUSEDSIGNAL
  tw_registers_pkg::tw_registers__out_t control;  // a table entry is written as a whole
  // verilator lint_on UNUSEDSIGNAL

  typedef struct packed {
    logic       reachable;
    logic [14:0] reserved;
    logic [3:0] first_channel;
    logic [3:0] route_class;
    logic       keep_class;
    logic       last_link;
    logic [5:0] port;
  } entry_t;

  // verilator lint_off UNUSEDSIGNAL
  wire entry_t entry = control.routes.wr_data;
  // verilator lint_on UNUSEDSIGNAL
  wire entry_valid = control.routes.req && control.routes.req_is_wr;
  wire [15:0] entry_index = 16'(control.routes.addr >> 2);

  (* ram_style = "distributed" *) logic [3:0] first_channels_q[Nodes];

  always_ff @(posedge clk_i) if (entry_valid) first_channels_q[IndexBits'(entry_index)] <= entry.first_channel;

  // A packet without a route takes any channel; the router drops and counts it.
  wire in_table = 32'(host_in_data_i[15:0]) < Nodes;
  wire [3:0] written = first_channels_q[in_table ? IndexBits'(host_in_data_i[15:0]) : '0];
  wire [3:0] first_channel = in_table && 32'(written) < Vcs ? written : '0;

  assign status.routes.wr_ack  = entry_valid;
  assign status.routes.rd_ack  = control.routes.req && !control.routes.req_is_wr;
  assign status.routes.rd_data = '0;
  assign status.relay.wr_ack   = control.relay.req && control.relay.req_is_wr;
  assign status.relay.rd_ack   = control.relay.req && !control.relay.req_is_wr;
  assign status.relay.rd_data  = '0;
  assign status.links.up.next  = link_up;
  assign status.lost.link.next = link_lost;
  assign interrupt_o           = control.lost.intr;

  assign status.host.sent.count.incr     = in_valid[LinkPorts];
  assign status.host.received.count.incr = host_out_valid_o && host_out_ready_i;

  tw_registers registers (
      .clk(clk_i),
      .rst(rst_i),
      .s_axil_awready(axil_awready_o),
      .s_axil_awvalid(axil_awvalid_i),
      .s_axil_awaddr(axil_awaddr_i),
      .s_axil_awprot(axil_awprot_i),
      .s_axil_wready(axil_wready_o),
      .s_axil_wvalid(axil_wvalid_i),
      .s_axil_wdata(axil_wdata_i),
      .s_axil_wstrb(axil_wstrb_i),
      .s_axil_bready(axil_bready_i),
      .s_axil_bvalid(axil_bvalid_o),
      .s_axil_bresp(axil_bresp_o),
      .s_axil_arready(axil_arready_o),
      .s_axil_arvalid(axil_arvalid_i),
      .s_axil_araddr(axil_araddr_i),
      .s_axil_arprot(axil_arprot_i),
      .s_axil_rready(axil_rready_i),
      .s_axil_rvalid(axil_rvalid_o),
      .s_axil_rdata(axil_rdata_o),
      .s_axil_rresp(axil_rresp_o),
      .hwif_in(status),
      .hwif_out(control)
  );

  // --- The router

  tw_vc_router #(
      .LinkPorts(LinkPorts),
      .LocalPorts(1 + UnitPorts),
      .Vcs(Vcs),
      .BufferFlits(BufferFlits),
      .LocalBufferFlits(LocalBufferFlits),
      .Credits(Credits),
      .MarginFlits(MarginFlits),
      .LocalMarginFlits(LocalMarginFlits),
      .RateFlits(RateFlits),
      .RateCycles(RateCycles),
      .PeerFlits(BufferFlits),
      .LocalPeerFlits(LocalBufferFlits),
      .Nodes(Nodes),
      .MessageClasses(MessageClasses),
      .RouteClasses(RouteClasses),
      .VcMask(VcMask),
      .DestinationLsb(DestinationLsb),
      .UnitMask(UnitMask)
  ) router (
      .clk_i,
      .rst_i,
      .self_i(control.node.index.value),
      .table_valid_i(entry_valid),
      .table_index_i(entry_index),
      .table_reachable_i(entry.reachable),
      .table_entry_i('{
          keep_class: entry.keep_class,
          route_class: entry.route_class,
          last_link: entry.last_link,
          port: entry.port
      }),
      .in_valid_i(in_valid),
      .in_flit_i(in_flit),
      .in_back_o(in_back),
      .out_valid_o(out_valid),
      .out_flit_o(out_flit),
      .out_back_i(out_back),
      .out_ready_i(link_ready),
      .eject_valid_o(ejects),
      .eject_flit_o(ejected),
      .unrouted_o(status.unrouted.flits.next)
  );

  // --- Links

  for (genvar l = 0; l < int'(LinkPorts); l++) begin : link
    wire [FrameBits-1:0] frame;

    assign link_out_data_o[l] = (8 * FrameBytes)'(frame);

    assign status.link[l].sent.count.incr     = out_valid[l];
    assign status.link[l].received.count.incr = in_valid[l];
    assign status.link[l].repeated.count.incr = link_repeated[l];
    assign status.link[l].damaged.count.incr  = link_damaged[l];
    assign status.link[l].lost.count.incr     = link_lost[l];

    // After a loss, the router may hold parts of packets and credits of another session: it is reset before the link is
    // used again.
    tw_link_end #(
        .Vcs(Vcs),
        .Credits(Credits),
        .Window(Window),
        .DownCycles(DownCycles),
        .CountBits(CountBits),
        .FrameBits(FrameBits)
    ) link_end (
        .clk_i,
        .rst_i,
        .flit_valid_i(out_valid[l]),
        .flit_i(out_flit[l]),
        .ready_o(link_ready[l]),
        .flit_valid_o(in_valid[l]),
        .flit_o(in_flit[l]),
        .back_i(in_back[l]),
        .back_o(out_back[l]),
        .frame_valid_o(link_out_valid_o[l]),
        .frame_ready_i(link_out_ready_i[l]),
        .frame_o(frame),
        .frame_valid_i(link_in_valid_i[l]),
        .frame_i(link_in_data_i[l][FrameBits-1:0]),
        .hold_i(control.lost.link.value[l] || link_lost[l]),
        .up_o(link_up[l]),
        .lost_o(link_lost[l]),
        .repeated_o(link_repeated[l]),
        .damaged_o(link_damaged[l])
    );
  end

  // --- The collective unit

  tw_unit unit (
      .clk_i,
      .rst_i,
      .enable_i(control.control.enable.value),
      .unit_i(control.unit),
      .self_i(control.node.index.value),
      .relay_valid_i(status.relay.wr_ack),
      .relay_index_i(16'(control.relay.addr >> 2)),
      .relay_entry_i(control.relay.wr_data),
      .ready_o(status.unit.status.ready.next),
      .settled_o(status.unit.status.settled.next),
      .upload_valid_i,
      .upload_ready_o,
      .upload_data_i,
      .upload_last_i,
      .upload_process_i,
      .upload_place_i,
      .free_valid_o,
      .free_ready_i,
      .free_data_o,
      .result_valid_o,
      .result_ready_i,
      .result_data_o,
      .result_last_o,
      .result_tag_o,
      .ended_valid_o,
      .ended_ready_i,
      .ended_data_o,
      .personal_in_valid_i,
      .personal_in_ready_o,
      .personal_in_data_i,
      .personal_in_last_i,
      .personal_out_valid_o,
      .personal_out_ready_i,
      .personal_out_data_o,
      .personal_out_last_o,
      .announced_valid_o,
      .announced_ready_i,
      .announced_data_o,
      .in_valid_i(ejects),
      .in_flit_i(ejected),
      .out_valid_o(in_valid[Inputs-1:LinkPorts+1]),
      .out_flit_o(in_flit[Inputs-1:LinkPorts+1]),
      .out_back_i(in_back[Inputs-1:LinkPorts+1])
  );

  // --- The host's port

  tw_stream_in #(
      .Vcs(Vcs),
      .Credits(Credits),
      .PeerFlits(LocalBufferFlits)
  ) stream_in (
      .clk_i,
      .rst_i,
      .enable_i(control.control.enable.value),
      .stream_valid_i(host_in_valid_i),
      .stream_ready_o(host_in_ready_o),
      .stream_data_i(host_in_data_i),
      .stream_last_i(host_in_last_i),
      .stream_vc_i(first_channel),
      .flit_valid_o(in_valid[LinkPorts]),
      .flit_o(in_flit[LinkPorts]),
      .back_i(in_back[LinkPorts])
  );

  tw_stream_out #(
      .Vcs(Vcs),
      .Credits(Credits),
      .Depth(LocalBufferFlits),
      .MarginFlits(LocalMarginFlits)
  ) stream_out (
      .clk_i,
      .rst_i,
      .flit_valid_i(out_valid[LinkPorts]),
      .flit_i(out_flit[LinkPorts]),
      .back_o(out_back[LinkPorts]),
      .stream_valid_o(host_out_valid_o),
      .stream_ready_i(host_out_ready_i),
      .stream_data_o(host_out_data_o),
      .stream_last_o(host_out_last_o)
  );
endmodule
