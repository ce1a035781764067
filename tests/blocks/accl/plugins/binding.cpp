// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <optional>

#include "accl/plugins.hpp"
#include "blocks/accl/floats.hpp"
#include "blocks/elements.hpp"

namespace {

namespace accl = thalweg::accl;
using accl::Conversion, accl::PluginJob;
using thalweg::spec::Datatype, thalweg::spec::Operator;
using top::Inputs, top::Outputs, top::Parameters;
using Data = thalweg::Word<512>;

const std::vector<blocks::Pair> kPairs = blocks::built();

struct Twin {
  accl::Plugins plugins{Parameters::Conversions != 0, !kPairs.empty(), Parameters::Latency, Parameters::Jobs};

  void outputs(const Inputs&, Outputs& out) const {
    out.job_ready_o.set(plugins.ready());
    out.x_ready_o.set(plugins.x_ready());
    out.y_ready_o.set(plugins.y_ready());
    out.out_valid_o.set(plugins.valid());
    if (!plugins.valid()) return;
    out.out_data_o.set(plugins.front().data);
    out.out_last_o.set(plugins.front().last);
  }
  void step(const Inputs& in) {
    const auto fields = in.job_i.get();
    PluginJob job{.unit = {},
                  .x = static_cast<Conversion>(fields.x),
                  .y = static_cast<Conversion>(fields.y),
                  .z = static_cast<Conversion>(fields.z),
                  .elements = static_cast<std::uint16_t>(fields.elements)};
    if (fields.combines)
      job.unit = accl::Unit{static_cast<Operator>(fields.operation), static_cast<Datatype>(fields.datatype)};
    const accl::DataWord x{in.x_data_i.get(), in.x_last_i.get() != 0}, y{in.y_data_i.get(), in.y_last_i.get() != 0};
    plugins.step(in.job_valid_i.get() ? &job : nullptr, in.x_valid_i.get() ? &x : nullptr,
                 in.y_valid_i.get() ? &y : nullptr, in.out_ready_i.get() != 0);
  }
};

/// Jobs of elements that are converted, combined, both or neither. Lanes: jobs, sender of x, of y, receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4;

  explicit Stimulus(bisim::Dice run)
      : job_load_(run.pick(1000, 500, 50)),
        x_{run.pick(1000, 900, 500, 50)},
        y_{run.pick(1000, 900, 500, 50)},
        stall_(run.pick(0, 100, 500, 900)),
        most_(run.pick(8, 40, 200, 2000)),
        passes_(kPairs.empty() ? 1000 : run.pick(0, 100, 500, 950)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice jobs = draws.lane(0), receiver = draws.lane(3);
    if (!job_ && jobs.chance(job_load_)) draw(jobs);
    if (job_) {
      next.job_valid_i.set(true);
      next.job_i.set({.combines = job_->unit.has_value(),
                      .operation = static_cast<std::uint64_t>(job_->unit ? job_->unit->op : Operator::none),
                      .datatype = static_cast<std::uint64_t>(job_->unit ? job_->unit->type : Datatype::byte),
                      .x = static_cast<std::uint64_t>(job_->x),
                      .y = static_cast<std::uint64_t>(job_->y),
                      .z = static_cast<std::uint64_t>(job_->z),
                      .elements = job_->elements});
    }
    x_.drive(draws.lane(1), next.x_valid_i, next.x_data_i, next.x_last_i);
    y_.drive(draws.lane(2), next.y_valid_i, next.y_data_i, next.y_last_i);
    next.out_ready_i.set(!receiver.chance(stall_));
    if (seen.job_ready_o.get()) job_.reset();
    if (seen.x_ready_o.get()) x_.taken();
    if (seen.y_ready_o.get()) y_.taken();
  }

 private:
  /// A stream of packets.
  struct Stream {
    unsigned load;
    std::deque<unsigned> words;  ///< remaining words of each packet
    std::optional<Data> word;

    void drive(bisim::Dice dice, auto& valid, auto& data, auto& last) {
      if (!word && !words.empty() && dice.chance(load)) {
        word = blocks::convertible_word(dice);
        if (dice.chance(500))
          for (auto& part : *word) part = blocks::element(dice);
      }
      if (!word) return;
      valid.set(true);
      data.set(*word);
      last.set(words.front() == 1);
    }
    void taken() {
      if (!word) return;
      word.reset();
      if (--words.front() == 0) words.pop_front();
    }
  };

  void draw(bisim::Dice& dice) {
    PluginJob job{.elements = static_cast<std::uint16_t>(1 + dice.below(most_))};
    unsigned bytes = 1U << dice.below(4);
    if (!dice.chance(passes_)) {
      const blocks::Pair pair = kPairs[dice.below(static_cast<unsigned>(kPairs.size()))];
      job.unit = accl::Unit{pair.op, pair.type};
      bytes = accl::bytes_of(pair.type);
    }
    const auto operand = [&](Conversion& conversion, Stream& stream) {
      unsigned from = bytes;
      if (Parameters::Conversions != 0 && (bytes == 2 || bytes == 4) && dice.chance(500)) {
        conversion = bytes == 2 ? Conversion::narrow : Conversion::widen;
        from = 6 - bytes;
      }
      stream.words.push_back((job.elements * from + 63) / 64);
    };
    operand(job.x, x_);
    if (job.unit) operand(job.y, y_);
    if (Parameters::Conversions != 0 && (bytes == 2 || bytes == 4) && dice.chance(500))
      job.z = bytes == 2 ? Conversion::widen : Conversion::narrow;
    job_ = job;
  }

  unsigned job_load_;
  Stream x_, y_;
  unsigned stall_, most_, passes_;
  std::optional<PluginJob> job_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
