// SPDX-License-Identifier: Apache-2.0
// A PEACH2 cluster as seen by its hosts: nodes, routing windows, and time. Operations are submitted to the nodes' processors.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "core/blocked.hpp"
#include "peach2/addresses.hpp"
#include "peach2/node.hpp"

namespace thalweg::peach2 {

/// Counters of a hub.
struct Counts {
  std::uint32_t chains = 0, missed = 0,
                faults = 0;               ///< completed chains, starts dropped by a full queue, failed chains
  std::uint32_t strays = 0, dropped = 0;  ///< beats dropped by the bus and by the calculator
  struct Refused {
    std::uint32_t count = 0;
    Note note;  ///< of the last event
  };
  std::array<Refused, kPorts> refused;
  std::array<Refused, kChannels> given_up;  ///< failed chains
  std::vector<std::uint32_t> results;
  bool complete = false;  ///< the hub has replied to all reads
};

/// A lost write.
struct Loss {
  std::string what;              ///< description in one line
  std::optional<Source> source;  ///< if known
  std::uint64_t address = 0, bytes = 4;
};
/// End of a started chain.
struct ChainEnd {
  unsigned hub = 0;
  std::uint64_t start = 0;  ///< address of its first descriptor
  std::string what{};       ///< reason of a failure in one line, or empty
  bool aborted = false;     ///< by the host
};
struct Report {
  std::vector<Loss> losses;
  std::vector<ChainEnd> chains;  ///< of each hub, chains started by its host are in order
};

/// A node's port.
struct PortOf {
  unsigned node = 0, port = 0;
  friend bool operator==(const PortOf&, const PortOf&) = default;
};
/// Remote port of each hub's links.
using Wiring = std::vector<std::array<std::optional<PortOf>, kLinks>>;
/// The windows of each hub.
using Tables = std::vector<std::vector<Window>>;

/// The windows in a description of `thalweg cluster describe`. Throws std::invalid_argument if a node has none.
[[nodiscard]] Tables tables_of(const Description& description);

class Fabric final : public Engine {
 public:
  /// Makes the hub of a node.
  using MakeHub = std::function<std::unique_ptr<HubModel>(const Hub::Config&, std::uint16_t own, unsigned node,
                                                          Domain& net, Domain& bus)>;
  static std::unique_ptr<HubModel> sim_hub(const Hub::Config& config, std::uint16_t own, unsigned node, Domain& net,
                                           Domain& bus);

  /// Loads the windows as by `load`; time 0 is when that is complete. Throws std::invalid_argument, one line, for inconsistent
  /// values.
  Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub = sim_hub);

  [[nodiscard]] unsigned nodes() const { return assembly_.nodes(); }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  [[nodiscard]] Node& node(unsigned number) { return dynamic_cast<Node&>(assembly_.node(number)); }
  [[nodiscard]] const Node& node(unsigned number) const { return dynamic_cast<const Node&>(assembly_.node(number)); }
  [[nodiscard]] const Hub::Config& config() const { return config_; }
  /// Operators and types of the calculators, such as "sum float32".
  [[nodiscard]] const std::vector<std::string>& pairs() const { return pairs_; }
  /// Sets a function that is called now and then while time advances. If it throws, the next advance() continues.
  void call_between(std::function<void()> between) { between_ = std::move(between); }

  /// The clocks' tick at which now() was 0.
  [[nodiscard]] Tick start() const { return net_->clock.edge(start_); }
  /// Ticks since the windows were loaded.
  [[nodiscard]] Tick now() const override { return assembly_.time().now() - start(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  /// Frequency of the packet clock.
  [[nodiscard]] double cycles_per_second() const { return cycles_per_second_; }
  [[nodiscard]] Tick cycles(Tick ticks) const { return ticks / net_->clock.period; }

  /// Callback for an operation of a processor, which completes `handle`.
  [[nodiscard]] Processor::Then completes(Handle handle, bool last = true);
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Also true if processors poll their hubs in vain and nothing else moves.
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::vector<Blocked> blocked() const override;
  /// Losses up to the last report().
  [[nodiscard]] std::vector<Lost> lost() const override;

  /// Loads windows, which must be proved free of routing loops and deadlocks. Throws std::invalid_argument, one line, if the number
  /// of hubs is wrong or a hub has too few windows.
  void load(const Tables& tables);
  /// Runs until all processors have completed their operations and the fabric is idle; for operations without a handle. Throws
  /// Stuck.
  void run();
  /// Checks an idle fabric. If processors or hubs still wait, discards the processors' operations and throws Stuck.
  void check_ended();
  /// Refused and dropped writes and ended chains since the last call. The model reports each one; the registers have only counts and
  /// the last event.
  [[nodiscard]] Report report();
  /// Counters of a node's hub. Reads its registers, which takes virtual time.
  [[nodiscard]] Counts counts(unsigned node);

 private:
  struct Parts;
  Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub, std::unique_ptr<Parts> made);

  /// Describes a deadlock: one line per entry of `waits`, per refusal or drop of a hub, and per wait of a hub. Discards the
  /// processors' operations.
  [[nodiscard]] Stuck stuck(std::vector<Blocked> waits);
  /// Describes the outstanding credits of a hub's port.
  [[nodiscard]] std::string credits_of(unsigned node, unsigned port);
  /// Completions and credits that hubs wait for, one line each, each line after a line break.
  [[nodiscard]] std::string outstanding();
  void report(unsigned node, Report& to);
  [[nodiscard]] std::uint64_t progress();
  [[nodiscard]] bool works();
  /// When all hubs rest.
  [[nodiscard]] Tick settled();
  /// Checks for progress at the end of a stride.
  void look();

  Hub::Config config_;
  std::vector<std::string> pairs_;
  std::function<void()> between_;
  Domain* net_ = nullptr;
  double cycles_per_second_ = 0;
  Assembly assembly_;
  Wiring wiring_;
  Tick start_ = 0;
  std::vector<Completion> ended_;
  std::map<std::pair<unsigned, std::string>, std::uint64_t> lost_;  ///< by node and kind of loss

  // Checks of progress, and the end of a run, come a whole number of strides after its start, so that the end depends only on
  // transfers, not on how long the models step idle hubs.
  bool rests_ = true;
  bool gave_up_ = false;  ///< no progress for long, although processors poll their hubs
  Tick begin_ = 0, look_ = 0, moved_ = 0;
  std::uint64_t seen_ = 0;  ///< progress at the last check
  unsigned still_ = 0;      ///< checks since the last progress
};

}  // namespace thalweg::peach2
