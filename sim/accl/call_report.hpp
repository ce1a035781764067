// SPDX-License-Identifier: Apache-2.0
// Reports completions of the hardware's calls, cycle by cycle, as Node::report does. C++ model of
// rtl/accl/parts/tw_call_report.sv.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "accl/exchange_memory.hpp"
#include "accl/exchange_ports.hpp"
#include "accl/program_moves.hpp"

namespace thalweg::accl {

class CallReport {
 public:
  struct Begins {
    unsigned number = 0, port = 0;
  };
  struct Status {
    unsigned port = 0, count = 0;  ///< `count`: earlier calls of that port, modulo 256
    std::uint32_t code = 0;
  };
  struct In {
    bool first = false;  ///< a call's first word is taken
    std::optional<Begins> call{};
    std::optional<ProgramMoves::Status> end{};  ///< held while its status is not taken
    bool access_ready = false, status_ready = false;
  };

  CallReport(unsigned ports, unsigned calls) : given_(ports), calls_(calls) {}

  [[nodiscard]] std::optional<ExchangePorts::Access> access(const std::optional<ProgramMoves::Status>& end) const {
    if (state_ == kWriteCycles)
      return ExchangePorts::Access{.write = true, .at = ExchangeMemory::kCycles, .data = took_};
    if (state_ == kWriteCode)
      return ExchangePorts::Access{.write = true, .at = ExchangeMemory::kReturnCode, .data = end->code};
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Status> status(const std::optional<ProgramMoves::Status>& end) const {
    if (state_ != kOffer) return std::nullopt;
    return Status{end->port, count_, end->code};
  }

  void step(const In& in) {
    if (in.first) first_ = now_;
    if (in.call) calls_[in.call->number] = {first_, given_[in.call->port]++ & 0xFF};
    if (state_ == kIdle) {
      end_ = now_;
      if (in.end) state_ = kFetch;
    } else if (state_ == kWriteCycles || state_ == kWriteCode) {
      if (in.access_ready) ++state_;
    } else if (state_ == kOffer) {
      if (in.status_ready) state_ = kIdle;
    } else {
      took_ = end_ - calls_[in.end->number].first;
      count_ = calls_[in.end->number].count;
      ++state_;
    }
    // The upper half of the cycle counter follows the lower half one cycle later.
    const std::uint32_t carry = carries_ ? 0x1'0000 : 0;
    carries_ = (now_ & 0xFFFF) == 0xFFFF;
    now_ = ((now_ & 0xFFFF'0000) + carry) | ((now_ + 1) & 0xFFFF);
  }

 private:
  static constexpr unsigned kIdle = 0, kFetch = 1, kWriteCycles = 4, kWriteCode = 5, kOffer = 6;
  struct Of {
    std::uint32_t first = 0;
    unsigned count = 0;
  };

  std::vector<unsigned> given_;
  std::vector<Of> calls_;
  std::uint32_t now_ = 0, first_ = 0, end_ = 0, took_ = 0;
  bool carries_ = false;
  unsigned state_ = kIdle, count_ = 0;
};

}  // namespace thalweg::accl
