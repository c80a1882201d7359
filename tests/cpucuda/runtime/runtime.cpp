// The CUDA runtime API (cuda...) that CuPy's binding is linked with.
#include "cpucuda.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <sys/mman.h>

using namespace cpucuda;

namespace {

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}
cudaError_t answer(int error) { return answer(static_cast<cudaError_t>(error)); }

bool no_device(int device) { return device < 0 || device >= device_count(); }

std::map<cudaEvent_t, std::shared_ptr<Event>> &events() {
  static auto *all = new std::map<cudaEvent_t, std::shared_ptr<Event>>;
  return *all;
}
std::shared_ptr<Event> find_event(cudaEvent_t handle) {
  auto found = events().find(handle);
  return found == events().end() ? nullptr : found->second;
}

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(time).count();
}

unsigned bits_of(const Place &place) { return place.kind == Kind::device ? 1u << place.device : 0; }

bool kind_fits(cudaMemcpyKind kind, const Place &to, const Place &from) {
  bool to_device = to.kind == Kind::device, from_device = from.kind == Kind::device;
  switch (kind) {
    case cudaMemcpyHostToHost: return !to_device && !from_device;
    case cudaMemcpyHostToDevice: return to_device && !from_device;
    case cudaMemcpyDeviceToHost: return !to_device && from_device;
    case cudaMemcpyDeviceToDevice: return to_device && from_device;
    default: return true;
  }
}

// Copies return as early as CUDA allows: a pageable source is read at once, a pageable destination is waited for,
// pinned memory is read and written when the stream gets there.
cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, Handle handle, bool blocking) {
  if (!bytes) return cudaSuccess;
  Lock lock(mutex());
  auto stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  Place target = place_of(to), source = place_of(from);
  if (!kind_fits(kind, target, source) || target.left < bytes || source.left < bytes) return cudaErrorInvalidValue;
  bool host_waits = blocking && !(target.kind == Kind::device && source.kind == Kind::device);
  if (target.kind == Kind::pageable) host_waits = true;
  std::function<void()> run = [=] { memmove(to, from, bytes); };
  if (source.kind == Kind::pageable && !host_waits) {
    auto first = static_cast<const char *>(from);
    auto kept = std::make_shared<std::vector<char>>(first, first + bytes);
    run = [=] { memcpy(to, kept->data(), bytes); };
  }
  Operation operation = {"copy", bits_of(target) | bits_of(source), run};
  bool between = target.kind == Kind::device && source.kind == Kind::device && target.device != source.device;
  if (between) enqueue_between(target.device, source.device, stream, std::move(operation));
  else enqueue(stream, std::move(operation));
  if (host_waits) finish(stream, lock);
  return static_cast<cudaError_t>(device_error(device_of(stream)));
}

cudaError_t fill(void *to, int value, size_t bytes, Handle handle) {
  if (!bytes) return cudaSuccess;
  Lock lock(mutex());
  auto stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  Place target = place_of(to);
  if (target.kind == Kind::pageable || target.left < bytes) return cudaErrorInvalidValue;
  enqueue(stream, {"memset", bits_of(target), [=] { memset(to, value, bytes); }});
  return static_cast<cudaError_t>(device_error(device_of(stream)));
}

cudaError_t record(cudaEvent_t handle, cudaStream_t on) {
  Lock lock(mutex());
  auto event = find_event(handle);
  auto stream = find_stream(on);
  if (!event || !stream || event->device != device_of(stream)) return cudaErrorInvalidResourceHandle;
  make_room(stream, lock);
  event->stream = stream;
  event->polled = false;
  event->position = enqueue(stream, {"record an event", 0, [event] { event->milliseconds = now(); }});
  return cudaSuccess;
}

cudaError_t new_stream(cudaStream_t *stream, unsigned flags) {
  Lock lock(mutex());
  *stream = static_cast<cudaStream_t>(create_stream(!(flags & cudaStreamNonBlocking)));
  return cudaSuccess;
}

cudaError_t host_call(cudaStream_t on, std::function<void()> function) {
  Lock lock(mutex());
  auto stream = find_stream(on);
  if (!stream) return cudaErrorInvalidResourceHandle;
  enqueue(stream, {"host function", 0, std::move(function), true});
  return cudaSuccess;
}

