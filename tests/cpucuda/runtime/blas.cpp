// cuBLAS, as far as CuPy's linear algebra calls it, over OpenBLAS.
#include "cpucuda.h"
#include "lapack.h"

#include <cstring>
#include <dlfcn.h>
#include <stdexcept>

using namespace cpucuda;

namespace {

std::string library_path;

struct BlasHandle {
  void *stream = nullptr;
  int scalars_on_device = 0, math_mode = 0;
};
BlasHandle &of(void *handle) { return *static_cast<BlasHandle *>(handle); }

enum : int { success = 0, invalid_value = 7, execution_failed = 13, not_supported = 15 };
int status(int error) { return error ? execution_failed : success; }

// A scalar given by address: on the host it is read at once, on the device when the work runs.
template <class T> struct Scalar {
  T value = T();
  const T *later = nullptr;
  Scalar(const BlasHandle &handle, const void *address) {
    if (handle.scalars_on_device) later = static_cast<const T *>(address);
    else memcpy(&value, address, sizeof(T));
  }
  T get() const { return later ? *later : value; }
};

// ---- half precision is computed in single precision, as cuBLAS accumulates it
enum : int { real32 = 0, real64 = 1, real16 = 2, complex32 = 4, complex64 = 5, bfloat16 = 14 };

float to_float(uint16_t bits, int type) {
  if (type == real16) {
    _Float16 half;
    memcpy(&half, &bits, 2);
    return static_cast<float>(half);
  }
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

uint16_t from_float(float value, int type) {
  uint16_t bits;
  if (type == real16) {
    auto half = static_cast<_Float16>(value);
    memcpy(&bits, &half, 2);
    return bits;
  }
  uint32_t wide;
  memcpy(&wide, &value, 4);
  return static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

// A column-major matrix as single precision: itself, or a copy of a half-precision one.
struct Widened {
  std::vector<float> copy;
  const float *data;
  Widened(const void *matrix, int type, Int rows, Int columns, Int leading) : data(static_cast<const float *>(matrix)) {
    if (type == real32) return;
    auto halves = static_cast<const uint16_t *>(matrix);
    copy.resize(size_t(leading) * columns);
    for (Int j = 0; j < columns; j++)
      for (Int i = 0; i < rows; i++) copy[i + j * leading] = to_float(halves[i + j * leading], type);
    data = copy.data();
  }
};

struct Product {  // one call of gemm with types
  int op_a, op_b;
  Int m, n, k;
  const void *a;
  int type_a;
  Int lda;
  const void *b;
  int type_b;
  Int ldb;
  void *c;
  int type_c;
  Int ldc;
};

template <class T> void multiply_same(const Product &p, T alpha, T beta) {
  gemm<T>(p.op_a, p.op_b, p.m, p.n, p.k, alpha, static_cast<const T *>(p.a), p.lda, static_cast<const T *>(p.b), p.ldb,
          beta, static_cast<T *>(p.c), p.ldc);
}

void multiply_half(const Product &p, float alpha, float beta) {
  Widened a(p.a, p.type_a, p.op_a ? p.k : p.m, p.op_a ? p.m : p.k, p.lda);
  Widened b(p.b, p.type_b, p.op_b ? p.n : p.k, p.op_b ? p.k : p.n, p.ldb);
  Widened old(p.c, p.type_c, p.m, beta ? p.n : 0, p.ldc);
  std::vector<float> result(size_t(p.m) * p.n);
  if (beta)
    for (Int j = 0; j < p.n; j++) memcpy(&result[j * p.m], old.data + j * p.ldc, p.m * sizeof(float));
  gemm<float>(p.op_a, p.op_b, p.m, p.n, p.k, alpha, a.data, p.lda, b.data, p.ldb, beta, result.data(), p.m);
  for (Int j = 0; j < p.n; j++)
    for (Int i = 0; i < p.m; i++) {
      float value = result[i + j * p.m];
      if (p.type_c == real32) static_cast<float *>(p.c)[i + j * p.ldc] = value;
      else static_cast<uint16_t *>(p.c)[i + j * p.ldc] = from_float(value, p.type_c);
    }
}

// Calls action(T()) with the type of the scalars that go with a product of this type.
template <class Action> int with_scalar_type(int type, Action action) {
  switch (type) {
    case real32: case real16: case bfloat16: return action(float());
    case real64: return action(double());
    case complex32: return action(std::complex<float>());
    case complex64: return action(std::complex<double>());
    default: return not_supported;
  }
}

template <class T> void multiply(const Product &p, T alpha, T beta) {
  if constexpr (std::is_same_v<T, float>) {
    if (p.type_a != real32 || p.type_b != real32 || p.type_c != real32) return multiply_half(p, alpha, beta);
  }
  multiply_same<T>(p, alpha, beta);
}

size_t bytes_of(int type) { return type == complex64 ? 16 : type == real64 || type == complex32 ? 8 : type == real32 ? 4 : 2; }

int multiply_batch(void *handle, Product p, const void *alpha, Int step_a, Int step_b, const void *beta, Int step_c, int count) {
  if (p.m == 0 || p.n == 0) return success;
  return with_scalar_type(p.type_c, [&](auto zero) {
    using T = decltype(zero);
    Scalar<T> first(of(handle), alpha), second(of(handle), beta);
    return status(submit(of(handle).stream, "gemm", [=] {
      for (int i = 0; i < count; i++) {
        Product each = p;
        each.a = static_cast<const char *>(p.a) + i * step_a * bytes_of(p.type_a);
        each.b = static_cast<const char *>(p.b) + i * step_b * bytes_of(p.type_b);
        each.c = static_cast<char *>(p.c) + i * step_c * bytes_of(p.type_c);
        multiply<T>(each, first.get(), second.get());
      }
    }));
  });
}

template <class T>
int multiply_pointers(void *handle, int op_a, int op_b, int m, int n, int k, const T *alpha, const T *const *a, int lda,
                      const T *const *b, int ldb, const T *beta, T *const *c, int ldc, int count) {
  Scalar<T> first(of(handle), alpha), second(of(handle), beta);
  return status(submit(of(handle).stream, "gemmBatched", [=] {
    for (int i = 0; i < count; i++)
      gemm<T>(op_a, op_b, m, n, k, first.get(), a[i], lda, b[i], ldb, second.get(), c[i], ldc);
  }));
}

// ---- LU of many small matrices; pivots are 32 bits wide in CUDA, and may be left out
template <class T> int lu_factor(void *handle, int n, T *const *a, int lda, int *pivots, int *info, int count) {
  return status(submit(of(handle).stream, "getrfBatched", [=] {
    std::vector<Int> rows(n);
    for (int i = 0; i < count; i++) {
      Int size = n, leading = lda, problem = 0;
      lapack<T>("getrf", &size, &size, a[i], &leading, rows.data(), &problem);
      for (int j = 0; pivots && j < n; j++) pivots[i * n + j] = static_cast<int>(rows[j]);
      info[i] = static_cast<int>(problem);
    }
  }));
}

template <class T>
int lu_invert(void *handle, int n, const T *const *a, int lda, const int *pivots, T *const *c, int ldc, int *info, int count) {
  return status(submit(of(handle).stream, "getriBatched", [=] {
    std::vector<Int> rows(n);
    std::vector<T> work(size_t(n) * 32 + 1);
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < n; j++) {
        rows[j] = pivots ? pivots[i * n + j] : j + 1;
        memcpy(static_cast<void *>(c[i] + size_t(j) * ldc), a[i] + size_t(j) * lda, n * sizeof(T));
      }
      Int size = n, leading = ldc, room = work.size(), problem = 0;
      lapack<T>("getri", &size, c[i], &leading, rows.data(), work.data(), &room, &problem);
      info[i] = static_cast<int>(problem);
    }
  }));
}

template <class T>
int lu_solve(void *handle, int op, int n, int columns, const T *const *a, int lda, const int *pivots, T *const *b, int ldb,
             int *info, int count) {
  *info = 0;  // on the host, about the arguments alone
  return status(submit(of(handle).stream, "getrsBatched", [=] {
    std::vector<Int> rows(n);
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < n; j++) rows[j] = pivots ? pivots[i * n + j] : j + 1;
      Int size = n, width = columns, leading = lda, leading_b = ldb, problem = 0;
      const T *factors = a[i];
      lapack<T>("getrs", "NTC" + op, &size, &width, factors, &leading, rows.data(), b[i], &leading_b, &problem);
    }
  }));
}

