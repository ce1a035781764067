// SPDX-License-Identifier: Apache-2.0
// Compares the verdict on each frame with udp_of and answer, which examine the whole frame.
#include <memory>
#include <stdexcept>

#include "bisim/bisim.hpp"
#include "blocks/ethernet/ends.hpp"
#include "blocks/ethernet/random_mac.hpp"
#include "blocks/ethernet/words.hpp"
#include "ethernet/udp_receiver.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

struct Twin {
  std::unique_ptr<ethernet::Frames> frames = std::make_unique<ethernet::Frames>();
  ethernet::UdpReceiver receiver{blocks::kOwn};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    const auto& shown = receiver.shown();
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
    if (shown.ask) {
      out.ask_valid_o.set(true);
      out.ask_data_o.set(blocks::data_of(shown.ask->bytes));
      out.ask_first_o.set(shown.ask->first);
      out.ask_last_o.set(shown.ask->last);
      out.ask_arp_o.set(shown.ask->arp);
    }
    // Commit and drop are compared in all cycles.
    out.ask_commit_o.set(shown.ask_commits);
    out.ask_drop_o.set(shown.ask_drops);
    const auto& counts = receiver.counts();
    const std::uint64_t most = (std::uint64_t{1} << Parameters::CountBits) - 1;
    for (unsigned i = 0; const auto count : {counts.strays, counts.damaged, counts.asked, counts.taken})
      out.counts_o.set(count & most, i++);
  }
  void step(const Inputs& in) {
    const ethernet::UdpReceiver::In word{.word = {.bytes = blocks::bytes_of(in.rx_data_i.get()),
                                                  .size = blocks::size_of(in.rx_keep_i.get()),
                                                  .last = in.rx_last_i.get() != 0},
                                         .damaged = in.rx_error_i.get() != 0};
    receiver.step(in.rx_valid_i.get() ? &word : nullptr);
    if (const auto ended = receiver.ended(); ended && !word.damaged) check(*ended);
  }

 private:
  void check(const ethernet::UdpReceiver::Ended& ended) const {
    const auto frame = frames->copy(ended.frame);
    const auto datagram = ethernet::udp_of(*frame);
    const bool taken = datagram && datagram->to == blocks::kOwn;
    if (taken != (ended.counts.taken == 1)) throw std::logic_error("udp_of says otherwise");
    // The checksum of an echo request is checked by the block that answers it.
    if (ethernet::answer(*frames, blocks::kOwn, *frame) && ended.counts.asked != 1)
      throw std::logic_error("answer says otherwise");
  }
};

/// Lanes: frames.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1;

  explicit Stimulus(bisim::Dice run) : mac_(run) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    next.own_i.set(blocks::port_of<decltype(next.own_i)>(blocks::kOwn));
    mac_.drive(draws.lane(0), next);
  }

 private:
  blocks::RandomMac mac_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
