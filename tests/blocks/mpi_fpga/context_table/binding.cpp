// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "bisim/bisim.hpp"
#include "mpi_fpga/context_table.hpp"

namespace {

using thalweg::mpi_fpga::Row;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kRows = Parameters::Rows, kEdges = Parameters::Edges, kRoots = Parameters::Roots;

/// A row of the simulator, and the results of the last cycle's lookups.
class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.answer_valid_o.set(answer_.has_value());
    if (answer_) {
      const auto& [row, label] = *answer_;
      out.answer_vertex_o.set({.has_rank = row.has_rank(),
                               .rooted = row.rooted != nullptr,
                               .ring = row.ring(),
                               .ranks = row.ranks,
                               .rank = row.rank & 0xFFFF,
                               .label = row.label,
                               .below = row.below,
                               .up = row.up,
                               .down = row.down,
                               .previous = row.previous,
                               .next = row.next});
      out.answer_towards_o.set(row.towards(label));
      out.answer_away_o.set(row.away_from(label));
      for (unsigned k = 0; k < kEdges; ++k) {
        out.answer_behind_o.set(row.behind(1U << k), k);
        out.answer_last_o.set(row.last(1U << k), k);
      }
    }
    for (unsigned i = 0; i < Parameters::Ends; ++i) {
      out.far_valid_o.set_bit(i, ends_[i].has_value());
      if (!ends_[i]) continue;
      out.far_neighbour_o.set(ends_[i]->neighbour, i);
      out.far_there_o.set(ends_[i]->there, i);
    }
  }

  void step(const Inputs& in) {
    answer_.reset();
    if (in.lookup_valid_i.get()) {
      const Row& row = rows_[in.lookup_row_i.get()];
      answer_ = {row, static_cast<std::uint32_t>(in.lookup_label_i.get())};
      if (row.rooted)
        answer_->row.rooted = [branch = row.rooted(static_cast<std::uint32_t>(in.lookup_label_i.get()))](
                                  std::uint32_t) { return branch; };
    }
    for (unsigned i = 0; i < Parameters::Ends; ++i) {
      ends_[i].reset();
      if (in.end_valid_i.bit(i)) ends_[i] = rows_[in.end_row_i.get(i)].edges[in.end_index_i.get(i)];
    }
    if (in.vertex_valid_i.get()) {
      const auto index = in.vertex_row_i.get();
      const top::vertex_t vertex = in.vertex_i.get();
      Row& row = rows_[index];
      row.ranks = static_cast<std::uint32_t>(vertex.ranks);
      row.rank = vertex.has_rank ? static_cast<std::uint32_t>(vertex.rank) : thalweg::mpi_fpga::kNoRank;
      row.label = static_cast<std::uint32_t>(vertex.label);
      row.below = static_cast<std::uint32_t>(vertex.below);
      row.up = static_cast<std::uint32_t>(vertex.up);
      row.down = static_cast<std::uint32_t>(vertex.down);
      row.previous = static_cast<std::uint32_t>(vertex.previous);
      row.next = static_cast<std::uint32_t>(vertex.next);
      row.rooted = nullptr;
      if (vertex.rooted) row.rooted = [this, index](std::uint32_t label) { return branches_[index][label]; };
    }
    if (in.edge_valid_i.get()) {
      const top::tree_edge_t edge = in.edge_i.get();
      rows_[in.edge_row_i.get()].edges[in.edge_index_i.get()] = {
          .neighbour = static_cast<thalweg::NodeId>(edge.neighbour),
          .there = static_cast<std::uint8_t>(edge.there),
          .first = static_cast<std::uint32_t>(edge.first),
          .behind = static_cast<std::uint32_t>(edge.behind)};
    }
    if (in.branch_valid_i.get())
      branches_[in.branch_row_i.get()][in.branch_label_i.get()] = {
          .up = static_cast<std::uint32_t>(in.branch_up_i.get()),
          .down = static_cast<std::uint32_t>(in.branch_down_i.get())};
  }

 private:
  struct Answer {
    Row row;
    std::uint32_t label;
  };

  std::array<Row, kRows> rows_;
  std::array<std::array<Row::Branch, kRoots>, kRows> branches_{};
  std::optional<Answer> answer_;
  std::array<std::optional<Row::Edge>, Parameters::Ends> ends_;
};

