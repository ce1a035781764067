// SPDX-License-Identifier: Apache-2.0
// Compiles a collective into processes of steps, from a row of the communicator table alone.
//
// A step takes one packet from each input, joins them in a fixed order (edges ascending, with the packet of the host or
// of the previous process at its position among them), and copies the result to each output. It repeats for all packets
// of `streams` streams. The steps of a process run in sequence, the processes of an operation in parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi_fpga {

struct Step {
  std::uint32_t from_edges = 0;
  std::uint32_t to_edges = 0;
  /// Stages are buffers between processes: each is filled by one process and drained by another.
  std::uint64_t from_stages = 0, to_stages = 0;
  bool from_host = false, to_host = false;
  std::uint8_t place = 0;  ///< number of edges whose packets precede those of the host or the stages
  std::uint32_t streams = 1;
  /// Stream i carries the block of label (block - i) modulo ranks. With doubling or halving, stream i of the turn
  /// carries that of rank block xor i or, if the process has `reversed` bits, block xor the bit-reversed i.
  std::uint32_t block = 0;
  bool upwards = false;  ///< use label (block + i) instead

  /// Label of stream i.
  [[nodiscard]] std::uint32_t label(std::uint32_t i, std::uint32_t ranks) const {
    return (block + (upwards ? i : ranks - i)) % ranks;
  }
  [[nodiscard]] unsigned inputs() const {
    return static_cast<unsigned>(std::popcount(from_edges) + std::popcount(from_stages)) + from_host;
  }
};

/// Amount that a process takes from one stream before it turns to the next.
enum class Turns : std::uint8_t {
  stream,  ///< the whole stream
  packet,  ///< one packet: doubling and halving
  burst,   ///< as many packets as fill half a slot: rings
};

struct Process {
  std::uint8_t first = 0, steps = 0;
  Turns turns = Turns::stream;
  /// With Turns::packet: rounds through the steps per turn, each for other streams.
  std::uint32_t rounds = 1;
  std::uint8_t reversed = 0;  ///< number of index bits that are reversed; 0: none
};

struct Program {
  static constexpr unsigned kMaxProcesses = 32;
  static constexpr unsigned kMaxStages = 64;

  std::vector<Step> steps;
  std::vector<Process> processes;
};

/// Contents of a rank's send or receive buffer.
enum class Holding : std::uint8_t { nothing, block, block_per_rank };

[[nodiscard]] Holding send_holding(spec::Collective collective, bool at_root);
[[nodiscard]] Holding receive_holding(spec::Collective collective, std::uint32_t rank, bool at_root);

[[nodiscard]] bool reduces(spec::Collective collective);
[[nodiscard]] bool rooted(spec::Collective collective);
/// True if the collective has a v-form.
[[nodiscard]] bool has_vector(spec::Collective collective);

/// Capabilities of a communicator, for all collectives.
struct Abilities {
  std::uint32_t ranks = 0;
  unsigned slot_packets = 0;
  bool doubles = true;  ///< edges exist between ranks whose numbers differ in one bit
  bool trees = false;   ///< rows with several trees exist
  bool rings = false;   ///< rows with rings exist
};

/// Available algorithms of a collective, bit i for code i; 0: not computed in the network. Exchange for allgather and
/// halving for reduce_scatter require a power of two of ranks and no v-form; the packets of one turn of that exchange,
/// ranks / 2 on the last edge, must fit into a slot. Trees and rings exist for broadcast, reduce and allreduce, rings
/// also for allgather and reduce_scatter if a slot holds two packets, but not in v-forms.
[[nodiscard]] std::uint32_t algorithms(spec::Collective collective, const Abilities& abilities, bool vector = false);

/// The algorithm that runs: the requested one if available, else tree, else the only one.
[[nodiscard]] spec::Algorithm effective_algorithm(const CollectiveRequest& request, const Abilities& abilities);

/// Compiles the program of one vertex. `algorithm` must be effective, `root` is a label.
void compile(spec::Collective collective, spec::Algorithm algorithm, const Row& row, std::uint32_t root,
             Program& program);

}  // namespace thalweg::mpi_fpga
