// BLAS and LAPACK out of the OpenBLAS that NumPy's wheel brings along (64-bit integers), by type and name.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace cpucuda {

void *openblas(const std::string &symbol);  // blas.cpp; throws when it is missing

using Int = int64_t;
template <class T> struct real_of { using type = T; };
template <class T> struct real_of<std::complex<T>> { using type = T; };
template <class T> using Real = typename real_of<T>::type;
template <class T> constexpr bool is_complex = !std::is_same_v<T, Real<T>>;
template <class T> constexpr char letter = is_complex<T> ? (sizeof(T) == 8 ? 'c' : 'z') : (sizeof(T) == 4 ? 's' : 'd');

// lapack<double>("getrf", ...) calls dgetrf; all arguments are pointers.
template <class T, class... Arguments> void lapack(const char *name, Arguments... arguments) {
  static void *function = nullptr;  // one for each type and list of arguments ...
  static std::string known;         // ... and several names may share it
  if (known != name) {
    function = openblas(std::string("scipy_") + letter<T> + name + "_64_");
    known = name;
  }
  reinterpret_cast<void (*)(Arguments...)>(function)(arguments...);
}

// Column-major C = alpha op(A) op(B) + beta C; an operation is 0 (none), 1 (transpose) or 2 (conjugate transpose).
template <class T>
void gemm(int op_a, int op_b, Int m, Int n, Int k, T alpha, const T *a, Int lda, const T *b, Int ldb, T beta, T *c, Int ldc) {
  const char *letters = "NTC";
  lapack<T>("gemm", letters + op_a, letters + op_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}

}  // namespace cpucuda
