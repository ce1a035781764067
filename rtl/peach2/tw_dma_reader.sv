// SPDX-License-Identifier: Apache-2.0
// The DMA controller's read half: walks a chain of descriptors, and issues their reads, one packet each.
//
// A read ends where its write must: at 256-byte boundaries of the destination, and at page boundaries of the source. With it a chunk is
// issued, the destination of its data. The next descriptor is fetched when the last read of the current one has been issued, and
// executed when all data read have been written: completions come in any order.
//
// A chain is aborted if a descriptor is invalid, a completion reports an error or is not the expected one, there have been more than Descriptors, or
// by the host: no more reads are issued, outstanding ones are awaited, and the next chain begins as after a reset. Each chain
// ends once, finished or with a fault, which gives the reason and the descriptor. purge_i also aborts waiting chains, until
// 64 cycles have passed without a start.
//
// If timeout_i is not 0 and timeout_i * Unit cycles pass without an answer while one is outstanding, the chain is aborted, and the fault
// has the address of the last read. A late answer must not be taken for another read's. So until all have arrived, purge_i
// says that none will, or the same time has passed again, the writer drops answers, and started chains are aborted at once.
//
// Order: of the chain. Latency: a read is issued two cycles after the descriptor. Throughput: a read in two cycles, up to
// Reads without all of their data. Storage: a descriptor. All outputs are registers, or depend only on registers. Critical path:
// from the remaining double words through the minimum of three to the next address.
module tw_dma_reader
  import tw_spec_pkg::*;
  import tw_peach2_pkg::*;
  import tw_peach2_spec_pkg::*;
