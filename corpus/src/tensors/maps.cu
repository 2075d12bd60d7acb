// Tensor maps that kernels make or change.
// nvcc: -arch=sm_90a
#include "tensors.h"

#define FIELD(name, ...) asm volatile("tensormap.replace.tile." name ::__VA_ARGS__ : "memory")
struct Problem {
  const char *in;
  char *out;
  unsigned rows, columns;
};

// Sets all fields of a map in shared memory.
DEVICE void make_map(Map *map, const void *tensor, unsigned columns, unsigned rows, unsigned box_rows) {
  uint32_t m = address(map);
  FIELD("global_address.shared::cta.b1024.b64 [%0], %1;", "r"(m), "l"(tensor));
  FIELD("rank.shared::cta.b1024.b32 [%0], 1;", "r"(m));
  FIELD("box_dim.shared::cta.b1024.b32 [%0], 0, 16;", "r"(m));
  FIELD("box_dim.shared::cta.b1024.b32 [%0], 1, %1;", "r"(m), "r"(box_rows));
  FIELD("global_dim.shared::cta.b1024.b32 [%0], 0, %1;", "r"(m), "r"(columns));
  FIELD("global_dim.shared::cta.b1024.b32 [%0], 1, %1;", "r"(m), "r"(rows));
  FIELD("global_stride.shared::cta.b1024.b64 [%0], 0, %1;", "r"(m), "l"((uint64_t)columns * 4));
  FIELD("element_stride.shared::cta.b1024.b32 [%0], 0, 1;", "r"(m));
  FIELD("element_stride.shared::cta.b1024.b32 [%0], 1, 1;", "r"(m));
  FIELD("elemtype.shared::cta.b1024.b32 [%0], 2;", "r"(m));
  FIELD("interleave_layout.shared::cta.b1024.b32 [%0], 0;", "r"(m));
  FIELD("swizzle_mode.shared::cta.b1024.b32 [%0], 2;", "r"(m));
  FIELD("fill_mode.shared::cta.b1024.b32 [%0], 0;", "r"(m));
}
// Copies a map of shared memory to global memory, where copies find it.
DEVICE void publish(Map *to, Map *from) {
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to), "r"(address(from))
               : "memory");
}
DEVICE void acquire(Map *map) { asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory"); }

// Copies matrices of different sizes, with a map for each of the two.
KERNEL grouped(const Problem *problems, Map *maps) {
  __shared__ uint64_t barrier;
  __shared__ Map in, out;
  __shared__ __align__(1024) unsigned tile[16 * 16];
  Problem p = problems[blockIdx.x];
  Map *mine = maps + blockIdx.x * 2;
  for (int i = threadIdx.x; i < 32; i += 32) ((int *)&in)[i] = ((int *)&out)[i] = 0;
  __syncwarp();
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    make_map(&in, p.in, p.columns, p.rows, 16);
    make_map(&out, p.out, p.columns, p.rows, 16);
  }
  __syncwarp();
  publish(&mine[0], &in);
  publish(&mine[1], &out);
  acquire(&mine[0]);
  acquire(&mine[1]);
  __syncwarp();
  int phase = 0;
  for (int y = 0; y < p.rows; y += 16)
    for (int x = 0; x < p.columns; x += 16, phase ^= 1) {
      if (threadIdx.x == 0) {
        barrier_expect(&barrier, 1024);
        load_2d(tile, &mine[0], &barrier, x, y);
      }
      barrier_wait(&barrier, phase);
      for (int i = threadIdx.x; i < 256; i += 32) tile[i] = tile[i] * 3 + 1;
      proxy_fence();
      __syncwarp();
      if (threadIdx.x == 0) {
        store_2d(&mine[1], tile, x, y);
        commit_stores();
        wait_stores();
      }
      __syncwarp();
    }
}

// Changes a map of the host in global memory: the address and the size of a tensor.
KERNEL moved(Map *map, const unsigned *tensors, int columns, unsigned *out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) unsigned row[32];
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
  }
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x == 0) {
      FIELD("global_address.global.b1024.b64 [%0], %1;", "l"(map), "l"(tensors + i * columns));
      FIELD("global_dim.global.b1024.b32 [%0], 0, %1;", "l"(map), "r"(8 * (i + 1)));
      asm volatile("fence.proxy.tensormap::generic.release.gpu;\nfence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
      barrier_expect(&barrier, 128);
      load_1d(row, map, &barrier, 0);
    }
    barrier_wait(&barrier, i & 1);
    out[i * 32 + threadIdx.x] = row[threadIdx.x];
    __syncwarp();
  }
}

// Prefetches of maps and of boxes have no effect on what is copied later.
KERNEL prefetched(MAP map, const char *bytes, char *out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) char tile[2048];
  if (threadIdx.x == 0) {
    asm volatile("prefetch.param.tensormap [%0];" ::"l"(&map) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map), "r"(0), "r"(3) : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(bytes) : "memory");
    barrier_init(&barrier, 2);
    barrier_fence();
    barrier_expect(&barrier, 1024);
    load_2d(tile, &map, &barrier, 0, 3);
    barrier_expect(&barrier, 1024);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(address(tile + 1024)), "l"(bytes),
                 "r"(address(&barrier)) : "memory");
    barrier_wait(&barrier, 0);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 2048;" ::"l"(out), "r"(address(tile)) : "memory");
    commit_stores();
    wait_stores();
  }
}