struct Name { int code; const char *name, *text; };
constexpr Name names[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {600, "cudaErrorNotReady", "device not ready"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {801, "cudaErrorNotSupported", "operation not supported by the CPU-backed runtime"},
};
const Name &name_of(int code) {
  for (const Name &each : names)
    if (each.code == code) return each;
  static const Name unknown = {0, "cudaErrorUnknown", "unknown error"};
  return unknown;
}

int attribute(cudaDeviceAttr which, int device) {
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor: return 8;
    case cudaDevAttrComputeCapabilityMinor: return 0;
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 0x7fffffff;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 49152;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return 1 << 17;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrMultiProcessorCount: return 1;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return 2048;
    case cudaDevAttrMaxRegistersPerBlock: return 65536;
    case cudaDevAttrUnifiedAddressing: return 1;
    case cudaDevAttrAsyncEngineCount: return 2;
    case cudaDevAttrConcurrentKernels: return 1;
    case cudaDevAttrPciBusId: return device + 1;
    default: return 0;
  }
}

}  // namespace

extern "C" {

// ---- errors and versions
const char *cudaGetErrorName(cudaError_t error) { return name_of(error).name; }
const char *cudaGetErrorString(cudaError_t error) { return name_of(error).text; }
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaGetLastError() {
  cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaDriverGetVersion(int *version) { *version = 12090; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = 12090; return cudaSuccess; }

// ---- devices
cudaError_t cudaGetDeviceCount(int *count) {
  *count = device_count();
  return answer(*count ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device) { *device = current_device(); return cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (no_device(device)) return answer(cudaErrorInvalidDevice);
  set_current_device(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device) {
  if (no_device(device)) return answer(cudaErrorInvalidDevice);
  *value = attribute(which, device);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp *properties, int device) {
  if (no_device(device)) return answer(cudaErrorInvalidDevice);
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "CPU-backed device");
  properties->major = 8;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->sharedMemPerBlock = 49152;
  properties->multiProcessorCount = 1;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->unifiedAddressing = 1;
  properties->pciBusID = device + 1;
  properties->uuid.bytes[0] = static_cast<char>(device + 1);
  size_t free;
  Lock lock(mutex());
  memory_info(device, &free, &properties->totalGlobalMem);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
  if (no_device(device)) return answer(cudaErrorInvalidDevice);
  snprintf(text, length, "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text) {
  unsigned bus = 0;
  if (sscanf(text, "%*x:%x", &bus) != 1 || no_device(static_cast<int>(bus) - 1)) return answer(cudaErrorInvalidDevice);
  *device = static_cast<int>(bus) - 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  Lock lock(mutex());
  finish_device(current_device(), lock);
  return answer(device_error(current_device()));
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  if (no_device(device) || no_device(peer)) return answer(cudaErrorInvalidDevice);
  *can = can_reach(device, peer);
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (no_device(peer)) return answer(cudaErrorInvalidDevice);
  if (!can_reach(current_device(), peer)) return answer(cudaErrorPeerAccessUnsupported);
  Lock lock(mutex());
  if (reach(current_device()) >> peer & 1) return answer(cudaErrorPeerAccessAlreadyEnabled);
  open_peer(current_device(), peer, true);
  return cudaSuccess;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  Lock lock(mutex());
  if (no_device(peer) || !(reach(current_device()) >> peer & 1)) return answer(cudaErrorPeerAccessNotEnabled);
  open_peer(current_device(), peer, false);
  return cudaSuccess;
}

// ---- memory
cudaError_t cudaMalloc(void **address, size_t bytes) {
  if (!device_count()) return answer(cudaErrorNoDevice);
  Lock lock(mutex());
  *address = bytes ? allocate(current_device(), bytes) : nullptr;
  return answer(*address || !bytes ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t) { return cudaMalloc(address, bytes); }
cudaError_t cudaFree(void *address) {
  if (!address) return cudaSuccess;
  Lock lock(mutex());
  Place place = place_of(address);
  if (place.kind != Kind::device) return answer(cudaErrorInvalidValue);
  finish_device(place.device, lock);  // as cudaFree does on hardware
  return answer(release(address) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaFreeAsync(void *address, cudaStream_t handle) {
  Lock lock(mutex());
  auto stream = find_stream(handle);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  enqueue(stream, {"free", 1u << device_of(stream), [=] { release(address); }});
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned) {
  size_t size = bytes ? bytes : 1;
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return answer(cudaErrorMemoryAllocation);
  Lock lock(mutex());
  pin(memory, size);
  *address = memory;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void *address) {
  if (!address) return cudaSuccess;
  Lock lock(mutex());
  Place place = place_of(address);
  if (place.kind != Kind::pinned || place.start != reinterpret_cast<uintptr_t>(address)) return answer(cudaErrorInvalidValue);
  for (int i = 0; i < device_count(); i++) finish_device(i, lock);
  unpin(address);
  munmap(address, place.left);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned) {
  Lock lock(mutex());
  pin(address, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *address) {
  Lock lock(mutex());
  for (int i = 0; i < device_count(); i++) finish_device(i, lock);
  return answer(unpin(address) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  Lock lock(mutex());
  memory_info(current_device(), free, total);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *address) {
  Lock lock(mutex());
  Place place = place_of(address);
  memset(attributes, 0, sizeof *attributes);
  attributes->device = place.kind == Kind::device ? place.device : place.kind == Kind::pinned ? 0 : -2;
  attributes->type = place.kind == Kind::device   ? cudaMemoryTypeDevice
                     : place.kind == Kind::pinned ? cudaMemoryTypeHost
                                                  : cudaMemoryTypeUnregistered;
  if (place.kind != Kind::pageable) attributes->devicePointer = const_cast<void *>(address);
  if (place.kind != Kind::device) attributes->hostPointer = const_cast<void *>(address);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return answer(copy(to, from, bytes, kind, nullptr, true));
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return answer(copy(to, from, bytes, kind, stream, false));
}
cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes) {
  return answer(copy(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr, true));
}
cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t stream) {
  return answer(copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false));
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) { return answer(fill(to, value, bytes, nullptr)); }
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  return answer(fill(to, value, bytes, stream));
}

// ---- streams
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return new_stream(stream, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return new_stream(stream, flags); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) { return new_stream(stream, flags); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Lock lock(mutex());
  return answer(destroy_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  Lock lock(mutex());
  auto stream = find_stream(handle);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  finish(stream, lock);
  return answer(device_error(device_of(stream)));
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Lock lock(mutex());
  auto stream = find_stream(handle);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  return poll(stream, lock) ? answer(device_error(device_of(stream))) : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t waited, unsigned) {
  Lock lock(mutex());
  auto stream = find_stream(handle);
  auto event = find_event(waited);
  if (!stream || !event) return answer(cudaErrorInvalidResourceHandle);
  make_room(stream, lock);
  if (!finished(event->stream, event->position)) depend(stream, {event->stream, event->position});
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  return answer(host_call(stream, [=] { function(data); }));
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned) {
  return answer(host_call(stream, [=] { function(stream, cudaSuccess, data); }));
}

// ---- events
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  Lock lock(mutex());
  auto made = std::make_shared<Event>(Event{current_device(), !(flags & cudaEventDisableTiming), nullptr});
  *event = reinterpret_cast<cudaEvent_t>(made.get());
  events()[*event] = made;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Lock lock(mutex());
  return answer(events().erase(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return answer(record(event, stream)); }
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  Lock lock(mutex());
  auto event = find_event(handle);
  if (!event) return answer(cudaErrorInvalidResourceHandle);
  return poll(*event, lock) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  Lock lock(mutex());
  auto event = find_event(handle);
  if (!event) return answer(cudaErrorInvalidResourceHandle);
  if (event->stream) finish(event->stream, event->position, lock);
  return answer(device_error(event->device));
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  Lock lock(mutex());
  auto first = find_event(from), second = find_event(to);
  if (!first || !second || !first->timed || !second->timed || !first->stream || !second->stream)
    return answer(cudaErrorInvalidResourceHandle);
  for (auto &event : {first, second})
    if (!finished(event->stream, event->position)) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(second->milliseconds - first->milliseconds);
  return cudaSuccess;
}
}
