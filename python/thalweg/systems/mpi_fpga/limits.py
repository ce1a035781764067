# SPDX-License-Identifier: Apache-2.0
"""Limits of MPI-FPGA's hardware."""

FLIT_BYTES = 32  #: payload of one flit

LOCAL_BUFFER_FLITS = 16
"""Maximum buffer of a virtual channel at a local port: many round trips of its wires, which take a cycle."""

ROUTER_PORTS, ROUTER_CHANNELS = 64, 128  # per router, ports x virtual channels rounded up to a power of two

MAX_DESTINATIONS = 2**16  #: the destination in a packet's header has 16 bits

UNIT_PORTS = 32  # per collective unit

MAX_SLOT_FLITS = 2**16 - 1
"""Maximum count in a credit packet."""

MAX_FAULTY_LATENCY = 16_000
"""Maximum latency in cycles of a link with faults, limited by the replay buffer."""

MAX_BUFFERED_FLITS = 2**16 - 1
"""Maximum of all input buffers of a router, and of a link, whose flits in flight are in the buffer at its end."""

MAX_LATENCY = MAX_BUFFERED_FLITS - 3
"""Maximum latency of a link in cycles; its flits also pass an output register and an input of the unit."""
