// SPDX-License-Identifier: Apache-2.0
// The hardware's control plane, cycle by cycle. C++ model of rtl/accl/tw_control_plane.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "accl/call.hpp"
#include "accl/call_order.hpp"
#include "accl/call_port.hpp"
#include "accl/call_report.hpp"
#include "accl/communicators.hpp"
#include "accl/configuration.hpp"
#include "accl/exchange_ports.hpp"
#include "accl/move_engine.hpp"
#include "accl/node_circuit.hpp"
#include "accl/program_moves.hpp"
#include "accl/sequencer.hpp"
#include "accl/time_outs.hpp"

namespace thalweg::accl {

class ControlPlane {
 public:
  struct Limits {
    unsigned ports = 3, calls = 8, communicators = 8, ranks = 64, buffers = 16, packets = 64;
    std::uint32_t packet_bytes = 4096;
    unsigned cycles_per_us = 250;
    bool arithmetic = true, conversions = true;
  };
  struct In {
    std::uint32_t identity = 0;                         ///< of the exchange memory
    std::optional<ExchangePorts::Access> access{};      ///< by the host
    std::vector<std::optional<std::uint32_t>> words{};  ///< of calls, by port
    bool status_ready = false, command_ready = false;
    std::optional<ProgramMoves::Ended> ended{};
    std::uint64_t waits = 0;          ///< waiting moves, a bit per slot
    std::optional<unsigned> moves{};  ///< slot of a move whose next piece starts
  };

  explicit ControlPlane(const Limits& limits)
      : ports_(limits.ports),
        communicators_(limits.communicators, limits.ranks),
        configuration_(limits.buffers, limits.packets, limits.packet_bytes),
        port_(limits.communicators, limits.ranks, limits.arithmetic, limits.conversions),
        order_(limits.calls),
        sequencer_(limits.calls),
        time_outs_(2 * limits.calls, limits.cycles_per_us),
        moves_(limits.calls, limits.communicators, limits.ranks),
        report_(limits.ports, limits.calls) {}

  [[nodiscard]] bool word_ready(unsigned port) const {
    return inside_ && !configures_ && communicators_.ready() && owner_ == port && port_.word_ready();
  }
  [[nodiscard]] bool access_ready() const { return exchange_.ready(0) && communicators_.ready(); }
  [[nodiscard]] const ExchangePorts& exchange() const { return exchange_; }
  [[nodiscard]] auto command() const {
    using Command = NodeCircuit::Command;
    if (const auto slot = time_outs_.cancel(resets_))
      return std::optional(Command{.does = NodeCircuit::Does::cancel, .slot = *slot});
    if (configuration_.empties()) return std::optional(Command{.does = NodeCircuit::Does::clear});
    return moves_.command();
  }
  [[nodiscard]] auto status() const { return report_.status(moves_.status()); }
  [[nodiscard]] std::optional<NodeCircuit::Setting> set() const {
    if (auto one = configuration_.set()) return one;
    if (const auto one = communicators_.set())
      return NodeCircuit::Setting{NodeCircuit::Sets::communicator, one->index, {one->identity, 1, 0}};
    return std::nullopt;
  }
  /// This board's session number.
  [[nodiscard]] std::uint32_t own() const { return communicators_.own(); }

