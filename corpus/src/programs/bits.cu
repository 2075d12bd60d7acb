// Bit operations, bytes in words, funnel shifts, video instructions on packed bytes and halves, dot products of bytes.
#include "program.h"
#ifdef KERNELS
KERNEL counts(const unsigned *a, const unsigned long long *l, unsigned *out, int n) {
  int i = threadIdx.x;
  unsigned x = a[i], *o = out + 16 * i;
  unsigned long long y = l[i];
  o[0] = __popc(x); o[1] = __clz(x); o[2] = __ffs(x); o[3] = __brev(x);
  o[4] = __popcll(y); o[5] = __clzll(y); o[6] = __ffsll(y); o[7] = (unsigned)__brevll(y);
  o[8] = __byte_perm(x, (unsigned)y, 0x5140 + i); o[9] = __funnelshift_l(x, (unsigned)y, i); o[10] = __funnelshift_rc(x, (unsigned)y, i);
  o[11] = __fns(x, i % 32, i % 5 - 2); o[12] = __rhadd((int)x, (int)y); o[13] = __uhadd(x, (unsigned)y); o[14] = __sad((int)x, (int)y, i); o[15] = __usad(x, (unsigned)y, i);
}
KERNEL products(const int *a, const int *b, int *out) {
  int i = threadIdx.x;
  int x = a[i], y = b[i], *o = out + 12 * i;
  o[0] = __mulhi(x, y); o[1] = (int)__umulhi(x, y); o[2] = __mul24(x, y); o[3] = (int)__umul24(x, y);
  long long w = __mul64hi((long long)x << 30, (long long)y << 29);
  o[4] = (int)w; o[5] = (int)(w >> 32);
  o[6] = __dp4a(x, y, i); o[7] = (int)__dp4a((unsigned)x, (unsigned)y, (unsigned)i); o[8] = __dp2a_lo(x, y, i); o[9] = (int)__dp2a_hi((unsigned)x, (unsigned)y, (unsigned)i);
  o[10] = min(max(x, -1000), 1000); o[11] = abs(x) + __hadd(x, y);
}
KERNEL packed(const unsigned *a, const unsigned *b, unsigned *out) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], *o = out + 20 * i;
  o[0] = __vadd4(x, y); o[1] = __vsub2(x, y); o[2] = __vabsdiffu4(x, y); o[3] = __vmaxs2(x, y); o[4] = __vminu4(x, y);
  o[5] = __vaddss2(x, y); o[6] = __vsubus4(x, y); o[7] = __vcmpgtu4(x, y); o[8] = __vseteq2(x, y); o[9] = __vavgu4(x, y);
  o[10] = __vsadu4(x, y); o[11] = __vabs2(x); o[12] = __vneg4(x); o[13] = __vhaddu2(x, y); o[14] = __vcmples4(x, y); o[15] = __vabsdiffs2(x, y);
  o[16] = __viaddmax_s32(x, y, i); o[17] = __vimax3_u32(x, y, i); bool first; o[18] = __vibmin_s32((int)x, (int)y, &first); o[19] = __vimin_s32_relu(x, y);
}
KERNEL fields(const unsigned long long *in, long long *out) {
  int i = threadIdx.x;
  struct { unsigned a : 3; int b : 7; unsigned c : 22; long long d : 40; } s;
  s.a = in[i]; s.b = in[i] >> 3; s.c = in[i] >> 10; s.d = in[i] >> 20;
  unsigned u;
  int v;
  asm("bfe.u32 %0, %1, %2, 9;" : "=r"(u) : "r"((unsigned)in[i]), "r"(i));
  asm("bfi.b32 %0, %1, %2, 5, %3;" : "=r"(v) : "r"(i), "r"((unsigned)in[i]), "r"(i % 20));
  out[i] = s.a + 10ll * s.b + 1000ll * s.c + s.d * 7 + u + v;
}
#else
typedef uint32_t W;
template <class F> W bytes(W a, W b, F f) { W r = 0; for (int k = 0; k < 32; k += 8) r |= W(uint8_t(f(a >> k & 255, b >> k & 255))) << k; return r; }
template <class F> W halves(W a, W b, F f) { W r = 0; for (int k = 0; k < 32; k += 16) r |= W(uint16_t(f(int16_t(a >> k), int16_t(b >> k)))) << k; return r; }
W nth(W mask, int base, int offset) {
  if (offset == 0) return mask >> base & 1 ? base : ~0u;
  int step = offset > 0 ? 1 : -1, left = std::abs(offset);
  for (int k = base; k >= 0 && k < 32; k += step)
    if (mask >> k & 1 && --left == 0) return k;
  return ~0u;
}
void program() {
  const int n = 32;
  auto a = random_words<W>(n), b = random_words<W>(n);
  auto l = random_words<uint64_t>(n);
  a[0] = 0, l[0] = 0, a[1] = 0x80000000, l[1] = 1ull << 63, a[2] = ~0u;
  std::vector<W> r;
  auto reversed = [](uint64_t v, int bits) { uint64_t o = 0; for (int k = 0; k < bits; ++k) o |= (v >> k & 1) << (bits - 1 - k); return o; };
  for (int i = 0; i < n; ++i) {
    W x = a[i], hi = W(l[i]);
    uint64_t y = l[i], both = uint64_t(hi) << 32 | x;
    W perm = 0;
    for (int k = 0; k < 4; ++k) perm |= W(both >> 8 * ((0x5140 + i) >> 4 * k & 7) & 255) << 8 * k;
    r.insert(r.end(), {W(__builtin_popcount(x)), x ? W(__builtin_clz(x)) : 32, W(__builtin_ffs(x)), W(reversed(x, 32)), W(__builtin_popcountll(y)),
                       y ? W(__builtin_clzll(y)) : 64, W(__builtin_ffsll(y)), W(reversed(y, 64)), perm, W(both << i >> 32), W(both >> i), nth(x, i % 32, i % 5 - 2),
                       W((int64_t(int(x)) + int(hi) + 1) >> 1), W((uint64_t(x) + hi) >> 1), W(std::abs(int64_t(int(x)) - int(hi)) + i), W(std::max(x, hi) - std::min(x, hi) + i)});
  }
  auto out = zeros<W>(16 * n), ba = buffer(a), bb = buffer(b);
  launch("counts", {1, n}, ba, buffer(l), out, n);
  expect(out, r);

  std::vector<int> p;
  for (int i = 0; i < n; ++i) {
    int x = a[i], y = b[i];
    int x24 = int(W(x) << 8) >> 8, y24 = int(W(y) << 8) >> 8;
    int64_t wide = __int128(int64_t(x) << 30) * (int64_t(y) << 29) >> 64;
    int s4 = i, u4 = i, s2 = i, u2 = i;
    for (int k = 0; k < 4; ++k) s4 += int8_t(x >> 8 * k) * int8_t(y >> 8 * k), u4 += uint8_t(x >> 8 * k) * uint8_t(y >> 8 * k);
    for (int k = 0; k < 2; ++k) s2 += int16_t(x >> 16 * k) * int8_t(y >> 8 * k), u2 += uint16_t(x >> 16 * k) * uint8_t(y >> (16 + 8 * k));
    p.insert(p.end(), {int(int64_t(x) * y >> 32), int(uint64_t(W(x)) * W(y) >> 32), int(W(x24) * W(y24)), int((W(x) & 0xffffff) * (W(y) & 0xffffff)), int(wide), int(wide >> 32),
                       s4, u4, s2, u2, std::clamp(x, -1000, 1000), int(W(x < 0 ? -W(x) : x) + W((int64_t(x) + y) >> 1))});
  }
  auto po = zeros<int>(12 * n);
  launch("products", {1, n}, ba, bb, po);
  expect(po, p);

  std::vector<W> v;
  for (int i = 0; i < n; ++i) {
    W x = a[i], y = b[i], sad = 0;
    for (int k = 0; k < 32; k += 8) sad += std::abs(int(x >> k & 255) - int(y >> k & 255));
    auto clamp16 = [](int s) { return std::clamp(s, -32768, 32767); };
    v.insert(v.end(), {bytes(x, y, [](int p, int q) { return p + q; }), halves(x, y, [](int p, int q) { return p - q; }), bytes(x, y, [](int p, int q) { return std::abs(p - q); }),
                       halves(x, y, [](int p, int q) { return std::max(p, q); }), bytes(x, y, [](int p, int q) { return std::min(p, q); }),
                       halves(x, y, [&](int p, int q) { return clamp16(p + q); }), bytes(x, y, [](int p, int q) { return std::max(p - q, 0); }),
                       bytes(x, y, [](int p, int q) { return p > q ? 255 : 0; }), halves(x, y, [](int p, int q) { return p == q; }),
                       bytes(x, y, [](int p, int q) { return (p + q + 1) / 2; }), sad, halves(x, y, [](int p, int q) { return std::abs(p); }),
                       bytes(x, y, [](int p, int q) { return -p; }), halves(x, y, [](int p, int q) { return (uint16_t(p) + uint16_t(q)) / 2; }),
                       bytes(x, y, [](int p, int q) { return int8_t(p) <= int8_t(q) ? 255 : 0; }), halves(x, y, [](int p, int q) { return std::abs(p - q); }),
                       W(std::max(int(x + y), i)), std::max({x, y, W(i)}), W(std::min(int(x), int(y))), W(std::max(0, std::min(int(x), int(y))))});
  }
  auto vo = zeros<W>(20 * n);
  launch("packed", {1, n}, ba, bb, vo);
  expect(vo, v);

  std::vector<int64_t> f;
  for (int i = 0; i < n; ++i) {
    uint64_t x = l[i];
    int64_t b7 = int64_t(x >> 3 << 57) >> 57, d40 = int64_t(x >> 20 << 24) >> 24;
    W u = W(x) >> i & 511, mask = 0xffffffffu >> (32 - i % 20);
    if (i % 20 == 0) mask = 0;
    W ins = (W(x) & ~(mask << 5)) | (W(i) & mask) << 5;
    f.push_back((x & 7) + 10 * b7 + 1000 * int64_t(x >> 10 & 0x3fffff) + d40 * 7 + u + int(ins));
  }
  auto fo = zeros<int64_t>(n);
  launch("fields", {1, n}, buffer(l), fo);
  expect(fo, f);
}
#endif
