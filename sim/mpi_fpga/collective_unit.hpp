// SPDX-License-Identifier: Apache-2.0
// The collective unit of a node: the processes of the operations in flight, aggregation units, and the fork queues towards the
// router and the host. docs/collectives.md describes its timing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/ring.hpp"
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

using OperationId = std::uint32_t;  ///< context * operations in flight + place

/// A packet for the host's memory.
struct HostPacket {
  PacketId packet = 0;
  OperationId operation = 0;
  std::uint64_t offset = 0;    ///< of its first element in the receive buffer, in bytes
  std::uint64_t elements = 0;  ///< 0: a descriptor, which tells the host that a stream begins
  Tick ready = 0;              ///< when its first flit is there
};

/// What a process waits for.
struct Blockage {
  enum class Need : std::uint8_t {
    data,    ///< a packet from the edge's other end, or from the own host
    credit,  ///< room in the slot at the edge's other end
    turn,    ///< an earlier operation to be done with the edge
    stage,   ///< another process of the same operation
  };
  std::uint32_t context;  ///< row
  std::uint32_t rank;
  unsigned edge;  ///< kMaxEdges: none, or the own host
  Need need;
  Tick since;
};

class CollectiveUnit {
 public:
  /// `links`: what comes for it over each of them.
  CollectiveUnit(const FabricConfig& config, const Graph& graph, NodeId self, std::span<FlitSink> links,
                 PacketPool& pool, Events& events);

  // The local ports through which it sends, counted from 0; edge k uses port k modulo their number.

  [[nodiscard]] unsigned ports() const { return static_cast<unsigned>(ports_.size()); }
  [[nodiscard]] FlitSender& sender(unsigned port) { return ports_[port].sender; }

  // The communicator table.

  /// True when all room that the row's former communicator freed here has been told to its neighbours. Credits that are
  /// still on their way to this node do no harm: they are counted when they come.
  [[nodiscard]] bool settled(std::uint32_t context) const {
    const bool settled = slots_.settled(context);
    if (rtl_) rtl_->settled(context, settled);
    return settled;
  }
  /// The row's words are written from a cycle on; it is `loaded_now` `load_cycles` later.
  void load(std::uint32_t context, const Row& row, Tick from);
  /// An edge and a root's branch in a cycle, and the vertex with the last of them.
  [[nodiscard]] static Tick load_cycles(const Row& row) {
    return std::max<Tick>({1, std::popcount(row.used), row.rooted ? row.ranks : 0});
  }
  void loaded_now(std::uint32_t context);
  void unload(std::uint32_t context) {
    if (rtl_) rtl_->unload(context);
    contexts_[context].loaded = false;
    openings_.unload(context);
  }
  [[nodiscard]] bool loaded(std::uint32_t context) const { return contexts_[context].loaded; }

  // Operations.

  /// Starts an operation if a place for it is free. Operations of a context are started in order.
  [[nodiscard]] std::optional<OperationId> start(const CollectiveRequest& request, const Group* group,
                                                 std::uint32_t context, Tick now);
  /// One has been started in this cycle.
  [[nodiscard]] bool started(Tick now) const { return started_ == now; }
  [[nodiscard]] const CollectiveRequest& request(OperationId id) const { return operation(id).request; }
  [[nodiscard]] const Packetizer& packetizer(OperationId id) const { return operation(id).packetizer; }
  /// The user's units that its packets pass; null: none.
  [[nodiscard]] const UserUnits* user_units(OperationId id) const { return operation(id).units; }
  [[nodiscard]] std::uint32_t context_of(OperationId id) const { return id / in_flight_; }
  /// Processes that take streams from this rank's host, as bits. Each has a queue of its own, by its number in the unit:
  /// `first_process(id)` and the processes after it.
  [[nodiscard]] std::uint32_t uploads(OperationId id) const { return operation(id).uploads; }
  [[nodiscard]] std::uint32_t first_process(OperationId id) const { return process_id(id, 0); }
  /// The virtual channel on which a node injects packets of collectives to another one.
  [[nodiscard]] static unsigned channel(const FabricConfig& config, NodeId from, NodeId to);
  /// The link of `to` over which such packets come from another node.
  [[nodiscard]] static unsigned last_link(const FabricConfig& config, const Graph& graph, NodeId from, NodeId to);
  [[nodiscard]] std::uint32_t process_limit() const { return process_id(in_flight_ * config_.collective.contexts, 0); }
  [[nodiscard]] bool upload_room(std::uint32_t process);
  /// Payload bytes of the next packet from the host; a descriptor has none, and counts as its header.
  [[nodiscard]] std::uint64_t upload_bytes(std::uint32_t process) const;
  /// That packet has come. False: it was the process's last.
  bool upload(std::uint32_t process, Tick now);

  // The host's side of the results: a queue per aggregation unit, then one per port, for what comes straight to the host.

