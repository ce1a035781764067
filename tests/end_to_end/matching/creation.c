// SPDX-License-Identifier: Apache-2.0
/* Communicators are matched by their parent and the order on it; those created from groups also by their tag. */
#include <stddef.h>

#include "rules.h"

enum { PARENTS = 3 };

static void copy_all(MPI_Comm* parents, MPI_Comm* copies, int with_info) {
  MPI_Request requests[PARENTS];
  for (int i = 0; i < PARENTS; i++) {
    const int which = otherwise() ? PARENTS - 1 - i : i;
    if (with_info)
      MPI_Comm_idup_with_info(parents[which], MPI_INFO_NULL, &copies[which], &requests[which]);
    else
      MPI_Comm_idup(parents[which], &copies[which], &requests[which]);
  }
  MPI_Waitall(PARENTS, requests, MPI_STATUSES_IGNORE);
}

static void idup_in_other_orders(void) {
  MPI_Comm parents[PARENTS], copies[PARENTS];
  for (int i = 0; i < PARENTS; i++) parents[i] = copy_of_world();
  for (int with_info = 0; with_info < 2; with_info++) {
    copy_all(parents, copies, with_info);
    for (int i = 0; i < PARENTS; i++) show(with_info ? "idup_with_info" : "idup", copies[i], 10 + i);
    free_all(PARENTS, copies);
  }
  free_all(PARENTS, parents);
}

/* Each rank waits first for a different one of its copies, and copies the copy before the others have completed. */
static void idup_waited_in_other_orders(void) {
  MPI_Comm parents[2] = {copy_of_world(), copy_of_world()}, copies[2], again[2];
  MPI_Request requests[2], more[2];
  const int first = otherwise();
  for (int i = 0; i < 2; i++) MPI_Comm_idup(parents[i], &copies[i], &requests[i]);
  for (int i = 0; i < 2; i++) {
    const int which = first ^ i;
    MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
    MPI_Comm_idup(copies[which], &again[which], &more[which]);
  }
  MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; i++) show("copy", copies[i], 20 + i);
  for (int i = 0; i < 2; i++) show("copy of the copy", again[i], 30 + i);
  free_all(2, again);
  free_all(2, copies);
  free_all(2, parents);
}

/* Several copies of one parent in flight. */
static void idup_of_one_parent(void) {
  MPI_Comm parent = copy_of_world(), copies[PARENTS], other;
  MPI_Request requests[PARENTS];
  for (int i = 0; i < PARENTS; i++) MPI_Comm_idup(parent, &copies[i], &requests[i]);
  MPI_Comm_dup(parent, &other);
  for (int i = 0; i < PARENTS; i++) MPI_Wait(&requests[otherwise() ? PARENTS - 1 - i : i], MPI_STATUS_IGNORE);
  for (int i = 0; i < PARENTS; i++) show("copy", copies[i], 40 + i);
  show("dup", other, 43);
  free_all(PARENTS, copies);
  MPI_Comm_free(&other);
  MPI_Comm_free(&parent);
}

