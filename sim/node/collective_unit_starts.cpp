// How operations begin: the host starts them, or at a vertex without a rank what arrives.
#include <algorithm>
#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "node/collective_unit.hpp"

namespace thalweg {

namespace network_header = spec::network_header;

/// Asks for the next process, or step, of the operation that is being started.
void CollectiveUnit::ask(Tick now) {
  const auto question = starter_.ask(now);
  if (!question) return;
  const Program& program = operation(question->operation).program;
  const std::uint32_t process = process_id(question->operation, question->process);
  starter_.asked(program.process_count, program.processes[question->process].steps, now);
  if (question->along_tree) {
    if (question->process == program.process_count) return;
    steps_.start(process, now);
    return pick_.start(process);
  }
  const Tick kept = now + Starter::kAnswer;
  if (question->step == 0) {
    steps_.start(process, kept);
    events_.add({kept, Event::Kind::step, process});
  } else if (question->step == 1) {
    steps_.keep(process, 1, kept);
  }
}

/// Whether a packet in front of a slot begins the next operation of a vertex without a rank, which no host submits, unless an
/// earlier one reads there: it is its descriptor. Every edge of the tree carries all operations that take it, at least one way, so a neighbour
/// is no more of them ahead than it may have in flight, and the 2 bits of the sequence tell them apart.
bool CollectiveUnit::may_begin(std::uint32_t id, unsigned edge, const Head& head) const {
  const Context& context = contexts_[id];
  if (!context.loaded || context.row.has_rank() || !(context.row.tree() >> edge & 1)) return false;
  if (context.operations[context.started % in_flight_].active) return false;
  return network_header::kind(head[0]) == spec::Kind::descriptor &&
         network_header::sequence(head[0]) == (context.on_tree & 3);
}

void CollectiveUnit::start_arrived(std::uint32_t id, const Head& head, Tick now) {
  CollectiveRequest request;
  request.collective = network_header::collective(head[0]);
  request.op = network_header::operation(head[0]);
  request.type = spec::descriptor::type(head);
  request.root = spec::descriptor::root(head);
  static_cast<void>(start(request, network_header::algorithm(head[0]), nullptr, id, now));
  arrived_ |= 1u << id;
}

/// Begins an operation at a vertex without a rank where its descriptor comes in this cycle, into an empty slot, and none is
/// being started: that of the lowest link, unless an earlier operation reads there. True: there was such a descriptor.
bool CollectiveUnit::begin_arrived(Tick now) {
  if (!starter_.idle(now) || started(now)) return false;
  for (const SlotArrival& arrival : slots_.arrivals()) {
    if (arrival.credits || !slots_.packets(arrival.row, arrival.edge).empty()) continue;
    const Head head = head_of(arrival.value);
    if (!may_begin(arrival.row, arrival.edge, head)) continue;
    if (!reads(arrival.row, arrival.edge)) start_arrived(arrival.row, head, now);
    return true;
  }
  return false;
}

/// Looks at what is in front of the slots of vertices without a rank whose next operation may be there, while none is being started:
/// a row, then each of its edges, read in one cycle and decided on in the next. It waits where it `yields` to what has just come.
void CollectiveUnit::scan(bool yields, Tick now) {
  const auto look = [&] {
    const auto& packets = slots_.packets(scanned_, static_cast<unsigned>(std::countr_zero(scan_edges_)));
    in_front_ = packets.empty() ? std::nullopt : std::optional(head_of(packets.front()));
    looked_ = true;
  };
  if (yields) {
    if (looked_) look();
  } else if (!starter_.idle(now) || started(now)) {
    looked_ = false;
  } else if (!scanning_) {
    if (!arrived_) return;
    scanning_ = true;
    scanned_ = static_cast<std::uint32_t>(std::countr_zero(arrived_));
    arrived_ &= arrived_ - 1;
    scan_edges_ = contexts_[scanned_].row.tree();
  } else if (!scan_edges_) {
    scanning_ = false;
  } else if (!looked_) {
    look();
  } else {
    const auto edge = static_cast<unsigned>(std::countr_zero(scan_edges_));
    scan_edges_ &= scan_edges_ - 1;
    scanning_ = scan_edges_ != 0;
    looked_ = false;
    if (!in_front_ || !may_begin(scanned_, edge, *in_front_) || reads(scanned_, edge)) return;
    scanning_ = false;
    start_arrived(scanned_, *in_front_, now);
  }
}

}  // namespace thalweg
