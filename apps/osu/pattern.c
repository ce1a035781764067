// SPDX-License-Identifier: Apache-2.0
/* Buffers of known content. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "osu.h"

enum { period = 4093 }; /* prime, so no packet, block or power of two is a multiple */

const char* pattern(size_t bytes, unsigned owner, unsigned salt) {
  static char* base;
  static size_t length;
  if (length < bytes + period) {
    length = bytes + period;
    base = realloc(base, length);
    if (!base) return NULL;
    uint32_t state = 1;
    for (size_t i = 0; i < length; ++i) {
      state = state * 1664525u + 1013904223u; /* the congruential generator of Numerical Recipes */
      base[i] = (char)(state >> 24);
    }
  }
  return base + (owner * 37u + salt * 1009u) % period;
}

size_t byte_differences(const char* seen, const char* expected, size_t bytes) {
  if (memcmp(seen, expected, bytes) == 0) return 0;
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += seen[i] != expected[i];
  return wrong;
}

/* Integers from -2046 to 2046, whose sums over thousands of ranks are exact in every type below, in any order. */
static int value(size_t element, int rank, unsigned salt) {
  return (int)((element * 31 + (size_t)rank * 1597 + salt * 1009u) % period) - period / 2;
}

static int expected(size_t element, int ranks, unsigned salt, char op) {
  int result = value(element, 0, salt);
  for (int rank = 1; rank < ranks; ++rank) {
    int next = value(element, rank, salt);
    if (op == '+')
      result += next;
    else if (op == '<' ? next < result : next > result)
      result = next;
  }
  return result;
}

#define NUMBER(name, type)                                                                                     \
  static void fill_##name(void* elements, size_t count, int rank, unsigned salt) {                             \
    for (size_t i = 0; i < count; ++i) ((type*)elements)[i] = (type)value(i, rank, salt);                      \
  }                                                                                                            \
  static size_t differences_##name(const void* elements, size_t first, size_t count, int ranks, unsigned salt, \
                                   char op) {                                                                  \
    const type* seen = elements;                                                                               \
    type known[period]; /* results have the period of the values */                                            \
    size_t wrong = 0;                                                                                          \
    for (size_t i = 0; i < count; ++i) {                                                                       \
      if (i < period) known[i] = (type)expected(first + i, ranks, salt, op);                                   \
      wrong += seen[i] != known[i % period];                                                                   \
    }                                                                                                          \
    return wrong;                                                                                              \
  }

NUMBER(int32, int32_t)
NUMBER(int64, int64_t)
NUMBER(float32, float)
NUMBER(float64, double)

const struct number numbers[] = {
    {"float32", MPI_FLOAT, sizeof(float), fill_float32, differences_float32},
    {"float64", MPI_DOUBLE, sizeof(double), fill_float64, differences_float64},
    {"int32", MPI_INT32_T, sizeof(int32_t), fill_int32, differences_int32},
    {"int64", MPI_INT64_T, sizeof(int64_t), fill_int64, differences_int64},
};
const size_t number_count = sizeof numbers / sizeof numbers[0];
