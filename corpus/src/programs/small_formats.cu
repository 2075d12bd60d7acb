// Formats of 4, 6 and 8 bits: conversions of pairs to and from halves and floats, scale factors, bfloat16 arithmetic, and int8 and fp8 products.
// nvcc: -arch=sm_100a
// variants: O3
#include "program.h"
#ifdef KERNELS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
KERNEL narrow(const float *in, unsigned char *e4m3, unsigned char *e5m2, unsigned char *e2m3, unsigned char *e3m2, unsigned char *e2m1, unsigned char *scale) {
  int t = threadIdx.x;
  e4m3[t] = __nv_cvt_float_to_fp8(in[t], __NV_SATFINITE, __NV_E4M3);
  e5m2[t] = __nv_cvt_float_to_fp8(in[t], __NV_NOSAT, __NV_E5M2);
  e2m3[t] = __nv_cvt_float_to_fp6(in[t], __NV_E2M3, cudaRoundNearest);
  e3m2[t] = __nv_cvt_float_to_fp6(in[t], __NV_E3M2, cudaRoundNearest);
  e2m1[t] = __nv_cvt_float_to_fp4(in[t], __NV_E2M1, cudaRoundNearest);
  scale[t] = __nv_cvt_float_to_e8m0(in[t], __NV_SATFINITE, cudaRoundPosInf);
}
KERNEL widen(const unsigned char *in, float *out) {
  int t = threadIdx.x;
  float *o = out + 5 * t;
  o[0] = __half2float(__half(__nv_cvt_fp8_to_halfraw(in[t], __NV_E4M3)));
  o[1] = __half2float(__half(__nv_cvt_fp8_to_halfraw(in[t], __NV_E5M2)));
  o[2] = __half2float(__half(__nv_cvt_fp6_to_halfraw(in[t] & 63, __NV_E2M3)));
  o[3] = __half2float(__half(__nv_cvt_fp6_to_halfraw(in[t] & 63, __NV_E3M2)));
  o[4] = __half2float(__half(__nv_cvt_fp4_to_halfraw(in[t] & 15, __NV_E2M1)));
}
KERNEL brains(const float *a, const float *b, float *out) {
  int t = threadIdx.x;
  __nv_bfloat16 x = __float2bfloat16(a[t]), y = __float2bfloat16(b[t]);
  __nv_bfloat162 p = __halves2bfloat162(x, y), q = __halves2bfloat162(y, x);
  float *o = out + 8 * t;
  o[0] = __bfloat162float(__hadd(x, y)), o[1] = __bfloat162float(__hmul(x, y)), o[2] = __bfloat162float(__hfma(x, y, x));
  o[3] = __bfloat162float(__hmax(x, y)), o[4] = __low2float(__hmul2(p, q)), o[5] = __high2float(__hsub2(p, q));
  o[6] = __bfloat162float(__hfma_relu(x, y, y)), o[7] = float(__hlt(x, y)) + 2 * __hbge2(p, q);
}
#else
// The magnitudes of a format in order, by their bits.
double value(int bits, int exponent_bits, int fraction_bits, int bias) {
  int e = bits >> fraction_bits & ((1 << exponent_bits) - 1), f = bits & ((1 << fraction_bits) - 1);
  return e ? std::ldexp(1 + f / double(1 << fraction_bits), e - bias) : std::ldexp(f / double(1 << fraction_bits), 1 - bias);
}
int nearest(double v, int exponent_bits, int fraction_bits, int bias, int greatest) {
  int sign = std::signbit(v), best = 0;
  v = std::fabs(v);
  for (int b = 1; b <= greatest; ++b) {
    double was = std::fabs(value(best, exponent_bits, fraction_bits, bias) - v), is = std::fabs(value(b, exponent_bits, fraction_bits, bias) - v);
    if (is < was || (is == was && b % 2 == 0)) best = b;
  }
  return best | sign << (exponent_bits + fraction_bits);
}
float brain(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
  memcpy(&f, &u, 4);
  return f;
}
void program() {
  const int n = 256;
  std::vector<float> in = random<float>(n, -30, 30);
  for (int i = 0; i < n; ++i) in[i] = std::ldexp(in[i], i % 24 - 14);
  in[0] = 0, in[1] = -0.0f, in[2] = 0.25f, in[3] = -1.75f, in[4] = 1e-9f, in[5] = 448, in[6] = 464, in[7] = -5000, in[8] = 5, in[9] = 3.5f, in[10] = 57344;
  std::vector<uint8_t> e4m3, e5m2, e2m3, e3m2, e2m1, scale;
  for (float v : in) {
    e4m3.push_back(nearest(v, 4, 3, 7, 0x7e));
    e5m2.push_back(nearest(v, 5, 2, 15, 0x7b));
    e2m3.push_back(nearest(v, 2, 3, 1, 0x1f));
    e3m2.push_back(nearest(v, 3, 2, 3, 0x1f));
    e2m1.push_back(nearest(v, 2, 1, 1, 7));
    int e;
    double m = std::frexp(std::fabs(double(v)), &e);
    scale.push_back(v == 0 ? 0 : e - 1 + 127 + (m > 0.5));
  }
  Buffer o[6];
  for (Buffer &b : o) b = zeros<uint8_t>(n);
  launch("narrow", {1, n}, buffer(in), o[0], o[1], o[2], o[3], o[4], o[5]);
  expect(o[0], e4m3), expect(o[1], e5m2), expect(o[2], e2m3), expect(o[3], e3m2), expect(o[4], e2m1), expect(o[5], scale);

  std::vector<uint8_t> bytes(n);
  std::iota(bytes.begin(), bytes.end(), 0);
  std::vector<float> wide;
  auto sign = [](int b, int at, double v) { return float(b >> at & 1 ? -v : v); };
  for (int b : bytes) {
    wide.push_back((b & 127) == 127 ? NAN : sign(b, 7, value(b & 127, 4, 3, 7)));
    wide.push_back((b & 127) > 124 ? NAN : (b & 127) == 124 ? sign(b, 7, INFINITY) : sign(b, 7, value(b & 127, 5, 2, 15)));
    wide.push_back(sign(b, 5, value(b & 31, 2, 3, 1)));
    wide.push_back(sign(b, 5, value(b & 31, 3, 2, 3)));
    wide.push_back(sign(b, 3, value(b & 7, 2, 1, 1)));
  }
  auto w = zeros<float>(wide.size());
  launch("widen", {1, n}, buffer(bytes), w);
  expect(w, wide);

  auto a = random<float>(n, -8, 8), b = random<float>(n, -8, 8);
  for (auto *all : {&a, &b}) for (float &f : *all) f = brain(f);
  a[5] = b[5];
  std::vector<float> r;
  for (int i = 0; i < n; ++i) {
    float x = a[i], y = b[i];
    r.push_back(brain(x + y)), r.push_back(brain(x * y)), r.push_back(brain(float(double(x) * y + x)));
    r.push_back(std::max(x, y)), r.push_back(brain(x * y)), r.push_back(brain(y - x));
    r.push_back(std::max(0.0f, brain(float(double(x) * y + y)))), r.push_back(float(x < y) + 2 * (x >= y && y >= x));
  }
  auto out = zeros<float>(r.size());
  launch("brains", {1, n}, buffer(a), buffer(b), out);
  expect(out, r);
}
#endif
