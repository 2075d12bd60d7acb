// Stencils: five points with borders, a box in three dimensions with constant weights, Life, and the heat equation over several launches.
#include "program.h"
#ifdef KERNELS
__constant__ float weights[27];
KERNEL box(const float *in, float *out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 27; ++k) {
    int a = x + k % 3 - 1, b = y + k / 3 % 3 - 1, c = z + k / 9 - 1;
    if (a >= 0 && a < nx && b >= 0 && b < ny && c >= 0 && c < nz) sum += weights[k] * in[(c * ny + b) * nx + a];
  }
  out[(z * ny + y) * nx + x] = sum;
}
KERNEL life(const unsigned char *in, unsigned char *out, int n) {
  int x = threadIdx.x, y = threadIdx.y, alive = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) alive += in[(y + dy + n) % n * n + (x + dx + n) % n];
  out[y * n + x] = alive == 3 || (alive == 2 && in[y * n + x]);
}
KERNEL heat(const double *in, double *out, int n, double k) {
  __shared__ double tile[10][10];
  int x = blockIdx.x * 8 + threadIdx.x - 1, y = blockIdx.y * 8 + threadIdx.y - 1;
  bool inside = x >= 0 && x < n && y >= 0 && y < n;
  tile[threadIdx.y][threadIdx.x] = inside ? in[y * n + x] : 0.0;
  __syncthreads();
  int tx = threadIdx.x, ty = threadIdx.y;
  if (inside && tx >= 1 && tx <= 8 && ty >= 1 && ty <= 8) {
    double here = tile[ty][tx], around = tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1];
    out[y * n + x] = here + k * (around - 4 * here);
  }
}
#else
void program() {
  const int nx = 9, ny = 7, nz = 5;
  auto in = random<float>(nx * ny * nz, -8, 8), w = random<float>(27, -1, 1);
  std::vector<float> sums(in.size());
  auto at = [&](int x, int y, int z) { return x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz ? 0 : in[(z * ny + y) * nx + x]; };
  for (int i = 0; i < sums.size(); ++i) {
    int x = i % nx, y = i / nx % ny, z = i / nx / ny;
    for (int k = 0; k < 27; ++k) sums[i] += w[k] * at(x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1);
  }
  set_variable("weights", w);
  auto out = zeros<float>(in.size());
  launch("box", {{2, 2, 3}, {8, 4, 2}}, buffer(in), out, nx, ny, nz);
  expect(out, sums, absolute(1e-4));

  const int n = 12;
  auto cells = random<uint8_t>(n * n, 0, 1);
  auto a = buffer(cells), b = zeros<uint8_t>(n * n);
  for (int step = 0; step < 4; ++step) {
    launch("life", {1, {n, n}}, a, b, n);
    std::swap(a, b);
    auto old = cells;
    for (int i = 0; i < n * n; ++i) {
      int sum = 0;
      for (int d = 0; d < 9; ++d)
        if (d != 4) sum += old[(i / n + d / 3 + n - 1) % n * n + (i % n + d % 3 + n - 1) % n];
      cells[i] = sum == 3 || (sum == 2 && old[i]);
    }
  }
  expect(a, cells);

  const int m = 16;
  auto grid = random<double>(m * m, 0, 100);
  auto c = buffer(grid), d = zeros<double>(m * m);
  for (int step = 0; step < 3; ++step) {
    launch("heat", {{2, 2}, {10, 10}}, c, d, m, 0.1);
    std::swap(c, d);
    auto old = grid;
    auto get = [&](int x, int y) { return x < 0 || y < 0 || x >= m || y >= m ? 0 : old[y * m + x]; };
    for (int i = 0; i < m * m; ++i) {
      int x = i % m, y = i / m;
      grid[i] = old[i] + 0.1 * (get(x, y - 1) + get(x, y + 1) + get(x - 1, y) + get(x + 1, y) - 4 * old[i]);
    }
  }
  expect(c, grid, relative(1e-12));
}
#endif
