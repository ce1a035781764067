// SPDX-License-Identifier: Apache-2.0
// OpenCL C's built-in functions on scalars and vectors, compiled for the processor. Loading a kernel that calls another
// built-in fails with its name.

#define OVER __attribute__((overloadable))

#define WIDTHS(M, name, type, call) M(name, type, 2, call) M(name, type, 3, call) M(name, type, 4, call) M(name, type, 8, call) M(name, type, 16, call)

#define VECTOR_1(name, type, n, call)       \
  OVER type##n name(type##n a) {            \
    type##n result;                         \
    for (int i = 0; i < n; ++i) result[i] = call(a[i]); \
    return result;                          \
  }
#define VECTOR_2(name, type, n, call)       \
  OVER type##n name(type##n a, type##n b) { \
    type##n result;                         \
    for (int i = 0; i < n; ++i) result[i] = call(a[i], b[i]); \
    return result;                          \
  }
#define VECTOR_3(name, type, n, call)                    \
  OVER type##n name(type##n a, type##n b, type##n c) {   \
    type##n result;                                      \
    for (int i = 0; i < n; ++i) result[i] = call(a[i], b[i], c[i]); \
    return result;                                       \
  }
#define OF_1(name, type, call)                     \
  OVER type name(type a) { return call(a); }       \
  WIDTHS(VECTOR_1, name, type, call)
#define OF_2(name, type, call)                               \
  OVER type name(type a, type b) { return call(a, b); }      \
  WIDTHS(VECTOR_2, name, type, call)
#define OF_3(name, type, call)                                       \
  OVER type name(type a, type b, type c) { return call(a, b, c); }   \
  WIDTHS(VECTOR_3, name, type, call)

#define FLOATS_1(name, call) OF_1(name, float, call##f) OF_1(name, double, call)
#define FLOATS_2(name, call) OF_2(name, float, call##f) OF_2(name, double, call)
#define FLOATS_3(name, call) OF_3(name, float, call##f) OF_3(name, double, call)

FLOATS_1(ceil, __builtin_ceil)
FLOATS_1(floor, __builtin_floor)
FLOATS_1(trunc, __builtin_trunc)
FLOATS_1(round, __builtin_round)
FLOATS_1(rint, __builtin_rint)
FLOATS_1(fabs, __builtin_fabs)
FLOATS_1(sqrt, __builtin_sqrt)
FLOATS_1(cbrt, __builtin_cbrt)
FLOATS_1(exp, __builtin_exp)
FLOATS_1(exp2, __builtin_exp2)
FLOATS_1(expm1, __builtin_expm1)
FLOATS_1(log, __builtin_log)
FLOATS_1(log2, __builtin_log2)
FLOATS_1(log10, __builtin_log10)
FLOATS_1(log1p, __builtin_log1p)
FLOATS_1(sin, __builtin_sin)
FLOATS_1(cos, __builtin_cos)
FLOATS_1(tan, __builtin_tan)
FLOATS_1(asin, __builtin_asin)
FLOATS_1(acos, __builtin_acos)
FLOATS_1(atan, __builtin_atan)
FLOATS_1(sinh, __builtin_sinh)
FLOATS_1(cosh, __builtin_cosh)
FLOATS_1(tanh, __builtin_tanh)
FLOATS_1(erf, __builtin_erf)
FLOATS_1(erfc, __builtin_erfc)
FLOATS_1(tgamma, __builtin_tgamma)
FLOATS_1(lgamma, __builtin_lgamma)
FLOATS_2(pow, __builtin_pow)
FLOATS_2(fmod, __builtin_fmod)
FLOATS_2(fmin, __builtin_fmin)
FLOATS_2(fmax, __builtin_fmax)
FLOATS_2(fdim, __builtin_fdim)
FLOATS_2(hypot, __builtin_hypot)
FLOATS_2(atan2, __builtin_atan2)
FLOATS_2(copysign, __builtin_copysign)
FLOATS_3(fma, __builtin_fma)

#define RECIPROCAL_ROOT(a) (1 / __builtin_sqrt(a))
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LESSER(a, b) ((b) < (a) ? (b) : (a))
#define GREATER(a, b) ((a) < (b) ? (b) : (a))
#define WITHIN(a, low, high) LESSER(GREATER(a, low), high)
#define DIVIDE(a, b) ((a) / (b))
#define INVERSE(a) (1 / (a))
#define MIX(a, b, t) ((a) + ((b) - (a)) * (t))
#define FLOAT_FUNCTIONS(type)            \
  OF_1(rsqrt, type, RECIPROCAL_ROOT)     \
  OF_3(mad, type, MULTIPLY_ADD)          \
  OF_2(min, type, LESSER)                \
  OF_2(max, type, GREATER)               \
  OF_3(clamp, type, WITHIN)              \
  OF_3(mix, type, MIX)
FLOAT_FUNCTIONS(float)
FLOAT_FUNCTIONS(double)
OF_1(native_sqrt, float, __builtin_sqrtf)
OF_1(native_rsqrt, float, RECIPROCAL_ROOT)
OF_1(native_exp, float, __builtin_expf)
OF_1(native_log, float, __builtin_logf)
OF_1(native_sin, float, __builtin_sinf)
OF_1(native_cos, float, __builtin_cosf)
OF_2(native_powr, float, __builtin_powf)
OF_2(native_divide, float, DIVIDE)
OF_1(native_recip, float, INVERSE)
OF_1(half_sqrt, float, __builtin_sqrtf)
OF_1(half_rsqrt, float, RECIPROCAL_ROOT)
OF_2(half_divide, float, DIVIDE)
OF_1(half_recip, float, INVERSE)

