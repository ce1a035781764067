// SPDX-License-Identifier: Apache-2.0
// What the blocks of a rank of SMI share: packets' headers, and what opens a channel.
package tw_smi_pkg;
  import tw_spec_pkg::*;
  import tw_smi_spec_pkg::*;
  import tw_reduce_pkg::*;

  localparam int unsigned HeaderBits = 32;
  localparam int unsigned MostElements = 31;  // of a packet
  localparam int unsigned ElementBits = 64;  // the lowest bytes of it are an element

  typedef logic [7:0] rank_t;  // of the whole cluster, or of a communicator
  typedef logic [ElementBits-1:0] element_t;
  typedef logic [15:0] packets_t;  // how many

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

  typedef logic [6:0] payload_t;  // elements of a packet that follows in a circuit

  // Opens a channel. Ranks of a communicator are first, first + stride, ...: `ranks` of them, counted from 0.
  typedef struct packed {
    logic [31:0] count;      // elements: of a message; of scatter and gather those of one rank
    datatype_e   datatype;
    logic [1:0]  size;       // log2 of an element's bytes
    operator_e   op;         // of a reduction
    logic [4:0]  per_packet;  // elements that a packet has at most
    packets_t    window;     // push, pop: packets under way at most; 0: as many as go
    logic [31:0] packets;    // push, where there are circuits: that follow in them, in all; 0: none do. The window is 0
    rank_t       peer;       // push: destination; pop: source; as ranks of the whole cluster
    rank_t       root;       // of a collective, as a rank of the communicator, as own is
    rank_t       own;
    rank_t       first;
    rank_t       stride;
    logic [8:0]  ranks;
    rank_t       arity;      // of the collective's tree, at least 1
    logic [15:0] tile;       // reduce: elements that are granted at once
    logic        any_order;  // reduce: contributions are combined as they come
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

  // A circuit's first packet.
  function automatic smi_circuit_t circuit(rank_t source, rank_t destination, logic [7:0] port, logic [31:0] packets,
                                           logic [31:0] elements);
    circuit = smi_circuit_empty();
    circuit.source = source;
    circuit.destination = destination;
    circuit.port = port;
    circuit.packets = packets;
    circuit.elements = elements;
  endfunction

  // What a reduction's lane can: sums, least and largest of the five types.
  function automatic pairs_t reductions();
    reductions = '0;
    for (int unsigned t = 0; t < 32; t++)
    if (datatype_e'(5'(t)) inside {DatatypeInt8, DatatypeInt16, DatatypeInt32, DatatypeFloat32, DatatypeFloat64}) begin
      reductions[t][OperatorSum] = 1'b1;
      reductions[t][OperatorMin] = 1'b1;
      reductions[t][OperatorMax] = 1'b1;
    end
  endfunction

  // A rank of a communicator, as it counts, and of the whole cluster.
  typedef struct packed {
    rank_t own;
    rank_t rank;
  } member_t;
  // From the communicator's last rank on to its first.
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

  // The bits of an element of 1 << size bytes.
  function automatic element_t element_bits(logic [1:0] size);
    unique case (size)
      2'd0: return 64'hFF;
      2'd1: return 64'hFFFF;
      2'd2: return 64'hFFFF_FFFF;
      2'd3: return '1;
    endcase
  endfunction

  // Elements of 1 << size bytes that a packet of so many bytes holds.
  function automatic int unsigned most_elements(int unsigned packet_bytes, int unsigned size);
    int unsigned fit;
    fit = (packet_bytes - HeaderBits / 8) >> size;
    return fit < MostElements ? fit : MostElements;
  endfunction
  // Likewise of one that follows in a circuit, up to 64 bytes.
  function automatic payload_t payload_elements(int unsigned packet_bytes, logic [1:0] size);
    return payload_t'(packet_bytes) >> size;
  endfunction
endpackage
