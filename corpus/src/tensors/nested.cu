// Launches from kernels, with tensor maps and clusters.
// nvcc: -rdc=true -arch=sm_90a
#include "tensors.h"

#define FIELD(name, ...) asm volatile("tensormap.replace.tile." name ::__VA_ARGS__ : "memory")

// Adds the rows of a tensor in tiles of 8 x 8, in clusters of two CTAs: each adds half of the columns, and the first one both sums.
extern "C" __global__ void __cluster_dims__(2, 1, 1) add_rows(Map *map, int columns, int rows, int *sums) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) int tile[64];
  __shared__ int parts[2][8];
  int rank = cluster_rank(), phase = 0, sum = 0, t = threadIdx.x, first = blockIdx.x / 2 * 8;
  if (t == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
  }
  __syncthreads();
  cluster_wait();
  for (int x = rank * 8; x < columns; x += 16, phase ^= 1) {
    if (t == 0) {
      barrier_expect(&barrier, 256);
      load_2d(tile, map, &barrier, x, first);
    }
    barrier_wait(&barrier, phase);
    if (t < 8)
      for (int i = 0; i < 8; ++i) sum += tile[t * 8 + i];
    __syncthreads();
  }
  if (t < 8) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapped(address(&parts[rank][t]), 0)), "r"(sum) : "memory");
  cluster_wait();
  if (rank == 0 && t < 8 && first + t < rows) sums[first + t] = parts[0][t] + parts[1][t];
}
struct Group {
  const int *tensor;
  int *sums;
  int rows, columns;
};
// Each thread makes the map of its tensor, and launches what adds its rows.
KERNEL launch_groups(const Group *groups, Map *maps) {
  Group g = groups[threadIdx.x];
  Map *map = maps + threadIdx.x;
  FIELD("global_address.global.b1024.b64 [%0], %1;", "l"(map), "l"(g.tensor));
  FIELD("rank.global.b1024.b32 [%0], 1;", "l"(map));
  FIELD("box_dim.global.b1024.b32 [%0], 0, 8;", "l"(map));
  FIELD("box_dim.global.b1024.b32 [%0], 1, 8;", "l"(map));
  FIELD("global_dim.global.b1024.b32 [%0], 0, %1;", "l"(map), "r"(g.columns));
  FIELD("global_dim.global.b1024.b32 [%0], 1, %1;", "l"(map), "r"(g.rows));
  FIELD("global_stride.global.b1024.b64 [%0], 0, %1;", "l"(map), "l"((uint64_t)g.columns * 4));
  FIELD("element_stride.global.b1024.b32 [%0], 0, 1;", "l"(map));
  FIELD("element_stride.global.b1024.b32 [%0], 1, 1;", "l"(map));
  FIELD("elemtype.global.b1024.b32 [%0], 3;", "l"(map));
  FIELD("interleave_layout.global.b1024.b32 [%0], 0;", "l"(map));
  FIELD("swizzle_mode.global.b1024.b32 [%0], 0;", "l"(map));
  FIELD("fill_mode.global.b1024.b32 [%0], 0;", "l"(map));
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
  add_rows<<<(g.rows + 7) / 8 * 2, 32>>>(map, g.columns, g.rows, g.sums);
}

// Sums of pairs, until one number is left: each grid launches the next one after itself, on half of the numbers.
KERNEL halve(int *data, int count, int *levels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, half = (count + 1) / 2;
  if (i < count / 2) data[i] += data[i + half];
  if (i == 0) {
    ++*levels;
    if (half > 1) halve<<<(half / 2 + 63) / 64, 64, 0, cudaStreamTailLaunch>>>(data, half, levels);
  }
}
