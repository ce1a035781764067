// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/message.hpp"

#include <algorithm>

#include "mpi/interposer/buffers.hpp"

namespace thalweg::mpi {
namespace {

/// MPI does not check the type if the count is 0.
int refused(const void* buffer, MPI_Count count, MPI_Datatype type) {
  return count == 0 ? MPI_SUCCESS : error_in(buffer, count, type);
}
Layout layout_of(MPI_Count count, MPI_Datatype type) {
  return Layout(count == 0 ? MPI_BYTE : type);
}

bool is_peer(const CommunicatorInfo& communicator, int rank) {
  return rank >= 0 && static_cast<std::size_t>(rank) < communicator.peers.size();
}
/// Calls with invalid arguments or MPI_PROC_NULL are left to MPI.
bool sendable(const CommunicatorInfo& communicator, const void* buffer, MPI_Count count, MPI_Datatype type,
              int destination, int tag) {
  return is_peer(communicator, destination) && tag >= 0 && tag <= largest_tag() && !refused(buffer, count, type);
}
bool receivable(const CommunicatorInfo& communicator, const void* buffer, MPI_Count count, MPI_Datatype type,
                int source, int tag) {
  return (source == MPI_ANY_SOURCE || is_peer(communicator, source)) && (tag >= 0 || tag == MPI_ANY_TAG) &&
         tag <= largest_tag() && !refused(buffer, count, type);
}

/// Copies the message out of the program's buffer and posts it; `id` is set to its request id.
int post_send(const CommunicatorInfo& communicator, bool synchronous, const void* buffer, MPI_Count count,
              const Layout& layout, int destination, int tag, std::uint64_t* id) {
  Submission part;
  part.action = Action::send;
  part.communicator = communicator.number;
  part.peer = communicator.rank;
  part.node = static_cast<std::int32_t>(communicator.peers[static_cast<std::size_t>(destination)]);
  part.tag = tag;
  part.synchronous = synchronous;
  part.bytes = layout.bytes(count);
  if (part.bytes != 0) {
    Piece payload(part.bytes);
    if (const int error = layout.copy_in(payload.data(), buffer, count)) return error;
    part.send = payload.lend();
  }
  *id = process().post(part);
  return MPI_SUCCESS;
}

std::uint64_t post_receive(const CommunicatorInfo& communicator, Action action, int source, int tag) {
  Submission part;
  part.action = action;
  part.communicator = communicator.number;
  part.peer = source == MPI_ANY_SOURCE ? kAny : source;
  part.tag = tag == MPI_ANY_TAG ? kAny : tag;
  return process().post(part);
}

Outcome outcome_of(const Reply& reply) {
  if (reply.cancelled) return {.cancelled = true};
  return {.source = reply.source, .tag = reply.tag, .bytes = reply.bytes};
}

/// Copies a message into the program's buffer and returns the memory to its sender.
Outcome take_message(const Reply& reply, void* buffer, MPI_Count count, const Layout& layout) {
  Outcome outcome = outcome_of(reply);
  if (outcome.cancelled) return outcome;
  if (const std::uint64_t room = layout.bytes(count); outcome.bytes > room) {
    outcome.error = MPI_ERR_TRUNCATE;
    outcome.bytes = room;
  }
  if (reply.payload != 0) {
    if (const int error = layout.copy_out(buffer, count, process().at(reply.payload), outcome.bytes))
      outcome.error = error;
    process().free_remote(reply.payload);
  }
  return outcome;
}

/// Ends a blocking call: writes the status and returns the error.
int finish(const Outcome& outcome, MPI_Comm comm, MPI_Status* status) {
  write_status(status, outcome);
  return outcome.error == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, outcome.error);
}

std::unique_ptr<Request> send_request(const CommunicatorInfo* communicator, Mode mode, const void* buffer,
                                      MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
  auto request = std::make_unique<Request>();
  auto room = std::make_shared<Room>();
  request->communicator = comm;
  if (mode == Mode::buffered)
    request->admit = [comm, room, bytes = layout_of(count, type).bytes(count)] {
      return take_room(comm, bytes, room.get());
    };
  request->post = [=, layout = layout_of(count, type).kept(), info = *communicator] {
    std::uint64_t id = 0;
    post_send(info, mode == Mode::synchronous, buffer, count, layout, destination, tag, &id);
    return id;
  };
  request->finish = [room](const Reply&) {
    room->reset();
    return Outcome{};
  };
  return request;
}

std::unique_ptr<Request> receive_request(const CommunicatorInfo* communicator, void* buffer, MPI_Count count,
                                         MPI_Datatype type, int source, int tag, MPI_Comm comm) {
  auto request = std::make_unique<Request>();
  request->communicator = comm;
  request->receives = true;
  request->post = [=, info = *communicator] { return post_receive(info, Action::receive, source, tag); };
  request->finish = [=, layout = layout_of(count, type).kept()](const Reply& reply) {
    return take_message(reply, buffer, count, layout);
  };
  return request;
}

/// Messages that Mprobe has taken and that are not received yet, by the program's handle.
std::unordered_map<std::uint64_t, std::pair<Reply, MPI_Comm>>& matched_messages() {
  static auto* const messages = new std::unordered_map<std::uint64_t, std::pair<Reply, MPI_Comm>>;
  return *messages;
}

MPI_Message keep_message(const Reply& reply, MPI_Comm comm) {
  static std::uint32_t number = 0;
  const auto message = handle_of<MPI_Message>(++number);
  matched_messages()[key_of(message)] = {reply, comm};
  return message;
}

/// Probes for a message, blocking if `waits`; `action` determines whether the message is taken.
int probe(Native native, bool waits, Action action, int source, int tag, MPI_Comm comm, int* flag, Reply* found,
          MPI_Status* status, bool* ours) {
  const CommunicatorInfo* communicator = known(comm);
  *ours = false;
  if (communicator == nullptr) return waits ? process().outside(native) : poll_native(native, flag);
  if (!receivable(*communicator, nullptr, 0, MPI_BYTE, source, tag)) return native();
  *ours = true;
  *found = process().wait(post_receive(*communicator, action, source, tag));
  *flag = found->bytes != kNothing;
  if (*flag)
    write_status(status, outcome_of(*found));
  else
    process().poll({});
  return MPI_SUCCESS;
}

}  // namespace

