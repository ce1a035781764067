// SPDX-License-Identifier: Apache-2.0
// What comes in by a port, twin of rtl/peach2/tw_ingress.sv: packets are kept until they are whole, and go where their
// address's window says, or nowhere.
#pragma once

#include <cstdint>
#include <optional>

#include "common/fifo.hpp"
#include "common/ram_fifo.hpp"
#include "peach2/windows.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

class Ingress {
 public:
  struct Config {
    unsigned port = kNorth;
    bool reads = false;    ///< reads may come in
    bool answers = false;  ///< completions may come in
    unsigned words = 144;  ///< kept, at least those of a packet
    unsigned packets = 16, windows = 16;
    unsigned base = 0;  ///< the hub's own GByte
  };
  struct Refused {
    Refusal reason;
    bool read;
    std::uint64_t address;
  };

  /// `own`: the engine's, as the requester of its reads.
  Ingress(const Config& config, std::uint16_t own)
      : config_(config),
        own_(own),
        windows_(config.windows, config.base),
        store_(config.words),
        verdicts_(config.packets) {}

  [[nodiscard]] bool ready() const { return store_.ready() && (!first_ || packets_ != config_.packets); }
  /// The word that it shows, or null; and where it goes.
  [[nodiscard]] const HubWord* front() const { return shown() && verdicts_.front().passes ? &store_.front() : nullptr; }
  [[nodiscard]] unsigned to() const { return verdicts_.front().to; }
  /// The units of a packet that has left in the cycle before.
  [[nodiscard]] const std::optional<unsigned>& freed() const { return freed_; }
  [[nodiscard]] const std::optional<Refused>& refused() const { return refused_; }
  [[nodiscard]] bool idle() const { return packets_ == 0 && !freed_ && !refused_; }
  [[nodiscard]] Windows& windows() { return windows_; }
  [[nodiscard]] const Windows& windows() const { return windows_; }

  /// One clock edge, before a window is loaded at it. `offered`: a word that came, or null; `taken`: that at the front is.
  void step(const HubWord* offered, bool taken) {
    const HubWord* word = offered && ready() ? offered : nullptr;
    const bool leaves = shown() && (!verdicts_.front().passes || taken);
    freed_.reset();
    refused_.reset();
    if (leaves && store_.front().last) {
      freed_ = verdicts_.front().units;
      --whole_;
      --packets_;
    }
    std::optional<Verdict> verdict;
    if (windows_.found()) verdict = judge();
    verdicts_.step(verdict ? &*verdict : nullptr, freed_.has_value());
    store_.step(word, leaves);
    found_ = asked_;
    std::optional<std::uint32_t> page;
    if (word && first_) {
      asked_ = word->data;
      page = static_cast<std::uint32_t>(spec::pcie_memory_write::address(header(asked_)) >> (kPageBits - 2)) & kPages;
      ++packets_;
    }
    windows_.step(page);
    if (!word) return;
    first_ = word->last;
    whole_ += word->last;
  }

 private:
  static constexpr std::uint32_t kPages = (1U << (kAddressBits - kPageBits)) - 1;

  struct Verdict {
    bool passes = false;
    unsigned to = 0;
    unsigned units = 0;
  };

  [[nodiscard]] bool shown() const { return store_.valid() && verdicts_.valid() && whole_ > 0; }

  [[nodiscard]] Refusal refusal(Kind kind, unsigned dwords, std::uint64_t address, const Windows::Found& found) const {
    if (kind == Kind::other || dwords == 0 || dwords > kMaxDwords) return Refusal::malformed;
    if (kind == Kind::completion) return config_.answers ? Refusal::none : Refusal::read;
    if (address % 1024 + dwords > 1024) return Refusal::crosses;
    if (!found.hit || address >> (kAddressBits - 2)) return Refusal::outside;
    if (found.to == config_.port || found.to > kBus) return Refusal::back;
    if (kind == Kind::read && !(config_.reads && (found.to == kNorth || found.to == kBus))) return Refusal::read;
    return Refusal::none;
  }

  [[nodiscard]] Verdict judge() {
    const auto words = header(found_);
    const Kind of = kind(found_);
    const unsigned dwords = spec::pcie_memory_write::length(words);
    const std::uint64_t address = spec::pcie_memory_write::address(words);  // in double words
    const Refusal reason = refusal(of, dwords, address, *windows_.found());
    if (reason != Refusal::none) refused_ = Refused{reason, of == Kind::read, address * 4 % kAddresses};
    Verdict verdict{reason == Refusal::none, windows_.found()->to, of == Kind::read ? 0 : units(dwords % 128) % 32};
    if (of == Kind::completion)
      verdict.to = spec::pcie_completion::requester(words) != own_ ? kNorth
                   : spec::pcie_completion::tag(words) & kSideTag  ? kResults
                                                                   : kEngine;
    else if (config_.port == kResults && verdict.to == kBus)
      verdict.to = kSide;
    return verdict;
  }

  Config config_;
  std::uint16_t own_;
  Windows windows_;
  RamFifo<HubWord> store_;
  Fifo<Verdict> verdicts_;
  Word<256> asked_{}, found_{};  ///< headers, beside what was asked of the windows
  unsigned packets_ = 0, whole_ = 0;
  bool first_ = true;
  std::optional<unsigned> freed_;
  std::optional<Refused> refused_;
};

}  // namespace thalweg::peach2
