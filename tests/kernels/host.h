// A host compiler's idea of CUDA: blocks run one after the other, the threads of a block as fibers that meet at barriers.
#include <ucontext.h>

#include <cmath>
#include <vector>
#define __global__
#define __device__
#define __shared__ static
using std::exp;
using std::log;
using std::pow;
using std::sqrt;
using std::tanh;
using std::erf;
using std::sin;
using std::cos;

struct Index { unsigned x; };
static Index threadIdx, blockIdx, blockDim, gridDim;

namespace fibers {
static ucontext_t scheduler, *running;
static void (*body)(void **);
static void **arguments;
static std::vector<char> ended;

static void enter(unsigned thread) {
  body(arguments);
  ended[thread] = 1;
}
// All threads of one block, from barrier to barrier, in the order given: a result that depends on it is a race.
static void run_block(unsigned threads, bool backwards) {
  static std::vector<std::vector<char>> stacks;
  while (stacks.size() < threads) stacks.emplace_back(32768);
  std::vector<ucontext_t> context(threads);
  ended.assign(threads, 0);
  for (unsigned t = 0; t < threads; t++) {
    getcontext(&context[t]);
    context[t].uc_stack.ss_sp = stacks[t].data();
    context[t].uc_stack.ss_size = stacks[t].size();
    context[t].uc_link = &scheduler;
    makecontext(&context[t], (void (*)())enter, 1, t);
  }
  for (unsigned left = threads; left;) {
    left = 0;
    for (unsigned k = 0; k < threads; k++) {
      unsigned t = backwards ? threads - 1 - k : k;
      if (ended[t]) continue;
      threadIdx.x = t;
      running = &context[t];
      swapcontext(&scheduler, running);
      left += !ended[t];
    }
  }
  running = nullptr;
}
}  // namespace fibers

static void __syncthreads() {
  unsigned mine = threadIdx.x;
  swapcontext(fibers::running, &fibers::scheduler);
  threadIdx.x = mine;
}

static void run_grid(unsigned blocks, unsigned threads, bool together, bool backwards, void **a, void (*f)(void **)) {
  gridDim.x = blocks;
  blockDim.x = threads;
  fibers::body = f;
  fibers::arguments = a;
  for (unsigned b = 0; b < blocks; b++) {
    blockIdx.x = backwards ? blocks - 1 - b : b;
    if (together) {
      fibers::run_block(threads, backwards);
      continue;
    }
    for (unsigned t = 0; t < threads; t++) {
      threadIdx.x = backwards ? threads - 1 - t : t;
      f(a);
    }
  }
}
