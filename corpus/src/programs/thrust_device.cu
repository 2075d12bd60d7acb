// recorded: Thrust on the whole device: sorts, transformations, sums, unique elements, searches, sets.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
struct Square {
  __host__ __device__ float operator()(float v) const { return v * v; }
};
struct IsOdd {
  __host__ __device__ bool operator()(int v) const { return v & 1; }
};
void program() {
  const int n = 3000;
  auto f = random<float>(n, -2, 2);
  float squares = 0;
  double exactly = 0;
  for (float v : f) exactly += double(v) * v;
  squares = float(exactly);
  Buffer from = buffer(f);
  float *x = from.pointer<float>();
  will_read(squares);
  thrust::transform_reduce(thrust::device, x, x + n, Square(), 0.0f, thrust::plus<float>());

  auto ints = random<int>(n, 0, 500);
  Buffer b = buffer(ints);
  int *i = b.pointer<int>();
  std::vector<int> running(n);
  std::partial_sum(ints.begin(), ints.end(), running.begin());
  Buffer r = zeros<int>(n);
  thrust::inclusive_scan(thrust::device, i, i + n, r.pointer<int>());
  expect(r, running);

  will_read(int(std::count_if(ints.begin(), ints.end(), IsOdd())));
  thrust::count_if(thrust::device, i, i + n, IsOdd());

  thrust::sort(thrust::device, i, i + n);
  std::sort(ints.begin(), ints.end());
  expect(b, ints);

  Buffer values = buffer(random<int>(64, 0, 500)), places = zeros<int>(64);
  thrust::lower_bound(thrust::device, i, i + n, values.pointer<int>(), values.pointer<int>() + 64, places.pointer<int>());

  auto only = ints;
  only.erase(std::unique(only.begin(), only.end()), only.end());
  will_read(int(only.size()));
  thrust::unique(thrust::device, i, i + n);
  expect(b, only);
}
