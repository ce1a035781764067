// SPDX-License-Identifier: Apache-2.0
// Interface of a Verilated tw_collective_unit, which is compiled into a
// library.
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

/// The module's ports in a cycle. Entries of flits and words count where their bit in the mask is set.
class UnitModel {
 public:
  static constexpr unsigned kMaxPorts = 32;  ///< links, local ports, units
  using Data = decltype(Flit::data);

  struct Sizes {
    unsigned rows, edges, roots, stages, links, ports, units;
    std::uint32_t slot_flits;
  };

  /// A word of a row of the communicator table.
  struct Write {
    std::uint32_t row = 0;
    const Row* words = nullptr;
    std::optional<unsigned> edge{};        ///< whose far end, interval of labels and place is written,
    unsigned vc = 0, link = 0;             ///< its virtual channel, and the link over which its packets come
    std::optional<std::uint32_t> label{};  ///< the root whose branch is
    bool vertex = false;                   ///< and the last word
  };
  /// What an operation's packets and steps need.
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
    bool asks = true;  ///< it has processes
  };
  /// What the relay has to know of the network.
  struct Ways {
    struct Peer {
      unsigned link = 0;
      NodeId node = 0;    ///< at its other end,
      unsigned port = 0;  ///< the link's number there,
      unsigned vc = 0;    ///< and the virtual channel to it
    };
    NodeId self = 0;
    std::span<const RouteEntry> to;        ///< each node
    std::span<const std::uint8_t> layers;  ///< classes in which packets to them start; none if all is 0
    std::vector<Peer> peers;
  };
  struct Inputs {
    std::optional<Write> write;
    std::optional<std::uint32_t> settled;  ///< whether this row's room is told; not while an edge is written
    std::optional<std::uint32_t> unload;   ///< row
    std::optional<Start> start;
    std::optional<std::uint32_t> announce;  ///< process
    std::uint32_t host = 0;                 ///< units with a flit of the host's
    std::array<Data, kMaxPorts> host_data;
    std::uint32_t result_ready = 0;  ///< units of whose results the host takes a flit
    std::uint32_t links = 0;
    std::array<Flit, kMaxPorts> came;
    std::uint32_t own = 0;  ///< ports with a flit of the host's for other hosts
    std::array<Flit, kMaxPorts> own_flit;
    std::array<std::uint32_t, kMaxPorts> room{};  ///< flits that the host can take of all-to-alls, of each port
    std::array<std::uint16_t, kMaxPorts> back{};  ///< credits or stop levels of ports, bit vc for channel vc
  };

  /// What is taken of the host's packets: its flits come from the next cycle on, one in `pace` cycles.
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
  /// A rank announces itself for an all-to-all.
  struct Announced {
    unsigned context = 0, sequence = 0, source = 0;
    friend bool operator==(const Announced&, const Announced&) = default;
  };
  struct Outputs {
    bool ready = false;    ///< for whatever comes
    bool settled = false;  ///< the row that was asked for
    std::optional<Take> take;
    std::optional<std::uint32_t> ended;  ///< process
    std::uint32_t results = 0;           ///< units
    std::array<Data, kMaxPorts> result;
    std::uint32_t lasts = 0;
    std::array<HostResult, kMaxPorts> host_result;
    std::uint32_t own = 0;   ///< ports whose flit of the host's goes
    std::uint32_t came = 0;  ///< ports with a flit of an all-to-all for the host
    std::array<Data, kMaxPorts> came_data;
    std::uint32_t came_lasts = 0;
    std::uint32_t announced = 0;  ///< links
    std::array<Announced, kMaxPorts> announcement;
    std::uint32_t sent = 0;  ///< ports, in the cycle before
    std::array<Flit, kMaxPorts> flit;
  };

  virtual ~UnitModel() = default;
  /// Before the first cycle.
  virtual void load(const Ways& ways) = 0;
  [[nodiscard]] virtual Sizes sizes() const = 0;
  /// A cycle: what the module shows with these inputs, and its clock edge. Throws std::logic_error when an assertion of the RTL fails.
  virtual void clock(Tick now, const Inputs& in, Outputs& out) = 0;
  /// The last cycle has changed nothing, nor does another one with the same inputs.
  [[nodiscard]] virtual bool resting() const = 0;
  /// From the next cycle on all signals go into a VCD file, two time units a cycle. Throws std::logic_error where the library was
  /// built without waves.
  virtual void record(const std::string& file) = 0;
};

/// A library of collective units that are all built with the same parameters.
class UnitLibrary {
 public:
  /// Throws std::invalid_argument where the file is no such library.
  explicit UnitLibrary(const std::string& file, std::optional<Recording> recording = {});

  /// A unit after reset, its registers without one and its memories at random values.
  [[nodiscard]] std::unique_ptr<UnitModel> make(NodeId self) const { return std::unique_ptr<UnitModel>(make_(self)); }
  /// What is to be recorded of a node's unit; null: nothing.
  [[nodiscard]] const Recording* recording(NodeId self) const {
    return recording_ && recording_->node == self ? &*recording_ : nullptr;
  }

 private:
  UnitModel* (*make_)(unsigned self) = nullptr;
  std::optional<Recording> recording_;
};

}  // namespace thalweg::mpi_fpga
