// Kernels of ../triton/kernels.py: attention with a causal mask.
#include "program.h"
void program() {
  module_file("triton/attention_causal.sm_80.ptx");
  const int seq = 128, D = 64;
  std::vector<_Float16> q, k, v;
  for (auto *all : {&q, &k, &v}) for (float f : random<float>(seq * D, -1, 1)) all->push_back(_Float16(f));
  const float scale = 0.125f;
  std::vector<_Float16> out;
  std::vector<float> exactly;
  for (int i = 0; i < seq; ++i) {
    std::vector<double> weight, row(D);
    double sum = 0;
    for (int j = 0; j <= i; ++j) {
      double s = 0;
      for (int d = 0; d < D; ++d) s += double(q[i * D + d]) * double(k[j * D + d]);
      weight.push_back(std::exp2(s * scale));
      sum += weight.back();
    }
    for (int j = 0; j <= i; ++j) for (int d = 0; d < D; ++d) row[d] += weight[j] * double(v[j * D + d]) / sum;
    for (double r : row) exactly.push_back(float(r));
  }
  auto o = zeros<_Float16>(seq * D);
  launch("attention", {Size(2, 1), 128, 64 << 10}, buffer(q), buffer(k), buffer(v), o, scale, seq, uint64_t(0), uint64_t(0));
  expect(o, std::vector<_Float16>(exactly.begin(), exactly.end()), absolute(0.004));
}
