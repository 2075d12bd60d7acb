// Reductions, scans, histograms and a stencil: shuffles, shared memory, barriers, dynamic shared memory.
#include <cstdint>
template <class T> struct Sum { __device__ T operator()(T a, T b) const { return a + b; } static __device__ T zero() { return T(0); } };
template <class T> struct Max { __device__ T operator()(T a, T b) const { return a > b ? a : b; } static __device__ T zero() { return T(-1); } };
template <class T> struct And { __device__ T operator()(T a, T b) const { return a & b; } static __device__ T zero() { return ~T(0); } };

template <class T, class Op> __device__ T warp_reduce(T v, Op op) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}
template <class T, class Op> __device__ T block_reduce(T v, Op op) {
  __shared__ T part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_reduce(v, op);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? part[lane] : Op::zero();
  return warp == 0 ? warp_reduce(v, op) : v;
}
template <class T, class Op> __global__ void reduce(const T *in, T *out, size_t n) {
  Op op; T v = Op::zero();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) v = op(v, in[i]);
  v = block_reduce(v, op);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}
template __global__ void reduce<float, Sum<float>>(const float *, float *, size_t);
template __global__ void reduce<double, Max<double>>(const double *, double *, size_t);
template __global__ void reduce<int, Max<int>>(const int *, int *, size_t);
template __global__ void reduce<uint64_t, And<uint64_t>>(const uint64_t *, uint64_t *, size_t);

// inclusive scan: one element per thread, warp totals in shared memory
template <class T> __global__ void scan(T *data, T *totals, int n) {
  __shared__ T sums[33];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  T v = i < n ? data[i] : T(0);
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) { T u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
  if (lane == 31) sums[warp + 1] = v;
  if (threadIdx.x == 0) sums[0] = T(0);
  __syncthreads();
  if (warp == 0) {
    T s = lane < (int)(blockDim.x / 32) ? sums[lane + 1] : T(0);
    for (int d = 1; d < 32; d <<= 1) { T u = __shfl_up_sync(~0u, s, d); if (lane >= d) s += u; }
    sums[lane + 1] = s;
  }
  __syncthreads();
  v += sums[warp];
  if (i < n) data[i] = v;
  if (threadIdx.x == blockDim.x - 1 && totals) totals[blockIdx.x] = v;
}
template __global__ void scan<int>(int *, int *, int);
template __global__ void scan<float>(float *, float *, int);
template __global__ void scan<long long>(long long *, long long *, int);

__global__ void histogram(const uchar4 *px, unsigned *bins, int n) {
  extern __shared__ unsigned local[];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    uchar4 p = px[i];
    atomicAdd(local + p.x, 1u); atomicAdd(local + p.y, 1u); atomicAdd(local + p.z, 1u); atomicAdd(local + p.w, 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (local[i]) atomicAdd(bins + i, local[i]);
}

__constant__ float weights[7] = {0.0625f, 0.125f, 0.25f, 0.125f, 0.25f, 0.125f, 0.0625f};
__global__ void __launch_bounds__(128) stencil7(const float *in, float *out, int nx, int ny, int nz) {
  __shared__ float plane[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float below = 0, here = in[y * nx + x], above = in[(ny + y) * nx + x];
  for (int z = 1; z + 1 < nz; ++z) {
    below = here; here = above; above = in[((z + 1) * ny + y) * nx + x];
    __syncthreads();
    plane[threadIdx.y + 1][threadIdx.x + 1] = here;
    if (threadIdx.x == 0) plane[threadIdx.y + 1][0] = x ? in[(z * ny + y) * nx + x - 1] : 0.f;
    if (threadIdx.x == 15) plane[threadIdx.y + 1][17] = x + 1 < nx ? in[(z * ny + y) * nx + x + 1] : 0.f;
    __syncthreads();
    out[(z * ny + y) * nx + x] = weights[0] * below + weights[6] * above + weights[3] * here +
      weights[1] * plane[threadIdx.y][threadIdx.x + 1] + weights[5] * plane[threadIdx.y + 2][threadIdx.x + 1] +
      weights[2] * plane[threadIdx.y + 1][threadIdx.x] + weights[4] * plane[threadIdx.y + 1][threadIdx.x + 2];
  }
}
