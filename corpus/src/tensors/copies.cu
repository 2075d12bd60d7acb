// Copies of parts of tensors between global and shared memory.
// nvcc: -arch=sm_90a
#include "tensors.h"

// One box of a tensor with 1 to 5 dimensions, as shared memory has it.
KERNEL boxes(MAP map, int rank, int x, int y, int z, int w, int v, int bytes, char *out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, bytes);
    if (rank == 1) load_1d(memory, &map, &barrier, x);
    if (rank == 2) load_2d(memory, &map, &barrier, x, y);
    if (rank == 3) load_3d(memory, &map, &barrier, x, y, z);
    if (rank == 4) load_4d(memory, &map, &barrier, x, y, z, w);
    if (rank == 5) load_5d(memory, &map, &barrier, x, y, z, w, v);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = memory[i];
}

// Transposes tiles of 32 x 32 words: units of 16 bytes are where the swizzle of 128 bytes moves them.
KERNEL transposed(MAP in, MAP out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(1024) int from[32 * 32], to[32 * 32];
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, 4096);
    load_2d(from, &in, &barrier, blockIdx.x * 32, blockIdx.y * 32);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
    int row = i / 32, column = i % 32;
    to[column * 32 + ((row / 4 ^ column % 8) * 4 | row % 4)] = from[row * 32 + ((column / 4 ^ row % 8) * 4 | column % 4)];
  }
  proxy_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    store_2d(&out, to, blockIdx.y * 32, blockIdx.x * 32);
    commit_stores();
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// Each CTA of a cluster of four loads a quarter of the second factor, for all of them.
extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(MAP a_map, MAP b_map, int *out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) int a[8 * 32], b[32 * 32];
  uint32_t rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, sizeof(a) + sizeof(b));
  }
  __syncthreads();
  cluster_wait();
  if (threadIdx.x == 0) {
    load_2d(a, &a_map, &barrier, 0, blockIdx.x * 8);
    asm volatile(LOAD("2d") COMPLETE ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(address(b + rank * 8 * 32)), "l"(&b_map),
                 "r"(address(&barrier)), "r"(0), "r"(rank * 8), "h"((uint16_t)15) : "memory");
  }
  barrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) {
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += a[i / 32 * 32 + k] * b[i % 32 * 32 + k];
    out[blockIdx.x * 256 + i] = sum;
  }
  cluster_wait();
}

// Convolutions: for each offset in the filter, the pixels under it with 8 channels. A CTA computes 32 pixels of the result.
#define LOAD_COLUMN(rank, coordinates, offsets, ...) \
  asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global.im2col" COMPLETE " [%0], [%1, {" coordinates "}], [%2], {" offsets "};" \
               ::"r"(address(pixels)), "l"(&image), "r"(address(&barrier)), __VA_ARGS__ : "memory")
struct Convolution {
  int channels, width, height, depth, filters, filter_width, filter_height, filter_depth;
};
template <typename Load> DEVICE void convolve(const Convolution &c, const int *filter, int *out, int *pixels, uint64_t *barrier, Load load) {
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barrier_fence();
  }
  __syncthreads();
  int phase = 0, sum = 0, f = threadIdx.x % 8, pixel = threadIdx.x / 8;
  for (int z = 0; z < c.filter_depth; ++z)
    for (int y = 0; y < c.filter_height; ++y)
      for (int x = 0; x < c.filter_width; ++x)
        for (int first = 0; first < c.channels; first += 8, phase ^= 1) {
          if (threadIdx.x == 0) {
            barrier_expect(barrier, 32 * 8 * 4);
            load(first, x, y, z);
          }
          barrier_wait(barrier, phase);
          int place = ((z * c.filter_height + y) * c.filter_width + x) * c.channels + first;
          for (int k = 0; k < 8; ++k) sum += pixels[pixel * 8 + k] * filter[(place + k) * c.filters + f];
          __syncthreads();
        }
  out[(blockIdx.x * 32 + pixel) * c.filters + f] = sum;
}
KERNEL convolution_1d(MAP image, Convolution c, const int *filter, int *out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) int pixels[256];
  int w = blockIdx.x * 32 % c.width, n = blockIdx.x * 32 / c.width, pad = c.filter_width / 2;
  convolve(c, filter, out, pixels, &barrier, [&](int first, int x, int, int) {
    LOAD_COLUMN("3d", "%3, %4, %5", "%6", "r"(first), "r"(w - pad), "r"(n), "h"((uint16_t)x));
  });
}
KERNEL convolution_2d(MAP image, Convolution c, const int *filter, int *out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) int pixels[256];
  int p = blockIdx.x * 32, w = p % c.width, h = p / c.width % c.height, n = p / c.width / c.height;
  convolve(c, filter, out, pixels, &barrier, [&](int first, int x, int y, int) {
    LOAD_COLUMN("4d", "%3, %4, %5, %6", "%7, %8", "r"(first), "r"(w - c.filter_width / 2), "r"(h - c.filter_height / 2), "r"(n), "h"((uint16_t)x),
                "h"((uint16_t)y));
  });
}
KERNEL convolution_3d(MAP image, Convolution c, const int *filter, int *out) {
  __shared__ uint64_t barrier;
  __shared__ __align__(128) int pixels[256];
  int p = blockIdx.x * 32, w = p % c.width, h = p / c.width % c.height, d = p / c.width / c.height % c.depth, n = p / c.width / c.height / c.depth;
  convolve(c, filter, out, pixels, &barrier, [&](int first, int x, int y, int z) {
    LOAD_COLUMN("5d", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(first), "r"(w - c.filter_width / 2), "r"(h - c.filter_height / 2),
                "r"(d - c.filter_depth / 2), "r"(n), "h"((uint16_t)x), "h"((uint16_t)y), "h"((uint16_t)z));
  });
}

// Combines a tile of each CTA with the same elements of a tensor.
#define REDUCE(number, name) \
  if (operation == number) \
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." name ".tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to), "r"(address(memory)), \
                 "r"(x), "r"(y) : "memory")
KERNEL reductions(MAP from, MAP to, int operation, int bytes, int x, int y) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, bytes);
    load_3d(memory, &from, &barrier, 0, 0, blockIdx.x);
    barrier_wait(&barrier, 0);
    REDUCE(0, "add");
    REDUCE(1, "min");
    REDUCE(2, "max");
    REDUCE(3, "inc");
    REDUCE(4, "dec");
    REDUCE(5, "and");
    REDUCE(6, "or");
    REDUCE(7, "xor");
    commit_stores();
    wait_stores();
  }
}