  [[nodiscard]] unsigned queues() const { return units() + ports(); }
  /// The queues that have a result, as bits.
  [[nodiscard]] std::uint64_t results(Tick now) const {
    std::uint64_t ready = 0;
    for (std::uint64_t rest = with_result_; rest; rest &= rest - 1)
      if (queue(static_cast<unsigned>(std::countr_zero(rest))).front().ready <= now) ready |= rest & -rest;
    return ready;
  }
  /// The host begins to read it, a flit in a cycle from the next one on. What a unit's queue has room for is free when the last one
  /// has been read.
  HostPacket take_result(unsigned queue, Tick now);
  /// A result is in host memory. True: it was the operation's last deed, the operation is over.
  [[nodiscard]] bool delivered(const HostPacket& result);
  /// An operation that ended without anything on its way to the host, and is not known to have: its place is free now.
  [[nodiscard]] std::optional<OperationId> take_ended() {
    if (ended_.empty()) return std::nullopt;
    const OperationId id = ended_.back();
    ended_.pop_back();
    operation(id).active = false;
    return id;
  }

  /// A packet from the host is there for the process.
  void announce(std::uint32_t process) { uploads_.announce(process); }
  /// Collective control has said the first step of a process.
  void answered(std::uint32_t process) { pick_.answer(process); }

  /// One cycle.
  void step(Tick now);
  /// Something can happen in the next cycle without an event or an arrival.
  [[nodiscard]] bool active(Tick now) const;

  [[nodiscard]] std::vector<Blockage> blockages(Tick now) const;
  /// Credits that are not at home, over all contexts and edges: 0 when nothing is under way.
  [[nodiscard]] std::uint64_t credits_out() const;

 private:
  static constexpr unsigned kMaxLinks = 64;
  static constexpr unsigned kForkPackets = UnitSizes::kQueuePackets;
  static constexpr std::uint32_t kNobody = SlotWaits::kNobody;

  struct Edge {
    NodeId neighbour = 0;
    std::uint8_t there = 0;  ///< the neighbour's number for this edge
    std::uint8_t port = 0;
    std::uint8_t vc = 0;
  };

  struct Execution {
    Progress progress;
    bool running = false;
    std::uint32_t block = 0;  ///< the rank whose block the stream carries
    Tick since = 0;           ///< when it last moved
  };

  /// What the host gives to a process.
  struct Upload {
    Progress progress;
    std::uint32_t rank = 0;  ///< whose block it is
    Block block;             ///< in the send buffer
    Ring<PacketId> queue;
  };

  struct OperationState {
    bool active = false;
    std::uint32_t uploads = 0;  ///< processes that take from the host
    CollectiveRequest request;
    const Group* group = nullptr;  ///< what the host knows
    Holding gives{}, gets{};
    std::uint32_t number = 0;    ///< in its communicator
    std::uint32_t sequence = 0;  ///< what the header says: that, or on the tree the number among those that take it
    Program program;
    Packetizer packetizer;       ///< of everything but streams
    PacketLengths lengths;       ///< of a stream's packets
    bool upwards_first = false;  ///< the way up goes before others
    std::uint64_t burst = 0;     ///< packets that a process takes so at a time
    LaneFunction combine = nullptr;
    unsigned lane_latency = 0;
    const UserUnits* units = nullptr;
    std::array<Execution, Program::kMaxProcesses> execution;
    std::uint32_t running = 0;   ///< processes
    std::uint32_t to_host = 0;   ///< packets on their way to host memory
    std::vector<Upload> upload;  ///< of each process
    Personal personal;           ///< all-to-all, which has no processes: lane i is port i
  };

  struct Context {
    bool loaded = false;
    Row row;
    std::uint32_t started = 0;  ///< operations
    std::uint32_t on_tree = 0;  ///< of them those that take the tree: a vertex without a rank has no others
    std::array<Edge, kMaxEdges> edges;
    std::vector<OperationState> operations;
    std::vector<std::uint8_t>
        announced;  ///< of each rank: all-to-alls that it has a place for, a bit per sequence number
  };

  /// What an output port has to send of one packet.
  struct Copies {
    PacketId packet = 0;
    std::uint8_t context = 0;
    bool first = false;       ///< before others that are ready
    std::uint32_t edges = 0;  ///< copies that are still to be sent
    Tick ready = 0;
  };

  /// What the host reads.
  struct HostRead {
    Tick last = 0;  ///< the cycle of its last flit
    unsigned flits = 0;
  };

  struct Unit {
    Fork<Copies> to_port;
    Ring<HostPacket> to_host;
    unsigned host_room = 0;  ///< flits in that queue that are free
    Ring<HostRead> host_reads;
    Tick host_reads_until = 0;
  };

  struct Port {
    FlitSender sender;
    Injector injector;          ///< its sources: the units, and one beyond them: the relay
    std::uint64_t waiting = 0;  ///< sources that hold something
    bool left = false;          ///< a packet's last flit, in this cycle
    unsigned flit = 0;          ///< of the packet that is being sent
    unsigned vc = 0;
    const Packet* packet = nullptr;  ///< that one
    Edge* edge = nullptr;            ///< nullptr: it is of an all-to-all
    std::uint64_t header = 0;
    unsigned uploading = 0;    ///< packets of all-to-alls that come from the host
    Ring<HostPacket> to_host;  ///< of all-to-alls
    unsigned host_room = 0;    ///< flits in that queue that are free
    unsigned to_itself = 0;    ///< places in it that are taken by what the host has for itself
  };

