// Kernel bodies for the host: one thread does the work of all, in loops that the compiler turns into vector instructions.
#if defined(__linux__)
#include <features.h>
#endif
#define __global__ __attribute__((always_inline)) inline
#define __device__
#define __shared__
struct Index { unsigned x; };
static constexpr Index threadIdx{0}, blockDim{1}, gridDim{1};
static thread_local Index blockIdx{0};
static inline void __syncthreads() {}

// Which of the processor's vector instructions run is chosen when the module is loaded.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define CHOSEN __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CHOSEN
#endif
#define INLINE static inline __attribute__((always_inline))

// libm's functions under versions that every glibc has: a wheel that is built on a new system must load on an old one.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__)
__asm__(".symver exp,exp@GLIBC_2.2.5\n.symver expf,expf@GLIBC_2.2.5\n.symver log,log@GLIBC_2.2.5\n.symver logf,logf@GLIBC_2.2.5");
#endif

// Single precision without branches, so that loops become vectors: within 3 units in the last place. Double is libm's.
INLINE double sqrt(double x) { return __builtin_sqrt(x); }
INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
INLINE double log(double x) { return __builtin_log(x); }
INLINE float log(float x) { return __builtin_logf(x); }
INLINE double exp(double x) { return __builtin_exp(x); }
INLINE double erf(double x) { return __builtin_erf(x); }
INLINE double tanh(double x) { return __builtin_tanh(x); }
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier) && __has_builtin(__builtin_bit_cast)
#define VECTORS
#endif
#endif
#ifndef VECTORS  // sums may be rearranged by the compiler, which exp does not survive: libm's then
INLINE float exp(float x) { return __builtin_expf(x); }
#else
INLINE float of_bits(int bits) { return __builtin_bit_cast(float, bits); }
INLINE float exp(float x) {
  float t = x < -104.0f ? -104.0f : x, v = t > 89.0f ? 89.0f : t;  // nan stays nan
  float n = __builtin_floorf(v * 1.44269504f + 0.5f);
  float r = __builtin_assoc_barrier(v - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  int k = (int)n, half = k >> 1;  // in two steps, for subnormal results and those above 2^127
  return __builtin_assoc_barrier(p * of_bits((half + 127) << 23) * of_bits((k - half + 127) << 23));
}
#endif
INLINE float erf(float x) {
  float t = __builtin_fabsf(x), s = x * x;
  float r = t * -1.72853470e-5f + 3.83197126e-4f, u = t * -3.88396438e-3f + 2.42546219e-2f;
  r = r * s + u;
  r = r * t + -1.06777877e-1f;
  r = r * t + -6.34846687e-1f;
  r = r * t + -1.28717512e-1f;
  r = r * t - t;
  float large = __builtin_copysignf(1.0f - exp(r), x);
  float q = -5.96761703e-4f;
  q = q * s + 4.99119423e-3f;
  q = q * s + -2.67681349e-2f;
  q = q * s + 1.12819925e-1f;
  q = q * s + -3.76125336e-1f;
  q = q * s + 1.28379166e-1f;
  float small = q * x + x;
  return t > 0.927734375f ? large : small;
}
INLINE float tanh(float x) {
  float t = __builtin_fabsf(x), s = x * x;
  float large = __builtin_copysignf(1.0f - 2.0f / (exp(t + t) + 1.0f), x);
  float q = -5.70498872745e-3f;
  q = q * s + 2.06390887954e-2f;
  q = q * s + -5.37397155531e-2f;
  q = q * s + 1.33314422036e-1f;
  q = q * s + -3.33332819422e-1f;
  float small = q * s * x + x;
  return t > 0.625f ? large : small;
}
