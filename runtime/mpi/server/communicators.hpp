// SPDX-License-Identifier: Apache-2.0
// The program's communicators and their collectives: which ranks have entered each one, and whether their arguments agree.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mpi/protocol.hpp"
#include "mpi/server/node_collective.hpp"
#include "mpi/server/rank_map.hpp"
#include "mpi/server/software.hpp"
#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi {

/// State of the n-th collective on a communicator. Members are indexed by their rank in the communicator.
struct Meeting {
  std::uint64_t number = 0;  ///< n, from 0
  Submission first;          ///< the first part to enter, of rank `first_rank`
  std::uint32_t first_rank = 0;
  std::vector<std::optional<std::uint64_t>> ids;  ///< each member's request; nullopt until it enters
  std::vector<std::vector<ListEntry>> lists;      ///< of each member, for software collectives
  std::uint32_t entered = 0, done = 0;
  Tick first_entry = kNever, last_entry = 0, last_done = 0;
  Tick entries = 0;                                   ///< sum of the entry times
  std::string site;                                   ///< call site of rank 0
  std::string wrong;                                  ///< description of a size on which the ranks disagree, or empty
  std::deque<std::vector<std::byte>> stand_ins;       ///< substitute buffers for ranks with a different size
  std::shared_ptr<NodeCollective> on_nodes;           ///< set if a node has several ranks
  spec::Algorithm algorithm = spec::Algorithm::tree;  ///< of the collective in the network
};

struct Communicator {
  std::uint32_t number = 0;
  std::string name;
  std::vector<std::uint32_t> members;  ///< world ranks
  RankMap rank_map;                    ///< of the members
  std::vector<Tick> memory_free;       ///< of each host: see NodeCollective
  std::optional<ContextId> context;    ///< its row in the network
  std::uint32_t released = 0;          ///< members that have freed it
  std::vector<std::uint64_t> entered;  ///< collectives that each member has entered
  std::uint64_t oldest = 0;            ///< number of operations.front()
  std::deque<Meeting> operations;      ///< not completed yet

  [[nodiscard]] std::uint32_t rank_of(std::uint32_t world_rank) const;
  /// Adds a member's part and returns its operation, with `wrong` set if its size differs from the first part's. Throws
  /// Disagreement if another argument differs.
  Meeting& enter(std::uint32_t rank, const Submission& part, const std::vector<std::string>& functions);
  /// Completes one member's part; returns and removes the operation when it was the last part.
  std::optional<Meeting> leave(std::uint64_t number, Tick at);
  [[nodiscard]] Meeting& operation(std::uint64_t number) { return operations[number - oldest]; }
};

/// Thrown when the ranks of a communicator pass inconsistent arguments.
struct Disagreement {
  std::string what;
};

/// Communicator creations in progress, for which the members register one by one. Registrations are matched by parent
/// communicator and by order on it, because creations on different parents may occur in a different order on each member.
class Creations {
 public:
  struct Creation {
    std::vector<std::uint32_t> members;
    std::string name;
    struct Member {
      std::uint32_t rank;      ///< in the world
      std::uint64_t id, list;  ///< its request, and the offset of its list of members
    };
    std::vector<Member> requests;
    Tick last = 0;
  };
  /// Registers a member; returns and removes the creation when it was the last member.
  std::optional<Creation> enter(std::uint32_t world_rank, std::vector<std::uint32_t> members, const Submission& part);
  /// Members that have not registered yet for the creation with request `id` of `world_rank`.
  [[nodiscard]] std::vector<unsigned> missing(std::uint32_t world_rank, std::uint64_t id) const;

 private:
  struct Key {
    std::uint32_t parent;
    bool apart;
    std::uint64_t order, turn;
    std::vector<std::uint32_t> members;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::map<std::uint32_t, std::uint64_t>> turns_;  ///< of creations `apart`: each member's count
  std::map<Key, Creation> open_;
};

}  // namespace thalweg::mpi
