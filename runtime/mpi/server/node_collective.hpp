// SPDX-License-Identifier: Apache-2.0
// A collective on a communicator with several ranks per node, in which each node has one part in the network.
//
// The ranks of a node pass their data to their parent, the lowest rank, through the host's memory, one after another in ascending
// order; the parent combines or concatenates the data in that order. Its part starts after the last rank's data, and not before its
// part of the previous collective. The other ranks read their results simultaneously. A scan is an exclusive scan of the nodes in
// the network, whose result is combined with the prefixes of the ranks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/server/host_memory.hpp"
#include "mpi/server/rank_map.hpp"
#include "mpi/server/timeline.hpp"
#include "mpi_fpga/engine.hpp"
#include "reduce/lane.hpp"

namespace thalweg::mpi {

class NodeCollective : public std::enable_shared_from_this<NodeCollective> {
 public:
  /// Submits a node's part, with blocks of at most `bytes`, to the network at time `at`; `done` gets its completion time.
  using Submit =
      std::function<void(const CollectiveRequest& part, std::uint64_t bytes, Tick at, std::function<void(Tick)> done)>;
  /// Called once for each rank of the communicator, at the completion time of its part.
  using Done = std::function<void(std::uint32_t rank, Tick at)>;
  struct Setting {
    Timeline& timeline;
    LaneFunction combine = nullptr;  ///< the reduction's operator
    Submit submit;
    Done done;
  };

  /// The collective among the nodes that implements `collective` in the network; nullopt if it is not supported.
  [[nodiscard]] static std::optional<spec::Collective> of_nodes(spec::Collective collective, const RankMap& rank_map);

  /// `free[h]`: when host h has collected its ranks' data of the previous collective. Both references must remain valid.
  NodeCollective(const RankMap& rank_map, std::vector<Tick>& free, Setting setting);

  /// Enters a rank's part at time `at`. Returns a description if its block sizes do not match another rank's.
  std::optional<std::string> enter(const CollectiveRequest& part, Tick at);

  /// Ticks that a finished collective, from its last rank's entry to its last rank's completion, spent outside the network.
  [[nodiscard]] Tick outside_network(Tick last_entry, Tick last_done) const {
    return last_in_ - last_entry + last_done - last_out_;
  }

 private:
  struct Host {
    std::uint32_t entered = 0;
    std::vector<std::byte> send, receive;
    std::vector<std::vector<std::byte>>
        prefixes;  ///< of a scan: for each rank, the combined data of the host's ranks up to it
    std::vector<Block> send_blocks, receive_blocks;
  };

  void take_in(std::uint32_t host);
  void hand_out(std::uint32_t host, Tick at);
  void finish(std::uint32_t rank, Tick at);

  void collect(std::uint32_t host);
  CollectiveRequest part_of(std::uint32_t host);
  void distribute(std::uint32_t host);
  template <class Each>
  [[nodiscard]] std::vector<std::byte> combined(std::uint32_t host, Each each) const;
  void distribute_prefixes(std::uint32_t host);
  template <class Piece>
  void each_rank_in_network_order(Piece piece) const;

  [[nodiscard]] std::optional<std::uint64_t> given(std::uint32_t source, std::uint32_t destination) const;
  [[nodiscard]] std::optional<std::uint64_t> expected(std::uint32_t source, std::uint32_t destination) const;
  [[nodiscard]] const StoredRequest& any_part(std::uint32_t host) const { return *parts_[rank_map_.parent(host)]; }

  const RankMap& rank_map_;
  std::vector<Tick>& free_;
  Setting setting_;
  std::vector<std::optional<StoredRequest>> parts_;  ///< own their block lists, as the ranks may resume earlier
  std::vector<Tick> entries_;
  std::vector<Host> hosts_;
  Tick last_in_ = 0, last_out_ = 0;
};

}  // namespace thalweg::mpi
