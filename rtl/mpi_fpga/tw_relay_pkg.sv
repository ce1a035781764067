// SPDX-License-Identifier: Apache-2.0
// Common types and constants of a relay's parts. The buffer of route class c at the other end of link l has index l *
// classes + c.
package tw_relay_pkg;
  // The other end of a link.
  typedef struct packed {
    logic [15:0] node;
    logic [7:0]  port;   // index of the link there
    logic [4:0]  edge_;  // lane there that owns the link
    logic [3:0]  vc;     // virtual channel of the path there
  } peer_t;

  // Number of a lane's links.
  function automatic int unsigned links_of(int unsigned lane, int unsigned lanes, int unsigned links);
    return (links + lanes - 1 - lane) / lanes;
  endfunction

  // Index of a lane's i-th buffer.
  function automatic int unsigned buffer_of(int unsigned lane, int unsigned lanes, int unsigned classes, int unsigned i);
    return (lane + i / classes * lanes) * classes + i % classes;
  endfunction
endpackage
