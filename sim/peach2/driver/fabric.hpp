// SPDX-License-Identifier: Apache-2.0
// A PEACH2 cluster as its hosts see it: nodes, windows that route between all nodes, and time. Operations are submitted to the
// nodes' processors.
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
  bool complete = false;  ///< the hub has answered all reads
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

class Fabric final : public Engine {
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
  [[nodiscard]] const Node& node(unsigned number) const { return dynamic_cast<const Node&>(assembly_.node(number)); }
  [[nodiscard]] const Hub::Config& config() const { return config_; }

  /// The tick of the clocks at which now() was 0.
  [[nodiscard]] Tick start() const { return net_->clock.edge(start_); }
  /// Ticks from the time at which windows were stored.
  [[nodiscard]] Tick now() const override { return assembly_.time().now() - start(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  /// Of the packets' clock.
  [[nodiscard]] double cycles_per_second() const { return cycles_per_second_; }
  [[nodiscard]] Tick cycles(Tick ticks) const { return ticks / net_->clock.period; }

  /// For an operation of a processor: it completes `handle` when it has ended.
  [[nodiscard]] Processor::Then completes(Handle handle, bool last = true);
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Also where processors ask their hubs for what does not come, and nothing else moves.
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::vector<Blocked> blocked() const override;
  /// As far as report() was called.
  [[nodiscard]] std::vector<Lost> lost() const override;

  /// Windows that are proved to lead nowhere round, and to let no packets wait for each other in a circle. Throws
  /// std::invalid_argument, one line, where they are of another number of hubs, or too many.
  void load(const Tables& tables);
  /// Until all processors have done what they have to, and everything is quiet: operations without a handle. Throws Stuck.
  void run();
  /// Of an idle fabric. Throws Stuck, and abandons what processors have to do, where they wait, or hubs do, and nothing moves.
  void check_ended();
  /// What was refused, dropped or given up, and which chains have ended, since this was called last, as the model has seen each; the
  /// registers have counts, and the last one alone.
  [[nodiscard]] Report report();
  /// What the hub of a node has counted: its registers are read, which takes time.
  [[nodiscard]] Counts counts(unsigned node);

 private:
  struct Parts;
  Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub, std::unique_ptr<Parts> made);

  /// A line for each of those, whose work is abandoned, for each hub that refused something, and for each thing that a hub waits for.
  [[nodiscard]] Stuck stuck(std::vector<Blocked> waits);
  /// Of a hub's port, some of whose credits are outstanding: who waits for whom.
  [[nodiscard]] std::string credits_of(unsigned node, unsigned port);
  /// What hubs wait for, answers and credits: a line each, behind a line break.
  [[nodiscard]] std::string outstanding();
  void report(unsigned node, Report& to);
  [[nodiscard]] std::uint64_t progress();
  [[nodiscard]] bool works();
  /// At the end of a stride: whether anything has moved.
  void look();

  Hub::Config config_;
  Domain* net_ = nullptr;
  double cycles_per_second_ = 0;
  Assembly assembly_;
  Wiring wiring_;
  Tick start_ = 0;
  std::vector<Completion> ended_;
  std::map<std::pair<unsigned, std::string>, std::uint64_t> lost_;  ///< by node, and what it dropped

  // Looks come a whole number of strides after the begin, and so does the end: it depends on what moves alone, not on how long the
  // models look at idle hubs.
  bool rests_ = true;
  bool gave_up_ = false;  ///< nothing has moved for long, though processors ask their hubs
  Tick begin_ = 0, look_ = 0, moved_ = 0;
  std::uint64_t seen_ = 0;  ///< progress at the last look
  unsigned still_ = 0;      ///< looks since it last changed
};

}  // namespace thalweg::peach2
