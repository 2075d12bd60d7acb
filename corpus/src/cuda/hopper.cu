// Clusters, tensor memory accelerator, mbarriers, distributed shared memory, grid and cluster groups, programmatic launch.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda.h>
namespace cg = cooperative_groups; namespace p = cuda::ptx;
__global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128) cluster_histogram(unsigned *bins, const int *data, int n) {
  __shared__ unsigned mine[64]; cg::cluster_group c = cg::this_cluster();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) mine[i] = 0;
  c.sync();
  for (int i = c.thread_rank(); i < n; i += c.num_threads()) { int b = data[i] & 255; atomicAdd(c.map_shared_rank(mine, b / 64) + b % 64, 1u); }
  c.sync();
  if (threadIdx.x < 64) atomicAdd(bins + c.block_rank() * 64 + threadIdx.x, mine[threadIdx.x]);
}
__global__ void groups(float *o) {
  auto g = cg::this_grid(); auto b = cg::this_thread_block(); auto t = cg::tiled_partition<16>(b); float v = o[g.thread_rank()];
  v = cg::reduce(t, v, cg::plus<float>()); v += t.shfl(v, 3) + t.any(v > 0); auto a = cg::coalesced_threads(); v += a.size(); auto l = cg::labeled_partition(t, (int)v & 3); v += l.thread_rank();
  o[g.thread_rank()] = v; g.sync(); b.sync(); cudaGridDependencySynchronize(); cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void tile_copy(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int *g, int x, int y) {
  __shared__ alignas(128) int tile[32][32]; __shared__ uint64_t bar;
  if (threadIdx.x == 0) { p::mbarrier_init(&bar, 1); p::fence_mbarrier_init(p::sem_release, p::scope_cluster); p::fence_proxy_async(p::space_shared); }
  __syncthreads();
  uint64_t st = 0; const int32_t c2[2] = {x, y}, c3[3] = {x, y, 0}, c5[5] = {x, y, 1, 2, 3};
  if (threadIdx.x == 0) {
    p::cp_async_bulk_tensor(p::space_cluster, p::space_global, tile, &in, c2, &bar);
    p::cp_async_bulk_tensor(p::space_cluster, p::space_global, tile, &in, c5, &bar);
    p::cp_async_bulk(p::space_cluster, p::space_global, tile, g, 1024u, &bar);
    st = p::mbarrier_arrive_expect_tx(p::sem_release, p::scope_cta, p::space_shared, &bar, 3 * 4096u);
  }
  while (!p::mbarrier_try_wait(&bar, st)) {}
  while (!p::mbarrier_try_wait_parity(p::sem_acquire, p::scope_cta, &bar, 1u)) {}
  tile[threadIdx.x & 31][threadIdx.x >> 5] += 1;
  p::fence_proxy_async(p::space_shared); __syncthreads();
  if (threadIdx.x == 0) {
    p::cp_async_bulk_tensor(p::space_global, p::space_shared, &out, c3, tile);
    p::cp_reduce_async_bulk(p::space_global, p::space_shared, p::op_add, (uint32_t *)g, (const uint32_t *)tile, 256u);
    p::cp_reduce_async_bulk_tensor(p::space_global, p::space_shared, p::op_max, &out, c2, tile);
    p::cp_async_bulk_commit_group(); p::cp_async_bulk_wait_group_read(p::n32_t<0>()); p::cp_async_bulk_wait_group(p::n32_t<0>());
  }
}
__global__ void block_barrier(int *g) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> b; __shared__ int s[256];
  if (threadIdx.x == 0) init(&b, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(s + threadIdx.x, g + threadIdx.x, sizeof(int), b);
  auto token = b.arrive(); b.wait(std::move(token)); g[threadIdx.x] = s[255 - threadIdx.x]; b.arrive_and_drop();
}
__global__ void remote(uint64_t *o, int *g) {
  __shared__ uint64_t b; p::st_async(g, 5, &b); p::red_async(p::op_inc, (uint32_t *)g, 3u, &b);
  p::mbarrier_arrive(p::sem_release, p::scope_cluster, p::space_cluster, &b); p::barrier_cluster_arrive(p::sem_release); p::barrier_cluster_wait(p::sem_acquire);
  o[0] = p::getctarank(p::space_cluster, g); p::fence_proxy_tensormap_generic(p::sem_acquire, p::scope_sys, o, p::n32_t<128>()); p::fence(p::sem_sc, p::scope_cluster);
  o[1] = p::get_sreg_cluster_ctarank() + p::get_sreg_cluster_nctaid_y() + p::get_sreg_is_explicit_cluster(); asm volatile("multimem.red.relaxed.sys.global.add.f32 [%0], 0f3F800000;" ::"l"(g) : "memory");
}
