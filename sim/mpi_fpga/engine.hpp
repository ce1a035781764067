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

/// One rank's part of a collective. Buffers and lists of blocks must stay valid until the completion. Send and receive
/// may be the same memory in reduce, allreduce and scan; otherwise they must not overlap, except for a block that keeps
/// its position.
///
/// In scatter (at the root), reduce_scatter and alltoall the send buffer holds one block per rank; in gather (at the
/// root), allgather and alltoall the receive buffer does. Block i starts at element i * count. In MPI's v-forms,
/// `send_blocks` or `receive_blocks` give the position of each block, with one entry per rank.
struct CollectiveRequest : Operation {
  Handle handle = 0;
  ContextId context = 0;
  std::uint32_t rank = 0;
  std::span<const std::byte> send{};
  std::span<std::byte> receive{};
  std::span<const Block> send_blocks{};     ///< v-forms of scatter (at the root), reduce_scatter and alltoall
  std::span<const Block> receive_blocks{};  ///< v-forms of gather (at the root), allgather and alltoall
  /// Set inside an engine that splits an operation over several trees or rings: the piece of every block that this one
  /// carries.
  std::optional<Block> piece{};
  unsigned pieces = 1;  ///< number of pieces, of about equal length

  /// Block for rank i in a send buffer with one per rank, and block of rank i in such a receive buffer.
  [[nodiscard]] Block send_block(std::uint32_t i) const { return vector ? send_blocks[i] : within(i * count); }
  [[nodiscard]] Block receive_block(std::uint32_t i) const { return vector ? receive_blocks[i] : within(i * count); }
  /// The block that this rank contributes or receives, if it is a single one.
  [[nodiscard]] Block own_block() const { return within(0); }

 private:
  [[nodiscard]] Block within(std::uint64_t start) const {
    return piece ? Block{start + piece->first, piece->count} : Block{start, count};
  }
};

/// A rank's request that is inconsistent with the other ranks'.
struct Mismatch {
  ContextId context = 0;
  std::uint32_t rank = 0;
  std::uint64_t operation = 0;  ///< index on that communicator, from 0
  std::string what;             ///< description of the difference

  [[nodiscard]] std::string line() const {
    return "rank " + std::to_string(rank) + ", operation " + std::to_string(operation) + " of communicator " +
           std::to_string(context) + ": " + what;
  }
};

/// A request that owns its lists of blocks, so that it may outlive the original.
struct StoredRequest : CollectiveRequest {
  explicit StoredRequest(const CollectiveRequest& request)
      : CollectiveRequest(request),
        sends(request.send_blocks.begin(), request.send_blocks.end()),
        receives(request.receive_blocks.begin(), request.receive_blocks.end()) {
    send_blocks = sends;
    receive_blocks = receives;
  }
  StoredRequest(const StoredRequest&) = delete;
  StoredRequest& operator=(const StoredRequest&) = delete;
  StoredRequest(StoredRequest&&) = default;  // moving a vector keeps its storage
  StoredRequest& operator=(StoredRequest&&) = default;

  std::vector<Block> sends, receives;
};

/// A point-to-point message. Only the time of `bytes` on the links is simulated; the payload is transferred elsewhere.
struct MessageRequest {
  Handle handle = 0;
  NodeId source = 0, destination = 0;
  std::uint64_t bytes = 0;
};

/// Endpoint of operations: host memory behind PCIe, or the node's own port.
enum class Endpoint : std::uint8_t { host, kernel };

struct LinkUse {
  NodeId node;
  unsigned port;
  std::uint64_t flits;
};

/// Recovery from a link that was given up or lost flits.
struct Recovery {
  std::string link;
  bool reset;         ///< one end alone was reset: the link is used again
  Tick silent_since;  ///< time of the last good frame, or of that reset
  Tick given_up;      ///< time at which the fabric was stopped
  Tick resumed;       ///< restart without the lost link; operations in flight began again
};

/// A collective completes once per rank: when its receive buffer is complete in host memory or, if it receives nothing,
/// when its part is done. A message completes twice: when its last flit has left the sender's host memory, and when it
/// is in the receiver's.
class CollectiveEngine : public Engine {
 public:
  /// Allocates a row in the table of every member's node and queues the loading of the rows from time `at`: one
  /// completion per member, with handles[i] for members[i]. Returns nothing if no row is free on all. members[i] is the
  /// node of the communicator's rank i.
  virtual std::optional<ContextId> create_communicator(std::span<const NodeId> members, std::span<const Handle> handles,
                                                       Tick at) = 0;
  /// Algorithms that a communicator has for a collective, bit i for code i; any other is replaced by `tree` or the only
  /// one. A v-form may have fewer. 0: not computed in the network, and submit() refuses it on all ranks alike.
  [[nodiscard]] virtual std::uint32_t algorithms(ContextId context, spec::Collective collective,
                                                 bool vector = false) const = 0;
  [[nodiscard]] bool computes(ContextId context, spec::Collective collective) const {
    return algorithms(context, collective) != 0;
  }
  /// Frees a communicator; all its operations must have completed.
  virtual void free_communicator(ContextId context) = 0;

  /// Queues one rank's part at time `at` >= now() - lookahead(). Parts of one rank on one context execute in order of
  /// submission.
  virtual void submit(const CollectiveRequest& request, Tick at) = 0;
  virtual void send(const MessageRequest& request, Tick at) = 0;

  /// The first inconsistency between the ranks' parts of one operation (root, count, type, ...), or nothing.
  [[nodiscard]] virtual std::optional<Mismatch> mismatch() const = 0;

  /// Links that were given up or reset.
  [[nodiscard]] virtual std::vector<Recovery> recoveries() const { return {}; }

  [[nodiscard]] virtual std::vector<LinkUse> link_use() const = 0;
};

}  // namespace thalweg::mpi_fpga
