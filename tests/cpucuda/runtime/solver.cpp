// cuSOLVER, as far as CuPy's linear algebra calls it, over the LAPACK in OpenBLAS.
#include "cpucuda.h"
#include "lapack.h"

#include <cstring>

using namespace cpucuda;

namespace {

enum : int { success = 0, execution_failed = 6, not_supported = 9 };
int status(int error) { return error ? execution_failed : success; }

struct SolverHandle { void *stream = nullptr; };
SolverHandle &of(void *handle) { return *static_cast<SolverHandle *>(handle); }
const char *triangle(int upper) { return upper ? "U" : "L"; }

// LAPACK is asked how much memory it wants and gets it from the host; the caller's own buffer stays unused.
template <class T, class Call> Int with_work(Call call) {
  T wanted = T();
  Int room = -1, problem = 0;
  call(&wanted, &room, &problem);
  room = static_cast<Int>(std::real(wanted)) + 1;
  std::vector<T> work(room);
  call(work.data(), &room, &problem);
  return problem;
}

template <class T> int lu(void *handle, int m, int n, T *a, int lda, int *pivots, int *info) {
  return status(submit(of(handle).stream, "getrf", [=] {
    Int rows = m, columns = n, leading = lda, problem = 0;
    std::vector<Int> wide(std::min(m, n));
    lapack<T>("getrf", &rows, &columns, a, &leading, wide.data(), &problem);
    for (size_t i = 0; pivots && i < wide.size(); i++) pivots[i] = static_cast<int>(wide[i]);
    *info = static_cast<int>(problem);
  }));
}

template <class T>
int lu_solve(void *handle, int op, int n, int columns, const T *a, int lda, const int *pivots, T *b, int ldb, int *info) {
  return status(submit(of(handle).stream, "getrs", [=] {
    Int size = n, width = columns, leading = lda, leading_b = ldb, problem = 0;
    std::vector<Int> wide(pivots, pivots + n);
    lapack<T>("getrs", "NTC" + op, &size, &width, a, &leading, wide.data(), b, &leading_b, &problem);
    *info = static_cast<int>(problem);
  }));
}

template <class T> int factor(int upper, int n, T *a, int lda) {
  Int size = n, leading = lda, problem = 0;
  lapack<T>("potrf", triangle(upper), &size, a, &leading, &problem);
  return static_cast<int>(problem);
}
template <class T> int cholesky(void *handle, int upper, int n, T *a, int lda, int *info) {
  return status(submit(of(handle).stream, "potrf", [=] { *info = factor(upper, n, a, lda); }));
}
template <class T> int cholesky_batch(void *handle, int upper, int n, T *const *a, int lda, int *info, int count) {
  return status(submit(of(handle).stream, "potrfBatched", [=] {
    for (int i = 0; i < count; i++) info[i] = factor(upper, n, a[i], lda);
  }));
}

template <class T> int solve(int upper, int n, int columns, const T *a, int lda, T *b, int ldb) {
  Int size = n, width = columns, leading = lda, leading_b = ldb, problem = 0;
  lapack<T>("potrs", triangle(upper), &size, &width, a, &leading, b, &leading_b, &problem);
  return static_cast<int>(problem);
}
template <class T>
int cholesky_solve(void *handle, int upper, int n, int columns, const T *a, int lda, T *b, int ldb, int *info) {
  return status(submit(of(handle).stream, "potrs", [=] { *info = solve(upper, n, columns, a, lda, b, ldb); }));
}
template <class T>
int cholesky_solve_batch(void *handle, int upper, int n, int columns, T *const *a, int lda, T *const *b, int ldb, int *info,
                         int count) {
  return status(submit(of(handle).stream, "potrsBatched", [=] {
    for (int i = 0; i < count; i++) *info = solve<T>(upper, n, columns, a[i], lda, b[i], ldb);
  }));
}

template <class T> int qr(void *handle, int m, int n, T *a, int lda, T *tau, int *info) {
  return status(submit(of(handle).stream, "geqrf", [=] {
    Int rows = m, columns = n, leading = lda;
    *info = with_work<T>([&](T *work, Int *room, Int *problem) {
      lapack<T>("geqrf", &rows, &columns, a, &leading, tau, work, room, problem);
    });
  }));
}
template <class T> int q_of_qr(void *handle, int m, int n, int k, T *a, int lda, const T *tau, int *info) {
  return status(submit(of(handle).stream, "orgqr", [=] {
    Int rows = m, columns = n, count = k, leading = lda;
    *info = with_work<T>([&](T *work, Int *room, Int *problem) {
      lapack<T>(is_complex<T> ? "ungqr" : "orgqr", &rows, &columns, &count, a, &leading, tau, work, room, problem);
    });
  }));
}

template <class T>
int decompose(char job_u, char job_v, Int m, Int n, T *a, Int lda, Real<T> *s, T *u, Int ldu, T *v, Int ldv) {
  std::vector<Real<T>> more(5 * std::min(m, n) + 1);
  ldu = std::max(ldu, Int(1));
  ldv = std::max(ldv, Int(1));
  return with_work<T>([&](T *work, Int *room, Int *problem) {
    if constexpr (is_complex<T>)
      lapack<T>("gesvd", &job_u, &job_v, &m, &n, a, &lda, s, u, &ldu, v, &ldv, work, room, more.data(), problem);
    else
      lapack<T>("gesvd", &job_u, &job_v, &m, &n, a, &lda, s, u, &ldu, v, &ldv, work, room, problem);
  });
}
template <class T>
int singular_values(void *handle, char job_u, char job_v, int m, int n, T *a, int lda, Real<T> *s, T *u, int ldu, T *v,
                    int ldv, int *info) {
  return status(submit(of(handle).stream, "gesvd", [=] {
    *info = decompose<T>(job_u, job_v, m, n, a, lda, s, u, ldu, v, ldv);
  }));
}

// Eigenvalues of a symmetric or Hermitian matrix, the vectors in place of it.
template <class T> int eigen(int vectors, int upper, Int n, T *a, Int lda, Real<T> *w) {
  const char *job = vectors ? "V" : "N";
  Int size = n, leading = lda;
  if constexpr (is_complex<T>) {
    std::vector<Real<T>> more(3 * n + 1);
    return with_work<T>([&](T *work, Int *room, Int *problem) {
      lapack<T>("heev", job, triangle(upper), &size, a, &leading, w, work, room, more.data(), problem);
    });
  } else {
    return with_work<T>([&](T *work, Int *room, Int *problem) {
      lapack<T>("syev", job, triangle(upper), &size, a, &leading, w, work, room, problem);
    });
  }
}
template <class T> int eigen_call(void *handle, int vectors, int upper, Int n, T *a, Int lda, Real<T> *w, int *info, int count) {
  return status(submit(of(handle).stream, "syevd", [=] {
    for (int i = 0; i < count; i++) info[i] = eigen<T>(vectors, upper, n, a + i * lda * n, lda, w + i * n);
  }));
}

// Eigenvalues and right vectors of any matrix. Vectors of a real one come as LAPACK packs pairs of complex ones.
template <class T> int eigen_general(int vectors, Int n, T *a, Int lda, std::complex<Real<T>> *w, T *v, Int ldv) {
  const char *none = "N", *job = vectors ? "V" : "N";
  Int one = 1;
  T *left = nullptr;
  std::vector<Real<T>> more(2 * n + 1);
  Int problem = with_work<T>([&](T *work, Int *room, Int *failure) {
    if constexpr (is_complex<T>)
      lapack<T>("geev", none, job, &n, a, &lda, w, left, &one, v, &ldv, work, room, more.data(), failure);
    else
      lapack<T>("geev", none, job, &n, a, &lda, more.data(), more.data() + n, left, &one, v, &ldv, work, room, failure);
  });
  if constexpr (!is_complex<T>)
    for (Int i = 0; i < n; i++) w[i] = {more[i], more[n + i]};
  return static_cast<int>(problem);
}
template <class T> int eigen_general_call(void *handle, int vectors, Int n, void *a, Int lda, void *w, void *v, Int ldv, int *info) {
  return status(submit(of(handle).stream, "geev", [=] {
    *info = eigen_general<T>(vectors, n, static_cast<T *>(a), lda, static_cast<std::complex<Real<T>> *>(w), static_cast<T *>(v), ldv);
  }));
}

// Batches of singular value decompositions give V itself, not its conjugate transpose.
template <class T>
int singular_values_batch(void *handle, int vectors, int m, int n, T *a, int lda, Real<T> *s, T *u, int ldu, T *v, int ldv,
                          int *info, int count) {
  return status(submit(of(handle).stream, "gesvdjBatched", [=] {
    std::vector<T> rows(size_t(n) * n);
    Int few = std::min(m, n);
    for (Int i = 0; i < count; i++) {
      info[i] = decompose<T>(vectors ? 'A' : 'N', vectors ? 'A' : 'N', m, n, a + i * lda * n, lda, s + i * few, u + i * ldu * m, ldu,
                             rows.data(), n);
      for (Int j = 0; vectors && j < n; j++)
        for (Int k = 0; k < n; k++) {
          T element = rows[j + k * n];
          if constexpr (is_complex<T>) element = std::conj(element);
          v[i * ldv * n + k + j * ldv] = element;
        }
    }
  }));
}

int some_room(int *room) { *room = 1; return success; }

}  // namespace

