// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "peach2/dma_reader.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;

constexpr std::uint16_t kOwn = 0x1234;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    out.start_ready_o.set(reader_.ready());
    out.abandon_o.set(reader_.abandon());
    out.forget_o.set(reader_.forget(inputs(in)));
    out.fetch_valid_o.set(reader_.fetched());
    out.finished_o.set(reader_.finished());
    out.fault_valid_o.set(reader_.fault().has_value());
    if (reader_.fault()) {
      out.fault_reason_o.set(static_cast<unsigned>(reader_.fault()->reason));
      out.fault_address_o.set(reader_.fault()->address);
    }
    const auto read = reader_.out();
    out.out_valid_o.set(read.has_value());
    if (read) out.out_data_o.set(read->data);
    const auto& chunk = reader_.chunk();
    out.chunk_valid_o.set(chunk.has_value());
    if (!chunk) return;
    out.chunk_tag_o.set(chunk->tag);
    out.chunk_from_o.set(chunk->from);
    out.chunk_to_o.set(chunk->to);
    out.chunk_dwords_o.set(chunk->dwords);
  }
  void step(const Inputs& in) { reader_.step(inputs(in)); }

 private:
  static peach2::DmaReader::In inputs(const Inputs& in) {
    peach2::DmaReader::In now{.out_ready = in.out_ready_i.get() != 0,
                              .busy = in.busy_i.get(),
                              .written = in.written_i.get() != 0,
                              .answered = in.answered_i.get() != 0,
                              .refused = in.refused_i.get() != 0,
                              .failed = in.failed_i.get() != 0,
                              .quiet = in.quiet_i.get() != 0,
                              .waits = in.waits_i.get() != 0,
                              .abort = in.abort_i.get() != 0,
                              .purge = in.purge_i.get() != 0,
                              .timeout = static_cast<unsigned>(in.timeout_i.get())};
    if (in.start_valid_i.get()) now.start = in.start_address_i.get();
    if (in.descriptor_valid_i.get()) {
      std::array<std::uint64_t, 4> words;
      for (unsigned i = 0; i < 4; ++i) words[i] = bisim::get_bits(in.descriptor_i.words, 64 * i, 64);
      now.descriptor = peach2::spec::DmaDescriptor::unpack(words);
    }
    return now;
  }

  peach2::DmaReader reader_{Parameters::Reads, kOwn, Parameters::SideTag ? peach2::kSideTag : 0,
                            Parameters::Descriptors, Parameters::Unit};
};

/// Chains of short and long descriptors, valid and invalid; reads that are refused, answers that fail or are late;
/// commands. Lanes: starts and descriptors, the receivers of reads, answers and writes.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : wrong_(run.pick(0, 0, 2)),
        ready_(run.pick(1000, 800, 200)),
        written_(run.pick(500, 50)),
        longest_(run.pick(40, 400, 3000)),
        timeout_(run.pick(0, 0, 3, 20)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    const bool abandons = seen.abandon_o.get();
    if (!abandons && (abandoned_ || seen.fault_valid_o.get())) {  // only what was issued since is outstanding
      due_ = fetched_;
      reads_ = read_;
    }
    abandoned_ = abandons;
    bisim::Dice chain = draws.lane(0), out = draws.lane(1), writes = draws.lane(2);
    next.own_i.set(kOwn);
    next.out_ready_i.set(out.chance(ready_));
    if (chain.chance(30)) {
      next.start_valid_i.set(true);
      next.start_address_i.set((chain.bits() & (peach2::kAddresses - 1)) &
                               ~std::uint64_t{chain.chance(wrong_) ? 0 : 31});
    }
    // After a time-out the writer drops descriptors, too.
    const bool drops = seen.abandon_o.get() && (seen.start_ready_o.get() || seen.fault_valid_o.get());
    if (due_ > 0 && silent_ == 0 && !drops && chain.chance(300)) {
      --due_;
      next.descriptor_valid_i.set(true);
      const auto words = descriptor(chain).pack();
      for (unsigned i = 0; i < 4; ++i) bisim::put_bits(next.descriptor_i.words, 64 * i, 64, words[i]);
    }
    next.abort_i.set(writes.chance(wrong_ / 2));
    next.purge_i.set(writes.chance(wrong_ / 2));
    next.busy_i.set(writes.chance(900) ? 0 : writes.bits() & writes.bits());
    next.quiet_i.set(writes.chance(900));
    next.waits_i.set(writes.chance(990));
    next.timeout_i.set(timeout_);
    if (timeout_ > 0 && writes.chance(1)) silent_ = 1 + writes.below(Parameters::Unit * (timeout_ + 2));
    if (silent_ > 0) --silent_;
    if (next.descriptor_valid_i.get()) {
      next.answered_i.set(true);
    } else if (due_ > 0 && silent_ == 0 && seen.abandon_o.get() && writes.chance(written_)) {
      --due_;  // dropped, or refused
      next.answered_i.set(true);
      next.refused_i.set(writes.chance(500));
    } else if (reads_ > 0 && silent_ == 0 && writes.chance(written_)) {
      --reads_;
      const bool refused = writes.chance(wrong_), failed = writes.chance(wrong_);
      next.refused_i.set(refused);
      next.answered_i.set(true);
      next.failed_i.set(refused || failed);
      next.written_i.set(!refused && !failed && !seen.abandon_o.get());
    }
    const bool goes = seen.out_valid_o.get() && next.out_ready_i.get();
    fetched_ = goes && seen.out_data_o.bit(48 + 6);  // the tag's bit for descriptors
    read_ = goes && !fetched_;
    due_ += fetched_;
    reads_ += read_;
  }

 private:
  peach2::spec::DmaDescriptor descriptor(bisim::Dice& dice) {
    peach2::spec::DmaDescriptor made;
    made.source = (dice.bits() & (peach2::kAddresses - 1)) & ~std::uint64_t{3};
    made.destination = (dice.bits() & (peach2::kAddresses - 1)) & ~std::uint64_t{3};
    made.next = (dice.bits() & (peach2::kAddresses - 1)) & ~std::uint64_t{31};
    made.size = 4 * (1 + dice.below(longest_));
    made.last = dice.chance(300);
    if (!dice.chance(wrong_)) return made;
    switch (dice.below(5)) {
      case 0:
        made.source |= std::uint64_t{1} << dice.below(2);
        break;
      case 1:
        made.destination |= std::uint64_t{1} << (39 + dice.below(25));
        break;
      case 2:
        made.next |= 1 + dice.below(31);
        break;
      case 3:
        made.size = 0;
        break;
      default:
        made.size |= 2;
        break;
    }
    return made;
  }

  unsigned wrong_, ready_, written_, longest_, timeout_;
  unsigned due_ = 0, reads_ = 0;         ///< outstanding reads: of descriptors, of data
  bool fetched_ = false, read_ = false;  ///< issued in the last cycle
  bool abandoned_ = false;               ///< in the last cycle
  unsigned silent_ = 0;                  ///< cycles without an answer
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
