// recorded: CUB on the whole device: selections, partitions, run lengths, sums by keys, differences.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
struct IsSmall {
  __host__ __device__ bool operator()(int v) const { return v < 10; }
};
template <class F> void run(F algorithm) {
  size_t bytes = 0;
  algorithm(nullptr, bytes);
  algorithm(scratch(bytes).pointer<void>(), bytes);
}
void program() {
  const int n = 4000;
  auto in = random<int>(n, 0, 40);
  Buffer from = buffer(in), to = zeros<int>(n), count = zeros<int>(1);
  run([&](void *s, size_t &b) { cub::DeviceSelect::If(s, b, from.pointer<int>(), to.pointer<int>(), count.pointer<int>(), n, IsSmall()); });
  std::vector<int> small;
  std::copy_if(in.begin(), in.end(), std::back_inserter(small), IsSmall());
  expect(to, small);
  expect(count, std::vector<int>{int(small.size())});

  run([&](void *s, size_t &b) { cub::DevicePartition::If(s, b, from.pointer<int>(), to.pointer<int>(), count.pointer<int>(), n, IsSmall()); });
  auto parted = small;
  for (int i = n - 1; i >= 0; --i) if (!IsSmall()(in[i])) parted.push_back(in[i]);
  expect(to, parted);

  auto runs = random<int>(n, 0, 2);
  Buffer r = buffer(runs), keys = zeros<int>(n), lengths = zeros<int>(n), sums = zeros<int>(n), unique = zeros<int>(n);
  run([&](void *s, size_t &b) { cub::DeviceRunLengthEncode::Encode(s, b, r.pointer<int>(), keys.pointer<int>(), lengths.pointer<int>(), count.pointer<int>(), n); });
  std::vector<int> k, l, t;
  for (int i = 0; i < n; ++i) {
    if (i == 0 || runs[i] != runs[i - 1]) k.push_back(runs[i]), l.push_back(0), t.push_back(0);
    ++l.back(), t.back() += in[i];
  }
  expect(keys, k);
  expect(lengths, l);
  expect(count, std::vector<int>{int(k.size())});

  run([&](void *s, size_t &b) {
    cub::DeviceReduce::ReduceByKey(s, b, r.pointer<int>(), keys.pointer<int>(), from.pointer<int>(), sums.pointer<int>(), count.pointer<int>(), cuda::std::plus<>(), n);
  });
  expect(sums, t);
  run([&](void *s, size_t &b) { cub::DeviceSelect::Unique(s, b, r.pointer<int>(), unique.pointer<int>(), count.pointer<int>(), n); });
  expect(unique, k);

  run([&](void *s, size_t &b) { cub::DeviceAdjacentDifference::SubtractLeftCopy(s, b, from.pointer<int>(), to.pointer<int>(), n); });
  std::vector<int> differences(n);
  std::adjacent_difference(in.begin(), in.end(), differences.begin());
  expect(to, differences);
}
