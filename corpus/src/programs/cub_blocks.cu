// CUB in blocks and warps: reduction, scan, radix sort, histogram, loads and stores, run lengths, discontinuities, merge sort.
#include "program.h"
#ifdef KERNELS
#include <cub/cub.cuh>
KERNEL reduce(const int *in, int *out) {
  typedef cub::BlockReduce<int, 128> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  int items[3];
  for (int i = 0; i < 3; ++i) items[i] = in[threadIdx.x * 3 + i];
  int sum = Reduce(storage).Sum(items);
  __syncthreads();
  int most = Reduce(storage).Reduce(items[0], cuda::maximum<>(), 100);
  if (threadIdx.x == 0) out[0] = sum, out[1] = most;
}
KERNEL scan(const int *in, int *out, int *total) {
  typedef cub::BlockScan<int, 64> Scan;
  typedef cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE> Load;
  typedef cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE> Store;
  __shared__ union { typename Scan::TempStorage scan; typename Load::TempStorage load; typename Store::TempStorage store; } s;
  int items[4], all;
  Load(s.load).Load(in, items);
  __syncthreads();
  Scan(s.scan).ExclusiveSum(items, items, all);
  __syncthreads();
  Store(s.store).Store(out, items);
  if (threadIdx.x == 0) *total = all;
}
KERNEL sort(const float *keys, const int *values, float *sorted, int *order) {
  typedef cub::BlockRadixSort<float, 64, 2, int> Sort;
  __shared__ typename Sort::TempStorage storage;
  float k[2] = {keys[threadIdx.x * 2], keys[threadIdx.x * 2 + 1]};
  int v[2] = {values[threadIdx.x * 2], values[threadIdx.x * 2 + 1]};
  Sort(storage).SortDescending(k, v);
  for (int i = 0; i < 2; ++i) sorted[threadIdx.x * 2 + i] = k[i], order[threadIdx.x * 2 + i] = v[i];
}
KERNEL warps(const int *in, int *sums, int *scans) {
  typedef cub::WarpReduce<int, 16> Reduce;
  typedef cub::WarpScan<int> Scan;
  __shared__ typename Reduce::TempStorage r[4];
  __shared__ typename Scan::TempStorage s[2];
  int v = in[threadIdx.x], sum = Reduce(r[threadIdx.x / 16]).Sum(v);
  if (threadIdx.x % 16 == 0) sums[threadIdx.x / 16] = sum;
  int most;
  Scan(s[threadIdx.x / 32]).InclusiveScan(v, most, cuda::maximum<>());
  scans[threadIdx.x] = most;
}
KERNEL histogram(const unsigned char *in, unsigned *out) {
  typedef cub::BlockHistogram<unsigned char, 64, 4, 16, cub::BLOCK_HISTO_SORT> Histogram;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned bins[16];
  unsigned char items[4];
  for (int i = 0; i < 4; ++i) items[i] = in[threadIdx.x * 4 + i];
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
KERNEL heads(const int *in, int *out) {
  typedef cub::BlockDiscontinuity<int, 64> Heads;
  typedef cub::BlockMergeSort<int, 64, 2> Sort;
  __shared__ typename Heads::TempStorage storage;
  __shared__ typename Sort::TempStorage sort;
  int items[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, flags[2];
  Sort(sort).Sort(items, [](int a, int b) { return a < b; });
  Heads(storage).FlagHeads(flags, items, cuda::std::not_equal_to<>());
  for (int i = 0; i < 2; ++i) out[threadIdx.x * 2 + i] = items[i] * 2 + flags[i];
}
#else
void program() {
  auto in = random<int>(384, -1000, 1000);
  int most = in[0];
  for (int t = 0; t < 100; ++t) most = std::max(most, in[3 * t]);
  auto data = buffer(in), two = zeros<int>(2);
  launch("reduce", {1, 128}, data, two);
  expect(two, std::vector<int>{std::accumulate(in.begin(), in.end(), 0), most});

  std::vector<int> sums(256);
  for (int i = 1; i < 256; ++i) sums[i] = sums[i - 1] + in[i - 1];
  auto scanned = zeros<int>(256), total = zeros<int>(1);
  launch("scan", {1, 64}, data, scanned, total);
  expect(scanned, sums);
  expect(total, std::vector<int>{sums[255] + in[255]});

  auto keys = random<float>(128, -4, 4);
  std::vector<int> order(128);
  std::iota(order.begin(), order.end(), 0);
  auto k = buffer(keys), v = buffer(order), sk = zeros<float>(128), so = zeros<int>(128);
  launch("sort", {1, 64}, k, v, sk, so);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  expect(so, order);
  std::sort(keys.begin(), keys.end(), std::greater<>());
  expect(sk, keys);

  std::vector<int> parts, running(64);
  for (int i = 0; i < 64; ++i) {
    if (i % 16 == 0) parts.push_back(std::accumulate(in.begin() + i, in.begin() + i + 16, 0));
    running[i] = i % 32 ? std::max(running[i - 1], in[i]) : in[i];
  }
  auto p = zeros<int>(4), r = zeros<int>(64);
  launch("warps", {1, 64}, data, p, r);
  expect(p, parts);
  expect(r, running);

  auto bytes = random<uint8_t>(256, 0, 15);
  std::vector<unsigned> bins(16);
  for (auto b : bytes) ++bins[b];
  auto h = zeros<unsigned>(16);
  launch("histogram", {1, 64}, buffer(bytes), h);
  expect(h, bins);

  auto few = random<int>(128, 0, 20);
  auto f = buffer(few), flags = zeros<int>(128);
  launch("heads", {1, 64}, f, flags);
  std::sort(few.begin(), few.end());
  std::vector<int> heads;
  for (int i = 0; i < 128; ++i) heads.push_back(few[i] * 2 + (i == 0 || few[i] != few[i - 1]));
  expect(flags, heads);
}
#endif
