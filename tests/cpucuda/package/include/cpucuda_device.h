// What CUDA C++ has and C++ has not, for kernels that g++ compiles. Included before every kernel's source.
#pragma once
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define __constant__ static
#define __restrict__
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __grid_constant__
#define CUDART_INF (__builtin_inf())
#define CUDART_NAN (__builtin_nan(""))
#define CUDART_INF_F (__builtin_inff())
#define CUDART_NAN_F (__builtin_nanf(""))

// ---- the runtime (runtime/launch.cpp)
struct cpucuda_dim { unsigned x, y, z; };
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
extern "C" {
extern cpucuda_dim cpucuda_threadIdx, cpucuda_blockIdx, cpucuda_blockDim, cpucuda_gridDim;
extern char cpucuda_dynamic_shared[];
int cpucuda_syncthreads(int value);
void cpucuda_syncwarp(unsigned mask);
char *cpucuda_slot(unsigned lane);
unsigned cpucuda_lane();
unsigned cpucuda_alive();
[[noreturn]] void cpucuda_fail(const char *what, const char *file, int line);
}
#define threadIdx cpucuda_threadIdx
#define blockIdx cpucuda_blockIdx
#define blockDim cpucuda_blockDim
#define gridDim cpucuda_gridDim
static const int warpSize = 32;
#undef assert
#define assert(condition) ((condition) ? (void)0 : cpucuda_fail(#condition, __FILE__, __LINE__))

// ---- how a kernel is found and called: its parameters are at the addresses given
struct cpucuda_kernel {
  int count;
  const size_t *sizes;
  void (*body)(void **arguments);
  int cooperative;
};
template <auto function> struct cpucuda_entry;
template <class... Parameters, void (*function)(Parameters...)> struct cpucuda_entry<function> {
  static constexpr size_t sizes[sizeof...(Parameters) + 1] = {sizeof(Parameters)..., 0};
  template <size_t... index> static void call(void **arguments, std::index_sequence<index...>) {
    function(*static_cast<std::remove_cv_t<Parameters> *>(arguments[index])...);
  }
  static void body(void **arguments) { call(arguments, std::index_sequence_for<Parameters...>()); }
  static constexpr cpucuda_kernel describe(int cooperative) {
    return {static_cast<int>(sizeof...(Parameters)), sizes, body, cooperative};
  }
};
#define CPUCUDA_EXPORT(name, cooperative, ...) \
  extern "C" __attribute__((visibility("default"))) const cpucuda_kernel cpucuda_kernel_##name = \
      cpucuda_entry<(__VA_ARGS__)>::describe(cooperative);

// ---- threads of a block
inline void __syncthreads() { cpucuda_syncthreads(0); }
inline int __syncthreads_count(int value) { return cpucuda_syncthreads(value != 0); }
inline int __syncthreads_or(int value) { return cpucuda_syncthreads(value != 0) != 0; }
inline int __syncthreads_and(int value) { return cpucuda_syncthreads(value == 0) == 0; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
inline long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }

// ---- threads of a warp
inline void __syncwarp(unsigned mask = ~0u) { cpucuda_syncwarp(mask); }
inline unsigned __activemask() { return cpucuda_alive(); }
template <class T> T cpucuda_exchange(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= 32, "a warp exchanges at most 32 bytes");
  memcpy(cpucuda_slot(cpucuda_lane()), (const void *)&value, sizeof(T));
  cpucuda_syncwarp(mask);
  memcpy((void *)&value, cpucuda_slot(from), sizeof(T));
  cpucuda_syncwarp(mask);
  return value;
}
template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  unsigned base = cpucuda_lane() & ~(width - 1);
  return cpucuda_exchange(mask, value, base + (from & (width - 1)));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  unsigned lane = cpucuda_lane();
  return cpucuda_exchange(mask, value, (lane & (width - 1)) < delta ? lane : lane - delta);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  unsigned lane = cpucuda_lane();
  return cpucuda_exchange(mask, value, (lane & (width - 1)) + delta >= (unsigned)width ? lane : lane + delta);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  unsigned lane = cpucuda_lane(), from = lane ^ bits;
  return cpucuda_exchange(mask, value, (from & ~(width - 1)) != (lane & ~(width - 1)) && from > lane ? lane : from);
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  *cpucuda_slot(cpucuda_lane()) = value != 0;
  cpucuda_syncwarp(mask);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; lane++)
    if ((mask & cpucuda_alive()) >> lane & 1 && *cpucuda_slot(lane)) votes |= 1u << lane;
  cpucuda_syncwarp(mask);
  return votes;
}
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, !value) == 0; }

// ---- atomics: nobody interrupts a thread between two barriers
template <class T> struct cpucuda_same { using type = T; };
template <class T> using cpucuda_arg = typename cpucuda_same<T>::type;  // not deduced, so that literals convert
#define CPUCUDA_ATOMIC(name, type, expression) \
  inline type name(type *address, cpucuda_arg<type> value) { type old = *address; *address = expression; return old; }
