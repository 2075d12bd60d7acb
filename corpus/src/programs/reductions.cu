// Sums, extremes and counts: trees in shared memory, shuffles, barriers that reduce, and the last block that finishes.
#include "program.h"
#ifdef KERNELS
template <class T, class F> __device__ T over_block(T v, T *part, F f) {
  part[threadIdx.x] = v;
  __syncthreads();
  for (unsigned n = blockDim.x / 2; n; n /= 2) {
    if (threadIdx.x < n) part[threadIdx.x] = f(part[threadIdx.x], part[threadIdx.x + n]);
    __syncthreads();
  }
  T all = part[0];
  __syncthreads();
  return all;
}
__device__ unsigned finished;
KERNEL sum_once(const float *in, float *partial, float *out, int n) {
  __shared__ float part[128];
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  v = over_block(v, part, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = v;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float all = 0;
    for (int i = 0; i < gridDim.x; ++i) all += ((volatile float *)partial)[i];
    *out = all;
  }
}
KERNEL extremes(const short *in, int *out, int n) {
  __shared__ int part[64];
  int low = 40000, high = -40000;
  for (int i = threadIdx.x; i < n; i += blockDim.x) low = min(low, (int)in[i]), high = max(high, (int)in[i]);
  low = over_block(low, part, [](int a, int b) { return min(a, b); });
  high = over_block(high, part, [](int a, int b) { return max(a, b); });
  if (threadIdx.x == 0) out[0] = low, out[1] = high;
}
KERNEL barriers(const int *in, int *out) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  int even = __syncthreads_count(v % 2 == 0), all = __syncthreads_and(v > -90), any = __syncthreads_or(v > 95);
  if (threadIdx.x == 0) out[3 * blockIdx.x] = even, out[3 * blockIdx.x + 1] = all != 0, out[3 * blockIdx.x + 2] = any != 0;
}
KERNEL dot(const double *a, const double *b, double *out, int n) {
  double v = 0;
  for (int i = threadIdx.x; i < n; i += 32) v += a[i] * b[i];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x == 0) atomicAdd(out, v);
}
#else
void program() {
  const int n = 900;
  auto in = random<float>(n, 0, 64);
  float sum = std::accumulate(in.begin(), in.end(), 0.0f);
  auto out = zeros<float>(1), part = zeros<float>(4), data = buffer(in);
  for (int i = 0; i < 2; ++i) launch("sum_once", {4, 128}, data, part, out, n);
  expect(out, std::vector<float>{sum}, relative(1e-5));

  auto words = random<short>(500, -32768, 32767);
  auto range = std::minmax_element(words.begin(), words.end());
  auto both = zeros<int>(2);
  launch("extremes", {1, 64}, buffer(words), both, 500);
  expect(both, std::vector<int>{*range.first, *range.second});

  auto v = random<int>(6 * 96, -95, 98);
  std::vector<int> found;
  for (int b = 0; b < 6; ++b) {
    auto from = v.begin() + 96 * b;
    found.push_back(std::count_if(from, from + 96, [](int x) { return x % 2 == 0; }));
    found.push_back(std::all_of(from, from + 96, [](int x) { return x > -90; }));
    found.push_back(std::any_of(from, from + 96, [](int x) { return x > 95; }));
  }
  auto results = zeros<int>(18);
  launch("barriers", {6, 96}, buffer(v), results);
  expect(results, found);

  auto a = random<double>(100, -1, 1), b = random<double>(100, -1, 1);
  auto product = zeros<double>(1);
  launch("dot", {1, 32}, buffer(a), buffer(b), product, 100);
  expect(product, std::vector<double>{std::inner_product(a.begin(), a.end(), b.begin(), 0.0)}, relative(1e-12));
}
#endif
