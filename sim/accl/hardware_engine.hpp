// SPDX-License-Identifier: Apache-2.0
// Hardware that is a board's whole engine (rtl/accl/top/tw_accl_engine.sv). It takes calls and the host's writes to the
// exchange memory, and reports completions of calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accl/hardware_ports.hpp"

namespace thalweg::accl {

class HardwareEngine final : public HardwarePorts {
 public:
  /// As HardwarePorts.
  using HardwarePorts::HardwarePorts;

  std::function<void(Context& context, Tick now)> ended;  ///< called with the return code set

  /// A host write to the exchange memory. Calls wait until all earlier writes are done.
  void write(std::uint32_t at, std::uint32_t data) {
    writes_.push_back({at, data});
    wake();
  }
  /// Submits a call at its port, from its cycle `resumes_at` on.
  void call(Context context) {
    const Tick from = context.resumes_at;
    if (context.call.scenario == Scenario::config && context.call.function == 2) times_ = context.call.count != 0;
    auto& queue = queues_[context.port];
    queue.push_back(std::move(context));
    if (from <= engine_.next())
      wake();
    else
      begins_.push_back(from);
  }
  /// Called in the node's step: wakes the hardware for calls that start. Returns the next cycle in which a call starts.
  [[nodiscard]] Tick begin(Tick now) {
    if (std::erase_if(begins_, [now](Tick from) { return from <= now; }) > 0) wake();
    return begins_.empty() ? kNever : *std::ranges::min_element(begins_);
  }
  /// Visits calls that have not ended, with a flag whether the hardware has taken them.
  template <class See>
  void open(const See& see) const {
    for (const auto& port : under_way_)
      for (const auto& [count, context] : port) see(context, true);
    for (const auto& port : queues_)
      for (const Context& context : port) see(context, false);
  }

  [[nodiscard]] bool segment(Context&, Move&, Tick) override { return false; }
  void release(const Context&, Tick) override {}
  [[nodiscard]] bool configure(const std::vector<std::uint64_t>&, std::uint32_t) override { return true; }
  void reset(Tick) override {}
  [[nodiscard]] bool know(std::uint32_t) override { return true; }
  [[nodiscard]] Buffers buffers() const override { return {}; }
  [[nodiscard]] std::uint64_t most_in_circle(const Context& context) const override {
    return std::max<std::uint64_t>(1, context.call.count);
  }

 private:
  static constexpr unsigned kPorts = 3;

  bool tell(NodeCircuit::Inputs& in, Tick now) override {
    in.exchange.reset();
    if (!writes_.empty()) in.exchange = writes_.front();
    bool any = in.sets || in.exchange;
    for (unsigned k = 0; k < kPorts; ++k) {
      in.calls[k].reset();
      const auto& queue = queues_[k];
      if (any || queue.empty() || (given_[k] == 0 && queue.front().resumes_at > now)) continue;
      in.calls[k] = queue.front().call.words()[given_[k]];
    }
    return any;
  }
  bool look(const NodeCircuit::Inputs& in, const NodeCircuit::Outputs& out, Tick now) override {
    bool any = false;
    if (in.exchange && out.takes_write) writes_.pop_front();
    for (unsigned k = 0; k < kPorts; ++k) {
      if (!in.calls[k] || !out.takes_call[k]) continue;
      any = true;
      if (++given_[k] < kCallWords) continue;
      given_[k] = 0;
      under_way_[k].emplace_back(counts_[k]++ & 0xFF, std::move(queues_[k].front()));
      queues_[k].pop_front();
    }
    if (out.status) end(*out.status, now);
    // The hardware counts time-outs while moves wait.
    return any || out.status || (times_ && (out.message_waits | out.kernel_waits) != 0);
  }
  void end(const NodeCircuit::Status& status, Tick now) {
    auto& port = under_way_[status.port];
    const auto found = std::ranges::find(port, status.count, &UnderWay::first);
    require(found != port.end(), "the hardware ended an unknown call");
    Context context = std::move(found->second);
    port.erase(found);
    if (status.code != 0) context.fail(status.code, "its board's hardware returned this code");
    ended(context, now);
    waker_.wake(now + 1);
  }
  /// Clearing the exchange memory and the message counts takes 2,048 cycles.
  [[nodiscard]] unsigned quiet() const override { return 4096; }

  using UnderWay = std::pair<unsigned, Context>;

  std::deque<NodeCircuit::Word> writes_;
  std::array<std::deque<Context>, kPorts> queues_;
  std::array<unsigned, kPorts> given_{}, counts_{};     ///< words given of the current call; number of calls taken
  std::array<std::deque<UnderWay>, kPorts> under_way_;  ///< by call number at the port
  std::vector<Tick> begins_;                            ///< cycles in which calls start
  bool times_ = false;                                  ///< a time-out is set
};

}  // namespace thalweg::accl
