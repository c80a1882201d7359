// The CUDA driver API (cu...) that CuPy loads at run time: modules are shared objects built from kernels by g++.
#include "cpucuda.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

using namespace cpucuda;

namespace {

struct Function {
  const Kernel *kernel;
  std::string name;
  size_t shared_limit = 49152;
};

enum : int { success = 0, invalid_value = 1, invalid_image = 200, invalid_handle = 400, not_found = 500 };

// The parameters are copied, as a launch does: the caller's memory is gone when the kernel runs.
struct Arguments {
  std::vector<char> bytes;
  std::vector<void *> pointers;
  Arguments(const Kernel &kernel, void **given) {
    size_t total = 0;
    for (int i = 0; i < kernel.count; i++) total += (kernel.sizes[i] + 15) / 16 * 16;
    bytes.resize(total + 16);
    auto start = reinterpret_cast<uintptr_t>(bytes.data());
    char *at = bytes.data() + (16 - start % 16) % 16;
    for (int i = 0; i < kernel.count; i++) {
      memcpy(at, given[i], kernel.sizes[i]);
      pointers.push_back(at);
      at += (kernel.sizes[i] + 15) / 16 * 16;
    }
  }
};

bool fits(Dim grid, Dim block) {
  auto some = [](Dim dim) { return dim.x && dim.y && dim.z; };
  return some(grid) && some(block) && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
         size_t(block.x) * block.y * block.z <= 1024 && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535;
}

int launch(void *handle, Dim grid, Dim block, size_t shared, void *stream, void **given) {
  auto function = static_cast<Function *>(handle);
  if (!fits(grid, block) || shared > function->shared_limit) return invalid_value;
  auto arguments = std::make_shared<Arguments>(*function->kernel, given);
  return submit(stream, function->name.c_str(), [=] {
    run_kernel(*function->kernel, function->name.c_str(), grid, block, shared, arguments->pointers.data());
  });
}

}  // namespace

extern "C" {

int cuGetErrorName(int error, const char **text) {
  *text = error == invalid_value   ? "CUDA_ERROR_INVALID_VALUE"
          : error == invalid_image ? "CUDA_ERROR_INVALID_IMAGE"
          : error == invalid_handle ? "CUDA_ERROR_INVALID_HANDLE"
          : error == not_found     ? "CUDA_ERROR_NOT_FOUND"
          : error == 710           ? "CUDA_ERROR_ASSERT"
                                   : "CUDA_ERROR_UNKNOWN";
  return success;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == invalid_value   ? "invalid argument"
          : error == invalid_image ? "device kernel image is invalid"
          : error == invalid_handle ? "invalid resource handle"
          : error == not_found     ? "named symbol not found"
          : error == 710           ? "device-side assert triggered"
                                   : "unknown error";
  return success;
}

int cuCtxGetCurrent(void **context) {
  static char contexts[most_devices];
  *context = &contexts[current_device()];
  return success;
}
int cuCtxSetCurrent(void *) { return success; }
int cuCtxGetDevice(int *device) {
  *device = current_device();
  return success;
}
int cuDevicePrimaryCtxRelease(int) { return success; }

// The image is the path of a shared object.
int cuModuleLoadData(void **module, const void *image) {
  *module = dlopen(static_cast<const char *>(image), RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "cpucuda: %s\n", dlerror());
  return *module ? success : invalid_image;
}
int cuModuleLoad(void **module, const char *path) { return cuModuleLoadData(module, path); }
int cuModuleUnload(void *) { return success; }  // queued launches may still need it
int cuModuleGetFunction(void **function, void *module, const char *name) {
  auto symbol = dlsym(module, (std::string("cpucuda_kernel_") + name).c_str());
  if (!symbol) return not_found;
  *function = new Function{static_cast<const Kernel *>(symbol), name};
  return success;
}
int cuFuncGetAttribute(int *value, int attribute, void *handle) {
  auto function = static_cast<Function *>(handle);
  *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : attribute == 8 ? static_cast<int>(function->shared_limit) : 0;
  return success;
}
int cuFuncSetAttribute(void *handle, int attribute, int value) {
  if (attribute == 8 && value > 1 << 17) return invalid_value;
  if (attribute == 8) static_cast<Function *>(handle)->shared_limit = value;
  return success;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int, size_t) {
  *blocks = 1;
  return success;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **) {
  return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters);
}
}