#(
    parameter int unsigned Reads = 16,  /// outstanding reads, 2 to 64
    parameter logic SideTag = 1'b0,  /// bit SideAt of its tags
    parameter int unsigned Descriptors = 32768,  /// maximum of a chain, at least 1
    parameter int unsigned Unit = 1024  /// cycles per unit of timeout_i; a power of two, at least 2
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,  /// requester ID

    input  logic                   start_valid_i,
    output logic                   start_ready_o,
    input  logic [AddressBits-1:0] start_address_i,  /// of the first descriptor

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,   /// a read's header, which is the whole packet

    output logic                   fetch_valid_o,   /// a descriptor's read was issued
    output logic                   chunk_valid_o,   /// another read was issued; at most Reads outstanding
    output logic [    TagBits-1:0] chunk_tag_o,
    output logic [            4:0] chunk_from_o,    /// source in double words, of 128 bytes
    output logic [AddressBits-3:0] chunk_to_o,      /// in double words
    output logic [            6:0] chunk_dwords_o,

    input logic descriptor_valid_i,
    input dma_descriptor_t descriptor_i,
    input logic [Reads-1:0] busy_i,  /// tags without all of their data
    input logic written_i,  /// a chunk has been written
    input logic answered_i,  /// the last word of a read's last completion was accepted
    input logic refused_i,  /// a completion says Unsupported Request
    input logic failed_i,  /// another error of a completion
    input logic quiet_i,  /// the writer is between packets
    input logic waits_i,  /// the writer has no answer to process
    input logic abort_i,
    input logic purge_i,
    input logic [15:0] timeout_i,  /// time-out for answers, in Units; 0: none

    output logic                   abandon_o,      /// the writer must drop answers
    output logic                   forget_o,       /// no read is outstanding, or will be answered
    output logic                   finished_o,     /// the chain has finished
    output logic                   fault_valid_o,  /// the chain was aborted
    output chain_fault_e           fault_reason_o,
    output logic [AddressBits-1:0] fault_address_o /// of the descriptor, or of the read without an answer
);
  if (Reads < 2 || Reads > 2 ** TagBits) begin : check_reads
    $error("tw_dma_reader: Reads must be 2 to 64");
  end
  if (Descriptors < 1) begin : check_descriptors
    $error("tw_dma_reader: Descriptors must be at least 1");
  end
  if (Unit < 2 || (Unit & (Unit - 1)) != 0) begin : check_unit
    $error("tw_dma_reader: Unit must be a power of two, at least 2");
  end

  localparam int unsigned DwordBits = AddressBits - 2;
  localparam int unsigned CountBits = $clog2(Descriptors + 1);

  typedef enum logic [2:0] {Idle, Fetch, Await, Cut, Issue, Drain, Abandon} state_e;

  state_e state_q;
  logic [DwordBits-1:0] from_q, to_q;
  logic [AddressBits-6:0] next_q, at_q;  // addresses of descriptors
  logic [CountBits-1:0] count_q;  // of descriptors
  logic [29:0] left_q;
  logic last_q;
  logic [6:0] dwords_q;
  logic [TagBits-1:0] tag_q;
  logic free_q;  // that tag, from the cycle after its choice on
  logic [TagBits:0] under_way_q;
  logic [TagBits:0] asked_q;  // reads without an answer, including that of a descriptor
  logic there_q;
  dma_descriptor_t descriptor_q;
  chain_fault_e broken_q;  // reason to abort the chain
  logic [6:0] purge_q;  // remaining cycles
  logic [DwordBits-1:0] read_q;  // address of the last read
  logic [$clog2(Unit)-1:0] cycles_q;  // since an answer, or since none was outstanding
  logic [15:0] units_q;
  logic lost_q;  // outstanding answers are no longer awaited

  wire fetches = state_q == Fetch;
  wire room = free_q && under_way_q != (TagBits + 1)'(Reads);
  assign start_ready_o = state_q == Idle;
  assign out_valid_o = fetches || (state_q == Issue && room);
  assign abandon_o = state_q == Abandon || lost_q;
  wire clear = state_q == Abandon && (asked_q == 0 || lost_q) && quiet_i;
  wire late = timeout_i != 0 && units_q >= timeout_i;
  wire loses = late && state_q != Idle && asked_q != 0;
  wire forgets = lost_q && (purge_i || late) && !out_valid_o && !chunk_valid_o;
  assign forget_o = forgets || (clear && asked_q == 0);
  // A read that is being offered is issued first.
  wire gives_up = broken_q != ChainRight && (!out_valid_o || out_ready_i);
  wire ends = state_q == Drain && under_way_q == 0 && broken_q == ChainRight;

  pcie_memory_read_t read;
  always_comb begin
    read = pcie_memory_read_empty();
    read.requester = own_i;
    read.first_enable = 4'hF;
    read.length = fetches ? 10'd8 : 10'(dwords_q);
    read.last_enable = read.length == 10'd1 ? 4'h0 : 4'hF;
    read.tag = {SideTag, fetches, fetches ? TagBits'(0) : tag_q};
    read.address = fetches ? 62'({next_q, 3'd0}) : 62'(from_q);
  end
  assign out_data_o = word_t'(pcie_memory_read_bytes(read));

  wire goes = out_valid_o && out_ready_i;
  wire issues = goes && !fetches;
  wire malformed = descriptor_q.size == 0 || descriptor_q.size[1:0] != 0 || descriptor_q.source[1:0] != 0
                   || descriptor_q.destination[1:0] != 0 || descriptor_q.source[63:AddressBits] != 0
                   || descriptor_q.destination[63:AddressBits] != 0
                   || (!descriptor_q.last && (descriptor_q.next[4:0] != 0 || descriptor_q.next[63:AddressBits] != 0));

  wire [6:0] to_boundary = 7'd64 - 7'(to_q[5:0]);
  wire [10:0] to_page = 11'd1024 - 11'(from_q[9:0]);
  wire [6:0] at_most = 11'(to_boundary) < to_page ? to_boundary : to_page[6:0];

  always_ff @(posedge clk_i) begin
    fetch_valid_o <= !rst_i && goes && fetches;
    chunk_valid_o <= !rst_i && issues;
    chunk_tag_o <= tag_q;
    chunk_from_o <= from_q[4:0];
    chunk_to_o <= to_q;
    chunk_dwords_o <= dwords_q;
    finished_o <= !rst_i && ends;
    fault_valid_o <= !rst_i && clear;
    fault_reason_o <= broken_q;
    fault_address_o <= broken_q == ChainLate ? {read_q, 2'd0} : {at_q, 5'd0};
    free_q <= !busy_i[tag_q[$clog2(Reads)-1:0]];
    under_way_q <= under_way_q + (TagBits + 1)'(issues) - (TagBits + 1)'(written_i);
    asked_q <= asked_q + (TagBits + 1)'(goes) - (TagBits + 1)'(answered_i && asked_q != 0);
    if (purge_i) purge_q <= 7'd64;
    else if (start_valid_i) purge_q <= purge_q != 0 ? 7'd64 : '0;
    else if (purge_q != 0) purge_q <= purge_q - 1'b1;
    if (state_q != Idle && late) broken_q <= ChainLate;
    else if (state_q != Idle && !ends && broken_q == ChainRight) begin
      if (refused_i) broken_q <= ChainRefused;
      else if (failed_i) broken_q <= ChainFailed;
      else if (abort_i || purge_i) broken_q <= ChainAborted;
    end
    if (goes) read_q <= read.address[DwordBits-1:0];
    cycles_q <= cycles_q + 1'b1;
    if (&cycles_q) units_q <= units_q + 16'(units_q != '1);
    if (asked_q == 0 || goes || answered_i || !waits_i || (loses && !lost_q)) begin
      cycles_q <= '0;
      units_q  <= '0;
    end
    if (asked_q == 0) lost_q <= 1'b0;
    else if (loses) lost_q <= 1'b1;
    if (forgets) begin
      lost_q  <= 1'b0;
      asked_q <= '0;
    end
    if (issues) tag_q <= tag_q == TagBits'(Reads - 1) ? '0 : tag_q + 1'b1;
    if (descriptor_valid_i) begin
      there_q <= 1'b1;
      descriptor_q <= descriptor_i;
    end
    unique case (state_q)
      Idle:
      if (start_valid_i) begin
        next_q  <= start_address_i[AddressBits-1:5];
        at_q    <= start_address_i[AddressBits-1:5];
        count_q <= '0;
        state_q <= Fetch;
        if (purge_q != 0 || lost_q || start_address_i[4:0] != 0) state_q <= Abandon;
        if (purge_q != 0) broken_q <= ChainAborted;
        else if (lost_q) broken_q <= ChainLate;
        else if (start_address_i[4:0] != 0) broken_q <= ChainMalformed;
      end
      Fetch:
      if (goes) begin
        state_q <= Await;
        at_q    <= next_q;
        count_q <= count_q + 1'b1;
      end
      Await:
      if (there_q && under_way_q == 0) begin
        there_q <= 1'b0;
        from_q  <= descriptor_q.source[AddressBits-1:2];
        to_q    <= descriptor_q.destination[AddressBits-1:2];
        next_q  <= descriptor_q.next[AddressBits-1:5];
        left_q  <= descriptor_q.size[31:2];
        last_q  <= descriptor_q.last;
        state_q <= Cut;
        if (broken_q == ChainRight && (malformed || 32'(count_q) > Descriptors - 32'(!descriptor_q.last))) begin
          state_q  <= Abandon;
          broken_q <= malformed ? ChainMalformed : ChainTooLong;
        end
      end
      Cut: begin
        dwords_q <= left_q < 30'(at_most) ? left_q[6:0] : at_most;
        state_q  <= Issue;
      end
      Issue:
      if (issues) begin
        from_q <= from_q + DwordBits'(dwords_q);
        to_q   <= to_q + DwordBits'(dwords_q);
        left_q <= left_q - 30'(dwords_q);
        if (left_q != 30'(dwords_q)) state_q <= Cut;
        else state_q <= last_q ? Drain : Fetch;
      end
      Drain: if (ends) state_q <= Idle;
      default: ;
    endcase
    if (gives_up) state_q <= Abandon;
    if (clear) begin
      state_q <= Idle;
      under_way_q <= '0;
      there_q <= 1'b0;
      broken_q <= ChainRight;
    end
    if (rst_i) begin
      state_q <= Idle;
      under_way_q <= '0;
      asked_q <= '0;
      tag_q <= '0;
      there_q <= 1'b0;
      broken_q <= ChainRight;
      purge_q <= '0;
      lost_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) counts_its_reads : assert (32'(under_way_q) <= Reads);
  end
`endif
endmodule
