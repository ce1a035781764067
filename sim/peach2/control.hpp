// SPDX-License-Identifier: Apache-2.0
// The registers of a hub, C++ model of rtl/peach2/tw_control.sv, which documents the register map.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/arbiter.hpp"
#include "common/fifo.hpp"
#include "peach2/bus_bridge.hpp"
#include "peach2/calculator.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// Register numbers; a register has 16 bytes.
enum Register : unsigned {
  kWindowRegisters = 0,
  kStartRegister = 64,
  kOwnersRegister = 65,
  kAbortRegister = 66,
  kTimeoutRegister = 67,
  kContextRegisters = 80,
  kTranslationRegisters = 96,  ///< of each link, inbound and outbound
  kChainsRegister = 128,
  kStraysRegister = 129,
  kGivenUpRegisters = 130,
  kRefusedRegisters = 144,
  kResultRegisters = 160,
};
inline constexpr unsigned kMostWindows = kStartRegister - kWindowRegisters,
                          kMostContexts = kTranslationRegisters - kContextRegisters;
inline constexpr unsigned kMostRecord = 8;  ///< beats of a record, whose log2 has 2 bits in a context's register
/// Value of one of kWindowRegisters for a window, or of kTranslationRegisters.
[[nodiscard]] constexpr std::array<std::uint64_t, 2> register_of(const Window& window) {
  return {window.lower | std::uint64_t{window.upper} << 32,
          window.mask | std::uint64_t{window.to} << 32 | std::uint64_t{window.used} << 40};
}

class Control {
 public:
  struct Config {
    unsigned windows = 16, contexts = 4;
    unsigned starts = 8;   ///< depth of the queue of chain starts
    unsigned timeout = 0;  ///< of reads, after reset
  };
  /// Event of the packet clock domain.
  struct Event {
    unsigned place;  ///< source: a port; kFinished + channel: chains that ended; kFault + channel: faults
    std::uint32_t count;
    Note note;  ///< of the last event
  };
  /// For the packet clock domain. `abort`: channels whose chain is aborted; `purge`: waiting starts, too; `owners`: nodes that may write
  /// registers; `timeout`: of reads.
  struct Command {
    unsigned abort = 0, purge = 0;
    std::uint32_t owners = 0;
    unsigned timeout = 0;
  };
  static constexpr unsigned kFinished = kPorts, kFault = kFinished + kChannels, kSources = kFault + kChannels;

  struct In {
    const BusBeat* write = nullptr;
    std::uint64_t address = 0;  ///< the register that is read
    bool window_taken = false, command_taken = false, start_taken = false, chain_taken = false;
    std::optional<unsigned> done{};  ///< a context
    bool dropped = false;            ///< the calculator dropped a beat
    std::optional<std::uint64_t> stray{};
    std::optional<Event> event{};
  };

  explicit Control(const Config& config)
      : config_(config),
        starts_(config.starts),
        chains_(config.contexts),
        results_(config.contexts),
        timeout_(config.timeout) {}

  /// Ready for a write.
  [[nodiscard]] bool ready(bool window_taken, bool command_taken) const {
    return (!window_ || window_taken) && (!command_ || command_taken);
  }
  [[nodiscard]] const std::optional<Command>& command() const { return command_; }
  [[nodiscard]] const Word<128>& data() const { return data_; }
  [[nodiscard]] const std::optional<std::pair<unsigned, Window>>& window() const { return window_; }
  [[nodiscard]] std::optional<std::uint64_t> start() const {
    return starts_.valid() ? std::optional(starts_.front()) : std::nullopt;
  }
  [[nodiscard]] const std::optional<std::pair<unsigned, Calculator::Setup>>& setup() const { return setup_; }
  /// A start dropped in the previous cycle because the queue was full.
  [[nodiscard]] const std::optional<std::uint64_t>& missed() const { return missed_start_; }
  /// The chain to start for a result.
  [[nodiscard]] const std::optional<std::uint64_t>& chain() const { return chain_; }
  /// Bit mask of contexts whose result's chain is not complete.
  [[nodiscard]] std::uint64_t kept() const { return due_ | (running_ ? std::uint64_t{1} << *running_ : 0); }
  [[nodiscard]] bool idle() const {
    return !window_ && !command_ && !starts_.valid() && !setup_ && !chain_ && (due_ == 0 || running_);
  }

  /// One clock edge.
  void step(const In& in) {
    data_ = value(in.address);
    const bool free = ready(in.window_taken, in.command_taken);
    std::optional<std::uint64_t> start;
    if (in.window_taken) window_.reset();
    if (in.command_taken) command_.reset();
    setup_.reset();
    if (in.write && free) write(*in.write, start);
    missed_start_ = starts_.ready() ? std::nullopt : start;
    missed_ += missed_start_.has_value();
    starts_.step(start ? &*start : nullptr, in.start_taken);
    if (in.chain_taken) chain_.reset();
    const bool ended = in.event && (in.event->place == kFinished + 1 || in.event->place == kFault + 1);
    if (due_ != 0 && !running_) {
      const unsigned next = turn_.pick(due_);
      turn_.accept(next, config_.contexts);
      due_ &= ~(std::uint64_t{1} << next);
      chain_ = chains_[next].second;
      running_ = next;
    } else if (ended) {
      running_.reset();
    }
    count(in);
  }

