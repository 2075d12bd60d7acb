// Products of warpgroups with factors in each layout of shared memory.
// nvcc: -arch=sm_90a
#include "warpgroups.h"

// A product of 64 x 64 x 64 halves. Factors are stored by rows of K (K-major), or by columns (MN-major), in boxes as wide as the swizzle.
#define LAYOUTS(name, SWIZZLE) \
  KERNEL name(MAP a_map, MAP b_map, int a_mn, int b_mn, float *out) { layouts<SWIZZLE>(&a_map, &b_map, a_mn, b_mn, out); }
template <int SWIZZLE> DEVICE void load_matrix(char *to, const Map *map, uint64_t *barrier) {
  constexpr int BYTES = atom_bytes(SWIZZLE);
  for (int part = 0; part < 128 / BYTES; ++part) load_2d(to + part * 64 * BYTES, map, barrier, part * BYTES / 2, 0);
}
// The columns from k * 16 on.
template <int SWIZZLE> DEVICE uint64_t part_of(char *matrix, bool mn, int k) {
  constexpr int BYTES = atom_bytes(SWIZZLE), BOX = 64 * BYTES;
  if (mn) return descriptor(matrix + k * 16 * BYTES, SWIZZLE ? BOX : 128, SWIZZLE ? 8 * BYTES : BOX, SWIZZLE);
  return descriptor(matrix + k * 32 / BYTES * BOX + k * 32 % BYTES, BOX, 8 * BYTES, SWIZZLE);
}
template <int SWIZZLE> DEVICE void layouts(const Map *a_map, const Map *b_map, int a_mn, int b_mn, float *out) {
  __shared__ uint64_t barrier;
  char *a = memory, *b = memory + 8192;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, 16384);
    load_matrix<SWIZZLE>(a, a_map, &barrier);
    load_matrix<SWIZZLE>(b, b_map, &barrier);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  float d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  product_fence();
  #pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    uint64_t x = part_of<SWIZZLE>(a, a_mn, k), y = part_of<SWIZZLE>(b, b_mn, k);
    if (!a_mn && !b_mn) PRODUCT_32("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", "+f", d, x, y, 1);
    if (a_mn && !b_mn) PRODUCT_32("m64n64k16.f32.f16.f16", ", 1, 1, 1, 0", "+f", d, x, y, 1);
    if (!a_mn && b_mn) PRODUCT_32("m64n64k16.f32.f16.f16", ", 1, 1, 0, 1", "+f", d, x, y, 1);
    if (a_mn && b_mn) PRODUCT_32("m64n64k16.f32.f16.f16", ", 1, 1, 1, 1", "+f", d, x, y, 1);
    product_commit();
    PRODUCT_WAIT(0);
  }
  store_result(out, 64, d, 32);
}
LAYOUTS(layouts_128, 128)
LAYOUTS(layouts_64, 64)
LAYOUTS(layouts_32, 32)
LAYOUTS(layouts_none, 0)