#define CPUCUDA_INTEGERS(name, expression) \
  CPUCUDA_ATOMIC(name, int, expression) CPUCUDA_ATOMIC(name, unsigned, expression) \
  CPUCUDA_ATOMIC(name, unsigned long long, expression) CPUCUDA_ATOMIC(name, unsigned long, expression)
CPUCUDA_INTEGERS(atomicAdd, old + value)
CPUCUDA_ATOMIC(atomicAdd, float, old + value)
CPUCUDA_ATOMIC(atomicAdd, double, old + value)
CPUCUDA_INTEGERS(atomicSub, old - value)
CPUCUDA_INTEGERS(atomicExch, value)
CPUCUDA_ATOMIC(atomicExch, float, value)
CPUCUDA_INTEGERS(atomicMax, old > value ? old : value)
CPUCUDA_ATOMIC(atomicMax, long long, old > value ? old : value)
CPUCUDA_INTEGERS(atomicMin, old < value ? old : value)
CPUCUDA_ATOMIC(atomicMin, long long, old < value ? old : value)
CPUCUDA_INTEGERS(atomicAnd, old & value)
CPUCUDA_INTEGERS(atomicOr, old | value)
CPUCUDA_INTEGERS(atomicXor, old ^ value)
CPUCUDA_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
template <class T> T atomicCAS(T *address, cpucuda_arg<T> expected, cpucuda_arg<T> value) {
  T old = *address;
  if (old == expected) *address = value;
  return old;
}

// ---- bits
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline int __mulhi(int a, int b) { return (long long)a * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
template <class To, class From> To cpucuda_bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline int __float_as_int(float x) { return cpucuda_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return cpucuda_bits<unsigned>(x); }
inline float __int_as_float(int x) { return cpucuda_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return cpucuda_bits<float>(x); }
inline long long __double_as_longlong(double x) { return cpucuda_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return cpucuda_bits<double>(x); }
template <class T> T __ldg(const T *address) { return *address; }

// ---- mathematics
using std::abs; using std::acos; using std::acosh; using std::asin; using std::asinh; using std::atan; using std::atan2;
using std::atanh; using std::cbrt; using std::ceil; using std::copysign; using std::cos; using std::cosh; using std::erf;
using std::erfc; using std::exp; using std::exp2; using std::expm1; using std::fabs; using std::floor; using std::fma;
using std::fmax; using std::fmin; using std::fmod; using std::frexp; using std::hypot; using std::isfinite;
using std::isinf; using std::isnan; using std::ldexp; using std::lgamma; using std::log; using std::log10;
using std::log1p; using std::log2; using std::max; using std::min; using std::modf; using std::nearbyint;
using std::nextafter; using std::pow; using std::remainder; using std::rint; using std::round; using std::signbit;
using std::sin; using std::sinh; using std::sqrt; using std::tan; using std::tanh; using std::tgamma; using std::trunc;
#define CPUCUDA_MIXED(A, B) \
  inline std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; } \
  inline std::common_type_t<A, B> min(B a, A b) { return b < a ? b : a; } \
  inline std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; } \
  inline std::common_type_t<A, B> max(B a, A b) { return a < b ? b : a; }
CPUCUDA_MIXED(float, double)
CPUCUDA_MIXED(int, unsigned)
CPUCUDA_MIXED(int, long)
CPUCUDA_MIXED(int, long long)
CPUCUDA_MIXED(long, long long)
CPUCUDA_MIXED(unsigned, unsigned long)
CPUCUDA_MIXED(unsigned, unsigned long long)
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rcbrt(double x) { return 1 / std::cbrt(x); }
inline double exp10(double x) { return std::pow(10.0, x); }
inline float exp10f(float x) { return std::pow(10.0f, x); }
inline double sinpi(double x) { return std::sin(M_PI * x); }
inline double cospi(double x) { return std::cos(M_PI * x); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
inline float normcdff(float x) { return 0.5f * std::erfc(-x * (float)M_SQRT1_2); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frcp_rn(float x) { return 1 / x; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline int __float2int_rn(float x) { return (int)std::nearbyint(x); }
inline long long __double2ll_rn(double x) { return (long long)std::nearbyint(x); }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline double __uint2double_rn(unsigned x) { return (double)x; }
inline float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

// ---- half precision, as CuPy's float16.cuh asks for it
inline unsigned short __float2half_rn(float x) { return cpucuda_bits<unsigned short>((_Float16)x); }
inline float __half2float(unsigned short bits) { return (float)cpucuda_bits<_Float16>(bits); }
template <class Half> unsigned short __half_as_ushort(const Half &x) {
  unsigned short bits;
  memcpy(&bits, (const void *)&x, 2);
  return bits;
}
struct cpucuda_half_bits {
  unsigned short bits;
  template <class Half> operator Half() const {
    Half half;
    memcpy((void *)&half, &bits, 2);
    return half;
  }
};
inline cpucuda_half_bits __ushort_as_half(unsigned short bits) { return {bits}; }
