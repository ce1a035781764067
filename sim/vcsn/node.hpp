// SPDX-License-Identifier: Apache-2.0
// An FPGA with its shell: memory, DMA engines, a crossbar, virtual ports of external ports, and streams of user logic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
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
  /// A transfer has ended.
  std::function<void(const Ended&)> ended;
  std::function<void(Handle, Taken)> taken;                ///< what user logic has received
  std::function<void(bool, unsigned, Tick)> engine_ended;  ///< a transfer of an engine that writes, or reads

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
    for (unsigned k = 0; k < config.kernels; ++k) {
      auto& kernel = kernels.emplace_back(shell);
      kernel.offered = [this, input = crossbar.add(static_cast<Source&>(kernel))] { crossbar.source_changed(input); };
      kernel.freed = [this, output = crossbar.add(static_cast<Sink&>(kernel))] { crossbar.sink_changed(output); };
      kernel.ended = [this](const Ended& transfer) { later(transfer); };
      kernel.taken = [this](Handle handle, Taken data) { taken(handle, std::move(data)); };
    }
    for (unsigned k = 0; k < config.sequencers; ++k) {
      auto& of = sequencers.emplace_back(shell, kSequencers + k, crossbar, reads, writes, externals);
      KernelPort& stream = of.stream;
      stream.offered = [this, input = crossbar.add(static_cast<Source&>(stream))] { crossbar.source_changed(input); };
      stream.freed = [this, output = crossbar.add(static_cast<Sink&>(stream))] { crossbar.sink_changed(output); };
      of.ended = stream.ended = [this](const Ended& transfer) { later(transfer); };
      stream.taken = [](Handle, const Taken&) {};
    }
    commands.emplace(shell, line, config.ports);
    outputs.emplace(sequencer_place(config.sequencers));
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
  std::optional<Underway<std::optional<unsigned>>> outputs;  ///< of the crossbar, as hosts have set them
  /// Handles of what sequencers wait for are at and above it; none but kNoHandle of others is.
  static constexpr Handle kSequencers = Handle{1} << 63;

  [[nodiscard]] const Domain& shell() const { return *shell_; }
  /// Of a virtual port, as an input and an output of the crossbar; engines are before them, and streams of user logic behind.
  [[nodiscard]] unsigned place(unsigned port, unsigned virtual_port) const {
    return config.dmas + port * config.virtual_ports + virtual_port;
  }
  [[nodiscard]] unsigned kernel_place(unsigned kernel) const { return place(config.ports, 0) + kernel; }
  [[nodiscard]] unsigned sequencer_place(unsigned sequencer) const { return kernel_place(config.kernels) + sequencer; }

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number < externals.size(), "an FPGA has no external port " + std::to_string(number));
    return externals[number]->end();
  }
  /// Once all links are joined. Throws std::invalid_argument where a line is too fast.
  void start() {
    for (const auto& port : externals) port->start();
  }

  // What a host writes into registers; it acts when the command has arrived.

  /// The output of the crossbar that hosts have set to an input.
  [[nodiscard]] std::optional<unsigned> output_of(unsigned input) const {
    for (unsigned output = 0; output < crossbar.outputs(); ++output)
      if (outputs->or_else(output, crossbar.input_of(output)) == input) return output;
    return std::nullopt;
  }
  /// An output of the crossbar takes packets of an input, which no other one does, or of none.
  void connect(unsigned output, std::optional<unsigned> input) {
    outputs->write(output, input);
    commands->crossbar(commands::crossbar(output, input), [this, output, input] {
      outputs->acts(output);
      const auto has = input ? crossbar.output_of(*input) : std::nullopt;
      if (has && *has != output)
        ++refused_;  // a sequencer has set it
      else
        crossbar.set(output, input);
    });
  }
  void read(unsigned engine, Transfer transfer) {
    auto words = commands::segments(commands::Kind::read, engine, transfer);
    commands->segments(words, [this, engine, transfer = std::move(transfer)] { reads[engine].submit(transfer); });
  }
  void write(unsigned engine, Transfer transfer) {
    auto words = commands::segments(commands::Kind::write, engine, transfer);
    commands->segments(words, [this, engine, transfer = std::move(transfer)] { writes[engine].submit(transfer); });
  }

  /// As before time starts, but for the memory, counts, and frames that are on lines. `operations`: that it has not completed.
  void restart(std::uint64_t operations) {
    commands->reset();
    outputs->reset();
    dropped_operations_ += operations;
    dropped_words_ += crossbar.reset();
    for (const auto& port : externals) dropped_words_ += port->reset();
    for (auto& engine : reads) engine.reset();
    for (auto& engine : writes) dropped_words_ += engine.reset();
    for (auto& kernel : kernels) dropped_words_ += kernel.reset();
    for (auto& sequencer : sequencers) dropped_words_ += sequencer.reset();
    ended_.clear();
  }

  bool step(Tick now) override {
    std::erase_if(ended_, [&](const Ended& transfer) {
      if (transfer.cycle > now) return false;
      if (transfer.handle >= kSequencers && transfer.handle - kSequencers < sequencers.size())
        sequencers[static_cast<std::size_t>(transfer.handle - kSequencers)].complete(now);
      else
        ended(transfer);
      return true;
    });
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    for (unsigned port = 0; port < externals.size(); ++port)
      externals[port]->lost(" at port " + std::to_string(port), node, all);
    if (refused_ > 0) all.push_back({node, "settings of a crossbar whose input another output had by then", refused_});
    if (dropped_operations_ > 0) all.push_back({node, "operations that a restart ended", dropped_operations_});
    if (dropped_words_ > 0) all.push_back({node, "words that a restart dropped", dropped_words_});
    for (unsigned k = 0; k < writes.size(); ++k) {
      const std::string of = "write engine " + std::to_string(k);
      const auto add = [&](std::uint64_t count, const std::string& what) {
        if (count > 0) all.push_back({node, what, count});
      };
      add(writes[k].overrun(), "words that " + of + " had no memory for");
      add(writes[k].headless(), "words of packets without a begin at " + of);
      add(writes[k].broken(), "ends of packets, whose rest came to " + of);
    }
  }

 private:
  void later(const Ended& transfer, bool writes, unsigned engine) {
    if (engine_ended) engine_ended(writes, engine, transfer.cycle);
    later(transfer);
  }
  void later(const Ended& transfer) {
    ended_.push_back(transfer);
    shell_->wake(id_, transfer.cycle);
  }

  Domain* shell_;
  ComponentId id_;
  std::vector<Ended> ended_;
  std::uint64_t dropped_operations_ = 0, dropped_words_ = 0, refused_ = 0;
};

}  // namespace thalweg::vcsn
