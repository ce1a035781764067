// SPDX-License-Identifier: Apache-2.0
// The collective unit of a node: processes of the operations in flight, aggregation units, and fork queues towards the
// router and the host. Its timing is in docs/collectives.md.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/ring.hpp"
#include "common/sparse.hpp"
#include "link/endpoint.hpp"
#include "mpi_fpga/collective_control.hpp"
#include "mpi_fpga/config.hpp"
#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/dispatch.hpp"
#include "mpi_fpga/driver/group.hpp"
#include "mpi_fpga/engine.hpp"
#include "mpi_fpga/events.hpp"
#include "mpi_fpga/injector.hpp"
#include "mpi_fpga/openings.hpp"
#include "mpi_fpga/packet.hpp"
#include "mpi_fpga/packetizer.hpp"
#include "mpi_fpga/personal.hpp"
#include "mpi_fpga/pick.hpp"
#include "mpi_fpga/pipe.hpp"
#include "mpi_fpga/precedence.hpp"
#include "mpi_fpga/progress.hpp"
#include "mpi_fpga/relay.hpp"
#include "mpi_fpga/rtl_unit.hpp"
#include "mpi_fpga/slots.hpp"
#include "mpi_fpga/stages.hpp"
#include "mpi_fpga/starter.hpp"
#include "mpi_fpga/steps.hpp"
#include "mpi_fpga/unit_sizes.hpp"
#include "mpi_fpga/uploads.hpp"
#include "reduce/fork.hpp"
#include "reduce/lane.hpp"

namespace thalweg::mpi_fpga {

using OperationId = std::uint32_t;  ///< context * operations in flight + entry

/// A packet for the host's memory.
struct HostPacket {
  PacketId packet = 0;
  OperationId operation = 0;
  std::uint64_t offset = 0;    ///< byte offset of its first element in the receive buffer
  std::uint64_t elements = 0;  ///< 0: a descriptor, the start of a stream
  Tick ready = 0;              ///< when its first flit is available
};

/// The resource that a process waits for.
struct Blockage {
  enum class Need : std::uint8_t {
    data,    ///< a packet from the edge's far end or the local host
    credit,  ///< room in the slot at the edge's far end
    turn,    ///< an earlier operation that still uses the edge
    stage,   ///< a stage shared with another process of the operation
  };
  std::uint32_t context;  ///< row of the communicator table
  std::uint32_t rank;
  unsigned edge;  ///< kMaxEdges: none, or the local host
  Need need;
  Tick since;
};

class CollectiveUnit {
 public:
  /// `links`: flits ejected to the unit, per link. Their inboxes, and those of the ports, are noted in `arrivals`.
  CollectiveUnit(const FabricConfig& config, const Graph& graph, NodeId self, std::span<FlitSink> links,
                 Agenda& arrivals, PacketPool& pool, Events& events);

  // The local ports through which it sends, numbered from 0; edge k uses port k modulo their number.

  [[nodiscard]] unsigned ports() const { return static_cast<unsigned>(ports_.size()); }
  [[nodiscard]] FlitSender& sender(unsigned port) { return ports_[port].sender; }

  // The communicator table.

  /// True if all credits that the row's former communicator freed here have been returned. Credits still in flight to
  /// this node are harmless: they are counted on arrival.
  [[nodiscard]] bool settled(std::uint32_t context) const {
    const bool settled = slots_.settled(context);
    if (rtl_) rtl_->settled(context, settled);
    return settled;
  }
  /// Writes the row's words from cycle `from`; call `loaded_now` `load_cycles` later.
  void load(std::uint32_t context, const Row& row, Tick from);
  /// One edge and one root's branch per cycle, the vertex's own fields with the last.
  [[nodiscard]] static Tick load_cycles(const Row& row) {
    return std::max<Tick>({1, std::popcount(row.used), row.rooted ? row.ranks : 0});
  }
  void loaded_now(std::uint32_t context);
  void unload(std::uint32_t context) {
    if (rtl_) rtl_->unload(context);
    contexts_[context].loaded = false;
    openings_.unload(context);
  }
  [[nodiscard]] bool loaded(std::uint32_t context) const {
    const Context* found = contexts_.find(context);
    return found && found->loaded;
  }

  // Operations.

