// What the parts of the CPU-backed CUDA runtime share: device memory, queues of work, kernels.
//
// Device memory is ordinary memory that nobody can touch (PROT_NONE) except while queued work of its device runs.
// Work of a stream is queued and runs only when something demands it: a synchronisation, a blocking copy, an event
// somebody waits for. So a program that forgets one reads old values every time, not once a week.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cpucuda {

// ---- devices (memory.cpp)
constexpr int most_devices = 8;
int device_count();
int current_device();
void set_current_device(int device);

// ---- memory (memory.cpp); callers hold the lock
enum class Kind { pageable, pinned, device };
struct Place {
  Kind kind;
  int device;         // of device memory
  size_t left;        // bytes from the address to the end of its allocation
  uintptr_t start;    // of the allocation
};
void *allocate(int device, size_t bytes);  // null when the device is full
bool release(void *address);               // false: not the start of an allocation
Place place_of(const void *address);
void pin(void *address, size_t bytes);
bool unpin(void *address);
void memory_info(int device, size_t *free, size_t *total);
void expose(unsigned devices);             // the bits of the devices whose memory may be touched now
unsigned reach(int device);                // the bits of the devices whose memory its kernels may touch
bool can_reach(int device, int peer);      // peer access is possible: CPUCUDA_PEER=1
void open_peer(int device, int peer, bool yes);
void name_running(const char *what, int device);  // for the message of a fault; null: nothing runs

// ---- streams and events (stream.cpp)
using Lock = std::unique_lock<std::mutex>;
std::mutex &mutex();

struct Stream;
struct Dependency {
  std::shared_ptr<Stream> stream;
  uint64_t position;
};
struct Operation {
  const char *what;
  unsigned devices;              // bits of the devices whose memory it touches
  std::function<void()> run;
  bool on_host = false;          // a host function: runs without the lock, without device memory
  std::vector<Dependency> after = {};
};
struct Event {
  int device;
  bool timed;
  std::shared_ptr<Stream> stream;  // of the last record
  uint64_t position = 0;
  bool polled = false;
  double milliseconds = 0;
};
using Handle = void *;  // of a stream: 0 and 1 legacy default, 2 the thread's default, otherwise a Stream

std::shared_ptr<Stream> find_stream(Handle handle);  // null: no such stream
int device_of(const std::shared_ptr<Stream> &stream);
Handle create_stream(bool blocking);
bool destroy_stream(Handle handle);
uint64_t enqueue(const std::shared_ptr<Stream> &stream, Operation operation);
// A copy between two devices: in the default stream it waits for all earlier work of both, and all later work for it.
uint64_t enqueue_between(int one, int other, const std::shared_ptr<Stream> &stream, Operation operation);
void depend(const std::shared_ptr<Stream> &stream, Dependency dependency);
void finish(const std::shared_ptr<Stream> &stream, Lock &lock);
void finish(const std::shared_ptr<Stream> &stream, uint64_t position, Lock &lock);
void finish_device(int device, Lock &lock);
void make_room(const std::shared_ptr<Stream> &stream, Lock &lock);  // runs the older half of a queue that is full
bool finished(const std::shared_ptr<Stream> &stream, uint64_t position);
bool poll(const std::shared_ptr<Stream> &stream, Lock &lock);
bool poll(Event &event, Lock &lock);

// Errors of work that ran later: they stay with the device, as on hardware.
int device_error(int device);
void set_device_error(int device, int error, const std::string &message);

// For libraries on top (BLAS, sorting): queue `run` on the stream of the current device. Returns a CUDA error code.
int submit(Handle stream, const char *what, std::function<void()> run);
int submit_and_wait(Handle stream, const char *what, std::function<void()> run);

// ---- kernels (launch.cpp)
struct Dim { unsigned x, y, z; };
struct Kernel {
  int count;                     // of parameters
  const size_t *sizes;
  void (*body)(void **arguments);
  int cooperative;               // threads of a block wait for each other
};
void run_kernel(const Kernel &kernel, const char *name, Dim grid, Dim block, size_t shared, void **arguments);

}  // namespace cpucuda
