// Persistent CTAs that cancel CTAs and clusters which have not begun, and take their work.
// nvcc: -arch=sm_100a
#include "program.h"
#ifdef KERNELS
#include <cuda/ptx>
namespace ptx = cuda::ptx;
struct Control {
  alignas(16) unsigned long long response[2];
  alignas(8) uint64_t bar;
};
__device__ bool canceled(const Control &c, dim3 &first) {
  unsigned flag, x, y, z;
  asm volatile("{\n.reg .b128 r;\n.reg .pred p;\nld.shared.b128 r, [%4];\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
               "selp.u32 %0, 1, 0, p;\nmov.u32 %1, 0;\nmov.u32 %2, 0;\nmov.u32 %3, 0;\n"
               "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%1, %2, %3, _}, r;\n}"
               : "=r"(flag), "=r"(x), "=r"(y), "=r"(z)
               : "r"((unsigned)__cvta_generic_to_shared(c.response)) : "memory");
  first = dim3(x, y, z);
  return flag;
}
// Each tile is done once, by some CTA.
KERNEL tiles(const int *in, int *out, int *done, int *started) {
  __shared__ Control control;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&control.bar, 1);
    atomicAdd(started, 1);
  }
  __syncthreads();
  unsigned phase = 0;
  for (dim3 tile = dim3(blockIdx.x, blockIdx.y, blockIdx.z);; phase ^= 1) {
    if (threadIdx.x == 0) {
      ptx::clusterlaunchcontrol_try_cancel(control.response, &control.bar);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &control.bar, 16);
    }
    int number = (tile.z * gridDim.y + tile.y) * gridDim.x + tile.x, i = number * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k <= number % 7; ++k) sum += in[(i + k) % (gridDim.x * gridDim.y * gridDim.z * blockDim.x)] * (k + 1);
    out[i] += sum;
    if (threadIdx.x == 0) atomicAdd(&done[number], 1);
    while (!ptx::mbarrier_try_wait_parity(&control.bar, phase)) {}
    bool more = canceled(control, tile);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (!more) return;
  }
}
// A cluster cancels a cluster: the response goes to all of its CTAs.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_tiles(const int *in, int *out, int *started) {
  __shared__ Control control;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&control.bar, 1);
    atomicAdd(started, 1);
  }
  unsigned rank = blockIdx.x % 2, phase = 0;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  for (dim3 first = dim3(blockIdx.x - rank, blockIdx.y, blockIdx.z);; phase ^= 1) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_shared, &control.bar, 16);
      if (rank == 0) ptx::clusterlaunchcontrol_try_cancel_multicast(control.response, &control.bar);
    }
    int i = ((first.y * gridDim.x) + first.x + rank) * blockDim.x + threadIdx.x;
    out[i] += in[i] * in[i] + first.y;
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &control.bar, phase)) {}
    bool more = canceled(control, first);
    ptx::fence_proxy_async(ptx::space_shared);
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (!more) return;
  }
}
#else
void program() {
  const int count = 5 * 4 * 3, n = count * 64;
  auto in = random<int>(n, -100, 100);
  std::vector<int> out(n);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k <= i / 64 % 7; ++k) out[i] += in[(i + k) % n] * (k + 1);
  auto a = buffer(in), b = zeros<int>(n), done = zeros<int>(count), started = zeros<int>(1);
  launch("tiles", {{5, 4, 3}, 64}, a, b, done, started);
  expect(b, out);
  expect(done, std::vector<int>(count, 1));

  std::vector<int> squares(8 * 6 * 32);
  for (int i = 0; i < 8 * 6 * 32; ++i) squares[i] = in[i] * in[i] + i / (8 * 32);
  auto c = zeros<int>(8 * 6 * 32), clusters = zeros<int>(1);
  launch("cluster_tiles", {{8, 6}, 32}, a, c, clusters);
  expect(c, squares);
}
#endif
