// cuFFT, as far as CuPy's transforms call it: any size by its prime factors, in double precision whatever the type.
#include "cpucuda.h"

#include <cmath>
#include <complex>
#include <limits>
#include <map>

using namespace cpucuda;

namespace {

using Number = std::complex<double>;
enum : int { success = 0, invalid_plan = 1, invalid_type = 3, invalid_value = 4, exec_failed = 6, invalid_size = 8, invalid_device = 11 };
enum : int { r2c = 0x2a, c2r = 0x2c, c2c = 0x29, d2z = 0x6a, z2d = 0x6c, z2z = 0x69 };

// Where the elements of one side of a transform are: as many as `size` says, each dimension stored with `room`.
struct Layout {
  std::vector<int> size, room;
  int64_t stride = 1, distance = 0;

  int64_t count() const {
    int64_t made = 1;
    for (int n : size) made *= n;
    return made;
  }
  int64_t offset(int64_t element, int64_t batch) const {
    int64_t made = 0, step = 1;
    for (int axis = int(size.size()) - 1; axis >= 0; axis--) {
      made += element % size[axis] * step;
      element /= size[axis];
      step *= room[axis];
    }
    return batch * distance + made * stride;
  }
};

struct Plan {
  int device = current_device();
  Handle stream = nullptr;
  int type = 0, batch = 0;
  std::vector<int> n;
  Layout in, out;
};

std::mutex table_lock;
std::map<int, Plan> &plans() {
  static auto *made = new std::map<int, Plan>;  // never destroyed: threads may outlive main
  return *made;
}
template <class Action> int with_plan(int handle, Action action) {
  std::lock_guard<std::mutex> hold(table_lock);
  auto found = plans().find(handle);
  return found == plans().end() ? invalid_plan : action(found->second);
}

// ---- the arithmetic
int smallest_factor(int n) {
  for (int p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

// The transform of n elements that are `stride` apart; roots[k] is exp(sign 2 pi i k / whole), where whole = n * step.
void transform(const Number *x, int64_t stride, int n, const std::vector<Number> &roots, int64_t step, Number *made) {
  if (n == 1) {
    *made = *x;
    return;
  }
  int p = smallest_factor(n), m = n / p;
  std::vector<Number> parts(n);
  for (int i = 0; i < p; i++) transform(x + i * stride, stride * p, m, roots, step * p, &parts[int64_t(i) * m]);
  for (int k = 0; k < n; k++) {
    Number sum = 0;
    for (int i = 0; i < p; i++) sum += roots[int64_t(i) * k % n * step] * parts[int64_t(i) * m + k % m];
    made[k] = sum;
  }
}

std::vector<Number> roots_of_one(int n, int sign) {
  std::vector<Number> made(n);
  for (int k = 0; k < n; k++) made[k] = std::polar(1.0, sign * 2 * M_PI * k / n);
  return made;
}

// Along one dimension of a dense array.
void transform_along(std::vector<Number> &data, const std::vector<int> &size, int axis, int sign) {
  int n = size[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < size.size(); i++) inner *= size[i];
  auto roots = roots_of_one(n, sign);
  std::vector<Number> line(n);
  for (int64_t start = 0; start < int64_t(data.size()); start += inner * n)
    for (int64_t i = start; i < start + inner; i++) {
      transform(&data[i], inner, n, roots, 1, line.data());
      for (int k = 0; k < n; k++) data[i + k * inner] = line[k];
    }
}

// ---- arrays in device memory
template <class T> Number load(const T &x) { return Number(x); }
template <class T> void store(std::complex<T> &to, Number x) { to = {T(x.real()), T(x.imag())}; }
template <class T> void store(T &to, Number x) { to = T(x.real()); }

template <class T> std::vector<Number> read(const T *data, const Layout &layout, int64_t batch) {
  std::vector<Number> made(layout.count());
  for (size_t i = 0; i < made.size(); i++) made[i] = load(data[layout.offset(i, batch)]);
  return made;
}
template <class T> void write(T *data, const Layout &layout, int64_t batch, const std::vector<Number> &values) {
  for (size_t i = 0; i < values.size(); i++) store(data[layout.offset(i, batch)], values[i]);
}

// From real numbers the second half of the last dimension is the first one's mirror image, and is left out.
std::vector<Number> first_half(const std::vector<Number> &full, int n) {
  std::vector<Number> made;
  for (size_t start = 0; start < full.size(); start += n)
    made.insert(made.end(), full.begin() + start, full.begin() + start + n / 2 + 1);
  return made;
}
std::vector<Number> both_halves(const std::vector<Number> &half, int n) {
  std::vector<Number> made;
  for (size_t start = 0; start < half.size(); start += n / 2 + 1)
    for (int k = 0; k < n; k++) {
      Number element = k <= n / 2 ? half[start + k] : std::conj(half[start + n - k]);
      made.push_back(k == 0 || 2 * k == n ? element.real() : element);  // their imaginary parts are not looked at
    }
  return made;
}

template <class In, class Out> int run(int handle, int type, In *from, Out *to, int sign) {
  constexpr bool real_in = std::is_floating_point_v<In>, real_out = std::is_floating_point_v<Out>;
  if (sign != 1 && sign != -1) return invalid_value;
  return with_plan(handle, [&](Plan &plan) {
    if (plan.type != type) return int(invalid_type);
    if (plan.device != current_device()) return int(invalid_device);
    auto work = [=, plan = plan] {
      int last = int(plan.n.size()) - 1;
      std::vector<std::vector<Number>> made;
      for (int b = 0; b < plan.batch; b++) {
        auto data = read(from, plan.in, b);
        auto size = plan.in.size;
        for (int axis = 0; axis < last; axis++) transform_along(data, size, axis, sign);
        if (real_out) data = both_halves(data, size[last] = plan.n[last]);
        transform_along(data, size, last, sign);
        made.push_back(real_in ? first_half(data, plan.n[last]) : std::move(data));
      }
      if constexpr (real_out) {  // cuFFT may use its input as it likes
        std::vector<Number> spoilt(plan.in.count(), std::numeric_limits<double>::quiet_NaN());
        for (int b = 0; b < plan.batch; b++) write(from, plan.in, b, spoilt);
      }
      for (int b = 0; b < plan.batch; b++) write(to, plan.out, b, made[b]);
    };
    return submit(plan.stream, "fft", work) ? int(exec_failed) : int(success);
  });
}

Layout layout(const std::vector<int> &n, bool halved, const int *room, int stride, int distance) {
  Layout made;
  made.size = n;
  if (halved) made.size.back() = n.back() / 2 + 1;
  made.room = room ? std::vector<int>(room, room + n.size()) : made.size;
  made.stride = room ? stride : 1;
  made.distance = room ? distance : made.count();
  return made;
}

}  // namespace

extern "C" {

int cufftGetVersion(int *version) { *version = 11401; return success; }
int cufftCreate(int *handle) {
  std::lock_guard<std::mutex> hold(table_lock);
  static int last = 0;
  plans()[*handle = ++last];
  return success;
}
int cufftDestroy(int handle) {
  std::lock_guard<std::mutex> hold(table_lock);
  return plans().erase(handle) ? success : invalid_plan;
}
int cufftSetStream(int handle, void *stream) {
  return with_plan(handle, [=](Plan &plan) { plan.stream = stream; return int(success); });
}
int cufftSetAutoAllocation(int handle, int) { return with_plan(handle, [](Plan &) { return int(success); }); }
int cufftSetWorkArea(int handle, void *) { return with_plan(handle, [](Plan &) { return int(success); }); }

int cufftMakePlanMany(int handle, int rank, int *n, int *in_room, int in_stride, int in_distance, int *out_room, int out_stride,
                      int out_distance, int type, int batch, size_t *work) {
  if (rank < 1 || rank > 3 || batch < 1) return invalid_size;
  for (int i = 0; i < rank; i++)
    if (n[i] < 1) return invalid_size;
  if (type != r2c && type != c2r && type != c2c && type != d2z && type != z2d && type != z2z) return invalid_type;
  return with_plan(handle, [=](Plan &plan) {
    plan.type = type;
    plan.batch = batch;
    plan.n.assign(n, n + rank);
    plan.in = layout(plan.n, type == c2r || type == z2d, in_room, in_stride, in_distance);
    plan.out = layout(plan.n, type == r2c || type == d2z, out_room, out_stride, out_distance);
    *work = 16;
    return int(success);
  });
}
int cufftMakePlan1d(int handle, int n, int type, int batch, size_t *work) {
  return cufftMakePlanMany(handle, 1, &n, nullptr, 1, 0, nullptr, 1, 0, type, batch, work);
}

int cufftExecC2C(int plan, std::complex<float> *from, std::complex<float> *to, int sign) { return run(plan, c2c, from, to, sign); }
int cufftExecZ2Z(int plan, std::complex<double> *from, std::complex<double> *to, int sign) { return run(plan, z2z, from, to, sign); }
int cufftExecR2C(int plan, float *from, std::complex<float> *to) { return run(plan, r2c, from, to, -1); }
int cufftExecD2Z(int plan, double *from, std::complex<double> *to) { return run(plan, d2z, from, to, -1); }
int cufftExecC2R(int plan, std::complex<float> *from, float *to) { return run(plan, c2r, from, to, 1); }
int cufftExecZ2D(int plan, std::complex<double> *from, double *to) { return run(plan, z2d, from, to, 1); }
}
