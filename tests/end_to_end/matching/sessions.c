// SPDX-License-Identifier: Apache-2.0
/* Communicators created from groups alone are matched by their string tags. */
#include <stdio.h>

#include "rules.h"

static MPI_Comm from(MPI_Group group, const char* tag) {
  MPI_Comm made;
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  return made;
}

static void groups_by_string_tags(void) {
  MPI_Session session;
  MPI_Group world;
  MPI_Comm made[2];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  made[0] = from(world, "first");
  made[1] = from(world, "second");
  for (int i = 0; i < 2; i++) show("of all", made[i], 10 + i);
  free_all(2, made);
  for (int first = 0; first + 1 < ranks; first++) {
    if (rank != first && rank != first + 1) continue;
    const int members[2] = {first, first + 1};
    char tag[32];
    MPI_Group group;
    snprintf(tag, sizeof tag, "pair %d", first);
    MPI_Group_incl(world, 2, members, &group);
    made[0] = from(group, tag);
    show("pair", made[0], first);
    MPI_Comm_free(&made[0]);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
  MPI_Session_finalize(&session);
}

static void intercommunicators_of_groups(void) {
  MPI_Group world, halves[2];
  MPI_Comm made[2];
  int lower[1][3] = {{0, ranks / 2 - 1, 1}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, lower, &halves[0]);
  MPI_Group_range_excl(world, 1, lower, &halves[1]);
  const int mine = in_upper_half();
  for (int i = 0; i < 2; i++)
    MPI_Intercomm_create_from_groups(halves[mine], 0, halves[!mine], 0, i ? "second" : "first", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &made[i]);
  for (int i = 0; i < 2; i++) show("between", made[i], 20 + i);
  free_all(2, made);
  MPI_Group_free(&halves[0]);
  MPI_Group_free(&halves[1]);
  MPI_Group_free(&world);
}

const struct rule sessions[] = {{"groups-by-string-tags", groups_by_string_tags},
                                {"intercommunicators-of-groups", intercommunicators_of_groups},
                                {0}};
