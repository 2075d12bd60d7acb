// Loops of compare-and-swap, locks and lists without locks: sums of doubles, products, extremes of floats, complex numbers, stacks, tickets.
#include "program.h"
#ifdef KERNELS
__device__ int mutex, ticket, serving;
__device__ double shared_total;
struct Node { int value, next; };
__device__ double add(double *at, double v) {
  unsigned long long *p = (unsigned long long *)at, old = *p, seen = old;
  do {
    seen = old;
    old = atomicCAS(p, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (old != seen);
  return __longlong_as_double(old);
}
__device__ void most(float *at, float v) {
  int *p = (int *)at, old = *p;
  while (__int_as_float(old) < v) {
    int seen = atomicCAS(p, old, __float_as_int(v));
    if (seen == old) break;
    old = seen;
  }
}
KERNEL loops(const double *in, double *sum, float *extreme, unsigned *product) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  add(sum, in[t]);
  most(extreme, (float)in[t]);
  unsigned old = *product, seen;
  do { seen = old; old = atomicCAS(product, seen, seen * (2 * t + 1)); } while (old != seen);
}
KERNEL spin(int *counts, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    bool done = false;
    while (!done) {
      if (atomicCAS(&mutex, 0, 1) == 0) {
        __threadfence();
        volatile int *c = counts;
        c[0] = c[0] + 1;
        c[1] = c[1] ^ c[0];
        __threadfence();
        atomicExch(&mutex, 0);
        done = true;
      }
    }
  }
}
KERNEL tickets(int *order) {
  if (threadIdx.x) return;
  int mine = atomicAdd(&ticket, 1);
  while (atomicAdd(&serving, 0) != mine) __nanosleep(20);
  __threadfence();
  order[mine] = blockIdx.x;
  shared_total += mine;
  __threadfence();
  atomicAdd(&serving, 1);
}
KERNEL push(Node *nodes, int *head, int *taken) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  nodes[t].value = t * t;
  int old = *(volatile int *)head, seen;
  do {
    seen = old;
    *(volatile int *)&nodes[t].next = seen;
    __threadfence();
    old = atomicCAS(head, seen, t);
  } while (old != seen);
  atomicOr((unsigned *)&taken[t / 32], 1u << t % 32);
}
KERNEL bytes_by_word(unsigned char *counts, const int *in) {
  // One byte of a word is added to; the others stay.
  int i = in[threadIdx.x];
  unsigned *word = (unsigned *)(counts + (i & ~3)), shift = (i & 3) * 8, old = *word, seen;
  do {
    seen = old;
    unsigned byte = (seen >> shift & 255) + 1;
    old = atomicCAS(word, seen, seen & ~(255u << shift) | (byte & 255) << shift);
  } while (old != seen);
}
#else
void program() {
  const int n = 256;
  auto in = random<double>(n, -100, 100);
  auto sum = zeros<double>(1), extreme = buffer(std::vector<float>{-1e30f});
  auto product = buffer(std::vector<unsigned>{1});
  launch("loops", {4, 64}, buffer(in), sum, extreme, product);
  unsigned all = 1;
  for (unsigned t = 0; t < n; ++t) all *= 2 * t + 1;
  expect(sum, std::vector<double>{std::accumulate(in.begin(), in.end(), 0.0)}, relative(1e-12));
  expect(extreme, std::vector<float>{float(*std::max_element(in.begin(), in.end()))});
  expect(product, std::vector<unsigned>{all});

  auto counts = zeros<int>(2);
  launch("spin", {2, 40}, counts, 3);
  int x = 0;
  for (int i = 1; i <= 240; ++i) x ^= i;
  expect(counts, std::vector<int>{240, x});

  auto order = buffer(std::vector<int>(12, -1));
  launch("tickets", {12, 32}, order);
  expect_variable("shared_total", std::vector<double>{66});
  expect_variable("serving", std::vector<int>{12});

  auto nodes = zeros<std::array<int, 2>>(128), taken = zeros<int>(4), head = buffer(std::vector<int>{-1});
  launch("push", {2, 64}, nodes, head, taken);
  expect(taken, std::vector<int>(4, -1));

  auto places = random<int>(64, 0, 15);
  std::vector<uint8_t> b(16, 250);
  auto bytes = buffer(b);
  for (int p : places) ++b[p];
  launch("bytes_by_word", {1, 64}, bytes, buffer(places));
  expect(bytes, b);
}
#endif
