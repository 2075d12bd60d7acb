// Sorting: bitonic networks, odd-even transposition, ranks of digits, local insertion, and quicksort by recursion.
#include "program.h"
#ifdef KERNELS
KERNEL bitonic(int *data) {
  extern __shared__ int s[];
  unsigned i = threadIdx.x, n = blockDim.x;
  s[i] = data[i];
  for (unsigned k = 2; k <= n; k *= 2)
    for (unsigned j = k / 2; j; j /= 2) {
      __syncthreads();
      unsigned o = i ^ j;
      if (o > i && (s[i] > s[o]) == ((i & k) == 0)) {
        int t = s[i];
        s[i] = s[o];
        s[o] = t;
      }
    }
  __syncthreads();
  data[i] = s[i];
}
KERNEL odd_even(float *data, int n) {
  for (int round = 0; round < n; ++round) {
    int i = 2 * threadIdx.x + (round & 1);
    if (i + 1 < n && data[i] > data[i + 1]) {
      float t = data[i];
      data[i] = data[i + 1];
      data[i + 1] = t;
    }
    __syncthreads();
  }
}
// One block sorts by all digits of 4 bits.
KERNEL radix(unsigned *a, unsigned *b, int n) {
  __shared__ unsigned counts[16], starts[16];
  for (int shift = 0; shift < 32; shift += 4) {
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[a[i] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned sum = 0;
      for (int d = 0; d < 16; ++d) starts[d] = sum, sum += counts[d];
    }
    __syncthreads();
    // The first warp keeps the order of equal digits.
    if (threadIdx.x < 32)
      for (int base = 0; base < n; base += 32) {
        int i = base + threadIdx.x;
        unsigned live = __ballot_sync(~0u, i < n);
        if (i < n) {
          unsigned digit = a[i] >> shift & 15, same = __match_any_sync(live, digit), before = same & ((1u << threadIdx.x) - 1);
          b[starts[digit] + __popc(before)] = a[i];
          __syncwarp(live);
          if (!before) starts[digit] += __popc(same);
        }
        __syncwarp();
      }
    __syncthreads();
    unsigned *t = a;
    a = b;
    b = t;
  }
}
__device__ void quick(short *v, int low, int high) {
  if (low >= high) return;
  short pivot = v[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (v[i] < pivot) ++i;
    while (v[j] > pivot) --j;
    if (i <= j) {
      short t = v[i];
      v[i++] = v[j];
      v[j--] = t;
    }
  }
  quick(v, low, j);
  quick(v, i, high);
}
KERNEL quicksort(short *data, int each) { quick(data + each * threadIdx.x, 0, each - 1); }
KERNEL insertion(double *data, int each) {
  double kept[24];
  for (int i = 0; i < each; ++i) {
    double v = data[threadIdx.x * each + i];
    int j = i;
    for (; j > 0 && kept[j - 1] > v; --j) kept[j] = kept[j - 1];
    kept[j] = v;
  }
  for (int i = 0; i < each; ++i) data[threadIdx.x * each + i] = kept[i];
}
#else
template <class T> void check(const char *kernel, Shape shape, std::vector<T> data, int groups, int argument) {
  auto b = buffer(data);
  argument ? launch(kernel, shape, b, argument) : launch(kernel, shape, b);
  size_t each = data.size() / groups;
  for (int g = 0; g < groups; ++g) std::sort(data.begin() + each * g, data.begin() + each * (g + 1));
  expect(b, data);
}
void program() {
  check("bitonic", {1, 256, 1024}, random<int>(256, -100000, 100000), 1, 0);
  check("odd_even", {1, 32}, random<float>(61, -50, 50), 1, 61);
  check("quicksort", {1, 16}, random<short>(16 * 20, -300, 300), 16, 20);
  check("insertion", {1, 24}, random<double>(24 * 13, -3, 3), 24, 13);
  auto words = random_words<unsigned>(300);
  auto a = buffer(words), b = zeros<unsigned>(300);
  launch("radix", {1, 64}, a, b, 300);
  std::sort(words.begin(), words.end());
  expect(a, words);
}
#endif