template <class T>
int solve_triangle(void *handle, int side, int upper, int op, int unit, int m, int n, const T *alpha, const T *a, int lda, T *b,
                   int ldb) {
  Scalar<T> factor(of(handle), alpha);
  return status(submit(of(handle).stream, "trsm", [=] {
    Int rows = m, columns = n, leading = lda, leading_b = ldb;
    T value = factor.get();
    lapack<T>("trsm", side ? "R" : "L", upper ? "U" : "L", "NTC" + op, unit ? "U" : "N", &rows, &columns, &value, a,
              &leading, b, &leading_b);
  }));
}

// ---- inner products: a result on the host makes the call wait
template <class T>
int inner(void *handle, int n, const T *x, int step_x, const T *y, int step_y, T *result, bool conjugate) {
  auto run = [=] {
    T sum = T();
    for (Int i = 0; i < n; i++) {
      T factor = x[i * step_x];
      if constexpr (is_complex<T>) factor = conjugate ? std::conj(factor) : factor;
      sum += factor * y[i * step_y];
    }
    *result = sum;
  };
  auto how = of(handle).scalars_on_device ? submit : submit_and_wait;
  return status(how(of(handle).stream, "dot", run));
}

}  // namespace

namespace cpucuda {
void *openblas(const std::string &symbol) {
  static void *library = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error("cannot load OpenBLAS from '" + library_path + "': " + dlerror());
  void *found = dlsym(library, symbol.c_str());
  if (!found) throw std::runtime_error("OpenBLAS has no " + symbol);
  return found;
}
}  // namespace cpucuda

