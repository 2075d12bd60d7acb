// Device-wide algorithms of CUB and Thrust; with BIG many instantiations, one large file.
#include <cub/cub.cuh>
#include <cstdint>
struct Larger { template <class T> __host__ __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; } };
struct Positive { template <class T> __host__ __device__ bool operator()(const T &a) const { return a > T(0); } };
template <class K, class V> void use(K *k, K *k2, V *v, V *v2, int n, int *cnt) {
  void *tmp = nullptr; size_t bytes = 0;
  cub::DeviceReduce::Sum(tmp, bytes, v, v2, n); cub::DeviceScan::ExclusiveSum(tmp, bytes, v, v2, n); cub::DeviceSelect::If(tmp, bytes, k, k2, cnt, n, Positive{});
#ifdef BIG
  cub::DeviceRadixSort::SortPairs(tmp, bytes, k, k2, v, v2, n); cub::DeviceReduce::Reduce(tmp, bytes, v, v2, n, Larger{}, V{}); cub::DeviceRunLengthEncode::Encode(tmp, bytes, k, k2, cnt, cnt + 1, n);
 
#endif
}
void host() { use<unsigned, float>(0, 0, 0, 0, 1, 0);
#ifdef BIG
  use<int16_t, double>(0, 0, 0, 0, 1, 0);
#endif
}
__global__ void block_level(int *data, float *f) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>; using Sort = cub::BlockRadixSort<int, 128, 4>; using Scan = cub::BlockScan<int, 128>; using Red = cub::WarpReduce<float>;
  __shared__ union { typename Load::TempStorage l; typename Sort::TempStorage s; typename Scan::TempStorage c; typename Red::TempStorage r[4]; } t; int v[4];
  Load(t.l).Load(data, v); __syncthreads(); Sort(t.s).Sort(v); __syncthreads(); Scan(t.c).InclusiveSum(v, v); __syncthreads(); cub::StoreDirectBlocked(threadIdx.x, data, v); f[threadIdx.x] = Red(t.r[threadIdx.x / 32]).Reduce(f[threadIdx.x], Larger{});
}
