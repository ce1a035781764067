// SPDX-License-Identifier: Apache-2.0
// Compares inputs and outputs with make_udp, udp_of and answer, as in the tests of its blocks.
#include <memory>

#include "bisim/bisim.hpp"
#include "blocks/ethernet/ends.hpp"
#include "blocks/ethernet/random_datagrams.hpp"
#include "blocks/ethernet/random_mac.hpp"
#include "blocks/ethernet/words.hpp"
#include "ethernet/udp_port.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

struct Twin {
  std::unique_ptr<ethernet::Frames> frames = std::make_unique<ethernet::Frames>();
  ethernet::UdpPort port{blocks::kOwn, Parameters::SendWords, Parameters::AskWords, Parameters::AnswerWords, *frames};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.in_ready_o.set(port.ready());
    const auto& shown = port.shown();
    if (shown.out) {
      out.out_valid_o.set(true);
      out.out_data_o.set(blocks::data_of(shown.out->bytes));
      out.out_first_o.set(shown.out->first);
      out.out_last_o.set(shown.out->last);
      out.out_from_o.set(blocks::port_of<decltype(out.out_from_o)>(shown.out->from));
      out.out_bytes_o.set(shown.out->size);
    }
    out.commit_o.set(shown.commits);
    out.drop_o.set(shown.drops);
    const auto& received = port.received();
    const auto& answered = port.answered();
    const std::uint64_t most = (std::uint64_t{1} << Parameters::CountBits) - 1;
    for (unsigned i = 0; const auto count : {received.strays, received.damaged, received.asked, received.taken})
      out.received_o.set(count & most, i++);
    for (unsigned i = 0; const auto count : {answered.wrong, answered.refused, answered.answered})
      out.answered_o.set(count & most, i++);
    out.tx_valid_o.set(port.valid());
    if (!port.valid()) return;
    const ethernet::Word& word = port.front();
    out.tx_data_o.set(blocks::data_of(word.bytes));
    out.tx_keep_o.set(blocks::keep_of(word.size));
    out.tx_last_o.set(word.last);
  }
  void step(const Inputs& in) {
    const ethernet::UdpSender::In out{.bytes = blocks::bytes_of(in.in_data_i.get()),
                                      .last = in.in_last_i.get() != 0,
                                      .to = blocks::end_of(in.in_to_i.get()),
                                      .size = static_cast<std::uint16_t>(in.in_bytes_i.get())};
    const ethernet::UdpReceiver::In word{.word = {.bytes = blocks::bytes_of(in.rx_data_i.get()),
                                                  .size = blocks::size_of(in.rx_keep_i.get()),
                                                  .last = in.rx_last_i.get() != 0},
                                         .damaged = in.rx_error_i.get() != 0};
    port.step(in.in_valid_i.get() ? &out : nullptr, in.rx_valid_i.get() ? &word : nullptr, in.tx_ready_i.get() != 0);
  }
};

/// Lanes: datagrams, frames, the MAC's ready.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run) : stall_(run.pick(0, 100, 500, 900)), datagrams_(run), mac_(run) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice ready = draws.lane(2);
    next.own_i.set(blocks::port_of<decltype(next.own_i)>(blocks::kOwn));
    next.tx_ready_i.set(!ready.chance(stall_));
    datagrams_.drive(seen, draws.lane(0), next);
    mac_.drive(draws.lane(1), next);
  }

 private:
  unsigned stall_;
  blocks::RandomDatagrams datagrams_;
  blocks::RandomMac mac_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
