// Products of warpgroups with factors of each format of 1, 8 and 32 bits.
// nvcc: -arch=sm_90a
#include "warpgroups.h"

// Eight-bit and 32-bit factors, a row of K of which has 64 bytes, in two parts of 32 bytes.
template <typename T, typename Step> DEVICE void two_steps(const Map *a_map, const Map *b_map, T *out, Step step) {
  __shared__ uint64_t barrier;
  char *a = memory, *b = memory + 64 * 64;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, 64 * 64 + 32 * 64);
    load_2d(a, a_map, &barrier, 0, 0);
    load_2d(b, b_map, &barrier, 0, 0);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  T d[16];
  for (int i = 0; i < 16; ++i) d[i] = 0;
  product_fence();
  step(d, descriptor(a, 16, 512, 64), descriptor(b, 16, 512, 64));
  step(d, descriptor(a + 32, 16, 512, 64), descriptor(b + 32, 16, 512, 64));
  product_commit();
  PRODUCT_WAIT(0);
  store_result(out, 32, d, 16);
}
#define TWO_STEPS(name, T, c, form, tail) \
  KERNEL name(MAP a_map, MAP b_map, T *out) { \
    two_steps(&a_map, &b_map, out, [](T *d, uint64_t x, uint64_t y) { PRODUCT_16(form, tail, c, d, x, y, 1); }); \
  }
TWO_STEPS(eighths_e4m3_e5m2, float, "+f", "m64n32k32.f32.e4m3.e5m2", ", 1, 1")
TWO_STEPS(eighths_e5m2_e4m3, float, "+f", "m64n32k32.f32.e5m2.e4m3", ", 1, -1")
TWO_STEPS(tensor_floats, float, "+f", "m64n32k8.f32.tf32.tf32", ", -1, 1")
TWO_STEPS(integers_s8_u8, int, "+r", "m64n32k32.s32.s8.u8", "")
TWO_STEPS(integers_u8_s8_satfinite, int, "+r", "m64n32k32.s32.u8.s8.satfinite", "")
TWO_STEPS(single_bits, int, "+r", "m64n32k256.s32.b1.b1.and.popc", "")

