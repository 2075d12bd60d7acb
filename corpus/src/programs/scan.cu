// Inclusive and exclusive prefix sums: shuffles, shared memory, and a look back over blocks.
#include "program.h"
#ifdef KERNELS
__device__ int warp_scan(int v) {
  int lane = threadIdx.x & 31;
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += u;
  }
  return v;
}
__device__ int block_scan(int v) {
  __shared__ int totals[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_scan(v);
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) totals[lane] = warp_scan(lane < blockDim.x / 32 ? totals[lane] : 0);
  __syncthreads();
  return warp ? v + totals[warp - 1] : v;
}
// A block waits until the one before it has published its sum.
KERNEL look_back(const int *in, int *out, volatile int *published, volatile int *sums, int n) {
  __shared__ int before;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = block_scan(i < n ? in[i] : 0);
  if (threadIdx.x == blockDim.x - 1) {
    int earlier = 0;
    if (blockIdx.x) {
      while (!published[blockIdx.x - 1]) {}
      __threadfence();
      earlier = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = earlier + v;
    __threadfence();
    published[blockIdx.x] = 1;
    before = earlier;
  }
  __syncthreads();
  if (i < n) out[i] = before + v;
}
// Blelloch's scan: up to the root of a tree and down again.
KERNEL tree(unsigned *data) {
  extern __shared__ unsigned s[];
  unsigned n = blockDim.x * 2, t = threadIdx.x, step = 1;
  s[2 * t] = data[2 * t];
  s[2 * t + 1] = data[2 * t + 1];
  for (unsigned d = n >> 1; d; d >>= 1, step *= 2) {
    __syncthreads();
    if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
  }
  if (t == 0) s[n - 1] = 0;
  for (unsigned d = 1; d < n; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      unsigned a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, kept = s[a];
      s[a] = s[b];
      s[b] += kept;
    }
  }
  __syncthreads();
  data[2 * t] = s[2 * t];
  data[2 * t + 1] = s[2 * t + 1];
}
#else
void program() {
  const int n = 700;
  auto in = random<int>(n, -1000, 1000);
  std::vector<int> sums(n);
  std::partial_sum(in.begin(), in.end(), sums.begin());
  auto out = zeros<int>(n);
  launch("look_back", {6, 128}, buffer(in), out, zeros<int>(6), zeros<int>(6), n);
  expect(out, sums);

  auto data = random_words<unsigned>(256);
  std::vector<unsigned> before(256);
  for (int i = 1; i < 256; ++i) before[i] = before[i - 1] + data[i - 1];
  auto words = buffer(data);
  launch("tree", {1, 128, 256 * 4}, words);
  expect(words, before);
}
#endif