 private:
  using Chain = std::pair<bool, std::uint64_t>;  ///< whether a result starts it; address of its first descriptor

  void write(const BusBeat& beat, std::optional<std::uint64_t>& start) {
    const bool lower_written = (beat.enable & 0xFF) == 0xFF, upper_written = beat.enable >> 8 == 0xFF;
    const std::uint64_t lower = lower_written ? beat.data[0] : lower_, upper = beat.data[1];
    const unsigned at = static_cast<unsigned>(beat.address % 256);
    if (lower_written) {
      lower_ = beat.data[0];
      if (at == kStartRegister) start = lower % kAddresses;
      if (at == kOwnersRegister) owners_ = lower & 0xFFFF;
      if (at == kTimeoutRegister) timeout_ = lower & 0xFFFF;
      if (at == kOwnersRegister || at == kTimeoutRegister) command_ = Command{0, 0, owners_, timeout_};
      if (at == kAbortRegister)
        command_ = Command{static_cast<unsigned>(lower & 3), static_cast<unsigned>(lower >> 8 & 3), owners_, timeout_};
    }
    if (!upper_written) return;
    constexpr std::uint64_t kPages = (1U << (kAddressBits - kPageBits)) - 1;
    if (at < config_.windows || (at >= kTranslationRegisters && at < kTranslationRegisters + 2 * kLinks))
      window_ = {at, Window{(upper >> 40 & 1) != 0, static_cast<unsigned>(upper >> 32 & 7),
                            static_cast<std::uint32_t>(upper & kPages), static_cast<std::uint32_t>(lower & kPages),
                            static_cast<std::uint32_t>(lower >> 32 & kPages)}};
    if (at < kContextRegisters || at >= kContextRegisters + config_.contexts) return;
    const unsigned context = at - kContextRegisters;
    setup_ = {context, Calculator::Setup{static_cast<std::uint32_t>(lower),
                                         static_cast<thalweg::spec::Operator>(lower >> 32 & 15),
                                         static_cast<thalweg::spec::Datatype>(lower >> 40 & 31),
                                         static_cast<unsigned>(lower >> 48 & 3), (lower >> 56 & 1) != 0}};
    written_chain_ = {context, {upper >> 63 != 0, upper % kAddresses}};
  }
  void count(const In& in) {
    if (in.done) {
      ++results_[*in.done];
      if (chains_[*in.done].first) due_ |= std::uint64_t{1} << *in.done;
    }
    if (written_chain_) chains_[written_chain_->first] = written_chain_->second;
    written_chain_.reset();
    dropped_ += in.dropped;
    if (in.stray) {
      ++strays_;
      stray_address_ = *in.stray;
    }
    if (!in.event) return;
    if (in.event->place >= kFault) {
      faults_ += in.event->count;
      record(given_up_[in.event->place - kFault], *in.event);
    } else if (in.event->place >= kFinished) {
      finished_ += in.event->count;
    } else {
      record(refused_[in.event->place], *in.event);
    }
  }
  static void record(Event& to, const Event& event) {
    to.count += event.count;
    to.note = event.note;
  }
  [[nodiscard]] static Word<128> value_of(const Event& of) {
    const auto& note = of.note;
    return {of.count | std::uint64_t{note.reason} << 32 | std::uint64_t{note.read} << 35 |
                std::uint64_t{note.source.port} << 40 | std::uint64_t{note.source.node} << 48,
            note.address};
  }
  [[nodiscard]] Word<128> value(std::uint64_t address) const {
    const unsigned at = static_cast<unsigned>(address % 256);
    if (at == kChainsRegister) return {finished_ | std::uint64_t{missed_} << 32, faults_};
    if (at == kStraysRegister) return {strays_ | std::uint64_t{dropped_} << 32, stray_address_ * 16};
    if (at >= kRefusedRegisters && at < kRefusedRegisters + kPorts) return value_of(refused_[at - kRefusedRegisters]);
    if (at >= kGivenUpRegisters && at < kGivenUpRegisters + kChannels)
      return value_of(given_up_[at - kGivenUpRegisters]);
    if (at >= kResultRegisters && at < kResultRegisters + config_.contexts) return {results_[at - kResultRegisters], 0};
    return {};
  }

  Config config_;
  Fifo<std::uint64_t> starts_;
  std::vector<Chain> chains_;
  std::vector<std::uint32_t> results_;
  std::array<Event, kPorts> refused_{};
  std::array<Event, kChannels> given_up_{};
  std::uint32_t owners_ = 0;
  unsigned timeout_;
  std::optional<Command> command_;
  Arbiter turn_;
  std::uint64_t due_ = 0;            ///< contexts whose result is to start a chain
  std::optional<unsigned> running_;  ///< the context whose chain runs
  std::optional<std::uint64_t> chain_, missed_start_;
  std::uint64_t lower_ = 0, stray_address_ = 0;
  std::uint32_t finished_ = 0, faults_ = 0, missed_ = 0, strays_ = 0, dropped_ = 0;
  std::optional<std::pair<unsigned, Window>> window_;
  std::optional<std::pair<unsigned, Calculator::Setup>> setup_;
  std::optional<std::pair<unsigned, Chain>> written_chain_;
  Word<128> data_{};
};

}  // namespace thalweg::peach2
