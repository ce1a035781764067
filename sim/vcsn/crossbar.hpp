// SPDX-License-Identifier: Apache-2.0
// The crossbar of a node's shell: each output forwards packets from its selected input. Outputs are skid buffers
// (`common/skid`), so a word takes one cycle. C++ model of rtl/vcsn/tw_crossbar.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "core/require.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

/// A packet that has passed an output. Times are in the shell's cycles.
struct Passed {
  unsigned input = 0, output = 0;
  Tick begin = 0;  ///< its first word was at the input
  Tick end = 0;    ///< its last word left the output
  std::uint64_t words = 0;
};

/// A new input selection takes effect after the packet that is moving.
class Crossbar final : public Component {
 public:
  explicit Crossbar(Domain& domain) : domain_(&domain), id_(domain.scheduler.add(*this)) {}

  /// Indices follow the order of the calls, which must be made before time starts.
  unsigned add(Source& source) {
    sources_.push_back(&source);
    taken_by_.emplace_back();
    free_.push_back(0);
    return static_cast<unsigned>(sources_.size() - 1);
  }
  unsigned add(Sink& sink) {
    outputs_.emplace_back().sink = &sink;
    return static_cast<unsigned>(outputs_.size() - 1);
  }

  /// Selects the input of an output, from now on; none disables the output. Returns false, without a change, if another
  /// output has selected the input.
  bool set(unsigned output, std::optional<unsigned> input) {
    if (input && output_of(*input).value_or(output) != output) return false;
    outputs_.at(output).select = input;
    wake(0);
    return true;
  }
  [[nodiscard]] std::optional<unsigned> input_of(unsigned output) const { return outputs_[output].select; }
  /// The output that has selected an input.
  [[nodiscard]] std::optional<unsigned> output_of(unsigned input) const {
    for (unsigned output = 0; output < outputs_.size(); ++output)
      if (outputs_[output].select == input) return output;
    return std::nullopt;
  }
  /// Restarts: deselects all inputs, and drops words in the output registers. Returns their number.
  std::uint64_t reset() {
    std::uint64_t dropped = 0;
    for (Output& output : outputs_) {
      dropped += output.in.count() - output.out.count();
      Sink* const sink = output.sink;
      output = {};
      output.sink = sink;
    }
    taken_by_.assign(sources_.size(), std::nullopt);
    free_.assign(sources_.size(), 0);
    return dropped;
  }
  /// The input from which an output takes a word in this cycle; everything before the cycle must be known.
  [[nodiscard]] std::optional<unsigned> moves(unsigned output, Tick now) const {
    const Output& of = outputs_[output];
    if (of.in.count() >= of.out.count() + 2 || room(of) > now) return std::nullopt;
    const auto there = [&](unsigned input) { return sources_[input]->offers() <= now; };
    if (of.from) return there(*of.from) && !lost_end(of) ? of.from : std::nullopt;
    if (!of.select || !there(*of.select) || taken_by_[*of.select]) return std::nullopt;
    return std::max(free_[*of.select], of.begins) <= now ? of.select : std::nullopt;
  }
  /// The word at an output in this cycle, or nullptr.
  [[nodiscard]] const Word* front(unsigned output, Tick now) const {
    const Output& of = outputs_[output];
    const auto next = of.out.count();
    return of.in.count() > next && of.in.of(static_cast<std::int64_t>(next)) < now ? &of.words[next & 1] : nullptr;
  }
  /// The last kKept packets that have passed completely.
  [[nodiscard]] const std::deque<Passed>& passed() const { return passed_; }
  static constexpr std::size_t kKept = 1 << 20;
  [[nodiscard]] unsigned outputs() const { return static_cast<unsigned>(outputs_.size()); }
  /// Number of words that have left an output.
  [[nodiscard]] std::uint64_t words(unsigned output) const { return outputs_[output].out.count(); }

  /// Call when times of an input or an output have become known.
  void source_changed(unsigned input) {
    if (taken_by_[input]) run(*taken_by_[input], -1);
    // The start of a packet is decided in its cycle.
    if (const Tick at = sources_[input]->offers(); at != kNever && !taken_by_[input]) wake(at);
  }
  void sink_changed(unsigned output) { run(output, -1); }

