// Sorting, for the stand-in of CuPy's thrust module: stable, NaN last, as NumPy does.
#include "cpucuda.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

namespace {

using namespace cpucuda;

template <class T> bool less(const T &a, const T &b) { return a < b; }
template <class T> bool less_real(T a, T b) { return a < b || (b != b && a == a); }
bool less(const float &a, const float &b) { return less_real(a, b); }
bool less(const double &a, const double &b) { return less_real(a, b); }
bool less(const _Float16 &a, const _Float16 &b) { return less_real<float>(a, b); }
template <class T> bool less(const std::complex<T> &a, const std::complex<T> &b) {
  auto nans = [](const std::complex<T> &x) { return 2 * std::isnan(x.real()) + std::isnan(x.imag()); };
  if (nans(a) != nans(b)) return nans(a) < nans(b);
  if (less_real(a.real(), b.real())) return true;
  if (less_real(b.real(), a.real())) return false;
  return less_real(a.imag(), b.imag());
}

// Calls action(T()) with the type of the code: its place in NumPy's "?bBhHiIlLqQefdFD".
template <class Action> void with_type(int code, Action action) {
  switch (code) {
    case 0: case 2: return action(uint8_t());
    case 1: return action(int8_t());
    case 3: return action(int16_t());
    case 4: return action(uint16_t());
    case 5: return action(int32_t());
    case 6: return action(uint32_t());
    case 7: case 9: return action(int64_t());
    case 8: case 10: return action(uint64_t());
    case 11: return action(_Float16());
    case 12: return action(float());
    case 13: return action(double());
    case 14: return action(std::complex<float>());
    default: return action(std::complex<double>());
  }
}

template <class T> void order_row(size_t *index, const T *row, size_t length) {
  std::stable_sort(index, index + length, [row](size_t a, size_t b) { return less(row[a], row[b]); });
}

}  // namespace

extern "C" {

int cpucuda_sort(int code, void *data, size_t rows, size_t length, void *stream) {
  return submit(stream, "sort", [=] {
    with_type(code, [=](auto zero) {
      using T = decltype(zero);
      for (size_t i = 0; i < rows; i++) {
        T *row = static_cast<T *>(data) + i * length;
        std::stable_sort(row, row + length, [](const T &a, const T &b) { return less(a, b); });
      }
    });
  });
}

int cpucuda_argsort(int code, size_t *index, void *data, size_t rows, size_t length, void *stream) {
  return submit(stream, "argsort", [=] {
    with_type(code, [=](auto zero) {
      using T = decltype(zero);
      for (size_t i = 0; i < rows; i++) {
        T *row = static_cast<T *>(data) + i * length;
        size_t *order = index + i * length;
        std::iota(order, order + length, size_t(0));
        order_row(order, row, length);
        std::vector<T> before(row, row + length);
        for (size_t j = 0; j < length; j++) row[j] = before[order[j]];
      }
    });
  });
}

int cpucuda_lexsort(int code, size_t *index, void *keys, size_t count, size_t length, void *stream) {
  return submit(stream, "lexsort", [=] {
    with_type(code, [=](auto zero) {
      using T = decltype(zero);
      std::iota(index, index + length, size_t(0));
      for (size_t i = 0; i < count; i++) order_row(index, static_cast<T *>(keys) + i * length, length);
    });
  });
}
}
