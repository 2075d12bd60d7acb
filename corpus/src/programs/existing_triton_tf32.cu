// Kernels of ../triton/kernels.py: a product of matrices in tf32.
#include "program.h"
void program() {
  module_file("triton/gemm_tf32.sm_80.ptx");
  const int M = 70, N = 40, K = 40;
  auto a = random<float>(M * K, -2, 2), b = random<float>(K * N, -2, 2);
  for (auto *all : {&a, &b}) for (float &f : *all) f = std::round(f * 8) / 8;
  std::vector<float> c;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[m * K + k] * b[k * N + n];
      c.push_back(sum);
    }
  auto o = zeros<float>(M * N);
  launch("gemm", {4, 128, 48 << 10}, buffer(a), buffer(b), o, M, N, K, K, N, N, uint64_t(0), uint64_t(0));
  expect(o, c);
}
