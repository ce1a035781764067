// SPDX-License-Identifier: Apache-2.0
// Processes that wait at the edges of rows for a packet or for credits: at most one per edge and kind.
//
// An arrival over a link wakes the process that waits for it: `early` if it has waited since an earlier cycle, `late`
// if it would begin to wait in this one, and then does not. If credits of one edge arrive over several links at once,
// the lowest link wakes. Order: none. Latency: none. Throughput: one process begins to wait per cycle, each link wakes
// one. Storage: per edge and kind the process, a bit of begun waits, and a bit of ended waits per link, counted modulo
// 2: a process waits if their sum is odd, so that every memory has one writer. All outputs depend on inputs; clear_i
// empties a row, reset none. Critical path: from the arrival's row through these memories to early_valid_o.
module tw_slot_waits #(
    parameter int unsigned Links = 6,
    parameter int unsigned Rows = 32,
    parameter int unsigned Edges = 6,
    parameter int unsigned ProcessBits = 12,
    localparam int unsigned RowWidth = Rows > 1 ? $clog2(Rows) : 1,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                clear_i,      /// a row, each once after reset; no arrivals or waits meanwhile
    input logic [RowWidth-1:0] clear_row_i,

    input logic                   wait_valid_i,    /// no process waits there
    input logic                   wait_credits_i,  /// for credits, otherwise for a packet
    input logic [   RowWidth-1:0] wait_row_i,
    input logic [  EdgeWidth-1:0] wait_edge_i,
    input logic [ProcessBits-1:0] wait_process_i,

    input  logic [Links-1:0]                  arrival_valid_i,
    input  logic [Links-1:0]                  arrival_credits_i,
    input  logic [Links-1:0][   RowWidth-1:0] arrival_row_i,
    input  logic [Links-1:0][  EdgeWidth-1:0] arrival_edge_i,
    output logic [Links-1:0]                  early_valid_o,
    output logic [Links-1:0][ProcessBits-1:0] early_process_o,
    output logic [Links-1:0]                  late_valid_o
);
  if (Links < 1 || Rows < 1 || Edges < 1) begin : check_sizes
    $error("tw_slot_waits: there is a link, a row and an edge");
  end

  localparam int unsigned Kinds = 2 * Edges;
  localparam int unsigned EntryWidth = $clog2(Kinds) + RowWidth;

  typedef logic [Kinds-1:0] kinds_t;

  function automatic kinds_t kind(logic credits, logic [EdgeWidth-1:0] index);
    kind = '0;
    for (int unsigned k = 0; k < Edges; k++) begin
      kind[k] = !credits && index == EdgeWidth'(k);
      kind[Edges+k] = credits && index == EdgeWidth'(k);
    end
  endfunction

  function automatic logic [EntryWidth-1:0] place(logic credits, logic [EdgeWidth-1:0] index, logic [RowWidth-1:0] row);
    return {($clog2(Kinds))'(32'(index) + (credits ? Edges : 0)), row};
  endfunction

  (* ram_style = "distributed" *) kinds_t begun_q[Rows];
  (* ram_style = "distributed" *) logic [ProcessBits-1:0] processes_q[2**EntryWidth];

  logic [Links-1:0][Links-1:0][Kinds-1:0] ended;  // by a link, in the row of another link's arrival
  kinds_t [Links-1:0] kinds;
  logic [Links-1:0] first;  // no lower link's arrival is for the same edge

  for (genvar l = 0; l < Links; l++) begin : link
    (* ram_style = "distributed" *) kinds_t ended_q[Rows];
    kinds_t waiting;

    assign kinds[l] = kind(arrival_credits_i[l], arrival_edge_i[l]);
    always_comb begin
      waiting = begun_q[arrival_row_i[l]];
      first[l] = 1'b1;
      for (int m = 0; m < Links; m++) waiting ^= ended[m][l];
      for (int m = 0; m < l; m++)
        if (arrival_valid_i[m] && arrival_row_i[m] == arrival_row_i[l] && kinds[m] == kinds[l]) first[l] = 1'b0;
    end

    for (genvar m = 0; m < Links; m++) begin : row
      assign ended[l][m] = ended_q[arrival_row_i[m]];
    end

    assign early_valid_o[l] = arrival_valid_i[l] && first[l] && (waiting & kinds[l]) != 0;
    assign early_process_o[l] = processes_q[place(arrival_credits_i[l], arrival_edge_i[l], arrival_row_i[l])];
    assign late_valid_o[l] = wait_valid_i && arrival_valid_i[l] && first[l] && arrival_row_i[l] == wait_row_i &&
        arrival_edge_i[l] == wait_edge_i && arrival_credits_i[l] == wait_credits_i;

    always_ff @(posedge clk_i) begin
      if (clear_i) ended_q[clear_row_i] <= '0;
      else if (early_valid_o[l]) ended_q[arrival_row_i[l]] <= ended[l][l] ^ kinds[l];
    end
  end

  wire begins = wait_valid_i && late_valid_o == 0;

  always_ff @(posedge clk_i) begin
    if (clear_i) begun_q[clear_row_i] <= '0;
    else if (begins) begun_q[wait_row_i] <= begun_q[wait_row_i] ^ kind(wait_credits_i, wait_edge_i);
    if (begins) processes_q[place(wait_credits_i, wait_edge_i, wait_row_i)] <= wait_process_i;
  end

`ifndef SYNTHESIS
  logic waiting_q[2**EntryWidth];

  always_ff @(posedge clk_i) begin
    if (clear_i) foreach (waiting_q[i]) if (RowWidth'(i) == clear_row_i) waiting_q[i] <= 1'b0;
    if (!rst_i && !clear_i) begin
      nobody_waits : assert (!wait_valid_i || !waiting_q[place(wait_credits_i, wait_edge_i, wait_row_i)]);
      for (int l = 0; l < Links; l++)
        if (arrival_valid_i[l]) waiting_q[place(arrival_credits_i[l], arrival_edge_i[l], arrival_row_i[l])] <= 1'b0;
      if (begins) waiting_q[place(wait_credits_i, wait_edge_i, wait_row_i)] <= 1'b1;
    end
  end
`endif
endmodule
