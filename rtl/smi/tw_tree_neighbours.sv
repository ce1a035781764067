// SPDX-License-Identifier: Apache-2.0
// Computes a rank's parent and children in a collective's tree: position v = (own - root) modulo ranks has the parent
// (v - 1) / arity and the children arity v + 1 ... arity v + arity, as far as they exist.
//
// Order: none. Latency: 7 cycles from an open, or 15 if the parent is not position 0. Throughput: one open at a time.
// Storage: the outputs and their operands. Outputs are registers. Critical path: a product of 8 bits by 8, or an
// addition to it.
module tw_tree_neighbours
  import tw_spec_pkg::*;
  import tw_smi_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input logic  open_valid_i,  /// not while one is being computed
    input open_t open_i,

    output logic    out_valid_o,     /// until the next open
    output rank_t   out_parent_o,    /// rank of the cluster; for the root, the root itself
    output rank_t   out_children_o,  /// number of children
    output member_t out_child_o      /// the first one; without children, the communicator's first rank
);
  localparam logic [3:0] Place = 1, Before = 2, Children = 3, Divide = 4, Members = 12, Parent = 13, Child = 14;

  logic [3:0] step_q;
  rank_t own_q, root_q, first_q, stride_q, arity_q;
  logic [8:0] ranks_q;
  rank_t place_q, parent_q;  // parent_q: remaining bits of the dividend, followed by the quotient
  logic [7:0] rest_q;
  logic [15:0] before_q;  // last position before the first child

  // Rank of the communicator at a position.
  function automatic rank_t member_of(rank_t place, rank_t root, logic [8:0] ranks);
    logic [8:0] sum;
    sum = 9'(place) + 9'(root);
    return 8'(sum >= ranks ? sum - ranks : sum);
  endfunction

  wire [15:0] behind = 16'(ranks_q) - 16'd1 - before_q;  // positions from the first child on, if any
  wire near = place_q <= arity_q;
  wire [8:0] rest = {rest_q, parent_q[7]};
  wire fits = rest >= 9'(arity_q);

  always_ff @(posedge clk_i) begin
    if (open_valid_i) begin
      own_q <= open_i.own;
      root_q <= open_i.root;
      first_q <= open_i.first;
      stride_q <= open_i.stride;
      arity_q <= open_i.arity;
      ranks_q <= open_i.ranks;
    end
    unique case (step_q)
      Place: place_q <= own_q >= root_q ? own_q - root_q : 8'(9'(own_q) + ranks_q - 9'(root_q));
      Before: before_q <= 16'(arity_q) * 16'(place_q);
      Children: begin
        out_children_o <= 0;
        if (before_q + 16'd1 < 16'(ranks_q)) out_children_o <= behind < 16'(arity_q) ? behind[7:0] : arity_q;
        parent_q <= near ? 0 : place_q - 1;
        rest_q   <= 0;
      end
      Members: begin
        parent_q <= member_of(parent_q, root_q, ranks_q);
        out_child_o.own <= out_children_o == 0 ? 0 : member_of(8'(before_q + 16'd1), root_q, ranks_q);
      end
      Parent: out_parent_o <= 8'(first_q + stride_q * parent_q);
      Child: out_child_o.rank <= 8'(first_q + stride_q * out_child_o.own);
      default: begin  // divides, one bit per cycle
        parent_q <= {parent_q[6:0], fits};
        rest_q   <= 8'(fits ? rest - 9'(arity_q) : rest);
      end
    endcase
    if (rst_i) begin
      step_q <= 0;
      out_valid_o <= 1'b0;
    end else begin
      if (open_valid_i) begin
        step_q <= Place;
        out_valid_o <= 1'b0;
      end else if (step_q == Children) begin
        step_q <= near ? Members : Divide;
      end else if (step_q == Child) begin
        step_q <= 0;
        out_valid_o <= 1'b1;
      end else if (step_q != 0) begin
        step_q <= step_q + 1;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      one_at_a_time : assert (!open_valid_i || step_q == 0);
    end
  end
`endif
endmodule
