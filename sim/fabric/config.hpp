// What a fabric is built from. Filled from a cluster file by python/thalweg/cluster.py; every value is in hardware units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/types.hpp"
#include "fabric/share.hpp"

namespace thalweg {

enum class FlowControl : std::uint8_t {
  credits,  ///< one credit per flit of free buffer, returned one a cycle and port
  margin,   ///< upstream is told to stop when free space falls to the margin, and to go on when it rises above
};

/// What happens to the frames of one direction of a link.
struct WireFaults {
  double bit_error_rate = 0;     ///< share of bits that flip
  double frames_lost = 0;        ///< share of frames
  double frames_duplicated = 0;  ///< share of frames that come again, in place of the one behind
  Tick down_at = kNever;         ///< from then on no frame comes through,
  Tick up_at = kNever;           ///< until then

  [[nodiscard]] bool any() const {
    return bit_error_rate > 0 || frames_lost > 0 || frames_duplicated > 0 || down_at != kNever;
  }
};

/// A bidirectional link between two link ports; each direction has its own wires.
struct LinkConfig {
  NodeId node_a = 0, node_b = 0;
  unsigned port_a = 0, port_b = 0;
  Tick latency = 1;         ///< cycles from an output register to the next input port, at least 1
  unsigned rate_flits = 1;  ///< at most rate_flits in every rate_cycles cycles; 1/1 is the port's own rate
  unsigned rate_cycles = 1;
  /// Of frames from a to b, and from b to a. Where there are any, both ends have a replay and a framer (docs/links.md).
  WireFaults from_a{}, from_b{};

  [[nodiscard]] bool faulty() const { return from_a.any() || from_b.any(); }
};

class RouterLibrary;  // switch/router_model.hpp
class UnitLibrary;    // node/unit_model.hpp

struct RouterConfig {
  unsigned link_ports = 0;   ///< ports 0 .. link_ports-1 carry links; the same on every node, some may be unconnected
  unsigned local_ports = 1;  ///< ports link_ports .. carry the node's traffic: 0 the host, then the collective unit's
  unsigned virtual_channels = 4;  ///< of every port
  unsigned buffer_flits = 8;      ///< input buffer of one virtual channel of a link port
  unsigned local_buffer_flits = 8;
  FlowControl flow = FlowControl::credits;
  unsigned margin_flits = 0;  ///< FlowControl::margin: free space of a virtual channel at which upstream is stopped
  /// vc_mask[message class][route class]: the virtual channels that a packet may take at the next input port.
  /// Message class 0 is point to point, 1 is collective; a fabric without collectives may give both the same masks.
  std::vector<std::vector<std::uint32_t>> vc_mask;
  Share share;                                   ///< of every port and aggregation unit
  std::shared_ptr<const RouterLibrary> library;  ///< routers of RTL; null: the simulator's own
};

/// Where a router sends a packet for one destination. route_class picks the mask; kKeepClass keeps the packet's own.
struct RouteEntry {
  std::uint8_t port = 0;
  std::uint8_t route_class = 0;
  bool last_link = false;  ///< the destination is at the other end of the port's link: `make_router` finds out
};
inline constexpr std::uint8_t kKeepClass = 0xFF;
inline constexpr std::uint8_t kNoRoute = 0xFF;  ///< RouteEntry::port: the destination cannot be reached

struct HostConfig {
  Tick pcie_latency = 0;           ///< ticks, one way, host memory to node or back
  double pcie_bytes_per_tick = 0;  ///< each direction
  unsigned dma_flits_per_cycle = 2;
  Tick message_overhead = 0;  ///< ticks of software per message of a collective that falls back (send or receive)
  Tick memory_overhead = 0;   ///< ticks of a message between two ranks on one node, and
  double memory_bytes_per_tick = 0;  ///< the rate at which its data is copied
};

/// Logic of the user's own between a host and its switch: maps the elements of what passes, in place, a flit a cycle.
struct UserUnit {
  std::size_t bytes = 0;                                         ///< of an element
  unsigned latency = 0;                                          ///< cycles
  void (*map)(std::byte* data, std::size_t elements) = nullptr;  ///< null: there is none
};

/// What enters the switch passes the one, what leaves it for the host the other.
struct UserUnits {
  UserUnit before, after;
};

/// An operator that the user puts into the switches, as Operator::user0 and on: a unit that takes a pair of elements a lane
/// and cycle, like those of the other operators.
struct UserOperator {
  std::string name;
  std::size_t bytes = 0;  ///< of an element: 1, 2, 4, 8 or 16
  unsigned latency = 0;   ///< cycles
  /// Combines `elements` elements at `operand` into those at `accumulator`.
  void (*combine)(std::byte* accumulator, const std::byte* operand, std::size_t elements) = nullptr;
  UserUnits units{};  ///< of reductions with it
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

struct FabricConfig;

/// What links on which faults happen have in common.
struct FaultConfig {
  std::uint64_t seed = 1;  ///< of all that is random
  Tick silence = 100'000;  ///< ticks without a good frame after which a link is given up
  Tick rebuild = 0;        ///< ticks from then until the fabric goes on with other routes
  /// A fabric whose routes and layers do without these links, and with the masks that there are; throws std::runtime_error,
  /// one line, where there is none. Null: a fabric whose link is given up does not go on.
  std::function<FabricConfig(const std::vector<LinkConfig>& without)> reroute{};
};

struct FabricConfig {
  std::int64_t ticks_per_second = 250'000'000;
  unsigned nodes = 0;
  unsigned switches = 0;  ///< the last so many nodes have no host: no rank lives there
  std::vector<unsigned>
      grid;  ///< nodes of each dimension where they form a grid, the first running fastest; else empty
  std::vector<LinkConfig> links;
  RouterConfig router;
  std::vector<RouteEntry> routes;   ///< routes[node * nodes + destination]; a node's entry for itself is unused
  std::vector<std::uint8_t> layer;  ///< layer[source * nodes + destination]: class at injection; empty: 0
  HostConfig host;
  CollectiveConfig collective;
  FaultConfig faults;
};

}  // namespace thalweg
