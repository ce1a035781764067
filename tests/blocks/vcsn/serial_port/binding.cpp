// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/clocks.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/serial_port.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;

constexpr unsigned kShell = 0, kLink = 1;

Tick latency;  ///< of the run's link, shared by twin and stimulus

/// A port whose link leads back to it.
struct Twin {
  struct State {
    thalweg::Domains domains;
    thalweg::ethernet::Frames frames;
    vcsn::SerialPort port;
    vcsn::ReceiveBuffer& received;

    explicit State(const Clocks& clocks)
        : port({.send_words = Parameters::SendWords,
                .receive_words = Parameters::ReceiveWords,
                .frame_words = Parameters::PacketWords,
                .frames = Parameters::Packets},
               domains.add(clock(clocks, kShell)), domains.add(clock(clocks, kLink)), frames),
          received(dynamic_cast<vcsn::ReceiveBuffer&>(port.source(0))) {}
  };
  std::unique_ptr<State> state;
  std::deque<std::pair<Tick, blocks::WordData>> leaving;
  mutable std::int64_t left = 0;  ///< words that had left before
  bool joined = false;

  explicit Twin(const Clocks& clocks) : state(std::make_unique<State>(clocks)) {
    state->port.emptied = state->port.filled = [](unsigned) {};
    state->port.sent = [this](Tick header, const vcsn::Waiting& packet, std::span<const std::byte> bytes) {
      blocks::WordData word{std::uint64_t{packet.words} | std::uint64_t{packet.channel} << 16 |
                            std::uint64_t{packet.last} << 24 | std::uint64_t{packet.first} << 25};
      leaving.emplace_back(header, word);
      for (; !bytes.empty(); bytes = bytes.subspan(sizeof word)) {
        std::memcpy(word.data(), bytes.data(), sizeof word);
        leaving.emplace_back(++header, word);
      }
    };
  }

  void outputs(const Inputs&, const Instant& now, Outputs& out) const {
    out = {};
    out.shell_in_ready_o.set(state->port.sink(0).accepts() <= cycle(now, kShell));
    if (state->received.offers() <= cycle(now, kShell)) {
      const vcsn::Word& word = state->received.front();
      out.shell_out_valid_o.set(true);
      out.shell_out_data_o.set(blocks::data_of(word));
      out.shell_out_first_o.set(word.first);
      out.shell_out_last_o.set(word.last);
      out.shell_out_channel_o.set(word.channel);
    }
    const Tick at = cycle(now, kLink);
    while (state->received.left(left) < at) ++left;
    out.link_credit_o.set(state->received.left(left) == at);
    if (leaving.empty() || leaving.front().first > at) return;
    out.link_tx_valid_o.set(true);
    out.link_tx_data_o.set(leaving.front().second);
  }
  void step(const Inputs& in, const Instant& now) {
    if (!std::exchange(joined, true)) state->port.join(state->port, latency);
    if (now.edge(kShell)) {
      const Tick at = cycle(now, kShell);
      if (in.shell_out_ready_i.get() && state->received.offers() <= at) state->received.take(at);
      if (in.shell_in_valid_i.get() && state->port.sink(0).accepts() <= at)
        state->port.sink(0).put(at, blocks::word_of(in.shell_in_data_i.get(), in.shell_in_first_i.get(),
                                                    in.shell_in_last_i.get(), in.shell_in_channel_i.get()));
    }
    if (!now.edge(kLink)) return;
    const Tick at = cycle(now, kLink);
    state->port.step(at);
    if (!leaving.empty() && leaving.front().first == at) leaving.pop_front();
  }
};

/// A writer repeats its word until it is accepted. Words and credits that leave return with the link's latency.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 100)),
        ends_(run.pick(0, 10, 100, 500, 1000)),
        takes_(run.pick(1000, 900, 500, 50)) {
    latency = 1 + run.below(run.chance(500) ? 4 : 100);
  }

  void drive(const Outputs& seen, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice shell = draws.lane(0);
    if (now.edge(kShell)) {
      if (!waiting_ && shell.chance(load_)) {
        waiting_ = true;
        blocks::fill(next.shell_in_data_i, shell);
        const bool last = shell.chance(ends_);
        if (first_) next.shell_in_channel_i.set(shell.below(256));
        next.shell_in_first_i.set(std::exchange(first_, last));
        next.shell_in_last_i.set(last);
      }
      next.shell_in_valid_i.set(waiting_);
      if (seen.shell_in_ready_o.get()) waiting_ = false;
      next.shell_out_ready_i.set(shell.chance(takes_));
    }
    if (!now.edge(kLink)) return;
    next.link_rx_valid_i.set(false);
    next.link_credit_i.set(false);
    if (way_.size() == static_cast<std::size_t>(latency)) {
      const Way& there = way_.front();
      next.link_rx_valid_i.set(there.valid);
      if (there.valid) next.link_rx_data_i.set(there.data);
      next.link_credit_i.set(there.credit);
      way_.pop_front();
    }
    way_.push_back({seen.link_tx_valid_o.get() != 0, seen.link_credit_o.get() != 0, seen.link_tx_data_o.get()});
  }

 private:
  struct Way {
    bool valid = false, credit = false;
    blocks::WordData data{};
  };
  unsigned load_, ends_, takes_;
  bool waiting_ = false, first_ = true;
  std::deque<Way> way_;  ///< of the link, one per cycle
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
