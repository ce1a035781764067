// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/communicator.hpp"

#include <algorithm>
#include <cstdio>

#include "mpi/interposer/data.hpp"
#include "mpi/interposer/sessions.hpp"

namespace thalweg::mpi {
namespace {

int keyval = MPI_KEYVAL_INVALID;

int forget(MPI_Comm, int, void* value, void*) {
  delete static_cast<CommunicatorInfo*>(value);
  return MPI_SUCCESS;
}

void release(std::uint32_t number) {
  if (process().joined()) process().release(number);
}

}  // namespace

void begin_communicators() {
  if (keyval == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget, &keyval, nullptr);
}

void end_communicators() {
  PMPI_Comm_free_keyval(&keyval);
}

void adopt_world() {
  adopt_by_groups(MPI_COMM_WORLD, {}, "MPI_COMM_WORLD");
  adopt_by_groups(MPI_COMM_SELF, {}, "MPI_COMM_SELF");
}

std::vector<std::uint32_t> in_world(MPI_Group group) {
  MPI_Group world = world_group();
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

void set_members(CommunicatorInfo& info, std::vector<std::uint32_t> own, const std::vector<std::uint32_t>& others) {
  info.peers = info.between ? others : own;
  info.members = std::move(own);
  if (!info.between) return;
  const bool own_first = *std::ranges::min_element(info.members) < *std::ranges::min_element(others);
  info.members.insert(own_first ? info.members.end() : info.members.begin(), others.begin(), others.end());
}

Origin next_on(CommunicatorInfo& parent) {
  return {parent.number, parent.created++, false};
}

namespace {

/// The fields that MPI can answer locally.
CommunicatorInfo place_on(MPI_Comm communicator) {
  CommunicatorInfo info;
  int between = 0;
  PMPI_Comm_test_inter(communicator, &between);
  info.between = between != 0;
  PMPI_Comm_rank(communicator, &info.rank);
  PMPI_Comm_size(communicator, &info.size);
  return info;
}

/// Exchanges the members' world ranks: MPICH 5.0.2 gives a topology on a part of its parent the group of all the parent's ranks.
void ask_members(MPI_Comm communicator, CommunicatorInfo& info) {
  const int rank = process().rank();
  std::vector<int> members(static_cast<std::size_t>(info.size));
  PMPI_Allgather(&rank, 1, MPI_INT, members.data(), 1, MPI_INT, communicator);
  set_members(info, {members.begin(), members.end()}, {});
}

void enter(MPI_Comm communicator, CommunicatorInfo& info, Origin origin, const char* made_by) {
  note_creation(info, process().wait(post_creation(info, origin, made_by, Reason::none)));
  attach(communicator, info);
}

}  // namespace

bool followed(const std::vector<std::uint32_t>& members) {
  return std::ranges::find(members, static_cast<std::uint32_t>(MPI_UNDEFINED)) == members.end();
}

void adopt(MPI_Comm communicator, Origin origin, const char* made_by) {
  if (communicator == MPI_COMM_NULL || !process().joined()) return;
  CommunicatorInfo info = place_on(communicator);
  // Their groups are right, and MPICH 5.0.2 hangs in MPI_Allgatherv on one that was split.
  if (info.between) return adopt_by_groups(communicator, origin, made_by);
  process().natively([&] { return ask_members(communicator, info), MPI_SUCCESS; });
  enter(communicator, info, origin, made_by);
}

void adopt_by_groups(MPI_Comm communicator, Origin origin, const char* made_by, MPI_Comm own) {
  if (communicator == MPI_COMM_NULL || !process().joined()) return;
  CommunicatorInfo info = place_on(communicator);
  std::vector<std::uint32_t> groups[2];
  const CommunicatorInfo* known_own = known(own);
  if (known_own != nullptr) groups[0] = known_own->members;
  for (int other = known_own != nullptr; other <= info.between; ++other) {
    MPI_Group group;
    other ? PMPI_Comm_remote_group(communicator, &group) : PMPI_Comm_group(communicator, &group);
    groups[other] = in_world(group);
    PMPI_Group_free(&group);
    if (!followed(groups[other])) return;
  }
  set_members(info, std::move(groups[0]), groups[1]);
  enter(communicator, info, origin, made_by);
}

CommunicatorInfo twin_of(CommunicatorInfo& parent, const char* made_by, Reason reason) {
  CommunicatorInfo twin = parent;
  twin.created = 0;
  twin.buffer.reset();
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
  if (!process().joined() || communicator == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(communicator, keyval, &value, &found) != MPI_SUCCESS || !found) return nullptr;
  return static_cast<CommunicatorInfo*>(value);
}

}  // namespace thalweg::mpi
