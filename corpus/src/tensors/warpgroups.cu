// Products of warpgroups whose matrices come to shared memory by copies of parts of tensors.
// nvcc: -arch=sm_90a
#include "warpgroups.h"

// Two warpgroups multiply tiles of 64 rows and 64 columns; a third one copies what they need, three steps ahead at most.
KERNEL __launch_bounds__(384) specialized_bf16(MAP a_map, MAP b_map, MAP c_map, int k_steps) {
  constexpr int STAGES = 3, TILE = 64 * 128;
  __shared__ uint64_t full[STAGES], empty[STAGES];
  int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) barrier_init(&full[s], 1), barrier_init(&empty[s], 2);
    barrier_fence();
  }
  __syncthreads();
  char *a_tiles = memory, *b_tiles = memory + STAGES * 2 * TILE, *out = b_tiles + STAGES * TILE;
  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 256) {
      for (int step = 0; step < k_steps; ++step) {
        int s = step % STAGES;
        if (step >= STAGES) barrier_wait(&empty[s], (step / STAGES - 1) & 1);
        barrier_expect(&full[s], 3 * TILE);
        for (int half = 0; half < 2; ++half)
          load_2d(a_tiles + (s * 2 + half) * TILE, &a_map, &full[s], step * 64, blockIdx.y * 128 + half * 64);
        load_2d(b_tiles + s * TILE, &b_map, &full[s], step * 64, blockIdx.x * 64);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  for (int step = 0; step < k_steps; ++step) {
    int s = step % STAGES;
    barrier_wait(&full[s], step / STAGES & 1);
    product_fence();
    #pragma unroll
    for (int k = 0; k < 4; ++k)
      PRODUCT_32("m64n64k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f", d, descriptor(a_tiles + (s * 2 + group) * TILE + k * 32, 16, 1024, 128),
                 descriptor(b_tiles + s * TILE + k * 32, 16, 1024, 128), 1);
    product_commit();
    PRODUCT_WAIT(0);
    // The warps of a warpgroup wait for each other's products.
    if (threadIdx.x % 128 == 0) barrier_arrive(&empty[s]);
  }
  // The result goes to shared memory as matrices of eight rows, and to global memory by one copy of the warpgroup.
  char *tile = out + group * 64 * 64 * 2;
  int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t r[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      __nv_bfloat162 pair = __floats2bfloat162_rn(d[i * 8 + j * 2], d[i * 8 + j * 2 + 1]);
      r[j] = *(uint32_t *)&pair;
    }
    int row = warp * 16 + lane % 16, unit = (i * 2 + lane / 16) ^ row % 8;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address(tile + row * 128 + unit * 16)), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3]) : "memory");
  }
  proxy_fence();
  asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
  if (threadIdx.x % 128 == 0) {
    store_2d(&c_map, tile, blockIdx.x * 64, blockIdx.y * 128 + group * 64);
    commit_stores();
    wait_stores();
  }
}

// The first factor in registers: its fragments come from global memory. The result has halves, and is added to with a sign.
KERNEL registers_f16(MAP b_map, const uint32_t *a, uint32_t *out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, 64 * 64 * 2);
    load_2d(memory, &b_map, &barrier, 0, 0);
  }
  int thread = threadIdx.x, row = thread / 32 * 16 + thread % 32 / 4, pair = thread % 4;
  uint32_t x[4][4], d[16];
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i) x[k][i] = a[(row + i % 2 * 8) * 32 + k * 8 + i / 2 * 4 + pair];
  for (int i = 0; i < 16; ++i) d[i] = 0x3c003c00;
  __syncthreads();
  barrier_wait(&barrier, 0);
  product_fence();
  #pragma unroll
  for (int k = 0; k < 4; ++k) PRODUCT_R_16("m64n64k16.f16.f16.f16", ", -1, 1, 0", "+r", d, x[k], descriptor(memory + k * 32, 16, 1024, 128), 1);
  product_commit();
  PRODUCT_WAIT(0);
  #pragma unroll
  for (int i = 0; i < 16; ++i) out[(row + i % 2 * 8) * 32 + i / 2 * 4 + pair] = d[i];
}

