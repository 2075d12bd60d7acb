// Graphs: breadth-first levels, shortest paths, connected components, PageRank and triangles.
#include "program.h"
#ifdef KERNELS
KERNEL level(const int *starts, const int *targets, int *depth, int n, int now, int *changed) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || depth[v] != now) return;
  for (int e = starts[v]; e < starts[v + 1]; ++e)
    if (atomicCAS(&depth[targets[e]], -1, now + 1) == -1) *changed = 1;
}
KERNEL relax(const int3 *edges, int m, int *distance) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int from = distance[edges[e].x];
  if (from != 0x3fffffff) atomicMin(&distance[edges[e].y], from + edges[e].z);
}
__device__ int root(int *parent, int v) {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}
KERNEL unite(const int2 *edges, int m, int *parent) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int a = edges[e].x, b = edges[e].y;
  for (;;) {
    a = root(parent, a);
    b = root(parent, b);
    if (a == b) return;
    if (a < b) { int t = a; a = b; b = t; }
    if (atomicCAS(&parent[a], a, b) == a) return;
  }
}
KERNEL flatten(int *parent, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) parent[v] = root(parent, v);
}
KERNEL rank_of(const int *starts, const int *sources, const int *degrees, const double *in, double *out, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  double sum = 0;
  for (int e = starts[v]; e < starts[v + 1]; ++e) sum += in[sources[e]] / degrees[sources[e]];
  out[v] = 0.15 / n + 0.85 * sum;
}
KERNEL triangles(const unsigned *bits, int n, unsigned *count) {
  // A warp per vertex: lanes share the words of the rows.
  int v = blockIdx.x, words = n / 32;
  unsigned sum = 0;
  for (int u = threadIdx.y; u < v; u += blockDim.y)
    if (bits[v * words + u / 32] >> u % 32 & 1)
      for (int w = threadIdx.x; w < words; w += 32) sum += __popc(bits[v * words + w] & bits[u * words + w]);
  for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) atomicAdd(count, sum);
}
#else
struct Edge { int a, b; };
void program() {
  const int n = 70;
  std::vector<Edge> edges;
  std::vector<std::vector<int>> to(n), from(n);
  for (int i = 0; i < 150; ++i) {
    int a = random_bits() % n, b = random_bits() % n;
    edges.push_back({a, b});
    to[a].push_back(b);
    from[b].push_back(a);
  }
  auto flat = [&](const std::vector<std::vector<int>> &lists, std::vector<int> &starts) {
    std::vector<int> all;
    starts = {0};
    for (auto &l : lists) all.insert(all.end(), l.begin(), l.end()), starts.push_back(all.size());
    return all;
  };
  std::vector<int> starts, targets = flat(to, starts), depth(n, -1);
  depth[0] = 0;
  auto d = buffer(depth), s = buffer(starts), t = buffer(targets), changed = zeros<int>(1);
  for (int now = 0; now < 12; ++now) launch("level", {3, 32}, s, t, d, n, now, changed);
  std::queue<int> queue({0});
  for (; !queue.empty(); queue.pop())
    for (int v : to[queue.front()])
      if (depth[v] < 0) depth[v] = depth[queue.front()] + 1, queue.push(v);
  expect(d, depth);

  std::vector<int> weighted, distance(n, 0x3fffffff);
  for (auto e : edges) weighted.insert(weighted.end(), {e.a, e.b, int(1 + random_bits() % 20)});
  distance[0] = 0;
  auto w = buffer(weighted), dist = buffer(distance);
  for (int i = 0; i < 20; ++i) launch("relax", {5, 32}, w, 150, dist);
  for (int i = 0; i < n; ++i)
    for (int e = 0; e < 150; ++e)
      if (int a = distance[weighted[3 * e]]; a < 0x3fffffff) distance[weighted[3 * e + 1]] = std::min(distance[weighted[3 * e + 1]], a + weighted[3 * e + 2]);
  expect(dist, distance);

  std::vector<int> parent(n);
  std::iota(parent.begin(), parent.end(), 0);
  auto p = buffer(parent);
  launch("unite", {2, 40}, buffer(std::vector<Edge>(edges.begin(), edges.begin() + 70)), 70, p);
  launch("flatten", {3, 32}, p, n);
  for (int i = 0; i < n; ++i)
    for (int e = 0; e < 70; ++e) {
      int least = std::min(parent[edges[e].a], parent[edges[e].b]);
      parent[edges[e].a] = parent[edges[e].b] = least;
    }
  expect(p, parent);

  std::vector<int> degrees, in_starts, sources = flat(from, in_starts);
  for (auto &l : to) degrees.push_back(l.size());
  std::vector<double> rank(n, 1.0 / n);
  auto a = buffer(rank), b = zeros<double>(n), ss = buffer(sources), is = buffer(in_starts), dg = buffer(degrees);
  for (int i = 0; i < 4; ++i) {
    launch("rank_of", {3, 32}, is, ss, dg, a, b, n);
    std::swap(a, b);
    auto old = rank;
    for (int v = 0; v < n; ++v) {
      double sum = 0;
      for (int u : from[v]) sum += old[u] / degrees[u];
      rank[v] = 0.15 / n + 0.85 * sum;
    }
  }
  expect(a, rank, relative(1e-12));

  std::vector<uint32_t> bits(64 * 2);
  auto has = [&](int u, int v) { return bits[u * 2 + v / 32] >> v % 32 & 1; };
  for (int i = 0; i < 500; ++i) {
    int u = random_bits() % 64, v = random_bits() % 64;
    if (u != v) bits[u * 2 + v / 32] |= 1u << v % 32, bits[v * 2 + u / 32] |= 1u << u % 32;
  }
  unsigned count = 0;
  for (int u = 0; u < 64; ++u)
    for (int v = 0; v < u; ++v)
      if (has(u, v))
        for (int x = 0; x < 64; ++x) count += has(u, x) && has(v, x);
  auto found = zeros<unsigned>(1);
  launch("triangles", {64, {32, 2}}, buffer(bits), 64, found);
  expect(found, std::vector<unsigned>{count});
}
#endif
