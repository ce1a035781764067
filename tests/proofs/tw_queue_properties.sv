// SPDX-License-Identifier: Apache-2.0
// Properties of a queue at its input and output.
//
// Any word that enters may be the watched one (watch_i, free to the tool). It is tracked by counting the words ahead of
// it, and must be at the output when there are none. So no word is lost, invented, altered or overtaken.
module tw_queue_properties #(
    parameter int unsigned Width = 1,
    parameter int unsigned Depth = 1,
    parameter bit Prompt = 1'b1,  /// accepts a word whenever there is room, and shows one whenever it holds one
    localparam int unsigned CountWidth = $clog2(Depth + 2)
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  watch_i,
    input  logic                  in_valid_i,
    input  logic                  in_ready_i,
    input  logic [     Width-1:0] in_data_i,
    input  logic                  out_valid_i,
    input  logic                  out_ready_i,
    input  logic [     Width-1:0] out_data_i,
    output logic [CountWidth-1:0] held_o       /// words that entered and have not left
);
  logic [CountWidth-1:0] held_q, ahead_q;
  logic watched_q, stalled_q;
  logic [Width-1:0] word_q, stalled_data_q;

  wire push = in_valid_i && in_ready_i;
  wire pop = out_valid_i && out_ready_i;

  assign held_o = held_q;

  always_ff @(posedge clk_i) begin
    stalled_q <= !rst_i && out_valid_i && !out_ready_i;
    stalled_data_q <= out_data_i;
    if (rst_i) begin
      held_q <= 0;
      watched_q <= 1'b0;
    end else begin
      held_q <= held_q + CountWidth'(push) - CountWidth'(pop);
      if (!watched_q) begin
        watched_q <= push && watch_i;
        ahead_q <= held_q - CountWidth'(pop);
        word_q <= in_data_i;
      end else if (pop) begin
        watched_q <= ahead_q != 0;
        ahead_q <= ahead_q - 1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      never_too_many : assert (held_q <= CountWidth'(Depth));
      lemma_watched_is_held : assert (!watched_q || ahead_q < held_q);
      takes_while_room : assert (held_q < CountWidth'(Depth) ? in_ready_i || !Prompt : !in_ready_i);
      gives_what_it_holds : assert (held_q != 0 ? out_valid_i || !Prompt : !out_valid_i);
      in_order : assert (!watched_q || ahead_q != 0 || !out_valid_i || out_data_i == word_q);
      waits_for_ready : assert (!stalled_q || (out_valid_i && out_data_i == stalled_data_q));
      full : cover (held_q == CountWidth'(Depth));
      watched_comes_out : cover (watched_q && ahead_q == 0 && pop);
    end
  end
endmodule
