#include "node/personal.hpp"

namespace thalweg {

/// On to the next rank that is to be told.
void Personal::skip(Lane& lane) const {
  while (lane.announce < ranks_ && request_->receive_block(rank_at(lane.announce)).count == 0)
    lane.announce += static_cast<std::uint32_t>(lanes_.size());
}

void Personal::start(const CollectiveRequest& request, std::uint32_t ranks, unsigned lanes, const Packetizer& layout) {
  request_ = &request;
  layout_ = &layout;
  ranks_ = ranks;
  lanes_.assign(lanes, {});
  to_send_.resize(ranks);
  received_.assign(ranks, 0);
  expected_ = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) expected_ += layout.packets(request.receive_block(rank).count);
  for (std::uint32_t offset = 0; offset < ranks; ++offset) {
    const std::uint32_t peer = rank_at(offset);
    to_send_[peer] = layout.packets(request.send_block(peer).count);
    lanes_[offset % lanes].sending += to_send_[peer] > 0;
  }
  for (unsigned index = 0; index < lanes; ++index) {
    lanes_[index].announce = lanes_[index].send = index;
    skip(lanes_[index]);
  }
}

std::uint32_t Personal::lanes() const {
  std::uint32_t active = 0;
  for (std::size_t index = 0; index < lanes_.size(); ++index)
    if (lanes_[index].announce < ranks_ || lanes_[index].sending > 0) active |= 1u << index;
  return active;
}

Personal::Next Personal::next(unsigned index) const {
  const Lane& lane = lanes_[index];
  if (lane.announce < ranks_) {
    const std::uint32_t peer = rank_at(lane.announce);
    return {.peer = peer, .announces = true, .first = request_->receive_block(peer).count, .last = true};
  }
  const std::uint32_t peer = rank_at(lane.send);
  const Block data = request_->send_block(peer);
  const std::uint64_t packet = layout_->packets(data.count) - to_send_[peer];
  return {.peer = peer,
          .first = data.first + packet * layout_->elements_per_packet(),
          .elements = layout_->elements_in(packet, data.count),
          .last = to_send_[peer] == 1};
}

bool Personal::done(unsigned index) {
  Lane& lane = lanes_[index];
  const auto step = static_cast<std::uint32_t>(lanes_.size());
  lane.chosen = false;
  if (lane.announce < ranks_) {
    lane.announce += step;
    skip(lane);
  } else {
    lane.sending -= --to_send_[rank_at(lane.send)] == 0;
    lane.send += step;
    if (lane.send >= ranks_) lane.send = index;
  }
  return lane.announce >= ranks_ && lane.sending == 0;
}

Personal::Place Personal::arrived(std::uint32_t source) {
  const Block data = request_->receive_block(source);
  const std::uint64_t packet = received_[source]++;
  --expected_;
  return {data.first + packet * layout_->elements_per_packet(), layout_->elements_in(packet, data.count)};
}

}  // namespace thalweg
