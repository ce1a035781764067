// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/host_port.hpp"

#include <algorithm>
#include <bit>

#include "common/bits.hpp"

namespace thalweg::mpi_fpga {

namespace network_header = spec::network_header;

HostPort::HostPort(const FabricConfig& config, NodeId self, Endpoint endpoint, CollectiveUnit& unit, Messages& messages,
                   PacketPool& pool, Events& events, Listener& listener)
    : config_(config),
      self_(self),
      kernel_(endpoint == Endpoint::kernel),
      latency_(kernel_ ? 0 : config.host.pcie_latency),
      unit_(unit),
      messages_(messages),
      pool_(pool),
      events_(events),
      listener_(listener),
      message_source_(unit.process_limit()),
      row_source_(message_source_ + 1),
      downloads_(unit.queues() + 1),
      outgoing_(kMessagePackets) {
  const Share& share = config.router.share;
  const Pipe port(kFlitBytes * static_cast<double>(share.flits) / share.cycles);
  const double dma = double{kFlitBytes} * config.host.dma_flits_per_cycle;
  const double pcie = config.host.pcie_bytes_per_tick;
  upload_pipe_ = download_pipe_ = Pipe(pcie > 0 ? std::min(pcie, dma) : dma);
  uploads_ = Paged(Upload{.pipe = port});
  for (Upload& upload : others_) upload.pipe = port;
  for (Download& download : downloads_) download.pipe = port;
}

void HostPort::begin_operation(OperationId id) {
  each_bit(unit_.uploads(id), [&](unsigned process) { turn_.push_back(unit_.first_process(id) + process); });
}

void HostPort::begin_message(MessageId id) {
  if (messages_to_send_.empty()) turn_.push_back(message_source_);
  messages_to_send_.push_back(id);
}

void HostPort::begin_row(std::uint32_t context, unsigned bits) {
  if (rows_to_load_.empty()) turn_.push_back(row_source_);
  rows_to_load_.push_back({context, bits});
}

bool HostPort::act(Tick now, bool arrivals) {
  send_flit(now);
  if (!turn_.empty()) start_uploads(now);
  // A packet of an all-to-all for this rank itself leaves room when the host takes it, which is used in the next cycle.
  const bool freed = start_downloads(now) && !turn_.empty();
  if (arrivals || holding_) receive_flit(now);
  if (arrivals) sender_.update(now);
  const bool to_download = !arrived_.empty() && !downloads_.back().busy;  // arrived after this cycle's start_downloads
  return (!outgoing_.empty() && sender_.ready(vc_)) || holding_ || to_download || freed;
}

// ------------------------------------------------------------------------------------------------ Towards the node

HostPort::Upload& HostPort::upload(std::uint32_t source) {
  return source >= message_source_ ? others_[source - message_source_] : uploads_[source];
}

bool HostPort::has_room(std::uint32_t source) {
  if (source == message_source_) return !outgoing_.full();
  return source == row_source_ || unit_.upload_room(source);
}

HostPort::MessagePacket HostPort::next_packet(MessageId id) {
  const Packetizer layout(1, config_.collective.packet_flits);
  const std::uint64_t left = messages_[id].to_send;
  const std::uint64_t bytes = std::min(left, layout.elements_per_packet());
  return {id, bytes, layout.flits(bytes), bytes == left};
}

/// Every stream starts with a header or descriptor of 8 bytes, which is a separate packet for a collective.
std::uint64_t HostPort::upload_bytes(std::uint32_t source) {
  if (source == row_source_) return kHeaderBytes + (rows_to_load_.front().bits + 7) / 8;
  if (source == message_source_) {
    const Messages::Message& message = messages_[messages_to_send_.front()];
    const bool first = message.to_send == message.request.bytes;
    return next_packet(messages_to_send_.front()).bytes + (first ? kHeaderBytes : 0);
  }
  return unit_.upload_bytes(source);
}

void HostPort::start_uploads(Tick now) {
  for (std::size_t i = 0; i < turn_.size() && (kernel_ || !uploading_);) {
    const std::uint32_t source = turn_[i];
    Upload& upload = this->upload(source);
    if (upload.busy || !has_room(source)) {
      ++i;
      continue;
    }
    upload.busy = uploading_ = true;
    Pipe& pipe = kernel_ ? upload.pipe : upload_pipe_;
    events_.add({std::max(now + 1, pipe.pass(now, upload_bytes(source))), Event::Kind::upload, source});
    std::rotate(turn_.begin() + static_cast<std::ptrdiff_t>(i), turn_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                turn_.end());
  }
}

void HostPort::uploaded(std::uint32_t source, Tick now) {
  upload(source).busy = uploading_ = false;
  bool over = false;
  if (source == row_source_) {
    const std::uint32_t context = rows_to_load_.front().context;
    rows_to_load_.pop_front();
    over = rows_to_load_.empty();
    listener_.row_loaded(context, now);
  } else if (source == message_source_) {
    const MessageId id = messages_to_send_.front();
    const MessagePacket packet = next_packet(id);
    messages_[id].to_send -= packet.bytes;
    outgoing_.push(packet);
    if (outgoing_.size() == 1) choose_channel();
    if (packet.last) {
      messages_to_send_.pop_front();
      listener_.message_injected(id, now);
    }
    over = messages_to_send_.empty();
  } else {
    over = !unit_.upload(source, now);
  }
  if (over) std::erase(turn_, source);
}

// ------------------------------------------------------------------------------------------------ Towards the host

/// True if one has started.
bool HostPort::start_downloads(Tick now) {
  const unsigned queues = static_cast<unsigned>(downloads_.size());
  const unsigned messages = queues - 1;
  if (downloading_ && !kernel_) return false;
  std::uint64_t ready = unit_.results(now);
  if (!arrived_.empty()) ready |= std::uint64_t{1} << messages;
  for (std::uint64_t rest = kernel_ ? ready : 0; rest; rest &= rest - 1)  // with a kernel, every queue has its own pipe
    if (downloads_[static_cast<std::size_t>(std::countr_zero(rest))].busy) ready &= ~(rest & -rest);
  bool started = false;
  while (ready && (kernel_ || !downloading_)) {
    const unsigned queue = choose_queue_.pick(ready);
    choose_queue_.accept(queue, queues);
    ready &= ~(std::uint64_t{1} << queue);
    Download& download = downloads_[queue];
    Pipe& pipe = kernel_ ? download.pipe : download_pipe_;
    Tick end;
    if (queue == messages) {
      end = pipe.pass(now, arrived_.front().bytes);
    } else {
      download.result = unit_.take_result(queue, now);
      const HostPacket& result = download.result;
      const std::uint64_t bytes = result.elements ? result.elements * unit_.packetizer(result.operation).element_bytes()
                                                  : std::uint64_t{kHeaderBytes};
      end = std::max(pipe.pass(now, bytes), result.ready + config_.router.share.time(pool_[result.packet].flits));
    }
    download.busy = downloading_ = started = true;
    events_.add({std::max(now + 1, end), Event::Kind::download, queue});
  }
  return started;
}

void HostPort::store(const HostPacket& result) {
  const CollectiveRequest& request = unit_.request(result.operation);
  const Packetizer& layout = unit_.packetizer(result.operation);
  const std::size_t size = layout.element_bytes();
  const UserUnits* units = unit_.user_units(result.operation);
  const std::byte* from = pool_[result.packet].bytes();
  layout.pieces(result.elements, [&](std::size_t at, std::uint64_t first, std::uint64_t n) {
    std::byte* const to = request.receive.data() + result.offset + first * size;
    std::copy_n(from + at, n * size, to);
    if (units && units->after.map) units->after.map(to, n * size / units->after.bytes);
  });
}

void HostPort::downloaded(std::uint32_t queue, Tick now) {
  Download& download = downloads_[queue];
  download.busy = downloading_ = false;
  if (queue + 1 == downloads_.size()) {
    const MessagePacket packet = arrived_.front();
    arrived_.pop_front();
    Messages::Message& message = messages_[packet.message];
    message.to_arrive -= packet.bytes;
    if (message.to_arrive == 0) listener_.message_arrived(packet.message, now);
    return;
  }
  store(download.result);
  pool_.release(download.result.packet);
  if (unit_.delivered(download.result)) listener_.operation_over(download.result.operation, now);
}

// ------------------------------------------------------------------------------------------- The port for messages

/// Of the next packet to the router.
void HostPort::choose_channel() {
  const NodeId destination = messages_[outgoing_.front().message].request.destination;
  vc_ = static_cast<unsigned>(std::countr_zero(config_.channels(0, self_, destination)));
}

void HostPort::send_flit(Tick now) {
  if (outgoing_.empty() || !sender_.open(now) || !sender_.ready(vc_)) return;
  const MessagePacket& packet = outgoing_.front();
  Flit& flit = sender_.send(now, vc_);
  flit.data = {};
  flit.head = flit_ == 0;
  if (flit.head) {
    const NodeId destination = messages_[packet.message].request.destination;
    flit.data[0] = spec::NetworkHeader{.destination = static_cast<std::uint16_t>(destination),
                                       .size = static_cast<std::uint8_t>(std::countr_zero(packet.flits)),
                                       .last = packet.last}
                       .pack();
    flit.data[1] = packet.message;
    flit.data[2] = packet.bytes;
  }
  flit.tail = ++flit_ == packet.flits;
  if (!flit.tail) return;
  flit_ = 0;
  outgoing_.pop();
  if (!outgoing_.empty()) choose_channel();
}

void HostPort::receive_flit(Tick now) {
  if (const Flit* flit = receiver_.receive(now)) {
    MessagePacket& packet = incoming_[flit->vc];
    if (flit->head)
      packet = {static_cast<MessageId>(flit->data[1]), flit->data[2], 1, network_header::last(flit->data[0])};
    ++held_[flit->vc];
    holding_ |= 1u << flit->vc;
    if (flit->tail) arrived_.push_back(packet);
  }
  if (!holding_) return;
  if (arrived_.size() <= kMessagePackets)  // otherwise the host lags: flits stay in the buffer, without credits
    for (std::uint32_t rest = holding_; rest; rest &= rest - 1) {
      const auto vc = static_cast<unsigned>(std::countr_zero(rest));
      receiver_.release(vc);
      if (--held_[vc] == 0) holding_ &= ~(1u << vc);
    }
  receiver_.update(now);
}

}  // namespace thalweg::mpi_fpga
