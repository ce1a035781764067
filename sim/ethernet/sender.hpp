// SPDX-License-Identifier: Apache-2.0
// Flows of frames from a computer's port: each at its own rate, round-robin if several are due, limited by the line
// rate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/random.hpp"
#include "core/require.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/nic.hpp"

namespace thalweg::ethernet {

/// A flow of frames of one size from one NIC to another.
struct Flow {
  enum class Gaps : std::uint8_t { even, exponential };

  Address to = 0;
  unsigned payload = 46;     ///< bytes, kLeastPayload at least
  std::uint64_t frames = 0;  ///< total number
  double load = 1;           ///< offered share of the line rate, including gaps between frames
  Gaps gaps = Gaps::even;    ///< intervals between due times: constant, or exponentially distributed with the same mean
  std::uint64_t seed = 1;    ///< of gaps and data
};

/// Start of a flow's payload, which identifies the frame: flow, number, due time.
struct Mark {
  std::uint64_t flow = 0, number = 0;
  Units due = 0;
};
inline constexpr unsigned kLeastPayload = sizeof(Mark);

/// The data after a mark, determined by seed and number.
inline void fill_data(std::span<std::byte> data, std::uint64_t seed, std::uint64_t number) {
  Random random(mix(seed) + number);
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(data.data() + at, &word, std::min<std::size_t>(8, data.size() - at));
  }
}

/// The flows of one NIC.
class Sender final : public Component {
 public:
  static constexpr std::uint16_t kType = 0x88B5;  ///< for experiments (IEEE 802, section 9.2.4)

  Sender(Nic& nic, Frames& frames, Domain& domain) : nic_(&nic), frames_(&frames), domain_(&domain) {
    component_ = domain.scheduler.add(*this);
  }

  /// Starts a flow in the next cycle. `number` identifies it in the frames' marks.
  void add(std::uint64_t number, const Flow& flow) {
    const Tick now = domain_->scheduler.now();
    const Rate& rate = nic_->rate();
    const double gap = static_cast<double>(rate.bytes(wire_bytes(kHeader + flow.payload))) / flow.load;
    flows_.push_back({number, flow, 0, static_cast<double>(now * rate.cycle), gap, Random(flow.seed)});
    if (flow.gaps == Flow::Gaps::exponential) flows_.back().due += flows_.back().drawn_gap();
    domain_->wake(component_, std::max(now, flows_.back().at() / rate.cycle));
  }

  bool step(Tick now) override {
    const Rate& rate = nic_->rate();
    while (!flows_.empty()) {
      const Units end = (now + 1) * rate.cycle;  // end of the frames that start in this cycle
      if (nic_->free() >= end) {
        domain_->wake(component_, nic_->free() / rate.cycle);
        return false;
      }
      const auto found = next(end);
      if (!found) break;
      send(*found, now * rate.cycle);
    }
    Tick at = kNever;
    for (const Active& flow : flows_) at = std::min(at, std::max(now + 1, flow.at() / rate.cycle));
    if (at != kNever) domain_->wake(component_, at);
    return false;
  }

 private:
  struct Active {
    std::uint64_t number;
    Flow flow;
    std::uint64_t sent;
    double due, gap;  ///< in units
    Random random;

    /// Due time of its next frame.
    [[nodiscard]] Units at() const { return static_cast<Units>(std::ceil(due)); }
    double drawn_gap() { return flow.gaps == Flow::Gaps::even ? gap : -std::log(random.unit()) * gap; }
  };

  /// The next flow, in round-robin order, that is due before `end`.
  std::optional<std::size_t> next(Units end) {
    for (std::size_t k = 0; k < flows_.size(); ++k) {
      const std::size_t at = (turn_ + k) % flows_.size();
      if (flows_[at].at() < end) return at;
    }
    return std::nullopt;
  }

  void send(std::size_t at, Units begin) {
    Active& active = flows_[at];
    const Mark mark{active.number, active.sent, active.at()};
    nic_->send(
        std::max(begin, active.at()),
        frames_->make(active.flow.to, nic_->address, kType, active.flow.payload, [&](std::span<std::byte> payload) {
          std::memcpy(payload.data(), &mark, sizeof mark);
          fill_data(payload.subspan(sizeof mark), active.flow.seed, active.sent);
        }));
    active.due += active.drawn_gap();
    if (++active.sent < active.flow.frames) {
      turn_ = at + 1;
      return;
    }
    flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(at));
    turn_ = at;
  }

  Nic* nic_;
  Frames* frames_;
  Domain* domain_;
  ComponentId component_ = 0;
  std::vector<Active> flows_;
  std::size_t turn_ = 0;
};

}  // namespace thalweg::ethernet
