// SPDX-License-Identifier: Apache-2.0
// Types for communicators that a node's blocks exchange. Widths are the maximum of all configurations: 32
// edges, 65535 ranks, 16 stages of an exchange, 64 buffers between processes.
package tw_node_pkg;
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*;

  // A communicator at one vertex of its tree. Labels are numbers of ranks in the order of a walk down the tree, so what
  // lies behind an edge is an interval of them, modulo the ranks.
  typedef struct packed {
    logic        has_rank;  // otherwise the node only passes on what it gets
    logic        rooted;    // each label is the root of a tree of its own, in the table's branches
    logic        ring;      // or of the way round a ring, labels in its order
    logic [15:0] ranks;
    logic [15:0] rank;
    logic [15:0] label;     // of this vertex, and
    logic [15:0] below;     // how many from there on are below it
    logic [31:0] up;        // edges of the tree; none at its top
    logic [31:0] down;
    logic [31:0] previous;  // edges of a ring
    logic [31:0] next;
  } vertex_t;

  // A vertex' exchange: in each stage it and its peers give each other what they have.
  typedef struct packed {
    logic              beyond;       // takes no part in it: is folded in by a peer
    logic [4:0]        stage_count;
    logic [15:0][31:0] stage_peers;  // edges
    logic [15:0][4:0]  stage_place;  // its own among the peers
    logic [31:0]       fold;         // edge to the rank that is folded in, or into which this one is
    logic [15:0][31:0] doubling;     // edge to the rank whose number differs in bit k alone
  } exchange_t;

  typedef struct packed {
    logic [15:0] neighbour;  // the node at its end
    logic [4:0]  there;      // the number that it has for this edge
    logic [15:0] first;      // the labels behind an edge down
    logic [15:0] behind;     // how many
  } tree_edge_t;

  // A step of a process: a packet from each input, combined, to each output, for all packets of its streams.
  typedef struct packed {
    logic [31:0] from_edges;
    logic [31:0] to_edges;
    logic [63:0] from_stages;  // buffers between processes
    logic [63:0] to_stages;
    logic        from_host;
    logic        to_host;
    logic [4:0]  place;        // edges whose packets come before the host's or the stages'
    logic [15:0] streams;
    logic [15:0] block;        // label, by doubling or halving rank, of the first stream's block
    logic        upwards;      // the next stream's is one up; otherwise one down
  } step_t;

  // What a process takes of a stream at a time.
  typedef enum logic [1:0] {
    TurnsStream = 2'd0,  // all of it
    TurnsPacket = 2'd1,
    TurnsBurst  = 2'd2   // as many packets as fill half a slot
  } turns_e;

  typedef struct packed {
    logic [6:0]  steps;
    turns_e      turns;
    logic [15:0] rounds;    // by packets: times through the steps in a turn, each for other streams
    logic [4:0]  reversed;  // low bits of a stream's place in the turn whose reverse names its block
  } process_t;

  // What a packet's first flit says of the operation that it begins, where it is a descriptor.
  typedef struct packed {
    kind_e       kind;
    logic [1:0]  sequence_;
    collective_e collective;
    algorithm_e  algorithm;
    operator_e   operation;
    datatype_e   type_;
    logic [15:0] root;
  } head_t;

  // An operation, as its packets and its processes' steps need it.
  typedef struct packed {
    collective_e collective;
    algorithm_e  algorithm;
    operator_e   operation;
    datatype_e   type_;
    logic [15:0] root;           // label
    logic [2:0]  size;           // log2 of an element's bytes
    logic [2:0]  shortest;       // log2 of a full packet's flits
    logic [2:0]  longest;
    logic        ring;           // packets are as long as a stream round a ring wants them
    logic [15:0] together;       // streams that count as one
    logic [15:0] burst;          // packets of a stream that a process takes at a time
    logic        upwards_first;  // the way up goes before others
  } operation_t;

  // The packet that a process takes next.
  typedef struct packed {
    logic [6:0]  step;
    logic [15:0] round;
    logic [15:0] stream;      // of the step
    logic        descriptor;
    logic [2:0]  size;        // log2 of its flits
    logic [10:0] elements;
    logic [47:0] first;       // of the stream's elements
  } part_t;

  // The outcome of trying a process: it goes, or the first thing that it lacks.
  typedef enum logic [3:0] {
    AttemptNone      = 4'd0,  // no process is tried
    AttemptUnknown   = 4'd1,  // the step itself
    AttemptTurn      = 4'd2,  // edges that earlier operations still use
    AttemptUpload    = 4'd3,  // a packet of the host,
    AttemptStaged    = 4'd4,  // of another process,
    AttemptPacket    = 4'd5,  // or of an edge
    AttemptCredit    = 4'd6,  // for an edge
    AttemptStageRoom = 4'd7,  // room for another process's packet
    AttemptTime      = 4'd8,  // a free unit, or free ports of the memories
    AttemptQueueRoom = 4'd9,  // a unit with room in its queues
    AttemptGoes      = 4'd10
  } attempt_e;

  // What the host is told of a packet for it.
  typedef struct packed {
    logic [15:0] process_number;
    logic [6:0]  step;
    logic [15:0] round;
    logic [15:0] stream;      // of the step
    logic [47:0] first;       // of the stream's elements
    logic [10:0] elements;
    logic        descriptor;
  } result_t;
endpackage
