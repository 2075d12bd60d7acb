// Bulk copies and their barriers by way of cuda::ptx: to shared memory and back, reductions, arrivals that expect bytes, elections.
// nvcc: -arch=sm_90
// variants: O3
#include "program.h"
#ifdef KERNELS
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
KERNEL there_and_back(const int *in, int *out, int *sums) {
  __shared__ alignas(16) int tile[256];
  __shared__ uint64_t barrier;
  int block = blockIdx.x;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + 256 * block, 1024, &barrier);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 1024);
  }
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) {}
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = tile[i] * 2 + i;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x / 32 == 0 && ptx::elect_sync(~0u)) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 256 * block, tile, 1024);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, tile, 512);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
KERNEL phases(const int *in, int *out, int n) {
  using barrier_t = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(16) int tile[2][64];
  __shared__ barrier_t bar[2];
  if (threadIdx.x == 0) init(&bar[0], blockDim.x), init(&bar[1], blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    barrier_t::arrival_token token;
    if (threadIdx.x == 0) {
      cuda::device::memcpy_async_tx(tile[i % 2], in + 64 * i, cuda::aligned_size_t<16>(256), bar[i % 2]);
      token = cuda::device::barrier_arrive_tx(bar[i % 2], 1, 256);
    } else
      token = bar[i % 2].arrive();
    bar[i % 2].wait(std::move(token));
    sum = sum * 5 + tile[i % 2][63 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
#else
void program() {
  auto in = random<int>(512, -999, 999);
  std::vector<int> out, sums(128);
  for (int i = 0; i < 512; ++i) {
    out.push_back(in[i] * 2 + i % 256);
    if (i % 256 < 128) sums[i % 256] += out.back();
  }
  auto bi = buffer(in), bo = zeros<int>(512), bs = zeros<int>(128);
  launch("there_and_back", {2, 64}, bi, bo, bs);
  expect(bo, out);
  expect(bs, sums);
  std::vector<int> all(64);
  for (int i = 0; i < 5; ++i)
    for (int t = 0; t < 64; ++t) all[t] = all[t] * 5 + in[64 * i + 63 - t];
  auto ba = zeros<int>(64);
  launch("phases", {1, 64}, bi, ba, 5);
  expect(ba, all);
}
#endif
