// SPDX-License-Identifier: Apache-2.0
// Commands that hosts and sequencers write to a node: words of a stream, one accepted per cycle. Commands for external
// ports cross into the clock of the line. The cycle in which a command is accepted determines when it takes effect. C++
// model of the commands' path through rtl/vcsn/parts/tw_shell.sv and rtl/vcsn/top.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "common/async_fifo.hpp"
#include "core/clock.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/credits.hpp"
#include "vcsn/dma.hpp"
#include "vcsn/encoder.hpp"
#include "vcsn/monitor.hpp"
#include "vcsn/multiplexer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

/// A command in the hardware's encoding (`command_t` of rtl/vcsn/tw_vcsn_pkg.sv), lower half first.
struct CommandWord {
  std::uint64_t low = 0, high = 0;
};

namespace commands {

enum class Kind : std::uint8_t {
  crossbar,
  circuit,
  pace,
  read,
  write,
  monitor,
  reaction,
  credits,
  session,
  program,
  send_word,  ///< this one and the next two are only used in programs
  await_word,
  finish
};

[[nodiscard]] constexpr CommandWord word(Kind kind, unsigned place, std::uint64_t low, std::uint64_t high = 0) {
  return {low, high | std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | std::uint64_t{place} << 48};
}
[[nodiscard]] constexpr CommandWord crossbar(unsigned output, std::optional<unsigned> input) {
  return word(Kind::crossbar, output, input ? 1U << 8 | *input : 0);
}
[[nodiscard]] constexpr CommandWord circuit(unsigned place, const std::optional<Circuit>& to) {
  return word(Kind::circuit, place, to ? std::uint64_t{1} << 56 | to->address << 8 | to->port : 0);
}
[[nodiscard]] constexpr CommandWord pace(unsigned place, const Pace& of) {
  return word(Kind::pace, place, std::uint64_t{of.priority} << 20 | of.cycle);
}
[[nodiscard]] constexpr CommandWord monitor(unsigned place, const MonitorConfig& of) {
  return word(Kind::monitor, place, static_cast<std::uint64_t>(of.cycles) << 15 | of.words);
}
[[nodiscard]] constexpr CommandWord reaction(unsigned place, const Reaction& of) {
  return word(Kind::reaction, place,
              static_cast<std::uint64_t>(of.cycles) << 21 | std::uint64_t{of.stops} << 20 | of.pace);
}
[[nodiscard]] constexpr CommandWord credits(unsigned place, const CreditsConfig& of) {
  return word(Kind::credits, place, std::uint64_t{of.words} << 15 | of.report);
}
[[nodiscard]] constexpr CommandWord session(unsigned place, std::uint16_t number) {
  return word(Kind::session, place, number);
}
/// A segment of a transfer.
[[nodiscard]] constexpr CommandWord segment(Kind kind, unsigned engine, std::uint64_t address, std::uint64_t bytes,
                                            bool last, std::uint8_t channel) {
  return word(
      kind, engine,
      address << 41 | std::uint64_t{words_of(bytes)} << 15 | bytes % kWord << 9 | std::uint64_t{last} << 8 | channel,
      address >> 23);
}
/// Loads an instruction into a sequencer.
[[nodiscard]] constexpr CommandWord program(unsigned sequencer, const CommandWord& instruction) {
  return word(Kind::program, sequencer, instruction.low,
              (instruction.high & 0xFFFF'FFFF) | instruction.high >> 48 << 32);
}

}  // namespace commands

/// A command with its destination and effect.
struct Command {
  CommandWord word;
  std::optional<unsigned> port{};  ///< the external port of its destination, if any
  /// Cycles from acceptance or, for an external port, from the end of the clock crossing, to the cycle at whose end it
  /// takes effect.
  Tick after = 0;
  std::function<void()> acts{};
  std::function<void()> written{};  ///< called when the command is issued
};

/// Values written to several registers by commands that have not taken effect yet.
template <class T>
class Underway {
 public:
  explicit Underway(std::size_t count) : of_(count) {}

  void write(std::size_t at, T value) {
    of_[at].first = std::move(value);
    ++of_[at].second;
  }
  void acts(std::size_t at) { --of_[at].second; }
  /// Forgets pending writes, which never take effect.
  void reset() { of_.assign(of_.size(), {}); }
  /// The last pending value, or `there` if none is pending.
  [[nodiscard]] const T& or_else(std::size_t at, const T& there) const {
    return of_[at].second > 0 ? of_[at].first : there;
  }

 private:
  std::vector<std::pair<T, unsigned>> of_;
};

/// Executes actions at the ends of cycles, after all components constructed before it.
class Later final : public Component {
 public:
  explicit Later(Domain& domain) : domain_(&domain), id_(domain.scheduler.add(*this)) {}

  /// Schedules an action, not before the previously scheduled ones.
  void at(Tick cycle, std::function<void()> what) {
    all_.emplace_back(cycle, std::move(what));
    domain_->wake(id_, cycle);
  }
  void clear() { all_.clear(); }
  bool step(Tick now) override {
    while (!all_.empty() && all_.front().first <= now) {
      const auto what = std::move(all_.front().second);
      all_.pop_front();
      what();
    }
    return false;
  }

 private:
  Domain* domain_;
  ComponentId id_;
  std::deque<std::pair<Tick, std::function<void()>>> all_;
};

class Commands final : public Component {
 public:
  /// Must be constructed after all components on which commands act. `line`: the clock of the external ports.
  Commands(Domain& shell, Domain& line, unsigned ports)
      : shell_(&shell), line_(&line), later_(shell), there_(line), id_(shell.scheduler.add(*this)), ports_(ports) {
    reset();
  }

  std::function<void(Tick, const CommandWord&)> taken;  ///< called when a host's command is accepted, with the shell's
                                                        ///< cycle

  /// Queues a host's command: it is offered from the next cycle on, with priority over those of sequencers.
  void write(Command command) {
    if (command.written) command.written();
    const Tick from = shell_->next();
    if (waiting_.empty()) shell_->wake(id_, from);
    waiting_.emplace_back(from, std::move(command));
  }
  /// Offers a sequencer's command in this cycle. Returns whether it was accepted; not if another command was, or none
  /// can be.
  [[nodiscard]] bool offer(Tick now, const Command& command) {
    const bool host = !waiting_.empty() && waiting_.front().first <= now;
    if (host || now == taken_ || free_from(now) != now) return false;
    if (command.written) command.written();
    take(now, command);
    return true;
  }
  bool step(Tick now) override {
    if (waiting_.empty()) return false;
    const Tick cycle = free_from(std::max(now, waiting_.front().first));
    if (cycle > now) {
      shell_->wake(id_, cycle);
      return false;
    }
    const Command command = std::move(waiting_.front().second);
    waiting_.pop_front();
    if (taken) taken(now, command.word);
    take(now, command);
    return !waiting_.empty();
  }
  /// Restarts: pending commands never take effect.
  void reset() {
    waiting_.clear();
    later_.clear();
    there_.clear();
    held_.clear();
    taken_ = -1;
    crossings_.clear();
    for (unsigned port = 0; port < ports_; ++port)
      crossings_.push_back({AsyncFifo<char>(kCrossingWords, kCrossingStages, shell_->clock, line_->clock)});
  }

 private:
  struct Crossing {
    AsyncFifo<char> fifo;
    Tick pushed = -1;
  };

  /// The first cycle, from `cycle` on, in which the node accepts a command.
  Tick free_from(Tick cycle) {
    while (!held_.empty() && held_.front().second < cycle) held_.pop_front();
    for (const auto& [from, to] : held_)
      if (cycle >= from && cycle <= to) cycle = to + 1;
    return cycle;
  }
  void take(Tick cycle, const Command& command) {
    taken_ = cycle;
    if (!command.port) {
      if (command.acts) later_.at(cycle + command.after, command.acts);
      return;
    }
    auto& [fifo, pushed] = crossings_[*command.port];
    pushed = std::max({cycle + 2, fifo.place(), pushed + 1});
    fifo.push(pushed, 0);
    const Tick shown = fifo.shown();
    fifo.pop(shown);
    held_.emplace_back(cycle + 3, std::max(cycle + 4, pushed + 1));
    there_.at(shown + command.after, command.acts);
  }

  Domain *shell_, *line_;
  Later later_, there_;
  ComponentId id_;
  unsigned ports_;
  std::vector<Crossing> crossings_;
  std::deque<std::pair<Tick, Command>> waiting_;  ///< hosts' commands, and the first cycle of their offer
  Tick taken_ = -1;                               ///< cycle of the last accepted command
  std::deque<std::pair<Tick, Tick>> held_;        ///< intervals of cycles in which no command is accepted
};

}  // namespace thalweg::vcsn
