// SPDX-License-Identifier: Apache-2.0
// A Verilated node in co-simulation with the C++ model: it gets the same inputs in the same cycles, and must have the
// same outputs.
//
// The C++ model runs ahead (word.hpp). Its inputs and outputs are therefore recorded with their cycles, and the
// hardware follows some cycles behind.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "vcsn/ethernet_port.hpp"
#include "vcsn/node.hpp"
#include "vcsn/node_circuit.hpp"
#include "vcsn/serial_port.hpp"

namespace thalweg::vcsn {

/// Hardware and model differ; what() has the signal, the cycle and the values.
class NodeDifference : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RtlNode {
 public:
  using Data = NodeCircuit::Data;

  RtlNode(Node& node, unsigned number, std::unique_ptr<NodeCircuit> circuit)
      : node_(&node),
        number_(number),
        circuit_(std::move(circuit)),
        shell_{node.shell().clock, "shell"},
        line_{line_of(node), "line"} {
    in_.users.resize(std::max(1U, node.config.kernels));
    in_.engines.resize(node.config.dmas);
    in_.ports.resize(node.config.ports);
    users_.resize(node.config.kernels);
    engines_.resize(node.config.dmas);
    ports_.resize(node.config.ports);
    programs_.resize(node.config.sequencers);
    record();
  }
  RtlNode(const RtlNode&) = delete;
  RtlNode& operator=(const RtlNode&) = delete;

  /// Runs up to a tick before which nothing more will be recorded: `behind()` ticks before the simulator's time, or up
  /// to it if the simulator is idle. Throws NodeDifference.
  void run(Tick until) {
    while (std::min(shell_.tick(), line_.tick()) < until) {
      if (quiet_ >= kQuiet && rests(until)) continue;
      instant();
    }
  }
  /// Runs until all recorded events are consumed. Throws NodeDifference if counters differ.
  void finish(Tick until) {
    run(until);
    while (pending() != kNever) instant();
    for (unsigned k = 0; k < kSettles; ++k) instant();
    compare_counts();
  }
  /// Call after a restart of the simulator's node.
  void restart(Tick now) {
    run(now);
    circuit_->reset();
    commands_.clear();
    for (Engine& engine : engines_) engine = {};
    for (User& user : users_) user = {};
    for (auto& program : programs_) program.clear();
    for (Port& port : ports_) port = Port{.counted = received(static_cast<unsigned>(&port - ports_.data()))};
    in_ = NodeCircuit::Inputs{.users = std::vector<NodeCircuit::Inputs::User>(in_.users.size()),
                              .engines = std::vector<NodeCircuit::Inputs::Engine>(in_.engines.size()),
                              .ports = std::vector<NodeCircuit::Inputs::Port>(in_.ports.size())};
    for (unsigned k = 0; k < node_->config.dmas; ++k) count_errors(k);
    refused_ = node_->refused();
    quiet_ = 0;
  }
  /// Number of evaluated cycles of both clocks.
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

  [[nodiscard]] Tick behind() const { return 64 * std::max(shell_.clock.period, line_.clock.period); }

 private:
  static constexpr unsigned kQuiet = 64, kLook = 16;  ///< in instants: times with clock edges
  static constexpr unsigned kSettles = 64;

  /// A clock of the hardware, and its next cycle.
  struct Side {
    Clock clock;
    const char* name;
    Tick cycle = 0;

    [[nodiscard]] Tick tick() const { return clock.edge(cycle); }
  };
  template <class T>
  struct At {
    Tick cycle = 0;
    T what{};
  };
  template <class T>
  using Row = std::deque<At<T>>;
  struct Nothing {};
  struct Request {
    std::uint64_t address = 0;
    unsigned words = 0;
  };
  struct Kept {
    Data data{};
    std::uint64_t keep = 0;
  };
  struct Beat {
    Data data{};
    std::uint64_t keep = 0;
    bool last = false, damaged = false;
    Tick offered = 0;
  };
  struct User {
    Row<Word> offers;
    Row<Nothing> gives;
    Row<Word> takes;
  };
  struct Engine {
    Row<Request> requests, bursts;
    Row<Data> answers;
    Row<Kept> words;
    Row<Tick> accepts;  ///< for a burst's cycle: first cycle in which the memory accepts another
    Row<Nothing> written, read_ends, write_ends;
    Tick ready = 0;
    std::uint64_t overrun = 0, headless = 0,
                  broken = 0;  ///< errors shown, added to the simulator's at the last restart
  };
  struct Port {
    Row<Beat> out{}, in{};
    Row<Nothing> credits{}, freed{};
    std::size_t unfilled = 0;                 ///< words of `out` without data
    std::array<std::uint64_t, 11> counted{};  ///< frames by outcome, at the last restart
    std::vector<std::uint64_t> counts{};      ///< as shown by the hardware
    std::vector<unsigned> sessions{};
  };

