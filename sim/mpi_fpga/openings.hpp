// SPDX-License-Identifier: Apache-2.0
// Starts operations at a vertex without a rank, where no host submits them, when their first packet arrives; C++ model
// of rtl/mpi_fpga/tw_openings.sv.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thalweg_mpi_fpga_spec.hpp"

namespace thalweg::mpi_fpga {

/// A descriptor may start its operation in the cycle in which it arrives at an empty slot. Otherwise a scan finds it at
/// the head of the slot: rows whose next operation may have arrived are searched, one tree edge per two cycles. An edge
/// from which an earlier operation still reads is skipped. Every tree edge carries all operations that use the tree, in
/// at least one direction, so a neighbour is ahead by no more operations than it may have in flight, and the 2 sequence
/// bits distinguish them.
class Openings {
 public:
  struct Slot {
    std::uint32_t row = 0;
    unsigned edge = 0;
  };
  /// The relevant fields of a packet's header.
  struct Head {
    spec::Kind kind{};
    unsigned sequence = 0;
    spec::Algorithm algorithm{};
  };
  struct Arrival {
    Slot slot;
    Head head;
    bool to_empty = false;  ///< the slot was empty
  };
  /// The operation that starts: its entry in the row, and the arrival that starts it, or none if it was found by the
  /// scan.
  struct Begun {
    Slot slot;
    std::uint32_t entry = 0;
    std::optional<unsigned> arrival;
  };

  Openings(std::uint32_t rows, std::uint32_t entries) : entries_(entries), rows_(rows) {}

  // Between cycles.

  /// Loads a row of the table; `tree`: edges of its trees.
  void load(std::uint32_t row, bool has_rank, std::uint32_t tree) {
    rows_[row] = {.bare = !has_rank, .tree = tree};
    sought_ = has_rank ? sought_ & ~(1u << row) : sought_ | 1u << row;
  }
  void unload(std::uint32_t row) {
    rows_[row].bare = false;
    sought_ &= ~(1u << row);
  }

  /// True if the row is loaded and has no rank.
  [[nodiscard]] bool bare(std::uint32_t row) const { return rows_[row].bare; }

  // In a cycle.

  /// True if a row is being searched.
  [[nodiscard]] bool scanning() const { return scanning_; }
  /// The slot being inspected.
  [[nodiscard]] Slot scan_position() const {
    return {row_, edges_ ? static_cast<unsigned>(std::countr_zero(edges_)) : 0};
  }
  /// `idle`: no other operation is being started; `front`: head of the slot scan_position() in the previous cycle;
  /// reads(slot): an earlier operation reads there; taken(row, place): that entry is in use. `arrivals`: descriptors,
  /// lowest link first.
  template <class Reads, class Taken>
  std::optional<Begun> choose(bool idle, std::span<const Arrival> arrivals, const std::optional<Head>& front,
                              Reads&& reads, Taken&& taken) {
    const auto may_begin = [&](Slot slot, const Head& head) {
      const Row& row = rows_[slot.row];
      return row.bare && row.tree >> slot.edge & 1 && !taken(slot.row, row.entry) &&
             head.kind == spec::Kind::descriptor && head.sequence == row.sequence;
    };
    if (!idle) {
      scanned_ = false;
      return std::nullopt;
    }
    for (unsigned i = 0; i < arrivals.size(); ++i) {
      const auto& [slot, head, to_empty] = arrivals[i];
      if (!to_empty || !may_begin(slot, head)) continue;
      return reads(slot) ? std::nullopt : std::optional(begin(slot, head, i));
    }
    if (!scanning_) {
      if (!sought_) return std::nullopt;
      scanning_ = true;
      row_ = static_cast<std::uint32_t>(std::countr_zero(sought_));
      sought_ &= sought_ - 1;
      edges_ = rows_[row_].tree;
    } else if (!edges_ || !scanned_) {
      scanning_ = scanned_ = edges_ != 0;
    } else {
      const Slot slot = scan_position();
      scanned_ = false;
      edges_ &= edges_ - 1;
      scanning_ = edges_ != 0;
      if (!front || !may_begin(slot, *front) || reads(slot)) return std::nullopt;
      scanning_ = false;
      return begin(slot, *front, std::nullopt);
    }
    return std::nullopt;
  }

  // After the choice.

  /// A descriptor has arrived for a row, or one of its processes has ended: its next operation may be at the head of a
  /// slot.
  void seek(std::uint32_t row) {
    if (rows_[row].bare) sought_ |= 1u << row;
  }
  [[nodiscard]] bool idle() const { return !sought_ && !scanning_; }

 private:
  struct Row {
    bool bare = false;  ///< loaded, without a rank
    std::uint32_t tree = 0;
    std::uint32_t entry = 0;  ///< entry of the next operation
    unsigned sequence = 0;    ///< its index among those on the tree, modulo 4
  };

  Begun begin(Slot slot, const Head& head, std::optional<unsigned> arrival) {
    Row& row = rows_[slot.row];
    const Begun begun{slot, row.entry, arrival};
    row.entry = row.entry + 1 < entries_ ? row.entry + 1 : 0;
    if (head.algorithm == spec::Algorithm::tree) row.sequence = (row.sequence + 1) & 3;
    sought_ |= 1u << slot.row;
    return begun;
  }

  std::uint32_t entries_;
  std::vector<Row> rows_;
  std::uint32_t sought_ = 0;  ///< rows to search
  bool scanning_ = false,
       scanned_ = false;               ///< a row is being searched; its next edge's head was read in the last cycle
  std::uint32_t row_ = 0, edges_ = 0;  ///< that row, and its remaining edges
};

}  // namespace thalweg::mpi_fpga
