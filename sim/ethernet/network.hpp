// SPDX-License-Identifier: Apache-2.0
// Engine of a network of computers and switches: runs flows of frames, and reports arrivals, their times and losses per
// flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "core/require.hpp"
#include "ethernet/capture.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/kinds.hpp"
#include "ethernet/nic.hpp"
#include "ethernet/sender.hpp"
#include "ethernet/switch.hpp"

namespace thalweg::ethernet {

/// Result of a flow. Times are in units of the receiving NIC's line, from the start.
struct FlowResult {
  std::uint64_t received = 0;  ///< frames
  std::uint64_t repeated = 0;  ///< additional frames that were duplicates, or came after a later one
  std::uint64_t wrong = 0;     ///< frames whose data differ from those sent
  Units last_end = 0;
  Units delay_sum = 0, delay_most = 0;  ///< from a frame's due time to its end at the receiving NIC
};

class Network final : public Engine {
 public:
  /// `capture`: file to write, or empty. Throws std::invalid_argument and std::runtime_error.
  Network(const Description& description, const std::string& capture)
      : assembly_(description, kinds(description.ticks_per_second, frames_)) {
    if (!capture.empty()) capture_.emplace(capture);
    for (unsigned n = 0; n < assembly_.nodes(); ++n) {
      auto* nic = dynamic_cast<Nic*>(&assembly_.node(n));
      if (!nic) continue;
      Domain& domain = nic->domain();
      senders_[n] = std::make_unique<Sender>(*nic, frames_, domain);
      const double ns = 1e9 / static_cast<double>(ticks_per_second()) * static_cast<double>(domain.clock.period);
      if (capture_) nic->sent = capture_->tap("node " + std::to_string(n), ns);
      nic->receive = [this, n, tap = nic->sent](Tick now, const Arrival& arrival, Units end) {
        if (tap) tap(now, *arrival.frame);
        receive(n, now, arrival, end);
      };
    }
  }

  [[nodiscard]] unsigned nodes() const { return assembly_.nodes(); }
  [[nodiscard]] bool is_nic(unsigned node) const { return senders_.contains(node); }

  /// Starts a flow at the current time. Throws std::invalid_argument.
  void submit(Handle handle, unsigned from, unsigned to, Flow flow) {
    for (const unsigned node : {from, to}) require(is_nic(node), "node " + std::to_string(node) + " is not a NIC");
    require(from != to, "a flow from node " + std::to_string(from) + " to itself");
    require(flow.payload >= kLeastPayload && flow.payload <= kMost - kHeader,
            "a payload of " + std::to_string(flow.payload) + " bytes; must have " + std::to_string(kLeastPayload) +
                " to " + std::to_string(kMost - kHeader));
    require(flow.load > 0 && flow.load <= 1,
            "a load of " + std::to_string(flow.load) + "; must be above 0 and at most 1");
    require(flow.frames > 0, "a flow must have at least one frame");
    require(!flows_.contains(handle), "the handle is in use");
    flow.to = address_of(to);
    flows_.emplace(handle, Known{from, to, flow, {}, 0});
    ++open_;
    senders_.at(from)->add(handle, flow);
  }
  [[nodiscard]] const FlowResult& result(Handle handle) const { return flows_.at(handle).result; }
  /// Units of a NIC's line per microsecond.
  [[nodiscard]] double units_per_us(unsigned node) const {
    const Nic& of = nic(node);
    return static_cast<double>(of.rate().cycle) * static_cast<double>(ticks_per_second()) /
           static_cast<double>(of.domain().clock.period) / 1e6;
  }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  /// Frames dropped by switches for lack of buffer space: node, port, and counts over time.
  [[nodiscard]] std::vector<LinkUse> dropped() const {
    std::vector<LinkUse> all;
    for (unsigned n = 0; n < assembly_.nodes(); ++n)
      if (const auto* middle = dynamic_cast<const Switch*>(&assembly_.node(n)))
        for (auto& use : middle->dropped(n)) all.push_back(std::move(use));
    return all;
  }
  /// Closes the capture. Throws std::runtime_error if it cannot be written.
  void close() {
    if (capture_) capture_->close();
  }

  [[nodiscard]] Tick now() const override { return assembly_.time().now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  void advance(Tick until, std::vector<Completion>& completed) override {
    auto& time = assembly_.time();
    while (ended_.empty() && time.next_due() < until) time.advance(until == kNever ? time.next_due() + kStride : until);
    // Once all activity has ended, missing frames are lost.
    if (ended_.empty() && time.next_due() == kNever)
      for (auto& [handle, flow] : flows_)
        if (!flow.ended) end(handle, flow, now());
    completed.insert(completed.end(), ended_.begin(), ended_.end());
    ended_.clear();
  }
  [[nodiscard]] bool idle() const override { return open_ == 0 && assembly_.time().next_due() == kNever; }
  /// Empty: without backpressure, frames without buffer space are dropped.
  [[nodiscard]] std::vector<Blocked> blocked() const override { return {}; }
  [[nodiscard]] std::vector<Lost> lost() const override { return assembly_.lost(); }

 private:
  static constexpr Tick kStride = 1 << 20;

  struct Known {
    unsigned from, to;
    Flow flow;
    FlowResult result;
    std::uint64_t next;  ///< sequence number of the next frame
    bool ended = false;
  };

  [[nodiscard]] const Nic& nic(unsigned node) const { return dynamic_cast<const Nic&>(assembly_.node(node)); }

  static Kinds kinds(Tick ticks_per_second, Frames& frames) {
    Kinds known;
    add_kinds(known, ticks_per_second, frames);
    return known;
  }

  void receive(unsigned node, Tick now, const Arrival& arrival, Units end_at) {
    const auto payload = arrival.frame->payload();
    Mark mark;
    if (payload.size() < sizeof mark) return;
    std::memcpy(&mark, payload.data(), sizeof mark);
    const auto found = flows_.find(mark.flow);
    if (found == flows_.end() || found->second.to != node) return;
    Known& flow = found->second;
    FlowResult& result = flow.result;
    if (mark.number < flow.next) {
      ++result.repeated;
      return;
    }
    flow.next = mark.number + 1;
    const auto data = payload.subspan(sizeof mark);
    expected_.resize(data.size());
    fill_data(expected_, flow.flow.seed, mark.number);
    result.wrong += payload.size() != flow.flow.payload || !std::equal(data.begin(), data.end(), expected_.begin());
    const Units due = nic(node).rate().from(mark.due, nic(flow.from).rate());
    ++result.received;
    result.last_end = end_at;
    result.delay_sum += end_at - due;
    result.delay_most = std::max(result.delay_most, end_at - due);
    if (flow.next == flow.flow.frames) {  // all earlier frames have arrived or are lost, as frames stay in order
      end(found->first, flow, now * nic(node).domain().clock.period);
      assembly_.time().interrupt();
    }
  }
  void end(Handle handle, Known& flow, Tick at) {
    flow.ended = true;
    --open_;
    ended_.push_back({handle, at});
  }

  Frames frames_;
  std::optional<Capture> capture_;
  Assembly assembly_;
  std::map<unsigned, std::unique_ptr<Sender>> senders_;
  std::map<Handle, Known> flows_;
  std::size_t open_ = 0;
  std::vector<Completion> ended_;
  std::vector<std::byte> expected_;
};

}  // namespace thalweg::ethernet
