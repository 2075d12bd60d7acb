// Thread-block clusters: shared memory of other blocks, barriers, ranks, and a histogram over a cluster.
// nvcc: -arch=sm_90
#include "program.h"
#ifdef KERNELS
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const int *in, int *out) {
  __shared__ int mine[32];
  auto cluster = cg::this_cluster();
  mine[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  int *theirs = cluster.map_shared_rank(mine, next);
  out[blockIdx.x * 32 + threadIdx.x] = theirs[31 - threadIdx.x] * 10 + cluster.block_rank() + 1000 * (cluster.query_shared_rank(theirs) == next);
  cluster.sync();
}
KERNEL histogram(const unsigned char *in, int *bins, int n) {
  extern __shared__ int part[];
  auto cluster = cg::this_cluster();
  int each = 256 / cluster.num_blocks();
  for (int i = threadIdx.x; i < each; i += blockDim.x) part[i] = 0;
  cluster.sync();
  for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    int bin = in[i];
    atomicAdd(cluster.map_shared_rank(part, bin / each) + bin % each, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < each; i += blockDim.x) atomicAdd(bins + cluster.block_rank() * each + i, part[i]);
}
KERNEL split(int *out) {
  __shared__ int value;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) value = cluster.block_rank() * 7;
  auto token = cluster.barrier_arrive();
  int own = threadIdx.x * threadIdx.x;
  cluster.barrier_wait(std::move(token));
  int sum = 0;
  for (unsigned r = 0; r < cluster.num_blocks(); ++r) sum += *cluster.map_shared_rank(&value, r);
  out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = own + sum + 100000 * (int)cluster.block_rank();
  cluster.sync();
}
#else
void program() {
  auto in = random<int>(8 * 32, -500, 500);
  std::vector<int> out;
  for (int b = 0; b < 8; ++b)
    for (int t = 0; t < 32; ++t) out.push_back(in[(b / 4 * 4 + (b + 1) % 4) * 32 + 31 - t] * 10 + b % 4 + 1000);
  auto bo = zeros<int>(256);
  launch("ring", {8, 32, 0, 4}, buffer(in), bo);
  expect(bo, out);

  auto bytes = random_words<uint8_t>(600);
  std::vector<int> bins(256);
  for (auto b : bytes) ++bins[b];
  auto bb = zeros<int>(256);
  launch("histogram", {2, 64, 128 * 4, 2}, buffer(bytes), bb, 600);
  expect(bb, bins);

  std::vector<int> sums;
  for (int b = 0; b < 4; ++b)
    for (int t = 0; t < 16; ++t) sums.push_back(t * t + (0 + 1 + 2 + 3) * 7 + 100000 * b);
  auto bs = zeros<int>(64);
  launch("split", {{2, 2}, 16, 0, {2, 2}}, bs);
  expect(bs, sums);
}
#endif
