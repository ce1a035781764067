// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/collectives.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "mpi/interposer/duplicates.hpp"

namespace thalweg::mpi {
namespace {

/// Buffers of one collective in the rank's heap, from its start to its completion.
struct Data {
  explicit Data(const Offload& offload)
      : sent(offload.send_bytes),
        received(offload.receive_bytes),
        send_blocks(offload.send_blocks.size() * sizeof(mpi_fpga::Block)),
        receive_blocks(offload.receive_blocks.size() * sizeof(mpi_fpga::Block)) {
    std::ranges::copy(offload.send_blocks, reinterpret_cast<mpi_fpga::Block*>(send_blocks.data()));
    std::ranges::copy(offload.receive_blocks, reinterpret_cast<mpi_fpga::Block*>(receive_blocks.data()));
  }
  Piece sent, received, send_blocks, receive_blocks;
  int error = MPI_SUCCESS;  ///< of copying in
};

Submission part_of(const CommunicatorInfo& communicator, const Offload& offload, const Data& data) {
  Submission part;
  part.action = Action::collective;
  part.communicator = communicator.number;
  part.operation = offload.operation;
  part.bytes = offload.bytes;
  part.send = data.sent.offset();
  part.send_bytes = offload.send_bytes;
  part.receive = data.received.offset();
  part.receive_bytes = offload.receive_bytes;
  if (!offload.send_blocks.empty()) part.send_blocks = data.send_blocks.offset();
  if (!offload.receive_blocks.empty()) part.receive_blocks = data.receive_blocks.offset();
  return part;
}

Reason outside_network(const CommunicatorInfo& communicator, spec::Collective collective) {
  if (communicator.between) return Reason::intercommunicator;
  if (!communicator.in_network) return Reason::no_row;
  if (communicator.collectives >> static_cast<unsigned>(collective) & 1) return Reason::none;
  return communicator.shared ? Reason::shared_node : Reason::not_in_network;
}

/// Keeps the list of a part alive until its reply, for which the rank does not wait.
class Unawaited final : public ReplyHandler {
 public:
  explicit Unawaited(std::shared_ptr<Piece> list) : list_(std::move(list)) {}
  void on_reply(const Reply&) override { delete this; }

