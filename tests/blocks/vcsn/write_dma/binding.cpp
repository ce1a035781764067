// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/dma_memory.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/write_dma.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;

unsigned ahead;  ///< cycles by which the run's memory may lag

struct Twin {
  struct State {
    thalweg::Domains domains;
    vcsn::BoardMemory memory{"memory", 1, blocks::kMemoryBytes, blocks::bank_timing};
    vcsn::WriteDma engine{
        domains.add({1, 0}), memory, {.burst = Parameters::Burst, .buffer = Parameters::Buffer, .ahead = ahead}};
  };
  struct Going {
    std::optional<blocks::WordData> data;  ///< dropped: none
    std::uint64_t keep = 0;
  };
  std::unique_ptr<State> state;  ///< from the first step on, when the run's timing is known
  vcsn::Transfer gathered;
  std::deque<std::pair<Tick, vcsn::Transfer>> submitted;
  std::deque<blocks::WordData> words;  ///< in the buffer
  std::deque<Going> going;             ///< of the piece that has begun, from this cycle on
  std::deque<Tick> ends;
  bool overrun = false, headless = false, broken = false;
  Tick now = 0;

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.overrun_o.set(overrun);
    out.headless_o.set(headless);
    out.broken_o.set(broken);
    out.ended_o.set(!ends.empty() && ends.front() == now);
    if (!state) return;
    out.in_ready_o.set(state->engine.accepts() <= now);
    const auto piece = state->engine.next(now);
    if (piece && piece->address) {
      out.burst_valid_o.set(true);
      out.burst_address_o.set(*piece->address);
      out.burst_words_o.set(piece->words);
    }
    const auto word = !going.empty() ? going.front() : piece && piece->words > 0 ? first(*piece, 0) : Going{};
    if (!word.data) return;
    out.word_valid_o.set(true);
    out.word_data_o.set(*word.data);
    out.word_keep_o.set(word.keep);
  }
  void step(const Inputs& in) {
    if (!state) {
      state = std::make_unique<State>();
      state->engine.changed = [] {};
      state->engine.ended = [this](const vcsn::Ended& done) { ends.push_back(done.cycle); };
    }
    vcsn::WriteDma& engine = state->engine;
    const bool takes = in.in_valid_i.get() && engine.accepts() <= now;
    if (const auto piece = engine.next(now))
      for (unsigned k = 0; k < piece->words; ++k) going.push_back(first(*piece, k));
    engine.step(now);
    overrun = !going.empty() && !going.front().data;
    if (!going.empty()) {
      going.pop_front();
      words.pop_front();
    }
    const auto headless_before = engine.headless(), broken_before = engine.broken();
    if (takes) {
      engine.put(now, blocks::word_of(in.in_data_i.get(), in.in_first_i.get(), in.in_last_i.get(), 0));
      if (engine.headless() == headless_before) words.push_back(in.in_data_i.get());
    }
    headless = engine.headless() > headless_before;
    broken = engine.broken() > broken_before;
    if (!ends.empty() && ends.front() == now) ends.pop_front();
    if (in.segment_valid_i.get()) {
      const std::uint64_t count = in.segment_words_i.get(), tail = in.segment_tail_i.get();
      gathered.segments.push_back({in.segment_address_i.get(), count * vcsn::kWord - (tail ? vcsn::kWord - tail : 0)});
      if (in.segment_last_i.get()) submitted.emplace_back(now + 2, std::exchange(gathered, {}));
    }
    ++now;
    for (; !submitted.empty() && submitted.front().first == now; submitted.pop_front())
      engine.submit(std::move(submitted.front().second));
  }

 private:
  /// Word `k` of a piece that begins.
  [[nodiscard]] Going first(const vcsn::WriteDma::Piece& piece, unsigned k) const {
    if (!piece.address) return {};
    const std::uint64_t left = piece.bytes - std::uint64_t{k} * vcsn::kWord;
    return {words[k], left >= vcsn::kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1};
  }
};

/// Packets, some of which have lost their first or last word, longer and shorter than transfers. Lanes: transfers,
/// words.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 200, 20)),
        short_(run.pick(0, 500, 950)),
        one_(run.pick(0, 500, 900)),
        comes_(run.pick(1000, 900, 500, 50)),
        ends_(run.pick(10, 50, 300, 900)),
        lost_(run.pick(0, 30, 300)) {
    blocks::draw_timing(run);
    ahead = run.pick(64, 8, 0);
    bank_.emplace(blocks::bank_timing);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0), words = draws.lane(1);
    memory(seen, next);
    if (seen.ended_o.get()) {
      waiting_ -= transfers_.front();
      transfers_.pop_front();
    }
    word(seen, words, next);
    if (left_ == 0 && dice.chance(load_)) {
      const unsigned segments = 1 + dice.below(dice.chance(one_) ? 1 : Parameters::Segments);
      if (waiting_ + segments <= Parameters::Segments) {
        left_ = segments;
        waiting_ += segments;
        transfers_.push_back(segments);
      }
    }
    if (left_ == 0) return;
    --left_;
    const std::uint64_t count = 1 + dice.below(dice.chance(short_) ? 2 : 100);
    next.segment_valid_i.set(true);
    next.segment_words_i.set(count);
    next.segment_tail_i.set(left_ == 0 ? dice.below(64) : 0);
    next.segment_address_i.set(dice.below(static_cast<unsigned>(blocks::kMemoryBytes - count * vcsn::kWord)));
    next.segment_last_i.set(left_ == 0);
  }

 private:
  void word(const Outputs& seen, bisim::Dice& dice, Inputs& next) {
    if (!offers_ && dice.chance(comes_)) {
      offers_ = true;
      blocks::fill(next.in_data_i, dice);
      data_ = next.in_data_i.get();
      first_ = dice.chance(lost_) ? dice.chance(500) : begins_;
      last_ = dice.chance(ends_);
      begins_ = dice.chance(lost_) ? dice.chance(500) : last_;
    }
    next.in_valid_i.set(offers_);
    next.in_data_i.set(data_);
    next.in_first_i.set(first_);
    next.in_last_i.set(last_);
    if (seen.in_ready_o.get()) offers_ = false;
  }
  /// The memory. A burst begins in a cycle with ready_i, and is shown in that cycle.
  void memory(const Outputs& seen, Inputs& next) {
    next.ready_i.set(now_ >= ready_);
    next.written_i.set(!written_.empty() && written_.front() == now_);
    if (next.written_i.get()) written_.pop_front();
    if (seen.burst_valid_o.get()) {
      const double moved =
          bank_->access(now_, seen.burst_address_o.get(), seen.burst_words_o.get() * vcsn::kWord, true);
      complete_ = std::max(complete_ + 1, static_cast<Tick>(std::ceil(moved)));
      written_.push_back(complete_);
      ready_ = static_cast<Tick>(moved) - ahead;
    }
    ++now_;
  }

  unsigned load_, short_, one_, comes_, ends_, lost_;
  std::optional<thalweg::Bank> bank_;
  std::deque<Tick> written_;
  std::deque<unsigned> transfers_;  ///< segments of the transfers that have not ended
  unsigned waiting_ = 0, left_ = 0;
  blocks::WordData data_{};
  bool offers_ = false, first_ = false, last_ = false, begins_ = true;
  Tick now_ = 0, ready_ = 0, complete_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
