// Device memory: one range of addresses for each device, closed to everybody but the device's own running work.
#include "cpucuda.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace cpucuda {
namespace {

constexpr size_t granule = 512;
constexpr size_t huge_page = size_t(2) << 20;  // protecting is as dear as there are pages
constexpr unsigned char poison = 0xFF;  // NaN in every floating-point format, -1 in integers

struct Arena {
  char *base = nullptr;
  size_t capacity = 0;
  size_t touched = 0;                      // bytes from base that were ever handed out, whole pages
  size_t used = 0;
  std::map<uintptr_t, size_t> blocks;      // allocated, by start
  std::map<uintptr_t, size_t> holes;       // free, by start; never adjacent
};

size_t setting(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

struct Memory {
  int count = static_cast<int>(setting("CPUCUDA_DEVICES", 2));
  Arena arenas[most_devices];
  std::map<uintptr_t, size_t> pinned;
  unsigned exposed = 0;
  bool host_may_look = false;
  bool peers = setting("CPUCUDA_PEER", 0);
  unsigned reach[most_devices] = {};
  Memory();
};

struct sigaction previous;
volatile sig_atomic_t faults = 0;
volatile int running_device = -1;
const char *volatile running_name = nullptr;
Arena *signal_arenas = nullptr;
int signal_count = 0;

void explain(uintptr_t address, int device, size_t offset) {
  char text[512];
  int length;
  if (running_name)
    length = snprintf(text, sizeof text,
                      "\ncpucuda: '%s', running on device %d, touched the address %p of device %d (byte %zu of its "
                      "memory): a kernel may only touch memory of its own device\n",
                      running_name, running_device, reinterpret_cast<void *>(address), device, offset);
  else
    length = snprintf(text, sizeof text,
                      "\ncpucuda: the host touched the address %p of device %d (byte %zu of its memory); copy device "
                      "memory with cudaMemcpy, e.g. array.get()\n",
                      reinterpret_cast<void *>(address), device, offset);
  if (write(STDERR_FILENO, text, length) < 0) return;
}

void on_fault(int number, siginfo_t *info, void *) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (int i = 0; i < signal_count && !faults; i++) {
    auto base = reinterpret_cast<uintptr_t>(signal_arenas[i].base);
    if (address >= base && address < base + signal_arenas[i].capacity) explain(address, i, address - base);
  }
  // The access is repeated on return: by whoever handled faults before (faulthandler prints the stack), then for good.
  if (faults++) signal(number, SIG_DFL);
  else sigaction(number, &previous, nullptr);
}

void catch_faults() {  // again and again: MPI libraries install handlers of their own
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) return;
  previous = now;
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &ours, nullptr);
}

char *reserve(size_t bytes) {
  void *found = mmap(nullptr, bytes + 2 * huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) { perror("cpucuda: no address space for device memory"); abort(); }
  auto start = (reinterpret_cast<uintptr_t>(found) + huge_page - 1) / huge_page * huge_page;
  madvise(reinterpret_cast<void *>(start), bytes + huge_page, MADV_HUGEPAGE);
  return reinterpret_cast<char *>(start);
}

Memory::Memory() {
  count = count < 0 ? 0 : count > most_devices ? most_devices : count;
  size_t capacity = setting("CPUCUDA_MEMORY", size_t(4) << 30);
  for (int i = 0; i < count; i++) {
    arenas[i].base = reserve(capacity);
    arenas[i].capacity = capacity;
    arenas[i].holes[reinterpret_cast<uintptr_t>(arenas[i].base)] = capacity;
    reach[i] = 1u << i;
  }
  signal_arenas = arenas;
  signal_count = count;
  catch_faults();
}

Memory &memory() {
  static Memory *all = new Memory;  // never destroyed: CuPy frees arrays until the very end
  return *all;
}

void protect(Arena &arena, size_t bytes, int how) {
  if (bytes && mprotect(arena.base, bytes, how)) { perror("cpucuda: mprotect"); abort(); }
}

// Run `action` while device memory is open for the runtime itself.
template <class Action> void with_open(int device, Action action) {
  unsigned before = memory().exposed;
  expose(before | 1u << device);
  action();
  expose(before);
}

void grow_touched(Arena &arena, uintptr_t end, bool open) {
  size_t needed = (end - reinterpret_cast<uintptr_t>(arena.base) + huge_page - 1) / huge_page * huge_page;
  if (needed <= arena.touched) return;
  arena.touched = needed;
  if (open) protect(arena, needed, PROT_READ | PROT_WRITE);
}

