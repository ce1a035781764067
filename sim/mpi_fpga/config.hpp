// SPDX-License-Identifier: Apache-2.0
// Configuration of an MPI-FPGA fabric: a network, and a host and a collective unit at each node. Filled from a cluster
// file; all values are in hardware units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "network/config.hpp"
#include "reduce/user_operator.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace thalweg::mpi_fpga {

class UnitLibrary;  // mpi_fpga/unit_model.hpp

struct HostConfig {
  Tick pcie_latency = 0;           ///< ticks, one way, host memory to node or back
  double pcie_bytes_per_tick = 0;  ///< each direction
  unsigned dma_flits_per_cycle = 2;
  Tick message_overhead = 0;         ///< software ticks per fallback message of a collective (send or receive)
  Tick memory_overhead = 0;          ///< ticks per message between two ranks on one node
  double memory_bytes_per_tick = 0;  ///< copy rate of such a message
};

/// Basis of a communicator's tree.
enum class Trees : std::uint8_t {
  by_rank,      ///< rank numbers: binomial, independent of the links
  by_topology,  ///< links: shortest paths from a node in the middle of the ranks
};

struct CollectiveConfig {
  Trees trees = Trees::by_rank;
  unsigned contexts = 32;             ///< rows of the communicator table
  unsigned operations_in_flight = 2;  ///< per communicator (W)
  unsigned aggregation_units = 6;     ///< joins that a node executes in parallel (S)
  unsigned slot_packets = 64;         ///< buffer per communicator and tree edge, in packets of packet_flits
  unsigned packet_flits = 16;         ///< longest network packet, a power of two
  unsigned long_packet_flits = 16;  ///< the same for long streams on trees and for all-to-alls; at least `packet_flits`
  unsigned relay_flits = 1024;      ///< all-to-all buffer per link and route class
  unsigned lane_latency = 14;       ///< latency of one combining step, in cycles
  std::vector<UserOperator> operators;
  std::map<std::uint8_t, UserUnits> units;     ///< of collectives that move data, by code
  std::shared_ptr<const UnitLibrary> library;  ///< Verilated collective units for co-simulation; null: none
};

/// How the fabric is simulated. Results do not depend on it.
struct SimulationConfig {
  unsigned threads = 1;
  /// For tests: false lets all nodes take turns in each tick, not in windows as long as the least latency between them.
  bool windows = true;
  /// For tests: a node's unit and host port are stepped in each step of the node. std::logic_error if one changes
  /// without a cause, and would thus have been skipped wrongly.
  bool step_idle = false;
};

/// How several jobs share one fabric. Each job owns some nodes, and a share of every other node's resources.
struct Sharing {
  enum class Mode : std::uint8_t {
    sub_channels,  ///< of 64 bits: job j gets weights[j] of the `kSubChannels` of every port and unit
    time_slots,    ///< the jobs use the whole fabric in turn, job j for weights[j] slots per frame
  };
  Mode mode = Mode::sub_channels;
  std::vector<unsigned> weights;
  Tick slot_cycles = 0;                    ///< cycles per time slot
  std::vector<std::uint32_t> job_of_node;  ///< job that owns the node's host; unused for switches
};

struct FabricConfig : NetworkConfig {
  HostConfig host;
  CollectiveConfig collective;
  SimulationConfig simulation;

  FabricConfig() : FabricConfig(NetworkConfig{}) {}
  FabricConfig(NetworkConfig network) : NetworkConfig(std::move(network)) {
    router.header = {.destination_lsb = spec::network_header::destination_lsb,
                     .unit_mask = spec::network_header::collective_mask};
  }
};

}  // namespace thalweg::mpi_fpga
