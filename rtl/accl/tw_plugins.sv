// SPDX-License-Identifier: Apache-2.0
// The plug-ins of ACCL's data path: convert a job's operands, combine them, and convert the result, word by word.
//
// A job takes the words of one packet of x, up to its last one, and of one packet of y if it combines. After conversion, x and y have the
// same number of words. A job that does not combine takes no y. Words may be offered before their job.
//
// Order: that of jobs. Latency: two cycles from a job to the cycle in which its words are accepted; from a word to the result that it
// completes, that of tw_converter, tw_combiner, and tw_converter again: 7 + 16 + 7 with lanes of 14, and 3 if nothing is built
// in. Throughput: a word per cycle on the longest of the streams, without gaps between jobs. Storage: for each converter and
// the combiner, Jobs jobs in memory and one at the output; that of three converters and the combiner. All outputs depend only on
// registers, out_data_o is a register. Critical path: that of tw_combiner.
module tw_plugins
  import tw_spec_pkg::*, tw_reduce_pkg::*, tw_accl_pkg::*;
#(
    parameter bit Conversions = 1'b1,  /// built in; otherwise no job converts
    parameter pairs_t Pairs = accl_pairs(),  /// supported pairs, as in tw_combiner; if there are none, no job combines
    parameter int unsigned Latency = 14,  /// of the lanes, in cycles, at least 1
    parameter int unsigned Jobs = 32  /// active or waiting jobs; at least 2, and 32 for a word per cycle with one-word jobs
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        job_valid_i,
    output logic        job_ready_o,
    input  plugin_job_t job_i,

    input  logic  x_valid_i,
    output logic  x_ready_o,
    input  word_t x_data_i,
    input  logic  x_last_i,

    input  logic  y_valid_i,
    output logic  y_ready_o,
    input  word_t y_data_i,
    input  logic  y_last_i,

    output logic  out_valid_o,
    input  logic  out_ready_i,
    output word_t out_data_o,
    output logic  out_last_o
);
  // A job's parameters for a converter and the combiner. Each has its own queue, as it reaches the job at a different time.
  typedef struct packed {
    conversion_e conversion;
    logic half;
  } convert_t;
  typedef struct packed {
    logic combines;
    operator_e operation;
    datatype_e datatype;
  } combine_t;
  wire accept = job_valid_i && job_ready_o;
  wire half = fill_half(job_i.elements[4:0]);
  wire unused_elements = &{1'b0, job_i.elements[15:5]};

  convert_t x_job, y_job, z_job;
  combine_t job;
  logic x_there, y_there, there, z_there;
  logic x_room, y_room, room;
  logic x_done, y_done, done, z_done;
  tw_ram_fifo #(
      .Width($bits(convert_t)),
      .Depth(Jobs)
  ) x_jobs (
      .clk_i,
      .rst_i,
      .in_valid_i (accept),
      .in_ready_o (x_room),
      .in_data_i  ({job_i.x, half}),
      .out_valid_o(x_there),
      .out_ready_i(x_done),
      .out_data_o (x_job),
      .count_o    ()
  );
  tw_ram_fifo #(
      .Width($bits(convert_t)),
      .Depth(Jobs)
  ) y_jobs (
      .clk_i,
      .rst_i,
      .in_valid_i (accept && job_i.combines),
      .in_ready_o (y_room),
      .in_data_i  ({job_i.y, half}),
      .out_valid_o(y_there),
      .out_ready_i(y_done),
      .out_data_o (y_job),
      .count_o    ()
  );
  tw_ram_fifo #(
      .Width($bits(combine_t)),
      .Depth(Jobs)
  ) jobs (
      .clk_i,
      .rst_i,
      .in_valid_i (accept),
      .in_ready_o (room),
      .in_data_i  ({job_i.combines, job_i.operation, job_i.datatype}),
      .out_valid_o(there),
      .out_ready_i(done),
      .out_data_o (job),
      .count_o    ()
  );
  // Jobs leave this queue last: if it has room, the others have too.
  tw_ram_fifo #(
      .Width($bits(convert_t)),
      .Depth(Jobs)
  ) z_jobs (
      .clk_i,
      .rst_i,
      .in_valid_i (accept),
      .in_ready_o (job_ready_o),
      .in_data_i  ({job_i.z, half}),
      .out_valid_o(z_there),
      .out_ready_i(z_done),
      .out_data_o (z_job),
      .count_o    ()
  );

  logic x_ready, x_valid, x_taken, x_last, y_ready, y_valid, y_taken, y_last, z_valid, z_ready, z_last;
  word_t x_data, y_data, z_data;
  assign x_ready_o = x_there && x_ready;
  assign y_ready_o = y_there && y_ready;
  assign x_done = x_valid_i && x_ready && x_last_i;
  assign y_done = y_valid_i && y_ready && y_last_i;
  assign done = x_valid && x_taken && x_last;
  assign z_done = z_valid && z_ready && z_last;

  tw_converter #(
      .Conversions(Conversions)
  ) convert_x (
      .clk_i,
      .rst_i,
      .in_valid_i     (x_valid_i && x_there),
      .in_ready_o     (x_ready),
      .in_data_i      (x_data_i),
      .in_last_i      (x_last_i),
      .in_conversion_i(x_job.conversion),
      .in_half_i      (x_job.half),
      .out_valid_o    (x_valid),
      .out_ready_i    (x_taken),
      .out_data_o     (x_data),
      .out_last_o     (x_last)
  );
  tw_converter #(
      .Conversions(Conversions)
  ) convert_y (
      .clk_i,
      .rst_i,
      .in_valid_i     (y_valid_i && y_there),
      .in_ready_o     (y_ready),
      .in_data_i      (y_data_i),
      .in_last_i      (y_last_i),
      .in_conversion_i(y_job.conversion),
      .in_half_i      (y_job.half),
      .out_valid_o    (y_valid),
      .out_ready_i    (y_taken),
      .out_data_o     (y_data),
      .out_last_o     (y_last)
  );
  tw_combiner #(
      .Latency(Latency),
      .Pairs  (Pairs)
  ) combine (
      .clk_i,
      .rst_i,
      .x_valid_i    (x_valid),
      .x_ready_o    (x_taken),
      .x_data_i     (x_data),
      .x_last_i     (x_last),
      .x_combines_i (job.combines),
      .x_operation_i(job.operation),
      .x_datatype_i (job.datatype),
      .y_valid_i    (y_valid),
      .y_ready_o    (y_taken),
      .y_data_i     (y_data),
      .y_last_i     (y_last),
      .out_valid_o  (z_valid),
      .out_ready_i  (z_ready),
      .out_data_o   (z_data),
      .out_last_o   (z_last)
  );
  tw_converter #(
      .Conversions(Conversions)
  ) convert_z (
      .clk_i,
      .rst_i,
      .in_valid_i     (z_valid),
      .in_ready_o     (z_ready),
      .in_data_i      (z_data),
      .in_last_i      (z_last),
      .in_conversion_i(z_job.conversion),
      .in_half_i      (z_job.half),
      .out_valid_o,
      .out_ready_i,
      .out_data_o,
      .out_last_o
  );

`ifdef SYNTHESIS
  wire unused_rooms = &{1'b0, x_room, y_room, room, there, z_there};
`else
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      all_have_room : assert (!job_ready_o || (x_room && y_room && room));
      words_have_jobs : assert ((!x_valid || there) && (!z_valid || z_there));
    end
  end
`endif
endmodule
