// Bodies that attract each other: all pairs in tiles, the energy, and the collisions in a box.
#include "program.h"
#ifdef KERNELS
__device__ float3 pull(float4 a, float4 b, float3 f, float softening) {
  float3 d = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
  float inverse = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + softening);
  float s = b.w * inverse * inverse * inverse;
  return make_float3(f.x + d.x * s, f.y + d.y * s, f.z + d.z * s);
}
KERNEL forces(const float4 *bodies, float3 *out, int n, float softening) {
  __shared__ float4 tile[32];
  int i = blockIdx.x * 32 + threadIdx.x;
  float4 mine = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 f = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += 32) {
    int j = base + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 32; ++k) f = pull(mine, tile[k], f, softening);
    __syncthreads();
  }
  if (i < n) out[i] = f;
}
struct Particle {
  double position[2], velocity[2];
  int hits;
};
KERNEL bounce(Particle *all, int n, double step, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle p = all[i];
  for (int s = 0; s < steps; ++s)
    for (int d = 0; d < 2; ++d) {
      p.position[d] += p.velocity[d] * step;
      if (p.position[d] < 0 || p.position[d] > 1) {
        p.velocity[d] = -p.velocity[d];
        p.position[d] = p.position[d] < 0 ? -p.position[d] : 2 - p.position[d];
        ++p.hits;
      }
    }
  all[i] = p;
}
#else
struct Particle {
  double position[2], velocity[2];
  int hits;
};
void program() {
  const int n = 50;
  auto b = random<float>(4 * n, 0, 8);
  std::vector<float> f;
  for (int i = 0; i < n; ++i) {
    double sum[3] = {};
    for (int j = 0; j < n; ++j) {
      double d[3], square = 0.01f;
      for (int k = 0; k < 3; ++k) d[k] = double(b[4 * j + k]) - b[4 * i + k], square += d[k] * d[k];
      for (int k = 0; k < 3; ++k) sum[k] += d[k] * b[4 * j + 3] / (square * std::sqrt(square));
    }
    f.insert(f.end(), sum, sum + 3);
  }
  auto out = zeros<float>(3 * n);
  launch("forces", {2, 32}, buffer(b), out, n, 0.01f);
  expect(out, f, absolute(2e-4));

  std::vector<Particle> p(20);
  for (auto &q : p) {
    auto at = random<double>(4, 0, 1);
    q = {{at[0], at[1]}, {at[2] * 8 - 4, at[3] * 8 - 4}, 0};
  }
  auto particles = buffer(p);
  launch("bounce", {1, 32}, particles, 20, 0.03125, 40);
  for (auto &q : p)
    for (int s = 0; s < 40; ++s)
      for (int d = 0; d < 2; ++d) {
        q.position[d] += q.velocity[d] * 0.03125;
        if (q.position[d] < 0 || q.position[d] > 1) {
          q.velocity[d] *= -1;
          q.position[d] = q.position[d] < 0 ? -q.position[d] : 2 - q.position[d];
          ++q.hits;
        }
      }
  expect(particles, p);
}
#endif
