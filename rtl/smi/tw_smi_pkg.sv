// SPDX-License-Identifier: Apache-2.0
// Types shared by the blocks of a rank of SMI: packet headers, and the opening of channels.
package tw_smi_pkg;
  import tw_spec_pkg::*;
  import tw_smi_spec_pkg::*;
  import tw_reduce_pkg::*;

  localparam int unsigned HeaderBits = 32;
  localparam int unsigned MaxElements = 31;  // per packet
  localparam int unsigned ElementBits = 64;  // an element is in its lowest bytes

  typedef logic [7:0] rank_t;  // of the cluster, or of a communicator
  typedef logic [ElementBits-1:0] element_t;
  typedef logic [15:0] packets_t;  // number of packets

  typedef enum logic [2:0] {
    OperationSend,
    OperationReceive,
    OperationBroadcast,
    OperationSynch,
    OperationScatter,
    OperationReduce,
    OperationGather,
    OperationCircuit
  } operation_e;

  typedef logic [6:0] payload_t;  // elements of a packet after a circuit's first one

  // Opens a channel. A communicator's ranks are first, first + stride, ...: `ranks` of them, counted from 0.
  typedef struct packed {
    logic [31:0] count;      // elements of a message; in scatter and gather, of one rank
    datatype_e   datatype;
    logic [1:0]  size;       // log2 of an element's bytes
    operator_e   op;         // of a reduction
    logic [4:0]  per_packet;  // maximum number of elements per packet
    packets_t    window;     // push, pop: maximum number of packets in flight; 0: unlimited
    logic [31:0] packets;    // push with circuits: total further packets in them; 0: no circuit. The window is 0
    rank_t       peer;       // push: destination; pop: source; ranks of the cluster
    rank_t       root;       // of a collective; a rank of the communicator, like own
    rank_t       own;
    rank_t       first;
    rank_t       stride;
    logic [8:0]  ranks;
    rank_t       arity;      // of the collective's tree, at least 1
    logic [15:0] tile;       // reduce: elements per grant
    logic        any_order;  // reduce: contributions are combined as they arrive
  } open_t;

  function automatic smi_header_t header(rank_t source, rank_t destination, logic [7:0] port, operation_e operation,
                                         logic [4:0] count);
    smi_header_t packet;
    packet.source = source;
    packet.destination = destination;
    packet.port = port;
    packet.operation = operation;
    packet.count = count;
    return packet;
  endfunction

  // First packet of a circuit.
  function automatic smi_circuit_t circuit(rank_t source, rank_t destination, logic [7:0] port, logic [31:0] packets,
                                           logic [31:0] elements);
    circuit = smi_circuit_empty();
    circuit.source = source;
    circuit.destination = destination;
    circuit.port = port;
    circuit.packets = packets;
    circuit.elements = elements;
  endfunction

  // Operators of a reduction's lane: sum, minimum and maximum of the five types.
  function automatic pairs_t reductions();
    reductions = '0;
    for (int unsigned t = 0; t < 32; t++)
    if (datatype_e'(5'(t)) inside {DatatypeInt8, DatatypeInt16, DatatypeInt32, DatatypeFloat32, DatatypeFloat64}) begin
      reductions[t][OperatorSum] = 1'b1;
      reductions[t][OperatorMin] = 1'b1;
      reductions[t][OperatorMax] = 1'b1;
    end
  endfunction

  // A rank, in the communicator and in the cluster.
  typedef struct packed {
    rank_t own;
    rank_t rank;
  } member_t;
  // Wraps from the communicator's last rank to its first.
  function automatic member_t next_member(member_t member, open_t open);
    member_t next;
    next.own = member.own + 1;
    next.rank = member.rank + open.stride;
    if (9'(member.own) + 9'd1 == open.ranks) begin
      next.own = 0;
      next.rank = open.first;
    end
    return next;
  endfunction

  // Mask of an element of 1 << size bytes.
  function automatic element_t element_bits(logic [1:0] size);
    unique case (size)
      2'd0: return 64'hFF;
      2'd1: return 64'hFFFF;
      2'd2: return 64'hFFFF_FFFF;
      2'd3: return '1;
    endcase
  endfunction

  // Maximum number of elements of 1 << size bytes in a packet of packet_bytes bytes.
  function automatic int unsigned max_elements(int unsigned packet_bytes, int unsigned size);
    int unsigned fit;
    fit = (packet_bytes - HeaderBits / 8) >> size;
    return fit < MaxElements ? fit : MaxElements;
  endfunction
  // The same for a packet after a circuit's first one, up to 64 bytes.
  function automatic payload_t payload_elements(int unsigned packet_bytes, logic [1:0] size);
    return payload_t'(packet_bytes) >> size;
  endfunction
endpackage