  [[nodiscard]] static Clock line_of(const Node& node) {
    if (const auto* of = dynamic_cast<const EthernetPort*>(node.externals.front().get())) return of->clock();
    return dynamic_cast<const SerialPort&>(*node.externals.front()).domain.clock;
  }
  [[nodiscard]] EthernetPort* ethernet(unsigned port) const {
    return dynamic_cast<EthernetPort*>(node_->externals[port].get());
  }

  // Recording of the simulator's node.

  template <class T>
  void add(Row<T>& row, const Side& side, Tick cycle, const T& what) {
    if (cycle < side.cycle)
      throw std::logic_error("node " + std::to_string(number_) + ": what happens in cycle " + std::to_string(cycle) +
                             " of the " + side.name + "'s clock is known after cycle " + std::to_string(side.cycle));
    row.push_back({cycle, what});
    quiet_ = 0;
  }
  [[nodiscard]] static Data data_of(const Word& word) { return std::bit_cast<Data>(word.bytes); }

  void record() {
    node_->commands->taken = [this](Tick cycle, const CommandWord& word) { add(commands_, shell_, cycle, word); };
    node_->program_ended = [this](unsigned sequencer, Tick cycle) { add(programs_[sequencer], shell_, cycle, {}); };
    node_->engine_ended = [this](bool writes, unsigned engine, Tick cycle) {
      add(writes ? engines_[engine].write_ends : engines_[engine].read_ends, shell_, cycle, {});
    };
    for (unsigned k = 0; k < node_->config.dmas; ++k) {
      node_->reads[k].requests = [this, k](Tick now, std::uint64_t address, unsigned words) {
        add(engines_[k].requests, shell_, now, {address, words});
      };
      // The engine's register has an answer in cycle `at`, so its port has it one cycle earlier.
      node_->reads[k].answered = [this, k](Tick at, const Word& word) {
        add(engines_[k].answers, shell_, at - 1, data_of(word));
      };
      node_->writes[k].wrote = [this, k](Tick now, std::uint64_t address, std::span<const std::byte> bytes,
                                         Tick accepts, Tick complete) {
        Engine& engine = engines_[k];
        const unsigned words = words_of(bytes.size());
        add(engine.bursts, shell_, now, {address, words});
        add(engine.accepts, shell_, now, accepts);
        add(engine.written, shell_, complete, {});
        for (unsigned w = 0; w < words; ++w) {
          const std::size_t size = std::min<std::size_t>(kWord, bytes.size() - w * kWord);
          Kept kept{.keep = keep_of(size)};
          std::memcpy(kept.data.data(), bytes.data() + w * kWord, size);
          add(engine.words, shell_, now + w, kept);
        }
      };
    }
    for (unsigned k = 0; k < node_->config.kernels; ++k) {
      KernelPort& kernel = node_->kernels[k];
      kernel.offers_word = [this, k](Tick at, const Word& word) { add(users_[k].offers, shell_, at, word); };
      kernel.gave = [this, k](Tick at) { add(users_[k].gives, shell_, at, {}); };
      kernel.took = [this, k](Tick at, const Word& word) { add(users_[k].takes, shell_, at, word); };
    }
    for (unsigned k = 0; k < node_->config.ports; ++k) {
      if (EthernetPort* port = ethernet(k))
        record(*port, ports_[k]);
      else
        record(dynamic_cast<SerialPort&>(*node_->externals[k]), ports_[k]);
    }
  }