  /// Starts an operation if an entry is free. Operations of a context start in order.
  [[nodiscard]] std::optional<OperationId> start(const CollectiveRequest& request, const Group* group,
                                                 std::uint32_t context, Tick now);
  /// True if an operation was started in this cycle.
  [[nodiscard]] bool started(Tick now) const { return started_ == now; }
  [[nodiscard]] const CollectiveRequest& request(OperationId id) const { return operation(id).request; }
  [[nodiscard]] const Packetizer& packetizer(OperationId id) const { return operation(id).packetizer; }
  /// User-defined units on the path of its packets; null: none.
  [[nodiscard]] const UserUnits* user_units(OperationId id) const { return operation(id).units; }
  [[nodiscard]] std::uint32_t context_of(OperationId id) const { return id / in_flight_; }
  /// Processes that take streams from this rank's host, as bits. Each has its own queue, numbered in the unit from
  /// `first_process(id)`.
  [[nodiscard]] std::uint32_t uploads(OperationId id) const { return operation(id).uploads; }
  [[nodiscard]] std::uint32_t first_process(OperationId id) const { return process_id(id, 0); }
  /// Virtual channel on which node `from` injects collective packets to `to`.
  [[nodiscard]] static unsigned channel(const FabricConfig& config, NodeId from, NodeId to);
  /// Link of `to` over which such packets arrive from `from`.
  [[nodiscard]] static unsigned last_link(const FabricConfig& config, const Graph& graph, NodeId from, NodeId to);
  [[nodiscard]] std::uint32_t process_limit() const { return process_id(in_flight_ * config_.collective.contexts, 0); }
  [[nodiscard]] bool upload_room(std::uint32_t process);
  /// Payload bytes of the next packet from the host; for a descriptor, which has none, the bytes of its header.
  [[nodiscard]] std::uint64_t upload_bytes(std::uint32_t process) const;
  /// Takes that packet. False if it was the process's last.
  bool upload(std::uint32_t process, Tick now);

  // Results for the host: one queue per aggregation unit, then one per port for all-to-all packets.

  [[nodiscard]] unsigned queues() const { return units() + ports(); }
  [[nodiscard]] bool has_results() const { return with_result_ != 0; }
  /// Queues with a result that is complete, as bits.
  [[nodiscard]] std::uint64_t results(Tick now) const {
    std::uint64_t ready = 0;
    for (std::uint64_t rest = with_result_; rest; rest &= rest - 1)
      if (queue(static_cast<unsigned>(std::countr_zero(rest))).front().ready <= now) ready |= rest & -rest;
    return ready;
  }
  /// The host starts to read the result, one flit per cycle from the next cycle. Its room in a unit's queue is free
  /// when the last flit has been read.
  HostPacket take_result(unsigned queue, Tick now);
  /// A result has reached host memory. True if this ended the operation.
  [[nodiscard]] bool delivered(const HostPacket& result);
  /// Removes an operation that ended with no result in flight to the host and has not been reported; its entry is then
  /// free.
  [[nodiscard]] std::optional<OperationId> take_ended() {
    if (ended_.empty()) return std::nullopt;
    const OperationId id = ended_.back();
    ended_.pop_back();
    operation(id).active = false;
    return id;
  }

  /// A packet from the host is available for the process.
  void announce(std::uint32_t process) { uploads_.announce(process); }
  /// Collective control has delivered a process's first step.
  void answered(std::uint32_t process) { pick_.answer(process); }

  /// Simulates one cycle; `arrivals`: inboxes that have some.
  void step(Tick now, std::uint64_t arrivals);
  /// True if all arrivals are credits, of which no port has a use: then take_credits() does what a step would do.
  [[nodiscard]] bool only_credits(std::uint64_t arrivals) const {
    return !(arrivals & ~of_ports_) && !to_send_ && !rtl_;
  }
  void take_credits(Tick now, std::uint64_t arrivals);
  /// True if the next cycle can change state without an event or an arrival.
  [[nodiscard]] bool active(Tick now) const;

  [[nodiscard]] std::vector<Blockage> blockages(Tick now) const;
  /// Outstanding credits, over all contexts and edges: 0 if nothing is in flight.
  [[nodiscard]] std::uint64_t credits_out() const;

 private:
  static constexpr unsigned kMaxLinks = 64;
  static constexpr unsigned kForkPackets = UnitSizes::kQueuePackets;
  static constexpr std::uint32_t kNoProcess = SlotWaits::kNoProcess;

  struct Edge {
    NodeId neighbour = 0;
    std::uint8_t there = 0;  ///< index of this edge at the neighbour
    std::uint8_t port = 0;
    std::uint8_t vc = 0;
  };

