// Grids: barriers over all blocks, blocks that wait for others, special registers, clocks, three dimensions, many blocks.
// nvcc: -arch=sm_80
#include "program.h"
#ifdef KERNELS
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned arrived, phase;
__device__ void barrier(unsigned blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned before = *(volatile unsigned *)&phase;
    __threadfence();
    if (atomicAdd(&arrived, 1) == blocks - 1) {
      arrived = 0;
      __threadfence();
      atomicAdd(&phase, 1);
    } else
      while (*(volatile unsigned *)&phase == before) __nanosleep(100);
    __threadfence();
  }
  __syncthreads();
}
KERNEL rounds(int *data, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int s = 0; s < steps; ++s) {
    int v = data[(i + 1) % n] + data[i];
    barrier(gridDim.x);
    data[i] = v;
    barrier(gridDim.x);
  }
}
KERNEL indices(unsigned *out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
  unsigned lane, warp, lt, ge;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[(z * h + y) * w + x] = x + 100 * y + 10000 * z + 1000000 * (lane == t % 32 && (lt ^ ge) == ~0u && __popc(lt) == lane) + 10000000 * cg::this_grid().thread_rank();
}
KERNEL clocks(long long *out) {
  long long a = clock64();
  unsigned b = clock(), g, s, n;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(g));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(n));
  __nanosleep(1000);
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += __popc(i * threadIdx.x);
  out[threadIdx.x] = (clock64() > a) + 2 * (s < n) + 4 * (warpSize == 32) + (long long)sum * 8;
}
KERNEL count(unsigned long long *sum) {
  if (threadIdx.x == 0) atomicAdd(sum, (unsigned long long)blockIdx.x * gridDim.y + blockIdx.y);
}
#else
void program() {
  const int n = 4 * 64;
  auto v = random<int>(n, -5, 5);
  auto b = buffer(v);
  launch("rounds", {4, 64}, b, n, 3);
  for (int s = 0; s < 3; ++s) {
    auto old = v;
    for (int i = 0; i < n; ++i) v[i] = old[i] + old[(i + 1) % n];
  }
  expect(b, v);

  std::vector<unsigned> out(6 * 6 * 8);
  for (unsigned i = 0; i < out.size(); ++i) {
    unsigned x = i % 6, y = i / 6 % 6, z = i / 36;
    unsigned block = (z / 4 * 2 + y / 3) * 3 + x / 2, thread = (z % 4 * 3 + y % 3) * 2 + x % 2;
    out[i] = x + 100 * y + 10000 * z + 1000000 + 10000000 * (block * 24 + thread);
  }
  auto bo = zeros<unsigned>(out.size());
  launch("indices", {{3, 2, 2}, {2, 3, 4}}, bo);
  expect(bo, out);

  std::vector<int64_t> sums;
  for (int t = 0; t < 33; ++t) {
    int sum = 0;
    for (int i = 0; i < 100; ++i) sum += __builtin_popcount(i * t);
    sums.push_back(7 + sum * 8);
  }
  auto bc = zeros<int64_t>(33);
  launch("clocks", {1, 33}, bc);
  expect(bc, sums);

  auto total = zeros<uint64_t>(1);
  launch("count", {{500, 3}, 32}, total);
  expect(total, std::vector<uint64_t>{1500 * 1499 / 2});
}
#endif
