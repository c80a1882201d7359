// bfloat16, as CuPy's bfloat16.cuh asks for it: the upper half of a float, rounded to the nearest, ties to even.
#pragma once
#include "cpucuda_device.h"

struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(float x) {
    unsigned wide = cpucuda_bits<unsigned>(x);
    bits = x != x ? 0x7fc0 | (wide >> 16 & 0x8000) : (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
  }
  operator float() const { return cpucuda_bits<float>((unsigned)bits << 16); }
};
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 x;
  x.bits = bits;
  return x;
}
inline bool __hisnan(__nv_bfloat16 x) { return (x.bits & 0x7fff) > 0x7f80; }
inline int __hisinf(__nv_bfloat16 x) { return (x.bits & 0x7fff) != 0x7f80 ? 0 : x.bits & 0x8000 ? -1 : 1; }
