// SPDX-License-Identifier: Apache-2.0
// A node: router, collective unit and host port, and the queues of waiting operations.
#pragma once

#include <deque>
#include <list>
#include <vector>

#include "common/growing.hpp"
#include "core/scheduler.hpp"
#include "mpi_fpga/host_port.hpp"
#include "switch/vc_router.hpp"

namespace thalweg::mpi_fpga {

/// A completion of a node's command, as the host sees it.
struct Ended {
  enum class Kind : std::uint8_t { row, collective, injected, arrived };
  Kind kind;
  Handle handle;
  Tick at;
};

class Node final : public Component, private HostPort::Listener {
 public:
  /// In partition `partition` of the scheduler; `ended`: the partition's.
  Node(const FabricConfig& config, const Graph& graph, NodeId self, Endpoint endpoint, Messages& messages,
       Scheduler& scheduler, unsigned partition, std::vector<Ended>& ended);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] VcRouter& router() { return router_; }
  [[nodiscard]] const VcRouter& router() const { return router_; }
  [[nodiscard]] const CollectiveUnit& unit() const { return unit_; }
  [[nodiscard]] std::size_t stored_packets() const { return pool_.in_use(); }

  // Commands, written to host memory at time `at`.

  void load_row(std::uint32_t context, const Row& row, Handle handle, Tick at);
  /// Frees a row. Rows carried by messages to vertices without a rank are dropped if they arrive later.
  void free_row(std::uint32_t context);
  [[nodiscard]] std::uint32_t generation(std::uint32_t context) const { return generation_[context]; }
  /// The request's root is a label. `group` must stay valid until the operation is over.
  void submit(std::uint32_t context, const CollectiveRequest& request, const Group& group, Tick at);
  void send(MessageId message, Tick at);

  bool step(Tick now) override;

 private:
  struct Command {
    CollectiveRequest request;
    const Group* group;
    Tick arrival;
    std::uint32_t order;  ///< Event::order
  };
  struct NewRow {
    Row row;
    Handle handle;
    bool begun = false;    ///< its loading has started
    Tick loaded = kNever;  ///< when it is in the table
  };

  void row_loaded(std::uint32_t context, Tick now) override;
  void operation_over(OperationId id, Tick now) override;
  void message_injected(MessageId id, Tick now) override;
  void message_arrived(MessageId id, Tick now) override;

  void step_unit(Tick now, std::uint64_t arrivals);
  void check_idle(Tick now);
  void handle(const Event& event, Tick now);
  void begin_row(std::uint32_t context, Tick now);
  void finish_row(std::uint32_t context, Tick now);
  void start_operations(std::uint32_t context, Tick now);
  void foresee(const Event& event);
  void complete(Ended::Kind kind, Handle handle, Tick now);

  static constexpr unsigned kHost = 63;  ///< bit of `arrivals_`

  Messages& messages_;
  Scheduler& scheduler_;
  std::vector<Ended>& ended_;
  ComponentId id_;
  PacketPool pool_;
  Events events_;
  Agenda arrivals_;  ///< inboxes of the unit's links and ports, and of the host port
  VcRouter router_;
  CollectiveUnit unit_;
  HostPort host_;
  Growing<Ring<Command>> commands_;          ///< per context
  std::vector<std::list<NewRow>> new_rows_;  ///< per context: rows to load
  std::vector<std::uint32_t> generation_;    ///< per context: number of times it was freed
  std::deque<Ended> in_transit_;  ///< completions in flight to the host; in time order, since latency is constant
  Tick row_written_ = 0;          ///< when the table can be written next
  Tick foreseen_ = kNever;
  std::uint32_t commanded_ = 0;  ///< commands from the host
  bool step_idle_;
  bool busy_ = false;  ///< the unit or the host port may act in this cycle without an event or an arrival
};

}  // namespace thalweg::mpi_fpga
