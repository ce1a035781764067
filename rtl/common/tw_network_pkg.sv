// SPDX-License-Identifier: Apache-2.0
// Types that blocks exchange: the flit on a port, and an entry of a routing table. Widths are the maximum of all
// configurations: 64 ports, 16 virtual channels.
package tw_network_pkg;
  typedef struct packed {
    logic [255:0] data;  // bit 0 is the first on the wire; a head flit starts with the network header (tw_spec_pkg)
    logic [3:0]   vc;    // virtual channel at the receiving input port
    logic         head;
    logic         tail;
  } flit_t;

  typedef struct packed {
    logic       keep_class;   // the packet keeps the class of the virtual channel on which it arrived
    logic [3:0] route_class;  // otherwise it gets this class
    logic       last_link;    // the destination is at the other end of the port's link
    logic [5:0] port;
  } route_entry_t;
endpackage
