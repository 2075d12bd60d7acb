// Asynchronous copies: pipelines, memcpy_async with barriers and groups, and arrivals that are counted.
// nvcc: -arch=sm_90
#include "program.h"
#ifdef KERNELS
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
KERNEL primitives(const float4 *in, float4 *out, int n) {
  __shared__ float4 stage[2][32];
  int t = threadIdx.x, tiles = n / 32;
  __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(float4));
  __pipeline_commit();
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &in[(i + 1) * 32 + t], 16, t % 4 == 3 ? 8 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = stage[i % 2][31 - t];
    out[i * 32 + t] = make_float4(v.w, v.z, v.y, v.x);
    __syncthreads();
  }
}
KERNEL with_barrier(const int *in, int *out) {
  __shared__ alignas(16) int tile[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, in + 128 * blockIdx.x, cuda::aligned_size_t<16>(sizeof tile), barrier);
  barrier.arrive_and_wait();
  int sum = 0;
  for (int i = 0; i < 128; i += blockDim.x) sum += tile[(threadIdx.x * 3 + i) % 128];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
KERNEL with_group(const short *in, short *out, int n) {
  extern __shared__ __align__(16) short copy[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, copy, in, n * sizeof(short));
  cg::wait(block);
  for (int i = block.thread_rank(); i < n; i += block.size()) out[i] = copy[n - 1 - i];
}
// Half of the threads produce, half consume.
KERNEL producers(const int *in, int *out, int rounds) {
  __shared__ int slot[2][32];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) init(&full[i], 64), init(&empty[i], 64);
  __syncthreads();
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; ++r) {
      empty[r % 2].arrive_and_wait();
      slot[r % 2][lane] = in[r * 32 + lane] * 2;
      (void)full[r % 2].arrive();
    }
  } else {
    (void)empty[0].arrive();
    (void)empty[1].arrive();
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
      full[r % 2].arrive_and_wait();
      sum = sum * 3 + slot[r % 2][31 - lane];
      (void)empty[r % 2].arrive();
    }
    out[lane] = sum;
  }
}
KERNEL staged(const int *in, int *out, int n) {
  constexpr int stages = 3;
  __shared__ alignas(16) int buffer[stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int tile = 0, fetch = 0; tile < n; ++tile) {
    for (; fetch < n && fetch < tile + stages; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[fetch % stages], in + fetch * 64, sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buffer[tile % stages][(threadIdx.x + tile) % 64] * (tile + 1);
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
#else
void program() {
  auto in = random<float>(4 * 96, -9, 9);
  std::vector<float> out(in.size());
  for (int i = 0; i < 96; ++i)
    for (int k = 0; k < 4; ++k) {
      int from = i / 32 * 32 + 31 - i % 32, part = 3 - k;
      out[4 * i + k] = from >= 32 && from % 4 == 3 && part >= 2 ? 0 : in[4 * from + part];
    }
  auto bo = zeros<float>(out.size());
  launch("primitives", {1, 32}, buffer(in), bo, 96);
  expect(bo, out);

  auto a = random<int>(256, -50, 50);
  std::vector<int> sums;
  for (int b = 0; b < 2; ++b)
    for (int t = 0; t < 64; ++t) sums.push_back(a[128 * b + t * 3 % 128] + a[128 * b + (t * 3 + 64) % 128]);
  auto bs = zeros<int>(128), ba = buffer(a);
  launch("with_barrier", {2, 64}, ba, bs);
  expect(bs, sums);

  auto s = random_words<short>(75);
  auto turned = s;
  std::reverse(turned.begin(), turned.end());
  auto bt = zeros<short>(75);
  launch("with_group", {1, 32, 150}, buffer(s), bt, 75);
  expect(bt, turned);

  std::vector<int> consumed(32);
  for (int r = 0; r < 6; ++r)
    for (int l = 0; l < 32; ++l) consumed[l] = consumed[l] * 3 + 2 * a[r * 32 + 31 - l];
  auto bc = zeros<int>(32);
  launch("producers", {1, 64}, ba, bc, 6);
  expect(bc, consumed);

  std::vector<int> staged(64);
  for (int t = 0; t < 64; ++t)
    for (int i = 0; i < 4; ++i) staged[t] += a[64 * i + (t + i) % 64] * (i + 1);
  auto bg = zeros<int>(64);
  launch("staged", {1, 64}, ba, bg, 4);
  expect(bg, staged);
}
#endif
