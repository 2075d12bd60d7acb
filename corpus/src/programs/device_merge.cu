// recorded: CUB on the whole device: merge sort, whose threads read one element past their part and do not use it.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#include <cub/device/device_merge_sort.cuh>
struct Less {
  __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};
template <class F> void run(F algorithm) {
  size_t bytes = 0;
  algorithm(nullptr, bytes);
  algorithm(scratch(bytes).pointer<void>(), bytes);
}
void program() {
  auto ints = random<int>(5000, -10000, 10000);
  Buffer m = buffer(ints);
  run([&](void *s, size_t &b) { cub::DeviceMergeSort::SortKeys(s, b, m.pointer<int>(), 5000, Less()); });
  std::sort(ints.begin(), ints.end());
  expect(m, ints);
}