// Sparse first factors: two of each four halves, with metadata of the host.
KERNEL sparse_f16(MAP a_map, MAP b_map, const uint32_t *metadata, float *out) {
  __shared__ uint64_t barrier;
  char *a = memory, *b = memory + 64 * 64;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, 64 * 64 + 32 * 128);
    load_2d(a, &a_map, &barrier, 0, 0);
    load_2d(b, &b_map, &barrier, 0, 0);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  float d[16];
  uint32_t first = metadata[threadIdx.x], second = metadata[128 + threadIdx.x];
  product_fence();
  SPARSE_PRODUCT_16("m64n32k32.f32.f16.f16", "0", ", 1, 1, 0, 0", "+f", d, descriptor(a, 16, 512, 64), descriptor(b, 16, 1024, 128), first, 0);
  SPARSE_PRODUCT_16("m64n32k32.f32.f16.f16", "1", ", 1, 1, 0, 0", "+f", d, descriptor(a + 32, 16, 512, 64), descriptor(b + 64, 16, 1024, 128), second,
                    1);
  product_commit();
  PRODUCT_WAIT(0);
  store_result(out, 32, d, 16);
}

// Attention of 64 queries: the softmax is computed in registers between two products, online over blocks of 64 keys.
KERNEL attention(MAP q_map, MAP k_map, MAP v_map, int blocks, float scale, float *out) {
  __shared__ uint64_t barrier;
  char *q = memory, *keys = memory + 8192, *values = memory + 16384;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
  }
  __syncthreads();
  float o[32], sum[2] = {0, 0}, top[2] = {-INFINITY, -INFINITY};
  for (int i = 0; i < 32; ++i) o[i] = 0;
  for (int block = 0; block < blocks; ++block) {
    if (threadIdx.x == 0) {
      barrier_expect(&barrier, block ? 16384 : 24576);
      if (!block) load_2d(q, &q_map, &barrier, 0, blockIdx.x * 64);
      load_2d(keys, &k_map, &barrier, 0, block * 64);
      load_2d(values, &v_map, &barrier, 0, block * 64);
    }
    barrier_wait(&barrier, block & 1);
    float s[32];
    product_fence();
    #pragma unroll
    for (int k = 0; k < 4; ++k)
      PRODUCT_32("m64n64k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f", s, descriptor(q + k * 32, 16, 1024, 128), descriptor(keys + k * 32, 16, 1024, 128), k);
    product_commit();
    PRODUCT_WAIT(0);
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      float best = top[half];
      #pragma unroll
      for (int i = 0; i < 32; ++i)
        if (i / 2 % 2 == half) best = fmaxf(best, s[i] *= scale);
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      float correction = exp2f(top[half] - best);
      top[half] = best;
      sum[half] *= correction;
      #pragma unroll
      for (int i = 0; i < 32; ++i)
        if (i / 2 % 2 == half) {
          s[i] = exp2f(s[i] - best);
          sum[half] += s[i];
          o[i] *= correction;
        }
    }
    // The fragments of the result are those of a first factor.
    uint32_t p[4][4];
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      __nv_bfloat162 pair = __floats2bfloat162_rn(s[i * 2], s[i * 2 + 1]);
      p[i / 4][i % 4] = *(uint32_t *)&pair;
    }
    product_fence();
    #pragma unroll
    for (int k = 0; k < 4; ++k)
      PRODUCT_R_32("m64n64k16.f32.bf16.bf16", ", 1, 1, 1", "+f", o, p[k], descriptor(values + k * 16 * 128, 8192, 1024, 128), 1);
    product_commit();
    PRODUCT_WAIT(0);
    __syncthreads();
  }
  for (int half = 0; half < 2; ++half) {
    sum[half] += __shfl_xor_sync(~0u, sum[half], 1);
    sum[half] += __shfl_xor_sync(~0u, sum[half], 2);
  }
  #pragma unroll
  for (int i = 0; i < 32; ++i) o[i] /= sum[i / 2 % 2];
  store_result(out + blockIdx.x * 64 * 64, 64, o, 32);
}
