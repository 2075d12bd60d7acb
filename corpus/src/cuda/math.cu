// Arithmetic of all widths: conversions, division, 128-bit integers, transcendental functions, bit tricks, rounding modes.
#include <cstdint>
#include <cmath>
__global__ void convert(const double *d, const float *f, const int *i, const unsigned long long *u, void *out) {
  int t = threadIdx.x; char *o = (char *)out + t * 256; double x = d[t]; float y = f[t]; int n = i[t]; unsigned long long q = u[t];
  *(float *)(o + 0) = (float)x; *(int *)(o + 4) = (int)x; *(unsigned char *)(o + 8) = (unsigned char)y; *(long long *)(o + 16) = (long long)y;
  *(double *)(o + 24) = (double)q; *(float *)(o + 32) = (float)n; *(short *)(o + 36) = (short)n; *(unsigned long long *)(o + 40) = (unsigned long long)x; *(signed char *)(o + 48) = (signed char)n;
  *(int *)(o + 52) = __float2int_ru(y) + __double2int_rd(x) + __float2int_rz(y) + __float_as_int(y); *(float *)(o + 56) = __double2float_rd(x) + __int2float_ru(n) + __ull2float_rz(q) + __int_as_float(n);
  *(double *)(o + 64) = __hiloint2double(n, n + 1) + __longlong_as_double(q) + __double2loint(x) + rint(x) + floor(x) + trunc(x) + round(x) + llrint(x);
}
__global__ void integers(long long *a, unsigned *b) {
  int t = threadIdx.x; long long x = a[t], y = a[t + 1]; unsigned u = b[t], v = b[t + 1];
  a[t] = x / y + x % 1000 + (x >> (y & 63)) + __mul64hi(x, y) + llabs(x) + min(x, y); b[t] = u / v + u % 10 + u * v + __umulhi(u, v) + max(u, v) + __umul24(u, v) + __uhadd(u, v) + (u << 5 | u >> 27) + (u ? 3 : 7) + ((int)u >> 3) + __brev(v);
  unsigned __int128 w = (unsigned __int128)(unsigned long long)x * (unsigned long long)y; w += a[2]; w <<= 7; a[3] = (long long)(w >> 64); a[4] = (long long)w; a[5] = (__int128)x / 12345 > y; signed char c = (signed char)u; short s = (short)(c * 3); a[6] = c + s; bool z = u > v; a[7] = z ^ (x > y);
}
__global__ void reals(float *f, double *d) {
  int t = threadIdx.x; float x = f[t], y = f[t + 1]; double a = d[t], b = d[t + 1];
  f[t] = __fadd_rn(x, y) + __fmul_rz(x, y) + __fmaf_ru(x, y, x) + __fdiv_rd(x, y) + __fsqrt_rn(x) + __frcp_ru(y) + __fdividef(x, y) + __saturatef(x) + fminf(x, y) + copysignf(x, y) + fabsf(x) + fmodf(x, y) + rsqrtf(y);
  f[t + 64] = sinf(x) + cosf(y) + __sinf(x) + __expf(y) + __logf(x) + exp2f(y) + powf(x, y) + tanhf(x) + erff(y) + cbrtf(x) + hypotf(x, y) + atan2f(x, y) + lgammaf(x) + norm3df(x, y, x) + floorf(x) + nearbyintf(y) + ldexpf(x, 3);
  d[t] = a / b + __dadd_ru(a, b) + __dmul_rd(a, b) + fma(a, b, a) + sqrt(a) + __drcp_rz(b) + fmax(a, b) + sin(a) + exp(b) + log(a) + pow(a, b) + atan(b) + j0(a) + erfc(b) + fmod(a, b) + rsqrt(a) + remainder(a, b);
  int e; d[t + 64] = frexp(a, &e) + e + isnan(a) + isinf(b) + signbit(a) + (a < b) + (x != y); f[t + 128] = isfinite(x) ? 1e-40f : INFINITY; f[t + 129] = NAN;
}
