// The mathematical functions of doubles, compared with those of the C library.
#include "program.h"
#ifdef KERNELS
KERNEL elementary(const double *x, double *out) {
  double v = x[threadIdx.x], *o = out + 24 * threadIdx.x;
  o[0] = sin(v); o[1] = cos(v); o[2] = tan(v); o[3] = exp(v); o[4] = log(fabs(v)); o[5] = sqrt(fabs(v)); o[6] = cbrt(v); o[7] = exp2(v);
  o[8] = log2(fabs(v)); o[9] = log10(fabs(v)); o[10] = log1p(fabs(v)); o[11] = expm1(v); o[12] = asin(v / 64); o[13] = acos(v / 64); o[14] = atan(v);
  o[15] = sinh(v / 4); o[16] = cosh(v / 4); o[17] = tanh(v / 4); o[18] = asinh(v); o[19] = acosh(1 + fabs(v)); o[20] = atanh(v / 64);
  o[21] = rsqrt(fabs(v) + 1); o[22] = rcbrt(v + 100); o[23] = sinpi(v);
}
KERNEL special(const double *x, double *out) {
  double v = x[threadIdx.x], *o = out + 8 * threadIdx.x;
  o[0] = erf(v / 8); o[1] = erfc(v / 8); o[2] = tgamma(fabs(v) / 8 + 0.5); o[3] = lgamma(fabs(v) + 0.5); o[4] = j0(fabs(v)); o[5] = y1(fabs(v) + 1); o[6] = normcdf(v / 8); o[7] = erfcinv(fabs(v) / 64 + 0.25);
}
KERNEL pairs(const double *x, const double *y, double *out, int *ints) {
  double a = x[threadIdx.x], b = y[threadIdx.x], *o = out + 14 * threadIdx.x;
  int *i = ints + 4 * threadIdx.x, quotient, power;
  o[0] = pow(fabs(a), b / 8); o[1] = atan2(a, b); o[2] = fmod(a, b); o[3] = hypot(a, b); o[4] = remainder(a, b); o[5] = fmin(a, b); o[6] = fmax(a, b);
  o[7] = copysign(a, b); o[8] = nextafter(a, b); o[9] = fdim(a, b); o[10] = ldexp(a, (int)b); o[11] = frexp(a, &power); o[12] = remquo(a, b, &quotient); o[13] = pow(a, 3.0);
  i[0] = power; i[1] = quotient & 7; i[2] = ilogb(a); i[3] = isnan(a) + 2 * isinf(b) + 4 * signbit(a) + 8 * isfinite(b);
}
KERNEL rounding(const double *x, double *out, long long *ints) {
  double v = x[threadIdx.x], *o = out + 9 * threadIdx.x, whole;
  o[0] = floor(v); o[1] = ceil(v); o[2] = trunc(v); o[3] = round(v); o[4] = rint(v); o[5] = nearbyint(v); o[6] = modf(v, &whole); o[7] = whole; o[8] = __dadd_rd(v, 1e-30) + __dmul_ru(v, 1.1);
  long long *i = ints + 8 * threadIdx.x;
  i[0] = (int)v; i[1] = (long long)v; i[2] = (unsigned)fabs(v); i[3] = __double2ll_rd(v); i[4] = __double2int_ru(v); i[5] = llround(v); i[6] = __double_as_longlong(v); i[7] = __double2hiint(v);
}
#else
double normcdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double erfcinv(double y) { double x = 0; for (int i = 0; i < 60; ++i) x += (std::erfc(x) - y) * std::sqrt(M_PI) / 2 * std::exp(x * x); return x; }
void program() {
  const int n = 40;
  auto x = random<double>(n, -30, 30), y = random<double>(n, -30, 30);
  x[0] = 1.25, y[0] = 2, x[1] = -29.97, y[1] = 7.5, x[2] = 1e-3, x[3] = 0.5;
  for (int i = 4; i < n; ++i) x[i] += 1.0 / 7, y[i] += 1.0 / 3;
  std::vector<double> e, s, p, r;
  std::vector<int> ints;
  std::vector<long long> wholes;
  for (int i = 0; i < n; ++i) {
    double v = x[i], a = x[i], b = y[i], w = std::fabs(v), whole;
    e.insert(e.end(), {sin(v), cos(v), tan(v), exp(v), log(w), sqrt(w), cbrt(v), exp2(v), log2(w), log10(w), log1p(w), expm1(v), asin(v / 64), acos(v / 64), atan(v), sinh(v / 4), cosh(v / 4),
                       tanh(v / 4), asinh(v), acosh(1 + w), atanh(v / 64), 1 / sqrt(w + 1), 1 / cbrt(v + 100), double(sinl(M_PIl * v))});
    s.insert(s.end(), {erf(v / 8), erfc(v / 8), tgamma(w / 8 + 0.5), lgamma(w + 0.5), j0(w), y1(w + 1), normcdf(v / 8), erfcinv(w / 64 + 0.25)});
    int power, quotient;
    double fraction = frexp(a, &power), rest = remquo(a, b, &quotient);
    p.insert(p.end(), {pow(w, b / 8), atan2(a, b), fmod(a, b), hypot(a, b), remainder(a, b), fmin(a, b), fmax(a, b), copysign(a, b), nextafter(a, b), fdim(a, b), ldexp(a, int(b)), fraction, rest, a * a * a});
    ints.insert(ints.end(), {power, quotient & 7, ilogb(a), std::isnan(a) + 2 * std::isinf(b) + 4 * std::signbit(a) + 8 * std::isfinite(b)});
    double f = modf(v, &whole);
    r.insert(r.end(), {floor(v), ceil(v), trunc(v), round(v), rint(v), rint(v), f, whole, v + v * 1.1});
    int64_t bits;
    memcpy(&bits, &v, 8);
    wholes.insert(wholes.end(), {int(v), int64_t(v), int64_t(w), int64_t(floor(v)), int(ceil(v)), llround(v), bits, int(bits >> 32)});
  }
  auto bx = buffer(x), by = buffer(y), be = zeros<double>(e.size()), bs = zeros<double>(s.size()), bp = zeros<double>(p.size()), bi = zeros<int>(ints.size());
  launch("elementary", {1, n}, bx, be);
  expect(be, e, relative(1e-13));
  launch("special", {1, n}, bx, bs);
  expect(bs, s, absolute(1e-10));
  launch("pairs", {1, n}, bx, by, bp, bi);
  expect(bp, p, ulps(6));
  expect(bi, ints);
  auto br = zeros<double>(r.size()), bw = zeros<int64_t>(wholes.size());
  launch("rounding", {1, n}, bx, br, bw);
  expect(br, r, ulps(2));
  expect(bw, wholes);
}
#endif
