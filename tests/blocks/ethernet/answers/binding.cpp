// SPDX-License-Identifier: Apache-2.0
// Compares answers with those that `answer` makes from whole frames.
#include <algorithm>
#include <memory>

#include "bisim/bisim.hpp"
#include "blocks/ethernet/frames.hpp"
#include "blocks/ethernet/words.hpp"
#include "ethernet/answers.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

struct Twin {
  std::unique_ptr<ethernet::Frames> frames = std::make_unique<ethernet::Frames>();
  ethernet::Answers answers{blocks::kOwn, Parameters::FrameWords, Parameters::Words, *frames};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    const auto& counts = answers.counts();
    const std::uint64_t most = (std::uint64_t{1} << Parameters::CountBits) - 1;
    for (unsigned i = 0; const auto count : {counts.wrong, counts.refused, counts.answered})
      out.counts_o.set(count & most, i++);
    out.tx_valid_o.set(answers.valid());
    if (!answers.valid()) return;
    const ethernet::Word word = answers.front();
    out.tx_data_o.set(blocks::data_of(word.bytes));
    out.tx_keep_o.set(blocks::keep_of(word.size));
    out.tx_last_o.set(word.last);
  }
  void step(const Inputs& in) {
    const ethernet::Answers::In word{.bytes = blocks::bytes_of(in.ask_data_i.get()),
                                     .first = in.ask_first_i.get() != 0};
    answers.step(in.ask_valid_i.get() ? &word : nullptr, in.ask_commit_i.get() != 0, in.ask_drop_i.get() != 0,
                 in.tx_ready_i.get() != 0);
  }
};

/// Requests in the form of tw_udp_receiver's output, whose checksum may be wrong, and that may be truncated or damaged.
/// Lanes: requests, the MAC.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)),
        gaps_(run.pick(0, 300, 700)),
        damaged_(run.pick(0, 20, 200)),
        stall_(run.pick(0, 100, 500, 900)),
        frames_(run, std::min<unsigned>((Parameters::FrameWords + 2) * ethernet::kWord, ethernet::kMost)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice receiver = draws.lane(0), mac = draws.lane(1);
    next.own_i.set(blocks::port_of<decltype(next.own_i)>(blocks::kOwn));
    next.tx_ready_i.set(!mac.chance(stall_));
    if (sent_ == frame_.size() && receiver.chance(load_)) make(receiver);
    if (sent_ == frame_.size() || receiver.chance(gaps_)) return;
    const std::size_t whole = std::min(size_, frame_.size());
    if (sent_ < whole) {
      next.ask_valid_i.set(true);
      next.ask_first_i.set(sent_ == 0);
      next.ask_last_i.set(sent_ + ethernet::kWord >= size_);
      next.ask_arp_i.set(arp_);
      next.ask_data_i.set(blocks::data_of(ethernet::cut(std::span(frame_).first(whole), sent_)));
    }
    sent_ = std::min(sent_ + ethernet::kWord, frame_.size());
    if (sent_ < frame_.size()) return;
    if (size_ > frame_.size() || receiver.chance(damaged_))
      next.ask_drop_i.set(true);
    else
      next.ask_commit_i.set(true);
  }

 private:
  void make(bisim::Dice& dice) {
    const auto frame = frames_.make(dice);
    const auto request = ethernet::request_of(ethernet::cut(frame, 0), blocks::kOwn);
    if (!request) return;
    frame_ = frame;
    sent_ = 0;
    arp_ = request == ethernet::Request::arp;
    const auto total = std::to_integer<std::size_t>(frame[16]) << 8 | std::to_integer<std::size_t>(frame[17]);
    size_ = ethernet::kHeader + (arp_ ? ethernet::kArpBytes : total);
  }

  unsigned load_, gaps_, damaged_, stall_;
  blocks::RandomFrames frames_;
  blocks::RandomFrames::Bytes frame_;
  std::size_t sent_ = 0, size_ = 0;
  bool arp_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
