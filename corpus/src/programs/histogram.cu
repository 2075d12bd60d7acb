// Histograms: of bytes in shared memory, of ranges of numbers in global memory, weighted in 64 bits.
#include "program.h"
#ifdef KERNELS
KERNEL bytes(const uchar4 *in, unsigned *bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    atomicAdd(&local[v.x], 1u);
    atomicAdd(&local[v.y], 1u);
    atomicAdd(&local[v.z], 1u);
    atomicAdd(&local[v.w], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
}
KERNEL ranges(const float *in, int *bins, int n, float low, float width, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int bin = (int)floorf((in[i] - low) / width);
  if (bin >= 0 && bin < count) atomicAdd(bins + bin, 1);
}
KERNEL weighted(const unsigned short *keys, const unsigned long long *weights, unsigned long long *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[keys[i] % 10], weights[i]);
}
#else
void program() {
  auto data = random_words<uint8_t>(1000);
  std::vector<unsigned> counts(256);
  for (auto b : data) ++counts[b];
  auto bins = zeros<unsigned>(256);
  launch("bytes", {2, 64}, buffer(data), bins, 250);
  expect(bins, counts);

  auto numbers = random<float>(400, -20, 20);
  std::vector<int> ranges(12);
  for (float x : numbers)
    if (int b = std::floor((x + 15) / 2.5f); b >= 0 && b < 12) ++ranges[b];
  auto found = zeros<int>(12);
  launch("ranges", {4, 100}, buffer(numbers), found, 400, -15.0f, 2.5f, 12);
  expect(found, ranges);

  auto keys = random_words<uint16_t>(150);
  auto weights = random_words<uint64_t>(150);
  std::vector<uint64_t> sums(10);
  for (int i = 0; i < 150; ++i) sums[keys[i] % 10] += weights[i];
  auto total = zeros<uint64_t>(10);
  launch("weighted", {5, 32}, buffer(keys), buffer(weights), total, 150);
  expect(total, sums);
}
#endif
