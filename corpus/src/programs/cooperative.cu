// Cooperative groups: tiles, coalesced and labelled groups, their collectives, and groups of warps.
// nvcc: -arch=sm_80
#include "program.h"
#ifdef KERNELS
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
KERNEL tiles(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = in[block.thread_rank()];
  for (int d = tile.size() / 2; d; d /= 2) v += tile.shfl_down(v, d);
  int first = tile.shfl(v, 0);
  if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = first * (int)tile.meta_group_size();
  int *more = out + tile.meta_group_size();
  more[block.thread_rank()] = tile.any(in[block.thread_rank()] > 90) + 2 * tile.all(in[block.thread_rank()] < 90) + 4 * tile.ballot(first & 1);
}
KERNEL collectives(const int *in, int *sums, int *scans, unsigned *most) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int i = block.thread_rank();
  sums[i] = cg::reduce(tile, in[i], cg::plus<int>());
  scans[i] = cg::exclusive_scan(tile, in[i]);
  most[i] = cg::reduce(tile, (unsigned)in[i], cg::greater<unsigned>());
}
KERNEL coalesced(const int *in, int *out, int *total) {
  int i = threadIdx.x;
  out[i] = -1;
  if (in[i] % 3 == 0) {
    auto group = cg::coalesced_threads();
    int at;
    if (group.thread_rank() == 0) at = atomicAdd(total, group.size());
    at = group.shfl(at, 0);
    out[i] = at + group.thread_rank() + 1000 * cg::reduce(group, 1, cg::plus<int>());
  }
}
KERNEL labelled(const int *in, int *out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto group = cg::labeled_partition(tile, in[threadIdx.x] & 3);
  out[threadIdx.x] = group.size() * 100 + group.thread_rank();
  auto half = cg::binary_partition(tile, in[threadIdx.x] > 0);
  out[threadIdx.x] += 10000 * half.size();
}
KERNEL shared_by_tile(float *data) {
  __shared__ float kept[64];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  kept[block.thread_rank()] = data[block.thread_rank()];
  tile.sync();
  float sum = 0;
  for (unsigned k = 0; k < tile.size(); ++k) sum += kept[tile.meta_group_rank() * tile.size() + k];
  block.sync();
  data[block.thread_rank()] = sum + block.group_index().x + block.dim_threads().y;
}
#else
void program() {
  auto in = random<int>(64, -100, 100);
  std::vector<int> expected(8 + 64);
  for (int t = 0; t < 8; ++t) {
    auto from = in.begin() + 8 * t;
    int sum = std::accumulate(from, from + 8, 0);
    expected[t] = sum * 8;
    int any = std::any_of(from, from + 8, [](int v) { return v > 90; }), all = std::all_of(from, from + 8, [](int v) { return v < 90; });
    for (int k = 0; k < 8; ++k) expected[8 + 8 * t + k] = any + 2 * all + 4 * (sum & 1 ? 255 : 0);
  }
  auto out = zeros<int>(72), data = buffer(in);
  launch("tiles", {1, {16, 4}}, data, out);
  expect(out, expected);

  std::vector<int> sums(64), scans(64);
  std::vector<unsigned> most(64);
  for (int i = 0; i < 64; ++i) {
    auto from = in.begin() + i / 32 * 32;
    sums[i] = std::accumulate(from, from + 32, 0);
    scans[i] = std::accumulate(from, in.begin() + i, 0);
    most[i] = *std::max_element(from, from + 32, [](int a, int b) { return unsigned(a) < unsigned(b); });
  }
  auto a = zeros<int>(64), b = zeros<int>(64), c = zeros<unsigned>(64);
  launch("collectives", {1, 64}, data, a, b, c);
  expect(a, sums);
  expect(b, scans);
  expect(c, most);

  std::vector<int> places(32, -1);
  int n = std::count_if(in.begin(), in.begin() + 32, [](int v) { return v % 3 == 0; }), at = 0;
  for (int i = 0; i < 32; ++i)
    if (in[i] % 3 == 0) places[i] = at++ + 1000 * n;
  auto d = zeros<int>(32), total = zeros<int>(1);
  launch("coalesced", {1, 32}, data, d, total);
  expect(d, places);
  expect(total, std::vector<int>{n});

  std::vector<int> labels(32);
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j) {
      if ((in[i] & 3) == (in[j] & 3)) labels[i] += 100 + (j < i);
      if ((in[i] > 0) == (in[j] > 0)) labels[i] += 10000;
    }
  auto e = zeros<int>(32);
  launch("labelled", {1, 32}, data, e);
  expect(e, labels);

  auto f = random<float>(64, 0, 10);
  auto g = buffer(f);
  auto old = f;
  for (int i = 0; i < 64; ++i) f[i] = std::accumulate(old.begin() + i / 16 * 16, old.begin() + i / 16 * 16 + 16, 0.0f) + 0 + 8;
  launch("shared_by_tile", {1, {8, 8}}, g);
  expect(g, f, relative(1e-6));
}
#endif
