// SPDX-License-Identifier: Apache-2.0
// Common types and constants of a relay's parts. The buffer of route class c at the other end of link l has the number l *
// classes + c.
package tw_relay_pkg;
  // The other end of a link.
  typedef struct packed {
    logic [15:0] node;
    logic [7:0]  port;   // the link's number there
    logic [4:0]  edge_;  // the lane there to which it belongs
    logic [3:0]  vc;     // of the way there
  } peer_t;

  // Number of a lane's links.
  function automatic int unsigned links_of(int unsigned lane, int unsigned lanes, int unsigned links);
    return (links + lanes - 1 - lane) / lanes;
  endfunction

  // Number i of a lane's buffers.
  function automatic int unsigned buffer_of(int unsigned lane, int unsigned lanes, int unsigned classes, int unsigned i);
    return (lane + i / classes * lanes) * classes + i % classes;
  endfunction
endpackage
