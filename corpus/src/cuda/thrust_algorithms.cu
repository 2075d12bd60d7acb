// Thrust algorithms on device vectors.
#include <thrust/device_vector.h>
#include <thrust/transform_reduce.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/binary_search.h>
#include <thrust/scan.h>
struct Square { __host__ __device__ float operator()(float x) const { return x * x; } };
struct Odd { __host__ __device__ bool operator()(int x) const { return x & 1; } };
int main() {
  thrust::device_vector<float> a(10), b(10); thrust::device_vector<int> c(10);
  (void)thrust::transform_reduce(a.begin(), a.end(), Square(), 0.f, thrust::plus<float>()); (void)thrust::inner_product(a.begin(), a.end(), b.begin(), 0.f);
  thrust::partition(c.begin(), c.end(), Odd()); thrust::upper_bound(a.begin(), a.end(), b.begin(), b.end(), c.begin());
}
