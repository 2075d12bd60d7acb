// recorded: CUB on the whole device: reductions and scans.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#include <cub/device/device_scan.cuh>
#include <cub/device/device_reduce.cuh>
void program() {
  auto in = random<int>(5000, -100, 100);
  std::vector<int> sums(in.size());
  std::partial_sum(in.begin(), in.end(), sums.begin());
  Buffer from = buffer(in), to = zeros<int>(in.size()), total = zeros<int>(1);
  size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(nullptr, bytes, from.pointer<int>(), to.pointer<int>(), int(in.size()));
  Buffer storage = scratch(bytes);
  cub::DeviceScan::InclusiveSum(storage.pointer<void>(), bytes, from.pointer<int>(), to.pointer<int>(), int(in.size()));
  expect(to, sums);
  cub::DeviceReduce::Sum(nullptr, bytes, from.pointer<int>(), total.pointer<int>(), int(in.size()));
  storage = scratch(bytes);
  cub::DeviceReduce::Sum(storage.pointer<void>(), bytes, from.pointer<int>(), total.pointer<int>(), int(in.size()));
  expect(total, std::vector<int>{sums.back()});
}
