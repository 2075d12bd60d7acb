// Kernels of ../triton/kernels.py: products of matrices of halves and of tf32, with mma and asynchronous copies.
#include "program.h"
_Float16 half(float f) { return _Float16(f); }
template <class T> void product(int M, int N, int K, std::vector<float> &out, std::vector<T> &a, std::vector<T> &b) {
  for (float f : random<float>(M * K, -2, 2)) a.push_back(T(std::round(f * 8) / 8));
  for (float f : random<float>(K * N, -2, 2)) b.push_back(T(std::round(f * 8) / 8));
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += float(a[m * K + k]) * float(b[k * N + n]);
      out.push_back(sum);
    }
}
void program() {
  module_file("triton/gemm_fp16.sm_75.ptx");
  module_file("triton/gemm_fp16.sm_80.ptx");
  module_file("triton/gemm_fp16.sm_120.ptx");
  const int M = 70, N = 72, K = 40;
  std::vector<float> c;
  std::vector<_Float16> a, b, rounded;
  product(M, N, K, c, a, b);
  for (float f : c) rounded.push_back(half(f));
  auto o = zeros<_Float16>(M * N);
  launch("gemm", {4, 128, 48 << 10}, buffer(a), buffer(b), o, M, N, K, K, N, N, uint64_t(0), uint64_t(0));
  expect(o, rounded);
}