  struct Execution {
    Progress progress;
    bool running = false;
    std::uint32_t block = 0;  ///< rank whose block the stream carries
    Tick since = 0;           ///< time of its last packet
  };

  /// Packets from the host to a process.
  struct Upload {
    Progress progress;
    std::uint32_t rank = 0;  ///< owner of the block
    Block block;             ///< range in the send buffer
    Ring<PacketId> queue;
  };

  struct OperationState {
    bool active = false;
    std::uint32_t uploads = 0;  ///< processes that take packets from the host
    CollectiveRequest request;
    const Group* group = nullptr;  ///< members as the host knows them; null at a vertex without a rank
    Holding send_holding{}, receive_holding{};
    std::uint32_t number = 0;    ///< index in its communicator
    std::uint32_t sequence = 0;  ///< of headers: `number`, or the index among those on the tree
    Program program;
    Packetizer packetizer;       ///< packet layout, except the lengths in streams
    PacketLengths lengths;       ///< packet lengths of streams
    bool upwards_first = false;  ///< packets up the tree have priority
    std::uint64_t burst = 0;     ///< packets of one stream per turn with Turns::burst
    LaneFunction combine = nullptr;
    unsigned lane_latency = 0;
    const UserUnits* units = nullptr;
    std::vector<Execution> execution;
    std::uint32_t running = 0;   ///< running processes
    std::uint32_t to_host = 0;   ///< packets in flight to host memory
    std::vector<Upload> upload;  ///< per process
    Personal personal;           ///< state of an all-to-all, which has no processes; lane i is port i
  };

  struct Context {
    explicit Context(std::uint32_t in_flight) : operations(in_flight) {}

    bool loaded = false;
    Row row;
    std::uint32_t started = 0;  ///< operations started
    std::uint32_t on_tree = 0;  ///< those that use the tree; all at a vertex without a rank
    Growing<Edge> edges;
    Sparse<OperationState> operations;
    std::vector<std::uint8_t> announced;  ///< per rank: its announced all-to-alls, one bit per sequence number
  };

  /// Copies of one packet that an output port has to send.
  struct Copies {
    PacketId packet = 0;
    std::uint8_t context = 0;
    bool first = false;       ///< has priority over other ready packets
    std::uint32_t edges = 0;  ///< edges whose copies are not sent yet
    Tick ready = 0;
  };

  /// A packet that the host reads.
  struct HostRead {
    Tick last = 0;  ///< cycle of its last flit
    unsigned flits = 0;
  };

  struct Unit {
    Fork<Copies> to_port;
    Ring<HostPacket> to_host;
    unsigned host_room = 0;  ///< free flits in that queue
    Ring<HostRead> host_reads;
    Tick host_reads_until = 0;
  };

  struct Port {
    FlitSender sender;
    Injector injector;          ///< its sources: the units, then the relay
    std::uint64_t waiting = 0;  ///< sources with a packet
    bool left = false;          ///< a packet's last flit left in this cycle
    unsigned flit = 0;          ///< next flit of the packet being sent
    unsigned vc = 0;
    const Packet* packet = nullptr;  ///< the packet being sent
    Edge* edge = nullptr;            ///< its edge; nullptr for a packet of an all-to-all
    std::uint64_t header = 0;
    unsigned uploading = 0;    ///< packets of all-to-alls that the host is uploading
    Ring<HostPacket> to_host;  ///< packets of all-to-alls
    unsigned host_room = 0;    ///< free flits in that queue
    unsigned to_itself = 0;    ///< packets in it that the host sends to itself
  };

  /// Packets that arrive over a link.
  struct Link {
    FlitSink* sink = nullptr;
    std::array<PacketId, FlitSink::kMaxChannels> incoming{};
    std::array<std::uint8_t, FlitSink::kMaxChannels> received{};  ///< flits received so far
  };

  /// Cycles per flit position of a step: to read the operands, to write the result to its stages, and between
  /// successive positions.
  struct Pace {
    unsigned read, written, cycles;
  };

  /// The packets that a step reads from each bank.
  class Reads {
   public:
    struct Read {
      std::uint8_t bank, packets;
    };
    void add(unsigned bank) {
      for (std::size_t i = 0; i < size_; ++i)
        if (reads_[i].bank == bank) return void(++reads_[i].packets);
      reads_[size_++] = {static_cast<std::uint8_t>(bank), 1};
    }
    [[nodiscard]] const Read* begin() const { return reads_.data(); }
    [[nodiscard]] const Read* end() const { return reads_.data() + size_; }

