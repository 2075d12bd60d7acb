// Atomic operations of all types in global and shared memory, locks and queues.
// nvcc: -arch=sm_75
#include "program.h"
#ifdef KERNELS
KERNEL words(int *i, unsigned *u, unsigned long long *l, float *f, double *d) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMin(&i[2], -t); atomicMax(&i[3], t * 3); atomicAnd(&i[4], ~(1 << t % 32));
  atomicOr(&i[5], 1 << t % 20); atomicXor(&i[6], t * 77);
  atomicInc(&u[0], 6); atomicDec(&u[1], 9); atomicMin(&u[2], 1000u - t); atomicMax(&u[3], 0xfffffff0u + t % 8);
  atomicAdd(&l[0], 1ull << 33); atomicMin(&l[1], ~0ull - t); atomicMax((long long *)&l[2], (long long)t - 5);
  atomicAnd(&l[3], ~(1ull << t % 64)); atomicOr(&l[4], 1ull << (t * 7) % 64); atomicXor(&l[5], 0x123456789ull * t);
  atomicAdd(&f[0], 0.5f * t); atomicAdd(&d[0], 0.25 * t);
}
KERNEL in_shared(int *out) {
  __shared__ int s[4];
  __shared__ unsigned long long l;
  __shared__ float f;
  __shared__ double d;
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  if (threadIdx.x == 0) l = 0, f = 0, d = 0;
  __syncthreads();
  atomicAdd(&s[0], threadIdx.x); atomicMax(&s[1], threadIdx.x); atomicXor(&s[2], threadIdx.x * threadIdx.x);
  atomicExch(&s[3], 5); atomicAdd(&l, 1ull << 31); atomicAdd(&f, 1.5f); atomicAdd(&d, 2.5);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) out[i] = s[i];
    out[4] = l >> 32; out[5] = f; out[6] = d;
  }
}
// An operation that has no instruction, by comparing and swapping.
KERNEL multiply(unsigned *u, unsigned short *s, unsigned long long *l) {
  unsigned old = *u, seen;
  do seen = old;
  while ((old = atomicCAS(u, seen, seen * 3 + 1)) != seen);
  unsigned short had = *s, was;
  do was = had;
  while ((had = atomicCAS(s, was, (unsigned short)(was + 7))) != was);
  unsigned long long have = *l, before;
  do before = have;
  while ((have = atomicCAS(l, before, before + (before >> 1) + 1)) != before);
}
__device__ int lock, kept, ticket, serving, served;
KERNEL critical(int *out, int n) {
  for (int i = 0; i < n; ++i) {
    while (atomicCAS(&lock, 0, 1)) __nanosleep(20);
    __threadfence();
    *(volatile int *)&kept = *(volatile int *)&kept + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
  int mine = atomicAdd(&ticket, 1);
  while (atomicAdd(&serving, 0) != mine) {}
  out[mine] = *(volatile int *)&served + mine;
  *(volatile int *)&served += 1;
  __threadfence();
  atomicAdd(&serving, 1);
}
KERNEL exchanged(float *f, unsigned long long *l, int *all) {
  all[threadIdx.x] = (int)atomicExch(f, (float)threadIdx.x);
  all[32 + threadIdx.x] = (int)atomicExch(l, (unsigned long long)threadIdx.x);
}
#else
void program() {
  const int n = 128;
  std::vector<int> i{5, 5, 5, 5, -1, 0, 0};
  std::vector<unsigned> u{0, 3, ~0u, 0};
  std::vector<uint64_t> l{0, ~0ull, uint64_t(-100), ~0ull, 0, 0};
  std::vector<float> f{0};
  std::vector<double> d{0};
  auto bi = buffer(i), bu = buffer(u), bl = buffer(l), bf = buffer(f), bd = buffer(d);
  launch("words", {2, 64}, bi, bu, bl, bf, bd);
  for (int t = 0; t < n; ++t) {
    i[0] += t, i[1] -= t, i[2] = std::min(i[2], -t), i[3] = std::max(i[3], 3 * t), i[4] &= ~(1 << t % 32), i[5] |= 1 << t % 20, i[6] ^= t * 77;
    u[0] = u[0] >= 6 ? 0 : u[0] + 1, u[1] = u[1] == 0 || u[1] > 9 ? 9 : u[1] - 1, u[2] = std::min(u[2], 1000u - t), u[3] = std::max(u[3], 0xfffffff0u + t % 8);
    l[0] += 1ull << 33, l[1] = std::min(l[1], uint64_t(-1) - t), l[2] = std::max(int64_t(l[2]), int64_t(t - 5)), l[3] &= ~(1ull << t % 64);
    l[4] |= 1ull << t * 7 % 64, l[5] ^= 0x123456789ull * t, f[0] += 0.5f * t, d[0] += 0.25 * t;
  }
  expect(bi, i);
  expect(bu, u);
  expect(bl, l);
  expect(bf, f);
  expect(bd, d);

  auto s = zeros<int>(7);
  int squares = 0;
  for (int t = 0; t < 96; ++t) squares ^= t * t;
  launch("in_shared", {1, 96}, s);
  expect(s, std::vector<int>{4560, 95, squares, 5, 48, 144, 240});

  uint32_t word = 1;
  uint16_t half = 65000;
  uint64_t wide = 1;
  for (int t = 0; t < 40; ++t) word = word * 3 + 1, half += 7, wide += (wide >> 1) + 1;
  auto w = buffer(std::vector<uint32_t>{1}), hh = buffer(std::vector<uint16_t>{65000, 9}), ww = buffer(std::vector<uint64_t>{1});
  launch("multiply", {1, 40}, w, hh, ww);
  expect(w, std::vector<uint32_t>{word});
  expect(hh, std::vector<uint16_t>{half, 9});
  expect(ww, std::vector<uint64_t>{wide});

  auto out = zeros<int>(96);
  launch("critical", {3, 32}, out, 2);
  std::vector<int> served(96);
  for (int t = 0; t < 96; ++t) served[t] = 2 * t;
  expect(out, served);
  expect_variable("kept", std::vector<int>{192});

  auto f1 = buffer(std::vector<float>{50}), l1 = buffer(std::vector<uint64_t>{60}), all = zeros<int>(64);
  launch("exchanged", {1, 1}, f1, l1, all);
  expect(all, std::vector<int>{50});
  expect(all + 128, std::vector<int>{60});
}
#endif