namespace on {

int Send(Native native, Mode mode, const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag,
         MPI_Comm comm) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return process().outside(native);
  if (!sendable(*communicator, buffer, count, type, destination, tag)) return native();
  std::uint64_t id = 0;
  const Layout layout = layout_of(count, type);
  Room room;
  if (mode == Mode::buffered)
    if (const int error = take_room(comm, layout.bytes(count), &room)) return raise(comm, error);
  const int error = post_send(*communicator, mode == Mode::synchronous, buffer, count, layout, destination, tag, &id);
  if (error == MPI_SUCCESS) process().wait(id);
  return error;
}

int Isend(Native native, Mode mode, const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag,
          MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr || !sendable(*communicator, buffer, count, type, destination, tag)) return native();
  auto made = send_request(communicator, mode, buffer, count, type, destination, tag, comm);
  if (made->admit)
    if (const int error = made->admit()) return raise(comm, error);
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

int Send_init(Native native, Mode mode, const void* buffer, MPI_Count count, MPI_Datatype type, int destination,
              int tag, MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr || !sendable(*communicator, buffer, count, type, destination, tag)) return native();
  auto made = send_request(communicator, mode, buffer, count, type, destination, tag, comm);
  made->persistent = true;
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

int Recv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return process().outside(native);
  if (!receivable(*communicator, buffer, count, type, source, tag)) return native();
  const Reply reply = process().wait(post_receive(*communicator, Action::receive, source, tag));
  return finish(take_message(reply, buffer, count, layout_of(count, type)), comm, status);
}

int Irecv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr || !receivable(*communicator, buffer, count, type, source, tag)) return native();
  *request = make_request(receive_request(communicator, buffer, count, type, source, tag, comm));
  return MPI_SUCCESS;
}

int Recv_init(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr || !receivable(*communicator, buffer, count, type, source, tag)) return native();
  auto made = receive_request(communicator, buffer, count, type, source, tag, comm);
  made->persistent = true;
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