  /// What comes over a link.
  struct Link {
    FlitSink* sink = nullptr;
    std::array<PacketId, FlitSink::kMaxChannels> incoming{};
    std::array<std::uint8_t, FlitSink::kMaxChannels> received{};  ///< flits of it
  };

  /// Cycles in which the flits of a place in their packets are read, in which the result is written to stages, and from each to the
  /// next.
  struct Pace {
    unsigned read, written, cycles;
  };

  /// What keeps a process from its next packet.
  struct Lack {
    enum class Of : std::uint8_t { turn, upload, staged, packet, credit, stage_room } of;
    unsigned index = 0;  ///< edge, stage
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
  [[nodiscard]] Pace pace(OperationId id, const Step& step) const;
  [[nodiscard]] bool banks_free(OperationId id, const Step& step, Tick now) const;
  void take_banks(OperationId id, const Step& step, Tick now, Tick until);
  template <class Visit>
  void each_bank(OperationId id, const Step& step, Visit&& visit) const;
  /// That of the slots of a link; after these, that of the stages which a unit fills.
  [[nodiscard]] const ReadPorts& bank(unsigned index) const {
    return index < links_.size() ? slots_.bank(index) : stages_.bank(index - static_cast<unsigned>(links_.size()));
  }
  [[nodiscard]] ReadPorts& bank(unsigned index) {
    return index < links_.size() ? slots_.bank(index) : stages_.bank(index - static_cast<unsigned>(links_.size()));
  }
  /// Where the stages lie that a process fills, two at most: with one of the units.
  [[nodiscard]] Stages::Home home(std::uint32_t process) const {
    return {process % units(), process % Program::kMaxProcesses / units() * 2};
  }
  [[nodiscard]] static std::uint32_t ports_of(const Context& context, const Step& step);
  [[nodiscard]] Dispatch::Step wish(OperationId id, unsigned process, Tick latency) const;
  void execute(OperationId id, unsigned process, unsigned unit, const Dispatch::Step& wish, Tick now);
  void hand_on(OperationId id, unsigned process, unsigned unit, PacketId result, const Progress::Part& part, Tick ready,
               Tick last);
  [[nodiscard]] PacketId combine(const OperationState& op, std::span<const PacketId> operands, std::uint64_t elements);
  void begin_stream(OperationId id, unsigned process);
  [[nodiscard]] Packetizer layout_of(const OperationState& op, std::uint64_t elements) const {
    return op.lengths.of(op.request.piece ? op.request.count / op.request.pieces : elements);  // all pieces alike
  }
  /// A descriptor is all of its stream.
  [[nodiscard]] static bool descriptors_alone(const OperationState& op) {
    return op.request.collective == spec::Collective::barrier;
  }
  [[nodiscard]] static const Step& step_of(const OperationState& op, unsigned process, const Progress& progress) {
    return op.program.steps[op.program.processes[process].first + progress.step()];
  }
  [[nodiscard]] std::uint64_t burst(const OperationState& op) const;
  /// Packets of a stream that a process takes at a time.
  [[nodiscard]] static std::uint64_t at_a_time(const OperationState& op, const Process& process) {
    return process.turns == Turns::stream ? Progress::kAll : process.turns == Turns::packet ? 1 : op.burst;
  }
  [[nodiscard]] static Progress::Part next_part(const OperationState& op, unsigned process) {
    return op.execution[process].progress.part(descriptors_alone(op));
  }
  [[nodiscard]] std::uint64_t place(const OperationState& op, const Execution& execution) const;
  void finish(OperationId id, unsigned process);
  void ask(Tick now);
  void open(Tick now);
  /// The first words of a packet that may begin an operation.
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
  [[nodiscard]] UnitModel::Ways ways() const;
  [[nodiscard]] UnitModel::Start start_of(OperationId id, bool asks) const;

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
  std::vector<Context> contexts_;
  Precedence precedence_;
  std::vector<Unit> units_;
  std::vector<Port> ports_;
  std::vector<Link> links_;
  Relay relay_;
  Pick pick_;
  Dispatch dispatch_;
  std::uint32_t picked_ = kNobody;  ///< is tried in this cycle
  std::uint64_t kept_ = 0;          ///< units that kept a process when it began, as bits
  Steps steps_;
  Uploads uploads_;
  Stages stages_;
  Starter starter_;
  Openings openings_;
  std::unique_ptr<RtlUnit> rtl_;   ///< beside it, for comparison; null: none
  std::uint32_t to_send_ = 0;      ///< ports that have something to send, or will have
  std::uint64_t with_result_ = 0;  ///< queues to the host that are not empty
  Tick started_ = kNever;          ///< when an operation began last
  std::optional<Head> in_front_;   ///< of what openings look at, read in the cycle before
  std::vector<OperationId> ended_;
  Pipe before_, after_;  ///< the user's units, of all operations
  std::array<std::byte, kMaxPacketFlits * kFlitBytes> scratch_;
};

}  // namespace thalweg::mpi_fpga
