// Copies of parts of tensors that came with the fifth generation of tensor cores.
// nvcc: -arch=sm_100a
#include "tensors.h"

// Four rows of a table at a time, chosen by indices, are added to those of another one.
KERNEL embedding(MAP table, MAP sums, const int *rows, const int *targets, int count) {
  __shared__ uint64_t barrier;
  __shared__ __align__(1024) int tile[4 * 32];
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
  }
  __syncwarp();
  for (int i = 0; i < count; i += 4) {
    if (threadIdx.x == 0) {
      barrier_expect(&barrier, sizeof(tile));
      asm volatile(LOAD("2d") ".tile::gather4" COMPLETE " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(address(tile)), "l"(&table),
                   "r"(address(&barrier)), "r"(0), "r"(rows[i]), "r"(rows[i + 1]), "r"(rows[i + 2]), "r"(rows[i + 3]) : "memory");
    }
    barrier_wait(&barrier, i / 4 & 1);
    for (int row = 0; row < 4; ++row) tile[row * 32 + threadIdx.x] += row;
    proxy_fence();
    __syncwarp();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&sums),
                   "r"(address(tile)), "r"(0), "r"(targets[i]), "r"(targets[i + 1]), "r"(targets[i + 2]), "r"(targets[i + 3]) : "memory");
      commit_stores();
      wait_stores();
    }
    __syncwarp();
  }
}

// Rows of an image with a halo, along the width.
KERNEL wide_columns(MAP image, int x, int y, int n, int offset, int halo, int bytes, char *out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, bytes);
    asm volatile("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w" COMPLETE " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(address(memory)),
                 "l"(&image), "r"(address(&barrier)), "r"(0), "r"(x), "r"(y), "r"(n), "h"((uint16_t)halo), "h"((uint16_t)offset) : "memory");
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = memory[i];
}
