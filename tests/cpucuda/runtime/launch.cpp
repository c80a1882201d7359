// Kernels: blocks run one after the other; threads of a block as fibers when they wait for each other.
#include "cpucuda.h"

#include <cstring>
#include <stdexcept>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

// What a kernel sees of itself. Work runs under one lock, so that plain variables will do.
extern "C" {
cpucuda::Dim cpucuda_threadIdx, cpucuda_blockIdx, cpucuda_blockDim, cpucuda_gridDim;
alignas(64) char cpucuda_dynamic_shared[1 << 17];
}

namespace cpucuda {
namespace {

constexpr size_t stack_bytes = 1 << 17;
constexpr unsigned warp_size = 32;

struct Barrier {
  unsigned members = 0, arrived = 0;  // of a warp: bits of its lanes
  uint64_t turn = 0;
};
struct Warp {
  unsigned alive = 0;
  std::vector<std::unique_ptr<Barrier>> barriers;  // one for each set of lanes that has met
  alignas(32) char slot[warp_size][32];
  unsigned flags = 0;
};
struct Fiber {
#if defined(__x86_64__)
  void *stack_pointer;
#else
  ucontext_t context;
#endif
  bool over;
  const uint64_t *turn;  // it waits until this number is no longer `seen`
  uint64_t seen;
};

struct Block {
  unsigned count = 0, alive = 0, arrived = 0;
  uint64_t turn = 0;
  int tally[2] = {};     // of __syncthreads_count, by turn
  unsigned me = 0;       // the thread that runs
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  const Kernel *kernel = nullptr;
  void **arguments = nullptr;
  std::string failure;
  char *stacks = nullptr;
  size_t room = 0;
};
Block block;

#if defined(__x86_64__)
void *scheduler;
extern "C" void cpucuda_switch(void **save, void *load);
asm(R"(
.text
.globl cpucuda_switch
.type cpucuda_switch, @function
cpucuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cpucuda_switch, .-cpucuda_switch
)");
void to_fiber(Fiber &fiber) { cpucuda_switch(&scheduler, fiber.stack_pointer); }
void to_scheduler(Fiber &fiber) { cpucuda_switch(&fiber.stack_pointer, scheduler); }
void prepare(Fiber &fiber, char *stack, void (*entry)()) {
  auto top = reinterpret_cast<void **>(stack + stack_bytes);
  *--top = nullptr;  // alignment, as after a call
  *--top = reinterpret_cast<void *>(entry);
  top -= 6;
  fiber.stack_pointer = top;
}
#else
ucontext_t scheduler;
void to_fiber(Fiber &fiber) { swapcontext(&scheduler, &fiber.context); }
void to_scheduler(Fiber &fiber) { swapcontext(&fiber.context, &scheduler); }
void prepare(Fiber &fiber, char *stack, void (*entry)()) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = stack_bytes;
  makecontext(&fiber.context, entry, 0);
}
#endif

void place_thread(unsigned index) {
  const Dim &size = cpucuda_blockDim;
  cpucuda_threadIdx = {index % size.x, index / size.x % size.y, index / size.x / size.y};
}

void release_block() {
  block.arrived = 0;
  block.tally[block.turn++ & 1] = 0;
}

// Let the others run until the number changes.
void wait_for_turn(const uint64_t &turn) {
  Fiber &fiber = block.fibers[block.me];
  fiber.seen = turn;
  fiber.turn = &turn;
  to_scheduler(fiber);
}

Barrier &barrier_of(Warp &warp, unsigned mask) {
  for (auto &barrier : warp.barriers)
    if (barrier->members == mask) return *barrier;
  warp.barriers.push_back(std::make_unique<Barrier>());
  warp.barriers.back()->members = mask;
  return *warp.barriers.back();
}

void release_if_complete(Barrier &barrier, unsigned alive) {
  if (!barrier.arrived || (barrier.arrived & alive) != (barrier.members & alive)) return;
  barrier.arrived = 0;
  barrier.turn++;
}

void leave() {
  Warp &warp = block.warps[block.me / warp_size];
  warp.alive &= ~(1u << block.me % warp_size);
  for (auto &barrier : warp.barriers) release_if_complete(*barrier, warp.alive);
  if (--block.alive && block.arrived == block.alive) release_block();
}

void run_fiber() {
  try {
    block.kernel->body(block.arguments);
  } catch (const std::exception &error) {
    if (block.failure.empty()) block.failure = error.what();
  }
  block.fibers[block.me].over = true;
  leave();
  to_scheduler(block.fibers[block.me]);
}

void make_room(unsigned count) {
  if (count <= block.room) return;
  if (block.stacks) munmap(block.stacks, block.room * stack_bytes);
  block.stacks = static_cast<char *>(mmap(nullptr, count * stack_bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (block.stacks == MAP_FAILED) throw std::runtime_error("no memory for the stacks of a block's threads");
  block.room = count;
}

void start_fibers(unsigned count) {
  make_room(count);
  block.count = block.alive = count;
  block.arrived = 0;
  block.fibers.resize(count);
  block.warps.clear();
  block.warps.resize((count + warp_size - 1) / warp_size);
  for (unsigned i = 0; i < count; i++) {
    block.fibers[i].over = false;
    block.fibers[i].turn = nullptr;
    block.warps[i / warp_size].alive |= 1u << i % warp_size;
    // Not all at the same place in their pages: they would fight for the same few lines of the cache.
    prepare(block.fibers[i], block.stacks + i * stack_bytes - i % 64 * 192, run_fiber);
  }
}

// Each thread in turn runs until it waits; nobody left who can run means that they wait for different things.
void run_fibers(const char *name, unsigned count) {
  start_fibers(count);
  while (block.alive) {
    bool moved = false;
    for (unsigned i = 0; i < count; i++) {
      Fiber &fiber = block.fibers[i];
      if (fiber.over || (fiber.turn && *fiber.turn == fiber.seen)) continue;
      fiber.turn = nullptr;
      block.me = i;
      place_thread(i);
      to_fiber(fiber);
      moved = true;
    }
    if (!block.failure.empty()) throw std::runtime_error(std::string(name) + ": " + block.failure);
    if (!moved) throw std::runtime_error(std::string(name) + ": threads of a block wait at different barriers");
  }
}

void run_block(const Kernel &kernel, const char *name, void **arguments) {
  const Dim &size = cpucuda_blockDim;
  unsigned count = size.x * size.y * size.z;
  if (kernel.cooperative) {
    block.kernel = &kernel;
    block.arguments = arguments;
    block.failure.clear();
    run_fibers(name, count);
    return;
  }
  for (unsigned i = 0; i < count; i++) {
    place_thread(i);
    kernel.body(arguments);
  }
}

}  // namespace

void run_kernel(const Kernel &kernel, const char *name, Dim grid, Dim size, size_t shared, void **arguments) {
  cpucuda_gridDim = grid;
  cpucuda_blockDim = size;
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        cpucuda_blockIdx = {x, y, z};
        memset(cpucuda_dynamic_shared, 0xFF, shared);
        run_block(kernel, name, arguments);
      }
}

}  // namespace cpucuda

