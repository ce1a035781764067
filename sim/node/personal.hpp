// What a rank still has to do in an all-to-all. Its host's software keeps it, beside the members of the communicator.
//
// A rank announces itself to every rank that it takes something from: then there is a place for the data. It sends to those
// that have announced themselves, packet by packet in turn. Work is divided over lanes, one for each local port: rank
// + offset is on lane offset modulo the lanes. What one rank has for another stays on one lane, and so in its order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dma/packetizer.hpp"
#include "fabric/engine.hpp"

namespace thalweg {

class Personal {
 public:
  /// The next packet of a lane.
  struct Next {
    std::uint32_t peer = 0;      ///< rank
    bool announces = false;      ///< else data
    std::uint64_t first = 0;     ///< data: elements of the send buffer; announcement: elements that are taken
    std::uint64_t elements = 0;  ///< of the packet
    bool last = false;           ///< the peer gets no more
  };

  void start(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout);

  /// Lanes that have something to do, as bits.
  [[nodiscard]] std::uint32_t lanes() const;
  /// Packets of data that are still to come.
  [[nodiscard]] std::uint64_t expected() const { return expected_; }

  /// Chooses what the lane does next, if it can do anything; the choice stands until `done`. announced(rank): that rank has
  /// announced itself.
  template <class Announced>
  [[nodiscard]] bool choose(unsigned lane, Announced&& announced);
  [[nodiscard]] Next next(unsigned lane) const;
  /// The chosen packet is on its way. True: it was the lane's last.
  bool done(unsigned lane);

  struct Place {
    std::uint64_t first = 0, elements = 0;  ///< of the receive buffer
  };
  /// Where the next packet from a rank belongs.
  [[nodiscard]] Place arrived(std::uint32_t source);

 private:
  struct Lane {
    std::uint32_t announce = 0;  ///< offset of the next rank to announce itself to; beyond the last one: all are told
    std::uint32_t send = 0;      ///< offset of the next rank to send to
    std::uint32_t sending = 0;   ///< ranks that are to get something still
    bool chosen = false;
  };

  [[nodiscard]] std::uint32_t rank_at(std::uint32_t offset) const { return (request_->rank + offset) % ranks_; }
  void skip(Lane& lane) const;

  const CollectiveRequest* request_ = nullptr;
  const Packetizer* layout_ = nullptr;
  std::uint32_t ranks_ = 0;
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> to_send_, received_;  ///< packets, of each rank
  std::uint64_t expected_ = 0;
};

template <class Announced>
bool Personal::choose(unsigned index, Announced&& announced) {
  Lane& lane = lanes_[index];
  if (lane.chosen) return true;
  if (lane.announce < ranks_) return lane.chosen = true;
  if (lane.sending == 0) return false;
  const std::uint32_t start = lane.send;
  do {
    const std::uint32_t peer = rank_at(lane.send);
    if (to_send_[peer] > 0 && announced(peer)) return lane.chosen = true;
    lane.send += static_cast<std::uint32_t>(lanes_.size());
    if (lane.send >= ranks_) lane.send = index;
  } while (lane.send != start);
  return false;
}

}  // namespace thalweg
