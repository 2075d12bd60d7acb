// Thrust and libcu++ in a thread: sorting, searching, transforming, sets, complex numbers, spans, optionals, tuples.
#include "program.h"
#ifdef KERNELS
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <thrust/binary_search.h>
#include <thrust/complex.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
KERNEL sequences(int *data, int each, int *out) {
  int *mine = data + threadIdx.x * each;
  thrust::sort(thrust::seq, mine, mine + each);
  int *end = thrust::unique(thrust::seq, mine, mine + each);
  out[4 * threadIdx.x] = end - mine;
  out[4 * threadIdx.x + 1] = thrust::reduce(thrust::seq, mine, end);
  out[4 * threadIdx.x + 2] = thrust::lower_bound(thrust::seq, mine, end, 10) - mine;
  out[4 * threadIdx.x + 3] = thrust::transform_reduce(thrust::seq, mine, end, [](int v) { return v * v; }, 0, cuda::maximum<int>());
}
KERNEL polynomial(const float *in, float *out) {
  thrust::complex<float> z(in[2 * threadIdx.x], in[2 * threadIdx.x + 1]);
  thrust::complex<float> w = z * z + thrust::complex<float>(1, -2) / z - thrust::conj(z);
  out[4 * threadIdx.x] = w.real();
  out[4 * threadIdx.x + 1] = w.imag();
  cuda::std::complex<double> c(z.real(), z.imag());
  out[4 * threadIdx.x + 2] = (float)cuda::std::abs(c);
  out[4 * threadIdx.x + 3] = (float)cuda::std::norm(c * c);
}
__device__ cuda::std::optional<int> divided(int a, int b) { return b ? cuda::std::optional<int>(a / b) : cuda::std::nullopt; }
KERNEL library(const unsigned *in, int *out) {
  unsigned v = in[threadIdx.x];
  cuda::std::array<unsigned, 4> bytes{v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24};
  cuda::std::span<unsigned> view(bytes.data() + 1, 2);
  auto [low, high] = cuda::std::make_tuple(view[0], view[1]);
  out[threadIdx.x] = divided(low, high % 4).value_or(-1) + cuda::std::popcount(v) * 1000 + cuda::std::countl_zero(v) * 100000 + (int)cuda::std::rotl(v, 3) % 7;
}
#else
void program() {
  auto data = random<int>(8 * 20, -5, 25);
  std::vector<int> out;
  auto b = buffer(data), o = zeros<int>(32);
  for (int t = 0; t < 8; ++t) {
    std::set<int> s(data.begin() + 20 * t, data.begin() + 20 * t + 20);
    int most = 0;
    for (int v : s) most = std::max(most, v * v);
    out.insert(out.end(), {int(s.size()), std::accumulate(s.begin(), s.end(), 0), int(std::distance(s.begin(), s.lower_bound(10))), most});
  }
  launch("sequences", {1, 8}, b, 20, o);
  expect(o, out);

  auto in = random<float>(32, 1, 4);
  std::vector<float> results;
  for (int i = 0; i < 16; ++i) {
    std::complex<double> z(in[2 * i], in[2 * i + 1]), w = z * z + std::complex<double>(1, -2) / z - std::conj(z);
    for (double d : {w.real(), w.imag(), std::abs(z), std::norm(z * z)}) results.push_back(d);
  }
  auto r = zeros<float>(64);
  launch("polynomial", {1, 16}, buffer(in), r);
  expect(r, results, absolute(1e-3));

  auto words = random_words<unsigned>(32);
  std::vector<int> values;
  for (unsigned v : words) {
    int low = v >> 8 & 255, high = v >> 16 & 3;
    values.push_back((high ? low / high : -1) + __builtin_popcount(v) * 1000 + __builtin_clz(v) * 100000 + int(v << 3 | v >> 29) % 7);
  }
  auto l = zeros<int>(32);
  launch("library", {1, 32}, buffer(words), l);
  expect(l, values);
}
#endif