extern "C" {

int cusolverDnCreate(void **handle) { *handle = new SolverHandle; return success; }
int cusolverDnDestroy(void *handle) { delete &of(handle); return success; }
int cusolverDnSetStream(void *handle, void *stream) { of(handle).stream = stream; return success; }
int cusolverDnGetStream(void *handle, void **stream) { *stream = of(handle).stream; return success; }
int cusolverGetProperty(int which, int *value) { *value = which == 0 ? 11 : which == 1 ? 7 : 5; return success; }
int cusolverDnCreateParams(void **parameters) { *parameters = new char; return success; }
int cusolverDnDestroyParams(void *parameters) { delete static_cast<char *>(parameters); return success; }
int cusolverDnCreateSyevjInfo(void **parameters) { return cusolverDnCreateParams(parameters); }
int cusolverDnDestroySyevjInfo(void *parameters) { return cusolverDnDestroyParams(parameters); }

int cusolverDnXsyevd_bufferSize(void *, void *, int, int, int64_t, int, const void *, int64_t, int, const void *, int,
                                size_t *device, size_t *host) {
  *device = *host = 16;
  return success;
}
int cusolverDnXsyevd(void *h, void *, int vectors, int upper, int64_t n, int type, void *a, int64_t lda, int, void *w, int,
                     void *, size_t, void *, size_t, int *info) {
  switch (type) {
    case 0: return eigen_call(h, vectors, upper, n, static_cast<float *>(a), lda, static_cast<float *>(w), info, 1);
    case 1: return eigen_call(h, vectors, upper, n, static_cast<double *>(a), lda, static_cast<double *>(w), info, 1);
    case 4: return eigen_call(h, vectors, upper, n, static_cast<std::complex<float> *>(a), lda, static_cast<float *>(w), info, 1);
    case 5: return eigen_call(h, vectors, upper, n, static_cast<std::complex<double> *>(a), lda, static_cast<double *>(w), info, 1);
    default: return not_supported;
  }
}

int cusolverDnXgeev_bufferSize(void *, void *, int, int, int64_t, int, const void *, int64_t, int, const void *, int, const void *,
                               int64_t, int, const void *, int64_t, int, size_t *device, size_t *host) {
  *device = *host = 16;
  return success;
}
int cusolverDnXgeev(void *h, void *, int, int vectors, int64_t n, int type, void *a, int64_t lda, int, void *w, int, void *,
                    int64_t, int, void *v, int64_t ldv, int, void *, size_t, void *, size_t, int *info) {
  switch (type) {
    case 0: return eigen_general_call<float>(h, vectors, n, a, lda, w, v, ldv, info);
    case 1: return eigen_general_call<double>(h, vectors, n, a, lda, w, v, ldv, info);
    case 4: return eigen_general_call<std::complex<float>>(h, vectors, n, a, lda, w, v, ldv, info);
    case 5: return eigen_general_call<std::complex<double>>(h, vectors, n, a, lda, w, v, ldv, info);
    default: return not_supported;
  }
}
int cusolverDnCreateGesvdjInfo(void **parameters) { return cusolverDnCreateParams(parameters); }
int cusolverDnDestroyGesvdjInfo(void *parameters) { return cusolverDnDestroyParams(parameters); }

#define CPUCUDA_SOLVER(L, T, R, orgqr, syev) \
  int cusolverDn##L##getrf_bufferSize(void *, int, int, T *, int, int *room) { return some_room(room); } \
  int cusolverDn##L##getrf(void *h, int m, int n, T *a, int lda, T *, int *pivots, int *info) { \
    return lu<T>(h, m, n, a, lda, pivots, info); \
  } \
  int cusolverDn##L##getrs(void *h, int op, int n, int columns, const T *a, int lda, const int *pivots, T *b, int ldb, int *info) { \
    return lu_solve<T>(h, op, n, columns, a, lda, pivots, b, ldb, info); \
  } \
  int cusolverDn##L##potrf_bufferSize(void *, int, int, T *, int, int *room) { return some_room(room); } \
  int cusolverDn##L##potrf(void *h, int upper, int n, T *a, int lda, T *, int, int *info) { \
    return cholesky<T>(h, upper, n, a, lda, info); \
  } \
  int cusolverDn##L##potrfBatched(void *h, int upper, int n, T **a, int lda, int *info, int count) { \
    return cholesky_batch<T>(h, upper, n, a, lda, info, count); \
  } \
  int cusolverDn##L##potrs(void *h, int upper, int n, int columns, const T *a, int lda, T *b, int ldb, int *info) { \
    return cholesky_solve<T>(h, upper, n, columns, a, lda, b, ldb, info); \
  } \
  int cusolverDn##L##potrsBatched(void *h, int upper, int n, int columns, T **a, int lda, T **b, int ldb, int *info, int count) { \
    return cholesky_solve_batch<T>(h, upper, n, columns, a, lda, b, ldb, info, count); \
  } \
  int cusolverDn##L##geqrf_bufferSize(void *, int, int, T *, int, int *room) { return some_room(room); } \
  int cusolverDn##L##geqrf(void *h, int m, int n, T *a, int lda, T *tau, T *, int, int *info) { \
    return qr<T>(h, m, n, a, lda, tau, info); \
  } \
  int cusolverDn##L##orgqr##_bufferSize(void *, int, int, int, const T *, int, const T *, int *room) { return some_room(room); } \
  int cusolverDn##L##orgqr(void *h, int m, int n, int k, T *a, int lda, const T *tau, T *, int, int *info) { \
    return q_of_qr<T>(h, m, n, k, a, lda, tau, info); \
  } \
  int cusolverDn##L##gesvd_bufferSize(void *, int, int, int *room) { return some_room(room); } \
  int cusolverDn##L##gesvd(void *h, signed char ju, signed char jv, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, \
                           int ldv, T *, int, R *, int *info) { \
    return singular_values<T>(h, ju, jv, m, n, a, lda, s, u, ldu, v, ldv, info); \
  } \
  int cusolverDn##L##gesvdjBatched_bufferSize(void *, int, int, int, const T *, int, const R *, const T *, int, const T *, int, \
                                              int *room, void *, int) { \
    return some_room(room); \
  } \
  int cusolverDn##L##gesvdjBatched(void *h, int vectors, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *, \
                                   int, int *info, void *, int count) { \
    return singular_values_batch<T>(h, vectors, m, n, a, lda, s, u, ldu, v, ldv, info, count); \
  } \
  int cusolverDn##L##syev##d_bufferSize(void *, int, int, int, const T *, int, const R *, int *room) { return some_room(room); } \
  int cusolverDn##L##syev##d(void *h, int vectors, int upper, int n, T *a, int lda, R *w, T *, int, int *info) { \
    return eigen_call<T>(h, vectors, upper, n, a, lda, w, info, 1); \
  } \
  int cusolverDn##L##syev##j_bufferSize(void *, int, int, int, const T *, int, const R *, int *room, void *) { return some_room(room); } \
  int cusolverDn##L##syev##j(void *h, int vectors, int upper, int n, T *a, int lda, R *w, T *, int, int *info, void *) { \
    return eigen_call<T>(h, vectors, upper, n, a, lda, w, info, 1); \
  } \
  int cusolverDn##L##syev##jBatched_bufferSize(void *, int, int, int, const T *, int, const R *, int *room, void *, int) { \
    return some_room(room); \
  } \
  int cusolverDn##L##syev##jBatched(void *h, int vectors, int upper, int n, T *a, int lda, R *w, T *, int, int *info, void *, int count) { \
    return eigen_call<T>(h, vectors, upper, n, a, lda, w, info, count); \
  }

CPUCUDA_SOLVER(S, float, float, orgqr, syev)
CPUCUDA_SOLVER(D, double, double, orgqr, syev)
CPUCUDA_SOLVER(C, std::complex<float>, float, ungqr, heev)
CPUCUDA_SOLVER(Z, std::complex<double>, double, ungqr, heev)
}
