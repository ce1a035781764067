// SPDX-License-Identifier: Apache-2.0
// Environment: windows are loaded and pages are looked up at any time. For any one window (which_i), the proof tracks whether it
// is the first that contains the page.
module windows_proof
  import tw_peach2_pkg::*;
#(
    parameter  int unsigned Windows    = 4,
    localparam int unsigned IndexWidth = $clog2(Windows)
) (
    input logic                       clk_i,
    input logic                       rst_i,
    input logic      [  BaseBits-1:0] base_i,
    input logic                       load_valid_i,
    input logic      [IndexWidth-1:0] load_index_i,
    input window_t                    load_window_i,
    input logic                       ask_valid_i,
    input logic      [  PageBits-1:0] ask_page_i,
    input logic      [IndexWidth-1:0] which_i
);
  logic found, hit;
  logic [2:0] to;

  tw_reset_first surroundings (.*);

  tw_windows #(
      .Windows(Windows)
  ) windows (
      .found_valid_o(found),
      .found_hit_o(hit),
      .found_to_o(to),
      .*
  );

  typedef struct packed {
    logic asked, own, any, first;
    logic [2:0] to;
  } answer_t;
  answer_t [1:0] answers_q;  // one cycle ago; two cycles ago

  logic [IndexWidth-1:0] which_q, which_before_q;

  // The loaded windows, and those that contain the page.
  window_t [Windows-1:0] loaded_q;
  logic [Windows-1:0] has, has_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Windows; i++) begin
      if (rst_i) loaded_q[i].used <= 1'b0;
      else if (load_valid_i && 32'(load_index_i) == i) loaded_q[i] <= load_window_i;
    end
  end
  for (genvar i = 0; i < Windows; i++) begin : each
    wire [PageBits-1:0] page = ask_page_i & loaded_q[i].mask;
    assign has[i] = loaded_q[i].used && !(page < loaded_q[i].lower || page > loaded_q[i].upper);

    always_ff @(posedge clk_i) begin
      if (!rst_i) begin
        lemma_loaded :
        assert (windows.windows_q[i].used == loaded_q[i].used && (!loaded_q[i].used || windows.windows_q[i] == loaded_q[i]));
        lemma_has : assert (!answers_q[0].asked || windows.hits_q[i] == has_q[i]);
        lemma_first :
        assert (!answers_q[0].asked || !answers_q[0].first || (i == 32'(which_q) ? windows.hits_q[i] &&
                windows.to_q[i] == answers_q[0].to : i > 32'(which_q) || !windows.hits_q[i]));
      end
    end
  end

  logic decides;  // which_i is the first window that contains it
  logic [2:0] first_to;
  always_comb begin
    decides = 1'b0;
    first_to = '0;
    for (int unsigned i = 0; i < Windows; i++) begin
      if (i < 32'(which_i) && has[i]) break;
      if (i == 32'(which_i)) begin
        decides = has[i];
        first_to = loaded_q[i].to;
        break;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    which_q <= which_i;
    which_before_q <= which_q;
    answers_q[0] <= '{
        asked: !rst_i && ask_valid_i,
        own: ask_page_i >> (PageBits - BaseBits) == PageBits'(base_i),
        any: 1'b0,
        first: decides,
        to: first_to
    };
    has_q <= has;
    answers_q[1] <= answers_q[0];
    answers_q[1].any <= has_q != 0;
    if (rst_i) answers_q[1].asked <= 1'b0;

    if (!rst_i) begin
      answers_once : assert (found == answers_q[1].asked);
      first_decides : assert (!found || answers_q[1].own || !answers_q[1].first || (hit && to == answers_q[1].to));
      nothing_else : assert (!found || answers_q[1].own || answers_q[1].any || !hit);
      own_to_the_bus : assert (!found || !answers_q[1].own || (hit && to == Bus));
      second_decides : cover (found && !answers_q[1].own && hit && answers_q[1].first && which_before_q != 0);

      lemma_asked : assert (windows.asked_q == answers_q[0].asked);
      lemma_own : assert (!answers_q[0].asked || windows.own_q == answers_q[0].own);
    end
  end
endmodule
