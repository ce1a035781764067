// SPDX-License-Identifier: Apache-2.0
// The two ports of the exchange memory, cycle by cycle. C++ model of rtl/accl/tw_exchange_ports.sv.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "accl/exchange_memory.hpp"

namespace thalweg::accl {

class ExchangePorts {
 public:
  /// Access of port 0 (host) or port 1 (engine).
  struct Access {
    bool write = false;
    std::uint32_t at = 0, data = 0;
  };
  struct Answer {
    bool refused = false;
    std::uint32_t data = 0;
  };

  [[nodiscard]] bool ready(std::size_t port) const { return left_ == 0 && !(port == 1 && waits()); }
  /// The answer in this cycle.
  [[nodiscard]] const std::optional<Answer>& answer(std::size_t port) const { return answers_[port]; }

  void step(const std::array<std::optional<Access>, 2>& in, std::uint32_t identity) {
    const std::array takes{ready(0), ready(1)};
    const bool wait = waits();
    memory_.set_identity(identity);
    std::array<std::optional<Answer>, 2> next{};
    for (std::size_t p = 0; p < 2; ++p)
      if (accesses_[p] && !(p == 1 && wait)) next[p] = read(*accesses_[p]);
    for (std::size_t p = 0; p < 2; ++p)
      if (accesses_[p] && accesses_[p]->write && !(p == 1 && wait)) memory_.write(accesses_[p]->at, accesses_[p]->data);
    for (std::size_t p = 0; p < 2; ++p) {
      answers_[p] = std::exchange(read_[p], next[p]);
      if (p == 1 && wait) continue;
      accesses_[p] = takes[p] ? in[p] : std::nullopt;
    }
    if (left_ > 0) --left_;
  }

 private:
  [[nodiscard]] bool waits() const {
    return accesses_[0] && accesses_[0]->write && accesses_[1] && accesses_[1]->write;
  }
  [[nodiscard]] Answer read(const Access& of) const {
    const auto word = memory_.read(of.at);
    return {.refused = !word, .data = of.write ? 0 : word.value_or(0)};
  }

  ExchangeMemory memory_;
  std::array<std::optional<Access>, 2> accesses_{};
  std::array<std::optional<Answer>, 2> read_{}, answers_{};
  unsigned left_ = ExchangeMemory::kBytes / 4;  ///< cycles until all words are cleared after reset
};

}  // namespace thalweg::accl
