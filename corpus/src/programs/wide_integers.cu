// Integers of many words: products with carries, Karatsuba, powers modulo a prime, Montgomery, greatest common divisors, rationals, Fibonacci.
#include "program.h"
#include <cstdint>
#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif
typedef unsigned __int128 wide;
BOTH inline uint64_t times(uint64_t a, uint64_t b, uint64_t m) { return uint64_t(wide(a) * b % m); }
BOTH inline uint64_t power(uint64_t a, uint64_t e, uint64_t m) {
  uint64_t r = 1 % m;
  for (a %= m; e; e >>= 1, a = times(a, a, m)) if (e & 1) r = times(r, a, m);
  return r;
}
BOTH inline bool is_prime(uint64_t n) {
  if (n < 2 || n % 2 == 0) return n == 2;
  uint64_t d = n - 1;
  int s = 0;
  for (; d % 2 == 0; d /= 2) ++s;
  for (uint64_t a : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    if (a % n == 0) continue;
    uint64_t x = power(a, d, n);
    bool composite = x != 1 && x != n - 1;
    for (int i = 1; composite && i < s; ++i) composite = (x = times(x, x, n)) != n - 1;
    if (composite) return false;
  }
  return true;
}
BOTH inline void multiply(const uint32_t *a, const uint32_t *b, uint32_t *r, int n) {
  for (int i = 0; i < 2 * n; ++i) r[i] = 0;
  for (int i = 0; i < n; ++i) {
    uint64_t carry = 0;
    for (int j = 0; j < n; ++j) {
      carry += uint64_t(a[i]) * b[j] + r[i + j];
      r[i + j] = uint32_t(carry);
      carry >>= 32;
    }
    r[i + n] = uint32_t(carry);
  }
}
BOTH inline uint64_t montgomery(uint64_t a, uint64_t b, uint64_t m) {
  uint64_t inverse = m;
  for (int i = 0; i < 5; ++i) inverse *= 2 - m * inverse;
  wide t = wide(a) * b;
  uint64_t q = uint64_t(t) * (0 - inverse);
  wide u = t + wide(q) * m;
  bool over = u < t;
  uint64_t r = uint64_t(u >> 64);
  return over || r >= m ? r - m : r;
}
BOTH inline long long gcd(long long a, long long b) { while (b) { long long t = a % b; a = b, b = t; } return a < 0 ? -a : a; }
BOTH inline __int128 signed_mix(long long a, long long b, int s) {
  __int128 x = (__int128)a * b, y = x >> s % 127, z = b ? x / b : x;
  return (x % (a | 1)) + (y << (s % 7)) - z + (x < y) * 5 + (z >= x) * 3;
}
#ifdef KERNELS
KERNEL primes(const uint64_t *in, int *out) { int t = blockIdx.x * blockDim.x + threadIdx.x; out[t] = is_prime(in[t]); }
KERNEL products(const uint32_t *a, const uint32_t *b, uint32_t *r) { multiply(a + threadIdx.x * 6, b + threadIdx.x * 6, r + threadIdx.x * 12, 6); }
KERNEL reduced(const uint64_t *a, const uint64_t *b, uint64_t *r) {
  int t = threadIdx.x;
  uint64_t m = b[t] | 1;
  r[t * 3] = montgomery(a[t] % m, b[t] % m, m), r[t * 3 + 1] = power(a[t], b[t] & 1023, m), r[t * 3 + 2] = gcd(a[t] >> 2, b[t] >> 3);
}
KERNEL mixed(const long long *a, const long long *b, __int128 *r) { int t = threadIdx.x; r[t] = signed_mix(a[t], b[t], t); }
KERNEL by_constants(const unsigned long long *in, unsigned long long *out) {
  unsigned long long v = in[threadIdx.x], *o = out + threadIdx.x * 8;
  long long s = v;
  o[0] = v / 7 + v % 1000000007, o[1] = s / 3 - s % 10, o[2] = unsigned(v) / 641 + unsigned(v) % 60, o[3] = int(v) / -9;
  o[4] = (short)v / 100 + (unsigned short)v % 13, o[5] = (signed char)v / 5, o[6] = v / 0x8000000000000001ull, o[7] = s / 4096 + s % 4096;
}
#else
void program() {
  const int n = 64;
  auto a = random_words<uint64_t>(n), b = random_words<uint64_t>(n);
  for (int i = 0; i < n; ++i) a[i] >>= i % 5 * 9;
  std::vector<uint64_t> candidates(a);
  for (int i = 0; i < 16; ++i) candidates[i] = i * 3 + 1, candidates[16 + i] = 0xffffffffffffffc5ull - 2 * i;
  std::vector<int> prime;
  for (auto c : candidates) prime.push_back(is_prime(c));
  auto p = zeros<int>(n);
  launch("primes", {2, 32}, buffer(candidates), p);
  expect(p, prime);
  auto x = random_words<uint32_t>(32 * 6), y = random_words<uint32_t>(32 * 6);
  x[5] = x[4] = y[5] = y[4] = ~0u;
  std::vector<uint32_t> products(32 * 12);
  for (int t = 0; t < 32; ++t) multiply(&x[t * 6], &y[t * 6], &products[t * 12], 6);
  auto r = zeros<uint32_t>(products.size());
  launch("products", {1, 32}, buffer(x), buffer(y), r);
  expect(r, products);
  std::vector<uint64_t> reduced;
  for (int t = 0; t < n; ++t) {
    uint64_t m = b[t] | 1;
    reduced.push_back(montgomery(a[t] % m, b[t] % m, m));
    reduced.push_back(power(a[t], b[t] & 1023, m));
    reduced.push_back(gcd(a[t] >> 2, b[t] >> 3));
  }
  auto o = zeros<uint64_t>(3 * n);
  launch("reduced", {1, n}, buffer(a), buffer(b), o);
  expect(o, reduced);
  auto c = random_words<long long>(n), d = random_words<long long>(n);
  for (int i = 0; i < n; ++i) d[i] >>= i % 4 * 15;
  d[3] = 0, d[4] = -1;
  std::vector<__int128> mixed;
  for (int i = 0; i < n; ++i) mixed.push_back(signed_mix(c[i], d[i], i));
  auto m = zeros<__int128>(n);
  launch("mixed", {1, n}, buffer(c), buffer(d), m);
  expect(m, mixed);
  std::vector<unsigned long long> q;
  for (auto v : b) {
    long long s = v;
    q.push_back(v / 7 + v % 1000000007);
    q.push_back(s / 3 - s % 10);
    q.push_back(unsigned(v) / 641 + unsigned(v) % 60);
    q.push_back(int(v) / -9);
    q.push_back((short)v / 100 + (unsigned short)v % 13);
    q.push_back((signed char)v / 5);
    q.push_back(v / 0x8000000000000001ull);
    q.push_back(s / 4096 + s % 4096);
  }
  auto k = zeros<uint64_t>(8 * n);
  launch("by_constants", {1, n}, buffer(b), k);
  expect(k, q);
}
#endif
