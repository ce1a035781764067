// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/software.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "mpi/interposer/duplicates.hpp"

namespace thalweg::mpi {

Origin tagged(int tag, MPI_Comm parent) {
  const CommunicatorInfo* communicator = known(parent);
  return {communicator == nullptr ? 0 : communicator->number, static_cast<std::uint64_t>(tag)};
}

Origin tagged(const char* tag) {
  return {0, std::hash<std::string_view>{}(tag)};
}

namespace {

/// Number of unreceived messages for this rank on a communicator that is being freed; 0 if open requests delay its end.
std::uint64_t left_on(MPI_Comm comm) {
  const CommunicatorInfo* communicator = known(comm);
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (!kEndFindsMessages || level == MPI_THREAD_MULTIPLE) return 0;  // MPICH does not check then
  if (communicator == nullptr || communicator->use.use_count() != 1) return 0;
  Submission part;
  part.action = Action::count_left;
  part.communicator = communicator->number;
  return process().call(part).bytes;
}

int end_of(MPI_Comm comm, Native end) {
  const std::uint64_t left = left_on(comm);
  const int error = end();
  if (error != MPI_SUCCESS || left == 0) return error;
  int code = MPI_ERR_OTHER;
  if (PMPI_Add_error_code(MPI_ERR_OTHER, &code) == MPI_SUCCESS)
    PMPI_Add_error_string(code,
                          ("the freed communicator has " + std::to_string(left) + " unreceived messages").c_str());
  return raise(MPI_COMM_NULL, code);
}

}  // namespace

namespace on {

int Comm_free(Native native, MPI_Comm comm) {
  begin_duplicates(comm);
  return end_of(comm, [&] { return process().natively(native); });
}

int Comm_disconnect(Native native, MPI_Comm comm) {
  return end_of(comm, [&] {
    const CommunicatorInfo* communicator = known(comm);
    if (communicator == nullptr) return process().outside(native);
    meet(*communicator);
    begin_duplicates(comm);
    return process().natively(native);
  });
}

int Create(Native native, MPI_Comm parent, MPI_Comm* made, const char* function) {
  CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return Create_apart(native, made, {}, function);
  const Origin origin = next_on(*communicator);
  meet(*communicator);
  begin_duplicates(parent);
  const int error = process().natively(native);
  if (error == MPI_SUCCESS) adopt(*made, origin, function);
  return error;
}

int Comm_dup(Native native, MPI_Comm parent, MPI_Comm* made) {
  CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return Create_apart(native, made, {}, "MPI_Comm_dup");
  // The members are known, and the creation synchronizes them, as they get its reply at once.
  const CommunicatorInfo twin = twin_of(*communicator, "MPI_Comm_dup");
  begin_duplicates(parent);
  const int error = process().natively(native);
  return error == MPI_SUCCESS ? attach(*made, twin) : error;
}

/// Ranks share memory if they share a node of the cluster. Each rank may pass MPI_UNDEFINED.
int Comm_split_type(Native native, MPI_Comm parent, int type, int key, MPI_Comm* made) {
  const auto split = [&] {
    int shared = type == MPI_COMM_TYPE_SHARED, any = 0, between = 0;
    PMPI_Comm_test_inter(parent, &between);
    // On an intercommunicator each group gets the remote group's result; a second step returns its own.
    for (int step = 0; step <= between; ++step) {
      if (const int error = PMPI_Allreduce(&shared, &any, 1, MPI_INT, MPI_MAX, parent)) return error;
      shared = std::max(shared, any);
    }
    if (!shared) return native();
    return PMPI_Comm_split(parent, type == MPI_UNDEFINED ? MPI_UNDEFINED : process().node(), key, made);
  };
  return Create(process().joined() ? Native(split) : native, parent, made, "MPI_Comm_split_type");
}

int Create_apart(Native native, MPI_Comm* made, Origin origin, const char* function, MPI_Comm own) {
  const int error = process().outside(native);
  if (error == MPI_SUCCESS) adopt_by_groups(*made, origin, function, own);
  return error;
}

int Create_of(Native native, MPI_Group group, MPI_Comm* made, Origin origin, const char* function) {
  if (!process().joined() || group == MPI_GROUP_NULL) return native();
  CommunicatorInfo info;
  PMPI_Group_rank(group, &info.rank);
  PMPI_Group_size(group, &info.size);
  if (info.rank == MPI_UNDEFINED) return native();
  info.members = info.peers = in_world(group);
  if (!followed(info.members)) return process().outside(native);
  note_creation(info, process().wait(post_creation(info, origin, function, Reason::none)));
  const int error = process().natively(native);
  return error == MPI_SUCCESS ? attach(*made, info) : error;
}

int Comm_idup(Native native, MPI_Comm parent, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
  CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return process().natively(native);
  // The creation's reply comes when all members have called, so none has to wait earlier.
  auto wrapped = std::make_unique<Request>();
  auto copy = std::make_shared<CommunicatorInfo>(*communicator);
  const auto duplicate = call_for_duplicate(parent, info, made);
  copy->created = 0;
  copy->buffer.reset();
  wrapped->communicator = parent;
  wrapped->post = [copy, origin = next_on(*communicator)] {
    return post_creation(*copy, origin, "MPI_Comm_idup", Reason::none);
  };
  wrapped->finish = [copy, duplicate](const Reply& reply) {
    note_creation(*copy, reply);
    give_turn(duplicate);
    return Outcome{};
  };
  wrapped->after_native = [copy, duplicate, made] {
    const int error = finish(*duplicate);
    return error == MPI_SUCCESS ? attach(*made, *copy) : error;
  };
  *request = make_request(std::move(wrapped));
  return MPI_SUCCESS;
}

int On(Native native, MPI_Comm comm) {
  begin_duplicates(comm);
  return native();
}

int Outside(Native native) {
  return process().outside(native);
}

int Aside(Native native) {
  return process().aside(native);
}

int File_alone(Native native) {
  process().count_file_call();
  return process().alone(native);
}

/// Operations of other ranks before a collective of the fabric may still be in MPI's queues after it, which one test need not
/// drain.
int Win_test(Native native, const int* flag) {
  constexpr int kLooks = 64;
  return process().aside([&] {
    int error = native();
    for (int look = 1; look < kLooks && error == MPI_SUCCESS && *flag == 0; ++look) error = native();
    return error;
  });
}

}  // namespace on
}  // namespace thalweg::mpi