  void step(const In& in) {
    const bool begins = order_.begin().has_value(), enters = port_.begins() && order_.ready();
    const bool memory = exchange_.ready(1) && users_.size() < kUsers, host = communicators_.ready();
    const auto end = moves_.status();
    const auto asks = this->asks(end);
    const auto user = static_cast<std::size_t>(
        std::ranges::find_if(asks, [](const auto& each) { return each.has_value(); }) - asks.begin());
    const auto takes = [&](std::size_t who) { return memory && user == who; };
    const auto answer = [&](std::size_t who) {
      const auto& one = exchange_.answer(1);
      return one && users_.front() == who ? std::optional(one->data) : std::nullopt;
    };
    const bool cancels = time_outs_.cancel(resets_).has_value();
    const bool sets = communicators_.set() && !configuration_.set(), clears = configuration_.clears();

    CallPort::In port;
    port.clear = clears;
    port.buffers = configuration_.buffers();
    if (sets) port.set = {communicators_.set()->index, true, communicators_.set()->at};
    if (inside_ && !configures_ && host) port.word = in.words[owner_];
    const bool word = port.word && port_.word_ready();
    port.port = owner_;
    port.number = order_.number();
    port.access_ready = takes(kOfCall);
    port.load_ready = sequencer_.ready() && !begins;
    port.call_ready = order_.ready();
    port.answer = answer(kOfCall);

    CallReport::In report;
    report.first = word && words_ == 0;
    if (enters) report.call = {port_.number(), port_.call().port};
    report.end = end;
    report.access_ready = takes(kOfReport);
    report.status_ready = in.status_ready;
    const bool ends = in.status_ready && status();

    CallOrder::In order;
    order.number_ready = port_.number_ready();
    order.begin_ready = sequencer_.ready();
    if (port.load_ready) order.load = port_.load();
    if (port_.begins()) order.call = {port_.number(), port_.call()};
    if (ends) order.ended = end->number;

    Sequencer::In sequencer;
    if (begins)
      sequencer.load = {
          .call = order_.begin()->number, .to = 0, .data = 0, .begins = true, .program = order_.begin()->at};
    else if (port_.load())
      sequencer.load = {
          .call = port_.number(), .to = static_cast<unsigned>(port_.load()->to), .data = port_.load()->data};
    sequencer.ended = moves_.ended();
    sequencer.move_ready = sequencer.end_ready = moves_.ready();

    Configuration::In configuration;
    configuration.call = moves_.config();
    configuration.access_ready = takes(kOfConfiguration);
    configuration.answer = answer(kOfConfiguration);
    configuration.empty_ready = in.command_ready && !cancels;

    Communicators::In communicators;
    if (in.access && in.access->write && access_ready()) communicators.write = {in.access->at, in.access->data};
    communicators.access_ready = takes(kOfCommunicator);
    communicators.answer = answer(kOfCommunicator);
    communicators.set_ready = !configuration_.set();

    TimeOuts::In time_outs{
        .time_out = configuration_.time_out(), .resets = resets_, .waits = in.waits, .moves = in.moves};
    if (in.ended) time_outs.ended = in.ended->slot;
    time_outs.cancel_ready = in.command_ready;

    ProgramMoves::In moves;
    if (sets) moves.set = {communicators_.set()->index, communicators_.set()->identity};
    moves.clear = clears;
    if (enters) moves.call = order.call;
    if (const auto* move = sequencer_.move()) moves.move = {sequencer_.call(), *move};
    if (sequencer_.ends()) moves.end = sequencer_.call();
    moves.ended = in.ended;
    moves.access_ready = takes(kOfSession);
    moves.answer = answer(kOfSession);
    moves.command_ready = in.command_ready && !cancels && !configuration_.empties();
    moves.status_ready = ends;
    moves.resets = resets_;
    if (configuration_.done()) moves.configured = configuration_.code();

    std::array<std::optional<ExchangePorts::Access>, 2> accesses{host ? in.access : std::nullopt, std::nullopt};
    if (user < asks.size() && users_.size() < kUsers) accesses[1] = asks[user];
    if (exchange_.answer(1)) users_.pop_front();
    if (accesses[1] && memory) users_.push_back(user);

    if (configures_) {
      if (configuration_.done()) configures_ = resets_ = false;
    } else {
      const Call& call = port_.call().call;
      const bool config = port_.begins() && call.scenario == Scenario::config;
      configures_ = config && enters;
      resets_ = config && call.function == 0;
    }
    exchange_.step(accesses, in.identity);
    port_.step(port);
    order_.step(order);
    sequencer_.step(sequencer);
    configuration_.step(configuration);
    communicators_.step(communicators);
    time_outs_.step(time_outs);
    moves_.step(moves);
    report_.step(report);
    turn(in, word);
  }

 private:
  // Users of the exchange memory, in order of priority.
  static constexpr std::size_t kOfSession = 0, kOfCall = 1, kOfConfiguration = 2, kOfCommunicator = 3, kOfReport = 4;
  static constexpr std::size_t kUsers = 8;  ///< maximum accesses in flight

  [[nodiscard]] std::array<std::optional<ExchangePorts::Access>, 5> asks(
      const std::optional<ProgramMoves::Status>& end) const {
    const auto read = [](const std::optional<std::uint32_t>& at) {
      return at ? std::optional(ExchangePorts::Access{.write = false, .at = *at}) : std::nullopt;
    };
    return {read(moves_.access()), read(port_.access()), configuration_.access(), read(communicators_.access()),
            report_.access(end)};
  }
  /// Round-robin arbitration of the ports, per call.
  void turn(const In& in, bool word) {
    if (inside_) {
      if (word && ++words_ == kCallWords) inside_ = false;
      return;
    }
    words_ = 0;
    for (unsigned k = 1; k <= ports_ && !inside_; ++k)
      if (in.words[(owner_ + k) % ports_]) {
        owner_ = (owner_ + k) % ports_;
        inside_ = true;
      }
  }

  unsigned ports_;
  ExchangePorts exchange_;
  Communicators communicators_;
  Configuration configuration_;
  CallPort port_;
  CallOrder order_;
  Sequencer sequencer_;
  TimeOuts time_outs_;
  ProgramMoves moves_;
  CallReport report_;
  bool inside_ = false;                       ///< the words of a call are being taken
  bool configures_ = false, resets_ = false;  ///< a config call is in flight; a reset is in flight
  unsigned owner_ = 0, words_ = 0;
  std::deque<std::size_t> users_;  ///< of accesses in flight, in order
};

}  // namespace thalweg::accl
