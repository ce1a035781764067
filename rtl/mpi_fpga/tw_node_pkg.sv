// SPDX-License-Identifier: Apache-2.0
// Types for communicators that a node's blocks exchange. Widths are the maximum of all configurations: 32 edges, 65535
// ranks, 16 stages of an exchange, 64 buffers between processes.
package tw_node_pkg;
  import tw_spec_pkg::*, tw_mpi_fpga_spec_pkg::*;

  // A communicator at one vertex of its tree. Labels number the ranks in preorder of the tree, so the labels behind an
  // edge are an interval, modulo the number of ranks.
  typedef struct packed {
    logic        has_rank;  // otherwise the node only forwards
    logic        rooted;    // each label is the root of its own tree, in the table's branches
    logic        ring;      // each label is the start of a path round a ring, in ring order
    logic [15:0] ranks;
    logic [15:0] rank;
    logic [15:0] label;     // of this vertex
    logic [15:0] below;     // number of labels in its subtree, from its own label on
    logic [31:0] up;        // edges of the tree; none at the top
    logic [31:0] down;
    logic [31:0] previous;  // edges of a ring
    logic [31:0] next;
  } vertex_t;

  // A vertex's exchange: in each stage it and its peers exchange their partial results.
  typedef struct packed {
    logic              beyond;       // not in the exchange: a peer folds this rank in
    logic [4:0]        stage_count;
    logic [15:0][31:0] stage_peers;  // edges
    logic [15:0][4:0]  stage_place;  // own position among the peers
    logic [31:0]       fold;         // edge to the rank that is folded in, or that folds this one in
    logic [15:0][31:0] doubling;     // edge to the rank that differs only in bit k
  } exchange_t;

  typedef struct packed {
    logic [15:0] neighbour;  // node at the far end
    logic [4:0]  there;      // index of this edge at that node
    logic [15:0] first;      // first label behind an edge down
    logic [15:0] behind;     // number of labels behind it
  } tree_edge_t;

  // A step of a process: combines a packet of each input and sends the result to each output, for all packets of its
  // streams.
  typedef struct packed {
    logic [31:0] from_edges;
    logic [31:0] to_edges;
    logic [63:0] from_stages;  // buffers between processes
    logic [63:0] to_stages;
    logic        from_host;
    logic        to_host;
    logic [4:0]  place;        // number of edges whose operands precede the host's or the stages'
    logic [15:0] streams;
    logic [15:0] block;        // block of the first stream: a label; a rank in doubling and halving
    logic        upwards;      // blocks of successive streams ascend; otherwise descend
  } step_t;

  // Part of a stream that a process takes per turn.
  typedef enum logic [1:0] {
    TurnsStream = 2'd0,  // whole stream
    TurnsPacket = 2'd1,
    TurnsBurst  = 2'd2   // packets that fill half a slot
  } turns_e;

  typedef struct packed {
    logic [6:0]  steps;
    turns_e      turns;
    logic [15:0] rounds;    // TurnsPacket: passes over the steps per turn, each for other streams
    logic [4:0]  reversed;  // number of low bits of a stream's index in the turn that are reversed to give its block
  } process_t;

  // Head flit of a packet: fields that describe the operation it begins, if it is a descriptor.
  typedef struct packed {
    kind_e       kind;
    logic [1:0]  sequence_;
    collective_e collective;
    algorithm_e  algorithm;
    operator_e   operation;
    datatype_e   type_;
    logic [15:0] root;
  } head_t;

  // An operation, as needed by its packets and its processes' steps.
  typedef struct packed {
    collective_e collective;
    algorithm_e  algorithm;
    operator_e   operation;
    datatype_e   type_;
    logic [15:0] root;           // label
    logic [2:0]  size;           // log2 of an element's bytes
    logic [2:0]  shortest;       // log2 of a full packet's flits, shortest and longest
    logic [2:0]  longest;
    logic        ring;           // packet length is chosen for a ring
    logic [15:0] together;       // streams that count as one for the packet length
    logic [15:0] burst;          // packets of a stream that a process takes per turn
    logic        upwards_first;  // packets up the tree have priority
  } operation_t;

  // The next packet of a process.
  typedef struct packed {
    logic [6:0]  step;
    logic [15:0] round;
    logic [15:0] stream;      // index in the step
    logic        descriptor;
    logic [2:0]  size;        // log2 of its flits
    logic [10:0] elements;
    logic [47:0] first;       // index of its first element in the stream
  } part_t;

  // Outcome of trying a process: it advances, or the first resource that it lacks.
  typedef enum logic [3:0] {
    AttemptNone      = 4'd0,  // no process is tried
    AttemptUnknown   = 4'd1,  // the step itself
    AttemptTurn      = 4'd2,  // edges that earlier operations still use
    AttemptUpload    = 4'd3,  // a packet from the host
    AttemptStaged    = 4'd4,  // a packet from another process
    AttemptPacket    = 4'd5,  // a packet from an edge
    AttemptCredit    = 4'd6,  // credits of an edge
    AttemptStageRoom = 4'd7,  // room for another process's packet
    AttemptTime      = 4'd8,  // a free unit, or free read ports of the memories
    AttemptQueueRoom = 4'd9,  // a unit with room in its queues
    AttemptGoes      = 4'd10
  } attempt_e;

  // Tag of a packet for the host.
  typedef struct packed {
    logic [15:0] process_number;
    logic [6:0]  step;
    logic [15:0] round;
    logic [15:0] stream;      // index in the step
    logic [47:0] first;       // index of its first element in the stream
    logic [10:0] elements;
    logic        descriptor;
  } result_t;
endpackage
