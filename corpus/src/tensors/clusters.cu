// Clusters and asynchronous copies: distributed shared memory, stores and reductions that complete at mbarrier objects, pipelines, and dependent grids.
// nvcc: -arch=sm_100a
#include "tensors.h"

// A histogram whose bins are distributed over the CTAs of a cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) distributed_histogram(const unsigned char *data, int count, unsigned *bins) {
  __shared__ unsigned part[64];
  uint32_t rank = cluster_rank();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) part[i] = 0;
  cluster_wait();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    uint32_t to = mapped(address(&part[data[i] % 64]), data[i] / 64);
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(to) : "memory");
  }
  cluster_wait();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&bins[rank * 64 + i], part[i]);
}

// Each CTA passes rows to the next one of the cluster, with asynchronous stores of one, two and four words.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const int *in, int *out, int rounds) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ __align__(16) int rows[2][128];
  uint32_t rank = cluster_rank(), next = (rank + 1) % 4, previous = (rank + 3) % 4, t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) barrier_init(&full[i], 1), barrier_init(&empty[i], 32);
    barrier_fence();
  }
  cluster_wait();
  int4 value = ((const int4 *)in)[blockIdx.x * 32 + t];
  for (int round = 0; round < rounds; ++round) {
    int slot = round % 2, parity = round / 2 & 1;
    if (t == 0) barrier_expect(&full[slot], 512);
    // The next CTA has read what was there two rounds before.
    if (round >= 2) {
      uint32_t done;
      do {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done) : "r"(address(&empty[slot])), "r"(parity ^ 1) : "memory");
      } while (!done);
    }
    uint32_t to = mapped(address(&rows[slot][t * 4]), next), barrier = mapped(address(&full[slot]), next);
    if (t % 3 == 0)
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(to), "r"(barrier), "r"(value.x),
                   "r"(value.y), "r"(value.z), "r"(value.w) : "memory");
    else if (t % 3 == 1)
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [%0], {%2, %3}, [%1];\n"
                   "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0+8], {%4, %5}, [%1];" ::"r"(to), "r"(barrier), "r"(value.x),
                   "r"(value.y), "r"(value.z), "r"(value.w) : "memory");
    else
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %2, [%1];\n"
                   "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0+8], %3, [%1];\n"
                   "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0+12], %4, [%1];" ::"r"(to), "r"(barrier),
                   "l"((uint64_t)(uint32_t)value.y << 32 | (uint32_t)value.x), "r"(value.z), "r"(value.w) : "memory");
    barrier_wait(&full[slot], parity);
    value = *(int4 *)&rows[slot][t * 4];
    value.x += 1;
    value.w ^= rank;
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(address(&empty[slot]), previous)) : "memory");
  }
  ((int4 *)out)[blockIdx.x * 32 + t] = value;
  cluster_wait();
}

// The CTAs of a cluster combine their numbers in the first one, with asynchronous reductions.
#define RED(name, offset, value) \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." name " [%0], %1, [%2];" ::"r"(to + (offset) * 4), "r"(value), \
               "r"(barrier) : "memory")
extern "C" __global__ void __cluster_dims__(4, 1, 1) async_reductions(const unsigned *in, unsigned *out) {
  __shared__ uint64_t all;
  __shared__ __align__(8) unsigned sums[12];
  uint32_t t = threadIdx.x, rank = cluster_rank();
  if (t < 12) sums[t] = t == 2 || t == 4 || t == 6 ? ~0u : t == 1 ? 0x7fffffff : 0;
  if (t == 3) sums[3] = 0x80000000;
  if (t == 0) {
    barrier_init(&all, 1);
    barrier_fence();
    if (rank == 0) barrier_expect(&all, 4 * 32 * (9 * 4 + 8));
  }
  cluster_wait();
  unsigned value = in[blockIdx.x * 32 + t];
  uint32_t to = mapped(address(sums), 0), barrier = mapped(address(&all), 0);
  RED("add.u32", 0, value);
  RED("min.s32", 1, value);
  RED("min.u32", 2, value);
  RED("max.s32", 3, value);
  RED("and.b32", 4, value | 0xfff);
  RED("max.u32", 5, value);
  RED("inc.u32", 7, 100);
  RED("or.b32", 8, value & 0xf0f);
  RED("xor.b32", 9, value);
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(to + 40), "l"((uint64_t)value << 8),
               "r"(barrier) : "memory");
  if (rank == 0) {
    barrier_wait(&all, 0);
    if (t < 12) out[blockIdx.x / 4 * 12 + t] = sums[t];
  }
  cluster_wait();
}

// Four stages of copies of 16 bytes, each of which arrives at an mbarrier object; products of matrices of a warp.
KERNEL multistage(const __half *a, const __half *b, float *out, int n, int k) {
  constexpr int STAGES = 4;
  __shared__ uint64_t full[STAGES];
  __shared__ __align__(16) __half tiles[STAGES][2][32 * 24];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, steps = k / 16;
  if (t == 0) for (int i = 0; i < STAGES; ++i) barrier_init(&full[i], 128);
  __syncthreads();
  auto copy = [&](int step) {
    // Each row has 32 bytes, at distances of 48.
    int s = step % STAGES, row = t / 2 % 32, half = t % 2, matrix = t / 64;
    const __half *from = (matrix ? b + blockIdx.x * 32 * k : a + blockIdx.y * 32 * k) + row * k + step * 16 + half * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.mbarrier.arrive.noinc.shared.b64 [%2];" ::"r"(
                     address(&tiles[s][matrix][row * 24 + half * 8])), "l"(from), "r"(address(&full[s])) : "memory");
  };
  for (int step = 0; step < STAGES - 1 && step < steps; ++step) copy(step);
  float d[2][4] = {};
  for (int step = 0; step < steps; ++step) {
    int s = step % STAGES;
    if (step + STAGES - 1 < steps) copy(step + STAGES - 1);
    barrier_wait(&full[s], step / STAGES & 1);
    uint32_t x[4], y[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address(&tiles[s][0][(warp / 2 * 16 + lane % 16) * 24 + lane / 16 * 8])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                 : "r"(address(&tiles[s][1][(warp % 2 * 16 + lane % 8 + lane / 16 * 8) * 24 + lane / 8 % 2 * 8])) : "memory");
    for (int i = 0; i < 2; ++i)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[i * 2]), "r"(y[i * 2 + 1]));
    __syncthreads();
  }
  int row = blockIdx.y * 32 + warp / 2 * 16 + lane / 4, column = blockIdx.x * 32 + warp % 2 * 16 + lane % 4 * 2;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) out[(row + j / 2 * 8) * n + column + i * 8 + j % 2] = d[i][j];
}

