// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/communicator.hpp"

#include <algorithm>
#include <cstdio>

#include "mpi/interposer/data.hpp"

namespace thalweg::mpi {
namespace {

int keyval = MPI_KEYVAL_INVALID;

int forget(MPI_Comm, int, void* value, void*) {
  delete static_cast<CommunicatorInfo*>(value);
  return MPI_SUCCESS;
}

void release(std::uint32_t number) {
  if (!process().joined()) return;
  Submission part;
  part.action = Action::release;
  part.communicator = number;
  process().post(part, false);
}

}  // namespace

void adopt_world() {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget, &keyval, nullptr);
  adopt(MPI_COMM_WORLD, {}, "MPI_COMM_WORLD");
  adopt(MPI_COMM_SELF, {}, "MPI_COMM_SELF");
}

std::vector<std::uint32_t> in_world(MPI_Group group) {
  MPI_Group world;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size)), ranks(own.size());
  for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
  PMPI_Group_translate_ranks(group, size, own.data(), world, ranks.data());
  PMPI_Group_free(&world);
  for (int& rank : ranks)
    if (rank != MPI_UNDEFINED) rank += process().first();
  return {ranks.begin(), ranks.end()};
}

Origin next_on(CommunicatorInfo& parent) {
  return {parent.number, parent.created++, false};
}

void adopt(MPI_Comm communicator, Origin origin, const char* made_by) {
  if (communicator == MPI_COMM_NULL || !process().joined()) return;
  CommunicatorInfo info;
  int between = 0;
  PMPI_Comm_test_inter(communicator, &between);
  info.between = between != 0;
  PMPI_Comm_rank(communicator, &info.rank);
  PMPI_Comm_size(communicator, &info.size);
  MPI_Group group;
  PMPI_Comm_group(communicator, &group);
  info.members = info.peers = in_world(group);
  PMPI_Group_free(&group);
  if (info.between) {
    PMPI_Comm_remote_group(communicator, &group);
    info.peers = in_world(group);
    PMPI_Group_free(&group);
    const bool own_first = *std::ranges::min_element(info.members) < *std::ranges::min_element(info.peers);
    info.members.insert(own_first ? info.members.end() : info.members.begin(), info.peers.begin(), info.peers.end());
  }
  // Processes from outside the world are not followed.
  if (std::ranges::find(info.members, static_cast<std::uint32_t>(MPI_UNDEFINED)) != info.members.end()) return;
  note_creation(info, process().wait(post_creation(info, origin, made_by, Reason::none)));
  attach(communicator, info);
}

CommunicatorInfo twin_of(CommunicatorInfo& parent, const char* made_by, Reason reason) {
  CommunicatorInfo twin = parent;
  twin.created = 0;
  note_creation(twin, process().wait(post_creation(twin, next_on(parent), made_by, reason)));
  return twin;
}

std::uint64_t post_creation(const CommunicatorInfo& info, Origin origin, const char* made_by, Reason reason) {
  Submission part;
  part.action = Action::create;
  part.communicator = origin.parent;
  part.order = origin.order;
  part.apart = origin.apart;
  part.reason = info.between ? Reason::intercommunicator : reason;
  part.count = info.members.size();
  std::snprintf(part.detail, sizeof part.detail, "%s", made_by);
  Piece members(info.members.size() * sizeof(std::uint32_t));
  std::ranges::copy(info.members, reinterpret_cast<std::uint32_t*>(members.data()));
  part.send = members.lend();
  return process().post(part);
}

void note_creation(CommunicatorInfo& info, const Reply& reply) {
  info.number = static_cast<std::uint32_t>(reply.bytes);
  info.in_network = reply.granted;
  info.shared = reply.shared;
  info.collectives = reply.collectives;
  info.use = std::shared_ptr<void>(nullptr, [number = info.number](void*) { release(number); });
  process().free_remote(reply.payload);
}

int attach(MPI_Comm communicator, const CommunicatorInfo& info) {
  return PMPI_Comm_set_attr(communicator, keyval, new CommunicatorInfo(info));
}

CommunicatorInfo* known(MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(communicator, keyval, &value, &found) != MPI_SUCCESS || !found) return nullptr;
  return static_cast<CommunicatorInfo*>(value);
}

}  // namespace thalweg::mpi
