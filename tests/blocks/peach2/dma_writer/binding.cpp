// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/dma_writer.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;

constexpr std::uint16_t kOwn = 0x1234;
constexpr unsigned kSide = Parameters::SideTag ? peach2::kSideTag : 0;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(writer_.ready());
    blocks::put_word(out, writer_.out());
    out.written_o.set(writer_.written());
    out.answered_o.set(writer_.answered());
    out.failed_o.set(writer_.failed());
    out.quiet_o.set(writer_.quiet());
    out.waits_o.set(writer_.waits());
    out.descriptor_valid_o.set(writer_.descriptor().has_value());
    if (!writer_.descriptor()) return;
    for (unsigned i = 0; i < 4; ++i) bisim::put_bits(out.descriptor_o.words, 64 * i, 64, (*writer_.descriptor())[i]);
  }
  void step(const Inputs& in) {
    const auto word = blocks::get_word(in);
    const peach2::Chunk chunk{in.chunk_to_i.get(), static_cast<unsigned>(in.chunk_dwords_i.get())};
    writer_.step(in.in_valid_i.get() ? &word : nullptr, in.chunk_valid_i.get() ? &chunk : nullptr,
                 in.out_ready_i.get() != 0, in.abandon_i.get() != 0, in.clear_i.get() != 0);
  }

 private:
  peach2::DmaWriter writer_{Parameters::Words, Parameters::Chunks, kOwn, kSide};
};

/// Chunks and, later, their completions, and between them those of descriptors; sometimes an invalid one, followed by
/// the signals of a reader that aborts its chain. Lanes: chunks, completions, the receiver of writes.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : source_(run.pick(1000, 900, 300)),
        wrong_(run.pick(0, 0, 3)),
        ready_(run.pick(1000, 800, 200)),
        chunks_(run.pick(300, 20)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice chunks = draws.lane(0), completions = draws.lane(1), out = draws.lane(2);
    next.own_i.set(kOwn);
    next.out_ready_i.set(out.chance(ready_));
    if (seen.written_o.get()) --under_way_;
    if (seen.answered_o.get()) --asked_;
    if (seen.failed_o.get() || completions.chance(wrong_ / 2)) abandon_ = true;
    next.abandon_i.set(abandon_);
    if (abandon_ && due_.empty() && asked_ == 0 && seen.quiet_o.get()) {
      next.clear_i.set(true);
      abandon_ = false;
      under_way_ = tag_ = 0;
      return;
    }
    if (!abandon_ && under_way_ < Parameters::Chunks && chunks.chance(chunks_)) {
      ++under_way_;
      const unsigned dwords = chunks.chance(300) ? 64 : 1 + chunks.below(64);
      const std::uint64_t to = chunks.bits() & (peach2::kAddresses / 4 - 1);
      next.chunk_valid_i.set(true);
      next.chunk_to_i.set(to);
      next.chunk_dwords_i.set(dwords);
      due_.push_back(dwords);
    }
    if (source_.empty() && !due_.empty() && completions.chance(500)) answer(completions);
    if (blocks::offer(source_, completions, seen.in_ready_o.get() != 0, next)) source_.taken();
  }

 private:
  void answer(bisim::Dice& dice) {
    ++asked_;
    if (dice.chance(100)) ++asked_, source_.add(blocks::completion(32 * dice.below(4), 8, kOwn, 0x80, dice));
    const unsigned tag = dice.chance(wrong_) ? tag_ + 1 : tag_,
                   length = dice.chance(wrong_) ? due_.front() % 64 + 1 : due_.front();
    auto words = blocks::completion(4 * dice.below(32), length, kOwn, tag % 32 | kSide, dice);
    if (dice.chance(wrong_)) words[0].data[0] |= std::uint64_t{1} << 53;  // a status
    source_.add(words);
    tag_ = (tag_ + 1) % 32;
    due_.pop_front();
  }

  blocks::PacketSource source_;
  unsigned wrong_, ready_, chunks_;
  unsigned tag_ = 0, under_way_ = 0, asked_ = 0;
  bool abandon_ = false;
  std::deque<unsigned> due_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