  void record(EthernetPort& port, Port& to) {
    port.encoder.moved = [this, &to](Tick requested, Tick taken) {
      add(to.out, line_, taken, {.offered = requested + Encoder::kToMac});
      ++to.unfilled;
    };
    port.encoder.sent = [&to, before = port.encoder.sent](Tick begin, const ethernet::Frame& frame) {
      const auto bytes = frame.bytes();
      for (std::size_t at = 0; at < bytes.size(); at += kWord, --to.unfilled)
        fill(to.out[to.out.size() - to.unfilled].what, bytes, at);
      if (before) before(begin, frame);
    };
    port.decoder.arrived = [this, &port, &to](const ethernet::Arrival& arrival, Tick latency) {
      std::vector<std::byte> bytes(arrival.frame->bytes().begin(), arrival.frame->bytes().end());
      bytes.resize(std::max<std::size_t>(bytes.size(), ethernet::kShortest));
      for (unsigned w = 0; w < arrival.words(); ++w) {
        Beat beat;
        fill(beat, bytes, std::size_t{w} * kWord);
        beat.damaged = beat.last && arrival.damaged;
        add(to.in, line_, arrival.cycle(w, port.decoder.line->rate) + latency, beat);
      }
    };
  }
  void record(SerialPort& port, Port& to) {
    port.sent = [this, &to](Tick header, const Waiting& packet, std::span<const std::byte> bytes) {
      add_packet(to.out, header, packet, bytes);
    };
    port.came = [this, &to](Tick header, const Waiting& packet, std::span<const std::byte> bytes) {
      add_packet(to.in, header, packet, bytes);
    };
    port.freed = [this, &to](Tick cycle) { add(to.freed, line_, cycle, {}); };
    port.credited = [this, &to](Tick cycle) { add(to.credits, line_, cycle, {}); };
  }
  void add_packet(Row<Beat>& row, Tick header, const Waiting& packet, std::span<const std::byte> bytes) {
    Beat first{.offered = header};
    first.data[0] = packet.words | std::uint64_t{packet.channel} << 16 | std::uint64_t{packet.last} << 24 |
                    std::uint64_t{packet.first} << 25;
    add(row, line_, header, first);
    for (unsigned w = 0; w < packet.words; ++w) {
      Beat beat{.offered = header + 1 + w};
      fill(beat, bytes, std::size_t{w} * kWord);
      add(row, line_, header + 1 + w, beat);
    }
  }
  static void fill(Beat& beat, std::span<const std::byte> bytes, std::size_t at) {
    const std::size_t size = std::min<std::size_t>(kWord, bytes.size() - at);
    beat.keep = keep_of(size);
    std::memcpy(beat.data.data(), bytes.data() + at, size);
    beat.last = at + size == bytes.size();
  }
  [[nodiscard]] static std::uint64_t keep_of(std::size_t bytes) {
    return bytes == kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
  }

  // The hardware.

  void instant() {
    const Tick now = std::min(shell_.tick(), line_.tick());
    const bool shell = shell_.tick() == now, line = line_.tick() == now;
    if (shell) drive_shell(shell_.cycle);
    if (line) drive_line(line_.cycle);
    try {
      const auto& out = circuit_->show(in_);
      if (shell) check_shell(shell_.cycle, out);
      if (line) check_line(line_.cycle, out);
      circuit_->edges(shell, line);
    } catch (const std::logic_error& failed) {
      throw NodeDifference(where(shell ? shell_ : line_) + failed.what());
    }
    shell_.cycle += shell;
    line_.cycle += line;
    cycles_ += shell + line;
    ++quiet_;
  }

