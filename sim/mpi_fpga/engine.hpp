// SPDX-License-Identifier: Apache-2.0
// Interface of MPI-FPGA's engines beyond the common one (cluster/engine.hpp): communicators, collectives, messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/engine.hpp"
#include "mpi_fpga/operation.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

using ContextId = std::uint32_t;

/// One rank's part of a collective.
/// Buffers and lists of blocks must stay valid until the completion. Send and receive may be the same memory in reduce,
/// allreduce and scan; in the others they must not overlap, but for a block that stays where it is.
///
/// Of scatter (at the root), reduce_scatter and alltoall the send buffer holds a block for every rank, of gather (at the
/// root), allgather and alltoall the receive buffer one of every rank: block i begins at element i * count. In MPI's
/// v-forms it is as `send_blocks[i]` or `receive_blocks[i]` say, which are then as many as ranks.
struct CollectiveRequest : Operation {
  Handle handle = 0;
  ContextId context = 0;
  std::uint32_t rank = 0;
  std::span<const std::byte> send{};
  std::span<std::byte> receive{};
  std::span<const Block> send_blocks{};     ///< v-forms of scatter (at the root), reduce_scatter and alltoall
  std::span<const Block> receive_blocks{};  ///< v-forms of gather (at the root), allgather and alltoall
  /// Inside an engine, where an operation is cut: the piece of every block that one of several trees or rings carries.
  std::optional<Block> piece{};
  unsigned pieces = 1;  ///< of which all are about as long

  /// The block for a rank in a send buffer of one for each, and that of a rank in such a receive buffer.
  [[nodiscard]] Block send_block(std::uint32_t i) const { return vector ? send_blocks[i] : within(i * count); }
  [[nodiscard]] Block receive_block(std::uint32_t i) const { return vector ? receive_blocks[i] : within(i * count); }
  /// What this rank contributes, and what it receives, where that is one block.
  [[nodiscard]] Block own_block() const { return within(0); }

 private:
  [[nodiscard]] Block within(std::uint64_t start) const {
    return piece ? Block{start + piece->first, piece->count} : Block{start, count};
  }
};

/// The part of a rank that does not fit to those of others.
struct Mismatch {
  ContextId context = 0;
  std::uint32_t rank = 0;
  std::uint64_t operation = 0;  ///< on that communicator, from 0
  std::string what;             ///< the difference

  [[nodiscard]] std::string line() const {
    return "rank " + std::to_string(rank) + ", operation " + std::to_string(operation) + " of communicator " +
           std::to_string(context) + ": " + what;
  }
};

/// A part whose lists of blocks are its own, so that it may outlive what it was given as.
struct KeptRequest : CollectiveRequest {
  explicit KeptRequest(const CollectiveRequest& given)
      : CollectiveRequest(given),
        sends(given.send_blocks.begin(), given.send_blocks.end()),
        receives(given.receive_blocks.begin(), given.receive_blocks.end()) {
    send_blocks = sends;
    receive_blocks = receives;
  }
  KeptRequest(const KeptRequest&) = delete;
  KeptRequest& operator=(const KeptRequest&) = delete;
  KeptRequest(KeptRequest&&) = default;  // the lists stay where they are
  KeptRequest& operator=(KeptRequest&&) = default;

  std::vector<Block> sends, receives;
};

/// A point-to-point message: `bytes` take time on the links, the payload itself travels elsewhere.
struct MessageRequest {
  Handle handle = 0;
  NodeId source = 0, destination = 0;
  std::uint64_t bytes = 0;
};

/// Where an operation starts and ends: in host memory behind PCIe, or at the node's own port.
enum class Endpoint : std::uint8_t { host, kernel };

struct LinkUse {
  NodeId node;
  unsigned port;
  std::uint64_t flits;
};

/// A link that was given up, or has lost flits, and what followed.
struct Recovery {
  std::string link;
  bool reset;         ///< an end of it was reset alone: it is used again
  Tick silent_since;  ///< the last good frame, or that reset
  Tick given_up;      ///< the fabric was stopped
  Tick resumed;  ///< it went on, without the link that was given up, and the operations that were under way began again
};

/// A collective completes once for each rank: its receive buffer is complete in host memory, or its part is done where it
/// receives none. A message completes twice: when its last flit has left the sender's host memory, and when it is in the
/// receiver's.
class CollectiveEngine : public Engine {
 public:
  /// Grants a communicator a row in the table of every member's node, and queues the loading of the rows from
  /// time `at`: a completion for each member, with handles[i] for members[i]. Nothing where no row is free on all.
  /// members[i] is the node of the communicator's rank i.
  virtual std::optional<ContextId> create_communicator(std::span<const NodeId> members, std::span<const Handle> handles,
                                                       Tick at) = 0;
  /// The algorithms that a communicator has for a collective, bit i that of code i; another one is replaced by `tree` or
  /// the only one. A v-form may have fewer. 0: the network does not compute it, and submit() refuses it on all ranks alike.
  [[nodiscard]] virtual std::uint32_t algorithms(ContextId context, spec::Collective collective,
                                                 bool vector = false) const = 0;
  [[nodiscard]] bool computes(ContextId context, spec::Collective collective) const {
    return algorithms(context, collective) != 0;
  }
  /// All operations of the communicator have completed.
  virtual void free_communicator(ContextId context) = 0;

  /// Queues one rank's part at time `at` >= now() - lookahead(). Parts of one rank on one context are executed in order of submission.
  virtual void submit(const CollectiveRequest& request, Tick at) = 0;
  virtual void send(const MessageRequest& request, Tick at) = 0;

  /// The first difference between the parts of one operation that its ranks gave (root, count, type, ...), or nothing.
  [[nodiscard]] virtual std::optional<Mismatch> mismatch() const = 0;

  /// The links without which it went on.
  [[nodiscard]] virtual std::vector<Recovery> recoveries() const { return {}; }

  [[nodiscard]] virtual std::vector<LinkUse> link_use() const = 0;
};

}  // namespace thalweg::mpi_fpga
