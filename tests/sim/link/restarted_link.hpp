// SPDX-License-Identifier: Apache-2.0
// A link with a port at each end whose ends are reset alone under traffic and faults, and the checks: no word arrives
// twice, no word is lost unless both ends report it, and the link always recovers. The ends are of a class like
// LinkEnd: the simulator's, or RTL.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "lossy_link.hpp"
#include "port.hpp"

namespace thalweg {

/// Statistics of the links of a test.
struct Restarts {
  unsigned resets = 0;      ///< of one end
  unsigned together = 0;    ///< of these: while the other end was in reset, or before the link was up again
  unsigned power = 0;       ///< of these: by loss of power
  std::uint64_t words = 0;  ///< that arrived
  unsigned cut = 0;         ///< sessions in which only some of the words of a direction arrived
  unsigned reported = 0;    ///< by an end
};

/// The replay window in words, and the formats of its frames.
inline constexpr unsigned kRestartWindow = 32, kRestartDown = 1024;
[[nodiscard]] constexpr FrameFormat restart_format(FlowControl flow) {
  return {.sequence_bits = 6, .vcs = Port::kVcs, .flow = flow};
}

template <class End>
class RestartedLink {
 public:
  using MakeEnd = std::function<End(std::uint64_t seed)>;

  RestartedLink(FlowControl flow, std::mt19937_64& random, const MakeEnd& make, Restarts& seen)
      : random_(random), make_(make), seen_(seen), flow_(flow) {}

  /// Holds end `i` in reset for `cycles` from the next cycle. `power`: the end is configured anew afterwards, and the
  /// wires are empty meanwhile; the reset then lasts at least as long as a frame needs to leave the other end.
  void restart(unsigned i, unsigned cycles, bool power) {
    seen_.power += power;
    ++seen_.resets;
    if (reset_[0] || reset_[1]) ++seen_.together;
    resets_[i] = power ? std::max(cycles, kDrained) : cycles;
    power_[i] = power;
  }

  /// One cycle of `load` and `faults` in percent. An end that has lost its session is held in one of four cases.
  void cycle(unsigned load, unsigned faults) {
    std::array<const LinkWord*, 2> words;
    std::array<Fault, 2> of_frames{};
    std::array<bool, 2> holds{}, resets{};
    constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
    for (unsigned i = 0; i < 2; ++i) {
      words[i] = ports_[i].output(link_.ends[i], random_() % 100 < load, static_cast<unsigned>(random_() % Port::kVcs));
      if (random_() % 100 < faults) of_frames[i] = kFaults[random_() % 3];
    }
    const std::array back{ports_[0].back(), ports_[1].back()};
    for (unsigned i = 0; i < 2; ++i) {
      std::uint32_t leaving = 0;
      for (unsigned vc = 0; vc < Port::kVcs; ++vc) leaving |= std::uint32_t{random_() % 4 > 0} << vc;
      ports_[i].step(link_.ends[i], leaving);
      if (link_.ends[i].lost() && random_() % 4 == 0) holds_[i] = 1 + static_cast<unsigned>(random_() % 100);
      holds[i] = holds_[i] > 0;
      holds_[i] -= holds_[i] > 0;
      resets[i] = resets_[i] > 0;
    }
    link_.cycle(words, back, of_frames, holds, resets);
    if ((resets[0] && power_[0]) || (resets[1] && power_[1])) link_.empty();
    for (unsigned i = 0; i < 2; ++i) after(i);
    if (up()) both_up();
  }

  /// Stops all bit errors.
  void calm() { link_.calm(); }
  /// True if neither end is in reset or held.
  [[nodiscard]] bool free() const { return resets_[0] + resets_[1] + holds_[0] + holds_[1] == 0; }
  [[nodiscard]] bool up() const { return link_.ends[0].up() && link_.ends[1].up(); }
  [[nodiscard]] bool all_arrived() const {
    return ports_[0].arrived() == ports_[1].sent() && ports_[1].arrived() == ports_[0].sent();
  }
  [[nodiscard]] const Port& port(unsigned i) const { return ports_[i]; }
  [[nodiscard]] unsigned latency() const { return latency_; }

 private:
  using Fault = blocks::Fault;

  /// Handles an end that is in reset or has lost its session, and its port.
  void after(unsigned i) {
    const bool lost = link_.ends[i].lost();
    if (lost) {
      reported_[i] = true;
      ++seen_.reported;
    }
    if (resets_[i] > 0) {
      if (power_[i]) link_.ends[i] = make_(random_());
      --resets_[i];
      holds_[i] = 0;
      reported_[i] = false;
      reset_[i] = true;
    } else if (!lost) {
      return;
    }
    Port& port = ports_[i];
    if (const auto theirs = port.peer_life()) {
      check(*theirs >= next_life_[i], "words of a life that was over");
      next_life_[i] = *theirs + 1;
      came_[i][*theirs] = port.arrived();
      seen_.words += port.arrived();
    }
    if (port.sent() > 0) gave_[i][port.life()] = port.sent();
    port.restart();
    partner_[i].reset();
  }

