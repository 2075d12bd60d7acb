// Sorting: bitonic in shared memory, radix ranking with match and ballot, merge path, insertion sort in local memory.
#include <cstdint>
template <class K> __device__ bool less_than(K a, K b) { return a < b; }
template <class K, int N> __global__ void bitonic_block(K *keys) {
  __shared__ K s[N];
  for (int i = threadIdx.x; i < N; i += blockDim.x) s[i] = keys[blockIdx.x * N + i];
  for (int k = 2; k <= N; k <<= 1)
    for (int j = k >> 1; j; j >>= 1) {
      __syncthreads();
      for (int i = threadIdx.x; i < N; i += blockDim.x) {
        int o = i ^ j;
        if (o > i && (less_than(s[o], s[i]) == ((i & k) == 0))) { K t = s[i]; s[i] = s[o]; s[o] = t; }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += blockDim.x) keys[blockIdx.x * N + i] = s[i];
}
template __global__ void bitonic_block<int, 512>(int *);
template __global__ void bitonic_block<double, 256>(double *);
template __global__ void bitonic_block<uint8_t, 1024>(uint8_t *);
template __global__ void bitonic_block<int16_t, 1024>(int16_t *);

template <int BITS> __global__ void radix_rank(const unsigned *keys, unsigned *ranks, unsigned *counts, int n, int shift) {
  __shared__ unsigned bins[1 << BITS];
  for (int i = threadIdx.x; i < (1 << BITS); i += blockDim.x) bins[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned digit = i < n ? (keys[i] >> shift) & ((1 << BITS) - 1) : 0;
  unsigned peers = __match_any_sync(__activemask(), digit);
  unsigned lower, base = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
  int leader = __ffs(peers) - 1;
  if ((int)(threadIdx.x & 31) == leader) base = atomicAdd(&bins[digit], __popc(peers));
  base = __shfl_sync(peers, base, leader);
  if (i < n) ranks[i] = base + __popc(peers & lower);
  __syncthreads();
  for (int b = threadIdx.x; b < (1 << BITS); b += blockDim.x) counts[b * gridDim.x + blockIdx.x] = bins[b];
}
template __global__ void radix_rank<4>(const unsigned *, unsigned *, unsigned *, int, int);
template __global__ void radix_rank<8>(const unsigned *, unsigned *, unsigned *, int, int);

template <class T> __global__ void merge_path(const T *a, int na, const T *b, int nb, T *out) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= na + nb) return;
  int lo = max(0, d - nb), hi = min(d, na);
  while (lo < hi) { int mid = (lo + hi) >> 1; if (a[mid] <= b[d - 1 - mid]) lo = mid + 1; else hi = mid; }
  int i = lo, j = d - lo;
  out[d] = j >= nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
}
template __global__ void merge_path<float>(const float *, int, const float *, int, float *);
template __global__ void merge_path<long>(const long *, int, const long *, int, long *);

__global__ void insertion(int *data, int len) {
  int local[48];
  int base = (blockIdx.x * blockDim.x + threadIdx.x) * len;
  for (int i = 0; i < len; ++i) {
    int v = data[base + i], j = i;
    while (j > 0 && local[j - 1] > v) { local[j] = local[j - 1]; --j; }
    local[j] = v;
  }
  for (int i = 0; i < len; ++i) data[base + i] = local[i];
}