int arena_of(uintptr_t address) {
  Memory &all = memory();
  for (int i = 0; i < all.count; i++) {
    auto base = reinterpret_cast<uintptr_t>(all.arenas[i].base);
    if (address >= base && address < base + all.arenas[i].capacity) return i;
  }
  return -1;
}

thread_local int current = 0;

}  // namespace

int device_count() { return memory().count; }
int current_device() { return current; }
void set_current_device(int device) { current = device; }

void *allocate(int device, size_t bytes) {
  Memory &all = memory();
  Arena &arena = all.arenas[device];
  bytes = (bytes + granule - 1) / granule * granule;
  if (!bytes) bytes = granule;
  for (auto hole = arena.holes.begin(); hole != arena.holes.end(); ++hole) {
    auto [start, size] = *hole;
    if (size < bytes) continue;
    arena.holes.erase(hole);
    if (size > bytes) arena.holes[start + bytes] = size - bytes;
    arena.blocks[start] = bytes;
    arena.used += bytes;
    grow_touched(arena, start + bytes, all.exposed >> device & 1);
    with_open(device, [&] { memset(reinterpret_cast<void *>(start), poison, bytes); });
    return reinterpret_cast<void *>(start);
  }
  return nullptr;
}

bool release(void *address) {
  auto start = reinterpret_cast<uintptr_t>(address);
  int device = arena_of(start);
  if (device < 0) return false;
  Arena &arena = memory().arenas[device];
  auto block = arena.blocks.find(start);
  if (block == arena.blocks.end()) return false;
  size_t size = block->second;
  with_open(device, [&] { memset(address, poison, size); });
  arena.used -= size;
  arena.blocks.erase(block);
  auto hole = arena.holes.emplace(start, size).first;
  auto next = std::next(hole);
  if (next != arena.holes.end() && start + hole->second == next->first) {
    hole->second += next->second;
    arena.holes.erase(next);
  }
  if (hole != arena.holes.begin()) {
    auto before = std::prev(hole);
    if (before->first + before->second == start) {
      before->second += hole->second;
      arena.holes.erase(hole);
    }
  }
  return true;
}

Place place_of(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  int device = arena_of(address);
  auto &ranges = device < 0 ? memory().pinned : memory().arenas[device].blocks;
  auto next = ranges.upper_bound(address);
  if (next != ranges.begin()) {
    auto [start, size] = *std::prev(next);
    if (address < start + size) return {device < 0 ? Kind::pinned : Kind::device, device, start + size - address, start};
  }
  return device < 0 ? Place{Kind::pageable, -1, SIZE_MAX, address} : Place{Kind::device, device, 0, address};
}

void pin(void *address, size_t bytes) { memory().pinned[reinterpret_cast<uintptr_t>(address)] = bytes; }
bool unpin(void *address) { return memory().pinned.erase(reinterpret_cast<uintptr_t>(address)) > 0; }

void memory_info(int device, size_t *free, size_t *total) {
  Arena &arena = memory().arenas[device];
  *total = arena.capacity;
  *free = arena.capacity - arena.used;
}

void expose(unsigned devices) {
  Memory &all = memory();
  if (all.host_may_look) devices = ~0u;
  for (int i = 0; i < all.count; i++)
    if ((all.exposed ^ devices) >> i & 1)
      protect(all.arenas[i], all.arenas[i].touched, devices >> i & 1 ? PROT_READ | PROT_WRITE : PROT_NONE);
  all.exposed = devices & ((1u << all.count) - 1);
  catch_faults();
}

unsigned reach(int device) { return memory().reach[device]; }
bool can_reach(int device, int peer) { return memory().peers && device != peer; }
void open_peer(int device, int peer, bool yes) {
  unsigned &bits = memory().reach[device];
  bits = yes ? bits | 1u << peer : bits & ~(1u << peer);
}

void name_running(const char *what, int device) {
  running_device = device;
  running_name = what;
}

}  // namespace cpucuda

// For tests of libraries that read device pointers themselves (a CUDA-aware MPI): opens all memory to the host.
extern "C" void cpucuda_host_may_look(int yes) {
  cpucuda::Lock lock(cpucuda::mutex());
  cpucuda::memory().host_may_look = yes;
  cpucuda::expose(0);
}
