// Products of the fifth generation of tensor cores: each kind, a pipeline, and pairs of CTAs.
// nvcc: -arch=sm_100a
#include "tensor_memory.h"

// 128 x 64 sums of 128 bytes of each row. The host chooses the formats, signs and saturation by the instruction descriptor.
#define DENSE(name, kind) \
  KERNEL name(MAP a_map, MAP b_map, uint32_t code, int bytes, uint32_t *out) { \
    dense(&a_map, &b_map, bytes, out, [=](uint32_t d, uint64_t a, uint64_t b, int add) { MULTIPLY(kind, d, a, b, code, add); }); \
  }
template <typename Multiply> DEVICE void dense(const Map *a_map, const Map *b_map, int bytes, uint32_t *out, Multiply multiply) {
  __shared__ uint64_t barriers[2];
  __shared__ uint32_t place;
  char *a = memory, *b = memory + 16384;
  uint32_t d = allocate<64>(&place);
  if (threadIdx.x == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    barrier_expect(&barriers[0], bytes);
    load_2d(a, a_map, &barriers[0], 0, 0);
    load_2d(b, b_map, &barriers[0], 0, 0);
    barrier_wait(&barriers[0], 0);
    #pragma unroll 1
    for (int byte = 0; byte < 128; byte += 32) multiply(d, rows_of_128(a, byte), rows_of_128(b, byte), byte);
    tensor_commit(&barriers[1]);
  }
  __syncthreads();
  barrier_wait(&barriers[1], 0);
  tensor_after();
  copy_out(d + lanes_of(threadIdx.x / 32), 64, out + threadIdx.x * 64);
  release<64>(d);
}
DENSE(dense_f16, "f16")
DENSE(dense_tf32, "tf32")
DENSE(dense_f8f6f4, "f8f6f4")
DENSE(dense_i8, "i8")

// A producer warp, a warp that multiplies, and four warps that read results: two tiles of the result take turns in tensor memory.
KERNEL __launch_bounds__(192) pipeline(MAP a_map, MAP b_map, int tiles, int k_steps, float *out) {
  constexpr int STAGES = 2, STAGE = 16384 + 8192, CODE = 1 << 4 | 1 << 7 | 1 << 10 | 64 / 8 << 17 | 128 / 16 << 24;
  __shared__ uint64_t full[STAGES], empty[STAGES], done[2], read[2];
  __shared__ uint32_t place;
  int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) barrier_init(&full[i], 1), barrier_init(&empty[i], 1);
    for (int i = 0; i < 2; ++i) barrier_init(&done[i], 1), barrier_init(&read[i], 128);
    barrier_fence();
  }
  uint32_t d = allocate<128>(&place);
  if (warp == 0) {
    if (elected())
      for (int step = 0; step < tiles * k_steps; ++step) {
        int s = step % STAGES;
        if (step >= STAGES) barrier_wait(&empty[s], (step / STAGES - 1) & 1);
        barrier_expect(&full[s], STAGE);
        load_2d(memory + s * STAGE, &a_map, &full[s], step % k_steps * 64, step / k_steps * 128);
        load_2d(memory + s * STAGE + 16384, &b_map, &full[s], step % k_steps * 64, 0);
      }
  } else if (warp == 1) {
    if (elected())
      for (int step = 0; step < tiles * k_steps; ++step) {
        int s = step % STAGES, tile = step / k_steps, half = tile % 2;
        if (step % k_steps == 0 && tile >= 2) {
          barrier_wait(&read[half], (tile / 2 - 1) & 1);
          tensor_after();
        }
        barrier_wait(&full[s], step / STAGES & 1);
        char *stage = memory + s * STAGE;
        #pragma unroll 1
        for (int byte = 0; byte < 128; byte += 32)
          MULTIPLY("f16", d + half * 64, rows_of_128(stage, byte), rows_of_128(stage + 16384, byte), CODE, step % k_steps || byte);
        tensor_commit(&empty[s]);
        if (step % k_steps == k_steps - 1) tensor_commit(&done[half]);
      }
  } else {
    int row = warp % 4 * 32 + threadIdx.x % 32;
    for (int tile = 0; tile < tiles; ++tile) {
      barrier_wait(&done[tile % 2], tile / 2 & 1);
      tensor_after();
      copy_out(d + tile % 2 * 64 + lanes_of(warp), 64, (uint32_t *)out + (tile * 128 + row) * 64);
      tensor_before();
      barrier_arrive(&read[tile % 2]);
    }
  }
  __syncwarp();
  release<128>(d);
}

// Two CTAs multiply 256 x 128 x 64 halves: each loads its rows of the first and half of the second factor, and reads its rows of the result.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(MAP a_map, MAP b_map, uint32_t code, uint32_t *out) {
  __shared__ uint64_t barriers[2];
  __shared__ uint32_t place;
  uint32_t rank = cluster_rank();
  if (threadIdx.x / 32 == 0) {
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(address(&place)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
  }
  if (threadIdx.x == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    if (rank == 0) barrier_expect(&barriers[0], 2 * (16384 + 8192));
  }
  tensor_before();
  __syncthreads();
  cluster_wait();
  tensor_after();
  uint32_t d = place;
  if (threadIdx.x == 0) {
    // Both CTAs complete at the object of the first one.
    uint32_t first = mapped(address(&barriers[0]), 0);
    asm volatile(LOAD("2d") COMPLETE ".cta_group::2 [%0], [%1, {%3, %4}], [%2];" ::"r"(address(memory)), "l"(&a_map), "r"(first), "r"(0),
                 "r"(rank * 128) : "memory");
    asm volatile(LOAD("2d") COMPLETE ".cta_group::2 [%0], [%1, {%3, %4}], [%2];" ::"r"(address(memory + 16384)), "l"(&b_map), "r"(first), "r"(0),
                 "r"(rank * 64) : "memory");
    if (rank == 0) {
      barrier_wait(&barriers[0], 0);
      #pragma unroll 1
    for (int byte = 0; byte < 128; byte += 32)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
                     "l"(rows_of_128(memory, byte)), "l"(rows_of_128(memory + 16384, byte)), "r"(code), "r"(byte) : "memory");
      asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(address(&barriers[1])),
                   "h"((uint16_t)3) : "memory");
    }
  }
  __syncthreads();
  barrier_wait(&barriers[1], 0);
  tensor_after();
  copy_out(d + lanes_of(threadIdx.x / 32), 128, out + (rank * 128 + threadIdx.x) * 128);
  tensor_before();
  __syncthreads();
  cluster_wait();
  tensor_after();
  if (threadIdx.x / 32 == 0) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 128;" ::"r"(d));
}
