// SPDX-License-Identifier: Apache-2.0
// The DMA controller of a hub: a reader and a writer for each channel, whose packets share the channel's port.
//
// Order: of a channel's chain. Latency: that of the reader and the writer, and one. Throughput: a word per cycle for each
// channel. Storage: that of the blocks. Critical path: that of the blocks.
module tw_hub_dma
  import tw_peach2_pkg::*;
  import tw_peach2_spec_pkg::*;
#(
    parameter int unsigned Reads = 16  /// outstanding reads of each channel
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [15:0] own_i,

    input  logic [Channels-1:0]                  start_valid_i,
    output logic [Channels-1:0]                  start_ready_o,
    input  logic [Channels-1:0][AddressBits-1:0] start_address_i,

    input logic [Channels-1:0] abort_i,
    input logic [Channels-1:0] purge_i,
    input logic [15:0] timeout_i,

    input  logic  [Channels-1:0] in_valid_i,
    output logic  [Channels-1:0] in_ready_o,
    input  word_t [Channels-1:0] in_data_i,
    input  logic  [Channels-1:0] in_last_i,
    output logic  [Channels-1:0] out_valid_o,
    input  logic  [Channels-1:0] out_ready_i,
    output word_t [Channels-1:0] out_data_o,
    output logic  [Channels-1:0] out_last_o,

    output logic [Channels-1:0] finished_o,
    output logic [Channels-1:0] fault_o,
    output chain_fault_e [Channels-1:0] fault_reason_o,
    output logic [Channels-1:0][AddressBits-1:0] fault_address_o
);
  for (genvar c = 0; c < Channels; c++) begin : channels
    logic read_valid, write_valid, read_ready, write_ready, write_last;
    word_t read_data, write_data;
    logic fetch_valid, chunk_valid;
    logic [TagBits-1:0] chunk_tag;
    logic [4:0] chunk_from;
    logic [AddressBits-3:0] chunk_to;
    logic [6:0] chunk_dwords;
    logic [Reads-1:0] busy;
    logic fetched, written, answered, refused, failed, quiet, waits, abandon, forget;
    dma_descriptor_t descriptor;

    tw_dma_reader #(
        .Reads(Reads),
        .SideTag(c == 1)
    ) reader (
        .clk_i             (clk_i),
        .rst_i             (rst_i),
        .own_i             (own_i),
        .start_valid_i     (start_valid_i[c]),
        .start_ready_o     (start_ready_o[c]),
        .start_address_i   (start_address_i[c]),
        .out_valid_o       (read_valid),
        .out_ready_i       (read_ready),
        .out_data_o        (read_data),
        .fetch_valid_o     (fetch_valid),
        .chunk_valid_o     (chunk_valid),
        .chunk_tag_o       (chunk_tag),
        .chunk_from_o      (chunk_from),
        .chunk_to_o        (chunk_to),
        .chunk_dwords_o    (chunk_dwords),
        .descriptor_valid_i(fetched),
        .descriptor_i      (descriptor),
        .busy_i            (busy),
        .written_i         (written),
        .answered_i        (answered),
        .refused_i         (refused),
        .failed_i          (failed),
        .quiet_i           (quiet),
        .waits_i           (waits),
        .abort_i           (abort_i[c]),
        .purge_i           (purge_i[c]),
        .timeout_i         (timeout_i),
        .abandon_o         (abandon),
        .forget_o          (forget),
        .finished_o        (finished_o[c]),
        .fault_valid_o     (fault_o[c]),
        .fault_reason_o    (fault_reason_o[c]),
        .fault_address_o   (fault_address_o[c])
    );
    tw_dma_writer #(
        .Reads  (Reads),
        .SideTag(c == 1)
    ) writer (
        .clk_i             (clk_i),
        .rst_i             (rst_i),
        .own_i             (own_i),
        .in_valid_i        (in_valid_i[c]),
        .in_ready_o        (in_ready_o[c]),
        .in_data_i         (in_data_i[c]),
        .in_last_i         (in_last_i[c]),
        .fetch_valid_i     (fetch_valid),
        .chunk_valid_i     (chunk_valid),
        .chunk_tag_i       (chunk_tag),
        .chunk_from_i      (chunk_from),
        .chunk_to_i        (chunk_to),
        .chunk_dwords_i    (chunk_dwords),
        .abandon_i         (abandon),
        .forget_i          (forget),
        .out_valid_o       (write_valid),
        .out_ready_i       (write_ready),
        .out_data_o        (write_data),
        .out_last_o        (write_last),
        .descriptor_valid_o(fetched),
        .descriptor_o      (descriptor),
        .busy_o            (busy),
        .written_o         (written),
        .answered_o        (answered),
        .refused_o         (refused),
        .failed_o          (failed),
        .quiet_o           (quiet),
        .waits_o           (waits)
    );
    tw_stream_switch #(
        .Inputs (2),
        .Outputs(1),
        .Width  (WordBits)
    ) engine (
        .clk_i      (clk_i),
        .rst_i      (rst_i),
        .in_valid_i ({write_valid, read_valid}),
        .in_ready_o ({write_ready, read_ready}),
        .in_data_i  ({write_data, read_data}),
        .in_last_i  ({write_last, 1'b1}),
        .in_to_i    ('0),
        .out_valid_o(out_valid_o[c]),
        .out_ready_i(out_ready_i[c]),
        .out_data_o (out_data_o[c]),
        .out_last_o (out_last_o[c])
    );
  end
endmodule
