// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/egress.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(egress_.ready());
    blocks::put_word(out, egress_.out());
  }
  void step(const Inputs& in) {
    const auto word = blocks::get_word(in);
    std::optional<unsigned> credit;
    if (in.credit_valid_i.get()) credit = static_cast<unsigned>(in.credit_units_i.get());
    egress_.step(in.in_valid_i.get() ? &word : nullptr, in.notice_valid_i.get() != 0, credit);
  }

 private:
  peach2::Egress egress_{{.rate = Parameters::Rate,
                          .scale = Parameters::Scale,
                          .packets = Parameters::Packets,
                          .units = Parameters::Units,
                          .notice_bytes = Parameters::NoticeBytes}};
};

/// Packets that may pass an ingress; credits return late. Lanes: packets, the other end.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : source_(run.pick(1000, 900, 300)), back_(run.pick(200, 50, 1000)), notice_(run.pick(0, 30, 100)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice packets = draws.lane(0), other = draws.lane(1);
    if (source_.empty() && packets.chance(900)) add(packets);
    if (due_.size() > (begins_ ? 0 : 1) && other.chance(back_)) {
      next.credit_valid_i.set(true);
      next.credit_units_i.set(due_.front());
      due_.pop_front();
    }
    // A link delivers a packet in no fewer cycles than its bytes take.
    if (next_notice_ > 0) --next_notice_;
    if (next_notice_ == 0 && other.chance(notice_)) {
      next.notice_valid_i.set(true);
      next_notice_ = 2;
    }
    const auto* word = blocks::offer(source_, packets, seen.in_ready_o.get() != 0, next);
    if (!word) return;
    if (begins_)
      due_.push_back(peach2::has_data(word->data)
                         ? peach2::units(thalweg::spec::pcie_memory_write::length(peach2::header(word->data)))
                         : 0);
    begins_ = word->last;
    source_.taken();
  }

 private:
  void add(bisim::Dice& dice) {
    const unsigned dwords = dice.chance(300) ? 64 : 1 + dice.below(64);
    const std::uint64_t address = std::uint64_t{dice.below(1 << 20)} * 4;
    const std::uint64_t marked = dice.chance(500) ? peach2::kLong : 0;  // three double words
    if (dice.chance(150)) {
      auto read = blocks::read(address, dwords, 2, 3);
      read.data[0] ^= marked;
      source_.add({read});
    } else if (dice.chance(150)) {
      source_.add(blocks::completion(address, dwords, 2, 3, dice));
    } else {
      auto write = blocks::write(address, dwords, dice);
      write[0].data[0] ^= marked;
      source_.add(write);
    }
  }

  blocks::PacketSource source_;
  unsigned back_, notice_, next_notice_ = 0;
  bool begins_ = true;
  std::deque<unsigned> due_;  ///< of the packets that the other end holds
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
