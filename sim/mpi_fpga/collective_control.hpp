// SPDX-License-Identifier: Apache-2.0
// Turns a collective into processes of steps, from a row of the communicator table alone.
//
// A step takes one packet from each of its inputs, combines them in their fixed order (the edges ascending, the host's or
// the previous process's packet at its place among them), and copies the result to each of its outputs. It repeats for all
// packets of `streams` streams. The steps of a process run one after another, the processes of an operation side by side.
#pragma once

#include <array>
#include <cstdint>

#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi_fpga {

struct Step {
  std::uint32_t from_edges = 0;
  std::uint32_t to_edges = 0;
  /// Stages are buffers between processes: each is filled by one process and emptied by another one.
  std::uint64_t from_stages = 0, to_stages = 0;
  bool from_host = false, to_host = false;
  std::uint8_t place = 0;  ///< edges whose packets come before the host's or the stages'
  std::uint32_t streams = 1;
  /// Stream i carries the block of label (block - i) modulo the ranks. By doubling or halving: place i in the turn has that of
  /// rank block xor i, or, where the process says so, block xor the lowest bits of i, reversed.
  std::uint32_t block = 0;
  bool upwards = false;  ///< label (block + i) instead

  /// The label of stream i.
  [[nodiscard]] std::uint32_t label(std::uint32_t i, std::uint32_t ranks) const {
    return (block + (upwards ? i : ranks - i)) % ranks;
  }
  [[nodiscard]] unsigned inputs() const {
    return static_cast<unsigned>(std::popcount(from_edges) + std::popcount(from_stages)) + from_host;
  }
};

/// What a process takes of each of its streams at a time.
enum class Turns : std::uint8_t {
  stream,  ///< all of it
  packet,  ///< one packet: doubling and halving
  burst,   ///< as many packets as fill half a slot: rings
};

struct Process {
  std::uint8_t first = 0, steps = 0;
  Turns turns = Turns::stream;
  /// By packets: a turn is so many rounds through the steps, each for another stream.
  std::uint32_t rounds = 1;
  std::uint8_t reversed = 0;  ///< bits
};

struct Program {
  static constexpr unsigned kMaxProcesses = 32;
  static constexpr unsigned kMaxSteps = 2 * kMaxEdges + 4;
  static constexpr unsigned kMaxStages = 64;

  std::array<Step, kMaxSteps> steps;
  std::array<Process, kMaxProcesses> processes;
  unsigned step_count = 0, process_count = 0;
};

/// What a rank has in its send buffer, or gets into its receive buffer.
enum class Holding : std::uint8_t { nothing, block, block_per_rank };

[[nodiscard]] Holding gives(spec::Collective collective, bool at_root);
[[nodiscard]] Holding gets(spec::Collective collective, std::uint32_t rank, bool at_root);

[[nodiscard]] bool reduces(spec::Collective collective);
[[nodiscard]] bool rooted(spec::Collective collective);
/// True for the collectives that have a v-form.
[[nodiscard]] bool has_vector(spec::Collective collective);

/// What a communicator can do, for all collectives alike.
struct Abilities {
  std::uint32_t ranks = 0;
  unsigned slot_packets = 0;
  bool doubles = true;  ///< there are edges between ranks whose numbers differ in one bit
  bool trees = false;   ///< there are rows with several trees
  bool rings = false;   ///< there are rows with rings
};

/// The algorithms that there are for a collective, bit i that of code i; 0: it is not computed in the network. Exchange of
/// allgather and halving of reduce_scatter take a power of two of ranks, and no v-form; the packets of one turn of that
/// exchange, ranks / 2 on the last edge, have to fit into a slot. Trees and rings are for broadcast, reduce and
/// allreduce, rings also for allgather and reduce_scatter where a slot has room for two packets, and no v-form.
[[nodiscard]] std::uint32_t algorithms(spec::Collective collective, const Abilities& abilities, bool vector = false);

/// The algorithm that runs: the one asked for where there is it, else tree, else the one that there is.
[[nodiscard]] spec::Algorithm effective_algorithm(const CollectiveRequest& request, const Abilities& abilities);

/// The program of one vertex. `algorithm` is an effective one, `root` a label.
void compile(spec::Collective collective, spec::Algorithm algorithm, const Row& row, std::uint32_t root,
             Program& program);

}  // namespace thalweg::mpi_fpga
