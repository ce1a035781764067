// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "vcsn/credits.hpp"

namespace {

using thalweg::Tick, thalweg::kNever, thalweg::vcsn::Credits, thalweg::vcsn::CreditsConfig;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kPorts = Parameters::Ports;

/// The class, whose cycles are those in which the encoder chooses: its choice is at the inputs one cycle later. A
/// setting acts after the choice of the following cycle.
struct Twin {
  static constexpr Tick kKnown = 3;  ///< cycles from a credit to its effect

  struct Port {
    Credits credits;
    std::vector<Tick> left;  ///< when words left the receive buffer
    std::vector<std::pair<Tick, std::uint32_t>> coming;
    std::optional<CreditsConfig> set;
    bool begins = false;  ///< the setting of the cycle before the last one acts

    [[nodiscard]] auto left_at() const {
      return [this](std::uint64_t number) { return number < left.size() ? left[number] : kNever; };
    }
  };
  std::array<Port, kPorts> ports;
  Tick now = 0;

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned i = 0; i < kPorts; ++i) {
      const Port& port = ports[i];
      out.held_o.set_bit(i, !port.credits.may_send());
      const bool reports = port.credits.used() && port.credits.reports_at(port.left_at()) <= now + 1;
      out.report_valid_o.set_bit(i, !port.set && reports);
      Credits copy = port.credits;
      if (reports) out.report_number_o.set(copy.report(now - 1, port.left_at()), i);
    }
  }
  void step(const Inputs& in) {
    for (unsigned i = 0; i < kPorts; ++i) {
      Port& port = ports[i];
      if (!std::exchange(port.begins, false)) {
        if (in.left_i.bit(i)) port.left.push_back(now - 1);
        if (in.sent_i.bit(i)) port.credits.sends(static_cast<unsigned>(in.words_i.get(i)));
        if (in.reported_i.bit(i)) (void)port.credits.report(now - 1, port.left_at());
        if (in.taken_i.bit(i)) port.coming.emplace_back(now + kKnown, static_cast<std::uint32_t>(in.number_i.get(i)));
      }
      std::erase_if(port.coming, [&](const auto& each) {
        if (each.first > now + 1) return false;
        port.credits.credit(each.second);
        return true;
      });
      if (const auto set = std::exchange(port.set, std::nullopt)) {
        port.credits.set(*set, port.left.size());
        port.coming.clear();
        port.begins = true;
      }
      if (in.forget_i.bit(i)) port.set = CreditsConfig{};
    }
    if (in.set_valid_i.get())
      ports[in.set_port_i.get()].set = CreditsConfig{.words = static_cast<unsigned>(in.set_words_i.get()),
                                                     .report = static_cast<unsigned>(in.set_report_i.get())};
    ++now;
  }
};

/// Frames whenever they may begin, credits of sent words, some of them late, and words that leave. Lanes: settings, and
/// each port.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1 + kPorts;

  explicit Stimulus(bisim::Dice run)
      : sets_(run.pick(1, 10, 100)),
        sends_(run.pick(1000, 300, 20)),
        credits_(run.pick(500, 50, 5)),
        leaves_(run.pick(1000, 300, 20)),
        reports_(run.pick(1000, 100)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice settings = draws.lane(0);
    bool credit = false;  // at most one port's, as they arrive in frames
    for (unsigned i = 0; i < kPorts; ++i) {
      bisim::Dice dice = draws.lane(1 + i);
      Port& port = ports_[i];
      const bool sends = !port.held && !port.sent && dice.chance(sends_);
      const unsigned words = 1 + dice.below(Parameters::FrameWords);
      next.sent_i.set_bit(i, sends);
      next.words_i.set(words, i);
      const bool reports = port.reports[1] && !port.reported[0] && !port.reported[1] && dice.chance(reports_);
      next.reported_i.set_bit(i, reports);
      next.left_i.set_bit(i, dice.chance(leaves_));
      if (!credit && now_ % 2 == 0 && dice.chance(credits_)) {
        credit = true;
        next.taken_i.set_bit(i, true);
        const bool late = dice.chance(100);
        const std::uint32_t number =
            late ? port.known - dice.below(1U << dice.below(31)) : port.known + dice.below(port.total - port.known + 1);
        next.number_i.set(number, i);
        if (!late) port.known = number;
      }
      if (sends) port.total += words;
      port.held = seen.held_o.bit(i);
      port.sent = sends;
      port.reports = {seen.report_valid_o.bit(i), port.reports[0]};
      port.reported = {reports, port.reported[0]};
      const bool forgets = settings.chance(sets_ / 2);
      next.forget_i.set_bit(i, forgets);
      if (std::exchange(port.begins, std::exchange(port.sets, forgets))) port.total = port.known = 0;
    }
    ++now_;
    if (!settings.chance(sets_)) return;
    const unsigned port = settings.below(kPorts);
    const bool used = settings.chance(800);
    const auto some = [&] { return 1 + settings.below(1U << settings.below(Parameters::CreditsBits)); };
    next.set_valid_i.set(true);
    next.set_port_i.set(port);
    next.set_words_i.set(used ? std::min<unsigned>(some(), (1U << Parameters::CreditsBits) - 1) : 0);
    next.set_report_i.set(used ? std::min<unsigned>(some(), (1U << Parameters::CreditsBits) - 1) : 0);
    ports_[port].sets = true;
  }

 private:
  struct Port {
    bool held = false, sent = false, sets = false, begins = false;
    std::array<bool, 2> reports{}, reported{};  ///< in the cycles before
    std::uint32_t total = 0, known = 0;         ///< words sent, and words taken by the other end
  };
  unsigned sets_, sends_, credits_, leaves_, reports_, now_ = 0;
  std::array<Port, kPorts> ports_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
