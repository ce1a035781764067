// SPDX-License-Identifier: Apache-2.0
// The crossbar of a node's shell: each output forwards packets from its selected input. Outputs are skid buffers (`common/skid`), so a
// word takes one cycle. C++ model of rtl/vcsn/tw_crossbar.sv.
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

/// A packet at an output, in the shell's cycles.
struct Passed {
  unsigned input = 0, output = 0;
  Tick begin = 0;  ///< its first word is at the input
  Tick end = 0;    ///< its last word leaves the output
  std::uint64_t words = 0;
};

/// An output that is set to another input takes its packets from the end of the packet on that is moving.
class Crossbar final : public Component {
 public:
  explicit Crossbar(Domain& domain) : domain_(&domain), id_(domain.scheduler.add(*this)) {}

  /// Their numbers are in the order of the calls, before time starts.
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

  /// From now on; no input: the output takes nothing. False, and nothing changes, where another output is set to the input.
  bool set(unsigned output, std::optional<unsigned> input) {
    if (input && output_of(*input).value_or(output) != output) return false;
    outputs_.at(output).select = input;
    wake(0);
    return true;
  }
  [[nodiscard]] std::optional<unsigned> input_of(unsigned output) const { return outputs_[output].select; }
  /// The output that is set to an input.
  [[nodiscard]] std::optional<unsigned> output_of(unsigned input) const {
    for (unsigned output = 0; output < outputs_.size(); ++output)
      if (outputs_[output].select == input) return output;
    return std::nullopt;
  }
  /// A restart: no output is set, and words in its registers are dropped. How many.
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
  /// The input of which an output takes a word in this cycle, in which all that was before is known.
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
  /// The packets that have passed whole, the last kKept of them.
  [[nodiscard]] const std::deque<Passed>& passed() const { return passed_; }
  static constexpr std::size_t kKept = 1 << 20;
  [[nodiscard]] unsigned outputs() const { return static_cast<unsigned>(outputs_.size()); }
  /// That have left an output.
  [[nodiscard]] std::uint64_t words(unsigned output) const { return outputs_[output].out.count(); }

  /// Something has become known of an input or an output.
  void source_changed(unsigned input) {
    if (taken_by_[input]) run(*taken_by_[input], -1);
    // A packet's begin is decided in its cycle.
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
    std::optional<unsigned> select;  ///< as it is set
    std::optional<unsigned> from;    ///< of the packet that moves
    std::array<Word, 2> words;       ///< in the register and the skid place
    Times in{4}, out{4};
    std::array<Passed, 2> of;  ///< of each of these words: its packet, where `words` has the number of its first word
    Passed now;                ///< the packet that moves
    Tick begins = 0;           ///< the next one, at the earliest
  };

  /// From when on an output has a place for its next word.
  [[nodiscard]] static Tick room(const Output& output) {
    const auto count = static_cast<std::int64_t>(output.in.count());
    return std::max(output.in.of(count - 1), output.out.of(count - 2)) + 1;
  }
  /// Its packet's input begins another one, with the word that it offers.
  [[nodiscard]] bool lost_end(const Output& output) const {
    return sources_[*output.from]->front().first && output.in.count() > output.now.words;
  }
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->next())); }

  /// Moves words of an output as far as times are known. `now`: in its own step; a packet can begin then alone.
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
  std::vector<std::optional<unsigned>> taken_by_;  ///< of each input: the output that a packet of it moves to
  std::vector<Tick> free_;                         ///< and from when on its next packet may begin
  std::vector<Output> outputs_;
  std::deque<Passed> passed_;
};

}  // namespace thalweg::vcsn