  /// If the hardware is idle, advances its time to the next recorded event, or to `until`. Returns whether time has
  /// advanced.
  bool rests(Tick until) {
    if (quiet_ % kLook != 0) return false;
    if (!circuit_->rests()) return false;
    const Tick next = std::min(pending(), until);
    const Tick shell = std::max(shell_.cycle, shell_.clock.cycle_from(next)),
               line = std::max(line_.cycle, line_.clock.cycle_from(next));
    const bool moves = shell > shell_.cycle || line > line_.cycle;
    shell_.cycle = shell;
    line_.cycle = line;
    quiet_ = 0;
    return moves;
  }
  /// The tick of the first recorded event; kNever if none.
  [[nodiscard]] Tick pending() const {
    Tick shell = kNever, line = kNever;
    const auto see = [](Tick& first, const auto& row) {
      if (!row.empty()) first = std::min(first, row.front().cycle);
    };
    see(shell, commands_);
    for (const auto& of : programs_) see(shell, of);
    for (const Engine& of : engines_) {
      see(shell, of.requests);
      see(shell, of.bursts);
      see(shell, of.answers);
      see(shell, of.words);
      see(shell, of.written);
      see(shell, of.read_ends);
      see(shell, of.write_ends);
      if (of.ready > shell_.cycle) shell = std::min(shell, of.ready);
    }
    for (const User& of : users_) {
      see(shell, of.gives);
      see(shell, of.takes);
      if (!of.offers.empty() && of.offers.front().cycle > shell_.cycle) see(shell, of.offers);
    }
    for (const Port& of : ports_) {
      if (!of.out.empty()) line = std::min(line, std::max(line_.cycle, of.out.front().what.offered));
      see(line, of.out);
      see(line, of.in);
      see(line, of.credits);
      see(line, of.freed);
    }
    return std::min(shell_.clock.edge(shell), line_.clock.edge(line));
  }

  template <class T>
  [[nodiscard]] static bool due(const Row<T>& row, Tick cycle) {
    return !row.empty() && row.front().cycle == cycle;
  }

  void drive_shell(Tick cycle) {
    in_.commands = due(commands_, cycle);
    if (in_.commands) in_.command = commands_.front().what;
    for (unsigned k = 0; k < engines_.size(); ++k) {
      Engine& of = engines_[k];
      auto& to = in_.engines[k];
      to.answers = due(of.answers, cycle);
      if (to.answers) to.answer = of.answers.front().what;
      to.accepts = cycle >= of.ready;
      to.written = due(of.written, cycle);
    }
    for (unsigned k = 0; k < users_.size(); ++k) {
      User& of = users_[k];
      auto& to = in_.users[k];
      to.offers = !of.offers.empty() && of.offers.front().cycle <= cycle;
      if (to.offers) to.word = of.offers.front().what;
      to.takes = due(of.takes, cycle);
    }
  }
  void drive_line(Tick cycle) {
    for (unsigned k = 0; k < ports_.size(); ++k) {
      Port& of = ports_[k];
      auto& to = in_.ports[k];
      to.takes = due(of.out, cycle);
      to.comes = due(of.in, cycle);
      to.credit = due(of.credits, cycle);
      if (!to.comes) continue;
      const Beat& beat = of.in.front().what;
      to.data = beat.data;
      to.keep = beat.keep;
      to.last = beat.last;
      to.damaged = beat.damaged;
    }
  }

