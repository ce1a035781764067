// SPDX-License-Identifier: Apache-2.0
// A rank's remaining work in an all-to-all. The host's software keeps it, with the members of the communicator.
//
// A rank announces itself to every rank from which it receives data: its receive buffer is then ready. It sends to
// ranks that have announced themselves, one packet each, round-robin. Work is divided over lanes, one per local port.
// Data from one rank to another stay on one lane, and thus in order.
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
    bool announces = false;      ///< announcement; false: data
    std::uint64_t first = 0;     ///< data: first element in the send buffer
    std::uint64_t elements = 0;  ///< elements in the packet
    bool last = false;           ///< last packet to this peer
  };

  /// Path to a rank: the lane on which packets leave, and their hop count.
  struct Path {
    unsigned lane = 0, hops = 0;
  };

  /// path_to(rank) returns its path.
  template <class PathTo>
  void start(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout,
             PathTo&& path_to) {
    begin(request, ranks, lanes, layout);
    const std::uint32_t stride = stride_through(ranks);
    for (std::uint32_t i = 0, peer = request.rank; i < ranks; ++i, peer = (peer + stride) % ranks) {
      const Path path = path_to(peer);
      lanes_[path.lane].peers.push_back({peer, path.hops});
    }
    for (Lane& lane : lanes_) prepare(lane);
  }

  /// Lanes with work left, as bits.
  [[nodiscard]] std::uint32_t lanes() const;
  /// Elements not received yet.
  [[nodiscard]] std::uint64_t expected() const { return expected_; }

  /// Selects the lane's next packet; false if it has none. The selection holds until `done`. announced(rank): that rank
  /// has announced itself.
  template <class Announced>
  [[nodiscard]] bool choose(unsigned lane, Announced&& announced);
  [[nodiscard]] Next next(unsigned lane) const;
  /// The selected packet has been taken. True if it was the lane's last.
  bool done(unsigned lane);

  struct ReceiveRange {
    std::uint64_t first = 0, elements = 0;  ///< range of the receive buffer
  };
  /// Range for the next packet from a rank.
  [[nodiscard]] ReceiveRange arrived(std::uint32_t source);

 private:
  struct Peer {
    std::uint32_t rank, hops;
  };
  struct Lane {
    std::vector<Peer> peers;     ///< farthest first
    std::uint32_t announce = 0;  ///< index of the next peer to announce itself to; past the end: all are done
    std::uint32_t send = 0;      ///< index of the next peer to send to

    [[nodiscard]] bool announces() const { return announce < peers.size(); }
    void advance() { send = send + 1 < peers.size() ? send + 1 : 0; }
    std::uint32_t sending = 0;  ///< peers with data left to send
    bool chosen = false;
  };

  void begin(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout);
  /// Visits all ranks in steps of about the golden section, so that close ranks, which may share links, are far apart
  /// in the order.
  [[nodiscard]] static std::uint32_t stride_through(std::uint32_t ranks);
  void prepare(Lane& lane);
  void skip(Lane& lane) const;

  const CollectiveRequest* request_ = nullptr;
  const Packetizer* layout_ = nullptr;
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> to_send_, to_receive_;  ///< elements, per rank
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
    lane.advance();
  } while (lane.send != start);
  return false;
}

}  // namespace thalweg::mpi_fpga
