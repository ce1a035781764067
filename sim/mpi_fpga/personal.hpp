// SPDX-License-Identifier: Apache-2.0
// What a rank still has to do in an all-to-all. Its host's software keeps it, beside the members of the communicator.
//
// A rank announces itself to every rank that it takes something from: then there is a place for the data. It sends to those
// that have announced themselves, packet by packet in turn. Work is divided over lanes, one for each local port. What one rank
// has for another stays on one lane, and so in its order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mpi_fpga/engine.hpp"
#include "mpi_fpga/packetizer.hpp"

namespace thalweg::mpi_fpga {

class Personal {
 public:
  /// The next packet of a lane.
  struct Next {
    std::uint32_t peer = 0;      ///< rank
    bool announces = false;      ///< else data
    std::uint64_t first = 0;     ///< data: element of the send buffer
    std::uint64_t elements = 0;  ///< of the packet
    bool last = false;           ///< the peer gets no more
  };

  /// The way to a rank: the lane on which packets leave, and the hops that they take.
  struct Way {
    unsigned lane = 0, hops = 0;
  };

  /// way_to(rank): its way.
  template <class WayTo>
  void start(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout,
             WayTo&& way_to) {
    begin(request, ranks, lanes, layout);
    const std::uint32_t stride = stride_through(ranks);
    for (std::uint32_t i = 0, peer = request.rank; i < ranks; ++i, peer = (peer + stride) % ranks) {
      const Way way = way_to(peer);
      lanes_[way.lane].peers.push_back({peer, way.hops});
    }
    for (Lane& lane : lanes_) prepare(lane);
  }

  /// Lanes that have something to do, as bits.
  [[nodiscard]] std::uint32_t lanes() const;
  /// Elements that are still to come.
  [[nodiscard]] std::uint64_t expected() const { return expected_; }

  /// Chooses what the lane does next, if it can do anything; the choice stands until `done`. announced(rank): that rank has
  /// announced itself.
  template <class Announced>
  [[nodiscard]] bool choose(unsigned lane, Announced&& announced);
  [[nodiscard]] Next next(unsigned lane) const;
  /// The chosen packet is on its way. True: it was the lane's last.
  bool done(unsigned lane);

  struct ReceiveRange {
    std::uint64_t first = 0, elements = 0;  ///< of the receive buffer
  };
  /// Where the next packet from a rank belongs.
  [[nodiscard]] ReceiveRange arrived(std::uint32_t source);

 private:
  struct Peer {
    std::uint32_t rank, hops;
  };
  struct Lane {
    std::vector<Peer> peers;     ///< the farthest first
    std::uint32_t announce = 0;  ///< place of the next one to announce itself to; beyond the last one: all are told
    std::uint32_t send = 0;      ///< place of the next one to send to

    [[nodiscard]] bool announces() const { return announce < peers.size(); }
    void turn() { send = send + 1 < peers.size() ? send + 1 : 0; }
    std::uint32_t sending = 0;  ///< ranks that are to get something still
    bool chosen = false;
  };

  void begin(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout);
  /// Through all ranks in steps of about the golden section, so that ranks that are close, and may share links, come far
  /// apart.
  [[nodiscard]] static std::uint32_t stride_through(std::uint32_t ranks);
  void prepare(Lane& lane);
  void skip(Lane& lane) const;

  const CollectiveRequest* request_ = nullptr;
  const Packetizer* layout_ = nullptr;
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> to_send_, to_come_;  ///< elements, of each rank
  std::uint64_t expected_ = 0;
};

template <class Announced>
bool Personal::choose(unsigned index, Announced&& announced) {
  Lane& lane = lanes_[index];
  if (lane.chosen) return true;
  if (lane.announces()) return lane.chosen = true;
  if (lane.sending == 0) return false;
  const std::uint32_t start = lane.send;
  do {
    const std::uint32_t peer = lane.peers[lane.send].rank;
    if (to_send_[peer] > 0 && announced(peer)) return lane.chosen = true;
    lane.turn();
  } while (lane.send != start);
  return false;
}

}  // namespace thalweg::mpi_fpga
