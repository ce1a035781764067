// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/node.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "network/network.hpp"

namespace thalweg::mpi_fpga {

Node::Node(const FabricConfig& config, const Graph& graph, NodeId self, Endpoint endpoint, Messages& messages,
           Scheduler& scheduler, unsigned partition, std::vector<Ended>& ended)
    : messages_(messages),
      scheduler_(scheduler),
      ended_(ended),
      id_(scheduler.add(*this, partition)),
      pool_(config.collective.long_packet_flits),
      router_(make_router(config, graph, self)),
      unit_(config, graph, self, router_.ejected(), arrivals_, pool_, events_),
      host_(config, self, endpoint, unit_, messages, pool_, events_, *this),
      new_rows_(config.collective.contexts),
      generation_(config.collective.contexts),
      step_idle_(config.simulation.step_idle) {
  router_.bind(scheduler, id_);
  const auto join = [&](FlitSender& sender, unsigned local) {
    sender.inbox().bind(scheduler, id_);
    connect_sender(config.router, sender, router_, config.router.link_ports + local);
  };
  host_.sender().inbox().note_in(arrivals_, kHost);
  host_.receiver().inbox().note_in(arrivals_, kHost);
  join(host_.sender(), 0);
  host_.receiver().inbox().bind(scheduler, id_);
  connect_receiver(config.router, router_, config.router.link_ports, host_.receiver(),
                   config.router.local_buffer_flits);
  for (unsigned port = 0; port < unit_.ports(); ++port) join(unit_.sender(port), port + 1);
}

void Node::foresee(const Event& event) {
  events_.add(event);
  scheduler_.wake(id_, event.at);
}

void Node::load_row(std::uint32_t context, const Row& row, Handle handle, Tick at) {
  new_rows_[context].push_back({row, handle});
  foresee({at + host_.latency(), Event::Kind::table, context, ++commanded_});
}

void Node::submit(std::uint32_t context, const CollectiveRequest& request, const Group& group, Tick at) {
  auto& queue = commands_[context];
  const Tick arrival = std::max(at + host_.latency(), queue.empty() ? 0 : queue[queue.size() - 1].arrival);
  queue.push_growing({request, &group, arrival, ++commanded_});
  foresee({arrival, Event::Kind::command, context, commanded_});
}

void Node::send(MessageId message, Tick at) {
  foresee({at + host_.latency(), Event::Kind::message, message, ++commanded_});
}

bool Node::step(Tick now) {
  const bool routes = router_.step(now);
  const std::uint64_t arrivals = arrivals_.take(now);
  if (busy_ || events_.next() <= now || (arrivals && (step_idle_ || !unit_.only_credits(arrivals))))
    step_unit(now, step_idle_ ? ~std::uint64_t{0} : arrivals);
  else if (arrivals)
    unit_.take_credits(now, arrivals);
  else if (step_idle_)
    check_idle(now);
  const bool busy = routes || busy_;
  const Tick next = events_.next();
  if (!busy && next != kNever && next != foreseen_) {
    foreseen_ = next;
    scheduler_.wake(id_, next);
  }
  return busy;
}

/// Steps all but the router.
void Node::step_unit(Tick now, std::uint64_t arrivals) {
  events_.begin(now);
  while (events_.next_event() <= now) handle(events_.take(), now);
  unit_.step(now, arrivals);
  while (const auto id = unit_.take_ended()) {
    complete(Ended::Kind::collective, unit_.request(*id).handle, now);
    start_operations(unit_.context_of(*id), now + 1);  // the unit has already executed this cycle
  }
  busy_ = host_.step(now, arrivals >> kHost & 1);
  busy_ |= unit_.active(now);  // after the host, whose reads of results free room
}

void Node::check_idle(Tick now) {
  const Tick next = events_.next();
  const std::size_t stored = pool_.in_use(), ending = in_transit_.size();
  step_unit(now, ~std::uint64_t{0});
  if ((busy_ && next > now + 1) || events_.next() != next || pool_.in_use() != stored || in_transit_.size() != ending)
    throw std::logic_error("the unit or the host port of a node changes in tick " + std::to_string(now) +
                           " without a cause");
}

void Node::handle(const Event& event, Tick now) {
  switch (event.kind) {
    case Event::Kind::command:
      start_operations(event.subject, now);
      break;
    case Event::Kind::message:
      host_.begin_message(event.subject);
      break;
    case Event::Kind::table:
      begin_row(event.subject, now);
      break;
    case Event::Kind::loaded:
      finish_row(event.subject, now);
      break;
    case Event::Kind::upload:
      host_.uploaded(event.subject, now);
      break;
    case Event::Kind::download:
      host_.downloaded(event.subject, now);
      break;
    case Event::Kind::ready:
      unit_.announce(event.subject);
      break;
    case Event::Kind::step:
      unit_.answered(event.subject);
      break;
    case Event::Kind::none:
      break;
    case Event::Kind::complete:
      ended_.push_back(in_transit_.front());
      in_transit_.pop_front();
      break;
  }
}

void Node::begin_row(std::uint32_t context, Tick now) {
  const auto next = std::ranges::find(new_rows_[context], false, &NewRow::begun);
  if (next == new_rows_[context].end()) return;  // freed meanwhile
  if (!unit_.settled(context)) return events_.add({now + 1, Event::Kind::table, context});
  next->begun = true;
  if (next->row.has_rank())
    host_.begin_row(context, next->row.bits());
  else
    row_loaded(context, now);  // it arrived in a message
}

void Node::free_row(std::uint32_t context) {
  unit_.unload(context);
  std::erase_if(new_rows_[context], [](const NewRow& row) { return !row.row.has_rank(); });
  ++generation_[context];
}

void Node::start_operations(std::uint32_t context, Tick now) {
  auto& queue = commands_[context];
  if (queue.empty() || queue.front().arrival > now || !unit_.loaded(context)) return;
  if (!unit_.started(now)) {
    const auto id = unit_.start(queue.front().request, queue.front().group, context, now);
    if (!id) return;
    queue.pop();
    host_.begin_operation(*id);
    if (queue.empty()) return;
  }
  events_.add({now + 1, Event::Kind::command, context, queue.front().order});  // the unit takes one command per cycle
}

void Node::row_loaded(std::uint32_t context, Tick now) {
  NewRow& loaded = *std::ranges::find(new_rows_[context], kNever, &NewRow::loaded);
  const Tick from = std::max(row_written_, now);
  unit_.load(context, loaded.row, from);
  row_written_ = loaded.loaded = from + CollectiveUnit::load_cycles(loaded.row);
  events_.add({loaded.loaded, Event::Kind::loaded, context});
}

void Node::finish_row(std::uint32_t context, Tick now) {
  const auto loaded = std::ranges::find(new_rows_[context], now, &NewRow::loaded);
  if (loaded == new_rows_[context].end()) return;  // freed meanwhile
  unit_.loaded_now(context);
  if (loaded->row.has_rank()) complete(Ended::Kind::row, loaded->handle, now);
  new_rows_[context].erase(loaded);
  start_operations(context, now);
}

void Node::operation_over(OperationId id, Tick now) {
  complete(Ended::Kind::collective, unit_.request(id).handle, now);
  start_operations(unit_.context_of(id), now);
}

void Node::message_injected(MessageId id, Tick now) {
  if (messages_[id].row) return;
  complete(Ended::Kind::injected, messages_[id].request.handle, now);
}

void Node::message_arrived(MessageId id, Tick now) {
  if (const auto& carried = messages_[id].row) {
    if (carried->generation == generation_[carried->context]) {
      new_rows_[carried->context].push_back({carried->row, 0});
      events_.add({now + 1, Event::Kind::table, carried->context});
    }
  } else {
    complete(Ended::Kind::arrived, messages_[id].request.handle, now);
  }
  messages_.remove(id, Scheduler::partition_of(id_));
}

/// The host sees the completion after the PCIe latency.
void Node::complete(Ended::Kind kind, Handle handle, Tick now) {
  const Tick at = now + std::max<Tick>(1, host_.latency());
  in_transit_.push_back({kind, handle, at});
  events_.add({at, Event::Kind::complete});
  scheduler_.interrupt(id_, at);
}

}  // namespace thalweg::mpi_fpga
