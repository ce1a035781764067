// SPDX-License-Identifier: Apache-2.0
// An FPGA with its shell: memory, DMA engines, a crossbar, virtual ports of external ports, and streams of user logic.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/clock.hpp"
#include "core/require.hpp"
#include "vcsn/commands.hpp"
#include "vcsn/crossbar.hpp"
#include "vcsn/dma.hpp"
#include "vcsn/external.hpp"
#include "vcsn/kernel_port.hpp"
#include "vcsn/read_dma.hpp"
#include "vcsn/sequencer.hpp"
#include "vcsn/write_dma.hpp"

namespace thalweg::vcsn {

class Node final : public AssembledNode, public Component {
 public:
  /// Called when a transfer has ended.
  std::function<void(const Ended&)> ended;
  std::function<void(Handle, Taken)> taken;                ///< called with the words that user logic has received
  std::function<void(bool, unsigned, Tick)> engine_ended;  ///< called when an engine has ended a transfer; true: a
                                                           ///< write engine
  std::function<void(unsigned, Tick)> program_ended;       ///< called when a sequencer's program has ended

  /// `make(port)` makes each external port.
  template <class Make>
  Node(const NodeConfig& config, unsigned number, Domain& shell, Domain& line, Make&& make)
      : config(config),
        memory("the memory of node " + std::to_string(number), config.banks, config.bank_bytes, config.bank),
        crossbar(shell),
        shell_(&shell),
        id_(shell.scheduler.add(*this)) {
    const DmaTiming timing;
    for (unsigned k = 0; k < config.dmas; ++k) {
      auto& read = reads.emplace_back(shell, memory, timing);
      read.changed = [this, input = crossbar.add(read)] { crossbar.source_changed(input); };
      auto& write = writes.emplace_back(shell, memory, timing);
      write.changed = [this, output = crossbar.add(write)] { crossbar.sink_changed(output); };
      read.ended = [this, k](const Ended& transfer) { later(transfer, false, k); };
      write.ended = [this, k](const Ended& transfer) { later(transfer, true, k); };
    }
    for (unsigned port = 0; port < config.ports; ++port) {
      auto& of = *externals.emplace_back(make(port));
      const unsigned first = place(port, 0);
      for (unsigned k = 0; k < config.virtual_ports; ++k) {
        crossbar.add(of.source(k));
        crossbar.add(of.sink(k));
      }
      of.filled = [this, first](unsigned virtual_port) { crossbar.source_changed(first + virtual_port); };
      of.emptied = [this, first](unsigned virtual_port) { crossbar.sink_changed(first + virtual_port); };
    }
    for (unsigned k = 0; k < config.sequencers; ++k) {
      auto& of = sequencers.emplace_back(shell);
      of.offered = [this, input = crossbar.add(static_cast<Source&>(of))] { crossbar.source_changed(input); };
      of.freed = [this, output = crossbar.add(static_cast<Sink&>(of))] { crossbar.sink_changed(output); };
      of.offer = [this](Tick now, const Command& command) { return commands->offer(now, command); };
    }
    for (unsigned k = 0; k < config.kernels; ++k) {
      auto& kernel = kernels.emplace_back(shell);
      kernel.offered = [this, input = crossbar.add(static_cast<Source&>(kernel))] { crossbar.source_changed(input); };
      kernel.freed = [this, output = crossbar.add(static_cast<Sink&>(kernel))] { crossbar.sink_changed(output); };
      kernel.ended = [this](const Ended& transfer) { later(transfer); };
      kernel.taken = [this](Handle handle, Taken data) { taken(handle, std::move(data)); };
    }
    commands.emplace(shell, line, config.ports);
    outputs.emplace(places());
    for (auto& each : given_) each.resize(config.dmas);
    for (auto& each : kept_) each.resize(config.dmas);
  }

  const NodeConfig config;
  BoardMemory memory;
  Crossbar crossbar;
  std::deque<ReadDma> reads;
  std::deque<WriteDma> writes;
  std::vector<std::unique_ptr<External>> externals;
  std::deque<KernelPort> kernels;
  std::deque<Sequencer> sequencers;
  std::optional<Commands> commands;
  std::optional<Underway<std::optional<unsigned>>> outputs;  ///< selected inputs of the crossbar, as last written
  /// Handles of sequencers' transfers start at this number; all others except kNoHandle are below it.
  static constexpr Handle kSequencers = Handle{1} << 63;

