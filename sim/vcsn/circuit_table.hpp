// SPDX-License-Identifier: Apache-2.0
// The circuit table of an external port: the peer of each virtual port, written by hosts at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/require.hpp"
#include "ethernet/frame.hpp"

namespace thalweg::vcsn {

/// The other end of a circuit.
struct Circuit {
  ethernet::Address address = 0;  ///< of the peer's external port
  std::uint8_t port = 0;          ///< virtual port

  friend bool operator==(const Circuit&, const Circuit&) = default;
};

/// The multicast address of an end's frames, locally administered; the row of a circuit to several ends has it.
[[nodiscard]] constexpr ethernet::Address group_of(const Circuit& source) {
  return source.address | std::uint64_t{1} << 40 | std::uint64_t{source.port} << 24;
}

class CircuitTable {
 public:
  explicit CircuitTable(unsigned ports) : rows_(ports) {}

  [[nodiscard]] unsigned ports() const { return static_cast<unsigned>(rows_.size()); }
  void set(unsigned port, std::optional<Circuit> circuit) { rows_.at(port) = circuit; }
  [[nodiscard]] const std::optional<Circuit>& of(unsigned port) const { return rows_.at(port); }
  /// True if a frame for a virtual port comes from the circuit's other end.
  [[nodiscard]] bool joins(unsigned port, const Circuit& from) const {
    return port < rows_.size() && rows_[port] == from;
  }

 private:
  std::vector<std::optional<Circuit>> rows_;
};

}  // namespace thalweg::vcsn
