// A kernel of ../triton/kernels.py: softmax of rows.
#include "program.h"
void program() {
  module_file("triton/row_softmax.sm_75.ptx");
  module_file("triton/row_softmax.sm_90.ptx");
  const int rows = 2, n = 500;
  auto x = random<float>(rows * n, -6, 6);
  auto o = zeros<float>(rows * n);
  launch("row_softmax", {rows, 256, 4096}, buffer(x), o, n, uint64_t(0), uint64_t(0));
  std::vector<float> out;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::exp(double(x[r * n + i]));
    for (int i = 0; i < n; ++i) out.push_back(std::exp(double(x[r * n + i])) / sum);
  }
  expect(o, out, relative(1e-5));
}