// ---- called by kernels (package/include/cpucuda_device.h)
extern "C" {

int cpucuda_syncthreads(int value) {
  using namespace cpucuda;
  int &tally = block.tally[(block.turn + 1) & 1];
  tally += value;
  if (++block.arrived == block.alive) release_block();
  else wait_for_turn(block.turn);
  return tally;
}

void cpucuda_syncwarp(unsigned mask) {
  using namespace cpucuda;
  Warp &warp = block.warps[block.me / warp_size];
  Barrier &barrier = barrier_of(warp, mask);
  uint64_t turn = barrier.turn;
  barrier.arrived |= 1u << block.me % warp_size;
  release_if_complete(barrier, warp.alive);
  if (barrier.turn == turn) wait_for_turn(barrier.turn);
}

char *cpucuda_slot(unsigned lane) { return cpucuda::block.warps[cpucuda::block.me / 32].slot[lane & 31]; }
unsigned cpucuda_lane() { return cpucuda::block.me % 32; }
unsigned cpucuda_alive() { return cpucuda::block.warps[cpucuda::block.me / 32].alive; }

void cpucuda_fail(const char *what, const char *file, int line) {
  throw std::runtime_error(std::string("assertion failed: ") + what + " at " + file + ":" + std::to_string(line));
}
}
