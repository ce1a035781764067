// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/personal.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace thalweg::mpi_fpga {

void Personal::begin(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout) {
  request_ = &request;
  layout_ = &layout;
  lanes_.resize(lanes);
  for (Lane& lane : lanes_) {
    lane.peers.clear();
    lane.announce = lane.send = lane.sending = 0;
    lane.chosen = false;
  }
  to_send_.resize(ranks);
  to_receive_.resize(ranks);
  expected_ = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) expected_ += to_receive_[rank] = request.receive_block(rank).count;
}

std::uint32_t Personal::stride_through(std::uint32_t ranks) {
  auto stride = static_cast<std::uint32_t>(0.618 * ranks) + 1;
  while (std::gcd(stride, ranks) != 1) ++stride;
  return stride;
}

void Personal::prepare(Lane& lane) {
  std::ranges::stable_sort(lane.peers, std::greater{}, &Peer::hops);
  for (const Peer& peer : lane.peers) {
    to_send_[peer.rank] = request_->send_block(peer.rank).count;
    lane.sending += to_send_[peer.rank] > 0;
  }
  skip(lane);
}

/// Advances to the next rank that needs an announcement: not the rank itself, nor one that sends nothing.
void Personal::skip(Lane& lane) const {
  const auto announced = [&](std::uint32_t peer) {
    return peer == request_->rank || request_->receive_block(peer).count == 0;
  };
  while (lane.announces() && announced(lane.peers[lane.announce].rank)) ++lane.announce;
}

std::uint32_t Personal::lanes() const {
  std::uint32_t active = 0;
  for (std::size_t index = 0; index < lanes_.size(); ++index)
    if (lanes_[index].announces() || lanes_[index].sending > 0) active |= 1u << index;
  return active;
}

Personal::Next Personal::next(unsigned index) const {
  const Lane& lane = lanes_[index];
  if (lane.announces()) return {.peer = lane.peers[lane.announce].rank, .announces = true, .last = true};
  const std::uint32_t peer = lane.peers[lane.send].rank;
  const Block data = request_->send_block(peer);
  const std::uint64_t remaining = to_send_[peer], elements = layout_->filled(remaining);
  return {
      .peer = peer, .first = data.first + data.count - remaining, .elements = elements, .last = elements == remaining};
}

bool Personal::done(unsigned index) {
  Lane& lane = lanes_[index];
  lane.chosen = false;
  if (lane.announces()) {
    ++lane.announce;
    skip(lane);
  } else {
    std::uint64_t& remaining = to_send_[lane.peers[lane.send].rank];
    remaining -= layout_->filled(remaining);
    lane.sending -= remaining == 0;
    lane.advance();
  }
  return !lane.announces() && lane.sending == 0;
}

Personal::ReceiveRange Personal::arrived(std::uint32_t source) {
  const Block data = request_->receive_block(source);
  std::uint64_t& remaining = to_receive_[source];
  const ReceiveRange range{data.first + data.count - remaining, layout_->filled(remaining)};
  remaining -= range.elements;
  expected_ -= range.elements;
  return range;
}

}  // namespace thalweg::mpi_fpga