#define INTEGER_FUNCTIONS(type)   \
  OF_2(min, type, LESSER)         \
  OF_2(max, type, GREATER)        \
  OF_3(clamp, type, WITHIN)
INTEGER_FUNCTIONS(char)
INTEGER_FUNCTIONS(uchar)
INTEGER_FUNCTIONS(short)
INTEGER_FUNCTIONS(ushort)
INTEGER_FUNCTIONS(int)
INTEGER_FUNCTIONS(uint)
INTEGER_FUNCTIONS(long)
INTEGER_FUNCTIONS(ulong)

#define MAGNITUDE(a) ((a) < 0 ? -(a) : (a))
#define SAME(a) (a)
#define ABS(type, unsigned_type)                                \
  OVER unsigned_type abs(type a) { return (unsigned_type)MAGNITUDE(a); } \
  OVER unsigned_type abs(unsigned_type a) { return a; }
ABS(char, uchar)
ABS(short, ushort)
ABS(int, uint)
ABS(long, ulong)

#define DOT(type, n)                             \
  OVER type dot(type##n a, type##n b) {          \
    type sum = 0;                                \
    for (int i = 0; i < n; ++i) sum += a[i] * b[i]; \
    return sum;                                  \
  }
OVER float dot(float a, float b) { return a * b; }
OVER double dot(double a, double b) { return a * b; }
DOT(float, 2)
DOT(float, 3)
DOT(float, 4)
DOT(double, 2)
DOT(double, 3)
DOT(double, 4)

OVER int isnan(float a) { return a != a; }
OVER int isnan(double a) { return a != a; }
OVER int isinf(float a) { return __builtin_isinf(a) != 0; }
OVER int isinf(double a) { return __builtin_isinf(a) != 0; }
OVER int isfinite(float a) { return __builtin_isfinite(a); }
OVER int isfinite(double a) { return __builtin_isfinite(a); }
OVER uint popcount(uint a) { return __builtin_popcount(a); }
OVER int popcount(int a) { return __builtin_popcount(a); }
OVER int clz(int a) { return a ? __builtin_clz(a) : 32; }
OVER uint clz(uint a) { return a ? __builtin_clz(a) : 32; }

#define CONVERT_VECTOR(to, from, n) \
  OVER to##n convert_##to##n(from##n a) { return __builtin_convertvector(a, to##n); }
#define CONVERT(to, from)                           \
  OVER to convert_##to(from a) { return (to)a; }    \
  CONVERT_VECTOR(to, from, 2)                       \
  CONVERT_VECTOR(to, from, 3)                       \
  CONVERT_VECTOR(to, from, 4)                       \
  CONVERT_VECTOR(to, from, 8)                       \
  CONVERT_VECTOR(to, from, 16)
#define CONVERT_ALL(to)   \
  CONVERT(to, char)       \
  CONVERT(to, uchar)      \
  CONVERT(to, short)      \
  CONVERT(to, ushort)     \
  CONVERT(to, int)        \
  CONVERT(to, uint)       \
  CONVERT(to, long)       \
  CONVERT(to, ulong)      \
  CONVERT(to, float)      \
  CONVERT(to, double)
CONVERT_ALL(char)
CONVERT_ALL(uchar)
CONVERT_ALL(short)
CONVERT_ALL(ushort)
CONVERT_ALL(int)
CONVERT_ALL(uint)
CONVERT_ALL(long)
CONVERT_ALL(ulong)
CONVERT_ALL(float)
CONVERT_ALL(double)

#define LOAD(type, n, space)                                            \
  OVER type##n vload##n(size_t offset, const space type* from) {        \
    type##n result;                                                     \
    for (int i = 0; i < n; ++i) result[i] = from[offset * n + i];       \
    return result;                                                      \
  }
#define STORE(type, n, space)                                           \
  OVER void vstore##n(type##n value, size_t offset, space type* to) {   \
    for (int i = 0; i < n; ++i) to[offset * n + i] = value[i];          \
  }
#define LOADS_AND_STORES(type, n)                                       \
  LOAD(type, n, __generic) LOAD(type, n, __constant) STORE(type, n, __generic)
#define VECTORS_IN_MEMORY(type)  \
  LOADS_AND_STORES(type, 2)      \
  LOADS_AND_STORES(type, 3)      \
  LOADS_AND_STORES(type, 4)      \
  LOADS_AND_STORES(type, 8)      \
  LOADS_AND_STORES(type, 16)
VECTORS_IN_MEMORY(char)
VECTORS_IN_MEMORY(uchar)
VECTORS_IN_MEMORY(short)
VECTORS_IN_MEMORY(ushort)
VECTORS_IN_MEMORY(int)
VECTORS_IN_MEMORY(uint)
VECTORS_IN_MEMORY(long)
VECTORS_IN_MEMORY(ulong)
VECTORS_IN_MEMORY(float)
VECTORS_IN_MEMORY(double)

// A kernel is one work item whose accesses are in program order, so fences do nothing.
OVER void mem_fence(cl_mem_fence_flags flags) {}
OVER void read_mem_fence(cl_mem_fence_flags flags) {}
OVER void write_mem_fence(cl_mem_fence_flags flags) {}
OVER void barrier(cl_mem_fence_flags flags) {}
OVER void work_group_barrier(cl_mem_fence_flags flags) {}
OVER size_t get_global_size(uint dimension) { return 1; }
OVER size_t get_local_size(uint dimension) { return 1; }
OVER size_t get_num_groups(uint dimension) { return 1; }
OVER uint get_work_dim(void) { return 1; }
