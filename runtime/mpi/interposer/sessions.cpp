// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/sessions.hpp"

#include <cstdlib>
#include <string_view>

#include "mpi/interposer/arguments.hpp"
#include "mpi/interposer/communicator.hpp"

namespace thalweg::mpi {
namespace {

bool has_world = false;

#if THALWEG_SESSIONS
std::vector<MPI_Session>& sessions() {
  static auto* const all = new std::vector<MPI_Session>;
  return *all;
}

MPI_Group group_of(const char* processes) {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Group_from_session_pset(sessions().back(), processes, &group);
  return group;
}

/// True if the session has got MPI_THREAD_MULTIPLE.
bool grants_threads(MPI_Session session) {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Session_get_info(session, &info) != MPI_SUCCESS) return false;
  char level[MPI_MAX_INFO_VAL + 1] = "";
  int size = sizeof level, found = 0;
  PMPI_Info_get_string(info, "thread_level", &size, level, &found);
  PMPI_Info_free(&info);
  return found != 0 && std::string_view(level) == "MPI_THREAD_MULTIPLE";
}

bool own_is_of_session = false;

void free_own_communicator() {
  forget_arguments();
  if (own_is_of_session) PMPI_Comm_free(&own_communicator);
  own_is_of_session = false;
  own_communicator = MPI_COMM_SELF;
}

/// Without a world, the process's own communicator is created from the last session.
void renew_own_communicator() {
  free_own_communicator();
  if (has_world || sessions().empty()) return;
  MPI_Group self = group_of("mpi://SELF");
  own_is_of_session = PMPI_Comm_create_from_group(self, "thalweg", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                                  &own_communicator) == MPI_SUCCESS;
  PMPI_Group_free(&self);
}
#endif

/// True if created by MPI_Comm_spawn: it inherits the environment, but is not a rank of the run.
bool is_spawned() {
  if (!has_world) return std::getenv("PMI_SPAWNED") != nullptr;
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  return parent != MPI_COMM_NULL;
}

void join() {
  if (is_spawned()) return;
  int rank = 0, size = 0;
  MPI_Group world = world_group();
  PMPI_Group_rank(world, &rank);
  PMPI_Group_size(world, &size);
  PMPI_Group_free(&world);
  process().join(rank, size);
  if (process().joined()) begin_communicators();
}

}  // namespace

MPI_Group world_group() {
  MPI_Group world = MPI_GROUP_NULL;
#if THALWEG_SESSIONS
  if (!has_world) return group_of("mpi://WORLD");
#endif
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  return world;
}

void begin_world() {
  has_world = true;
#if THALWEG_SESSIONS
  free_own_communicator();
#endif
  join();
  if (process().joined()) adopt_world();
}

void end_world() {
  has_world = false;
#if THALWEG_SESSIONS
  if (!sessions().empty()) return renew_own_communicator();
#endif
  process().finish();
}

#if THALWEG_SESSIONS
int on::Session_init(Native native, const MPI_Session* session) {
  const int error = native();
  if (error != MPI_SUCCESS) return error;
  sessions().push_back(*session);
  if (has_world) return error;
  renew_own_communicator();
  if (!process().joined()) join();
  if (grants_threads(*session)) process().begin_threads();
  return error;
}

int on::Session_finalize(Native native, const MPI_Session* session) {
  const bool known = std::erase(sessions(), *session) != 0;
  if (!known || !process().joined() || has_world) return native();
  renew_own_communicator();
  if (!sessions().empty()) return native();
  end_communicators();
  process().begin_native();
  process().rest();
  const int error = native();
  process().end_native();
  return error;
}
#endif

}  // namespace thalweg::mpi
