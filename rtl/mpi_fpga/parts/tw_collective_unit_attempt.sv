// SPDX-License-Identifier: Apache-2.0
// Decides whether the selected process advances, or else which resource it lacks.
//
// No registers. Critical path: from the slots' credits to attempt_o.
module tw_collective_unit_attempt
  import tw_node_pkg::*;
#(
    parameter int unsigned Edges = 6,
    parameter int unsigned SlotFlits = 64,
    localparam int unsigned EdgeWidth = Edges > 1 ? $clog2(Edges) : 1,
    localparam int unsigned CreditWidth = $clog2(SlotFlits + 1)
) (
    input logic             valid_i,       /// a process is tried
    input logic             known_i,       /// its step is known
    input logic [Edges-1:0] from_edges_i,
    input logic [Edges-1:0] to_edges_i,
    input logic             from_host_i,
    input logic [2:0]       size_i,        /// log2 of its packet's flits

    input logic [Edges-1:0]                  held_reading_i,  /// used by earlier operations
    input logic [Edges-1:0]                  held_writing_i,
    input logic                              upload_there_i,
    input logic                              staged_there_i,
    input logic [Edges-1:0]                  there_i,         /// edges with a packet
    input logic [Edges-1:0][CreditWidth-1:0] credits_i,
    input logic                              stage_room_i,
    input logic                              slots_free_i,    /// read ports of the memories
    input logic                              stages_free_i,
    input logic                              unit_valid_i,    /// a unit can take it now,
    input logic                              unit_room_i,     /// or has room and can take it later

    output attempt_e             attempt_o,
    output logic [EdgeWidth-1:0] edge_o      /// edge whose packet or credit is missing
);
  // verilator lint_off UNUSEDSIGNAL
  wire [6:0] flits = 7'd1 << size_i;  // short slots use only the lower bits
  // verilator lint_on UNUSEDSIGNAL

  logic [Edges-1:0] lacking_packets, lacking_credits;
  always_comb begin
    lacking_packets = from_edges_i & ~there_i;
    for (int unsigned k = 0; k < Edges; k++)
      lacking_credits[k] = to_edges_i[k] && credits_i[k] < CreditWidth'(flits);
  end

  always_comb begin
    if (!valid_i) attempt_o = AttemptNone;
    else if (!known_i) attempt_o = AttemptUnknown;
    else if ((from_edges_i & held_reading_i) != '0 || (to_edges_i & held_writing_i) != '0) attempt_o = AttemptTurn;
    else if (from_host_i && !upload_there_i) attempt_o = AttemptUpload;
    else if (!staged_there_i) attempt_o = AttemptStaged;
    else if (lacking_packets != '0) attempt_o = AttemptPacket;
    else if (lacking_credits != '0) attempt_o = AttemptCredit;
    else if (!stage_room_i) attempt_o = AttemptStageRoom;
    else if (unit_valid_i && slots_free_i && stages_free_i) attempt_o = AttemptGoes;
    else attempt_o = unit_room_i ? AttemptTime : AttemptQueueRoom;
  end

  function automatic logic [EdgeWidth-1:0] lowest(logic [Edges-1:0] set);
    lowest = '0;
    for (int unsigned k = Edges; k > 0; k--) if (set[k-1]) lowest = EdgeWidth'(k - 1);
  endfunction
  assign edge_o = lowest(attempt_o == AttemptCredit ? lacking_credits : lacking_packets);
endmodule