extern "C" {

void cpucuda_use_blas(const char *path) { library_path = path; }

int cublasCreate_v2(void **handle) { *handle = new BlasHandle; return success; }
int cublasDestroy_v2(void *handle) { delete &of(handle); return success; }
int cublasGetVersion_v2(void *, int *version) { *version = 120900; return success; }
int cublasSetStream_v2(void *handle, void *stream) { of(handle).stream = stream; return success; }
int cublasGetStream_v2(void *handle, void **stream) { *stream = of(handle).stream; return success; }
int cublasSetPointerMode_v2(void *handle, int mode) { of(handle).scalars_on_device = mode; return success; }
int cublasGetPointerMode_v2(void *handle, int *mode) { *mode = of(handle).scalars_on_device; return success; }
int cublasSetMathMode(void *handle, int mode) { of(handle).math_mode = mode; return success; }
int cublasGetMathMode(void *handle, int *mode) { *mode = of(handle).math_mode; return success; }

int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                 const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int, int) {
  Product p = {op_a, op_b, m, n, k, a, type_a, lda, b, type_b, ldb, c, type_c, ldc};
  return multiply_batch(handle, p, alpha, 0, 0, beta, 0, 1);
}
int cublasSgemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const void *a, int type_a, int lda,
                  const void *b, int type_b, int ldb, const float *beta, void *c, int type_c, int ldc) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, 0, 0);
}
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                               int type_a, int lda, long long step_a, const void *b, int type_b, int ldb, long long step_b,
                               const void *beta, void *c, int type_c, int ldc, long long step_c, int count, int, int) {
  Product p = {op_a, op_b, m, n, k, a, type_a, lda, b, type_b, ldb, c, type_c, ldc};
  return multiply_batch(handle, p, alpha, step_a, step_b, beta, step_c, count);
}

#define CPUCUDA_BLAS(L, T, code) \
  int cublas##L##gemm_v2(void *h, int oa, int ob, int m, int n, int k, const T *alpha, const T *a, int lda, const T *b, \
                         int ldb, const T *beta, T *c, int ldc) { \
    return cublasGemmEx(h, oa, ob, m, n, k, alpha, a, code, lda, b, code, ldb, beta, c, code, ldc, 0, 0); \
  } \
  int cublas##L##gemmStridedBatched(void *h, int oa, int ob, int m, int n, int k, const T *alpha, const T *a, int lda, \
                                    long long sa, const T *b, int ldb, long long sb, const T *beta, T *c, int ldc, \
                                    long long sc, int count) { \
    return cublasGemmStridedBatchedEx(h, oa, ob, m, n, k, alpha, a, code, lda, sa, b, code, ldb, sb, beta, c, code, ldc, \
                                      sc, count, 0, 0); \
  } \
  int cublas##L##gemmBatched(void *h, int oa, int ob, int m, int n, int k, const T *alpha, const T *const *a, int lda, \
                             const T *const *b, int ldb, const T *beta, T *const *c, int ldc, int count) { \
    return multiply_pointers<T>(h, oa, ob, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count); \
  } \
  int cublas##L##getrfBatched(void *h, int n, T *const *a, int lda, int *pivots, int *info, int count) { \
    return lu_factor<T>(h, n, a, lda, pivots, info, count); \
  } \
  int cublas##L##getriBatched(void *h, int n, const T *const *a, int lda, const int *pivots, T *const *c, int ldc, int *info, \
                              int count) { \
    return lu_invert<T>(h, n, a, lda, pivots, c, ldc, info, count); \
  } \
  int cublas##L##getrsBatched(void *h, int op, int n, int columns, const T *const *a, int lda, const int *pivots, T *const *b, \
                              int ldb, int *info, int count) { \
    return lu_solve<T>(h, op, n, columns, a, lda, pivots, b, ldb, info, count); \
  } \
  int cublas##L##trsm_v2(void *h, int side, int upper, int op, int unit, int m, int n, const T *alpha, const T *a, int lda, \
                         T *b, int ldb) { \
    return solve_triangle<T>(h, side, upper, op, unit, m, n, alpha, a, lda, b, ldb); \
  }

CPUCUDA_BLAS(S, float, real32)
CPUCUDA_BLAS(D, double, real64)
CPUCUDA_BLAS(C, std::complex<float>, complex32)
CPUCUDA_BLAS(Z, std::complex<double>, complex64)

#define CPUCUDA_DOT(name, T, conjugate) \
  int cublas##name##_v2(void *h, int n, const T *x, int sx, const T *y, int sy, T *result) { \
    return inner<T>(h, n, x, sx, y, sy, result, conjugate); \
  }
CPUCUDA_DOT(Sdot, float, false)
CPUCUDA_DOT(Ddot, double, false)
CPUCUDA_DOT(Cdotu, std::complex<float>, false)
CPUCUDA_DOT(Cdotc, std::complex<float>, true)
CPUCUDA_DOT(Zdotu, std::complex<double>, false)
CPUCUDA_DOT(Zdotc, std::complex<double>, true)
}
