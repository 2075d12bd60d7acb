// Numbers of 16 and 8 bits: arithmetic, comparisons, conversions, pairs, functions, bfloat16 and fp8.
// nvcc: -arch=sm_90
#include "program.h"
#ifdef KERNELS
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
KERNEL arithmetic(const __half *a, const __half *b, __half *out, int *flags) {
  int i = threadIdx.x;
  __half x = a[i], y = b[i], *o = out + 12 * i;
  o[0] = x + y; o[1] = x - y; o[2] = x * y; o[3] = x / y; o[4] = __hfma(x, y, x); o[5] = -x; o[6] = __habs(x); o[7] = __hmin(x, y); o[8] = __hmax(x, y); o[9] = __hadd_sat(x, y); o[10] = hfloor(x); o[11] = __hfma_relu(x, y, y);
  flags[i] = (x < y) + 2 * (x == y) + 4 * __hgeu(x, y) + 8 * __hisnan(x) + 16 * __hne(x, y) + 32 * __half2int_rn(x) + (__half2short_rz(y) << 16);
}
KERNEL functions(const __half *a, float *out) {
  int i = threadIdx.x;
  __half x = __habs(a[i]);
  float *o = out + 8 * i;
  o[0] = __half2float(hsqrt(x)); o[1] = __half2float(hexp(__hneg(x))); o[2] = __half2float(hlog(x)); o[3] = __half2float(hsin(x)); o[4] = __half2float(hrcp(x)); o[5] = __half2float(hrsqrt(x)); o[6] = __half2float(hcos(x)); o[7] = __half2float(htanh(x));
}
KERNEL pairs(const __half2 *a, const __half2 *b, __half2 *out, unsigned *flags) {
  int i = threadIdx.x;
  __half2 x = a[i], y = b[i], *o = out + 6 * i;
  o[0] = __hadd2(x, y); o[1] = __hfma2(x, y, y); o[2] = __hmin2(x, y); o[3] = __lowhigh2highlow(x); o[4] = __floats2half2_rn(__low2float(x) * 2, __high2float(y)); o[5] = __hgt2(x, y);
  flags[i] = __hbgt2(x, y) + 2 * __hble2(x, y) + 4 * (__hltu2_mask(x, y) & 0xff00ff);
}
KERNEL brains(const __nv_bfloat16 *a, const __nv_bfloat162 *b, __nv_bfloat16 *out, __nv_bfloat162 *two) {
  int i = threadIdx.x;
  __nv_bfloat16 x = a[i], y = __low2bfloat16(b[i]), *o = out + 6 * i;
  o[0] = x + y; o[1] = x * y; o[2] = __hfma(x, y, x); o[3] = __hmax(x, y); o[4] = __float2bfloat16_rz(__bfloat162float(x) * 1.01f); o[5] = __int2bfloat16_rn(i * 12345);
  two[i] = __hfma2(b[i], b[i], __halves2bfloat162(x, y));
}
KERNEL eighths(const float *a, unsigned char *out, float *back) {
  int i = threadIdx.x;
  __nv_fp8_e4m3 e(a[i]);
  __nv_fp8_e5m2 f(a[i]);
  out[2 * i] = e.__x; out[2 * i + 1] = f.__x;
  back[2 * i] = float(e); back[2 * i + 1] = float(f);
}
#else
typedef _Float16 H;
template <class T> uint16_t bits(T v) { uint16_t b; memcpy(&b, &v, 2); return b; }
H half(uint16_t b) { H h; memcpy(&h, &b, 2); return h; }
uint16_t brain(float f, bool nearest = true) { uint32_t u; memcpy(&u, &f, 4); if (nearest) u += 0x7fff + (u >> 16 & 1); return u >> 16; }
float wide(uint16_t b) { uint32_t u = uint32_t(b) << 16; float f; memcpy(&f, &u, 4); return f; }
// The nearest of all numbers of a format, the even one of two; the largest instead of greater ones.
uint8_t nearest(float v, const std::vector<float> &all) {
  int best = 0;
  double w = std::fabs(v);
  for (int i = 1; i < all.size(); ++i) {
    double d = std::fabs(all[i] - w), e = std::fabs(all[best] - w);
    if (d < e || (d == e && i % 2 == 0)) best = i;
  }
  return best | (std::signbit(v) ? 128 : 0);
}
std::vector<float> numbers(int mantissa, int count) {
  std::vector<float> all;
  int bias = mantissa == 3 ? 7 : 15;
  for (int i = 0; i < count; ++i) {
    int e = i >> mantissa, m = i & ((1 << mantissa) - 1);
    all.push_back(e ? std::ldexp((1 << mantissa) + m, e - bias - mantissa) : std::ldexp(m, 1 - bias - mantissa));
  }
  return all;
}
void program() {
  const int n = 32;
  std::vector<uint16_t> a, b, o, p;
  std::vector<int> flags;
  std::vector<float> f;
  for (float x : random<float>(n, -8, 8)) a.push_back(bits(H(x)));
  for (float x : random<float>(n, -8, 8)) b.push_back(bits(H(x + 0.01f)));
  a[3] = b[3];
  for (int i = 0; i < n; ++i) {
    H x = half(a[i]), y = half(b[i]);
    float u = x, v = y;
    for (H h : {H(u + v), H(u - v), H(u * v), H(u / v), H(double(u) * v + u), H(-x), H(std::fabs(u)), H(std::min(u, v)), H(std::max(u, v)), H(std::clamp(u + v, 0.0f, 1.0f)), H(std::floor(u)), H(std::max(0.0, double(u) * v + v))}) o.push_back(bits(h));
    flags.push_back((x < y) + 2 * (x == y) + 4 * !(x < y) + 16 * (x != y) + 32 * int(std::rint(u)) + (uint32_t(short(v)) << 16));
    double w = std::fabs(u);
    for (double d : {sqrt(w), exp(-w), log(w), sin(w), 1 / w, 1 / sqrt(w), cos(w), tanh(w)}) f.push_back(d);
  }
  auto ba = buffer(a), bb = buffer(b), bo = zeros<uint16_t>(o.size()), bf = zeros<float>(f.size()), bi = zeros<int>(n);
  launch("arithmetic", {1, n}, ba, bb, bo, bi);
  expect(bo, o);
  expect(bi, flags);
  launch("functions", {1, n}, ba, bf);
  expect(bf, f, relative(2e-3));

  std::vector<uint32_t> masks;
  for (int i = 0; i < n / 2; ++i) {
    float x[2], y[2];
    for (int k = 0; k < 2; ++k) x[k] = half(a[2 * i + k]), y[k] = half(b[2 * i + k]);
    for (int k = 0; k < 2; ++k) p.push_back(bits(H(x[k] + y[k])));
    for (int k = 0; k < 2; ++k) p.push_back(bits(H(double(x[k]) * y[k] + y[k])));
    for (int k = 0; k < 2; ++k) p.push_back(bits(H(std::min(x[k], y[k]))));
    for (int k = 0; k < 2; ++k) p.push_back(a[2 * i + 1 - k]);
    p.push_back(bits(H(x[0] * 2))), p.push_back(b[2 * i + 1]);
    for (int k = 0; k < 2; ++k) p.push_back(bits(H(x[k] > y[k] ? 1 : 0)));
    masks.push_back((x[0] > y[0] && x[1] > y[1]) + 2 * (x[0] <= y[0] && x[1] <= y[1]) + 4 * ((x[0] < y[0] ? 0xff : 0) + (x[1] < y[1] ? 0xff0000 : 0)));
  }
  auto bp = zeros<uint16_t>(p.size()), bm = zeros<uint32_t>(n / 2);
  launch("pairs", {1, n / 2}, ba, bb, bp, bm);
  expect(bp, p);
  expect(bm, masks);

  std::vector<uint16_t> c, d, q, r;
  for (float x : random<float>(n, -8, 8)) c.push_back(brain(x));
  for (float x : random<float>(2 * n, -8, 8)) d.push_back(brain(x));
  for (int i = 0; i < n; ++i) {
    float x = wide(c[i]), y = wide(d[2 * i]), z = wide(d[2 * i + 1]);
    for (float v : {x + y, x * y, fmaf(x, y, x), std::max(x, y)}) q.push_back(brain(v));
    q.push_back(brain(x * 1.01f, false)), q.push_back(brain(i * 12345));
    r.push_back(brain(fmaf(y, y, x))), r.push_back(brain(fmaf(z, z, y)));
  }
  auto bq = zeros<uint16_t>(q.size()), br = zeros<uint16_t>(r.size());
  launch("brains", {1, n}, buffer(c), buffer(d), bq, br);
  expect(bq, q);
  expect(br, r);

  auto e = random<float>(n, -500, 500);
  for (int i = 0; i < n; ++i) e[i] *= std::ldexp(1, -(i % 14));
  auto e4 = numbers(3, 127), e5 = numbers(2, 124);
  std::vector<uint8_t> eighths;
  std::vector<float> back;
  for (float x : e) {
    eighths.push_back(nearest(x, e4)), eighths.push_back(nearest(x, e5));
    back.push_back(std::copysign(e4[eighths[eighths.size() - 2] & 127], x)), back.push_back(std::copysign(e5[eighths.back() & 127], x));
  }
  auto b8 = zeros<uint8_t>(2 * n), bk = zeros<float>(2 * n);
  launch("eighths", {1, n}, buffer(e), b8, bk);
  expect(b8, eighths);
  expect(bk, back);
}
#endif
