// SPDX-License-Identifier: Apache-2.0
// An Ethernet external port: virtual ports with their buffers, the circuit table, and the frame encoder and decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/require.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/kinds.hpp"
#include "ethernet/line.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/commands.hpp"
#include "vcsn/decoder.hpp"
#include "vcsn/encoder.hpp"
#include "vcsn/external.hpp"
#include "vcsn/receive_buffer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

/// Address of an external port: locally administered.
[[nodiscard]] constexpr ethernet::Address address_of(unsigned node, unsigned port) {
  return ethernet::address_of(port << 16 | node);
}

class EthernetPort final : public External {
 public:
  EthernetPort(const NodeConfig& config, unsigned node, unsigned number, Domain& shell, Domain& mac,
               ethernet::Frames& frames)
      : circuits(config.virtual_ports),
        rows(config.virtual_ports),
        numbers(config.virtual_ports),
        // A quarter of the sender's credits, so that they return before the last one is used.
        report_(std::max(1u, (config.receive_words - config.frame_words + 1) / 4)),
        encoder(mac, frames, address_of(node, number), circuits, sends_, sessions_),
        decoder(mac, address_of(node, number), circuits, receives_, sessions_, config.line_cycles, config.frame_words) {
    for (unsigned port = 0; port < config.virtual_ports; ++port) {
      sends_.emplace_back(shell.clock, mac.clock, config.send_words, config.frame_words, config.frames).whole =
          [this](Tick cycle) { encoder.wake(cycle); };
      receives_.emplace_back(shell.clock, mac.clock, config.receive_words, config.frame_words).leaves = [this, port] {
        encoder.left(port);
      };
      sessions_.emplace_back(config.session, sends_.back(), receives_.back());
    }
    encoder.emptied = [this](unsigned port) { emptied(port); };
    encoder.filled = [this](unsigned port) { filled(port); };
    decoder.filled = [this](unsigned port) { filled(port); };
    decoder.too_fast = [this](unsigned port, Tick now) { encoder.indicate(port, now); };
    decoder.credited = [this](unsigned port, std::uint32_t taken, Tick now) { encoder.credit(port, taken, now); };
    encoder.left_at = [this](unsigned port, std::uint64_t number) {
      return receives_[port].left(static_cast<std::int64_t>(number));
    };
    decoder.heard = [this](unsigned, Tick now) { encoder.wake(now + Session::kDecides + 1); };
    decoder.indicated = [this](unsigned port, Tick now) { encoder.react(port, now); };
    end_.domain = &mac;
    end_.component = decoder.id;
  }

