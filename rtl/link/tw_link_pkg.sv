// SPDX-License-Identifier: Apache-2.0
// Session fields of a frame, bit 0 last. docs/links.md describes the protocol.
package tw_link_pkg;
  typedef struct packed {
    logic lost;    // not up: the session before this one was lost
    logic up;      // this session and echo have been confirmed: words and credits count
    logic knows;   // echo is valid
    logic echo;    // number of the other end's session
    logic number;  // of the sender's session
  } session_t;

  // A frame with `peer` is of the session that `own` is in.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic same_session(session_t own, session_t peer);
    return own.knows && peer.knows && peer.up && peer.number == own.echo && peer.echo == own.number;
  endfunction
  // verilator lint_on UNUSEDSIGNAL
endpackage