/* While a copy of one parent is in flight, others of the same members are created by other calls. */
static void idup_beside_others(void) {
  MPI_Comm parents[2] = {copy_of_world(), copy_of_world()}, copy, made[5];
  MPI_Request request;
  MPI_Group group;
  const int sizes[1] = {ranks}, periods[1] = {1};
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  if (!otherwise()) MPI_Comm_idup(parents[0], &copy, &request);
  MPI_Comm_dup(parents[1], &made[0]);
  MPI_Comm_split(parents[1], 0, rank, &made[1]);
  MPI_Comm_create(parents[1], group, &made[2]);
  MPI_Cart_create(parents[1], 1, sizes, periods, 0, &made[3]);
  MPI_Comm_create_group(parents[1], group, 3, &made[4]);
  if (otherwise()) MPI_Comm_idup(parents[0], &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("idup", copy, 50);
  for (int i = 0; i < 5; i++) show("other", made[i], 51 + i);
  MPI_Group_free(&group);
  free_all(5, made);
  MPI_Comm_free(&copy);
  free_all(2, parents);
}

static void parent_freed_while_copied(void) {
  MPI_Comm parents[2] = {copy_of_world(), copy_of_world()}, copies[2];
  MPI_Request requests[2];
  for (int i = 0; i < 2; i++) {
    const int which = otherwise() ^ i;
    MPI_Comm_idup(parents[which], &copies[which], &requests[which]);
    MPI_Comm_free(&parents[which]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; i++) show("copy", copies[i], 60 + i);
  free_all(2, copies);
}

static int copied;
static int copy_attribute(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  copied += 1;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int value_of(MPI_Comm comm, int key) {
  void* value = NULL;
  int found;
  MPI_Comm_get_attr(comm, key, &value, &found);
  return found ? (int)(ptrdiff_t)value : -1;
}

static void attributes_and_topology_are_copied(void) {
  const int sizes[1] = {ranks}, periods[1] = {1};
  MPI_Comm ring, copies[3], none;
  MPI_Request request;
  int key, kind, left, right;
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &ring);
  MPI_Comm_set_attr(ring, key, (void*)100);
  copied = 0;
  MPI_Comm_dup(ring, &copies[0]);
  MPI_Comm_idup(ring, &copies[1], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_dup_with_info(copies[1], MPI_INFO_NULL, &copies[2]);
  MPI_Comm_split(ring, 0, rank, &none);
  for (int i = 0; i < 3; i++) {
    MPI_Topo_test(copies[i], &kind);
    MPI_Cart_shift(copies[i], 0, 1, &left, &right);
    say("copy %d: attribute %d, a ring %d, from %d to %d", i, value_of(copies[i], key), kind == MPI_CART, left, right);
  }
  say("%d copied, of a split %d", copied, value_of(none, key));
  for (int i = 0; i < 3; i++) show("copy", copies[i], 70 + i);
  MPI_Comm_free(&none);
  free_all(3, copies);
  MPI_Comm_free(&ring);
  MPI_Comm_free_keyval(&key);
}

static MPI_Group pair(int first) {
  MPI_Group world, group;
  const int members[2] = {first, first + 1};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, members, &group);
  MPI_Group_free(&world);
  return group;
}

/* Overlapping pairs, each entered by its members alone. */
static void groups_in_a_chain(void) {
  for (int first = 0; first + 1 < ranks; first++) {
    if (rank != first && rank != first + 1) continue;
    MPI_Group group = pair(first);
    MPI_Comm made[2];
    for (int i = 0; i < 2; i++) MPI_Comm_create_group(MPI_COMM_WORLD, group, 7 + i, &made[i]);
    for (int i = 0; i < 2; i++) show("pair", made[i], 10 * first + i);
    free_all(2, made);
    MPI_Group_free(&group);
  }
}

/* All members are in both groups, but a copy of the parent is started before the groups on some ranks and after them
 * on others. */
static void groups_beside_idup(void) {
  MPI_Comm parent = copy_of_world(), copy, made[2];
  MPI_Request request;
  MPI_Group group;
  MPI_Comm_group(parent, &group);
  if (!otherwise()) MPI_Comm_idup(parent, &copy, &request);
  for (int i = 0; i < 2; i++) MPI_Comm_create_group(parent, group, 9 - i, &made[i]);
  if (otherwise()) MPI_Comm_idup(parent, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("idup", copy, 80);
  for (int i = 0; i < 2; i++) show("group", made[i], 81 + i);
  MPI_Group_free(&group);
  free_all(2, made);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&parent);
}

/* On parts of the world, each with a different order. */
static void splits_of_parts(void) {
  MPI_Comm half = half_of_world(), parts[3];
  for (int i = 0; i < 3; i++) {
    const int which = in_upper_half() ? 2 - i : i;
    MPI_Comm_split(half, which == 2 && rank % 2 ? MPI_UNDEFINED : which, -rank, &parts[which]);
  }
  for (int i = 0; i < 3; i++) show("part", parts[i], 90 + i);
  free_all(3, parts);
  MPI_Comm_split_type(half, rank % 2 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, rank, MPI_INFO_NULL, &parts[0]);
  say("in a part: %d", parts[0] != MPI_COMM_NULL);
  free_all(1, parts);
  MPI_Comm_free(&half);
}

/* Rows and columns overlap: copies of both are in flight. */
static void rows_and_columns(void) {
  MPI_Comm lines[2], copies[2];
  MPI_Request requests[2];
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &lines[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &lines[1]);
  for (int i = 0; i < 2; i++) {
    const int which = (rank / 2 % 2) ^ otherwise() ^ i;
    MPI_Comm_idup(lines[which], &copies[which], &requests[which]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  show("row", copies[0], rank / 2);
  show("column", copies[1], 10 + rank % 2);
  free_all(2, copies);
  free_all(2, lines);
}

const struct rule creation[] = {{"idup-in-other-orders", idup_in_other_orders},
                                {"idup-waited-in-other-orders", idup_waited_in_other_orders},
                                {"idup-of-one-parent", idup_of_one_parent},
                                {"idup-beside-others", idup_beside_others},
                                {"parent-freed-while-copied", parent_freed_while_copied},
                                {"attributes-and-topology-are-copied", attributes_and_topology_are_copied},
                                {"groups-in-a-chain", groups_in_a_chain},
                                {"groups-beside-idup", groups_beside_idup},
                                {"splits-of-parts", splits_of_parts},
                                {"rows-and-columns", rows_and_columns},
                                {0}};