/// Loads every row, then performs lookups while rows are sometimes reloaded: random rows, whose labels and intervals
/// stay within the ranks. Lanes: rows, branches, lookups by label, each of the lookups by edge.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3 + Parameters::Ends;

  explicit Stimulus(bisim::Dice run) : most_ranks_(run.pick(16, 2, 65535)), change_(run.pick(20, 1, 300)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    if (loaded_ == kRows) look_up(draws, next);  // rows written in earlier cycles
    bisim::Dice rows = draws.lane(0), branches = draws.lane(1);
    const bool loading = loaded_ < kRows;
    if (!loading && !rows.chance(change_)) return;
    const unsigned row = loading ? loaded_ : rows.below(kRows), part = loading ? part_ : rows.below(kParts);
    if (part == 0) write_vertex(next, row, rows);
    write_edge(next, row, part % kEdges, rows);
    write_branch(next, row, part % kRoots, branches);
    if (!loading || ++part_ < kParts) return;
    part_ = 0;
    ++loaded_;
  }

 private:
  static constexpr unsigned kParts = std::max(kEdges, kRoots);

  void look_up(const bisim::Draws& draws, Inputs& next) const {
    bisim::Dice lookups = draws.lane(2);
    if (lookups.chance(700)) {
      const unsigned row = lookups.below(kRows);
      next.lookup_valid_i.set(1);
      next.lookup_row_i.set(row);
      next.lookup_label_i.set(lookups.below(rooted_[row] ? std::min(ranks_[row], kRoots) : ranks_[row]));
    }
    for (unsigned i = 0; i < Parameters::Ends; ++i) {
      bisim::Dice ends = draws.lane(3 + i);
      if (!ends.chance(500)) continue;
      next.end_valid_i.set_bit(i);
      next.end_row_i.set(ends.below(kRows), i);
      next.end_index_i.set(ends.below(kEdges), i);
    }
  }

  void write_vertex(Inputs& next, unsigned row, bisim::Dice& dice) {
    if (!ranks_[row]) ranks_[row] = 2 + dice.below(most_ranks_ - 1);  // constant: the edges' intervals depend on it
    const unsigned ranks = ranks_[row], label = dice.below(ranks);
    const bool top = dice.chance(200);
    const auto up = top ? 0U : 1U << dice.below(kEdges);
    const auto edges = static_cast<std::uint32_t>((std::uint64_t{1} << kEdges) - 1);
    rooted_[row] = dice.chance(300);
    next.vertex_valid_i.set(1);
    next.vertex_row_i.set(row);
    const bool has_rank = dice.chance(700), ring = !rooted_[row] && dice.chance(200);
    next.vertex_i.set({.has_rank = has_rank,
                       .rooted = rooted_[row],
                       .ring = ring,
                       .ranks = ranks,
                       .rank = has_rank ? dice.below(65535) : thalweg::mpi_fpga::kNoRank & 0xFFFF,
                       .label = label,
                       .below = 1 + dice.below(ranks - label - (label == 0 && !top)),
                       .up = up,
                       .down = static_cast<std::uint32_t>(dice.bits()) & edges & ~up,
                       .previous = ring ? 1U << dice.below(kEdges) : 0,
                       .next = ring ? 1U << dice.below(kEdges) : 0});
  }

  void write_edge(Inputs& next, unsigned row, unsigned edge, bisim::Dice& dice) {
    const unsigned first = dice.below(ranks_[row]);
    next.edge_valid_i.set(1);
    next.edge_row_i.set(row);
    next.edge_index_i.set(edge);
    next.edge_i.set({.neighbour = dice.below(65536),
                     .there = dice.below(32),
                     .first = first,
                     .behind = 1 + dice.below(ranks_[row] - first)});
  }

  static void write_branch(Inputs& next, unsigned row, unsigned label, bisim::Dice& dice) {
    const auto edges = static_cast<std::uint32_t>((std::uint64_t{1} << kEdges) - 1);
    next.branch_valid_i.set(1);
    next.branch_row_i.set(row);
    next.branch_label_i.set(label);
    next.branch_up_i.set(dice.chance(900) ? 1U << dice.below(kEdges) : 0);
    next.branch_down_i.set(dice.bits() & edges);
  }

  unsigned most_ranks_, change_;
  unsigned loaded_ = 0, part_ = 0;
  std::array<unsigned, kRows> ranks_{};
  std::array<bool, kRows> rooted_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
