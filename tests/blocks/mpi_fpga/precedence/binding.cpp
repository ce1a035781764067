// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/precedence.hpp"

namespace {

using thalweg::mpi_fpga::Precedence;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kRows = Parameters::Rows, kEntries = Parameters::Entries;
constexpr std::uint32_t kAllEdges = static_cast<std::uint32_t>((std::uint64_t{1} << Parameters::Edges) - 1);

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const auto held = precedence_.held(get(in.held_row_i), get(in.held_entry_i));
    out.held_reading_o.set(held.reading);
    out.held_writing_o.set(held.writing);
    out.reading_o.set(precedence_.reading(get(in.reading_row_i)));
  }

  void step(const Inputs& in) {
    if (in.end_valid_i.get()) precedence_.end(get(in.end_row_i), get(in.end_entry_i), get(in.end_process_i));
    if (in.add_valid_i.get())
      precedence_.add(get(in.add_row_i), get(in.add_entry_i), get(in.add_process_i), in.add_first_i.get() != 0,
                      {get(in.add_reading_i), get(in.add_writing_i)});
    if (in.begin_valid_i.get()) precedence_.begin(get(in.begin_row_i));
    if (in.load_valid_i.get()) precedence_.load(get(in.load_row_i));
  }

 private:
  template <class Port>
  static std::uint32_t get(const Port& port) {
    return static_cast<std::uint32_t>(port.get());
  }

  Precedence precedence_{kEntries};
};

/// Operations in their entries, whose processes add edges that no other process of theirs has, in one step or several,
/// and end. Rows without operations are reloaded. Lanes: operations, edges, and queries.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run) : begin_(run.pick(300, 900)), end_(run.pick(100, 400, 800)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice operations = draws.lane(0), edges = draws.lane(1), asked = draws.lane(2);
    next.held_row_i.set(asked.below(kRows));
    next.held_entry_i.set(asked.below(kEntries));
    next.reading_row_i.set(asked.below(kRows));

    if (operations.chance(end_)) end(next, operations);
    if (adding_) {
      if (edges.chance(800)) add(next, edges);
      return;
    }
    const unsigned row = operations.below(kRows);
    Row& of = rows_[row];
    if (operations.chance(30) && !of.busy()) {
      next.load_valid_i.set(true);
      next.load_row_i.set(row);
      of.next = 0;
    } else if (operations.chance(begin_) && of.places[of.next].running.empty()) {
      next.begin_valid_i.set(true);
      next.begin_row_i.set(row);
      adding_ = true;
      row_ = row;
      place_ = of.next;
      process_ = step_ = 0;
      processes_ = 1 + operations.below(4);
      steps_ = 1 + operations.below(3);
      of.places[place_].left = {kAllEdges, kAllEdges};
      of.next = (of.next + 1) % kEntries;
    }
  }

 private:
  struct Entry {
    std::vector<unsigned> running;  ///< processes that have been added
    Precedence::Edges left;         ///< that no process of the operation uses
  };
  struct Row {
    unsigned next = 0;
    std::array<Entry, kEntries> places;
    [[nodiscard]] bool busy() const {
      for (const Entry& place : places)
        if (!place.running.empty()) return true;
      return false;
    }
  };

  void add(Inputs& next, bisim::Dice& dice) {
    Entry& place = rows_[row_].places[place_];
    const Precedence::Edges edges{place.left.reading & dice.bits(), place.left.writing & dice.bits()};
    next.add_valid_i.set(true);
    next.add_row_i.set(row_);
    next.add_entry_i.set(place_);
    next.add_process_i.set(process_);
    next.add_first_i.set(step_ == 0);
    next.add_reading_i.set(edges.reading);
    next.add_writing_i.set(edges.writing);
    place.left.reading &= ~edges.reading;
    place.left.writing &= ~edges.writing;
    if (++step_ < steps_) return;
    step_ = 0;
    place.running.push_back(process_);
    adding_ = ++process_ < processes_;
  }

  void end(Inputs& next, bisim::Dice& dice) {
    const unsigned row = dice.below(kRows), at = dice.below(kEntries);
    Entry& place = rows_[row].places[at];
    if (place.running.empty() || (adding_ && row == row_ && at == place_)) return;
    next.end_valid_i.set(true);
    next.end_row_i.set(row);
    next.end_entry_i.set(at);
    next.end_process_i.set(place.running.back());
    place.running.pop_back();
  }

  unsigned begin_, end_;
  std::array<Row, kRows> rows_;
  bool adding_ = false;  ///< adds the processes of an operation, one after another
  unsigned row_ = 0, place_ = 0, process_ = 0, processes_ = 0, step_ = 0, steps_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
