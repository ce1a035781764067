// SPDX-License-Identifier: Apache-2.0
// Supported operators of a lane, and the distribution of a pipeline's registers.
package tw_reduce_pkg;
  import tw_spec_pkg::*;

  // Pairs of datatype and operator of a lane, bit [datatype][operator].
  typedef logic [31:0][15:0] pairs_t;

  // All pairs that the specification supports, without user operators.
  function automatic pairs_t all_pairs();
    pairs_t pairs;
    pairs = '0;
    for (int unsigned t = 0; t < 32; t++)
    for (int unsigned o = 0; o < 16; o++) pairs[t][o] = supported(operator_e'(4'(o)), datatype_e'(5'(t)));
    return pairs;
  endfunction

  // Floating formats 0 to 2: 16, 32 and 64 bits.
  function automatic int unsigned exponent_bits(int unsigned format);
    return format == 0 ? 5 : format == 1 ? 8 : 11;
  endfunction
  function automatic datatype_e real_type(int unsigned format);
    return format == 0 ? DatatypeFloat16 : format == 1 ? DatatypeFloat32 : DatatypeFloat64;
  endfunction
  // Type of two such numbers; none exists for 16 bits, where the real type is returned.
  function automatic datatype_e complex_type(int unsigned format);
    return format == 0 ? DatatypeFloat16 : format == 1 ? DatatypeComplex64 : DatatypeComplex128;
  endfunction

  // Bytes of an integer: 1, 2, 4 or 8, and 1 for plain bytes; 0 for other types.
  function automatic logic [3:0] integer_bytes(datatype_e datatype);
    return datatype <= DatatypeUint64 ? size_of(datatype)[3:0] : 4'd0;
  endfunction
  function automatic logic is_signed(datatype_e datatype);
    return datatype inside {DatatypeInt8, DatatypeInt16, DatatypeInt32, DatatypeInt64};
  endfunction

  // Registers behind step `step` (from 0) of a pipeline of `steps` steps with `stages` registers in total: spread
  // evenly, the last one behind the last step.
  function automatic int unsigned registers(int unsigned step, int unsigned steps, int unsigned stages);
    return (step + 1) * stages / steps - step * stages / steps;
  endfunction
endpackage