  [[nodiscard]] const Domain& shell() const { return *shell_; }
  /// Crossbar index of a virtual port, as input and as output. Engines come first, then virtual ports, sequencers, and
  /// streams of user logic.
  [[nodiscard]] unsigned place(unsigned port, unsigned virtual_port) const {
    return config.dmas + port * config.virtual_ports + virtual_port;
  }
  [[nodiscard]] unsigned sequencer_place(unsigned sequencer) const { return place(config.ports, 0) + sequencer; }
  [[nodiscard]] unsigned kernel_place(unsigned kernel) const { return sequencer_place(config.sequencers) + kernel; }
  [[nodiscard]] unsigned places() const { return kernel_place(config.kernels); }

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number < externals.size(), "an FPGA has no external port " + std::to_string(number));
    return externals[number]->end();
  }
  /// Call once all links are connected. Throws std::invalid_argument if a line is too fast.
  void start() {
    for (const auto& port : externals) port->start();
  }

  /// The crossbar output set to an input, as last written.
  [[nodiscard]] std::optional<unsigned> output_of(unsigned input) const {
    for (unsigned output = 0; output < crossbar.outputs(); ++output)
      if (outputs->or_else(output, crossbar.input_of(output)) == input) return output;
    return std::nullopt;
  }
  /// Selects the input of a crossbar output, which no other output has selected; or none.
  void connect(unsigned output, std::optional<unsigned> input) { commands->write(connecting(output, input, {})); }
  /// Submits a host's transfer. As an engine holds a limited number of segments, the host queues further transfers.
  void read(unsigned engine, Transfer transfer) {
    kept_[false][engine].push_back(std::move(transfer));
    give(false, engine);
  }
  void write(unsigned engine, Transfer transfer) {
    kept_[true][engine].push_back(std::move(transfer));
    give(true, engine);
  }
  /// True if an engine has hosts' transfers outstanding.
  [[nodiscard]] bool under_way(bool writes, unsigned engine) const { return !given_[writes][engine].empty(); }
  /// The sequencer whose program uses an engine, if any.
  [[nodiscard]] std::optional<unsigned> owner(bool writes, unsigned engine) const {
    const auto kind = writes ? commands::Kind::write : commands::Kind::read;
    for (unsigned k = 0; k < sequencers.size(); ++k)
      for (const Instruction& each : sequencers[k].program())
        if (each.kind() == kind && each.place() == engine) return k;
    return std::nullopt;
  }
  /// Starts a program, whose last instruction must be `Finish`.
  void sequence(unsigned sequencer, std::vector<Instruction> program) {
    Sequencer& of = sequencers[sequencer];
    for (const Instruction& each : program) {
      Command command{.word = commands::program(sequencer, each.command.word), .after = 1};
      if (each.kind() == commands::Kind::finish) command.acts = [this, &of] { of.begin(shell_->scheduler.now()); };
      commands->write(command);
    }
    of.load(std::move(program));
  }

  // Make the commands of the above. `refused`: called if another output has the input on arrival.

  [[nodiscard]] Command connecting(unsigned output, std::optional<unsigned> input, std::function<void()> refused) {
    return {.word = commands::crossbar(output, input),
            .after = 1,
            .acts =
                [this, output, input, refused = std::move(refused)] {
                  outputs->acts(output);
                  if (crossbar.set(output, input)) return;
                  ++refused_;
                  if (refused) refused();
                },
            .written = [this, output, input] { outputs->write(output, input); }};
  }
  [[nodiscard]] std::vector<Command> reading(unsigned engine, const Transfer& transfer) {
    return segments(commands::Kind::read, engine, transfer,
                    [this, engine, transfer] { reads[engine].submit(transfer); });
  }
  [[nodiscard]] std::vector<Command> writing(unsigned engine, const Transfer& transfer) {
    return segments(commands::Kind::write, engine, transfer,
                    [this, engine, transfer] { writes[engine].submit(transfer); });
  }

  /// Number of refused crossbar settings: another output had the input on arrival.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  /// Restarts to the initial state, except for memory, counters, and frames on lines. `operations`: number of its
  /// outstanding operations.
  void restart(std::uint64_t operations) {
    commands->reset();
    outputs->reset();
    dropped_operations_ += operations;
    dropped_words_ += crossbar.reset();
    for (const auto& port : externals) dropped_words_ += port->reset();
    for (auto& engine : reads) engine.reset();
    for (auto& engine : writes) dropped_words_ += engine.reset();
    for (auto& kernel : kernels) dropped_words_ += kernel.reset();
    for (auto& sequencer : sequencers) sequencer.reset();
    ended_.clear();
    for (auto& each : given_) each.assign(config.dmas, {});
    for (auto& each : kept_) each.assign(config.dmas, {});
  }

  bool step(Tick now) override {
    std::erase_if(ended_, [&](const Reported& each) {
      if (each.of.cycle > now) return false;
      if (each.engine) {
        given_[each.writes][*each.engine].pop_front();
        give(each.writes, *each.engine);
      }
      ended(each.of);
      return true;
    });
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    for (unsigned port = 0; port < externals.size(); ++port)
      externals[port]->lost(" at port " + std::to_string(port), node, all);
    if (refused_ > 0)
      all.push_back({node, "settings of a crossbar whose input was in use by another output", refused_});
    if (dropped_operations_ > 0) all.push_back({node, "operations ended by a restart", dropped_operations_});
    if (dropped_words_ > 0) all.push_back({node, "words dropped by a restart", dropped_words_});
    for (unsigned k = 0; k < writes.size(); ++k) {
      const std::string of = "write engine " + std::to_string(k);
      const auto add = [&](std::uint64_t count, const std::string& what) {
        if (count > 0) all.push_back({node, what, count});
      };
      add(writes[k].overrun(), "words beyond the segments of " + of);
      add(writes[k].headless(), "words of packets without a start at " + of);
      add(writes[k].broken(), "packets without an end at " + of);
    }
  }

  /// Reports a completion in its cycle.
  void later(const Ended& operation) { later(Reported{operation}); }

 private:
  struct Reported {
    Ended of;
    std::optional<unsigned> engine{};  ///< engine that has ended a host's transfer
    bool writes = false;
  };

  void later(const Ended& transfer, bool writes, unsigned engine) {
    if (engine_ended) engine_ended(writes, engine, transfer.cycle);
    const std::uint64_t sequencer = transfer.handle - kSequencers;
    if (sequencer < sequencers.size()) {
      sequencers[static_cast<std::size_t>(sequencer)].complete(transfer.cycle);
    } else {
      later({transfer, engine, writes});
    }
  }
  void later(const Reported& each) {
    ended_.push_back(each);
    shell_->wake(id_, each.of.cycle);
  }
  /// Gives an engine queued transfers, as far as it has space for their segments.
  void give(bool writes, unsigned engine) {
    auto& kept = kept_[writes][engine];
    auto& given = given_[writes][engine];
    while (!kept.empty()) {
      const auto segments = static_cast<unsigned>(kept.front().segments.size());
      if (std::accumulate(given.begin(), given.end(), segments) > kSegments) return;
      for (const Command& command : writes ? writing(engine, kept.front()) : reading(engine, kept.front()))
        commands->write(command);
      given.push_back(segments);
      kept.pop_front();
    }
  }
  /// `acts`: called when the engine has the transfer, three cycles after the command of its last segment was accepted.
  [[nodiscard]] static std::vector<Command> segments(commands::Kind kind, unsigned engine, const Transfer& transfer,
                                                     std::function<void()> acts) {
    std::vector<Command> all;
    for (const Segment& each : transfer.segments) {
      const bool last = &each == &transfer.segments.back();
      all.push_back({.word = commands::segment(kind, engine, each.address, each.bytes, last, transfer.channel),
                     .after = 2,
                     .acts = last ? std::move(acts) : std::function<void()>{}});
    }
    return all;
  }

  Domain* shell_;
  ComponentId id_;
  std::vector<Reported> ended_;
  // By direction (0: read, 1: write) and engine: hosts' queued transfers, and the number of segments of each transfer
  // in the engine.
  std::array<std::vector<std::deque<Transfer>>, 2> kept_;
  std::array<std::vector<std::deque<unsigned>>, 2> given_;
  std::uint64_t dropped_operations_ = 0, dropped_words_ = 0, refused_ = 0;
};

}  // namespace thalweg::vcsn
