// SPDX-License-Identifier: Apache-2.0
// Converts float32 to float16: rounded to nearest even, with subnormals and infinities. A NaN keeps its sign and the upper bits of
// its payload, and becomes quiet, as in x86 and Arm processors.
//
// Order: kept. Latency: four cycles. Throughput: a number per cycle. Storage: about a result per stage, none of it reset. Critical
// path: the sticky bit of the coarse shift, or the carry chain of the rounding and the selection behind it.
module tw_narrow (
    input  logic        clk_i,
    input  logic [31:0] wide_i,
    output logic [15:0] narrow_o
);
  // Exponents of a float32: the lowest that gives a normal float16, and the lowest that gives infinity.
  localparam logic [7:0] Normal = 8'd113;
  localparam logic [7:0] Infinite = 8'd143;

  typedef struct packed {
    logic sign;
    logic nan;
    logic infinite;
    logic [4:0] exponent;  // minus the hidden bit; 0 for subnormal numbers
  } kind_t;
  typedef logic [12:0] significand_t;  // hidden bit, fraction, guard bit, sticky bit

  // Right shift; the lowest bit is sticky.
  function automatic significand_t jam(significand_t value, int unsigned by);
    significand_t shifted, lost;
    shifted = value >> by;
    lost = value & ~(13'('1) << by);
    return {shifted[12:1], shifted[0] || lost != 0};
  endfunction

  // 0: classification. A subnormal number is shifted right; by 12 only the sticky bit is left.
  kind_t kind_0, kind_1q, kind_2q, kind_3q;
  significand_t significand_1q, coarse, coarse_2q, fine;
  logic [3:0] shift, shift_1q;
  logic [1:0] shift_2q;
  wire [7:0] exponent = wide_i[30:23];
  always_comb begin
    kind_0 = '{
        sign: wide_i[31],
        nan: &exponent && wide_i[22:0] != 0,
        infinite: exponent >= Infinite,
        exponent: 5'(exponent - Normal)
    };
    shift = 0;
    if (exponent < Normal) begin
      kind_0.exponent = 0;
      shift = exponent < Normal - 12 ? 4'd12 : 4'(Normal - exponent);
    end
  end

  // 1 and 2: shift, and the decision to round up.
  always_comb begin
    unique case (shift_1q[3:2])
      2'd0: coarse = significand_1q;
      2'd1: coarse = jam(significand_1q, 4);
      2'd2: coarse = jam(significand_1q, 8);
      default: coarse = jam(significand_1q, 12);
    endcase
    unique case (shift_2q)
      2'd0: fine = coarse_2q;
      2'd1: fine = jam(coarse_2q, 1);
      2'd2: fine = jam(coarse_2q, 2);
      default: fine = jam(coarse_2q, 3);
    endcase
  end

  // 3: rounding and packing.
  logic [10:0] significand_3q;
  logic up_3q;
  logic [14:0] magnitude;
  tw_fp_round #(
      .ExponentBits(5),
      .FractionBits(10)
  ) round (
      .exponent_i   (kind_3q.exponent),
      .significand_i(significand_3q),
      .up_i         (up_3q),
      .magnitude_o  (magnitude)
  );

  always_ff @(posedge clk_i) begin
    kind_1q <= kind_0;
    significand_1q <= {1'b1, wide_i[22:12], wide_i[11:0] != 0};
    shift_1q <= shift;
    kind_2q <= kind_1q;
    coarse_2q <= coarse;
    shift_2q <= shift_1q[1:0];
    kind_3q <= kind_2q;
    significand_3q <= fine[12:2];
    up_3q <= fine[1] && (fine[2] || fine[0]);
    narrow_o <= {
      kind_3q.sign,
      kind_3q.nan ? {6'h3F, significand_3q[8:0]} : kind_3q.infinite ? {5'h1F, 10'd0} : magnitude
    };
  end
endmodule
