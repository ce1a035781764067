// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "ethernet/session_receiver.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

constexpr unsigned kWindow = Parameters::Window;
constexpr std::uint32_t kNumbers = static_cast<std::uint32_t>((std::uint64_t{1} << Parameters::NumberBits) - 1);

/// A receive buffer's state, as visible now.
struct Buffer {
  std::vector<Tick> left;  ///< cycle from which each frame counts as left

  [[nodiscard]] std::uint64_t frames_left(Tick now) const {
    auto all = left.size();
    while (all > 0 && left[all - 1] > now) --all;
    return all;
  }
  [[nodiscard]] std::uint64_t in_order() const { return left.size(); }
  [[nodiscard]] Tick frame_left_at(std::uint64_t number) const { return left[number]; }
};

struct Twin {
  std::unique_ptr<Buffer> buffer = std::make_unique<Buffer>();
  ethernet::SessionReceiver<Buffer> receiver{{.window = kWindow, .resend = Parameters::Resend}, *buffer};
  Tick now = 0;
  std::uint32_t reported = 0;               ///< the last number sent
  std::array<std::optional<bool>, 3> fits;  ///< of numbers checked in this cycle and those before
  std::uint64_t received = 0;               ///< in the cycle before
  bool fitted = false;

  void outputs(const Inputs&, Outputs& out) const {
    out.fits_o.set(fitted);
    out.says_o.set(receiver.says_at() <= now);
    out.spoke_o.set(receiver.has_said());
    out.rested_o.set(receiver.rests_until() <= now);
    out.again_o.set(receiver.again(now));
    out.asks_o.set(receiver.asks(now));
    out.number_o.set(buffer->frames_left(now - 1) & kNumbers);
    out.received_o.set(received);
  }
  void step(const Inputs& in) {
    fits[2] = std::exchange(fits[1], std::exchange(fits[0], std::nullopt));
    const auto left = static_cast<std::uint32_t>(buffer->left.size());
    if (in.begin_valid_i.get()) fits[0] = whole(in.begin_number_i.get(), left) - left < kWindow;
    if (fits[2]) fitted = *fits[2];
    if (in.sent_i.get()) receiver.sent();
    if (in.said_i.get()) {
      receiver.say(now);
      reported = static_cast<std::uint32_t>(buffer->frames_left(now - 1));
    }
    if (in.rx_valid_i.get()) {
      receiver.hear(whole(in.rx_base_i.get(), reported));
      if (in.rx_asks_i.get()) receiver.ask(now);
      if (in.rx_data_i.get() && in.rx_taken_i.get())
        receiver.take(left + static_cast<std::uint32_t>((in.rx_slot_i.get() - left) % kWindow), now);
      else if (in.rx_data_i.get())
        receiver.repeat(now);
    }
    received = 0;
    for (unsigned k = 0; k < kWindow; ++k) received |= (in.held_i.get() >> (left + k) % kWindow & 1) << k;
    if (in.left_i.get()) buffer->left.push_back(now + 1);
    ++now;
  }

 private:
  /// The smallest number with these low bits that is not below `from`.
  [[nodiscard]] static std::uint32_t whole(std::uint64_t bits, std::uint32_t from) {
    return from + ((static_cast<std::uint32_t>(bits) - from) & kNumbers);
  }
};

/// Frames of any number arrive, most of them in the window or near it, and are accepted if their sender may have sent
/// them; the buffer's frames leave in order. Lanes: arrivals; departures; acknowledgements and frames sent.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(500, 100, 10)),
        in_order_(run.pick(1000, 900, 500, 0)),
        knows_(run.pick(900, 300, 50)),
        asks_(run.pick(0, 100, 500)),
        leaves_(run.pick(900, 300, 30)),
        says_(run.pick(1000, 300, 20)),
        sends_(run.pick(0, 20, 300)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice come = draws.lane(0), leave = draws.lane(1), say = draws.lane(2);
    const std::uint32_t left = left_;
    next.held_i.set(held_);
    next.left_i.set((held_ >> left % kWindow & 1) && leave.chance(leaves_));
    const std::uint64_t leaving = next.left_i.get() ? std::uint64_t{1} << left % kWindow : 0;

    next.said_i.set(seen.says_o.get() ? say.chance(says_) : say.chance(1));
    next.sent_i.set(say.chance(sends_));

    next.begin_valid_i.set(!waits_ && come.chance(load_));
    std::uint64_t taken = 0;
    if (next.begin_valid_i.get()) {
      waits_ = 3 + come.below(3);
      number_ = left + come.below(come.chance(900) ? kWindow : 4 * kWindow);
      if (come.chance(in_order_))
        for (number_ = left; number_ < left + kWindow - 1 && (held_ >> number_ % kWindow & 1);) ++number_;
      if (come.chance(30)) number_ = come.bits();
      if (come.chance(30)) number_ = left - 1 - come.below(kWindow);
      number_ &= kNumbers;
      next.begin_number_i.set(number_);
      held_then_ = held_ >> number_ % kWindow & 1;
    }
    const bool data = waits_ && !next.begin_valid_i.get() && --waits_ == 0;
    next.rx_data_i.set(data);
    next.rx_valid_i.set(data || come.chance(asks_));
    next.rx_asks_i.set(!data && come.chance(300));
    next.rx_taken_i.set(data && seen.fits_o.get() && !held_then_ && ((number_ - reported_) & kNumbers) < kWindow &&
                        come.chance(950));
    next.rx_slot_i.set(number_ % kWindow);
    if (next.rx_taken_i.get()) taken = std::uint64_t{1} << number_ % kWindow;
    next.rx_base_i.set((come.chance(knows_) ? reported_ : reported_ - 1 - come.below(kWindow)) & kNumbers);
    if (next.said_i.get()) reported_ = static_cast<std::uint32_t>(seen.number_o.get());
    left_ = (left_ + next.left_i.get()) & kNumbers;
    held_ = (held_ & ~leaving) | taken;
  }

 private:
  unsigned load_, in_order_, knows_, asks_, leaves_, says_, sends_;
  std::uint64_t held_ = 0;
  std::uint32_t number_ = 0, reported_ = 0, left_ = 0;
  bool held_then_ = false;
  unsigned waits_ = 0;  ///< cycles until the end of the arriving frame
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