  void check_shell(Tick cycle, const NodeCircuit::Outputs& out) {
    if (due(commands_, cycle)) {
      check(out.takes_command, shell_, "takes a command", true, out.takes_command);
      commands_.pop_front();
    }
    for (unsigned k = 0; k < programs_.size(); ++k)
      check_event(programs_[k], cycle, "sequencer " + std::to_string(k) + " has ended a program",
                  out.programs_ended[k]);
    refused_ += out.refuses;
    for (unsigned k = 0; k < engines_.size(); ++k) check_engine(cycle, k, out.engines[k]);
    for (unsigned k = 0; k < users_.size(); ++k) {
      User& of = users_[k];
      const auto& shown = out.users[k];
      const std::string name = "user logic " + std::to_string(k);
      if (in_.users[k].offers)
        check(shown.takes == due(of.gives, cycle), shell_, name + " gives a word", due(of.gives, cycle), shown.takes);
      if (due(of.gives, cycle)) {
        of.gives.pop_front();
        of.offers.pop_front();
      }
      if (!due(of.takes, cycle)) continue;
      const Word& word = of.takes.front().what;
      check(shown.offers, shell_, name + " takes a word", true, shown.offers);
      check(shown.word.bytes == word.bytes && shown.word.first == word.first && shown.word.last == word.last &&
                shown.word.channel == word.channel,
            shell_, name + "'s word", data_of(word), data_of(shown.word));
      of.takes.pop_front();
    }
  }
  void check_event(Row<Nothing>& row, Tick cycle, const std::string& what, bool shown) {
    const bool expected = due(row, cycle);
    check(shown == expected, shell_, what, expected, shown);
    if (expected) row.pop_front();
  }
  void check_engine(Tick cycle, unsigned k, const NodeCircuit::Outputs::Engine& shown) {
    Engine& of = engines_[k];
    const std::string read = "read engine " + std::to_string(k), write = "write engine " + std::to_string(k);
    const auto asked = [&](Row<Request>& row, const std::string& what, bool valid, std::uint64_t address,
                           unsigned words) {
      const bool expected = due(row, cycle);
      check(valid == expected, shell_, what, expected, valid);
      if (!expected) return;
      const Request& request = row.front().what;
      check(address == request.address, shell_, what + ", address", request.address, address);
      check(words == request.words, shell_, what + ", words", request.words, words);
      row.pop_front();
    };
    asked(of.requests, read + " requests", shown.requests, shown.request_address, shown.request_words);
    asked(of.bursts, write + " begins a burst", shown.burst, shown.burst_address, shown.burst_words);
    const bool writes = due(of.words, cycle);
    check(shown.writes == writes, shell_, write + " writes a word", writes, shown.writes);
    if (writes) {
      const Kept& word = of.words.front().what;
      check(shown.keep == word.keep, shell_, write + ", bytes kept", word.keep, shown.keep);
      for (unsigned byte = 0; byte < kWord; ++byte) {
        const auto shift = 8 * (byte % 8);
        if (word.keep >> byte & 1)
          check((shown.data[byte / 8] >> shift & 0xFF) == (word.data[byte / 8] >> shift & 0xFF), shell_,
                write + "'s word", word.data, shown.data);
      }
      of.words.pop_front();
    }
    check_event(of.read_ends, cycle, read + " has ended a transfer", shown.read_ended);
    check_event(of.write_ends, cycle, write + " has ended a transfer", shown.write_ended);
    if (due(of.answers, cycle)) of.answers.pop_front();
    if (due(of.written, cycle)) of.written.pop_front();
    if (due(of.accepts, cycle)) {
      of.ready = of.accepts.front().what;
      of.accepts.pop_front();
    }
    of.overrun += shown.overrun;
    of.headless += shown.headless;
    of.broken += shown.broken;
    if (shown.overrun || shown.headless || shown.broken) quiet_ = 0;
  }
  void check_line(Tick cycle, const NodeCircuit::Outputs& out) {
    for (unsigned k = 0; k < ports_.size(); ++k) {
      Port& of = ports_[k];
      const auto& shown = out.ports[k];
      const std::string name = "port " + std::to_string(k);
      const bool offers = !of.out.empty() && of.out.front().what.offered <= cycle;
      check(shown.offers == offers, line_, name + " sends a word", offers, shown.offers);
      if (offers) {
        const Beat& beat = of.out.front().what;
        const Data mask = mask_of(ethernet(k) ? beat.keep : ~std::uint64_t{0});
        Data one = beat.data, other = shown.data;
        for (unsigned w = 0; w < one.size(); ++w) {
          one[w] &= mask[w];
          other[w] &= mask[w];
        }
        check(one == other, line_, name + "'s word", one, other);
        if (ethernet(k)) {
          check(shown.keep == beat.keep, line_, name + "'s word, bytes kept", beat.keep, shown.keep);
          check(shown.last == beat.last, line_, name + " ends a frame", beat.last, shown.last);
        }
      }
      if (due(of.out, cycle)) of.out.pop_front();
      if (due(of.in, cycle)) of.in.pop_front();
      if (due(of.credits, cycle)) of.credits.pop_front();
      if (!ethernet(k)) {
        const bool frees = due(of.freed, cycle);
        check(shown.credit == frees, line_, name + " gives a credit", frees, shown.credit);
        if (frees) of.freed.pop_front();
      }
      of.counts = shown.counts;
      of.sessions = shown.sessions;
    }
  }
  [[nodiscard]] static Data mask_of(std::uint64_t keep) {
    Data mask{};
    for (unsigned byte = 0; byte < kWord; ++byte)
      if (keep >> byte & 1) mask[byte / 8] |= std::uint64_t{0xFF} << 8 * (byte % 8);
    return mask;
  }

