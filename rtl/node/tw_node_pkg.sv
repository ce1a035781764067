// What the blocks of a node say to each other of communicators. Widths are the largest that any configuration takes: 32
// edges, 65535 ranks.
package tw_node_pkg;
  // A communicator at one vertex of its tree. Labels are numbers of ranks in the order of a walk down the tree, so what
  // lies behind an edge is an interval of them, modulo the ranks.
  typedef struct packed {
    logic        has_rank;  // otherwise the node only passes on what it gets
    logic        rooted;    // each label is the root of a tree of its own, in the table's branches
    logic [15:0] ranks;
    logic [15:0] rank;
    logic [15:0] label;     // of this vertex, and
    logic [15:0] below;     // how many from there on are below it
    logic [31:0] up;        // edges of the tree; none at its top
    logic [31:0] down;
  } vertex_t;

  typedef struct packed {
    logic [15:0] neighbour;  // the node at its end
    logic [4:0]  there;      // the number that it has for this edge
    logic [15:0] first;      // the labels behind an edge down
    logic [15:0] behind;     // how many
  } tree_edge_t;
endpackage
