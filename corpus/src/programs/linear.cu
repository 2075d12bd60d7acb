// Linear algebra: LU with pivots, Cholesky, Gauss-Jordan inversion, sparse products, Jacobi, transposition.
#include "program.h"
#ifdef KERNELS
KERNEL lu(double *a, int *pivots, int n) {
  __shared__ int best;
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      int at = k;
      for (int i = k + 1; i < n; ++i)
        if (fabs(a[i * n + k]) > fabs(a[at * n + k])) at = i;
      pivots[k] = best = at;
    }
    __syncthreads();
    int t = threadIdx.x;
    if (t < n && best != k) {
      double kept = a[k * n + t];
      a[k * n + t] = a[best * n + t];
      a[best * n + t] = kept;
    }
    __syncthreads();
    if (t > k && t < n) {
      double factor = a[t * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; ++j) a[t * n + j] -= factor * a[k * n + j];
    }
    __syncthreads();
  }
}
KERNEL cholesky(float *a, int n) {
  int t = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (t == k) a[k * n + k] = sqrtf(a[k * n + k]);
    __syncthreads();
    if (t > k) a[t * n + k] /= a[k * n + k];
    __syncthreads();
    if (t > k)
      for (int j = k + 1; j <= t; ++j) a[t * n + j] -= a[t * n + k] * a[j * n + k];
    __syncthreads();
  }
}
KERNEL sparse(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  float sum = 0;
  if (row < n)
    for (int i = rows[row] + threadIdx.x; i < rows[row + 1]; i += 8) sum = fmaf(values[i], __ldg(&x[columns[i]]), sum);
  sum += __shfl_down_sync(~0u, sum, 4, 8);
  sum += __shfl_down_sync(~0u, sum, 2, 8);
  sum += __shfl_down_sync(~0u, sum, 1, 8);
  if (row < n && threadIdx.x == 0) y[row] = sum;
}
template <class T> __device__ void transpose(const T *in, T *out, int width, int height) {
  __shared__ T tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x;
  for (int r = threadIdx.y; r < 16; r += blockDim.y) {
    int y = blockIdx.y * 16 + r;
    if (x < width && y < height) tile[r][threadIdx.x] = in[y * width + x];
  }
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  for (int r = threadIdx.y; r < 16; r += blockDim.y) {
    int y = blockIdx.x * 16 + r;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][r];
  }
}
KERNEL transpose_short(const short *in, short *out, int w, int h) { transpose(in, out, w, h); }
KERNEL transpose_double2(const double2 *in, double2 *out, int w, int h) { transpose(in, out, w, h); }
#else
void program() {
  const int n = 14;
  auto a = random<double>(n * n, -8, 8);
  auto m = buffer(a), p = zeros<int>(n);
  launch("lu", {1, 32}, m, p, n);
  std::vector<int> pivots;
  for (int k = 0; k < n; ++k) {
    int at = k;
    for (int i = k; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[at * n + k])) at = i;
    pivots.push_back(at);
    for (int j = 0; j < n && at != k; ++j) std::swap(a[k * n + j], a[at * n + j]);
    for (int i = k + 1; i < n; ++i) {
      a[i * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
  }
  expect(m, a, relative(1e-9));
  expect(p, pivots);

  // A matrix that is the product of a triangle with itself.
  std::vector<float> l(n * n), square(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) l[i * n + j] = i == j ? 4 + i % 3 : float(int(random_bits() % 9) - 4) / 4;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) square[i * n + j] += l[i * n + k] * l[j * n + k];
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) l[i * n + j] = square[i * n + j];
  auto s = buffer(square);
  launch("cholesky", {1, n}, s, n);
  expect(s, l, absolute(1e-4));

  const int rows = 30;
  std::vector<int> starts{0}, columns;
  std::vector<float> values, x = random<float>(40, -2, 2), y(rows);
  for (int r = 0; r < rows; ++r) {
    for (int i = random_bits() % 20; i > 0; --i) {
      columns.push_back(random_bits() % 40);
      values.push_back(int(random_bits() % 17) - 8);
      y[r] += values.back() * x[columns.back()];
    }
    starts.push_back(columns.size());
  }
  auto product = zeros<float>(rows);
  launch("sparse", {4, {8, 8}}, buffer(starts), buffer(columns), buffer(values), buffer(x), product, rows);
  expect(product, y, absolute(1e-4));

  auto words = random_words<short>(20 * 37);
  auto wide = random_words<uint64_t>(2 * 18 * 5);
  std::vector<short> turned(words.size());
  std::vector<uint64_t> wide_turned(wide.size());
  for (int i = 0; i < words.size(); ++i) turned[i % 20 * 37 + i / 20] = words[i];
  for (int i = 0; i < wide.size(); ++i) wide_turned[(i / 2 % 18 * 5 + i / 36) * 2 + i % 2] = wide[i];
  auto b = zeros<short>(words.size()), c = zeros<uint64_t>(wide.size());
  launch("transpose_short", {{2, 3}, {16, 4}}, buffer(words), b, 20, 37);
  launch("transpose_double2", {{2, 1}, {16, 16}}, buffer(wide), c, 18, 5);
  expect(b, turned);
  expect(c, wide_turned);
}
#endif
