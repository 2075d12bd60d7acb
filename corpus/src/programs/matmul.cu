// Products of matrices: tiles in shared memory, and a plain loop over doubles.
#include "program.h"
#ifdef KERNELS
KERNEL tiled(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[8][8], bs[8][9];
  int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int base = 0; base < k; base += 8) {
    as[threadIdx.y][threadIdx.x] = row < m && base + threadIdx.x < k ? a[row * k + base + threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = base + threadIdx.y < k && column < n ? b[(base + threadIdx.y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
KERNEL plain(const double *a, const double *b, double *c, int n) {
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n * n; at += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum = fma(a[at / n * n + i], b[i * n + at % n], sum);
    c[at] = sum;
  }
}
#else
void program() {
  const int m = 19, n = 21, k = 13;
  auto a = random<float>(m * k, -4, 4), b = random<float>(k * n, -4, 4);
  std::vector<float> c(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
  auto out = zeros<float>(m * n);
  launch("tiled", {{3, 3}, {8, 8}}, buffer(a), buffer(b), out, m, n, k);
  expect(out, c, relative(1e-5));

  const int s = 9;
  auto x = random<double>(s * s, -1, 1), y = random<double>(s * s, -1, 1);
  std::vector<double> z(s * s);
  for (int i = 0; i < s; ++i)
    for (int j = 0; j < s; ++j)
      for (int l = 0; l < s; ++l) z[i * s + j] = fma(x[i * s + l], y[l * s + j], z[i * s + j]);
  auto product = zeros<double>(s * s);
  launch("plain", {2, 32}, buffer(x), buffer(y), product, s);
  expect(product, z);
}
#endif
