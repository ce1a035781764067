// SPDX-License-Identifier: Apache-2.0
// What the blocks of a rank of SMI share: packets' headers, and what opens a channel.
package tw_smi_pkg;
  import tw_spec_pkg::*;
  import tw_smi_spec_pkg::*;

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
    OperationGather
  } operation_e;

  // Opens a channel. Ranks of a communicator are first, first + stride, ...: `ranks` of them, counted from 0.
  typedef struct packed {
    logic [31:0] count;      // elements: of a message; of scatter and gather those of one rank
    datatype_e   datatype;
    logic [1:0]  size;       // log2 of an element's bytes
    operator_e   op;         // of a reduction
    logic [4:0]  per_packet;  // elements that a packet has at most
    packets_t    window;     // push, pop: packets under way at most; 0: as many as go
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

  // Elements of 1 << size bytes that a packet of so many bytes holds.
  function automatic int unsigned most_elements(int unsigned packet_bytes, int unsigned size);
    int unsigned fit;
    fit = (packet_bytes - HeaderBits / 8) >> size;
    return fit < MostElements ? fit : MostElements;
  endfunction
endpackage
