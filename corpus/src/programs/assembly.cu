// Inline assembly: predicates, selections, permutations, logic of three inputs, video instructions, conversions, vectors, branches, tables.
// nvcc: -arch=sm_86
#include "program.h"
#ifdef KERNELS
KERNEL logic(const unsigned *a, const unsigned *b, unsigned *out) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], *o = out + 16 * i;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(o[0]) : "r"(x), "r"(y), "r"(i));
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(o[1]) : "r"(x), "r"(y), "r"(i));
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(o[2]) : "r"(x), "r"(y), "r"(i * 0x1234 + 0x8642));
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(o[3]) : "r"(x), "r"(y), "r"(i));
  asm("bfind.u32 %0, %1;" : "=r"(o[4]) : "r"(x >> i));
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(o[5]) : "r"(x));
  asm("{.reg .pred p, q; setp.lt.u32 p|q, %1, %2; selp.u32 %0, 5, 7, p; @q add.u32 %0, %0, 10;}" : "=r"(o[6]) : "r"(x), "r"(y));
  asm("{.reg .pred p; setp.gt.s32.and p, %1, 0, 1; set.lt.or.u32.s32 %0, %1, %2, p;}" : "=r"(o[7]) : "r"(x), "r"(y));
  asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(o[8]) : "r"(x), "r"(y), "r"(i - 8));
  asm("vadd.u32.u32.u32.sat %0, %1, %2;" : "=r"(o[9]) : "r"(x), "r"(y));
  asm("vabsdiff.s32.s32.s32.add %0, %1.b1, %2.h0, %3;" : "=r"(o[10]) : "r"(x), "r"(y), "r"(i));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(o[11]) : "r"(x), "r"(y), "r"(i * 2));
  asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(o[12]) : "r"(x), "r"(y), "r"(i * 2));
  asm("szext.wrap.s32 %0, %1, %2;" : "=r"(o[13]) : "r"(x), "r"(i));
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(o[14]) : "r"(i), "r"(i / 2));
  asm("mad24.lo.u32 %0, %1, %2, %3;" : "=r"(o[15]) : "r"(x), "r"(y), "r"(i));
}
KERNEL memory(const uint4 *in, uint4 *out) {
  __shared__ uint4 tile[32];
  unsigned s = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(in + threadIdx.x));
  asm volatile("st.shared.v2.u32 [%0], {%2, %1}; st.shared.v2.u32 [%0+8], {%4, %3};" ::"r"(s), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
  asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x) : "memory");
  unsigned long long a, b;
  asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "r"((unsigned)__cvta_generic_to_shared(&tile[31 - threadIdx.x])));
  asm volatile("{.reg .b32 l, h, m, n; mov.b64 {l, h}, %1; mov.b64 {m, n}, %2; st.global.wb.v4.b32 [%0], {n, m, h, l};}" ::"l"(out + threadIdx.x), "l"(a), "l"(b) : "memory");
}
KERNEL branches(const int *in, int *out) {
  int v = in[threadIdx.x], r;
  asm volatile("{\n.reg .pred p;\n.reg .u32 k;\n mov.u32 %0, 0;\n and.b32 k, %1, 3;\n"
               "ts: .branchtargets A, B, C, D;\n brx.idx k, ts;\n"
               "A: add.s32 %0, %0, 1;\n bra.uni END;\nB: add.s32 %0, %0, 20;\n setp.gt.s32 p, %1, 50;\n@p bra C;\n bra END;\nC: add.s32 %0, %0, 300;\nD: add.s32 %0, %0, 4000;\nEND:\n}"
               : "=&r"(r) : "r"(v));
  out[threadIdx.x] = r;
}
KERNEL numbers(const float *in, float *out) {
  float v = in[threadIdx.x], *o = out + 9 * threadIdx.x;
  asm("{.reg .pred p; testp.subnormal.f32 p, %1; selp.f32 %0, 0f3F800000, 0f00000000, p;}" : "=f"(o[0]) : "f"(v));
  asm("copysign.f32 %0, %1, 0f40000000;" : "=f"(o[1]) : "f"(v));
  asm("cvt.rni.ftz.f32.f32 %0, %1;" : "=f"(o[2]) : "f"(v));
  asm("cvt.sat.f32.f32 %0, %1;" : "=f"(o[3]) : "f"(v));
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(o[4]) : "f"(v), "f"(1.5f));
  asm("max.xorsign.abs.f32 %0, %1, %2;" : "=f"(o[5]) : "f"(v), "f"(-1.5f));
  asm("fma.rn.sat.f32 %0, %1, %1, %1;" : "=f"(o[6]) : "f"(v));
  asm("{.reg .b16 h; cvt.rz.f16.f32 h, %1; cvt.f32.f16 %0, h;}" : "=f"(o[7]) : "f"(v));
  asm("{.reg .b32 t; cvt.rna.tf32.f32 t, %1; mov.b32 %0, t;}" : "=f"(o[8]) : "f"(v));
}
#else
#include <climits>
void program() {
  const int n = 32;
  auto a = random_words<uint32_t>(n), b = random_words<uint32_t>(n);
  std::vector<uint32_t> l;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t x = a[i], y = b[i], select = i * 0x1234 + 0x8642, permuted = 0, forward = 0;
    uint64_t both = uint64_t(y) << 32 | x;
    for (int k = 0; k < 4; ++k) {
      uint32_t s = select >> 4 * k & 15, byte = both >> 8 * (s & 7) & 255;
      permuted |= (s & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * k;
      forward |= uint32_t(both >> 8 * ((i & 3) + k) & 255) << 8 * k;
    }
    uint32_t shifted = x >> i, flipped = int(x) < 0 ? ~x : x, by = i * 2;
    bool less = x < y;
    int32_t difference = std::abs(int8_t(x >> 8) - int16_t(y)) + int(i);
    int width = i;
    l.insert(l.end(), {x ^ y ^ i, (x & y) | (~x & i), permuted, forward, shifted ? 31 - __builtin_clz(shifted) : ~0u, flipped ? uint32_t(__builtin_clz(flipped)) : ~0u, less ? 5u : 17u,
                       int(x) < int(y) || int(x) > 0 ? ~0u : 0u, int(i) - 8 >= 0 ? x : y, uint32_t(std::min<uint64_t>(uint64_t(x) + y, UINT32_MAX)), uint32_t(difference),
                       uint32_t(both << (by & 31) >> 32), uint32_t(by >= 32 ? y : both >> by), width == 0 ? 0u : uint32_t(int32_t(x << (32 - width)) >> (32 - width)),
                       uint32_t(((uint64_t(1) << i / 2) - 1) << i), uint32_t((x & 0xffffff) * uint64_t(y & 0xffffff) + i)});
  }
  auto ba = buffer(a), bb = buffer(b), bl = zeros<uint32_t>(l.size());
  launch("logic", {1, n}, ba, bb, bl);
  expect(bl, l);

  auto in = random_words<uint32_t>(4 * n);
  std::vector<uint32_t> out(4 * n);
  for (int i = 0; i < n; ++i) {
    const uint32_t *v = &in[4 * (n - 1 - i)];
    uint32_t stored[4] = {v[1], v[0], v[3], v[2]};
    for (int k = 0; k < 4; ++k) out[4 * i + k] = stored[3 - k];
  }
  auto bo = zeros<uint32_t>(4 * n);
  launch("memory", {1, n}, buffer(in), bo);
  expect(bo, out);

  auto w = random<int>(n, 0, 100);
  std::vector<int> ways;
  for (int v : w) ways.push_back(v % 4 == 0 ? 1 : v % 4 == 1 ? (v > 50 ? 4320 : 20) : v % 4 == 2 ? 4300 : 4000);
  auto bw = zeros<int>(n);
  launch("branches", {1, n}, buffer(w), bw);
  expect(bw, ways);

  auto f = random<float>(n, -3, 3);
  f[0] = 1e-40f, f[1] = NAN, f[2] = -0.0f, f[3] = INFINITY, f[4] = 2.5f, f[5] = 1.0f / 3;
  std::vector<float> r;
  for (float v : f) {
    uint32_t bits, t;
    memcpy(&bits, &v, 4);
    t = (bits + 0x1000) & ~0x1fffu;
    if ((bits >> 23 & 255) == 255) t = std::isnan(v) ? 0x7fffffff : bits;
    uint32_t cut = bits & ~0x1fffu;
    float tf32, half;
    memcpy(&tf32, &t, 4), memcpy(&half, &cut, 4);
    if (std::fabs(v) < 6e-5f) half = std::trunc(v * 16777216.0f) / 16777216.0f;
    float tiny = std::fabs(v) < 1.2e-38f ? std::copysign(0.0f, v) : v, xored = std::max(std::fabs(v), 1.5f);
    if (std::isnan(v)) xored = 1.5f;
    r.insert(r.end(), {v != 0 && std::fabs(v) < 1.17549435e-38f ? 1.0f : 0.0f, std::copysign(2.0f, v), std::rint(tiny), v > 0 ? std::min(v, 1.0f) : 0, std::isnan(v) ? NAN : std::min(v, 1.5f), std::copysign(xored, std::signbit(v) ? 1.0f : -1.0f),
                       std::isnan(v) ? 0 : std::clamp(std::fma(v, v, v), 0.0f, 1.0f), half, tf32});
  }
  auto br = zeros<float>(r.size());
  launch("numbers", {1, n}, buffer(f), br);
  expect(br, r);
}
#endif