  // Counters.

  [[nodiscard]] std::array<std::uint64_t, 11> received(unsigned port) const {
    const EthernetPort* of = ethernet(port);
    if (!of) return {};
    const Received& all = of->decoder.received();
    return {all.sessionless, all.full,   all.credits, all.indications, all.unformed, all.foreign,
            all.others,      all.strays, all.damaged, all.taken,       all.sequenced};
  }
  void count_errors(unsigned k) {
    engines_[k].overrun = node_->writes[k].overrun();
    engines_[k].headless = node_->writes[k].headless();
    engines_[k].broken = node_->writes[k].broken();
  }
  void compare_counts() {
    for (unsigned k = 0; k < ports_.size(); ++k) {
      if (!ethernet(k)) continue;
      EthernetPort& port = *ethernet(k);
      port.run_sessions(line_.cycle);
      for (unsigned i = 0; i < ports_[k].sessions.size(); ++i)
        check(ports_[k].sessions[i] == bits(port.session(i).state()), line_,
              "port " + std::to_string(k) + ", session of virtual port " + std::to_string(i),
              std::uint64_t{bits(port.session(i).state())}, std::uint64_t{ports_[k].sessions[i]});
      const auto all = received(k);
      for (unsigned each = 0; each < all.size() && each < ports_[k].counts.size(); ++each)
        check(ports_[k].counts[each] == (all[each] - ports_[k].counted[each]) % (std::uint64_t{1} << 32), line_,
              "port " + std::to_string(k) + ", count " + std::to_string(each) + " of frames",
              all[each] - ports_[k].counted[each], ports_[k].counts[each]);
    }
    check(refused_ == node_->refused(), shell_, "refused settings of the crossbar", node_->refused(), refused_);
    for (unsigned k = 0; k < engines_.size(); ++k) {
      const WriteDma& write = node_->writes[k];
      const std::string name = "write engine " + std::to_string(k);
      check(engines_[k].overrun == write.overrun(), shell_, name + ", words without memory", write.overrun(),
            engines_[k].overrun);
      check(engines_[k].headless == write.headless(), shell_, name + ", words without a begin", write.headless(),
            engines_[k].headless);
      check(engines_[k].broken == write.broken(), shell_, name + ", packets without an end", write.broken(),
            engines_[k].broken);
    }
  }

  // Differences.

  [[nodiscard]] static std::string text_of(std::uint64_t value) { return std::to_string(value); }
  [[nodiscard]] static std::string text_of(const Data& data) {
    std::string text;
    for (std::size_t w = data.size(); w-- > 0;) {
      std::array<char, 17> digits{};
      std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(data[w]));
      text += digits.data();
    }
    return text;
  }
  [[nodiscard]] std::string where(const Side& side) const {
    return "node " + std::to_string(number_) + ", cycle " + std::to_string(side.cycle) + " of the " + side.name +
           "'s clock: ";
  }
  template <class T, class U>
  void check(bool same, const Side& side, const std::string& what, const T& expected, const U& shown) const {
    if (!same)
      throw NodeDifference(where(side) + what + ": " + text_of(expected) + " in the simulator, " + text_of(shown) +
                           " in the hardware");
  }

  Node* node_;
  unsigned number_;
  std::unique_ptr<NodeCircuit> circuit_;
  Side shell_, line_;
  NodeCircuit::Inputs in_;
  Row<CommandWord> commands_;
  std::vector<Engine> engines_;
  std::vector<User> users_;
  std::vector<Port> ports_;
  std::vector<Row<Nothing>> programs_;  ///< ends of programs, by sequencer
  std::uint64_t refused_ = 0;           ///< refused settings of the crossbar
  unsigned quiet_ = 0;
  std::uint64_t cycles_ = 0;
};

}  // namespace thalweg::vcsn
