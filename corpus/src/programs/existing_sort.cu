// Kernels of ../cuda/sort.cu.
#include "program.h"
template <class T> void bitonic(const char *kernel, int n) {
  auto v = random<T>(n, -100, 100);
  auto b = buffer(v);
  launch(kernel, {1, 64}, b);
  std::sort(v.begin(), v.end());
  expect(b, v);
}
void program() {
  module_file("nvcc/sort.O3.sm_75.ptx");
  bitonic<int>("_Z13bitonic_blockIiLi512EEvPT_", 512);
  bitonic<double>("_Z13bitonic_blockIdLi256EEvPT_", 256);
  bitonic<short>("_Z13bitonic_blockIsLi1024EEvPT_", 1024);

  auto keys = random_words<unsigned>(96);
  auto ranks = zeros<unsigned>(96), counts = zeros<unsigned>(16);
  launch("_Z10radix_rankILi4EEvPKjPjS2_ii", {1, 32}, buffer(keys), ranks, counts, 32, 8);
  std::vector<unsigned> r(32), c(16);
  for (int i = 0; i < 32; ++i) r[i] = c[keys[i] >> 8 & 15]++;
  expect(ranks, r);
  expect(counts, c);

  auto a = random<float>(70, -9, 9), b = random<float>(45, -9, 9);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<float> merged(115);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin());
  auto out = zeros<float>(115);
  launch("_Z10merge_pathIfEvPKT_iS2_iPS0_", {4, 32}, buffer(a), 70, buffer(b), 45, out);
  expect(out, merged);

  auto rows = random<int>(20 * 30, -500, 500);
  auto data = buffer(rows);
  launch("_Z9insertionPii", {2, 10}, data, 30);
  for (int i = 0; i < 20; ++i) std::sort(rows.begin() + 30 * i, rows.begin() + 30 * i + 30);
  expect(data, rows);
}
