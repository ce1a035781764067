// How operations begin: collective control is asked for the processes of each, and at a vertex without a rank, what arrives begins
// the next one.
#include <algorithm>
#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "node/collective_unit.hpp"

namespace thalweg {

namespace network_header = spec::network_header;

/// Asks for the next process of the operation that is being started. Where every process is one step along the edges of a tree, a
/// process is there in each cycle; others are asked for one after another, each as soon as the answer before is kept.
void CollectiveUnit::ask(Tick now) {
  if (starting_.empty() || now < start_at_) return;
  const OperationId id = starting_.front();
  const Operation& op = operation(id);
  const Program& program = op.program;
  const std::uint32_t process = process_id(id, start_process_);
  const bool along_tree = op.algorithm != spec::Algorithm::exchange && !has_vector(op.request.collective);
  if (along_tree) {
    pick_.start(process);
    start_at_ = now + 1;
  } else {
    if (std::ranges::count(step_asks_, now)) return;  // asked for a running process
    start_at_ = now + kControlCycles + 1;
    if (start_step_ == 0) events_.add({start_at_, Event::Kind::step, process});
    if (start_step_ == 1) {
      Execution& execution = operation(id).execution[start_process_];
      (execution.progress.step() == 0 ? execution.next_known : execution.known) = start_at_ + 1;
    }
  }
  if (++start_step_ < program.processes[start_process_].steps) return;
  start_step_ = 0;
  if (++start_process_ < program.process_count) return;
  start_process_ = 0;
  starting_.pop();
}

void CollectiveUnit::announce_next() {
  announcing_ = kNobody;
  if (announced_.empty()) return;
  announcing_ = announced_.front();
  announced_.pop();
}

/// Whether a packet in front of a slot begins the next operation of a vertex without a rank, which no host submits: a descriptor
/// that no earlier operation reads. Every edge of the tree carries all operations that take it, at least one way, so a neighbour
/// is no more of them ahead than it may have in flight, and the 2 bits of the sequence tell them apart.
bool CollectiveUnit::begins(std::uint32_t id, unsigned edge, PacketId packet) const {
  const Context& context = contexts_[id];
  if (!context.loaded || context.row.has_rank() || !(context.row.tree() >> edge & 1)) return false;
  if (context.operations[context.started % in_flight_].active) return false;
  for (const Operation& op : context.operations)
    if (op.active && op.reading >> edge & 1) return false;
  const std::uint64_t head = pool_[packet].words[0];
  return network_header::kind(head) == spec::Kind::descriptor &&
         network_header::sequence(head) == (context.on_tree & 3);
}

void CollectiveUnit::start_arrived(std::uint32_t id, PacketId packet, Tick now) {
  const std::span head = std::span(pool_[packet].words).first<4>();
  CollectiveRequest request;
  request.collective = network_header::collective(head[0]);
  request.op = network_header::operation(head[0]);
  request.type = spec::descriptor::type(head);
  request.root = spec::descriptor::root(head);
  static_cast<void>(start(request, network_header::algorithm(head[0]), nullptr, id, now));
  arrived_ |= 1u << id;
}

/// Begins operations at vertices without a rank, when none is being started: at once where a descriptor has come in this cycle and
/// is in front of its slot; else slots are looked at, one after another.
void CollectiveUnit::scan(Tick now) {
  for (const SlotArrival& arrival : slots_.arrivals()) {
    if (!starting_.empty()) break;
    if (arrival.credits || slots_.packets(arrival.row, arrival.edge).size() > 1) continue;
    if (begins(arrival.row, arrival.edge, arrival.value)) start_arrived(arrival.row, arrival.value, now);
  }
  if (!starting_.empty()) return;
  if (scanned_ == kNobody && arrived_) {
    scanned_ = static_cast<std::uint32_t>(std::countr_zero(arrived_));
    arrived_ &= arrived_ - 1;
    scan_edges_ = 0;
    each_bit(contexts_[scanned_].row.tree(),
             [&](unsigned k) { scan_edges_ |= static_cast<unsigned>(!slots_.packets(scanned_, k).empty()) << k; });
    scan_at_ = now + kScanCycles;
  }
  if (scanned_ != kNobody && scan_edges_ && now >= scan_at_) {
    const auto edge = static_cast<unsigned>(std::countr_zero(scan_edges_));
    const auto& packets = slots_.packets(scanned_, edge);
    scan_edges_ &= scan_edges_ - 1;
    scan_at_ = now + kScanCycles;
    if (!packets.empty() && begins(scanned_, edge, packets.front())) {
      start_arrived(scanned_, packets.front(), now);
      scan_edges_ = 0;
    }
  }
  if (!scan_edges_) scanned_ = kNobody;
}

}  // namespace thalweg
