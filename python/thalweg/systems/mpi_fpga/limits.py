# SPDX-License-Identifier: Apache-2.0
"""What the hardware of MPI-FPGA is built for at most."""

FLIT_BYTES = 32  #: payload of one flit

LOCAL_BUFFER_FLITS = 16
"""Most that a local port buffers of a virtual channel: many round trips of its wires, which take a cycle."""

ROUTER_PORTS, ROUTER_CHANNELS = 64, 128  # of one router, ports x virtual channels rounded up to a power of two

UNIT_PORTS = 32  # of one collective unit

MOST_SLOT_FLITS = 2**16 - 1
"""What the count of a credit packet can say."""

MOST_FAULTY_LATENCY = 16_000
"""Cycles of a link on which faults happen: no replay covers a longer one."""

MOST_BUFFERED_FLITS = 2**16 - 1
"""Of all input buffers of a router; and of a link, whose flits on their way are in the buffer at its end."""

MOST_LATENCY = MOST_BUFFERED_FLITS - 3
"""Cycles of a link, whose flits pass an output register and an input of the unit as well."""
