// recorded: CUB on the whole device: radix sorts of keys and pairs (one sweep per digit).
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#include <cub/device/device_radix_sort.cuh>
template <class F> void run(F algorithm) {
  size_t bytes = 0;
  algorithm(nullptr, bytes);
  algorithm(scratch(bytes).pointer<void>(), bytes);
}
void program() {
  const int n = 9000;
  auto keys = random_words<uint32_t>(n);
  Buffer from = buffer(keys), to = zeros<uint32_t>(n);
  run([&](void *s, size_t &b) { cub::DeviceRadixSort::SortKeys(s, b, from.pointer<uint32_t>(), to.pointer<uint32_t>(), n); });
  std::sort(keys.begin(), keys.end());
  expect(to, keys);

  auto few = random<float>(300, -8, 8);
  std::vector<int> order(few.size());
  std::iota(order.begin(), order.end(), 0);
  Buffer f = buffer(few), o = buffer(order), sf = zeros<float>(300), so = zeros<int>(300);
  run([&](void *s, size_t &b) {
    cub::DeviceRadixSort::SortPairsDescending(s, b, f.pointer<float>(), sf.pointer<float>(), o.pointer<int>(), so.pointer<int>(), 300);
  });
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return few[a] > few[b]; });
  expect(so, order);
}
