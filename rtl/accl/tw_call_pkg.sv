// SPDX-License-Identifier: Apache-2.0
// Calls of ACCL's engine: scenarios with ACCL's numbers, and the description of a call that the control plane's blocks exchange.
package tw_call_pkg;
  import tw_spec_pkg::*;
  import tw_accl_programs_pkg::*;

  typedef enum logic [7:0] {
    CallConfig,
    CallCopy,
    CallCombine,
    CallSend,
    CallRecv,
    CallBcast,
    CallScatter,
    CallGather,
    CallReduce,
    CallAllgather,
    CallAllreduce,
    CallReduceScatter,
    CallBarrier,
    CallAlltoall,
    CallNop = 8'd255
  } scenario_e;

  // Bits of the return code.
  typedef enum logic [31:0] {
    CodeTimeOut = 32'h0000_0800,
    CodeNotImplemented = 32'h0000_4000,
    CodeEagerLimit = 32'h0001_0000,
    CodeRendezvousLimit = 32'h0002_0000,
    CodeSize = 32'h0004_0000,
    CodeArithmetic = 32'h0008_0000,
    CodeCompression = 32'h0040_0000,
    CodeNotReady = 32'h8000_0000
  } code_e;

  // Operator, data type and element size of a function number (below 24) in an arithmetic configuration.
  typedef struct packed {
    operator_e operation;
    datatype_e datatype;
    logic [1:0] size;  // logarithm of bytes
  } unit_t;

  typedef struct packed {
    logic [7:0] number;  // among the active calls
    logic [1:0] port;  // the port it came from
    program_e begin_at;  // its program; nop if it has a return code
    logic [31:0] code;
    scenario_e scenario;
    logic [7:0] setting;  // of a config call; 255: unknown
    logic [31:0] count;
    logic has_communicator, collective;
    logic [7:0] communicator;  // the board's index of it
    logic [12:0] communicator_at;  // its address in the exchange memory
    logic [7:0] rank, root;
    logic [31:0] tag, collective_number;
    operator_e operation;
    datatype_e datatype;
    logic [1:0] x_size, y_size, z_size, wire_size, combined_size;  // log2 of an element's bytes
    logic [2:0] host;  // in host memory: operand 0, operand 1, result
    logic [1:0] streams;  // operand 0, result
  } call_t;

  function automatic unit_t unit_of(logic [4:0] number);
    unique case (number)
      5'd0: return '{OperatorSum, DatatypeFloat32, 2'd2};
      5'd1: return '{OperatorSum, DatatypeFloat64, 2'd3};
      5'd2: return '{OperatorSum, DatatypeInt32, 2'd2};
      5'd3: return '{OperatorSum, DatatypeInt64, 2'd3};
      5'd4: return '{OperatorSum, DatatypeFloat16, 2'd1};
      5'd5: return '{OperatorMax, DatatypeFloat32, 2'd2};
      5'd6: return '{OperatorMax, DatatypeFloat64, 2'd3};
      5'd7: return '{OperatorMax, DatatypeInt32, 2'd2};
      5'd8: return '{OperatorMax, DatatypeInt64, 2'd3};
      5'd9: return '{OperatorMax, DatatypeFloat16, 2'd1};
      5'd10: return '{OperatorSum, DatatypeInt8, 2'd0};
      5'd11: return '{OperatorMax, DatatypeInt8, 2'd0};
      5'd12: return '{OperatorProd, DatatypeFloat32, 2'd2};
      5'd13: return '{OperatorProd, DatatypeFloat64, 2'd3};
      5'd14: return '{OperatorProd, DatatypeInt32, 2'd2};
      5'd15: return '{OperatorProd, DatatypeInt64, 2'd3};
      5'd16: return '{OperatorProd, DatatypeFloat16, 2'd1};
      5'd17: return '{OperatorProd, DatatypeInt8, 2'd0};
      5'd18: return '{OperatorMin, DatatypeFloat32, 2'd2};
      5'd19: return '{OperatorMin, DatatypeFloat64, 2'd3};
      5'd20: return '{OperatorMin, DatatypeInt32, 2'd2};
      5'd21: return '{OperatorMin, DatatypeInt64, 2'd3};
      5'd22: return '{OperatorMin, DatatypeFloat16, 2'd1};
      default: return '{OperatorMin, DatatypeInt8, 2'd0};
    endcase
  endfunction

  function automatic logic is_local(scenario_e scenario);
    return scenario inside {CallConfig, CallCopy, CallCombine, CallNop};
  endfunction
  function automatic logic is_rooted(scenario_e scenario);
    return scenario inside {CallSend, CallRecv, CallBcast, CallScatter, CallGather, CallReduce};
  endfunction
  function automatic logic combines(scenario_e scenario);
    return scenario inside {CallCombine, CallReduce, CallAllreduce, CallReduceScatter};
  endfunction
  // Operand 0 and result that can be a kernel's stream.
  function automatic logic [1:0] can_stream(scenario_e scenario);
    can_stream[0] = scenario inside {CallCopy, CallCombine, CallReduce, CallSend, CallGather};
    can_stream[1] = scenario inside {CallCopy, CallCombine, CallReduce, CallSend, CallRecv, CallBcast, CallScatter, CallReduceScatter};
  endfunction
  // Operand 0, operand 1 and result that the scenario has.
  function automatic logic [2:0] uses(scenario_e scenario, logic is_root);
    unique case (scenario)
      CallCombine: return 3'b111;
      CallSend: return 3'b001;
      CallRecv: return 3'b100;
      CallBcast: return is_root ? 3'b001 : 3'b100;
      CallScatter: return {2'b10, is_root};
      CallGather, CallReduce: return {is_root, 2'b01};
      CallConfig, CallBarrier, CallNop: return 3'b000;
      default: return 3'b101;
    endcase
  endfunction
  function automatic program_e program_of(scenario_e scenario, logic to_stream);
    unique case (scenario)
      CallCopy: return ProgramCopy;
      CallCombine: return ProgramCombine;
      CallSend: return to_stream ? ProgramPut : ProgramSend;
      CallRecv: return ProgramRecv;
      CallBcast: return ProgramBcast;
      CallScatter: return ProgramScatter;
      CallGather: return ProgramGather;
      CallReduce: return ProgramReduce;
      CallAllgather: return ProgramAllgather;
      CallAllreduce: return ProgramAllreduce;
      CallReduceScatter: return ProgramReduceScatter;
      CallBarrier: return ProgramBarrier;
      CallAlltoall: return ProgramAlltoall;
      default: return ProgramNop;
    endcase
  endfunction
endpackage
