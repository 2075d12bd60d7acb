// Kernels of ../triton/kernels.py: atomic operations with masks.
#include "program.h"
void program() {
  module_file("triton/counters.sm_70.ptx");
  module_file("triton/counters.sm_89.ptx");
  module_file("triton/counters.sm_100.ptx");
  const int n = 700;
  auto x = random<int>(n, 0, 99);
  std::vector<int> counts(36);
  std::vector<float> sums(4);
  auto c = buffer(counts), f = buffer(sums);
  for (int v : x) ++counts[v % 32], sums[v % 4] += v * 0.5f;
  counts[33] = *std::max_element(x.begin(), x.end()), counts[34] = 1, counts[35] = 7;
  launch("counters", {3, 128, 4096}, buffer(x), c, f, n, uint64_t(0), uint64_t(0));
  expect(c, counts);
  expect(f, sums);
}
