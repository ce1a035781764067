// SPDX-License-Identifier: Apache-2.0
// The communicators of the program and their collectives: which ranks have entered each one, and whether their arguments agree.
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

/// Who has come to the n-th collective on a communicator. Parts are counted by rank of the communicator.
struct Meeting {
  std::uint64_t number = 0;  ///< n, from 0
  Submission first;          ///< the part that came first, by rank `first_rank`
  std::uint32_t first_rank = 0;
  std::vector<std::optional<std::uint64_t>> ids;  ///< each member's request; nothing where it has not come
  std::vector<std::vector<ListEntry>> lists;      ///< of each member, for software collectives
  std::uint32_t entered = 0, done = 0;
  Tick first_entry = kNever, last_entry = 0, last_done = 0;
  Tick entries = 0;                                   ///< sum of the times of entry
  std::string site;                                   ///< where rank 0 called it
  std::string wrong;                                  ///< where the ranks disagree on a size: on which
  std::deque<std::vector<std::byte>> stand_ins;       ///< memory in place of that of ranks whose size is another one
  std::shared_ptr<NodeCollective> on_nodes;           ///< where a node has several ranks
  spec::Algorithm algorithm = spec::Algorithm::tree;  ///< of what is in the network
};

struct Communicator {
  std::uint32_t number = 0;
  std::string name;
  std::vector<std::uint32_t> members;  ///< ranks of the world
  RankMap rank_map;                    ///< of the members
  std::vector<Tick> memory_free;       ///< of each host: see NodeCollective
  std::optional<ContextId> context;    ///< its row in the network
  std::uint32_t released = 0;          ///< members that have freed it
  std::vector<std::uint64_t> entered;  ///< collectives that each member has entered
  std::uint64_t oldest = 0;            ///< number of operations.front()
  std::deque<Meeting> operations;      ///< those that are not done

  [[nodiscard]] std::uint32_t rank_of(std::uint32_t world_rank) const;
  /// Adds a member's part, and returns its operation, `wrong` where its size differs from the first's. Throws Disagreement where
  /// other arguments do.
  Meeting& enter(std::uint32_t rank, const Submission& part, const std::vector<std::string>& functions);
  /// One member's part is done; returns the operation when it was the last, which is then forgotten here.
  std::optional<Meeting> leave(std::uint64_t number, Tick at);
  [[nodiscard]] Meeting& operation(std::uint64_t number) { return operations[number - oldest]; }
};

/// The ranks of a communicator gave arguments that do not fit together.
struct Disagreement {
  std::string what;
};

/// Creations in progress: the members register one by one. Which belong together says the communicator that they are made of,
/// and their order on it: on others a member may make its own in another order.
class Creations {
 public:
  struct Creation {
    std::vector<std::uint32_t> members;
    std::string name;
    struct Member {
      std::uint32_t rank;      ///< of the world
      std::uint64_t id, list;  ///< its request, and the offset of its list of members
    };
    std::vector<Member> requests;
    Tick last = 0;
  };
  /// A member registers; returns the creation when it was the last member, which is then forgotten here.
  std::optional<Creation> enter(std::uint32_t world_rank, std::vector<std::uint32_t> members, const Submission& part);
  /// The members that have not registered with the one of a member's request.
  [[nodiscard]] std::vector<unsigned> missing(std::uint32_t world_rank, std::uint64_t id) const;

 private:
  struct Key {
    std::uint32_t parent;
    bool apart;
    std::uint64_t order, turn;
    std::vector<std::uint32_t> members;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::map<std::uint32_t, std::uint64_t>> turns_;  ///< each member's, of those that are made apart
  std::map<Key, Creation> open_;
};

}  // namespace thalweg::mpi