  /// Both ends must have reported an earlier loss. An end that was reset has no earlier loss to report; if both were
  /// reset, the resets imply the loss.
  void both_up() {
    if (!(reset_[0] && reset_[1])) check(reported_[0] == reported_[1], "an error at one end alone");
    for (unsigned i = 0; i < 2; ++i) {
      const std::uint64_t life = ports_[1 - i].life();
      check(partner_[i].value_or(life) == life, "the other port has another life, unnoticed");
      partner_[i] = life;
      for (const auto& [theirs, count] : came_[i])
        seen_.cut += gave_[1 - i].contains(theirs) && gave_[1 - i][theirs] > count;
      came_[i].clear();
      gave_[1 - i].clear();
    }
    reported_ = reset_ = {};
  }

  static constexpr unsigned kMargin = kRestartWindow - 1;
  static constexpr unsigned kDrained = 8;  ///< registers of an end that a frame passes, and a few more

  std::mt19937_64& random_;
  const MakeEnd& make_;
  Restarts& seen_;
  FlowControl flow_;
  unsigned latency_ = 1 + static_cast<unsigned>(random_() % 20);
  unsigned depth_ = flow_ == FlowControl::margin ? kMargin + 1 + static_cast<unsigned>(random_() % 8)
                                                 : 1 + static_cast<unsigned>(random_() % 15);
  LossyLinkOf<End> link_{{make_(random_()), make_(random_())},
                         restart_format(flow_).frame_bits(),
                         latency_,
                         random_() % 2 ? 0 : 1e-3,
                         random_()};
  std::array<Port, 2> ports_{Port(flow_, depth_, kMargin), Port(flow_, depth_, kMargin)};
  std::array<unsigned, 2> resets_{}, holds_{};  ///< remaining cycles
  std::array<bool, 2> power_{};                 ///< the reset is a loss of power
  std::array<bool, 2> reset_{true, true},
      reported_{};  ///< since both ends were up; an end that was reset has no earlier loss to report
  std::array<std::uint64_t, 2> next_life_{};             ///< of the other port: the first whose words may still arrive
  std::array<std::optional<std::uint64_t>, 2> partner_;  ///< life of the other port when both ends were up
  std::array<std::map<std::uint64_t, std::uint64_t>, 2> came_,
      gave_;  ///< words by the life of their port, since both were up
};

/// docs/links.md: cycles without faults until both ends are up.
[[nodiscard]] constexpr unsigned restart_recovery(unsigned latency) {
  return 5 * latency + 15;
}

/// Restarts links, one after the other, with at least `resets` resets: at random times, of alternating ends, of any
/// length, many of them while the link is coming up. `both`: the other end is reset shortly after, too. Once faults
/// stop, a link must be up within the bound, and all words given from then on must arrive. Throws std::logic_error
/// otherwise.
template <class End>
Restarts restart_links(unsigned resets, FlowControl flow, bool both, std::mt19937_64& random,
                       const typename RestartedLink<End>::MakeEnd& make) {
  Restarts seen;
  while (seen.resets < resets) {
    RestartedLink<End> link(flow, random, make, seen);
    const auto load = 1 + static_cast<unsigned>(random() % 100), faults = static_cast<unsigned>(random() % 3 * 15);
    const auto run = [&](std::uint64_t cycles) {
      for (std::uint64_t t = 0; t < cycles; ++t) link.cycle(load, faults);
    };
    const auto restart = [&](unsigned end) {
      const auto cycles = random() % 2 ? 1 : 1 + random() % (4 * link.latency());
      link.restart(end, static_cast<unsigned>(cycles), random() % 8 == 0);
    };
    for (unsigned i = 0; i < 10; ++i) {
      run(random() % 2 ? random() % 1000 : random() % (8 * link.latency()));
      restart(i % 2);
      if (!both) continue;
      run(random() % (4 * link.latency()));
      restart(1 - i % 2);
    }
    link.calm();
    // Pauses may have filled the wires. The bound counts from the end of any hold, including that of an end that only
    // now learns of a loss.
    unsigned wait = restart_recovery(2 * link.latency()), waited = 0;
    for (; waited < wait && waited < 10'000; ++waited) {
      link.cycle(load, 0);
      if (!link.free()) wait = waited + 1 + restart_recovery(2 * link.latency());
    }
    check(link.up(), "the link does not come up again");
    for (unsigned t = 0; t < 1000; ++t) link.cycle(100, 0);
    for (unsigned t = 0; t < 5000 && !link.all_arrived(); ++t) link.cycle(0, 0);
    check(link.all_arrived(), "not all words arrive");
    check(link.port(0).sent() > 0 && link.port(1).sent() > 0, "no words are taken");
  }
  return seen;
}

}  // namespace thalweg
