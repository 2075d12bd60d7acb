// Launches from kernels: the order of streams, chains of tail launches, copies, limits, errors, queries and output.
// nvcc: -rdc=true -arch=sm_90
#include "program.h"
#ifdef KERNELS
#include <cstdio>
__device__ int position;
__device__ int order[64];
// The order in which grids run is visible only where a stream orders them.
KERNEL step(unsigned *state, unsigned factor, unsigned addend) { *state = *state * factor + addend; }
KERNEL chains(unsigned *state) {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  unsigned *mine = state + blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = 0; i < 5; ++i) step<<<1, 1, 0, s>>>(mine, 3 + i, threadIdx.x + i);
  cudaStreamDestroy(s);
}
// All threads of a block share one default stream: a child sees what the one before it left.
KERNEL block_order(unsigned *state) {
  for (int t = 0; t < blockDim.x; ++t) {
    if (threadIdx.x == t) step<<<1, 1>>>(state + blockIdx.x, 5, t);
    __syncthreads();
  }
}
// A grid that follows itself, more often than grids may be nested.
KERNEL collatz(unsigned long long *n, unsigned *count) {
  if (*n == 1) return;
  *n = *n % 2 ? 3 * *n + 1 : *n / 2;
  ++*count;
  collatz<<<1, 1, 0, cudaStreamTailLaunch>>>(n, count);
}
KERNEL sum_all(const unsigned *data, unsigned *sum, int n) {
  unsigned all = 0;
  for (int i = 0; i < n; ++i) all += data[i];
  *sum = all;
}
KERNEL square(unsigned *data) { data[blockIdx.x * blockDim.x + threadIdx.x] *= blockIdx.x * blockDim.x + threadIdx.x; }
// The tail begins after the children of the grid and their children.
KERNEL with_tail(unsigned *data, unsigned *sum, int n) {
  if (threadIdx.x == 0) {
    sum_all<<<1, 1, 0, cudaStreamTailLaunch>>>(data, sum, n);
    square<<<n / 32, 32>>>(data);
  }
}
KERNEL nest_tails(unsigned *data, unsigned *sums, int n) { with_tail<<<1, 1>>>(data, sums, n); sum_all<<<1, 1, 0, cudaStreamTailLaunch>>>(sums, sums + 1, 1); }
KERNEL copies(unsigned char *to, const unsigned char *from, int n) {
  cudaMemsetAsync(to, 0xab, n, 0);
  cudaMemcpyAsync(to + 3, from, n - 10, cudaMemcpyDeviceToDevice, 0);
  cudaMemset2DAsync(to + 5, 16, 7, 4, n / 16 - 1, 0);
  cudaMemcpy2DAsync(to + 100, 24, from + 1, 8, 6, 10, cudaMemcpyDeviceToDevice, 0);
}
KERNEL deep(unsigned *reached, unsigned *error, unsigned depth) {
  atomicMax(reached, depth);
  deep<<<1, 1>>>(reached, error, depth + 1);
  if (cudaError_t e = cudaGetLastError()) *error = e;
}
KERNEL nothing() {}
KERNEL errors(unsigned *codes) {
  nothing<<<0, 1>>>();
  codes[0] = cudaPeekAtLastError();
  codes[1] = cudaGetLastError();
  codes[2] = cudaGetLastError();
  nothing<<<1, 2000>>>();
  codes[3] = cudaGetLastError();
  nothing<<<1, 1, 1 << 30>>>();
  codes[4] = cudaGetLastError();
  cudaStream_t s;
  codes[5] = cudaStreamCreateWithFlags(&s, 0);
  cudaGetLastError();
  nothing<<<1, 1>>>();
  codes[6] = cudaGetLastError();
  int device = -1, count = -1, warp = 0, threads = 0, major = 0, unknown = 0, sms = 0;
  codes[7] = cudaGetDevice(&device) + cudaGetDeviceCount(&count) + cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0);
  codes[8] = device, codes[9] = count, codes[10] = warp;
  cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  codes[11] = threads, codes[12] = major, codes[13] = cudaDeviceGetAttribute(&unknown, cudaDevAttrWarpSize, 5), codes[14] = sms > 0;
  size_t heap = 0;
  codes[15] = cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  codes[16] = heap == 8 << 20;
}
KERNEL child_prints(int parent) { printf("child %d of %d\n", threadIdx.x, parent); }
KERNEL prints() {
  child_prints<<<1, 2>>>(blockIdx.x);
  printf("%s: %s\n", cudaGetErrorName(cudaErrorInvalidValue), cudaGetErrorString(cudaSuccess));
}
template <class T> struct Wide { T a[5]; char b; };
KERNEL wide_child(Wide<double> w, short s, Wide<char> c, double *out) {
  out[0] = w.a[0] + w.a[4] + w.b + s + c.a[2] + c.b;
}
KERNEL wide_arguments(double *out) {
  Wide<double> w = {{1, 2, 3, 4, 50}, 6};
  Wide<char> c = {{1, 2, 3, 4, 5}, 7};
  wide_child<<<1, 1>>>(w, -100, c, out);
}
KERNEL wait_event(unsigned *state) {
  cudaStream_t a, b;
  cudaEvent_t e;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  step<<<1, 1, 0, a>>>(state, 2, 1);
  cudaEventRecord(e, a);
  cudaStreamWaitEvent(b, e, 0);
  step<<<1, 1, 0, b>>>(state, 10, 7);
  cudaEventDestroy(e);
}
KERNEL trapping() { asm("trap;"); }
KERNEL launches_a_trap() { trapping<<<1, 1>>>(); }
#else
void program() {
  std::vector<unsigned> state(12, 1);
  auto b = buffer(state);
  launch("chains", {3, 4}, b);
  for (unsigned t = 0; t < 12; ++t)
    for (unsigned i = 0; i < 5; ++i) state[t] = state[t] * (3 + i) + t % 4 + i;
  expect(b, state);

  std::vector<unsigned> blocks(3, 2);
  auto s = buffer(blocks);
  launch("block_order", {3, 40}, s);
  for (auto &v : blocks)
    for (unsigned t = 0; t < 40; ++t) v = v * 5 + t;
  expect(s, blocks);

  auto n = buffer(std::vector<uint64_t>{27}), count = zeros<unsigned>(1);
  launch("collatz", {1, 1}, n, count);
  expect(count, std::vector<unsigned>{111});

  std::vector<unsigned> data = random<unsigned>(128, 0, 1000);
  unsigned sum = 0;
  for (unsigned i = 0; i < 128; ++i) sum += data[i] * i;
  auto d = buffer(data), sums = zeros<unsigned>(2);
  launch("with_tail", {1, 32}, d, sums, 128);
  expect(sums, std::vector<unsigned>{sum});
  auto d2 = buffer(data), sums2 = zeros<unsigned>(2);
  launch("nest_tails", {1, 1}, d2, sums2, 128);
  expect(sums2, std::vector<unsigned>{sum, sum});

  std::vector<uint8_t> from = random_words<uint8_t>(600), to(600, 0xab);
  auto f = buffer(from), t = zeros<uint8_t>(600);
  launch("copies", {1, 1}, t, f, 600);
  std::copy(from.begin(), from.begin() + 590, to.begin() + 3);
  for (int r = 0; r < 600 / 16 - 1; ++r) std::fill_n(to.begin() + 5 + 16 * r, 4, 7);
  for (int r = 0; r < 10; ++r) std::copy_n(from.begin() + 1 + 8 * r, 6, to.begin() + 100 + 24 * r);
  expect(t, to);

  auto reached = zeros<unsigned>(1), error = zeros<unsigned>(1);
  launch("deep", {1, 1}, reached, error, 0u);
  expect(reached, std::vector<unsigned>{24});
  expect(error, std::vector<unsigned>{65});

  auto codes = zeros<unsigned>(17);
  launch("errors", {1, 1}, codes);
  expect(codes, std::vector<unsigned>{9, 9, 0, 9, 9, 1, 0, 0, 0, 1, 32, 1024, 9, 1, 1, 0, 1});

  launch("prints", {2, 1});
  std::string line = "cudaErrorInvalidValue: no error\n";
  expect_output(line + line + "child 0 of 0\nchild 1 of 0\nchild 0 of 1\nchild 1 of 1\n");

  auto out = zeros<double>(1);
  launch("wide_arguments", {1, 1}, out);
  expect(out, std::vector<double>{1 + 50 + 6 - 100 + 3 + 7});

  auto e = buffer(std::vector<unsigned>{5});
  launch("wait_event", {1, 1}, e);
  expect(e, std::vector<unsigned>{117});

  expect_error("trap");
  launch("launches_a_trap", {1, 1});
}
#endif