   private:
    std::array<Read, kMaxEdges + Program::kMaxStages> reads_;
    std::size_t size_ = 0;
  };

  /// What blocks a process's next packet.
  struct Lack {
    enum class Of : std::uint8_t { turn, upload, staged, packet, credit, stage_room } of;
    unsigned index = 0;  ///< edge or stage
  };

  [[nodiscard]] OperationState& operation(OperationId id) {
    return contexts_[id / in_flight_].operations[id % in_flight_];
  }
  [[nodiscard]] const OperationState& operation(OperationId id) const {
    return contexts_[id / in_flight_].operations[id % in_flight_];
  }
  [[nodiscard]] static std::uint32_t process_id(OperationId id, unsigned process) {
    return id * Program::kMaxProcesses + process;
  }

  [[nodiscard]] Ring<HostPacket>& queue(unsigned index) {
    return index < units() ? units_[index].to_host : ports_[index - units()].to_host;
  }
  [[nodiscard]] const Ring<HostPacket>& queue(unsigned index) const {
    return index < units() ? units_[index].to_host : ports_[index - units()].to_host;
  }
  [[nodiscard]] unsigned units() const { return static_cast<unsigned>(units_.size()); }
  [[nodiscard]] unsigned channel_to(NodeId node) const { return channel(config_, self_, node); }

  void start_personal(OperationId id);
  bool upload_personal(OperationId id, unsigned lane, Tick now);
  [[nodiscard]] bool may_upload(const OperationState& op, const Context& context, const Port& port,
                                std::uint32_t peer) const;
  void relay(Tick now);
  void receive_personal(unsigned link, PacketId packet);
  void deliver_personal(unsigned port, PacketId packet, Tick ready);
  void begin_personal(Port& port, unsigned index);
  void taken_personal(unsigned port, PacketId packet);
  void send_relay_credit(unsigned port, Tick now);
  [[nodiscard]] bool idle(unsigned port) const {
    return !ports_[port].waiting && !slots_.due(port) && !relay_.credit_due(port);
  }
  [[nodiscard]] bool over(const OperationState& op) const;

  void attempt(std::uint32_t process, Tick now);
  [[nodiscard]] std::optional<Lack> lack(OperationId id, unsigned process, Tick now) const;
  [[nodiscard]] std::optional<Blockage> blockage(OperationId id, unsigned process, Tick now) const;
  void await(const Lack& lack, OperationId id, unsigned process);
  [[nodiscard]] Reads reads_of(OperationId id, const Step& step) const;
  [[nodiscard]] static Pace pace(const Step& step, const Reads& reads);
  [[nodiscard]] bool banks_free(const Reads& reads, Tick now) const;
  void take_banks(const Reads& reads, Tick now, Tick until);
  /// Read ports: first those of each link's slots, then those of each unit's stages.
  [[nodiscard]] const ReadPorts& bank(unsigned index) const {
    return index < links_.size() ? slots_.bank(index) : stages_.bank(index - static_cast<unsigned>(links_.size()));
  }
  [[nodiscard]] ReadPorts& bank(unsigned index) {
    return index < links_.size() ? slots_.bank(index) : stages_.bank(index - static_cast<unsigned>(links_.size()));
  }
  /// Location of the stages that a process fills (at most two), in the bank of one unit.
  [[nodiscard]] Stages::Home home(std::uint32_t process) const {
    return {process % units(), process % Program::kMaxProcesses / units() * 2};
  }
  [[nodiscard]] static std::uint32_t ports_of(const Context& context, const Step& step);
  [[nodiscard]] Dispatch::Step step_request(OperationId id, unsigned process, Tick latency) const;
  void execute(OperationId id, unsigned process, unsigned unit, const Dispatch::Step& step_request, const Reads& reads,
               Tick now);
  void hand_on(OperationId id, unsigned process, unsigned unit, PacketId result, const Progress::Part& part, Tick ready,
               Tick last, Tick now);
  void send_at(unsigned port, Tick ready, Tick now);
  [[nodiscard]] PacketId combine(const OperationState& op, std::span<const PacketId> operands, std::uint64_t elements);
  void begin_stream(OperationId id, unsigned process);
  [[nodiscard]] Packetizer layout_of(const OperationState& op, std::uint64_t elements) const {
    return op.lengths.of(op.request.piece ? op.request.count / op.request.pieces : elements);  // equal pieces
  }
  /// True if each stream is only a descriptor.
  [[nodiscard]] static bool descriptors_alone(const OperationState& op) {
    return op.request.collective == spec::Collective::barrier;
  }
  [[nodiscard]] static const Step& step_of(const OperationState& op, unsigned process, const Progress& progress) {
    return op.program.steps[op.program.processes[process].first + progress.step()];
  }
  [[nodiscard]] std::uint64_t burst(const OperationState& op) const;
  /// Packets that a process takes from one stream per turn.
  [[nodiscard]] static std::uint64_t at_a_time(const OperationState& op, const Process& process) {
    return process.turns == Turns::stream ? Progress::kAll : process.turns == Turns::packet ? 1 : op.burst;
  }
  [[nodiscard]] static Progress::Part next_part(const OperationState& op, unsigned process) {
    return op.execution[process].progress.part(descriptors_alone(op));
  }
  [[nodiscard]] std::uint64_t first_element(const OperationState& op, const Execution& execution) const;
  void finish(OperationId id, unsigned process);
  void ask(Tick now);
  void open(Tick now);
  /// The first words of a packet that may start an operation.
  using Head = Word<256>;
  [[nodiscard]] static Openings::Head of_opening(const Head& head) {
    return {spec::network_header::kind(head[0]), spec::network_header::sequence(head[0]),
            spec::network_header::algorithm(head[0])};
  }
  [[nodiscard]] Head head_of(PacketId packet) const {
    Head head;
    std::copy_n(pool_[packet].words.begin(), head.size(), head.begin());
    return head;
  }
  void host_has_read(Tick now);
  void show_personal(Tick now);
  [[nodiscard]] UnitModel::RelayRoutes relay_routes() const;
  [[nodiscard]] UnitModel::Start start_of(OperationId id, bool has_processes) const;

