// SPDX-License-Identifier: Apache-2.0
// Interface of a Verilated tw_vc_router, compiled into a library.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "link/flit.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

/// The module's ports. Entries of flit arrays are valid if their bit in the mask is set.
class RouterModel {
 public:
  static constexpr unsigned kMaxPorts = 64;

  struct Inputs {
    std::uint64_t valid = 0;                      ///< input ports with a flit on their wires
    std::array<const Flit*, kMaxPorts> flit{};    ///< their flits
    std::uint64_t ready = 0;                      ///< output ports to which a flit may be granted
    std::array<std::uint16_t, kMaxPorts> back{};  ///< credits or stop levels at each output port, bit vc for channel vc
  };
  struct Outputs {
    std::uint64_t valid = 0, ejected = 0;
    std::uint32_t unrouted = 0;                   ///< flits dropped since reset; wraps
    std::array<Flit, kMaxPorts> flit{};           ///< flits at output ports
    std::array<Flit, kMaxPorts> eject{};          ///< flits ejected at link ports, to the node's collective unit
    std::array<std::uint16_t, kMaxPorts> back{};  ///< credits or stop levels at each input port
  };

  virtual ~RouterModel() = default;
  /// Simulates a cycle in which an entry of the routing table is written.
  virtual void write_table(NodeId destination, const RouteEntry& entry) = 0;
  /// Simulates the clock edge of a cycle: `in` is on the wires before it, `out` in the registers after it. Throws
  /// std::logic_error if an assertion of the RTL fails.
  virtual void clock(Tick now, const Inputs& in, Outputs& out) = 0;
  /// Records all signals from the next edge into a VCD file, two time units per cycle. Throws std::logic_error if the
  /// library was built without waves.
  virtual void record(const std::string& file) = 0;
};

/// A recording of one router's signals from a cycle.
struct Recording {
  NodeId node;
  Tick from;
  std::string file;
};

/// A library of routers, all built with the same parameters.
class RouterLibrary {
 public:
  /// Loads the file. `compares`: the simulator's router runs beside each one, and the first difference between their
  /// ports throws RtlDifference. Throws std::invalid_argument if the file is not such a library.
  explicit RouterLibrary(const std::string& file, bool compares = false, std::optional<Recording> recording = {});

  /// Creates a router after reset; registers without reset and memories have random values.
  [[nodiscard]] std::unique_ptr<RouterModel> make(NodeId self) const;
  [[nodiscard]] bool compares() const { return compares_; }
  /// The recording of a node's router; null: none.
  [[nodiscard]] const Recording* recording(NodeId self) const {
    return recording_ && recording_->node == self ? &*recording_ : nullptr;
  }

 private:
  RouterModel* (*make_)(unsigned self) = nullptr;
  bool compares_;
  std::optional<Recording> recording_;
};

}  // namespace thalweg
