// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
#include "vcsn/read_dma.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;

struct Twin {
  struct State {
    thalweg::Domains domains;
    vcsn::BoardMemory memory{"memory", 1, blocks::kMemoryBytes, blocks::bank_timing};
    vcsn::ReadDma engine{domains.add({1, 0}), memory, {.burst = Parameters::Burst, .buffer = Parameters::Buffer}};
  };
  std::unique_ptr<State> state;  ///< from the first step on, when the run's timing is known
  vcsn::Transfer gathered;
  std::deque<std::pair<Tick, vcsn::Transfer>> submitted;
  Tick now = 0, ended = -1;

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.ended_o.set(ended == now);
    if (!state) return;
    if (const auto [address, words] = state->engine.request(now); words > 0) {
      out.request_valid_o.set(true);
      out.request_address_o.set(address);
      out.request_words_o.set(words);
    }
    if (state->engine.offers() > now) return;
    const vcsn::Word& word = state->engine.front();
    out.out_valid_o.set(true);
    out.out_data_o.set(blocks::data_of(word));
    out.out_first_o.set(word.first);
    out.out_last_o.set(word.last);
    out.out_channel_o.set(word.channel);
  }
  void step(const Inputs& in) {
    if (!state) {
      state = std::make_unique<State>();
      state->memory.bytes.write(0, blocks::memory_bytes());
      state->engine.changed = [] {};
      state->engine.ended = [this](const vcsn::Ended& done) { ended = done.cycle; };
    }
    state->engine.step(now);
    if (in.out_ready_i.get() && state->engine.offers() <= now) state->engine.take(now);
    if (in.segment_valid_i.get()) {
      const std::uint64_t words = in.segment_words_i.get(), tail = in.segment_tail_i.get();
      gathered.segments.push_back({in.segment_address_i.get(), words * vcsn::kWord - (tail ? vcsn::kWord - tail : 0)});
      gathered.channel = static_cast<std::uint8_t>(in.segment_channel_i.get());
      if (in.segment_last_i.get()) submitted.emplace_back(now + 2, std::exchange(gathered, {}));
    }
    ++now;
    for (; !submitted.empty() && submitted.front().first == now; submitted.pop_front())
      state->engine.submit(std::move(submitted.front().second));
  }
};

/// Transfers of segments anywhere in the memory, as many as there is room for. The memory answers in order. Lanes:
/// transfers, readiness.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 200, 20)),
        short_(run.pick(0, 500, 950)),
        one_(run.pick(0, 500, 900)),
        ready_(run.pick(1000, 900, 500, 50)),
        memory_(blocks::memory_bytes()) {
    blocks::draw_timing(run);
    bank_.emplace(blocks::bank_timing);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice dice = draws.lane(0), ready = draws.lane(1);
    answer(seen, next);
    next.out_ready_i.set(ready.chance(ready_));
    if (seen.out_valid_o.get() && next.out_ready_i.get() && seen.out_last_o.get()) {
      waiting_ -= transfers_.front();
      transfers_.pop_front();
    }
    if (left_ == 0 && dice.chance(load_)) {
      const unsigned segments = 1 + dice.below(dice.chance(one_) ? 1 : Parameters::Segments);
      if (waiting_ + segments <= Parameters::Segments) {
        left_ = segments;
        waiting_ += segments;
        transfers_.push_back(segments);
        channel_ = dice.below(256);
      }
    }
    if (left_ == 0) return;
    --left_;
    const std::uint64_t words = 1 + dice.below(dice.chance(short_) ? 2 : 100);
    next.segment_valid_i.set(true);
    next.segment_words_i.set(words);
    next.segment_tail_i.set(left_ == 0 ? dice.below(64) : 0);
    next.segment_address_i.set(dice.below(static_cast<unsigned>(blocks::kMemoryBytes - words * vcsn::kWord)));
    next.segment_last_i.set(left_ == 0);
    next.segment_channel_i.set(channel_);
  }

 private:
  void answer(const Outputs& seen, Inputs& next) {
    // An answer is in the engine's register in the cycle in which the bank has the data.
    if (!answers_.empty() && answers_.front().first == now_ + 1) {
      blocks::WordData data;
      std::memcpy(data.data(), memory_.data() + answers_.front().second, sizeof data);
      next.answer_valid_i.set(true);
      next.answer_data_i.set(data);
      answers_.pop_front();
    }
    if (seen.request_valid_o.get())
      for (unsigned k = 0; k < seen.request_words_o.get(); ++k) {
        const std::uint64_t address = seen.request_address_o.get() + k * vcsn::kWord;
        data_at_ = std::max(data_at_ + 1, bank_->data(now_, bank_->access(now_, address, vcsn::kWord, false)));
        answers_.emplace_back(data_at_, address);
      }
    ++now_;
  }

  unsigned load_, short_, one_, ready_;
  std::vector<std::byte> memory_;
  std::optional<thalweg::Bank> bank_;
  std::deque<std::pair<Tick, std::uint64_t>> answers_;
  std::deque<unsigned> transfers_;  ///< segments of the transfers that have not ended
  unsigned waiting_ = 0, left_ = 0, channel_ = 0;
  Tick now_ = 0, data_at_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