// Bulk copies between the CTAs of a cluster, from and to global memory, to several CTAs, and with a mask of bytes.
extern "C" __global__ void __cluster_dims__(2, 1, 1) bulk(const int *in, int *out, int *sums, unsigned char *masked) {
  __shared__ uint64_t barriers[2];
  __shared__ __align__(16) int mine[64], other[64], both[64];
  uint32_t t = threadIdx.x, rank = cluster_rank();
  if (t == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    barrier_expect(&barriers[0], 512);
    barrier_expect(&barriers[1], 256);
  }
  cluster_wait();
  if (t == 0) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(address(mine)), "l"(in + blockIdx.x * 64),
                 "r"(address(&barriers[0])) : "memory");
    // Each CTA sends half of the numbers to both.
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], %3;" ::"r"(
                     address(both + rank * 32)), "l"(in + 128 * 2 + rank * 32), "r"(address(&barriers[0])), "h"((uint16_t)3) : "memory");
    barrier_wait(&barriers[0], 0);
    uint32_t to = mapped(address(other), rank ^ 1), barrier = mapped(address(&barriers[1]), rank ^ 1);
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(to), "r"(address(mine)),
                 "r"(barrier) : "memory");
  }
  __syncwarp();
  barrier_wait(&barriers[0], 0);
  barrier_wait(&barriers[1], 0);
  for (int i = t; i < 64; i += 32) out[blockIdx.x * 64 + i] = mine[i] * 1000000 + other[i] * 1000 + both[i];
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(sums), "r"(address(mine)) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%0], [%1], 256, %2;" ::"l"(masked + blockIdx.x * 256), "r"(address(mine)),
                 "h"((uint16_t)0x5a0f) : "memory");
    commit_stores();
    wait_stores();
  }
  cluster_wait();
}

// Clusters take tiles of clusters that have not begun, and add parts of sums: each tile is one of K of a tile of the result.
extern "C" __global__ void __cluster_dims__(2, 1, 1) stealing(const int *a, const int *b, int *out, int k, int parts) {
  __shared__ uint64_t barrier;
  __shared__ __align__(16) uint4 answer;
  uint32_t rank = cluster_rank(), t = threadIdx.x;
  if (t == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
  }
  cluster_wait();
  unsigned x = blockIdx.x - rank, y = blockIdx.y, more = 1;
  for (int phase = 0; more; phase ^= 1) {
    if (t == 0) {
      barrier_expect(&barrier, 16);
      if (rank == 0)
        asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::"r"(
                         address(&answer)), "r"(address(&barrier)) : "memory");
    }
    int part = k / parts, first = y * part, row = (x + rank) * 8 + t / 8, column = t % 8, sum = 0;
    for (int i = first; i < first + part; ++i) sum += a[row * k + i] * b[i * 8 + column];
    atomicAdd(&out[row * 8 + column], sum);
    uint32_t done;
    do {
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                   : "=r"(done) : "r"(address(&barrier)), "r"(phase) : "memory");
    } while (!done);
    asm volatile("{\n.reg .b128 r;\n.reg .pred p;\nld.shared.b128 r, [%3];\nclusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
                 "selp.u32 %0, 1, 0, p;\nmov.u32 %1, 0;\nmov.u32 %2, 0;\n@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %2, r;\n}" : "=r"(more), "=r"(x), "=r"(y) : "r"(address(&answer)) : "memory");
    proxy_fence();
    cluster_wait();
  }
}

// The second grid may begin early, and waits for what the first one wrote.
KERNEL first_grid(int *data) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  data[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
}
KERNEL second_grid(const int *data, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  out[i] = ((volatile const int *)data)[count - 1 - i] * 2;
}

// Elections, votes and matches choose the lanes that write compacted lists.
KERNEL compacted(const int *in, int *out, int *counts) {
  int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, value = in[warp * 32 + lane], base = 0;
  unsigned keep = __ballot_sync(~0u, value % 3 == 0), equal = __match_any_sync(~0u, value % 5);
  if (elected()) counts[warp * 2] = __popc(keep);
  uint32_t leader;
  if (value % 3 == 0) {
    asm volatile("{\n.reg .pred p;\nelect.sync %0|p, %2;\n@p atom.global.add.u32 %1, [%3], %4;\n}" : "=r"(leader), "+r"(base) : "r"(keep), "l"(counts + 1),
                 "r"(__popc(keep)) : "memory");
    base = __shfl_sync(keep, base, leader);
    out[base + __popc(keep & ((1u << lane) - 1))] = value;
  }
  if (lane == __ffs(equal) - 1) atomicAdd(&counts[128 + value % 5], __popc(equal));
}
