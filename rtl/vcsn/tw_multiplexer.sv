// SPDX-License-Identifier: Apache-2.0
// Chooses the virtual port of an external port that sends the next frame: highest priority first, round-robin within a priority, and
// each port no faster than its pace.
//
// A port with a frame (wanting_i) is chosen in a cycle with choose_i; chosen_o shows it in the next cycle. A frame occupies
// the line for its words plus one for its headers, so choose_i stays low for as many cycles as it has words. In that time the
// round-robin order is updated, and paces are counted (tw_pacer).
//
// Order: by priority, then round-robin. Latency: a cycle. Throughput: a choice every second cycle. Storage: for each port its priority
// and two pacers; for each pair of ports which one goes first. Outputs are registers. Critical path: that of tw_pacer; with eight ports,
// from wanting_i through the ports that precede another one to the pacer.
module tw_multiplexer #(
    parameter  int unsigned Ports        = 2,    /// virtual ports, 1 to 8
    parameter  int unsigned FrameWords   = 143,  /// maximum words of a frame, at least 1
    parameter  int unsigned PriorityBits = 3,    /// at least 1
    parameter  int unsigned PaceBits     = 20,   /// at least 10
    localparam int unsigned PortBits     = Ports > 1 ? $clog2(Ports) : 1,
    localparam int unsigned WordsBits    = $clog2(FrameWords + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    set_valid_i,
    input logic [    PortBits-1:0] set_port_i,
    input logic [PriorityBits-1:0] set_priority_i,  /// higher goes first; 0 after reset
    input logic [    PaceBits-1:0] set_pace_i,      /// minimum time of a word, in cycles / 256; 0 after reset

    input logic                slow_valid_i,
    input logic [PortBits-1:0] slow_port_i,
    input logic [PaceBits-1:0] slow_pace_i,   /// pace of frames with slow_i, if slower; 0 after reset

    input  logic                            choose_i,
    input  logic [Ports-1:0]                wanting_i,
    input  logic [Ports-1:0]                slow_i,
    input  logic [Ports-1:0][WordsBits-1:0] words_i,    /// of the port's frame, at least 1; valid if wanting
    output logic [Ports-1:0]                chosen_o,   /// one-hot; zero if none was chosen
    output logic                            any_o       /// a port was chosen
);
  if (Ports < 1 || Ports > 8) begin : check_ports
    $error("tw_multiplexer: Ports must be 1 to 8");
  end
  if (FrameWords < 1) begin : check_words
    $error("tw_multiplexer: FrameWords must be at least 1");
  end
  if (PriorityBits < 1) begin : check_bits
    $error("tw_multiplexer: PriorityBits must be at least 1");
  end

  logic [Ports-1:0] open_q, chosen_q;  // may send, if none was chosen in the previous cycle; the choice
  logic any_q;
  logic [Ports-1:0] last_q;  // one-hot
  logic [Ports-1:0][PriorityBits-1:0] priority_d, priority_q;
  logic [Ports-1:0][Ports-1:0] before_q;  // [i][j], for i < j: i goes before j

  wire  [Ports-1:0] candidates = wanting_i & open_q;
  logic [Ports-1:0] wins;
  logic [Ports-1:0][Ports-1:0] ahead;  // [i][j]: j goes before i

  assign chosen_o = chosen_q;
  assign any_o = any_q;

  always_comb begin
    for (int unsigned i = 0; i < Ports; i++) begin
      for (int unsigned j = 0; j < Ports; j++) ahead[i][j] = j < i ? before_q[j][i] : j > i && !before_q[i][j];
      wins[i] = choose_i && candidates[i] && (candidates & ahead[i]) == 0;
    end
  end

  always_comb begin
    priority_d = priority_q;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (set_valid_i && set_port_i == PortBits'(i)) priority_d[i] = set_priority_i;
    end
  end

  // Round-robin starts after the last choice: of two ports the lower goes first, unless it was the last or the last lies between them.
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Ports; i++) begin
      for (int unsigned j = i + 1; j < Ports; j++) begin
        if (rst_i) before_q[i][j] <= i != 0;
        else if (priority_d[i] != priority_d[j]) before_q[i][j] <= priority_d[i] > priority_d[j];
        else before_q[i][j] <= (last_q >> i & (Ports'(1) << (j - i)) - 1'b1) == 0;
      end
    end
    chosen_q <= rst_i ? '0 : wins;
    any_q <= !rst_i && choose_i && candidates != 0;
    priority_q <= rst_i ? '0 : priority_d;
    if (rst_i) last_q <= Ports'(1);
    else if (choose_i && candidates != 0) last_q <= wins;  // one of them wins
  end

  for (genvar i = 0; i < Ports; i++) begin : port
    logic opens, slow_opens, slow_q;

    tw_pacer #(
        .WordsBits(WordsBits),
        .PaceBits (PaceBits)
    ) pace (
        .clk_i,
        .rst_i,
        .set_valid_i(set_valid_i && set_port_i == PortBits'(i)),
        .set_pace_i,
        .words_i    (words_i[i]),
        .sent_i     (chosen_q[i]),
        .opens_o    (opens)
    );

    tw_pacer #(
        .WordsBits(WordsBits),
        .PaceBits (PaceBits)
    ) slow_pace (
        .clk_i,
        .rst_i,
        .set_valid_i(slow_valid_i && slow_port_i == PortBits'(i)),
        .set_pace_i (slow_pace_i),
        .words_i    (words_i[i]),
        .sent_i     (chosen_q[i] && slow_q),
        .opens_o    (slow_opens)
    );

    always_ff @(posedge clk_i) begin
      slow_q <= slow_i[i];
      open_q[i] <= rst_i || (opens && slow_opens);
    end
  end

`ifndef SYNTHESIS
  logic [WordsBits-1:0] busy_q;  // cycles for which the line is occupied

  always_ff @(posedge clk_i) begin
    if (rst_i) busy_q <= '0;
    else begin
      if (busy_q != 0) busy_q <= busy_q - 1'b1;
      for (int unsigned i = 0; i < Ports; i++) if (wins[i]) busy_q <= words_i[i];
      line_is_free : assert (!choose_i || busy_q == 0);
      port_is_there : assert (!set_valid_i || 32'(set_port_i) < Ports);
      one_wins : assert ($onehot(wins) || (wins == 0 && !(choose_i && candidates != 0)));
    end
  end
`endif
endmodule
