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
    out.busy_o.set(writer_.busy());
    out.refused_o.set(writer_.refused());
    out.failed_o.set(writer_.failed());
    out.quiet_o.set(writer_.quiet());
    out.waits_o.set(writer_.waits());
    out.descriptor_valid_o.set(writer_.descriptor().has_value());
    if (!writer_.descriptor()) return;
    for (unsigned i = 0; i < 4; ++i) bisim::put_bits(out.descriptor_o.words, 64 * i, 64, (*writer_.descriptor())[i]);
  }
  void step(const Inputs& in) {
    const auto word = blocks::get_word(in);
    const peach2::Chunk chunk{static_cast<unsigned>(in.chunk_tag_i.get()), static_cast<unsigned>(in.chunk_from_i.get()),
                              in.chunk_to_i.get(), static_cast<unsigned>(in.chunk_dwords_i.get())};
    writer_.step(in.in_valid_i.get() ? &word : nullptr, in.fetch_valid_i.get() != 0,
                 in.chunk_valid_i.get() ? &chunk : nullptr, in.out_ready_i.get() != 0, in.abandon_i.get() != 0,
                 in.forget_i.get() != 0);
  }

 private:
  peach2::DmaWriter writer_{Parameters::Reads, kOwn, kSide, Parameters::Words};
};

/// Reads and, later, their completions in any order, in one or more parts, and between them those of descriptors; sometimes an
/// invalid one, followed by the signals of a reader that aborts its chain, and may give up reads that are still answered. Lanes: reads,
/// completions, the receiver of writes.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : source_(run.pick(1000, 900, 300)),
        wrong_(run.pick(0, 0, 10)),
        lost_(run.pick(0, 20)),
        ready_(run.pick(1000, 800, 200)),
        chunks_(run.pick(300, 20)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice chunks = draws.lane(0), completions = draws.lane(1), out = draws.lane(2);
    next.own_i.set(kOwn);
    next.out_ready_i.set(out.chance(ready_));
    if (seen.answered_o.get() && asked_ > 0) --asked_;
    if (seen.failed_o.get() || completions.chance(wrong_ / 2)) abandon_ = true;
    next.abandon_i.set(abandon_);
    if (abandon_ && ((asked_ == 0 && seen.quiet_o.get()) || completions.chance(lost_))) {
      next.forget_i.set(true);
      abandon_ = fetching_ = false;
      asked_ = 0;
      due_.clear();
      return;
    }
    const bool free = !(seen.busy_o.get() >> tag_ & 1) && issued_ != tag_;
    issued_ = kNone;
    if (!abandon_ && free && due_.size() < Parameters::Reads && chunks.chance(chunks_)) {
      const Read read{
          .number = tag_, .address = 4 * chunks.below(32), .left = chunks.chance(300) ? 64 : 1 + chunks.below(64)};
      std::uint64_t to = chunks.bits() & (peach2::kAddresses / 4 - 1);
      to = std::min(to, (to | 63) + 1 - read.left);  // within 256 bytes
      next.chunk_valid_i.set(true);
      next.chunk_tag_i.set(tag_);
      next.chunk_from_i.set(read.address / 4);
      next.chunk_to_i.set(to);
      next.chunk_dwords_i.set(read.left);
      due_.push_back(read);
      ++asked_;
      issued_ = tag_;
      tag_ = (tag_ + 1) % Parameters::Reads;
    } else if (!abandon_ && !fetching_ && chunks.chance(chunks_ / 4)) {
      next.fetch_valid_i.set(true);
      fetching_ = true;
      ++asked_;
    }
    if (source_.empty() && completions.chance(500)) answer(completions);
    if (blocks::offer(source_, completions, seen.in_ready_o.get() != 0, next)) source_.taken();
  }

 private:
  static constexpr unsigned kNone = ~0u;
  struct Read {
    unsigned number = 0;
    std::uint64_t address = 0;
    unsigned left = 0;
  };

  void answer(bisim::Dice& dice) {
    if (fetching_ && dice.chance(300)) {
      fetching_ = false;
      source_.add(blocks::completion(32 * dice.below(4), 8, kOwn, kSide | peach2::kFetchTag, dice));
      return;
    }
    if (due_.empty()) return;
    const auto at = due_.begin() + dice.below(static_cast<unsigned>(due_.size()));
    const unsigned tag = kSide | at->number;
    if (dice.chance(wrong_)) {
      source_.add({blocks::failure(kOwn, tag, dice)});
      due_.erase(at);
      return;
    }
    if (dice.chance(wrong_)) {  // of no outstanding read
      source_.add(
          blocks::completion(at->address, at->left, kOwn, (tag + 1 + dice.below(200)) | peach2::kFetchTag | 1, dice));
      return;
    }
    if (dice.chance(wrong_)) {  // not the next part
      source_.add(blocks::completion(at->address + 4 * dice.below(2), at->left % 64 + 1, kOwn, tag, dice));
      due_.erase(at);
      return;
    }
    const unsigned dwords = blocks::part(at->address, at->left, dice), later = at->left - dwords;
    auto words = blocks::completion(at->address, dwords, kOwn, tag, dice, later);
    const bool failed = dice.chance(wrong_);
    if (failed)
      words[0].data[0] |= std::uint64_t{1} << 53;  // status: the last one
    else if (dice.chance(wrong_))
      words[0].data[0] |= std::uint64_t{1} << 22;  // poisoned: others follow
    source_.add(words);
    at->address = (at->address + 4 * dwords) % 128;
    at->left = later;
    if (later == 0 || failed) due_.erase(at);
  }

  blocks::PacketSource source_;
  unsigned wrong_, lost_, ready_, chunks_;
  unsigned tag_ = 0, asked_ = 0, issued_ = kNone;
  bool abandon_ = false, fetching_ = false;
  std::deque<Read> due_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
