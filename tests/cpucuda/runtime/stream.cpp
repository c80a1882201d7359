// Streams as queues: work runs in order, after what it depends on, and not before somebody demands it.
#include "cpucuda.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>

namespace cpucuda {

struct Stream {
  int device;
  bool blocking;                 // takes part in the order of the legacy default stream
  bool legacy = false;
  bool polled = false;
  bool busy = false;             // its first operation is running
  uint64_t submitted = 0, done = 0;
  std::deque<Operation> queue;
  std::vector<Dependency> next;  // of the next operation
};

namespace {

constexpr size_t longest_queue = 1024;  // a launch waits for room on hardware, too

struct Streams {
  std::shared_ptr<Stream> legacy[most_devices];
  std::map<Handle, std::shared_ptr<Stream>> open;
  std::set<std::shared_ptr<Stream>> pending[most_devices];
  int errors[most_devices] = {};
  std::condition_variable changed;
  Streams() {
    for (int i = 0; i < most_devices; i++) {
      legacy[i] = std::make_shared<Stream>(Stream{i, false});
      legacy[i]->legacy = true;
    }
  }
};

Streams &streams() {
  static Streams *all = new Streams;
  return *all;
}

struct OfThread {
  std::shared_ptr<Stream> streams[most_devices];
};
thread_local OfThread of_thread;

void wait_for_all(std::vector<Dependency> &after, const std::shared_ptr<Stream> &stream) {
  if (stream->submitted > stream->done) after.push_back({stream, stream->submitted});
}

// The rule of the legacy default stream: its work waits for all blocking streams, and theirs waits for it.
void order_with_legacy(const std::shared_ptr<Stream> &stream, std::vector<Dependency> &after) {
  Streams &all = streams();
  if (stream->blocking) wait_for_all(after, all.legacy[stream->device]);
  if (!stream->legacy) return;
  for (auto &other : all.pending[stream->device])
    if (other->blocking) wait_for_all(after, other);
}

struct Closed {  // device memory is closed again when the outermost demand has been met
  Closed() { depth++; }
  ~Closed() { if (!--depth) expose(0); }
  static thread_local int depth;
};
thread_local int Closed::depth = 0;

void run_one(Stream &stream, Operation &operation, Lock &lock) {
  if (operation.on_host) {
    expose(0);
    lock.unlock();
    operation.run();
    lock.lock();
    return;
  }
  if (streams().errors[stream.device]) return;  // a device that failed runs nothing any more
  expose(operation.devices);
  name_running(operation.what, stream.device);
  try {
    operation.run();
  } catch (const std::exception &error) {
    set_device_error(stream.device, 710, error.what());
  }
  name_running(nullptr, -1);
}

}  // namespace

std::mutex &mutex() {
  static std::mutex *big = new std::mutex;
  return *big;
}

std::shared_ptr<Stream> find_stream(Handle handle) {
  auto number = reinterpret_cast<uintptr_t>(handle);
  int device = current_device();
  if (number <= 1) return streams().legacy[device];
  if (number == 2) {
    auto &mine = of_thread.streams[device];
    if (!mine) mine = std::make_shared<Stream>(Stream{device, true});
    return mine;
  }
  auto found = streams().open.find(handle);
  return found == streams().open.end() ? nullptr : found->second;
}

int device_of(const std::shared_ptr<Stream> &stream) { return stream->device; }

Handle create_stream(bool blocking) {
  auto stream = std::make_shared<Stream>(Stream{current_device(), blocking});
  streams().open[stream.get()] = stream;
  return stream.get();
}

bool destroy_stream(Handle handle) { return streams().open.erase(handle) > 0; }  // its pending work is kept

uint64_t enqueue(const std::shared_ptr<Stream> &stream, Operation operation) {
  operation.after.swap(stream->next);
  order_with_legacy(stream, operation.after);
  stream->queue.push_back(std::move(operation));
  stream->polled = false;
  streams().pending[stream->device].insert(stream);
  return ++stream->submitted;
}

uint64_t enqueue_between(int one, int other, const std::shared_ptr<Stream> &stream, Operation operation) {
  Streams &all = streams();
  if (!stream->legacy) return enqueue(stream, std::move(operation));
  for (int device : {one, other})
    for (auto &before : all.pending[device])
      if (before != stream) wait_for_all(stream->next, before);
  uint64_t position = enqueue(stream, std::move(operation));
  for (int device : {one, other}) {
    if (all.legacy[device] != stream) depend(all.legacy[device], {stream, position});
    for (auto &[handle, after] : all.open)
      if (after->device == device && !after->blocking) after->next.push_back({stream, position});
  }
  return position;
}

void depend(const std::shared_ptr<Stream> &stream, Dependency dependency) {
  stream->next.push_back(std::move(dependency));
  enqueue(stream, {"wait for an event", 0, [] {}});
}

void finish(const std::shared_ptr<Stream> &stream, uint64_t position, Lock &lock) {
  Closed closed;
  while (stream->done < position) {
    if (stream->busy) {
      streams().changed.wait(lock);
      continue;
    }
    stream->busy = true;
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    for (auto &needed : operation.after) finish(needed.stream, needed.position, lock);
    run_one(*stream, operation, lock);
    stream->busy = false;
    if (++stream->done == stream->submitted) streams().pending[stream->device].erase(stream);
    streams().changed.notify_all();
  }
}

void finish(const std::shared_ptr<Stream> &stream, Lock &lock) { finish(stream, stream->submitted, lock); }

void finish_device(int device, Lock &lock) {
  auto pending = streams().pending[device];
  for (auto &stream : pending) finish(stream, lock);
}

void make_room(const std::shared_ptr<Stream> &stream, Lock &lock) {
  if (stream->queue.size() >= longest_queue) finish(stream, stream->done + longest_queue / 2, lock);
}

bool finished(const std::shared_ptr<Stream> &stream, uint64_t position) {
  return !stream || stream->done >= position;
}

// A question alone gets "not yet" once; whoever asks again must not wait for ever.
bool poll(const std::shared_ptr<Stream> &stream, Lock &lock) {
  if (finished(stream, stream->submitted)) return true;
  if (!stream->polled) return !(stream->polled = true);
  finish(stream, lock);
  return true;
}

bool poll(Event &event, Lock &lock) {
  if (finished(event.stream, event.position)) return true;
  if (!event.polled) return !(event.polled = true);
  finish(event.stream, event.position, lock);
  return true;
}

int device_error(int device) { return streams().errors[device]; }

void set_device_error(int device, int error, const std::string &message) {
  fprintf(stderr, "cpucuda: device %d: %s\n", device, message.c_str());
  streams().errors[device] = error;
}

namespace {
int queue_work(Handle handle, const char *what, std::function<void()> run, bool wait) {
  Lock lock(mutex());
  auto stream = find_stream(handle);
  if (!stream || stream->device != current_device()) return 400;  // cudaErrorInvalidResourceHandle
  if (int error = device_error(stream->device)) return error;
  make_room(stream, lock);
  enqueue(stream, {what, reach(stream->device), std::move(run)});
  if (wait) finish(stream, lock);
  return device_error(stream->device);
}
}  // namespace

int submit(Handle stream, const char *what, std::function<void()> run) {
  return queue_work(stream, what, std::move(run), false);
}
int submit_and_wait(Handle stream, const char *what, std::function<void()> run) {
  return queue_work(stream, what, std::move(run), true);
}

}  // namespace cpucuda
