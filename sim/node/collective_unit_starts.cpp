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

/// Whether a packet in front of a slot begins the next operation of a vertex without a rank, which no host submits: a descriptor
/// that no earlier operation reads. Every edge of the tree carries all operations that take it, at least one way, so a neighbour
/// is no more of them ahead than it may have in flight, and the 2 bits of the sequence tell them apart.
bool CollectiveUnit::begins(std::uint32_t id, unsigned edge, PacketId packet) const {
  const Context& context = contexts_[id];
  if (!context.loaded || context.row.has_rank() || !(context.row.tree() >> edge & 1)) return false;
  if (context.operations[context.started % in_flight_].active) return false;
  if (precedence_.reading(id) >> edge & 1) return false;
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
    if (!starter_.idle(now)) break;
    if (arrival.credits || slots_.packets(arrival.row, arrival.edge).size() > 1) continue;
    if (begins(arrival.row, arrival.edge, arrival.value)) start_arrived(arrival.row, arrival.value, now);
  }
  if (!starter_.idle(now)) return;
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
