// Atomic additions of half-precision numbers, pairs of them, and vectors.
// nvcc: -arch=sm_90
#include "program.h"
#ifdef KERNELS
#include <cuda_fp16.h>
#include <cuda_bf16.h>
KERNEL halves(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2, float2 *f2, float4 *f4) {
  atomicAdd(h, __float2half(1.0f)); atomicAdd(h2, __floats2half2_rn(0.5f, 2.0f));
  atomicAdd(b, __float2bfloat16(1.0f)); atomicAdd(b2, __floats2bfloat162_rn(0.25f, 1.0f));
  atomicAdd(f2, make_float2(1, 2)); atomicAdd(f4, make_float4(1, 2, 3, 4));
}
#else
void program() {
  auto h = zeros<uint16_t>(1), h2 = zeros<uint16_t>(2), b = zeros<uint16_t>(1), b2 = zeros<uint16_t>(2), f2 = zeros<float>(2), f4 = zeros<float>(4);
  launch("halves", {1, 64}, h, h2, b, b2, f2, f4);
  expect(h, std::vector<uint16_t>{0x5400});
  expect(h2, std::vector<uint16_t>{0x5000, 0x5800});
  expect(b, std::vector<uint16_t>{0x4280});
  expect(b2, std::vector<uint16_t>{0x4180, 0x4280});
  expect(f2, std::vector<float>{64, 128});
  expect(f4, std::vector<float>{64, 128, 192, 256});
}
#endif
