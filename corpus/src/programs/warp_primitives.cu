// All warp intrinsics: shuffles of all types and widths, votes, matches, reductions, active masks, and divergence before them.
// nvcc: -arch=sm_80
#include "program.h"
#ifdef KERNELS
#include <cuda_fp16.h>
KERNEL shuffles(const int *in, long long *out) {
  int t = threadIdx.x, v = in[t];
  long long *o = out + 10 * t;
  o[0] = __shfl_sync(~0u, v, 5); o[1] = __shfl_sync(~0u, v, t + 3, 8); o[2] = __shfl_up_sync(~0u, v, 3); o[3] = __shfl_up_sync(~0u, v, 1, 4);
  o[4] = __shfl_down_sync(~0u, v, 7); o[5] = __shfl_down_sync(~0u, v, 2, 16); o[6] = __shfl_xor_sync(~0u, v, 21); o[7] = __shfl_xor_sync(~0u, (long long)v << 33, 9);
  o[8] = (long long)__shfl_sync(~0u, v * 0.5, t ^ 1); o[9] = (int)__half2float(__shfl_xor_sync(~0u, __int2half_rn(t), 2));
}
KERNEL votes(const int *in, unsigned *out) {
  int t = threadIdx.x, v = in[t];
  unsigned *o = out + 12 * t;
  o[0] = __ballot_sync(~0u, v > 0); o[1] = __any_sync(~0u, v > 98); o[2] = __all_sync(~0u, v > -101); o[3] = 0;
  o[4] = __match_any_sync(~0u, v & 7); int p; o[5] = __match_all_sync(~0u, t / 32, &p); o[6] = p; o[7] = __match_any_sync(~0u, (unsigned long long)(v % 3) << 40);
  o[8] = __reduce_add_sync(~0u, v); o[9] = __reduce_min_sync(~0u, v); o[10] = __reduce_xor_sync(~0u, (unsigned)v); o[11] = __reduce_max_sync(~0u, (unsigned)v);
}
// Lanes take different ways and meet in part.
KERNEL divergent(const int *in, unsigned *out) {
  int t = threadIdx.x, v = in[t];
  unsigned r;
  if (v & 1) {
    unsigned live = __activemask();
    r = __popc(__ballot_sync(live, v > 0)) + 100 * __popc(live);
    if (v & 2) {
      unsigned inner = __activemask();
      r += 10000 * __reduce_add_sync(inner, 1u) + 1000000 * (__ffs(inner) - 1 == t % 32);
    }
  } else {
    int steps = 0;
    while (v > 1 || v < -1) v /= 2, ++steps;
    unsigned live = __activemask();
    r = steps;
  }
  __syncwarp();
  out[t] = r + 100000000 * (__ballot_sync(~0u, r & 1) >> (t % 32) & 1);
}
KERNEL aggregate(const int *in, int *counter, int *out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (in[i] > 0) {
      unsigned live = __activemask();
      int leader = __ffs(live) - 1, base;
      if (threadIdx.x % 32 == leader) base = atomicAdd(counter, __popc(live));
      base = __shfl_sync(live, base, leader);
      out[base + __popc(live & ((1u << threadIdx.x % 32) - 1))] = in[i];
    }
}
KERNEL partial(int *out) {
  // A block that is not a multiple of a warp; lanes that have returned are not waited for.
  int t = threadIdx.x;
  if (t % 3 == 0) return;
  unsigned mask = 0;
  for (int i = t / 32 * 32; i < t / 32 * 32 + 32 && i < blockDim.x; ++i)
    if (i % 3) mask |= 1u << i % 32;
  int v = t;
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(mask, v, d);
    if (t % 32 >= d && mask >> (t % 32 - d) & 1) v = max(v, u + 1);
  }
  __syncthreads();
  out[t] = v + 1000 * __popc(mask);
}
#else
void program() {
  const int n = 64;
  auto in = random<int>(n, -100, 100);
  std::vector<int64_t> s;
  std::vector<unsigned> v;
  for (int t = 0; t < n; ++t) {
    auto w = in.begin() + t / 32 * 32;
    int l = t % 32;
    auto at = [&](bool inside, int from) { return int64_t(w[inside ? from : l]); };
    s.insert(s.end(), {w[5], w[l / 8 * 8 + (l + 3) % 8], at(l >= 3, l - 3), at(l % 4 >= 1, l - 1), at(l + 7 < 32, l + 7), at(l % 16 + 2 < 16, l + 2), w[l ^ 21], int64_t(uint64_t(w[l ^ 9]) << 33), int64_t(w[l ^ 1] * 0.5), (t ^ 2)});
    unsigned ballot = 0, same = 0, third = 0, x = 0, big = 0;
    int sum = 0, least = 1000;
    for (int k = 0; k < 32; ++k) {
      ballot |= unsigned(w[k] > 0) << k, same |= unsigned((w[k] & 7) == (w[l] & 7)) << k, third |= unsigned(w[k] % 3 == w[l] % 3) << k;
      sum += w[k], least = std::min(least, w[k]), x ^= w[k], big = std::max(big, unsigned(w[k]));
    }
    v.insert(v.end(), {ballot, unsigned(std::any_of(w, w + 32, [](int q) { return q > 98; })), 1, 0, same, ~0u, 1, third, unsigned(sum), unsigned(least), x, big});
  }
  auto b = buffer(in), bs = zeros<int64_t>(s.size()), bv = zeros<unsigned>(v.size());
  launch("shuffles", {1, n}, b, bs);
  expect(bs, s);
  launch("votes", {1, n}, b, bv);
  expect(bv, v);

  auto many = random<int>(200, -50, 50);
  auto counter = zeros<int>(1), kept = zeros<int>(200);
  launch("aggregate", {1, 32}, buffer(many), counter, kept, 200);
  std::vector<int> positive;
  std::copy_if(many.begin(), many.end(), std::back_inserter(positive), [](int q) { return q > 0; });
  expect(counter, std::vector<int>{int(positive.size())});
  expect(kept, positive);

  const int m = 50;
  std::vector<int> partial(m);
  for (int w = 0; w < m; w += 32) {
    unsigned mask = 0;
    std::vector<int> now(32);
    for (int l = 0; l < 32 && w + l < m; ++l) now[l] = w + l, mask |= unsigned((w + l) % 3 != 0) << l;
    for (int d = 1; d < 32; d *= 2) {
      auto old = now;
      for (int l = d; l < 32; ++l)
        if (mask >> l & 1 && mask >> (l - d) & 1) now[l] = std::max(old[l], old[l - d] + 1);
    }
    for (int l = 0; l < 32 && w + l < m; ++l) partial[w + l] = mask >> l & 1 ? now[l] + 1000 * __builtin_popcount(mask) : 0;
  }
  auto p = zeros<int>(m);
  launch("partial", {1, m}, p);
  expect(p, partial);

  // Odd lanes count themselves; the others halve their number.
  std::vector<unsigned> divergent(n);
  for (int w = 0; w < n; w += 32) {
    unsigned odd = 0, inner = 0, positive_odd = 0;
    for (int l = 0; l < 32; ++l) {
      int q = in[w + l];
      odd |= unsigned(q & 1) << l, inner |= unsigned((q & 3) == 3) << l, positive_odd |= unsigned((q & 1) && q > 0) << l;
    }
    for (int l = 0; l < 32; ++l) {
      int q = in[w + l];
      unsigned r = 0;
      if (q & 1) {
        r = __builtin_popcount(positive_odd) + 100 * __builtin_popcount(odd);
        if (q & 2) r += 10000 * __builtin_popcount(inner) + 1000000 * (__builtin_ctz(inner) == l);
      } else
        for (; q > 1 || q < -1; q /= 2) ++r;
      divergent[w + l] = r + 100000000 * (r & 1);
    }
  }
  auto d = zeros<unsigned>(n);
  launch("divergent", {1, n}, b, d);
  expect(d, divergent);
}
#endif
