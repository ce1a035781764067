// SPDX-License-Identifier: Apache-2.0
// Session fields of a frame, bit 0 last. docs/links.md describes the protocol.
package tw_link_pkg;
  typedef struct packed {
    logic lost;        // not up: the previous session was lost
    logic up;          // this session and echo are confirmed: words and credits count
    logic echo_valid;  // echo is valid
    logic echo;        // number of the other end's session
    logic number;      // of the sender's session
  } session_t;

  // True if a frame with `peer` belongs to the session of `own`.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic same_session(session_t own, session_t peer);
    return own.echo_valid && peer.echo_valid && peer.up && peer.number == own.echo && peer.echo == own.number;
  endfunction
  // verilator lint_on UNUSEDSIGNAL
endpackage
