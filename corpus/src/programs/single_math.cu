// The mathematical functions of single-precision numbers, the fast intrinsics, and rounding modes.
#include "program.h"
#ifdef KERNELS
KERNEL elementary(const float *x, float *out) {
  float v = x[threadIdx.x], w = fabsf(v), *o = out + 20 * threadIdx.x;
  o[0] = sinf(v); o[1] = cosf(v); o[2] = tanf(v / 32); o[3] = expf(v); o[4] = logf(w); o[5] = sqrtf(w); o[6] = cbrtf(v); o[7] = exp2f(v); o[8] = log10f(w); o[9] = log1pf(w);
  o[10] = expm1f(v); o[11] = asinf(v / 64); o[12] = acosf(v / 64); o[13] = atanf(v); o[14] = sinhf(v / 4); o[15] = tanhf(v / 4); o[16] = asinhf(v); o[17] = powf(w, 1.7f); o[18] = erff(v / 8); o[19] = hypotf(v, 3);
}
KERNEL fast(const float *x, float *out) {
  float v = x[threadIdx.x], w = fabsf(v), *o = out + 10 * threadIdx.x;
  o[0] = __sinf(v / 16); o[1] = __cosf(v / 16); o[2] = __expf(v / 4); o[3] = __logf(w + 2); o[4] = __powf(w + 1, 0.5f); o[5] = __fdividef(v, 7); o[6] = __frsqrt_rn(w + 1); o[7] = __exp10f(v / 16); o[8] = __tanf(v / 64); o[9] = __saturatef(v / 16);
}
KERNEL modes(const float *x, const float *y, float *out) {
  float a = x[threadIdx.x], b = y[threadIdx.x], *o = out + 14 * threadIdx.x;
  o[0] = __fadd_rn(a, b); o[1] = __fadd_rz(a, b); o[2] = __fmul_ru(a, b); o[3] = __fmul_rd(a, b); o[4] = __fdiv_rn(a, b); o[5] = __fdiv_rz(a, b); o[6] = __fsqrt_rn(fabsf(a)); o[7] = __fsqrt_ru(fabsf(a));
  o[8] = __fmaf_rn(a, b, a); o[9] = __fmaf_rd(a, b, b); o[10] = __frcp_rn(b); o[11] = __frcp_ru(b); o[12] = __fsub_rd(a, b); o[13] = fmaf(a, b, -1.0f);
}
KERNEL conversions(const float *x, int *out) {
  float v = x[threadIdx.x];
  int *o = out + 12 * threadIdx.x;
  o[0] = __float2int_rn(v); o[1] = __float2int_rz(v); o[2] = __float2int_ru(v); o[3] = __float2int_rd(v); o[4] = (unsigned char)(int)v; o[5] = (short)v; o[6] = __float_as_int(__int2float_rn((int)v * 16777215));
  o[7] = __float_as_int((float)((long long)v * 123456789123ll)); o[8] = __float2uint_rn(v); o[9] = lroundf(v); o[10] = (int)rintf(v); o[11] = __float_as_int(__uint2float_rz((unsigned)(int)v));
}
KERNEL limits(float *out) {
  volatile float big = 3e38f, small = 1e-40f, zero = 0;
  out[0] = big * 10; out[1] = small / 10; out[2] = zero / zero; out[3] = -big * big; out[4] = fminf(zero / zero, 1); out[5] = sqrtf(-big); out[6] = small * 0.5f + small; out[7] = fmaxf(-zero, zero);
  out[8] = (float)(int)(zero / zero); out[9] = (float)(int)(big); out[10] = (float)(unsigned)(-big); out[11] = isnan(zero / zero) + 2 * isinf(big * big);
}
#else
#include <cfenv>
#pragma STDC FENV_ACCESS ON
template <class F> float in(int mode, F f) { fesetround(mode); volatile float v = f(); fesetround(FE_TONEAREST); return v; }
float bits(int v) { float f; memcpy(&f, &v, 4); return f; }
int word(float f) { int v; memcpy(&v, &f, 4); return v; }
void program() {
  const int n = 32;
  auto x = random<float>(n, -30, 30), y = random<float>(n, -30, 30);
  for (int i = 0; i < n; ++i) x[i] += 0.1f, y[i] += 0.7f;
  std::vector<float> e, f, m;
  std::vector<int> c;
  for (int i = 0; i < n; ++i) {
    volatile float a = x[i], b = y[i];
    double v = x[i], w = std::fabs(v);
    for (double d : {sin(v), cos(v), tan(v / 32), exp(v), log(w), sqrt(w), cbrt(v), exp2(v), log10(w), log1p(w), expm1(v), asin(v / 64), acos(v / 64), atan(v), sinh(v / 4), tanh(v / 4), asinh(v), pow(w, 1.7f), erf(v / 8), hypot(v, 3)}) e.push_back(d);
    for (double d : {sin(v / 16), cos(v / 16), exp(v / 4), log(w + 2), sqrt(w + 1), v / 7, 1 / sqrt(w + 1), pow(10, v / 16), tan(v / 64), std::clamp(v / 16, 0.0, 1.0)}) f.push_back(d);
    m.insert(m.end(), {a + b, in(FE_TOWARDZERO, [&] { return a + b; }), in(FE_UPWARD, [&] { return a * b; }), in(FE_DOWNWARD, [&] { return a * b; }), a / b, in(FE_TOWARDZERO, [&] { return a / b; }),
                       sqrtf(w), in(FE_UPWARD, [&] { volatile float s = w; return sqrtf(s); }), fmaf(a, b, a), in(FE_DOWNWARD, [&] { return fmaf(a, b, b); }), 1 / b, in(FE_UPWARD, [&] { return 1 / b; }), in(FE_DOWNWARD, [&] { return a - b; }), fmaf(a, b, -1)});
    int whole = v;
    unsigned bits = whole;
    c.insert(c.end(), {int(rint(v)), whole, int(ceil(v)), int(floor(v)), uint8_t(whole), short(whole), word(float(int(unsigned(whole) * 16777215u))), word(float(whole * 123456789123ll)), v < 0 ? 0 : int(rint(v)), int(lround(v)), int(rint(v)),
                       word(in(FE_TOWARDZERO, [&] { return float(bits); }))});
  }
  auto bx = buffer(x), by = buffer(y), be = zeros<float>(e.size()), bf = zeros<float>(f.size()), bm = zeros<float>(m.size());
  auto bc = zeros<int>(c.size()), bl = zeros<float>(12);
  launch("elementary", {1, n}, bx, be);
  expect(be, e, ulps(4));
  launch("fast", {1, n}, bx, bf);
  // One of the sines is close to zero, and `sin.approx` has an absolute error of 2^-20.5.
  expect(bf, f, relative(1e-3));
  launch("modes", {1, n}, bx, by, bm);
  expect(bm, m);
  launch("conversions", {1, n}, bx, bc);
  expect(bc, c);
  launch("limits", {1, 1}, bl);
  expect(bl, std::vector<float>{INFINITY, 1e-41f, NAN, -INFINITY, 1, NAN, 1e-40f * 0.5f + 1e-40f, 0, 0, 2147483648.0f, 0, 3});
}
#endif
