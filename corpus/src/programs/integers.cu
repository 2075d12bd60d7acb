// Integers: division and remainder of all widths, 128 bits, shifts beyond the width, overflow, products, roots, powers and primes.
#include "program.h"
#ifdef KERNELS
KERNEL divisions(const long long *a, const long long *b, long long *out) {
  int i = threadIdx.x;
  long long x = a[i], y = b[i], *o = out + 16 * i;
  o[0] = x / y; o[1] = x % y; o[2] = (unsigned long long)x / (unsigned long long)y; o[3] = (unsigned long long)x % (unsigned long long)y;
  int p = (int)x, q = (int)y | 1;
  o[4] = p == (-2147483647 - 1) && q == -1 ? 0 : p / q; o[5] = p == (-2147483647 - 1) && q == -1 ? 0 : p % q; o[6] = (unsigned)p / (unsigned)q; o[7] = (unsigned)p % (unsigned)q;
  short s = (short)x, t = (short)y | 1;
  o[8] = s / t; o[9] = s % t; o[10] = (unsigned short)s / (unsigned short)t; o[11] = (signed char)x / ((signed char)y | 1);
  o[12] = x / 10; o[13] = p / 7; o[14] = (unsigned)p % 1000000007u; o[15] = p / -16;
}
typedef __int128 wide;
KERNEL wides(const long long *a, const long long *b, wide *out) {
  int i = threadIdx.x;
  wide x = (wide)a[i] * b[i], y = ((wide)a[i] << 64) | (unsigned long long)b[i];
  wide *o = out + 10 * i;
  o[0] = x; o[1] = x + y; o[2] = x - y; o[3] = y >> (i * 5); o[4] = y << (i * 3); o[5] = y / (x | 1); o[6] = (unsigned __int128)y % 1000000007; o[7] = x * y; o[8] = x < y ? -x : ~y; o[9] = (wide)(double)x;
}
KERNEL shifts(const int *a, int *out) {
  int i = threadIdx.x, x = a[i], *o = out + 8 * i;
  asm("shl.b32 %0, %1, %2;" : "=r"(o[0]) : "r"(x), "r"(i * 3));
  asm("shr.s32 %0, %1, %2;" : "=r"(o[1]) : "r"(x), "r"(i * 3));
  asm("shr.u32 %0, %1, %2;" : "=r"(o[2]) : "r"(x), "r"(i * 3));
  asm("{.reg .u16 h; cvt.u16.u32 h, %1; shl.b16 h, h, %2; cvt.s32.s16 %0, h;}" : "=r"(o[3]) : "r"(x), "r"(i));
  o[4] = x << (i & 31) | (unsigned)x >> (31 - (i & 31)); o[5] = x >> (i & 31); o[6] = (signed char)x; o[7] = (unsigned char)(x >> 8) * (short)x;
}
__device__ unsigned long long power(unsigned long long b, unsigned e, unsigned long long m) {
  unsigned long long r = 1;
  for (b %= m; e; e >>= 1, b = (unsigned long long)((unsigned __int128)b * b % m))
    if (e & 1) r = (unsigned long long)((unsigned __int128)r * b % m);
  return r;
}
KERNEL number_theory(const unsigned *a, unsigned long long *out, unsigned char *sieve, int n) {
  int i = threadIdx.x;
  unsigned x = a[i], y = a[(i + 1) % blockDim.x];
  while (y) { unsigned t = x % y; x = y; y = t; }
  out[4 * i] = x;
  out[4 * i + 1] = power(a[i], 65537, 0xffffffffffffffc5ull);
  unsigned long long v = (unsigned long long)a[i] * a[i] + i, low = 0, high = 1ull << 32;
  while (low < high) { unsigned long long mid = (low + high + 1) / 2; if (mid * mid <= v) low = mid; else high = mid - 1; }
  out[4 * i + 2] = low;
  unsigned steps = 0;
  for (unsigned long long c = a[i] % 10000 + 1; c != 1; ++steps) c = c & 1 ? 3 * c + 1 : c / 2;
  out[4 * i + 3] = steps;
  for (int p = i + 2; p < n; p += blockDim.x) {
    bool prime = true;
    for (int d = 2; d * d <= p && prime; ++d) prime = p % d != 0;
    sieve[p] = prime;
  }
}
// Numbers of 256 bits, with the carry flag.
KERNEL carries(const unsigned *a, const unsigned *b, unsigned *sum, unsigned *product) {
  unsigned s[8];
  asm("add.cc.u32 %0, %8, %16; addc.cc.u32 %1, %9, %17; addc.cc.u32 %2, %10, %18; addc.cc.u32 %3, %11, %19;"
      "addc.cc.u32 %4, %12, %20; addc.cc.u32 %5, %13, %21; addc.cc.u32 %6, %14, %22; addc.u32 %7, %15, %23;"
      : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]), "=r"(s[4]), "=r"(s[5]), "=r"(s[6]), "=r"(s[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
        "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
  for (int i = 0; i < 8; ++i) sum[i] = s[i];
  unsigned p[3];
  asm("mul.lo.u32 %0, %3, %5; mul.hi.u32 %1, %3, %5; mad.lo.cc.u32 %1, %4, %5, %1; madc.hi.u32 %2, %4, %5, 0;" : "=&r"(p[0]), "=&r"(p[1]), "=&r"(p[2]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  unsigned d0, d1;
  asm("sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5;" : "=r"(d0), "=r"(d1) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 3; ++i) product[i] = p[i];
  product[3] = d0; product[4] = d1;
}
#else
typedef __int128 wide;
template <class T> std::vector<uint64_t> words(const std::vector<T> &v) { std::vector<uint64_t> w(v.size() * sizeof(T) / 8); memcpy(w.data(), v.data(), w.size() * 8); return w; }
void program() {
  const int n = 24;
  auto a = random_words<int64_t>(n), b = random_words<int64_t>(n);
  for (int i = 0; i < n; ++i) b[i] >>= i % 5 * 12, b[i] |= 1;
  a[0] = INT64_MIN, b[0] = 3, a[1] = 7, b[1] = -2, a[2] = -7, b[2] = 2;
  std::vector<int64_t> d;
  std::vector<wide> w;
  for (int i = 0; i < n; ++i) {
    int64_t x = a[i], y = b[i];
    int p = x, q = int(y) | 1;
    short s = x, t = short(y) | 1;
    d.insert(d.end(), {x / y, x % y, int64_t(uint64_t(x) / uint64_t(y)), int64_t(uint64_t(x) % uint64_t(y)), q == -1 && p == INT32_MIN ? 0 : p / q, q == -1 && p == INT32_MIN ? 0 : p % q, uint32_t(p) / uint32_t(q), uint32_t(p) % uint32_t(q),
                       s / t, s % t, uint16_t(s) / uint16_t(t), int8_t(x) / (int8_t(y) | 1), x / 10, p / 7, uint32_t(p) % 1000000007u, p / -16});
    wide u = wide(x) * y, v = wide((unsigned __int128)(wide(x)) << 64) | uint64_t(y);
    w.insert(w.end(), {u, wide((unsigned __int128)u + v), wide((unsigned __int128)u - v), v >> i * 5, wide((unsigned __int128)v << i * 3), v / (u | 1), wide((unsigned __int128)v % 1000000007), wide((unsigned __int128)u * v), u < v ? -u : ~v, wide(double(u))});
  }
  auto ba = buffer(a), bb = buffer(b), bd = zeros<int64_t>(d.size()), bw = zeros<uint64_t>(2 * w.size());
  launch("divisions", {1, n}, ba, bb, bd);
  expect(bd, d);
  launch("wides", {1, n}, ba, bb, bw);
  expect(bw, words(w));

  auto x = random_words<int>(n);
  std::vector<int> s;
  for (int i = 0; i < n; ++i) {
    int v = x[i], by = i * 3;
    s.insert(s.end(), {by > 31 ? 0 : int(uint32_t(v) << by), v >> std::min(by, 31), by > 31 ? 0 : int(uint32_t(v) >> by), i > 15 ? 0 : short(v << i), int(uint32_t(v) << (i & 31) | uint32_t(v) >> (31 - (i & 31))), v >> (i & 31), int8_t(v), uint8_t(v >> 8) * short(v)});
  }
  auto bs = zeros<int>(s.size());
  launch("shifts", {1, n}, buffer(x), bs);
  expect(bs, s);

  auto u = random_words<uint32_t>(n);
  std::vector<uint64_t> t;
  for (int i = 0; i < n; ++i) {
    t.push_back(std::gcd(u[i], u[(i + 1) % n]));
    unsigned __int128 m = 0xffffffffffffffc5ull, r = u[i];
    for (int k = 0; k < 16; ++k) r = r * r % m;
    t.push_back(uint64_t(r * u[i] % m));
    uint64_t square = uint64_t(u[i]) * u[i] + i, root = sqrtl(square);
    t.push_back(root);
    int steps = 0;
    for (uint64_t c = u[i] % 10000 + 1; c != 1; ++steps) c = c % 2 ? 3 * c + 1 : c / 2;
    t.push_back(steps);
  }
  std::vector<uint8_t> primes(200, 1);
  primes[0] = primes[1] = 0;
  for (int i = 2; i < 200; ++i)
    for (int k = 2 * i; k < 200; k += i) primes[k] = 0;
  auto bt = zeros<uint64_t>(t.size()), bp = zeros<uint8_t>(200);
  launch("number_theory", {1, n}, buffer(u), bt, bp, 200);
  expect(bt, t);
  expect(bp, primes);

  auto p = random_words<uint32_t>(8), q = random_words<uint32_t>(8);
  p[1] = p[2] = ~0u, q[0] = ~0u, q[2] = 0;
  std::vector<uint32_t> sum(8), product(5);
  uint64_t carry = 0;
  for (int i = 0; i < 8; ++i) carry += uint64_t(p[i]) + q[i], sum[i] = carry, carry >>= 32;
  unsigned __int128 long_product = (unsigned __int128)(uint64_t(p[1]) << 32 | p[0]) * q[0];
  uint64_t difference = (uint64_t(p[1]) << 32 | p[0]) - (uint64_t(q[1]) << 32 | q[0]);
  for (int i = 0; i < 3; ++i) product[i] = long_product >> 32 * i;
  product[3] = difference, product[4] = difference >> 32;
  auto bsum = zeros<uint32_t>(8), bproduct = zeros<uint32_t>(5);
  launch("carries", {1, 1}, buffer(p), buffer(q), bsum, bproduct);
  expect(bsum, sum);
  expect(bproduct, product);
}
#endif