int Sendrecv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, int destination,
             int send_tag, void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int source,
             int receive_tag, MPI_Comm comm, MPI_Status* status) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return process().outside(native);
  // The half with MPI_PROC_NULL does nothing; MPI sets its status.
  const bool sends = sendable(*communicator, send, send_count, send_type, destination, send_tag);
  const bool receives = receivable(*communicator, receive, receive_count, receive_type, source, receive_tag);
  if ((!sends && destination != MPI_PROC_NULL) || (!receives && source != MPI_PROC_NULL)) return native();
  std::vector<std::uint64_t> ids;
  if (receives) ids.push_back(post_receive(*communicator, Action::receive, source, receive_tag));
  if (sends) {
    ids.emplace_back();
    if (const int error = post_send(*communicator, false, send, send_count, layout_of(send_count, send_type),
                                    destination, send_tag, &ids.back()))
      return error;
  }
  if (!ids.empty()) process().park(ids, static_cast<std::uint32_t>(ids.size()), kForever);
  if (sends) process().wait(ids.back());
  if (!receives) return PMPI_Recv(receive, 0, MPI_BYTE, MPI_PROC_NULL, receive_tag, comm, status);
  return finish(
      take_message(process().wait(ids.front()), receive, receive_count, layout_of(receive_count, receive_type)), comm,
      status);
}

int Sendrecv_replace(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int destination, int send_tag,
                     int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  // The message is copied out before anything is received.
  return Sendrecv(native, buffer, count, type, destination, send_tag, buffer, count, type, source, receive_tag, comm,
                  status);
}

int Isendrecv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, int destination,
              int send_tag, void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int source,
              int receive_tag, MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return native();
  const bool sends = sendable(*communicator, send, send_count, send_type, destination, send_tag);
  const bool receives = receivable(*communicator, receive, receive_count, receive_type, source, receive_tag);
  if ((!sends && destination != MPI_PROC_NULL) || (!receives && source != MPI_PROC_NULL) || (!sends && !receives))
    return native();
  std::unique_ptr<Request> made, sent;
  if (receives) made = receive_request(communicator, receive, receive_count, receive_type, source, receive_tag, comm);
  if (sends)
    sent = send_request(communicator, Mode::standard, send, send_count, send_type, destination, send_tag, comm);
  if (made && sent) {
    made->post_sent = std::move(sent->post);
    made->receives = false;  // an exchange cannot be cancelled
  } else if (sent) {
    made = std::move(sent);
    made->finish = [](const Reply&) { return Outcome{.source = MPI_PROC_NULL}; };
  }
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

int Isendrecv_replace(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int destination, int send_tag,
                      int source, int receive_tag, MPI_Comm comm, MPI_Request* request) {
  return Isendrecv(native, buffer, count, type, destination, send_tag, buffer, count, type, source, receive_tag, comm,
                   request);
}

int Probe(Native native, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  int flag = 0;
  Reply found;
  bool ours = false;
  return probe(native, true, Action::probe, source, tag, comm, &flag, &found, status, &ours);
}

int Iprobe(Native native, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Reply found;
  bool ours = false;
  return probe(native, false, Action::try_probe, source, tag, comm, flag, &found, status, &ours);
}

int Mprobe(Native native, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  int flag = 0;
  Reply found;
  bool ours = false;
  const int error = probe(native, true, Action::match, source, tag, comm, &flag, &found, status, &ours);
  if (ours) *message = keep_message(found, comm);
  return error;
}

int Improbe(Native native, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  Reply found;
  bool ours = false;
  const int error = probe(native, false, Action::try_match, source, tag, comm, flag, &found, status, &ours);
  if (ours && *flag) *message = keep_message(found, comm);
  return error;
}

int Mrecv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const auto found = matched_messages().find(key_of(*message));
  if (found == matched_messages().end()) return native();
  // MPI does not know the message, only its error.
  if (const int error = refused(buffer, count, type)) return raise(found->second.second, error);
  const auto kept = matched_messages().extract(found);
  *message = MPI_MESSAGE_NULL;
  return finish(take_message(kept.mapped().first, buffer, count, layout_of(count, type)), kept.mapped().second, status);
}

int Imrecv(Native native, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
           MPI_Request* request) {
  const auto found = matched_messages().find(key_of(*message));
  if (found == matched_messages().end()) return native();
  // MPI does not know the message, only its error.
  if (const int error = refused(buffer, count, type)) return raise(found->second.second, error);
  const auto kept = matched_messages().extract(found);
  *message = MPI_MESSAGE_NULL;
  auto made = std::make_unique<Request>();
  made->communicator = kept.mapped().second;
  // The message has arrived already, so nothing is posted.
  made->outcome = take_message(kept.mapped().first, buffer, count, layout_of(count, type));
  made->done_at = process().clock();
  made->active = made->done = true;
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

}  // namespace on
}  // namespace thalweg::mpi
