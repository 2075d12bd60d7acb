// recorded: CUB on the whole device: histograms, sums of segments, least and greatest elements.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
template <class F> void run(F algorithm) {
  size_t bytes = 0;
  algorithm(nullptr, bytes);
  algorithm(scratch(bytes).pointer<void>(), bytes);
}
void program() {
  const int n = 3000;
  auto in = random<float>(n, 0, 16);
  Buffer from = buffer(in), bins = zeros<int>(8);
  run([&](void *s, size_t &b) { cub::DeviceHistogram::HistogramEven(s, b, from.pointer<float>(), bins.pointer<int>(), 9, 0.0f, 16.0f, n); });
  std::vector<int> h(8);
  for (float v : in) ++h[int(v / 2)];
  expect(bins, h);

  auto bytes = random<uint8_t>(n, 0, 255);
  Buffer pixels = buffer(bytes), all = zeros<int>(256);
  run([&](void *s, size_t &b) { cub::DeviceHistogram::HistogramEven(s, b, pixels.pointer<uint8_t>(), all.pointer<int>(), 257, 0, 256, n); });
  std::vector<int> each(256);
  for (auto v : bytes) ++each[v];
  expect(all, each);

  std::vector<int> offsets{0, 10, 10, 1000, 1033, n};
  Buffer o = buffer(offsets), sums = zeros<float>(5);
  run([&](void *s, size_t &b) { cub::DeviceSegmentedReduce::Sum(s, b, from.pointer<float>(), sums.pointer<float>(), 5, o.pointer<int>(), o.pointer<int>() + 1); });
  std::vector<float> t;
  for (int i = 0; i < 5; ++i) t.push_back(std::accumulate(in.begin() + offsets[i], in.begin() + offsets[i + 1], 0.0));
  expect(sums, t, relative(1e-5));

  Buffer least = zeros<cub::KeyValuePair<int, float>>(1);
  run([&](void *s, size_t &b) { cub::DeviceReduce::ArgMin(s, b, from.pointer<float>(), least.pointer<cub::KeyValuePair<int, float>>(), n); });
  auto at = std::min_element(in.begin(), in.end());
  cub::KeyValuePair<int, float> pair(int(at - in.begin()), *at);
  expect(least, std::vector<int>{pair.key});
}
