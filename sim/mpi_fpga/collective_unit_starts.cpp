// SPDX-License-Identifier: Apache-2.0
// Start of operations: by the host or, at a vertex without a rank, by an arrival.
#include <algorithm>
#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "mpi_fpga/collective_unit.hpp"

namespace thalweg::mpi_fpga {

namespace network_header = spec::network_header;

/// Requests the next process or step of the operation that is being started.
void CollectiveUnit::ask(Tick now) {
  const auto question = starter_.ask(now);
  if (!question) return;
  const Program& program = operation(question->operation).program;
  const std::uint32_t process = process_id(question->operation, question->process);
  const auto processes = static_cast<unsigned>(program.processes.size());
  starter_.asked(processes, question->process < processes ? program.processes[question->process].steps : 0u, now);
  if (const Tick next = starter_.next(now); next != kNever && next > now + 1) events_.step_in(next);
  if (question->along_tree) {
    if (question->process == processes) return;
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

/// Starts an operation at a vertex without a rank, by a descriptor that arrives in this cycle or is found at the head
/// of a slot.
void CollectiveUnit::open(Tick now) {
  openers_.clear();
  opening_heads_.clear();
  for (const SlotArrival& arrival : slots_.arrivals()) {
    if (arrival.credits || !openings_.bare(arrival.row)) continue;
    opening_heads_.push_back(head_of(arrival.value));
    openers_.push_back({{arrival.row, arrival.edge},
                        of_opening(opening_heads_.back()),
                        slots_.packets(arrival.row, arrival.edge).empty()});
  }
  if (openings_.idle() && openers_.empty()) return;
  const Openings::Slot at = openings_.scan_position();
  const auto* packets = openings_.scanning() ? &slots_.packets(at.row, at.edge) : nullptr;
  const auto front =
      std::exchange(in_front_, packets && !packets->empty() ? std::optional(head_of(packets->front())) : std::nullopt);
  const auto begun = openings_.choose(
      starter_.idle(now) && !started(now), openers_, front ? std::optional(of_opening(*front)) : std::nullopt,
      [&](Openings::Slot slot) { return (precedence_.reading(slot.row) >> slot.edge & 1) != 0; },
      [&](std::uint32_t row, std::uint32_t entry) { return contexts_[row].operations[entry].active; });
  if (!begun) return;
  const Head& head = begun->arrival ? opening_heads_[*begun->arrival] : *front;
  CollectiveRequest request;
  request.collective = network_header::collective(head[0]);
  request.algorithm = network_header::algorithm(head[0]);
  request.op = network_header::operation(head[0]);
  request.type = spec::descriptor::type(head);
  request.root = spec::descriptor::root(head);
  static_cast<void>(start(request, nullptr, begun->slot.row, now));
}

}  // namespace thalweg::mpi_fpga
