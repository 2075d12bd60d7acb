// Products of matrices by warps: halves, bytes, doubles and tf32, with nvcuda::wmma and with mma instructions.
// nvcc: -arch=sm_80
#include "program.h"
#ifdef KERNELS
#include <mma.h>
using namespace nvcuda;
KERNEL halves(const half *a, const half *b, const float *c, float *d, int tiles) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
  wmma::load_matrix_sync(z, c, 16, wmma::mem_row_major);
  for (int k = 0; k < tiles; ++k) {
    wmma::load_matrix_sync(x, a + 16 * k, 16 * tiles);
    wmma::load_matrix_sync(y, b + 16 * k, 16 * tiles);
    wmma::mma_sync(z, x, y, z);
  }
  for (int i = 0; i < z.num_elements; ++i) z.x[i] *= 0.5f;
  wmma::store_matrix_sync(d, z, 16, wmma::mem_row_major);
}
KERNEL bytes(const signed char *a, const signed char *b, int *d) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> z;
  wmma::fill_fragment(z, 7);
  wmma::load_matrix_sync(x, a, 16);
  wmma::load_matrix_sync(y, b, 16);
  wmma::mma_sync(z, x, y, z);
  wmma::store_matrix_sync(d, z, 8, wmma::mem_row_major);
}
KERNEL doubles(const double *a, const double *b, double *d) {
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> z;
  wmma::fill_fragment(z, 1.0);
  wmma::load_matrix_sync(x, a, 4);
  wmma::load_matrix_sync(y, b, 4);
  wmma::mma_sync(z, x, y, z);
  wmma::store_matrix_sync(d, z, 8, wmma::mem_col_major);
}
KERNEL in_shared(const half *a, const half *b, float *d) {
  __shared__ __align__(16) half x[16 * 16], y[8 * 16];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) x[i] = a[i];
  for (int i = t; i < 128; i += 32) y[i] = b[i];
  __syncwarp();
  unsigned r[4], q[2];
  unsigned at = (unsigned)__cvta_generic_to_shared(&x[t % 16 * 16 + t / 16 * 8]), bt = (unsigned)__cvta_generic_to_shared(&y[t % 8 * 16 + t / 8 % 2 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(q[0]), "=r"(q[1]) : "r"(bt));
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(q[0]), "r"(q[1]));
  for (int i = 0; i < 4; ++i) d[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = c[i];
}
#else
template <class T> std::vector<uint16_t> halves(const std::vector<T> &v) {
  std::vector<uint16_t> all;
  for (T x : v) { _Float16 h = x; uint16_t b; memcpy(&b, &h, 2); all.push_back(b); }
  return all;
}
void program() {
  auto a = random<float>(16 * 32, -8, 8), b = random<float>(16 * 32, -8, 8), c = random<float>(256, -8, 8);
  for (auto v : {&a, &b}) for (float &x : *v) x = std::round(x);
  std::vector<float> d(256), e(128);
  for (int i = 0; i < 256; ++i) {
    d[i] = c[i];
    for (int k = 0; k < 32; ++k) d[i] += a[i / 16 * 32 + k] * b[i % 16 * 32 + k];
    d[i] /= 2;
  }
  auto bd = zeros<float>(256), ba = buffer(halves(a)), bb = buffer(halves(b));
  launch("halves", {1, 32}, ba, bb, buffer(c), bd, 2);
  expect(bd, d);
  for (int i = 0; i < 128; ++i)
    for (int k = 0; k < 16; ++k) e[i] += a[i / 8 * 16 + k] * b[i % 8 * 16 + k];
  auto be = zeros<float>(128);
  launch("in_shared", {1, 32}, ba, bb, be);
  expect(be, e);

  auto p = random_words<int8_t>(32 * 16), q = random_words<int8_t>(16 * 8);
  std::vector<int> r(256, 7);
  for (int i = 0; i < 256; ++i)
    for (int k = 0; k < 16; ++k) r[i] += p[i / 8 * 16 + k] * q[i % 8 * 16 + k];
  auto br = zeros<int>(256);
  launch("bytes", {1, 32}, buffer(p), buffer(q), br);
  expect(br, r);

  auto x = random<double>(32, -2, 2), y = random<double>(32, -2, 2);
  std::vector<double> z(64, 1.0);
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < 4; ++k) z[i] += x[i % 8 * 4 + k] * y[i / 8 * 4 + k];
  auto bz = zeros<double>(64);
  launch("doubles", {1, 32}, buffer(x), buffer(y), bz);
  expect(bz, z, relative(1e-14));
}
#endif