 private:
  std::shared_ptr<Piece> list_;
};

/// The error of a collective whose ranks disagree on a size. If errors are fatal, the run ends and reports the ranks.
int disagreement(MPI_Comm comm) {
  if (is_fatal(comm)) process().give_up();
  return MPI_ERR_TRUNCATE;
}

/// Creates the request of a collective, which keeps the communicator's row allocated.
std::unique_ptr<Request> request_on(MPI_Comm comm, const Form& form) {
  auto made = std::make_unique<Request>();
  made->communicator = comm;
  made->persistent = form.persistent;
  return made;
}

}  // namespace

int in_network(MPI_Comm comm, Offload offload, Form form) {
  const CommunicatorInfo* communicator = known(comm);
  if (form.request == nullptr) {
    process().be_late();
    const Data data(offload);
    if (offload.send_bytes != 0)
      if (const int error = offload.fill(data.sent.data())) return error;
    Submission part = part_of(*communicator, offload, data);
    if (process().call(part).disagrees) return raise(comm, disagreement(comm));
    return offload.receive_bytes != 0 ? offload.empty(data.received.data()) : MPI_SUCCESS;
  }
  auto made = request_on(comm, form);
  // A persistent collective allocates its buffers at each start and frees them at its completion.
  auto data = std::make_shared<std::unique_ptr<Data>>();
  auto kept = std::make_shared<const Offload>(std::move(offload));
  // For a persistent collective the report names the call that created it, not MPI_Start.
  made->post = [data, kept, info = form.own ? *form.own : *communicator, function = process().function()] {
    process().be_late();
    *data = std::make_unique<Data>(*kept);
    if (kept->send_bytes != 0) (*data)->error = kept->fill((*data)->sent.data());
    Submission part = part_of(info, *kept, **data);
    part.function = function;
    return process().post(part);
  };
  made->finish = [data, kept, comm](const Reply& reply) {
    const std::unique_ptr<Data> done = std::move(*data);
    if (reply.disagrees) return Outcome{.error = disagreement(comm)};
    if (done->error != MPI_SUCCESS || kept->receive_bytes == 0) return Outcome{.error = done->error};
    return Outcome{.error = kept->empty(done->received.data())};
  };
  *form.request = make_request(std::move(made));
  return MPI_SUCCESS;
}

int without_data(MPI_Comm comm, Form form) {
  if (form.request != nullptr) *form.request = make_request(request_on(comm, form));
  return MPI_SUCCESS;
}

int in_software(Native native, MPI_Comm comm, const SoftwareCollective& collective, Form form) {
  CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return unfollowed(native, form);
  if (communicator->size == 1 && !communicator->between) return native();
  if (form.request == nullptr) {
    process().be_late();
    meet(*communicator);
  }
  begin_duplicates(comm);
  const int error = process().natively(native);
  if (error != MPI_SUCCESS && form.persistent) return error;
  if (form.persistent && !form.own)
    form.own = std::make_shared<CommunicatorInfo>(twin_of(*communicator, "", collective.reason));
  Submission part;
  part.action = Action::software;
  part.communicator = form.own ? form.own->number : communicator->number;
  // On an intercommunicator no algorithm is modelled: the members only synchronize.
  part.pattern = communicator->between ? Pattern::none : collective.pattern;
  part.reason = communicator->between ? Reason::intercommunicator : collective.reason;
  part.bytes = collective.bytes;
  part.operation.root = static_cast<std::uint32_t>(std::max(collective.root, 0));
  std::snprintf(part.detail, sizeof part.detail, "%s", collective.detail);
  auto list = std::make_shared<Piece>(collective.list.size() * sizeof(ListEntry));
  if (!collective.list.empty()) {
    std::ranges::copy(collective.list, reinterpret_cast<ListEntry*>(list->data()));
    part.send = list->offset();
    part.count = collective.list.size();
  }
  if (error != MPI_SUCCESS) {
    // The call may have succeeded on the others, which can proceed only after this rank has taken part.
    process().listen(process().post(part), new Unawaited(list));
    return error;
  }
  if (form.request == nullptr) {
    process().call(part);
    return MPI_SUCCESS;
  }
  auto made = request_on(comm, form);
  made->native = *form.request;
  part.function = process().function();
  made->post = [part, list, comm, info = form.own ? *form.own : *communicator, persistent = form.persistent,
                started = *form.request]() mutable {
    process().be_late();
    if (persistent) begin_duplicates(comm);
    if (persistent) process().natively([&] { return PMPI_Start(&started); });
    return process().post(part);
  };
  made->finish = [](const Reply&) { return Outcome{}; };
  *form.request = make_request(std::move(made));
  return MPI_SUCCESS;
}

OwnRank::OwnRank(MPI_Comm comm) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr || communicator->between) return;
  apart = false;
  rank = communicator->rank;
  size = communicator->size;
}

int apart(Native native, MPI_Comm comm, Form form) {
  return in_software(native, comm, {Pattern::none, Reason::intercommunicator}, form);
}

int unfollowed(Native native, Form form) {
  return form.request ? native() : process().outside(native);
}

Reason outside_network(CommunicatorInfo& communicator, spec::Collective collective, Form& form, Reason against) {
  const Reason reason = against == Reason::none ? outside_network(communicator, collective) : against;
  if (!form.persistent) return reason;
  form.own = std::make_shared<CommunicatorInfo>(twin_of(communicator, "", reason));
  return reason == Reason::none ? outside_network(*form.own, collective) : reason;
}

void meet(const CommunicatorInfo& communicator) {
  Submission part;
  part.action = Action::meet;
  part.communicator = communicator.number;
  process().call(part);
}

int on::Barrier(Native native, MPI_Comm comm, Form form) {
  CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return unfollowed(native, form);
  if (communicator->size == 1 && !communicator->between) return native();
  if (const Reason reason = outside_network(*communicator, spec::Collective::barrier, form); reason != Reason::none)
    return in_software(native, comm, {Pattern::barrier, reason}, form);
  return in_network(comm, {}, form);
}

}  // namespace thalweg::mpi
