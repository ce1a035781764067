// SPDX-License-Identifier: Apache-2.0
// Shared by the blocks of ACCL's offload engine: words of the data path, and jobs of its plug-ins.
package tw_accl_pkg;
  import tw_spec_pkg::*;
  import tw_reduce_pkg::pairs_t;

  localparam int unsigned WordBytes = 64;
  localparam int unsigned WordBits = 8 * WordBytes;

  typedef logic [WordBits-1:0] word_t;  // lowest address in bits 7 to 0

  typedef enum logic [1:0] {
    ConvertNot,
    Narrow,  // float32 to float16: rounded to nearest even; subnormals, infinities and NaNs as on the processor
    Widen  // float16 to float32
  } conversion_e;

  // Returns whether this number of float16 elements, modulo 32, fills at most half of its last word.
  function automatic logic fill_half(logic [4:0] elements);
    return elements != 0 && elements <= 16;
  endfunction

  // Supported pairs of data type and operator.
  function automatic pairs_t accl_pairs();
    accl_pairs = '0;
    for (int unsigned t = 0; t < 32; t++)
    if (datatype_e'(5'(t)) inside {DatatypeInt8, DatatypeInt32, DatatypeInt64, DatatypeFloat16, DatatypeFloat32, DatatypeFloat64})
      for (int unsigned o = 0; o < 16; o++)
      accl_pairs[t][o] = operator_e'(4'(o)) inside {OperatorSum, OperatorProd, OperatorMin, OperatorMax};
  endfunction

  // Processing of a stream of words in the plug-ins.
  typedef struct packed {
    logic combines;
    operator_e operation;  // on elements of `datatype`
    datatype_e datatype;
    conversion_e x, y;  // of the operands, before they are combined
    conversion_e z;  // of the result
    logic [15:0] elements;  // 1 to 65535
  } plugin_job_t;
endpackage
