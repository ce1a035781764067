// SPDX-License-Identifier: Apache-2.0
// Input port of a hub, C++ model of rtl/peach2/tw_ingress.sv: stores packets until they are complete, and routes them by address
// windows or drops them.
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
    bool reads = false;    ///< accepts reads
    bool answers = false;  ///< accepts completions
    unsigned words = 144;  ///< buffer size, at least one packet
    unsigned packets = 16, windows = 16;
    unsigned base = 0;  ///< the hub's own GByte
  };
  struct Refused {
    Refusal reason;
    bool read;
    Source source;
    std::uint64_t address;
  };

  /// `own`: requester ID of the DMA controller, and completer ID.
  Ingress(const Config& config, std::uint16_t own)
      : config_(config),
        own_(own),
        windows_(config.windows, config.base),
        store_(config.words),
        verdicts_(config.packets) {}

  [[nodiscard]] bool ready() const { return store_.ready() && (!first_ || packets_ != config_.packets); }
  /// The word offered to the switch, or null; to() is its output port.
  [[nodiscard]] const HubWord* front() const {
    if (!shown() || !verdicts_.front().passes) return nullptr;
    return verdicts_.front().unsupported ? &answer_ : &store_.front();
  }
  [[nodiscard]] unsigned to() const { return verdicts_.front().to; }
  /// Units of a packet that has left in the previous cycle.
  [[nodiscard]] const std::optional<unsigned>& freed() const { return freed_; }
  [[nodiscard]] const std::optional<Refused>& refused() const { return refused_; }
  [[nodiscard]] bool idle() const { return packets_ == 0 && !freed_ && !refused_; }
  [[nodiscard]] Windows& windows() { return windows_; }
  [[nodiscard]] const Windows& windows() const { return windows_; }

  /// One clock edge, before a window is loaded at it. `offered`: input word, or null; `taken`: the word at the front is accepted;
  /// `owners`: nodes that may write registers.
  void step(const HubWord* offered, bool taken, std::uint32_t owners) {
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
    if (windows_.found()) verdict = judge(owners);
    verdicts_.step(verdict ? &*verdict : nullptr, freed_.has_value());
    std::optional<HubWord> kept;
    if (word) kept = first_ ? marked(*word) : *word;
    store_.step(kept ? &*kept : nullptr, leaves);
    found_ = asked_;
    std::optional<std::uint32_t> page;
    if (word && first_) {
      asked_ = *word;
      page =
          static_cast<std::uint32_t>(spec::pcie_memory_write::address(header(asked_.data)) >> (kPageBits - 2)) & kPages;
      ++packets_;
    }
    windows_.step(page);
    if (word) {
      first_ = word->last;
      whole_ += word->last;
    }
    if (shown() && verdicts_.front().unsupported) answer_ = {unsupported(header(store_.front().data), own_), true};
  }

 private:
  static constexpr std::uint32_t kPages = (1U << (kAddressBits - kPageBits)) - 1;
  static constexpr unsigned kRegistersPage = 0x38000,
                            kStart = 64;  ///< page within a hub's GByte; number of the start register

  struct Verdict {
    bool passes = false, unsupported = false;
    unsigned to = 0;
    unsigned units = 0;
  };

  /// A read is a single word.
  [[nodiscard]] static Kind kind(const HubWord& first) {
    const Kind of = peach2::kind(first.data);
    return of == Kind::read && !first.last ? Kind::other : of;
  }
  [[nodiscard]] bool cable() const { return config_.port == kEast || config_.port == kWest || config_.port == kSouth; }
  [[nodiscard]] Source source(std::uint64_t header) const {
    return cable() ? source_of(header) : Source{config_.base >> (kNodeShift - kBaseShift), config_.port};
  }
  /// Updates a write's header: from a cable, increments the number of cables; from other ports, inserts the source.
  [[nodiscard]] HubWord marked(HubWord word) const {
    auto& header = word.data[0];
    if (kind(word) != Kind::write) return word;
    const std::uint64_t tag = cable() ? ((header >> kTagAt) + 1) & 0xFF : 0;
    const Source of = source(header);
    header &= ~(std::uint64_t{0xFF} << kTagAt);
    header |= tag << kTagAt;
    if (!cable()) {
      header &= ~(std::uint64_t{0xFFFF} << kBusAt);
      header |= std::uint64_t{of.node} << kBusAt | std::uint64_t{of.port} << kFunctionAt;
    }
    return word;
  }

  [[nodiscard]] bool shown() const { return store_.valid() && verdicts_.valid() && whole_ > 0; }

  [[nodiscard]] Refusal refusal(Kind kind, bool sized, unsigned dwords, std::uint64_t address,
                                const Windows::Found& found, std::uint32_t owners) const {
    if (kind == Kind::other || (sized && (dwords == 0 || dwords > kMaxDwords))) return Refusal::malformed;
    if (kind == Kind::completion) return config_.answers ? Refusal::none : Refusal::read;
    if (address % 1024 + dwords > 1024) return Refusal::crosses;
    if (!found.hit || address >> (kAddressBits - 2)) return Refusal::outside;
    if (found.to == config_.port || found.to > kBus) return Refusal::back;
    if (kind == Kind::read && !(config_.reads && (found.to == kNorth || found.to == kBus))) return Refusal::read;
    if (kind == Kind::write && cable() && (found_.data[0] >> kTagAt & 0xFF) >= kMostCables) return Refusal::led;
    const bool start = address / 4 % 256 == kStart && address % 4 + dwords <= 4;
    if (kind == Kind::write && config_.port != kNorth && found.to == kBus &&
        address * 4 % (std::uint64_t{1} << kBaseShift) >> kPageBits == kRegistersPage && !start &&
        !(owners >> source(found_.data[0]).node & 1))
      return Refusal::locked;
    return Refusal::none;
  }

  [[nodiscard]] Verdict judge(std::uint32_t owners) {
    const auto words = header(found_.data);
    const Kind of = kind(found_);
    const unsigned dwords = spec::pcie_memory_write::length(words);
    const std::uint64_t address = spec::pcie_memory_write::address(words);  // in double words
    const bool data = has_data(found_.data), sized = of != Kind::completion || data;
    const Refusal reason = refusal(of, sized, dwords, address, *windows_.found(), owners);
    const bool refused = reason != Refusal::none, refused_read = refused && of == Kind::read;
    if (refused) refused_ = Refused{reason, of == Kind::read, source(found_.data[0]), address * 4 % kAddresses};
    Verdict verdict{!refused || refused_read, refused_read, windows_.found()->to, data ? units(dwords % 128) % 32 : 0};
    if (refused_read)
      verdict.to = config_.port;
    else if (of == Kind::completion)
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
  HubWord asked_, found_;  ///< headers of the lookups in the windows' pipeline
  unsigned packets_ = 0, whole_ = 0;
  bool first_ = true;
  HubWord answer_;  ///< to the refused read at the front
  std::optional<unsigned> freed_;
  std::optional<Refused> refused_;
};

}  // namespace thalweg::peach2