  void inject(unsigned port, Tick now);
  [[nodiscard]] bool begin(Port& port, unsigned index, Tick now);
  void sent(Port& port, unsigned index);
  void send_credit(unsigned port, Tick now);
  void receive(unsigned link, Tick now);
  void arrived(unsigned link, std::uint64_t header, PacketId packet);
  [[nodiscard]] bool can_send(unsigned port, Tick now) const;
  void wake();
  void keep_arrivals(Tick now);

  [[nodiscard]] std::uint64_t header(const OperationState& op, std::uint32_t context, spec::Kind kind, unsigned flits,
                                     bool last) const;

  const FabricConfig& config_;
  const Graph& graph_;
  NodeId self_;
  PacketPool& pool_;
  Events& events_;
  std::uint32_t in_flight_;
  UnitSizes sizes_;
  Slots slots_;
  Sparse<Context> contexts_;
  Precedence precedence_;
  std::vector<Unit> units_;
  std::vector<Port> ports_;
  std::vector<Link> links_;
  Relay relay_;
  Pick pick_;
  Dispatch dispatch_;
  std::uint32_t picked_ = kNoProcess;  ///< process tried in this cycle
  bool awaits_ = false;                ///< a process has started to wait
  std::uint64_t kept_ = 0;             ///< units that held a process at the start of the cycle, as bits
  Steps steps_;
  Uploads uploads_;
  Stages stages_;
  Starter starter_;
  Openings openings_;
  std::unique_ptr<RtlUnit> rtl_;            ///< co-simulated RTL for comparison; null: none
  std::uint64_t of_ports_ = 0;              ///< bits of the ports among arrivals
  std::uint32_t to_send_ = 0;               ///< ports with something to send, except
  std::uint32_t early_ = 0;                 ///< those whose packets are all ready only later,
  Tick ready_ = kNever;                     ///< at this time at the earliest
  std::uint64_t with_result_ = 0;           ///< non-empty queues to the host
  Tick started_ = kNever;                   ///< when an operation was last started
  std::vector<Openings::Arrival> openers_;  ///< this cycle's arrivals that may start operations
  std::vector<Head> opening_heads_;         ///< theirs
  std::optional<Head> in_front_;            ///< head of the slot that `openings_` inspects, read in the previous cycle
  Tick host_reads_end_ = kNever;            ///< when the host's next read of a unit's packet ends
  std::vector<OperationId> ended_;
  Pipe before_, after_;  ///< user-defined units, shared by all operations
};

}  // namespace thalweg::mpi_fpga