  bool step(Tick now) override {
    for (unsigned output = 0; output < outputs_.size(); ++output) run(output, now);
    return false;
  }

 private:
  struct Output {
    Sink* sink = nullptr;
    std::optional<unsigned> select;  ///< selected input
    std::optional<unsigned> from;    ///< input of the packet that is moving
    std::array<Word, 2> words;       ///< output register and skid register
    Times in{4}, out{4};
    std::array<Passed, 2> of;  ///< packets of these words; `words` is the number of the packet's first word
    Passed now;                ///< the packet that is moving
    Tick begins = 0;           ///< earliest start of the next packet
  };

  /// First cycle in which an output has space for its next word.
  [[nodiscard]] static Tick room(const Output& output) {
    const auto count = static_cast<std::int64_t>(output.in.count());
    return std::max(output.in.of(count - 1), output.out.of(count - 2)) + 1;
  }
  /// True if the packet's input offers the start of another packet.
  [[nodiscard]] bool lost_end(const Output& output) const {
    return sources_[*output.from]->front().first && output.in.count() > output.now.words;
  }
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->next())); }

  /// Moves words of an output as far as times are known. `now`: the cycle in its own step, else -1; packets start only
  /// in steps.
  void run(unsigned number, Tick now) {
    Output& output = outputs_[number];
    for (bool moved = true; moved;) {
      moved = false;
      const auto in = output.in.count(), out = output.out.count();
      if (in > out) {
        const auto next = static_cast<std::int64_t>(out);
        if (const Tick ready = output.sink->accepts(); ready != kNever) {
          const Tick at = std::max({ready, output.in.of(next) + 1, output.out.of(next - 1) + 1});
          output.out.add(at);
          const Word& word = output.words[out & 1];
          output.sink->put(at, word);
          if (word.last) {
            const Passed& of = output.of[out & 1];
            passed_.push_back({of.input, number, of.begin, at, out + 1 - of.words});
            if (passed_.size() > kKept) passed_.pop_front();
          }
          moved = true;
        }
      }
      if (output.in.count() < output.out.count() + 2) moved |= take(number, output, now);
    }
  }

  bool take(unsigned number, Output& output, Tick now) {
    if (!output.from && !output.select) return false;
    const unsigned input = output.from ? *output.from : *output.select;
    Source& source = *sources_[input];
    const Tick offered = source.offers();
    if (offered == kNever) return false;
    const auto count = static_cast<std::int64_t>(output.in.count());
    Tick at = std::max(offered, room(output));
    if (output.from && lost_end(output)) {
      if (now < at) {
        wake(at);
        return false;
      }
      taken_by_[input].reset();
      output.from.reset();
      free_[input] = output.begins = at + 1;
      wake(at + 1);
      return false;
    }
    if (!output.from) {
      if (taken_by_[input]) return false;
      at = std::max({at, free_[input], output.begins});
      if (now < at) {
        wake(at);
        return false;
      }
      at = now;
      output.from = input;
      taken_by_[input] = number;
      output.now = {input, number, at, 0, output.in.count()};
    }
    Word& place = output.words[static_cast<std::size_t>(count) & 1];
    place = source.front();
    output.of[static_cast<std::size_t>(count) & 1] = output.now;
    output.in.add(at);
    source.take(at);
    if (place.last) {
      output.from.reset();
      taken_by_[input].reset();
      free_[input] = at + 1;
      for (const Output& other : outputs_)
        if (&other != &output && other.select == input) wake(at + 1);
    }
    return true;
  }

  Domain* domain_;
  ComponentId id_;
  std::vector<Source*> sources_;
  std::vector<std::optional<unsigned>> taken_by_;  ///< of each input: the output to which its current packet moves
  std::vector<Tick> free_;                         ///< of each input: earliest start of its next packet
  std::vector<Output> outputs_;
  std::deque<Passed> passed_;
};

}  // namespace thalweg::vcsn
