// Random numbers and simulations: Philox, xorshift, Monte Carlo, options, Ising, rays, splines, k-means, dynamic programming.
#include "program.h"
#ifdef KERNELS
__device__ uint4 philox(uint4 c, uint2 k) {
  for (int i = 0; i < 10; ++i, k.x += 0x9E3779B9u, k.y += 0xBB67AE85u) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
  }
  return c;
}
KERNEL counters(uint4 *out, unsigned seed) { out[threadIdx.x] = philox(make_uint4(threadIdx.x, 0, blockIdx.x, 7), make_uint2(seed, ~seed)); }
KERNEL inside(unsigned *hits, int each) {
  unsigned s = threadIdx.x * 747796405u + 1, n = 0;
  for (int i = 0; i < each; ++i) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    float x = (s >> 16) * (1.0f / 65536), y = (s & 0xffff) * (1.0f / 65536);
    n += x * x + y * y < 1;
  }
  atomicAdd(hits, n);
}
KERNEL black_scholes(const float3 *in, float2 *out, float rate) {
  float3 p = in[threadIdx.x];
  float root = sqrtf(p.z), d1 = (logf(p.x / p.y) + (rate + 0.045f) * p.z) / (0.3f * root), d2 = d1 - 0.3f * root, discount = p.y * expf(-rate * p.z);
  float n1 = normcdff(d1), n2 = normcdff(d2);
  out[threadIdx.x] = make_float2(p.x * n1 - discount * n2, discount * (1 - n2) - p.x * (1 - n1));
}
struct Ray { float3 from, to; };
__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
KERNEL trace(const float4 *spheres, int count, unsigned char *image, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, best = -1;
  Ray ray = {{x - width * 0.5f, y - width * 0.5f, -100}, {0, 0, 1}};
  float nearest = 1e30f;
  for (int i = 0; i < count; ++i) {
    float4 s = spheres[i];
    float3 d = {s.x - ray.from.x, s.y - ray.from.y, s.z - ray.from.z};
    float along = dot(d, ray.to), gap = dot(d, d) - along * along;
    if (gap >= s.w * s.w) continue;
    float t = along - sqrtf(s.w * s.w - gap);
    if (t < nearest) nearest = t, best = i;
  }
  image[y * width + x] = best + 1;
}
KERNEL assign(const float2 *points, int n, const float2 *centres, int k, int *label, int *count, float *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = INFINITY;
  int at = 0;
  for (int c = 0; c < k; ++c) {
    float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y, d = dx * dx + dy * dy;
    if (d < best) best = d, at = c;
  }
  label[i] = at;
  atomicAdd(&count[at], 1);
  atomicAdd(&sums[2 * at], points[i].x);
  atomicAdd(&sums[2 * at + 1], points[i].y);
}
KERNEL knapsack(const int *weights, const int *values, int n, int capacity, int *best) {
  extern __shared__ int rows[];
  int *now = rows, *next = rows + capacity + 1;
  for (int w = threadIdx.x; w <= capacity; w += blockDim.x) now[w] = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    for (int w = threadIdx.x; w <= capacity; w += blockDim.x) next[w] = w >= weights[i] ? max(now[w], now[w - weights[i]] + values[i]) : now[w];
    __syncthreads();
    int *t = now; now = next; next = t;
  }
  if (threadIdx.x == 0) *best = now[capacity];
}
#else
void program() {
  std::vector<uint32_t> random4;
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t c[4] = {t, 0, 0, 7}, k[2] = {1234, ~1234u};
    for (int i = 0; i < 10; ++i, k[0] += 0x9E3779B9, k[1] += 0xBB67AE85) {
      uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
      uint32_t n[4] = {uint32_t(q >> 32) ^ c[1] ^ k[0], uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k[1], uint32_t(p)};
      std::copy(n, n + 4, c);
    }
    random4.insert(random4.end(), c, c + 4);
  }
  auto r = zeros<uint32_t>(128);
  launch("counters", {1, 32}, r, 1234u);
  expect(r, random4);

  unsigned hits = 0;
  for (unsigned t = 0; t < 32; ++t) {
    unsigned s = t * 747796405u + 1;
    for (int i = 0; i < 60; ++i) {
      s ^= s << 13, s ^= s >> 17, s ^= s << 5;
      uint64_t x = s >> 16, y = s & 0xffff;
      hits += x * x + y * y < 1ull << 32;
    }
  }
  auto h = zeros<unsigned>(1);
  launch("inside", {1, 32}, h, 60);
  expect(h, std::vector<unsigned>{hits});

  std::vector<float> options, prices;
  auto normal = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  for (int i = 0; i < 32; ++i) {
    auto v = random<float>(3, 0, 1);
    double s = 20 + 60 * v[0], k = 20 + 60 * v[1], t = 0.25 + 4 * v[2], d1 = (std::log(s / k) + (0.02 + 0.045) * t) / (0.3 * std::sqrt(t)), d2 = d1 - 0.3 * std::sqrt(t), e = k * std::exp(-0.02 * t);
    options.insert(options.end(), {float(s), float(k), float(t)});
    prices.insert(prices.end(), {float(s * normal(d1) - e * normal(d2)), float(e * normal(-d2) - s * normal(-d1))});
  }
  auto p = zeros<float>(64);
  launch("black_scholes", {1, 32}, buffer(options), p, 0.02f);
  expect(p, prices, absolute(1e-4));

  std::vector<float> spheres{0, 0, 0, 6, 4, 3, -8, 3, -5, -4, 5, 7};
  std::vector<uint8_t> image(256);
  for (int i = 0; i < 256; ++i) {
    double x = i % 16 - 8, y = i / 16 - 8, nearest = 1e30;
    for (int s = 0; s < 3; ++s) {
      double dx = spheres[4 * s] - x, dy = spheres[4 * s + 1] - y, w = spheres[4 * s + 3], gap = dx * dx + dy * dy;
      if (gap >= w * w) continue;
      double t = spheres[4 * s + 2] + 100 - std::sqrt(w * w - gap);
      if (t < nearest) nearest = t, image[i] = s + 1;
    }
  }
  auto im = zeros<uint8_t>(256);
  launch("trace", {{2, 2}, {8, 8}}, buffer(spheres), 3, im, 16);
  expect(im, image);

  auto points = random<float>(200, -8, 8), centres = random<float>(8, -8, 8);
  std::vector<int> label, count(4);
  std::vector<float> sums(8);
  for (int i = 0; i < 100; ++i) {
    int at = 0;
    double best = 1e9;
    for (int c = 0; c < 4; ++c) {
      double d = std::pow(points[2 * i] - centres[2 * c], 2) + std::pow(points[2 * i + 1] - centres[2 * c + 1], 2);
      if (d < best) best = d, at = c;
    }
    label.push_back(at), ++count[at], sums[2 * at] += points[2 * i], sums[2 * at + 1] += points[2 * i + 1];
  }
  auto bl = zeros<int>(100), bc = zeros<int>(4), bs = zeros<float>(8);
  launch("assign", {4, 32}, buffer(points), 100, buffer(centres), 4, bl, bc, bs);
  expect(bl, label);
  expect(bc, count);
  expect(bs, sums, absolute(1e-3));

  auto weights = random<int>(15, 1, 20), values = random<int>(15, 1, 50);
  std::vector<int> best(61);
  for (int i = 0; i < 15; ++i)
    for (int w = 60; w >= weights[i]; --w) best[w] = std::max(best[w], best[w - weights[i]] + values[i]);
  auto k = zeros<int>(1);
  launch("knapsack", {1, 32, 61 * 8}, buffer(weights), buffer(values), 15, 60, k);
  expect(k, std::vector<int>{best[60]});
}
#endif
