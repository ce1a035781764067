// SPDX-License-Identifier: Apache-2.0
// The host's side of a node: streaming DMA in both directions, and the router's port for messages.
//
// Towards the node, every process that reads from the host has its own stream; messages and table rows have one each.
// Streams with buffer space are served round-robin by packet, so a stalled stream blocks no other. Towards the host,
// the results of the aggregation units and the messages are also served round-robin.
#pragma once

#include <deque>
#include <vector>

#include "common/arbiter.hpp"
#include "common/paged.hpp"
#include "link/endpoint.hpp"
#include "mpi_fpga/collective_unit.hpp"
#include "mpi_fpga/messages.hpp"
#include "mpi_fpga/pipe.hpp"

namespace thalweg::mpi_fpga {

class HostPort {
 public:
  /// Notifications to the rest of the node.
  struct Listener {
    virtual void row_loaded(std::uint32_t context, Tick now) = 0;
    virtual void operation_over(OperationId id, Tick now) = 0;
    virtual void message_injected(MessageId id, Tick now) = 0;
    virtual void message_arrived(MessageId id, Tick now) = 0;

   protected:
    ~Listener() = default;
  };

  HostPort(const FabricConfig& config, NodeId self, Endpoint endpoint, CollectiveUnit& unit, Messages& messages,
           PacketPool& pool, Events& events, Listener& listener);

  [[nodiscard]] FlitSender& sender() { return sender_; }
  [[nodiscard]] FlitReceiver& receiver() { return receiver_; }
  /// One-way latency between host and node, in ticks.
  [[nodiscard]] Tick latency() const { return latency_; }

  // Streams towards the node. Each starts when its command has arrived.

  void begin_operation(OperationId id);
  void begin_message(MessageId id);
  void begin_row(std::uint32_t context, unsigned bits);

  void uploaded(std::uint32_t source, Tick now);   ///< handles an upload event
  void downloaded(std::uint32_t queue, Tick now);  ///< handles a download event

  /// Simulates one cycle; `arrivals`: the sender's or the receiver's inbox has some. False if nothing can happen until
  /// an event or an arrival.
  bool step(Tick now, bool arrivals) { return (arrivals || acts()) && act(now, arrivals); }

 private:
  static constexpr std::size_t kMessagePackets = 4;  ///< depth of the queues to the router and to the host

  struct Upload {
    bool busy = false;
    Pipe pipe;  ///< Endpoint::kernel: one per stream
  };
  struct RowToLoad {
    std::uint32_t context;
    unsigned bits;
  };
  struct MessagePacket {
    MessageId message = 0;
    std::uint64_t bytes = 0;
    unsigned flits = 1;
    bool last = false;
  };
  struct Download {
    bool busy = false;
    HostPacket result;
    Pipe pipe;
  };

  [[nodiscard]] Upload& upload(std::uint32_t source);
  [[nodiscard]] bool has_room(std::uint32_t source);
  [[nodiscard]] std::uint64_t upload_bytes(std::uint32_t source);
  /// True if it has a packet or may have a result to move.
  [[nodiscard]] bool acts() const {
    return !turn_.empty() || !outgoing_.empty() || !arrived_.empty() || holding_ || unit_.has_results();
  }
  bool act(Tick now, bool arrivals);
  void start_uploads(Tick now);
  bool start_downloads(Tick now);
  void store(const HostPacket& result);
  void choose_channel();
  void send_flit(Tick now);
  void receive_flit(Tick now);
  [[nodiscard]] MessagePacket next_packet(MessageId id);

  const FabricConfig& config_;
  NodeId self_;
  bool kernel_;
  Tick latency_;
  CollectiveUnit& unit_;
  Messages& messages_;
  PacketPool& pool_;
  Events& events_;
  Listener& listener_;

  // Towards the node. Sources: the unit's processes, messages, rows.
  std::uint32_t message_source_, row_source_;
  Paged<Upload> uploads_;            ///< of processes
  std::array<Upload, 2> others_;     ///< of messages and rows
  std::vector<std::uint32_t> turn_;  ///< sources with packets left, in round-robin order
  bool uploading_ = false;
  Pipe upload_pipe_;
  std::deque<MessageId> messages_to_send_;
  std::deque<RowToLoad> rows_to_load_;

  // Towards the host. Queues: the unit's, messages.
  std::vector<Download> downloads_;
  bool downloading_ = false;
  Pipe download_pipe_;
  Arbiter choose_queue_;

  // The router's local port 0.
  FlitSender sender_;
  FlitReceiver receiver_;
  Ring<MessagePacket> outgoing_;
  unsigned flit_ = 0, vc_ = 0;
  std::array<MessagePacket, FlitReceiver::kMaxChannels> incoming_{};
  std::deque<MessagePacket> arrived_;
  std::array<unsigned, FlitReceiver::kMaxChannels> held_{};  ///< flits whose credits are not returned yet
  std::uint32_t holding_ = 0;
};

}  // namespace thalweg::mpi_fpga
