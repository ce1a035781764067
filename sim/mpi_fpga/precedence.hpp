// SPDX-License-Identifier: Apache-2.0
// Tracks the edges that an operation may not use yet, because earlier operations of its communicator still use them;
// C++ model of rtl/mpi_fpga/tw_precedence.sv.
#pragma once

#include <cstdint>
#include <vector>

#include "common/growing.hpp"

namespace thalweg::mpi_fpga {

/// In each direction, every edge serves the operations of a row in order. Operations use the row's entries in turn.
class Precedence {
 public:
  /// Edges as bits.
  struct Edges {
    std::uint32_t reading = 0, writing = 0;
  };

  explicit Precedence(unsigned entries) : entry_count_(entries), rows_(Row{0, std::vector<Entry>(entries)}) {}

  /// A row is loaded: its first operation uses entry 0.
  void load(unsigned row) { rows_[row].next = 0; }
  /// An operation starts in the next entry.
  void begin(unsigned row) { rows_[row].next = after(rows_[row].next); }
  /// A step of a process uses these edges; `first`: it is the process's first step.
  void add(unsigned row, unsigned entry, unsigned process, bool first, Edges edges) {
    Entry& of = rows_[row].entries[entry];
    Edges& own = of.processes[process];
    if (first) own = {};
    own.reading |= edges.reading;
    own.writing |= edges.writing;
    of.edges.reading |= edges.reading;
    of.edges.writing |= edges.writing;
  }
  /// A process has ended. No other process of its operation uses its edges in the same direction.
  void end(unsigned row, unsigned entry, unsigned process) {
    Entry& of = rows_[row].entries[entry];
    of.edges.reading &= ~of.processes[process].reading;
    of.edges.writing &= ~of.processes[process].writing;
  }

  /// Edges still used by operations earlier than the one in entry `entry`.
  [[nodiscard]] Edges held(unsigned row, unsigned entry) const {
    Edges held;
    for (unsigned earlier = rows_[row].next; earlier != entry; earlier = after(earlier)) {
      held.reading |= rows_[row].entries[earlier].edges.reading;
      held.writing |= rows_[row].entries[earlier].edges.writing;
    }
    return held;
  }
  /// Edges from which any operation of the row still reads.
  [[nodiscard]] std::uint32_t reading(unsigned row) const {
    std::uint32_t reading = 0;
    for (const Entry& entry : rows_[row].entries) reading |= entry.edges.reading;
    return reading;
  }

 private:
  struct Entry {
    Edges edges;
    Growing<Edges> processes;
  };
  struct Row {
    unsigned next = 0;  ///< next entry: the oldest one in use, or free
    std::vector<Entry> entries;
  };

  [[nodiscard]] unsigned after(unsigned entry) const { return entry + 1 == entry_count_ ? 0 : entry + 1; }

  unsigned entry_count_;
  Growing<Row> rows_;
};

}  // namespace thalweg::mpi_fpga
