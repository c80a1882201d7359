// What every kernel body may use. It needs no header: nvrtc, nvcc and (for the tests) a host compiler take it as it is.
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#ifndef __CUDACC__
#define __grid_constant__
#endif

// Half precision, for storage only: kernels compute in single.
struct half16 {
  unsigned short bits;
  half16() = default;
  __device__ half16(float x) : bits(packed(x)) {}
  __device__ operator float() const { return unpacked(bits); }
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  __device__ static unsigned short packed(float x) {
    unsigned short made;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(made) : "f"(x));
    return made;
  }
  __device__ static float unpacked(unsigned short h) {
    float made;
    asm("cvt.f32.f16 %0, %1;" : "=f"(made) : "h"(h));
    return made;
  }
#else
  union Word { float f; u32 u; };
  static unsigned short packed(float x) {
    Word w; w.f = x;
    u32 sign = w.u >> 16 & 0x8000u, size = w.u & 0x7fffffffu;
    if (size > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);  // 65520 and above
    if (size < 0x38800000u) {  // subnormal: the addition rounds at the right bit
      Word small; small.u = size; small.f += 0.5f;
      return (unsigned short)(sign | (small.u - 0x3f000000u));
    }
    size += 0xfffu + (size >> 13 & 1u);  // to the nearest, ties to even
    return (unsigned short)(sign | (size - 0x38000000u) >> 13);
  }
  static float unpacked(unsigned short h) {
    Word w;
    u32 exponent = h >> 10 & 31u, rest = h & 0x3ffu;
    if (exponent == 0) w.f = (float)rest * 5.9604644775390625e-8f;
    else w.u = (exponent == 31 ? 0x7f800000u : exponent + 112 << 23) | rest << 13;
    w.u |= (u32)(h & 0x8000u) << 16;
    return w.f;
  }
#endif
};

// Each thread takes every so many-th element.
#define EACH(i, n) for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (i64)gridDim.x * blockDim.x)

// Rows of an array seen as (outer, length, inner): a team of threads has one row at a time. A team is a block or a thread.
#define EACH_ROW(row, rows, team)                                                                    \
  for (i64 row = (team) == 1 ? (i64)blockIdx.x * blockDim.x + threadIdx.x : (i64)blockIdx.x; row < (rows); \
       row += (team) == 1 ? (i64)gridDim.x * blockDim.x : (i64)gridDim.x)
#define EACH_OF_TEAM(k, length, team) for (i64 k = (team) == 1 ? 0 : threadIdx.x; k < (length); k += (team))

struct Sum { template <class A> __device__ static A join(A a, A b) { return a + b; } };
struct Largest { template <class A> __device__ static A join(A a, A b) { return a > b || a != a ? a : b; } };  // nan wins

// What the threads of a team hold, joined; every one of them gets it. Blocks have a power of two of threads.
template <class How, class A> __device__ A joined(A mine, i64 team, A *shared) {
  if (team == 1) return mine;
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = How::join(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  A made = shared[0];
  __syncthreads();
  return made;
}
#define THREADS 256

// Many tensors in one launch: their addresses travel in the kernel's parameters, and each block has a piece of one.
#define TENSORS 64
#define ROLES 5
#define PIECE 8192
struct Table {
  i64 count;
  u64 at[ROLES][TENSORS];
  i64 size[TENSORS];
  i64 first[TENSORS + 1];  // the first block of each
};
struct Piece { int tensor; i64 begin, end; };
__device__ inline Piece piece_of_block(const Table &table) {
  int low = 0, high = (int)table.count - 1;
  while (low < high) {  // the last tensor that begins at this block or before
    int middle = (low + high + 1) / 2;
    if (table.first[middle] <= (i64)blockIdx.x) low = middle; else high = middle - 1;
  }
  Piece made;
  made.tensor = low;
  made.begin = ((i64)blockIdx.x - table.first[low]) * PIECE;
  made.end = made.begin + PIECE < table.size[low] ? made.begin + PIECE : table.size[low];
  return made;
}
#define EACH_OF_PIECE(i, piece) for (i64 i = (piece).begin + threadIdx.x; i < (piece).end; i += blockDim.x)
#define ROLE(type, role) ((type *)table.at[role][piece.tensor])

// Philox4x32-10: block `index` of the stream of `key`.
struct Words { u32 w[4]; };
__device__ inline Words philox(u64 key, u64 index) {
  u32 c0 = (u32)index, c1 = (u32)(index >> 32), c2 = 0, c3 = 0, k0 = (u32)key, k1 = (u32)(key >> 32);
  for (int round = 0; round < 10; round++) {
    u64 p0 = (u64)c0 * 0xD2511F53u, p2 = (u64)c2 * 0xCD9E8D57u;
    u32 n0 = (u32)(p2 >> 32) ^ c1 ^ k0, n2 = (u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (u32)p2; c3 = (u32)p0; c0 = n0; c2 = n2;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  Words made;
  made.w[0] = c0; made.w[1] = c1; made.w[2] = c2; made.w[3] = c3;
  return made;
}
// The number in [0, 1) that element `i` of a draw gets, which began at block `start`: as philox.uniform makes them.
template <class T> struct Uniform {
  __device__ static float at(u64 key, u64 start, i64 i) { return of(philox(key, start + i / 4), (int)(i % 4)); }
  __device__ static float of(const Words &words, int k) { return (float)(words.w[k] >> 8) * 5.9604644775390625e-8f; }
};
template <> struct Uniform<half16> {
  __device__ static float at(u64 key, u64 start, i64 i) { return of(philox(key, start + i / 4), (int)(i % 4)); }
  __device__ static float of(const Words &words, int k) { return (float)(words.w[k] >> 21) * 0.00048828125f; }
};
template <> struct Uniform<double> {
  __device__ static double at(u64 key, u64 start, i64 i) { return of(philox(key, start + i / 2), (int)(i % 2)); }
  __device__ static double of(const Words &words, int k) {
    return ((words.w[2 * k] >> 5) * 67108864.0 + (words.w[2 * k + 1] >> 6)) * (1.0 / 9007199254740992.0);
  }
};
