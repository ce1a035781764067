// SPDX-License-Identifier: Apache-2.0
// A cluster of PEACH2 as its hosts see it: nodes, windows that lead from each to each, and time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/blocked.hpp"
#include "peach2/addresses.hpp"
#include "peach2/node.hpp"

namespace thalweg::peach2 {

/// What a hub has counted.
struct Counts {
  std::uint32_t chains = 0, missed = 0, faults = 0;  ///< chains that ended, and starts that found no place
  std::uint32_t strays = 0, dropped = 0;             ///< beats, by the bus and by the calculator
  struct Refused {
    std::uint32_t count = 0;
    Note note;  ///< the last one's
  };
  std::array<Refused, kPorts> refused;
  std::array<Refused, kChannels> given_up;  ///< chains
  std::vector<std::uint32_t> results;
};

/// A write that has come to nothing.
struct Loss {
  std::string what;              ///< a line
  std::optional<Source> source;  ///< who wrote, where that is known
  std::uint64_t address = 0, bytes = 4;
};
/// A chain that was started, and is at its end.
struct ChainEnd {
  unsigned hub = 0;
  std::uint64_t start = 0;  ///< its first descriptor
  std::string what{};       ///< why it has failed, a line; or nothing
  bool aborted = false;     ///< as the host said so
};
struct Report {
  std::vector<Loss> losses;
  std::vector<ChainEnd> chains;  ///< those of a hub that a host has started, in their order
};

/// A node's port.
struct PortOf {
  unsigned node = 0, port = 0;
  friend bool operator==(const PortOf&, const PortOf&) = default;
};
/// Where the links of each hub lead.
using Wiring = std::vector<std::array<std::optional<PortOf>, kLinks>>;
/// The windows of each hub.
using Tables = std::vector<std::vector<Window>>;

class Fabric {
 public:
  /// Makes the hub of a node.
  using MakeHub = std::function<std::unique_ptr<HubModel>(const Hub::Config&, std::uint16_t own, unsigned node,
                                                          Domain& net, Domain& bus)>;
  static std::unique_ptr<HubModel> sim_hub(const Hub::Config& config, std::uint16_t own, unsigned node, Domain& net,
                                           Domain& bus);

  /// Hosts store windows, as `load` does, into their hubs; time 0 is when that is done.
  /// Throws std::invalid_argument, one line, where values don't fit.
  Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub = sim_hub);

  [[nodiscard]] unsigned nodes() const { return assembly_.nodes(); }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  [[nodiscard]] Node& node(unsigned number) { return dynamic_cast<Node&>(assembly_.node(number)); }
  [[nodiscard]] const Hub::Config& config() const { return config_; }

  /// Cycles of the packets' clock; a second has `cycles_per_second`.
  [[nodiscard]] Tick now() const { return net_->scheduler.now() - start_; }
  [[nodiscard]] Tick since_start(Tick cycle) const { return cycle - start_; }
  /// In ticks.
  [[nodiscard]] Tick start() const { return net_->clock.edge(start_); }
  [[nodiscard]] double cycles_per_second() const { return cycles_per_second_; }

  /// Windows that are proved to lead nowhere round, and to let no packets wait for each other in a circle. Throws
  /// std::invalid_argument, one line, where they are of another number of hubs, or too many.
  void load(const Tables& tables);
  /// Until all processors have done what they have to, and everything is quiet. Throws Stuck: processors wait, and nothing moves.
  void run();
  /// What was refused, dropped or given up, and which chains have ended, since this was called last, as the model has seen each; the
  /// registers have counts, and the last one alone.
  [[nodiscard]] Report report();
  /// What the hub of a node has counted: its registers are read, which takes time.
  [[nodiscard]] Counts counts(unsigned node);

 private:
  struct Made;
  Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub, std::unique_ptr<Made> made);

  /// The processors that wait for what does not come.
  [[nodiscard]] std::vector<Blocked> waiting();
  /// A line for each of those, whose work is abandoned, for each hub that refused something, and for credits that are outstanding.
  [[nodiscard]] Stuck stuck(std::vector<Blocked> waits);
  /// Of a hub's port, some of whose credits are outstanding: who waits for whom.
  [[nodiscard]] std::string credits_of(unsigned node, unsigned port);
  /// A line for each such port, each behind a line break.
  [[nodiscard]] std::string outstanding_credits();
  void report(unsigned node, Report& to);

  Hub::Config config_;
  Domain* net_ = nullptr;
  double cycles_per_second_ = 0;
  Assembly assembly_;
  Wiring wiring_;
  Tick start_ = 0;
};

}  // namespace thalweg::peach2