  [[nodiscard]] LinkPort& end() override { return end_; }
  [[nodiscard]] Sink& sink(unsigned port) override { return sends_[port]; }
  [[nodiscard]] Source& source(unsigned port) override { return receives_[port]; }
  void start() override {
    encoder.line = end_.out;
    decoder.line = end_.in;
    require(!end_.out || end_.out->rate.cycle <= end_.out->rate.bytes(kWord),
            "a line carries more than 64 bytes per cycle of the MAC's clock");
  }
  /// True if all words given to a virtual port have been sent.
  [[nodiscard]] bool drained(unsigned port) const { return sends_[port].drained(); }
  /// Sets credits: a virtual port starts a frame only if fewer words are in flight to the other end; 0: always.
  void set_credits(unsigned port, std::uint64_t words) { set_credits(port, credits(words), end_.domain->next()); }
  [[nodiscard]] CreditsConfig credits(std::uint64_t words) const {
    return {.words = static_cast<unsigned>(words), .report = words > 0 ? report_ : 0};
  }
  /// Takes effect from cycle `first` on.
  void set_credits(unsigned port, const CreditsConfig& config, Tick first) {
    std::uint64_t left = receives_.at(port).left();
    while (left > 0 && receives_[port].left(static_cast<std::int64_t>(left) - 1) >= first) --left;
    encoder.credits(port).set(config, left);
    encoder.forget_credits(port);
    encoder.wake(0);
  }
  /// Injects a frame (bytes without FCS) as if received, after those in flight. `damaged`: its FCS is wrong. Returns
  /// false if there is no line.
  [[nodiscard]] bool inject(ethernet::Frames& frames, std::span<const std::byte> bytes, bool damaged) {
    if (!end_.in) return false;
    if (bytes.size() < ethernet::kShortest || bytes.size() > ethernet::kMost)
      decoder.misfit();
    else
      end_.in->send(end_.domain->next() * end_.in->rate.cycle, frames.copy(bytes), damaged);
    return true;
  }
  void set_monitor(const MonitorConfig& config) { decoder.monitor.set(config, end_.domain->next() + 1); }
  void set_reaction(unsigned port, const Reaction& reaction) { encoder.set(port, reaction, end_.domain->next()); }
  [[nodiscard]] const Session& session(unsigned port) const { return sessions_.at(port); }
  /// Advances all sessions to a cycle up to which everything has been stepped.
  void run_sessions(Tick now) {
    for (Session& session : sessions_) session.run(now);
  }
  /// Writes a row of the circuit table; the circuit has no credits.
  void set_circuit(unsigned port, const std::optional<Circuit>& to) {
    const Tick first = end_.domain->next();
    write_row(port, to, first);
    set_credits(port, credits(0), first);
  }
  /// Writes a row, effective from cycle `first` on; the new circuit has no session and no credits.
  void write_row(unsigned port, const std::optional<Circuit>& to, Tick first) {
    circuits.set(port, to);
    encoder.forget(port);
    decoder.monitor.forget(port);
    open_session(port, 0, first);
    sessions_.at(port).cancel_choice();
  }
  std::uint64_t reset() override {
    std::uint64_t dropped = decoder.reset();
    rows.reset();
    numbers.reset();
    for (unsigned port = 0; port < sends_.size(); ++port) {
      set_circuit(port, std::nullopt);
      sessions_[port].reset(end_.domain->next());
      dropped += sends_[port].reset() + receives_[port].reset();
    }
    encoder.reset();
    return dropped;
  }
  /// Opens a session, which replaces credits; 0: none. Takes effect in the next cycle, or from cycle `first` on.
  void open_session(unsigned port, std::uint16_t number) {
    const Tick first = end_.domain->next();
    open_session(port, number, first);
    set_credits(port, {}, first);
  }
  void open_session(unsigned port, std::uint16_t number, Tick first) {
    sessions_.at(port).open(number, first);
    emptied(port);
    encoder.wake(0);
  }
  void lost(const std::string& at, NodeId node, std::vector<Lost>& all) const override {
    const Received& of = decoder.received();
    const auto add = [&](std::uint64_t count, const char* what) {
      if (count > 0) all.push_back({node, what + at, count});
    };
    add(of.full, "frames without receive buffer space");
    add(of.damaged, "frames with a wrong FCS");
    add(of.foreign, "frames of no circuit");
    add(of.unformed, "frames whose payload is not whole words");
    add(of.others, "frames of other protocols");
    add(decoder.cut(), "words of frames truncated by a restart");
    add(of.sessionless, "frames with a session where the virtual port has none, or without where it has one");
    for (const Session& session : sessions_) {
      const SessionCounts& counts = session.counts();
      add(counts.stale, "frames of another session");
      add(counts.unknown, "words of a session that ended before they were acknowledged");
      add(counts.discarded, "words still unsent when the session ended");
      add(session.state() == SessionState::refused, "sessions that ended because the peer began another");
      add(session.state() == SessionState::silent, "sessions that ended because the peer did not answer");
    }
    add(of.misfits, "frames too short or too long for Ethernet");
  }
  [[nodiscard]] Clock clock() const { return end_.domain->clock; }

 private:
  ethernet::Port end_;

 public:
  CircuitTable circuits;
  // Pending writes of hosts.
  Underway<std::optional<Circuit>> rows;
  Underway<std::uint16_t> numbers;  ///< session numbers

 private:
  std::deque<SendBuffer> sends_;
  std::deque<ReceiveBuffer> receives_;
  std::deque<Session> sessions_;
  unsigned
      report_;  ///< number of words that leave a receive buffer until a credit frame reports them, if credits are used

 public:
  Encoder encoder;
  Decoder decoder;
};

}  // namespace thalweg::vcsn
