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
  Tick message_overhead = 0;  ///< ticks of software per message of a collective that falls back (send or receive)
  Tick memory_overhead = 0;   ///< ticks of a message between two ranks on one node, and
  double memory_bytes_per_tick = 0;  ///< the rate at which its data is copied
};

/// What a communicator's tree follows.
enum class Trees : std::uint8_t {
  by_rank,      ///< the numbers of its ranks: binomial, whatever the links are
  by_topology,  ///< the links: shortest ways from a node in the middle of the ranks
};

struct CollectiveConfig {
  Trees trees = Trees::by_rank;
  unsigned contexts = 32;             ///< rows of the communicator table
  unsigned operations_in_flight = 2;  ///< per communicator (W)
  unsigned aggregation_units = 6;     ///< joins that one node serves in the same cycle (S)
  unsigned slot_packets = 64;         ///< buffer per communicator and tree edge, in packets of packet_flits
  unsigned packet_flits = 16;         ///< longest network packet, a power of two
  unsigned long_packet_flits = 16;    ///< the same for long streams on trees and for all-to-alls; at least as much
  unsigned relay_flits = 1024;        ///< buffer of packets of all-to-alls behind a link, of each route class
  unsigned lane_latency = 14;         ///< cycles of one combining step
  std::vector<UserOperator> operators;
  std::map<std::uint8_t, UserUnits> units;     ///< of collectives that move data, by their codes
  std::shared_ptr<const UnitLibrary> library;  ///< collective units of RTL, to compare with; null: none
};

/// How several jobs share one fabric. Each has some of the nodes, and of all else in a node only what is its own.
struct Sharing {
  enum class Mode : std::uint8_t {
    sub_channels,  ///< of 64 bits: weights[j] of every port's and unit's `kSubChannels` are job j's
    time_slots,    ///< the jobs take turns on all of it, weights[j] slots in every frame
  };
  Mode mode = Mode::sub_channels;
  std::vector<unsigned> weights;
  Tick slot_cycles = 0;                    ///< time slots: cycles of one
  std::vector<std::uint32_t> job_of_node;  ///< whose host a node's is; of switches unused
};

struct FabricConfig : NetworkConfig {
  HostConfig host;
  CollectiveConfig collective;

  FabricConfig() : FabricConfig(NetworkConfig{}) {}
  FabricConfig(NetworkConfig network) : NetworkConfig(std::move(network)) {
    router.header = {.destination_lsb = spec::network_header::destination_lsb,
                     .unit_mask = spec::network_header::collective_mask};
  }
};

}  // namespace thalweg::mpi_fpga
