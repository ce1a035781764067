// SPDX-License-Identifier: Apache-2.0
// Generated from spec/accl/programs.txt by spec/generate.py; don't edit.
package tw_accl_programs_pkg;
  localparam int unsigned InstructionBits = 9;  // of an instruction's number
  localparam int unsigned RegisterBits = 48;

  // Of a call.
  typedef enum logic [4:0] {
    RegisterZero = 5'd0,
    RegisterRank = 5'd1,
    RegisterSize = 5'd2,
    RegisterRoot = 5'd3,
    RegisterNext = 5'd4,
    RegisterPrev = 5'd5,
    RegisterCount = 5'd6,
    RegisterMost = 5'd7,
    RegisterFlat = 5'd8,
    RegisterPart = 5'd9,
    RegisterN = 5'd10,
    RegisterOp0 = 5'd11,
    RegisterOp1 = 5'd12,
    RegisterRes = 5'd13,
    RegisterSpare = 5'd14,
    RegisterE0 = 5'd15,
    RegisterE1 = 5'd16,
    RegisterEr = 5'd17,
    RegisterA = 5'd18,
    RegisterB = 5'd19,
    RegisterC = 5'd20,
    RegisterI = 5'd21,
    RegisterJ = 5'd22,
    RegisterK = 5'd23,
    RegisterLeft = 5'd24
  } register_e;

  // As spec/accl/programs.txt has them.
  typedef enum logic [4:0] {
    OpcodeEnd = 5'd0,
    OpcodeSet = 5'd1,
    OpcodeCopy = 5'd2,
    OpcodeAdd = 5'd3,
    OpcodeSub = 5'd4,
    OpcodeXor = 5'd5,
    OpcodeMul = 5'd6,
    OpcodeDiv = 5'd7,
    OpcodeEq = 5'd8,
    OpcodeNe = 5'd9,
    OpcodeLt = 5'd10,
    OpcodeGe = 5'd11,
    OpcodeCall = 5'd12,
    OpcodeReturn = 5'd13,
    OpcodeSignal = 5'd14,
    OpcodeAwait = 5'd15,
    OpcodeMove = 5'd16,
    OpcodeStart = 5'd17,
    OpcodeJoin = 5'd18
  } opcode_e;

  // What an operand or the result of a move is.
  typedef enum logic [3:0] {
    OperandNone = 4'd0,
    OperandOp0 = 4'd1,
    OperandOp1 = 4'd2,
    OperandRes = 4'd3,
    OperandRecv = 4'd4,
    OperandTake = 4'd5,
    OperandSend = 4'd6,
    OperandGive = 4'd7,
    OperandPut = 4'd8
  } operand_kind_e;

  typedef struct packed {
    opcode_e operation;
    register_e d, a, b;  // of a move: of its result, operand 0 and operand 1
    logic has_immediate;  // in place of b
    logic [3:0] immediate;
    logic [InstructionBits-1:0] target;  // of a jump
    operand_kind_e x, y, z;
  } instruction_t;

  // Where programs begin.
  typedef enum logic [InstructionBits-1:0] {
    ProgramNop = 9'd0,
    ProgramCopy = 9'd1,
    ProgramCombine = 9'd3,
    ProgramSend = 9'd5,
    ProgramPut = 9'd7,
    ProgramRecv = 9'd9,
    ProgramBcast = 9'd11,
    ProgramScatter = 9'd61,
    ProgramGather = 9'd79,
    ProgramAllgather = 9'd122,
    ProgramReduce = 9'd158,
    ProgramReduceScatter = 9'd190,
    ProgramAllreduce = 9'd221,
    ProgramAlltoall = 9'd311,
    ProgramBarrier = 9'd355
  } program_e;

  function automatic instruction_t instruction_at(logic [InstructionBits-1:0] address);
    unique case (address)
      9'd0: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd1: return '{OpcodeMove, RegisterRes, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[res]
      9'd2: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd3: return '{OpcodeMove, RegisterRes, RegisterOp0, RegisterOp1, 1'b0, 4'd0, 9'd0, OperandOp0, OperandOp1, OperandRes};  // move op0[op0] + op1[op1] > res[res]
      9'd4: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd5: return '{OpcodeMove, RegisterRoot, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandGive};  // move op0[op0] > give[root]
      9'd6: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd7: return '{OpcodeMove, RegisterRoot, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandPut};  // move op0[op0] > put[root]
      9'd8: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd9: return '{OpcodeMove, RegisterRes, RegisterRoot, RegisterZero, 1'b0, 4'd0, 9'd0, OperandTake, OperandNone, OperandRes};  // move take[root] > res[res]
      9'd10: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd11: return '{OpcodeLt, RegisterZero, RegisterPart, RegisterCount, 1'b0, 4'd0, 9'd26, OperandNone, OperandNone, OperandNone};  // lt part count .parts
      9'd12: return '{OpcodeNe, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd20, OperandNone, OperandNone, OperandNone};  // ne rank root .leaf
      9'd13: return '{OpcodeCopy, RegisterI, RegisterRoot, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i root
      9'd14: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd15: return '{OpcodeGe, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd21, OperandNone, OperandNone, OperandNone};  // ge k size .done
      9'd16: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd22, OperandNone, OperandNone, OperandNone};  // call .after
      9'd17: return '{OpcodeMove, RegisterI, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandGive};  // move op0[op0] > give[i]
      9'd18: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd19: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd15, OperandNone, OperandNone, OperandNone};  // jump .next
      9'd20: return '{OpcodeMove, RegisterRes, RegisterRoot, RegisterZero, 1'b0, 4'd0, 9'd0, OperandTake, OperandNone, OperandRes};  // move take[root] > res[res]
      9'd21: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd22: return '{OpcodeAdd, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i 1
      9'd23: return '{OpcodeLt, RegisterZero, RegisterI, RegisterSize, 1'b0, 4'd0, 9'd25, OperandNone, OperandNone, OperandNone};  // lt i size .inside
      9'd24: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 0
      9'd25: return '{OpcodeReturn, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // return
      9'd26: return '{OpcodeCopy, RegisterLeft, RegisterCount, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy left count
      9'd27: return '{OpcodeCopy, RegisterN, RegisterLeft, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy n left
      9'd28: return '{OpcodeLt, RegisterZero, RegisterLeft, RegisterPart, 1'b0, 4'd0, 9'd30, OperandNone, OperandNone, OperandNone};  // lt left part .last
      9'd29: return '{OpcodeCopy, RegisterN, RegisterPart, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy n part
      9'd30: return '{OpcodeEq, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd45, OperandNone, OperandNone, OperandNone};  // eq rank root .own
      9'd31: return '{OpcodeEq, RegisterZero, RegisterSpare, RegisterZero, 1'b1, 4'd0, 9'd39, OperandNone, OperandNone, OperandNone};  // eq spare 0 .take
      9'd32: return '{OpcodeMove, RegisterSpare, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandOp1};  // move recv[prev] > op1[spare]
      9'd33: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd54, OperandNone, OperandNone, OperandNone};  // call .taken
      9'd34: return '{OpcodeMove, RegisterRes, RegisterSpare, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp1, OperandNone, OperandRes};  // move op1[spare] > res[res]
      9'd35: return '{OpcodeEq, RegisterZero, RegisterNext, RegisterRoot, 1'b0, 4'd0, 9'd47, OperandNone, OperandNone, OperandNone};  // eq next root .handed
      9'd36: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd57, OperandNone, OperandNone, OperandNone};  // call .room
      9'd37: return '{OpcodeMove, RegisterNext, RegisterSpare, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp1, OperandNone, OperandSend};  // move op1[spare] > send[next]
      9'd38: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd47, OperandNone, OperandNone, OperandNone};  // jump .handed
      9'd39: return '{OpcodeMove, RegisterRes, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandRes};  // move recv[prev] > res[res]
      9'd40: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd54, OperandNone, OperandNone, OperandNone};  // call .taken
      9'd41: return '{OpcodeEq, RegisterZero, RegisterNext, RegisterRoot, 1'b0, 4'd0, 9'd47, OperandNone, OperandNone, OperandNone};  // eq next root .handed
      9'd42: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd57, OperandNone, OperandNone, OperandNone};  // call .room
      9'd43: return '{OpcodeStart, RegisterNext, RegisterRes, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandSend};  // start res[res] > send[next]
      9'd44: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd47, OperandNone, OperandNone, OperandNone};  // jump .handed
      9'd45: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd57, OperandNone, OperandNone, OperandNone};  // call .room
      9'd46: return '{OpcodeMove, RegisterNext, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[op0] > send[next]
      9'd47: return '{OpcodeSub, RegisterLeft, RegisterLeft, RegisterN, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub left left n
      9'd48: return '{OpcodeMul, RegisterA, RegisterN, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a n e0
      9'd49: return '{OpcodeAdd, RegisterOp0, RegisterOp0, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add op0 op0 a
      9'd50: return '{OpcodeMul, RegisterA, RegisterN, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a n er
      9'd51: return '{OpcodeAdd, RegisterRes, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add res res a
      9'd52: return '{OpcodeNe, RegisterZero, RegisterLeft, RegisterZero, 1'b1, 4'd0, 9'd27, OperandNone, OperandNone, OperandNone};  // ne left 0 .part
      9'd53: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd54: return '{OpcodeGe, RegisterZero, RegisterMost, RegisterLeft, 1'b0, 4'd0, 9'd56, OperandNone, OperandNone, OperandNone};  // ge most left .returned
      9'd55: return '{OpcodeSignal, RegisterPrev, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // signal prev
      9'd56: return '{OpcodeReturn, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // return
      9'd57: return '{OpcodeSub, RegisterA, RegisterCount, RegisterLeft, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub a count left
      9'd58: return '{OpcodeLt, RegisterZero, RegisterA, RegisterMost, 1'b0, 4'd0, 9'd56, OperandNone, OperandNone, OperandNone};  // lt a most .returned
      9'd59: return '{OpcodeAwait, RegisterNext, RegisterNext, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // await next
      9'd60: return '{OpcodeReturn, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // return
      9'd61: return '{OpcodeNe, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd77, OperandNone, OperandNone, OperandNone};  // ne rank root .leaf
      9'd62: return '{OpcodeCopy, RegisterI, RegisterRoot, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i root
      9'd63: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 0
      9'd64: return '{OpcodeMul, RegisterB, RegisterCount, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b count e0
      9'd65: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd66: return '{OpcodeAdd, RegisterA, RegisterOp0, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a op0 a
      9'd67: return '{OpcodeEq, RegisterZero, RegisterI, RegisterRank, 1'b0, 4'd0, 9'd70, OperandNone, OperandNone, OperandNone};  // eq i rank .own
      9'd68: return '{OpcodeMove, RegisterI, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandGive};  // move op0[a] > give[i]
      9'd69: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd71, OperandNone, OperandNone, OperandNone};  // jump .sent
      9'd70: return '{OpcodeMove, RegisterRes, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[a] > res[res]
      9'd71: return '{OpcodeAdd, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i 1
      9'd72: return '{OpcodeLt, RegisterZero, RegisterI, RegisterSize, 1'b0, 4'd0, 9'd74, OperandNone, OperandNone, OperandNone};  // lt i size .inside
      9'd73: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 0
      9'd74: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd75: return '{OpcodeLt, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd65, OperandNone, OperandNone, OperandNone};  // lt k size .next
      9'd76: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd77: return '{OpcodeMove, RegisterRes, RegisterRoot, RegisterZero, 1'b0, 4'd0, 9'd0, OperandTake, OperandNone, OperandRes};  // move take[root] > res[res]
      9'd78: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd79: return '{OpcodeLt, RegisterZero, RegisterFlat, RegisterCount, 1'b0, 4'd0, 9'd96, OperandNone, OperandNone, OperandNone};  // lt flat count .ring
      9'd80: return '{OpcodeEq, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd83, OperandNone, OperandNone, OperandNone};  // eq rank root .all
      9'd81: return '{OpcodeMove, RegisterRoot, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[op0] > send[root]
      9'd82: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd83: return '{OpcodeMul, RegisterB, RegisterCount, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b count er
      9'd84: return '{OpcodeMul, RegisterA, RegisterB, RegisterRank, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b rank
      9'd85: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd86: return '{OpcodeMove, RegisterA, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[a]
      9'd87: return '{OpcodeCopy, RegisterI, RegisterNext, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i next
      9'd88: return '{OpcodeEq, RegisterZero, RegisterI, RegisterRank, 1'b0, 4'd0, 9'd121, OperandNone, OperandNone, OperandNone};  // eq i rank .done
      9'd89: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd90: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd91: return '{OpcodeMove, RegisterA, RegisterI, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandRes};  // move recv[i] > res[a]
      9'd92: return '{OpcodeAdd, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i 1
      9'd93: return '{OpcodeLt, RegisterZero, RegisterI, RegisterSize, 1'b0, 4'd0, 9'd88, OperandNone, OperandNone, OperandNone};  // lt i size .each
      9'd94: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 0
      9'd95: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd88, OperandNone, OperandNone, OperandNone};  // jump .each
      9'd96: return '{OpcodeEq, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd106, OperandNone, OperandNone, OperandNone};  // eq rank root .root
      9'd97: return '{OpcodeMove, RegisterNext, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[op0] > send[next]
      9'd98: return '{OpcodeAdd, RegisterK, RegisterRoot, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k root 1
      9'd99: return '{OpcodeGe, RegisterZero, RegisterRank, RegisterK, 1'b0, 4'd0, 9'd101, OperandNone, OperandNone, OperandNone};  // ge rank k .behind
      9'd100: return '{OpcodeAdd, RegisterRank, RegisterRank, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add rank rank size
      9'd101: return '{OpcodeSub, RegisterK, RegisterRank, RegisterK, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub k rank k
      9'd102: return '{OpcodeEq, RegisterZero, RegisterK, RegisterZero, 1'b1, 4'd0, 9'd121, OperandNone, OperandNone, OperandNone};  // eq k 0 .done
      9'd103: return '{OpcodeMove, RegisterNext, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandSend};  // move recv[prev] > send[next]
      9'd104: return '{OpcodeSub, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub k k 1
      9'd105: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd102, OperandNone, OperandNone, OperandNone};  // jump .relay
      9'd106: return '{OpcodeMul, RegisterB, RegisterCount, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b count er
      9'd107: return '{OpcodeMul, RegisterA, RegisterB, RegisterRank, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b rank
      9'd108: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd109: return '{OpcodeMove, RegisterA, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[a]
      9'd110: return '{OpcodeCopy, RegisterI, RegisterRank, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i rank
      9'd111: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd112: return '{OpcodeGe, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd121, OperandNone, OperandNone, OperandNone};  // ge k size .done
      9'd113: return '{OpcodeNe, RegisterZero, RegisterI, RegisterZero, 1'b1, 4'd0, 9'd115, OperandNone, OperandNone, OperandNone};  // ne i 0 .before
      9'd114: return '{OpcodeCopy, RegisterI, RegisterSize, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i size
      9'd115: return '{OpcodeSub, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub i i 1
      9'd116: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd117: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd118: return '{OpcodeMove, RegisterA, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandRes};  // move recv[prev] > res[a]
      9'd119: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd120: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd112, OperandNone, OperandNone, OperandNone};  // jump .next
      9'd121: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd122: return '{OpcodeMul, RegisterB, RegisterCount, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b count er
      9'd123: return '{OpcodeMul, RegisterA, RegisterB, RegisterRank, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b rank
      9'd124: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd125: return '{OpcodeMove, RegisterA, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[a]
      9'd126: return '{OpcodeCopy, RegisterI, RegisterRank, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i rank
      9'd127: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd128: return '{OpcodeLt, RegisterZero, RegisterFlat, RegisterCount, 1'b0, 4'd0, 9'd145, OperandNone, OperandNone, OperandNone};  // lt flat count .next
      9'd129: return '{OpcodeCopy, RegisterC, RegisterNext, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c next
      9'd130: return '{OpcodeEq, RegisterZero, RegisterC, RegisterRank, 1'b0, 4'd0, 9'd136, OperandNone, OperandNone, OperandNone};  // eq c rank .take
      9'd131: return '{OpcodeMove, RegisterC, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandSend};  // move res[a] > send[c]
      9'd132: return '{OpcodeAdd, RegisterC, RegisterC, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add c c 1
      9'd133: return '{OpcodeLt, RegisterZero, RegisterC, RegisterSize, 1'b0, 4'd0, 9'd130, OperandNone, OperandNone, OperandNone};  // lt c size .each
      9'd134: return '{OpcodeSet, RegisterC, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set c 0
      9'd135: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd130, OperandNone, OperandNone, OperandNone};  // jump .each
      9'd136: return '{OpcodeCopy, RegisterC, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c prev
      9'd137: return '{OpcodeEq, RegisterZero, RegisterC, RegisterRank, 1'b0, 4'd0, 9'd157, OperandNone, OperandNone, OperandNone};  // eq c rank .done
      9'd138: return '{OpcodeMul, RegisterJ, RegisterB, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j b c
      9'd139: return '{OpcodeAdd, RegisterJ, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add j res j
      9'd140: return '{OpcodeMove, RegisterJ, RegisterC, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandRes};  // move recv[c] > res[j]
      9'd141: return '{OpcodeNe, RegisterZero, RegisterC, RegisterZero, 1'b1, 4'd0, 9'd143, OperandNone, OperandNone, OperandNone};  // ne c 0 .down
      9'd142: return '{OpcodeCopy, RegisterC, RegisterSize, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c size
      9'd143: return '{OpcodeSub, RegisterC, RegisterC, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub c c 1
      9'd144: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd137, OperandNone, OperandNone, OperandNone};  // jump .each_of
      9'd145: return '{OpcodeGe, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd157, OperandNone, OperandNone, OperandNone};  // ge k size .done
      9'd146: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd147: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd148: return '{OpcodeStart, RegisterNext, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandGive};  // start res[a] > give[next]
      9'd149: return '{OpcodeNe, RegisterZero, RegisterI, RegisterZero, 1'b1, 4'd0, 9'd151, OperandNone, OperandNone, OperandNone};  // ne i 0 .before
      9'd150: return '{OpcodeCopy, RegisterI, RegisterSize, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i size
      9'd151: return '{OpcodeSub, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub i i 1
      9'd152: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd153: return '{OpcodeAdd, RegisterA, RegisterRes, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a res a
      9'd154: return '{OpcodeMove, RegisterA, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandTake, OperandNone, OperandRes};  // move take[prev] > res[a]
      9'd155: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd156: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd145, OperandNone, OperandNone, OperandNone};  // jump .next
      9'd157: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd158: return '{OpcodeEq, RegisterZero, RegisterSize, RegisterZero, 1'b1, 4'd1, 9'd188, OperandNone, OperandNone, OperandNone};  // eq size 1 .alone
      9'd159: return '{OpcodeLt, RegisterZero, RegisterFlat, RegisterCount, 1'b0, 4'd0, 9'd176, OperandNone, OperandNone, OperandNone};  // lt flat count .ring
      9'd160: return '{OpcodeEq, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd163, OperandNone, OperandNone, OperandNone};  // eq rank root .all
      9'd161: return '{OpcodeMove, RegisterRoot, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[op0] > send[root]
      9'd162: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd163: return '{OpcodeCopy, RegisterI, RegisterNext, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i next
      9'd164: return '{OpcodeEq, RegisterZero, RegisterSize, RegisterZero, 1'b1, 4'd2, 9'd174, OperandNone, OperandNone, OperandNone};  // eq size 2 .last_but_one
      9'd165: return '{OpcodeMove, RegisterSpare, RegisterI, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandOp1};  // move recv[i] > op1[spare]
      9'd166: return '{OpcodeAdd, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i 1
      9'd167: return '{OpcodeLt, RegisterZero, RegisterI, RegisterSize, 1'b0, 4'd0, 9'd169, OperandNone, OperandNone, OperandNone};  // lt i size .there
      9'd168: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 0
      9'd169: return '{OpcodeEq, RegisterZero, RegisterI, RegisterRoot, 1'b0, 4'd0, 9'd172, OperandNone, OperandNone, OperandNone};  // eq i root .sum
      9'd170: return '{OpcodeMove, RegisterSpare, RegisterSpare, RegisterI, 1'b0, 4'd0, 9'd0, OperandOp1, OperandRecv, OperandOp1};  // move op1[spare] + recv[i] > op1[spare]
      9'd171: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd166, OperandNone, OperandNone, OperandNone};  // jump .each
      9'd172: return '{OpcodeMove, RegisterRes, RegisterSpare, RegisterOp0, 1'b0, 4'd0, 9'd0, OperandOp1, OperandOp0, OperandRes};  // move op1[spare] + op0[op0] > res[res]
      9'd173: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd174: return '{OpcodeMove, RegisterRes, RegisterI, RegisterOp0, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandRes};  // move recv[i] + op0[op0] > res[res]
      9'd175: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd176: return '{OpcodeEq, RegisterZero, RegisterRank, RegisterRoot, 1'b0, 4'd0, 9'd186, OperandNone, OperandNone, OperandNone};  // eq rank root .last
      9'd177: return '{OpcodeCopy, RegisterI, RegisterRoot, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i root
      9'd178: return '{OpcodeAdd, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i 1
      9'd179: return '{OpcodeLt, RegisterZero, RegisterI, RegisterSize, 1'b0, 4'd0, 9'd181, OperandNone, OperandNone, OperandNone};  // lt i size .inside
      9'd180: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 0
      9'd181: return '{OpcodeEq, RegisterZero, RegisterRank, RegisterI, 1'b0, 4'd0, 9'd184, OperandNone, OperandNone, OperandNone};  // eq rank i .first
      9'd182: return '{OpcodeMove, RegisterNext, RegisterPrev, RegisterOp0, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandSend};  // move recv[prev] + op0[op0] > send[next]
      9'd183: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd184: return '{OpcodeMove, RegisterNext, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[op0] > send[next]
      9'd185: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd186: return '{OpcodeMove, RegisterRes, RegisterPrev, RegisterOp0, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandRes};  // move recv[prev] + op0[op0] > res[res]
      9'd187: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd188: return '{OpcodeMove, RegisterRes, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[res]
      9'd189: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd190: return '{OpcodeMul, RegisterB, RegisterCount, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b count e0
      9'd191: return '{OpcodeEq, RegisterZero, RegisterSize, RegisterZero, 1'b1, 4'd1, 9'd219, OperandNone, OperandNone, OperandNone};  // eq size 1 .alone
      9'd192: return '{OpcodeCopy, RegisterLeft, RegisterCount, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy left count
      9'd193: return '{OpcodeCopy, RegisterN, RegisterLeft, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy n left
      9'd194: return '{OpcodeLt, RegisterZero, RegisterLeft, RegisterMost, 1'b0, 4'd0, 9'd196, OperandNone, OperandNone, OperandNone};  // lt left most .fits
      9'd195: return '{OpcodeCopy, RegisterN, RegisterMost, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy n most
      9'd196: return '{OpcodeCopy, RegisterI, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i prev
      9'd197: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd198: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd199: return '{OpcodeAdd, RegisterA, RegisterOp0, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a op0 a
      9'd200: return '{OpcodeMove, RegisterNext, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[a] > send[next]
      9'd201: return '{OpcodeNe, RegisterZero, RegisterI, RegisterZero, 1'b1, 4'd0, 9'd203, OperandNone, OperandNone, OperandNone};  // ne i 0 .before
      9'd202: return '{OpcodeCopy, RegisterI, RegisterSize, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i size
      9'd203: return '{OpcodeSub, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub i i 1
      9'd204: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd205: return '{OpcodeMul, RegisterA, RegisterB, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a b i
      9'd206: return '{OpcodeAdd, RegisterA, RegisterOp0, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a op0 a
      9'd207: return '{OpcodeGe, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd210, OperandNone, OperandNone, OperandNone};  // ge k size .last
      9'd208: return '{OpcodeMove, RegisterNext, RegisterPrev, RegisterA, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandSend};  // move recv[prev] + op0[a] > send[next]
      9'd209: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd201, OperandNone, OperandNone, OperandNone};  // jump .next
      9'd210: return '{OpcodeMove, RegisterRes, RegisterPrev, RegisterA, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandRes};  // move recv[prev] + op0[a] > res[res]
      9'd211: return '{OpcodeSub, RegisterLeft, RegisterLeft, RegisterN, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub left left n
      9'd212: return '{OpcodeEq, RegisterZero, RegisterLeft, RegisterZero, 1'b1, 4'd0, 9'd218, OperandNone, OperandNone, OperandNone};  // eq left 0 .done
      9'd213: return '{OpcodeMul, RegisterJ, RegisterN, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j n e0
      9'd214: return '{OpcodeAdd, RegisterOp0, RegisterOp0, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add op0 op0 j
      9'd215: return '{OpcodeMul, RegisterJ, RegisterN, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j n er
      9'd216: return '{OpcodeAdd, RegisterRes, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add res res j
      9'd217: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd193, OperandNone, OperandNone, OperandNone};  // jump .part
      9'd218: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd219: return '{OpcodeMove, RegisterRes, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[res]
      9'd220: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd221: return '{OpcodeEq, RegisterZero, RegisterSize, RegisterZero, 1'b1, 4'd1, 9'd294, OperandNone, OperandNone, OperandNone};  // eq size 1 .alone
      9'd222: return '{OpcodeLt, RegisterZero, RegisterFlat, RegisterCount, 1'b0, 4'd0, 9'd259, OperandNone, OperandNone, OperandNone};  // lt flat count .ring
      9'd223: return '{OpcodeMove, RegisterRes, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[res]
      9'd224: return '{OpcodeSet, RegisterA, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set a 1
      9'd225: return '{OpcodeAdd, RegisterB, RegisterA, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add b a a
      9'd226: return '{OpcodeLt, RegisterZero, RegisterSize, RegisterB, 1'b0, 4'd0, 9'd229, OperandNone, OperandNone, OperandNone};  // lt size b .powered
      9'd227: return '{OpcodeCopy, RegisterA, RegisterB, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy a b
      9'd228: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd225, OperandNone, OperandNone, OperandNone};  // jump .power
      9'd229: return '{OpcodeSub, RegisterC, RegisterSize, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub c size a
      9'd230: return '{OpcodeAdd, RegisterB, RegisterC, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add b c c
      9'd231: return '{OpcodeGe, RegisterZero, RegisterRank, RegisterB, 1'b0, 4'd0, 9'd240, OperandNone, OperandNone, OperandNone};  // ge rank b .above
      9'd232: return '{OpcodeXor, RegisterJ, RegisterRank, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // xor j rank 1
      9'd233: return '{OpcodeLt, RegisterZero, RegisterJ, RegisterRank, 1'b0, 4'd0, 9'd237, OperandNone, OperandNone, OperandNone};  // lt j rank .beyond
      9'd234: return '{OpcodeMove, RegisterRes, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandRes, OperandRecv, OperandRes};  // move res[res] + recv[j] > res[res]
      9'd235: return '{OpcodeDiv, RegisterK, RegisterRank, RegisterZero, 1'b1, 4'd2, 9'd0, OperandNone, OperandNone, OperandNone};  // div k rank 2
      9'd236: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd241, OperandNone, OperandNone, OperandNone};  // jump .exchange
      9'd237: return '{OpcodeMove, RegisterJ, RegisterRes, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandSend};  // move res[res] > send[j]
      9'd238: return '{OpcodeMove, RegisterRes, RegisterJ, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandRes};  // move recv[j] > res[res]
      9'd239: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd240: return '{OpcodeSub, RegisterK, RegisterRank, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub k rank c
      9'd241: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 1
      9'd242: return '{OpcodeGe, RegisterZero, RegisterI, RegisterA, 1'b0, 4'd0, 9'd255, OperandNone, OperandNone, OperandNone};  // ge i a .doubled
      9'd243: return '{OpcodeXor, RegisterJ, RegisterK, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // xor j k i
      9'd244: return '{OpcodeLt, RegisterZero, RegisterJ, RegisterC, 1'b0, 4'd0, 9'd247, OperandNone, OperandNone, OperandNone};  // lt j c .folded
      9'd245: return '{OpcodeAdd, RegisterJ, RegisterJ, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add j j c
      9'd246: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd248, OperandNone, OperandNone, OperandNone};  // jump .partner
      9'd247: return '{OpcodeAdd, RegisterJ, RegisterJ, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add j j j
      9'd248: return '{OpcodeMove, RegisterJ, RegisterRes, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandSend};  // move res[res] > send[j]
      9'd249: return '{OpcodeLt, RegisterZero, RegisterJ, RegisterRank, 1'b0, 4'd0, 9'd252, OperandNone, OperandNone, OperandNone};  // lt j rank .lower
      9'd250: return '{OpcodeMove, RegisterRes, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandRes, OperandRecv, OperandRes};  // move res[res] + recv[j] > res[res]
      9'd251: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd253, OperandNone, OperandNone, OperandNone};  // jump .added
      9'd252: return '{OpcodeMove, RegisterRes, RegisterJ, RegisterRes, 1'b0, 4'd0, 9'd0, OperandRecv, OperandRes, OperandRes};  // move recv[j] + res[res] > res[res]
      9'd253: return '{OpcodeAdd, RegisterI, RegisterI, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i i
      9'd254: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd242, OperandNone, OperandNone, OperandNone};  // jump .step
      9'd255: return '{OpcodeGe, RegisterZero, RegisterRank, RegisterB, 1'b0, 4'd0, 9'd258, OperandNone, OperandNone, OperandNone};  // ge rank b .ended
      9'd256: return '{OpcodeXor, RegisterJ, RegisterRank, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // xor j rank 1
      9'd257: return '{OpcodeMove, RegisterJ, RegisterRes, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandSend};  // move res[res] > send[j]
      9'd258: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd259: return '{OpcodeMul, RegisterMost, RegisterMost, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul most most size
      9'd260: return '{OpcodeCopy, RegisterLeft, RegisterCount, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy left count
      9'd261: return '{OpcodeCopy, RegisterCount, RegisterLeft, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy count left
      9'd262: return '{OpcodeLt, RegisterZero, RegisterLeft, RegisterMost, 1'b0, 4'd0, 9'd264, OperandNone, OperandNone, OperandNone};  // lt left most .fits
      9'd263: return '{OpcodeCopy, RegisterCount, RegisterMost, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy count most
      9'd264: return '{OpcodeAdd, RegisterC, RegisterCount, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add c count size
      9'd265: return '{OpcodeSub, RegisterC, RegisterC, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub c c 1
      9'd266: return '{OpcodeDiv, RegisterC, RegisterC, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // div c c size
      9'd267: return '{OpcodeCopy, RegisterI, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i prev
      9'd268: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd269: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd300, OperandNone, OperandNone, OperandNone};  // call .piece
      9'd270: return '{OpcodeMove, RegisterNext, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[a] > send[next]
      9'd271: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd296, OperandNone, OperandNone, OperandNone};  // call .before
      9'd272: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd273: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd300, OperandNone, OperandNone, OperandNone};  // call .piece
      9'd274: return '{OpcodeGe, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd277, OperandNone, OperandNone, OperandNone};  // ge k size .reduced
      9'd275: return '{OpcodeMove, RegisterNext, RegisterPrev, RegisterA, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandSend};  // move recv[prev] + op0[a] > send[next]
      9'd276: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd271, OperandNone, OperandNone, OperandNone};  // jump .reduce
      9'd277: return '{OpcodeMove, RegisterB, RegisterPrev, RegisterA, 1'b0, 4'd0, 9'd0, OperandRecv, OperandOp0, OperandRes};  // move recv[prev] + op0[a] > res[b]
      9'd278: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd279: return '{OpcodeStart, RegisterNext, RegisterB, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRes, OperandNone, OperandGive};  // start res[b] > give[next]
      9'd280: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd296, OperandNone, OperandNone, OperandNone};  // call .before
      9'd281: return '{OpcodeCall, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd300, OperandNone, OperandNone, OperandNone};  // call .piece
      9'd282: return '{OpcodeMove, RegisterB, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandTake, OperandNone, OperandRes};  // move take[prev] > res[b]
      9'd283: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd284: return '{OpcodeLt, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd279, OperandNone, OperandNone, OperandNone};  // lt k size .gather
      9'd285: return '{OpcodeSub, RegisterLeft, RegisterLeft, RegisterCount, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub left left count
      9'd286: return '{OpcodeJoin, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // join
      9'd287: return '{OpcodeEq, RegisterZero, RegisterLeft, RegisterZero, 1'b1, 4'd0, 9'd293, OperandNone, OperandNone, OperandNone};  // eq left 0 .done
      9'd288: return '{OpcodeMul, RegisterJ, RegisterCount, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j count e0
      9'd289: return '{OpcodeAdd, RegisterOp0, RegisterOp0, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add op0 op0 j
      9'd290: return '{OpcodeMul, RegisterJ, RegisterCount, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j count er
      9'd291: return '{OpcodeAdd, RegisterRes, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add res res j
      9'd292: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd261, OperandNone, OperandNone, OperandNone};  // jump .part
      9'd293: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd294: return '{OpcodeMove, RegisterRes, RegisterOp0, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[op0] > res[res]
      9'd295: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd296: return '{OpcodeNe, RegisterZero, RegisterI, RegisterZero, 1'b1, 4'd0, 9'd298, OperandNone, OperandNone, OperandNone};  // ne i 0 .down
      9'd297: return '{OpcodeCopy, RegisterI, RegisterSize, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy i size
      9'd298: return '{OpcodeSub, RegisterI, RegisterI, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub i i 1
      9'd299: return '{OpcodeReturn, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // return
      9'd300: return '{OpcodeMul, RegisterJ, RegisterC, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j c i
      9'd301: return '{OpcodeSet, RegisterN, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set n 0
      9'd302: return '{OpcodeGe, RegisterZero, RegisterJ, RegisterCount, 1'b0, 4'd0, 9'd306, OperandNone, OperandNone, OperandNone};  // ge j count .placed
      9'd303: return '{OpcodeSub, RegisterN, RegisterCount, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub n count j
      9'd304: return '{OpcodeLt, RegisterZero, RegisterN, RegisterC, 1'b0, 4'd0, 9'd306, OperandNone, OperandNone, OperandNone};  // lt n c .placed
      9'd305: return '{OpcodeCopy, RegisterN, RegisterC, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy n c
      9'd306: return '{OpcodeMul, RegisterA, RegisterJ, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a j e0
      9'd307: return '{OpcodeAdd, RegisterA, RegisterOp0, RegisterA, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a op0 a
      9'd308: return '{OpcodeMul, RegisterB, RegisterJ, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b j er
      9'd309: return '{OpcodeAdd, RegisterB, RegisterRes, RegisterB, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add b res b
      9'd310: return '{OpcodeReturn, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // return
      9'd311: return '{OpcodeMul, RegisterA, RegisterCount, RegisterE0, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul a count e0
      9'd312: return '{OpcodeMul, RegisterB, RegisterCount, RegisterEr, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul b count er
      9'd313: return '{OpcodeMul, RegisterI, RegisterA, RegisterRank, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul i a rank
      9'd314: return '{OpcodeAdd, RegisterI, RegisterOp0, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add i op0 i
      9'd315: return '{OpcodeMul, RegisterJ, RegisterB, RegisterRank, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j b rank
      9'd316: return '{OpcodeAdd, RegisterJ, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add j res j
      9'd317: return '{OpcodeMove, RegisterJ, RegisterI, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandRes};  // move op0[i] > res[j]
      9'd318: return '{OpcodeSet, RegisterK, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set k 1
      9'd319: return '{OpcodeLt, RegisterZero, RegisterFlat, RegisterCount, 1'b0, 4'd0, 9'd338, OperandNone, OperandNone, OperandNone};  // lt flat count .next
      9'd320: return '{OpcodeCopy, RegisterC, RegisterNext, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c next
      9'd321: return '{OpcodeEq, RegisterZero, RegisterC, RegisterRank, 1'b0, 4'd0, 9'd329, OperandNone, OperandNone, OperandNone};  // eq c rank .take
      9'd322: return '{OpcodeMul, RegisterI, RegisterA, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul i a c
      9'd323: return '{OpcodeAdd, RegisterI, RegisterOp0, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add i op0 i
      9'd324: return '{OpcodeMove, RegisterC, RegisterI, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandSend};  // move op0[i] > send[c]
      9'd325: return '{OpcodeAdd, RegisterC, RegisterC, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add c c 1
      9'd326: return '{OpcodeLt, RegisterZero, RegisterC, RegisterSize, 1'b0, 4'd0, 9'd321, OperandNone, OperandNone, OperandNone};  // lt c size .each
      9'd327: return '{OpcodeSet, RegisterC, RegisterZero, RegisterZero, 1'b1, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // set c 0
      9'd328: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd321, OperandNone, OperandNone, OperandNone};  // jump .each
      9'd329: return '{OpcodeCopy, RegisterC, RegisterPrev, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c prev
      9'd330: return '{OpcodeEq, RegisterZero, RegisterC, RegisterRank, 1'b0, 4'd0, 9'd354, OperandNone, OperandNone, OperandNone};  // eq c rank .done
      9'd331: return '{OpcodeMul, RegisterJ, RegisterB, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j b c
      9'd332: return '{OpcodeAdd, RegisterJ, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add j res j
      9'd333: return '{OpcodeMove, RegisterJ, RegisterC, RegisterZero, 1'b0, 4'd0, 9'd0, OperandRecv, OperandNone, OperandRes};  // move recv[c] > res[j]
      9'd334: return '{OpcodeNe, RegisterZero, RegisterC, RegisterZero, 1'b1, 4'd0, 9'd336, OperandNone, OperandNone, OperandNone};  // ne c 0 .down
      9'd335: return '{OpcodeCopy, RegisterC, RegisterSize, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c size
      9'd336: return '{OpcodeSub, RegisterC, RegisterC, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // sub c c 1
      9'd337: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd330, OperandNone, OperandNone, OperandNone};  // jump .each_of
      9'd338: return '{OpcodeGe, RegisterZero, RegisterK, RegisterSize, 1'b0, 4'd0, 9'd354, OperandNone, OperandNone, OperandNone};  // ge k size .done
      9'd339: return '{OpcodeAdd, RegisterC, RegisterRank, RegisterK, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add c rank k
      9'd340: return '{OpcodeLt, RegisterZero, RegisterC, RegisterSize, 1'b0, 4'd0, 9'd342, OperandNone, OperandNone, OperandNone};  // lt c size .to
      9'd341: return '{OpcodeSub, RegisterC, RegisterC, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub c c size
      9'd342: return '{OpcodeMul, RegisterI, RegisterA, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul i a c
      9'd343: return '{OpcodeAdd, RegisterI, RegisterOp0, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add i op0 i
      9'd344: return '{OpcodeStart, RegisterC, RegisterI, RegisterZero, 1'b0, 4'd0, 9'd0, OperandOp0, OperandNone, OperandGive};  // start op0[i] > give[c]
      9'd345: return '{OpcodeCopy, RegisterC, RegisterRank, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy c rank
      9'd346: return '{OpcodeGe, RegisterZero, RegisterC, RegisterK, 1'b0, 4'd0, 9'd348, OperandNone, OperandNone, OperandNone};  // ge c k .from
      9'd347: return '{OpcodeAdd, RegisterC, RegisterC, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add c c size
      9'd348: return '{OpcodeSub, RegisterC, RegisterC, RegisterK, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub c c k
      9'd349: return '{OpcodeMul, RegisterJ, RegisterB, RegisterC, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // mul j b c
      9'd350: return '{OpcodeAdd, RegisterJ, RegisterRes, RegisterJ, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add j res j
      9'd351: return '{OpcodeMove, RegisterJ, RegisterC, RegisterZero, 1'b0, 4'd0, 9'd0, OperandTake, OperandNone, OperandRes};  // move take[c] > res[j]
      9'd352: return '{OpcodeAdd, RegisterK, RegisterK, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // add k k 1
      9'd353: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd338, OperandNone, OperandNone, OperandNone};  // jump .next
      9'd354: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      9'd355: return '{OpcodeSet, RegisterI, RegisterZero, RegisterZero, 1'b1, 4'd1, 9'd0, OperandNone, OperandNone, OperandNone};  // set i 1
      9'd356: return '{OpcodeGe, RegisterZero, RegisterI, RegisterSize, 1'b0, 4'd0, 9'd368, OperandNone, OperandNone, OperandNone};  // ge i size .done
      9'd357: return '{OpcodeAdd, RegisterA, RegisterRank, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a rank i
      9'd358: return '{OpcodeLt, RegisterZero, RegisterA, RegisterSize, 1'b0, 4'd0, 9'd360, OperandNone, OperandNone, OperandNone};  // lt a size .to
      9'd359: return '{OpcodeSub, RegisterA, RegisterA, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub a a size
      9'd360: return '{OpcodeSignal, RegisterA, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // signal a
      9'd361: return '{OpcodeCopy, RegisterA, RegisterRank, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // copy a rank
      9'd362: return '{OpcodeGe, RegisterZero, RegisterA, RegisterI, 1'b0, 4'd0, 9'd364, OperandNone, OperandNone, OperandNone};  // ge a i .from
      9'd363: return '{OpcodeAdd, RegisterA, RegisterA, RegisterSize, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add a a size
      9'd364: return '{OpcodeSub, RegisterA, RegisterA, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // sub a a i
      9'd365: return '{OpcodeAwait, RegisterA, RegisterA, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // await a
      9'd366: return '{OpcodeAdd, RegisterI, RegisterI, RegisterI, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // add i i i
      9'd367: return '{OpcodeEq, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd356, OperandNone, OperandNone, OperandNone};  // jump .round
      9'd368: return '{OpcodeEnd, RegisterZero, RegisterZero, RegisterZero, 1'b0, 4'd0, 9'd0, OperandNone, OperandNone, OperandNone};  // end
      default: return instruction_t'('0);
    endcase
  endfunction
endpackage
