// SPDX-License-Identifier: Apache-2.0
// Interface of a Verilated tw_collective_unit, compiled into a library.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "link/flit.hpp"
#include "mpi_fpga/config.hpp"
#include "mpi_fpga/context_table.hpp"
#include "switch/router_model.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

/// The module's ports in a cycle. Entries of arrays are valid if their bit in the mask is set.
class UnitModel {
 public:
  static constexpr unsigned kMaxPorts = 32;  ///< maximum of links, local ports, units
  using Data = decltype(Flit::data);

  struct Sizes {
    unsigned rows, edges, roots, stages, links, ports, units;
    std::uint32_t slot_flits;
  };

  /// A word of a row of the communicator table.
  struct Write {
    std::uint32_t row = 0;
    const Row* words = nullptr;
    std::optional<unsigned> edge{};        ///< edge whose far end and label interval are written,
    unsigned vc = 0, link = 0;             ///< its virtual channel, and the link over which its packets arrive
    std::optional<std::uint32_t> label{};  ///< root whose branch is written
    bool vertex = false;                   ///< writes the vertex's own fields; the last word
  };
  /// Parameters of an operation's packets and steps.
  struct Start {
    std::uint32_t operation = 0;
    spec::Collective collective{};
    spec::Algorithm algorithm{};
    spec::Operator op{};
    spec::Datatype type{};
    std::uint32_t root = 0;  ///< label
    unsigned element_bytes = 1;
    unsigned shortest = 1, longest = 1;  ///< flits of a full packet
    bool ring = false;
    std::uint32_t together = 1;
    std::uint64_t burst = 1;
    bool upwards_first = false;
    bool has_processes = true;  ///< the operation has processes
  };
  /// The relay's view of the network.
  struct RelayRoutes {
    struct Peer {
      unsigned link = 0;
      NodeId node = 0;    ///< node at the far end,
      unsigned port = 0;  ///< the link's number there,
      unsigned vc = 0;    ///< and the virtual channel to it
    };
    NodeId self = 0;
    std::vector<RouteEntry> routes;        ///< routes to each node
    std::span<const std::uint8_t> layers;  ///< initial route classes of packets to each node; empty if all are 0
    std::vector<Peer> peers;
  };
  struct Inputs {
    std::optional<Write> write;
    std::optional<std::uint32_t> settled;  ///< row whose `settled` is queried; not while an edge is written
    std::optional<std::uint32_t> unload;   ///< row
    std::optional<Start> start;
    std::optional<std::uint32_t> announce;  ///< process
    std::uint32_t host = 0;                 ///< units with a flit from the host
    std::array<Data, kMaxPorts> host_data;
    std::uint32_t result_ready = 0;  ///< units from whose results the host takes a flit
    std::uint32_t links = 0;
    std::array<Flit, kMaxPorts> arrived;
    std::uint32_t own = 0;  ///< ports with a flit from the host for other hosts
    std::array<Flit, kMaxPorts> own_flit;
    std::array<std::uint32_t, kMaxPorts> room{};  ///< per port: room at the host for all-to-alls, in flits
    std::array<std::uint16_t, kMaxPorts> back{};  ///< per port: credits or stop levels, bit vc for channel vc
  };

  /// A packet taken from the host: its flits follow from the next cycle, one per `pace` cycles.
  struct Take {
    std::uint32_t process = 0;
    unsigned unit = 0, flits = 1, pace = 1;
    friend bool operator==(const Take&, const Take&) = default;
  };
  /// The tag of a packet for the host.
  struct HostResult {
    std::uint32_t process = 0;
    unsigned step = 0;
    std::uint32_t round = 0, stream = 0;
    std::uint64_t first = 0, elements = 0;
    bool descriptor = false;
    friend bool operator==(const HostResult&, const HostResult&) = default;
  };
  /// A rank's announcement for an all-to-all.
  struct Announced {
    unsigned context = 0, sequence = 0, source = 0;
    friend bool operator==(const Announced&, const Announced&) = default;
  };
  struct Outputs {
    bool ready = false;    ///< ready for all inputs
    bool settled = false;  ///< answer for the queried row
    std::optional<Take> take;
    std::optional<std::uint32_t> ended;  ///< process
    std::uint32_t results = 0;           ///< units
    std::array<Data, kMaxPorts> result;
    std::uint32_t lasts = 0;
    std::array<HostResult, kMaxPorts> host_result;
    std::uint32_t own = 0;       ///< ports that take the host's flit
    std::uint32_t received = 0;  ///< ports with an all-to-all flit for the host
    std::array<Data, kMaxPorts> received_data;
    std::uint32_t received_lasts = 0;
    std::uint32_t announced = 0;  ///< links
    std::array<Announced, kMaxPorts> announcement;
    std::uint32_t sent = 0;  ///< ports that sent a flit in the previous cycle
    std::array<Flit, kMaxPorts> flit;
  };

  virtual ~UnitModel() = default;
  /// Call before the first cycle.
  virtual void load(const RelayRoutes& routes) = 0;
  [[nodiscard]] virtual Sizes sizes() const = 0;
  /// One cycle: the module's outputs for these inputs, then its clock edge. Throws std::logic_error if an assertion of
  /// the RTL fails.
  virtual void clock(Tick now, const Inputs& in, Outputs& out) = 0;
  /// True if the last cycle changed nothing, and another with the same inputs would not either.
  [[nodiscard]] virtual bool idle() const = 0;
  /// Records all signals from the next cycle into a VCD file, two time units per cycle. Throws std::logic_error if the
  /// library was built without waves.
  virtual void record(const std::string& file) = 0;
};

/// A library of collective units, all built with the same parameters.
class UnitLibrary {
 public:
  /// Throws std::invalid_argument if the file is not such a library.
  explicit UnitLibrary(const std::string& file, std::optional<Recording> recording = {});

  /// Creates a unit after reset; registers without reset and memories have random values.
  [[nodiscard]] std::unique_ptr<UnitModel> make(NodeId self) const { return std::unique_ptr<UnitModel>(make_(self)); }
  /// The recording of a node's unit; null: none.
  [[nodiscard]] const Recording* recording(NodeId self) const {
    return recording_ && recording_->node == self ? &*recording_ : nullptr;
  }

 private:
  UnitModel* (*make_)(unsigned self) = nullptr;
  std::optional<Recording> recording_;
};

}  // namespace thalweg::mpi_fpga
