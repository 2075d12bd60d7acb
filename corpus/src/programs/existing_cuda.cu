// Kernels of ../cuda: reductions, scans, sorting, merging, a stencil, Mandelbrot, an interpreter, virtual functions, tables of functions.
#include "program.h"
void reductions() {
  auto f = random<float>(500, -8, 8);
  auto i = random<int>(500, -1000, 1000);
  auto l = random_words<uint64_t>(500);
  for (auto &v : l) v |= 0x00ff00ff00ff0000;
  auto of = zeros<float>(2), oi = zeros<int>(1), ol = zeros<uint64_t>(1);
  uint64_t n = 500;
  launch("_Z6reduceIf3SumIfEEvPKT_PS2_m", {2, 128}, buffer(f), of, n);
  launch("_Z6reduceIi3MaxIiEEvPKT_PS2_m", {1, 256}, buffer(i), oi, n);
  launch("_Z6reduceIm3AndImEEvPKT_PS2_m", {1, 64}, buffer(l), ol, n);
  std::vector<float> sums(2);
  for (int k = 0; k < 500; ++k) sums[k / 128 % 2] += f[k];
  expect(of, sums, relative(1e-5));
  expect(oi, std::vector<int>{*std::max_element(i.begin(), i.end())});
  uint64_t all = ~0ull;
  for (auto v : l) all &= v;
  expect(ol, std::vector<uint64_t>{all});

  std::vector<long long> x(i.begin(), i.begin() + 200), running(200);
  auto b = buffer(x), totals = zeros<long long>(2);
  launch("_Z4scanIxEvPT_S1_i", {2, 128}, b, totals, 200);
  std::partial_sum(x.begin(), x.begin() + 128, running.begin());
  std::partial_sum(x.begin() + 128, x.end(), running.begin() + 128);
  expect(b, running);
  expect(totals, std::vector<long long>{running[127], running[199]});
}
void program() {
  module_file("nvcc/reduce.O3.sm_75.ptx");
  module_file("nvcc/reduce.O3.sm_120.ptx");
  module_file("nvcc/reduce.O0.sm_75.ptx");
  module_file("nvcc/reduce.regs.sm_80.ptx");
  module_file("nvcc/reduce.lineinfo.sm_100f.ptx");
  reductions();
}
