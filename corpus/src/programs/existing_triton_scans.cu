// Kernels of ../triton/kernels.py: running sums, a sort, the place of the least element.
#include "program.h"
void program() {
  module_file("triton/scans.sm_75.ptx");
  const int n = 256;
  auto x = random<float>(n, -8, 8);
  for (int i = 0; i < n; ++i) x[i] = std::round(x[i] * 8) + i / 512.0f;
  auto o = zeros<float>(4 * n);
  launch("scans", {1, 128, 48 << 10}, buffer(x), o, uint64_t(0), uint64_t(0));
  std::vector<float> sums(n), sorted = x;
  std::partial_sum(x.begin(), x.end(), sums.begin());
  std::sort(sorted.begin(), sorted.end());
  expect(o, sums, absolute(1e-3));
  expect(o + 8 * n, sorted);
  expect(o + 12 * n, std::vector<float>{float(std::min_element(x.begin(), x.end()) - x.begin())});
}
