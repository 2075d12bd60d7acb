// Launches from kernels: a quadtree of points, an adaptive integral, subdivided curves and a fractal by escaping tiles.
// nvcc: -rdc=true -arch=sm_90
#include "program.h"
#ifdef KERNELS
// A node has the number of its points and of its first child.
struct Node { int begin, end, child; };
struct Box { float x, y, size; };
// A block divides its node: threads count and place the points of each quarter.
KERNEL divide(const float2 *from, float2 *to, Node *nodes, int node, Box box, int *used, int most) {
  __shared__ int count[4], start[4], child;
  int begin = nodes[node].begin, end = nodes[node].end;
  if (end - begin <= most) {
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) to[i] = from[i];
    return;
  }
  if (threadIdx.x < 4) count[threadIdx.x] = 0;
  __syncthreads();
  float half = box.size / 2;
  for (int i = begin + threadIdx.x; i < end; i += blockDim.x)
    atomicAdd(&count[(from[i].x >= box.x + half) + 2 * (from[i].y >= box.y + half)], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    child = atomicAdd(used, 4);
    nodes[node].child = child;
    int at = begin;
    for (int q = 0; q < 4; ++q) {
      start[q] = at;
      nodes[child + q] = {at, at + count[q], -1};
      at += count[q];
    }
  }
  __syncthreads();
  // One warp keeps the order of the points.
  if (threadIdx.x < 4) {
    int q = threadIdx.x, at = start[q];
    for (int i = begin; i < end; ++i)
      if ((from[i].x >= box.x + half) + 2 * (from[i].y >= box.y + half) == q) to[at++] = from[i];
  }
  __syncthreads();
  if (threadIdx.x < 4) {
    int q = threadIdx.x;
    Box part = {box.x + (q & 1) * half, box.y + (q >> 1) * half, half};
    divide<<<1, 64>>>(to, const_cast<float2 *>(from), nodes, child + q, part, used, most);
  }
}
// The area under a curve: an interval is halved while the halves change the sum.
__device__ double area(double a, double b) { return (a * a * a + b * b * b) / 2 * (b - a); }
KERNEL integrate(double a, double b, double tolerance, unsigned long long *leaves, double *sums, int slot) {
  double middle = (a + b) / 2, whole = area(a, b), parts = area(a, middle) + area(middle, b);
  if (fabs(whole - parts) < tolerance) {
    sums[slot] = parts;
    atomicAdd(leaves, 1ull);
  } else {
    integrate<<<1, 1, 0, cudaStreamFireAndForget>>>(a, middle, tolerance, leaves, sums, 2 * slot + 1);
    integrate<<<1, 1, 0, cudaStreamFireAndForget>>>(middle, b, tolerance, leaves, sums, 2 * slot + 2);
  }
}
// Curves have as many points as their curvature needs. The memory of the points comes from the heap.
struct Curve { float2 control[3]; float2 *points; int count; };
KERNEL subdivide(Curve *curve) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= curve->count) return;
  float u = i / float(curve->count - 1), v = 1 - u;
  curve->points[i] = make_float2(v * v * curve->control[0].x + 2 * u * v * curve->control[1].x + u * u * curve->control[2].x,
                                 v * v * curve->control[0].y + 2 * u * v * curve->control[1].y + u * u * curve->control[2].y);
}
KERNEL curves(Curve *all, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  Curve &c = all[i];
  float bend = fabsf(c.control[0].x - 2 * c.control[1].x + c.control[2].x) + fabsf(c.control[0].y - 2 * c.control[1].y + c.control[2].y);
  c.count = min(max(int(bend * 16), 4), 64);
  cudaMalloc((void **)&c.points, c.count * sizeof(float2));
  subdivide<<<(c.count + 15) / 16, 16>>>(&c);
}
KERNEL collect(Curve *all, float2 *out, int n) {
  for (int i = 0; i < all[blockIdx.x].count; ++i) out[64 * blockIdx.x + i] = all[blockIdx.x].points[i];
  cudaFree(all[blockIdx.x].points);
}
// Mariani and Silver: a tile whose border has one count is filled, others are divided.
__device__ int dwell(int x, int y, int n) {
  float cx = 3.f * x / n - 2.f, cy = 3.f * y / n - 1.5f, a = 0, b = 0;
  int count = 0;
  for (; count < 40 && a * a + b * b < 4; ++count) {
    float t = __fadd_rn(__fsub_rn(__fmul_rn(a, a), __fmul_rn(b, b)), cx);
    b = __fadd_rn(__fmul_rn(__fmul_rn(2.f, a), b), cy);
    a = t;
  }
  return count;
}
KERNEL fill_tile(int *image, int n, int x, int y, int size, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size * size) image[(y + i / size) * n + x + i % size] = value;
}
KERNEL each_pixel(int *image, int n, int x, int y, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size * size) image[(y + i / size) * n + x + i % size] = dwell(x + i % size, y + i / size, n);
}
KERNEL tiles(int *image, int n, int x0, int y0, int size, int *filled) {
  int x = x0 + blockIdx.x * size, y = y0 + blockIdx.y * size;
  __shared__ int low, high;
  if (threadIdx.x == 0) low = 1000, high = -1;
  __syncthreads();
  for (int i = threadIdx.x; i < 4 * size; i += blockDim.x) {
    int along = i % size, side = i / size;
    int d = side == 0 ? dwell(x + along, y, n) : side == 1 ? dwell(x + along, y + size - 1, n)
          : side == 2 ? dwell(x, y + along, n) : dwell(x + size - 1, y + along, n);
    atomicMin(&low, d);
    atomicMax(&high, d);
  }
  __syncthreads();
  if (threadIdx.x) return;
  int blocks = (size * size + 63) / 64;
  if (low == high) {
    fill_tile<<<blocks, 64>>>(image, n, x, y, size, low);
    atomicAdd(filled, 1);
  } else if (size <= 8) {
    each_pixel<<<blocks, 64>>>(image, n, x, y, size);
  } else {
    tiles<<<dim3(2, 2), 64>>>(image, n, x, y, size / 2, filled);
  }
}
#else
struct Point { float x, y; };
struct Node { int begin, end, child; };
struct Box { float x, y, size; };
struct Curve { Point control[3]; uint64_t points; int count, pad; };
// The points of each leaf, by its box.
void leaves(std::vector<Point> points, Box box, size_t most, std::vector<std::vector<float>> &all) {
  if (points.size() <= most) {
    all.push_back({box.x, box.y, box.size, float(points.size())});
    return;
  }
  float half = box.size / 2;
  for (int q = 0; q < 4; ++q) {
    std::vector<Point> part;
    for (auto p : points)
      if ((p.x >= box.x + half) + 2 * (p.y >= box.y + half) == q) part.push_back(p);
    leaves(part, {box.x + (q & 1) * half, box.y + (q >> 1) * half, half}, most, all);
  }
}
// The machine runs children in the order of their launches, depth first: nodes get their numbers in this order.
void divide(std::vector<Point> &points, std::vector<Node> &nodes, int node, Box box, int most) {
  auto [begin, end, child] = nodes[node];
  if (end - begin <= most) return;
  float half = box.size / 2;
  std::vector<Point> parts[4];
  for (int i = begin; i < end; ++i) parts[(points[i].x >= box.x + half) + 2 * (points[i].y >= box.y + half)].push_back(points[i]);
  nodes[node].child = child = nodes.size();
  int at = begin;
  for (auto &part : parts) {
    nodes.push_back({at, at + int(part.size()), -1});
    std::copy(part.begin(), part.end(), points.begin() + at);
    at += part.size();
  }
  for (int q = 0; q < 4; ++q) divide(points, nodes, child + q, {box.x + (q & 1) * half, box.y + (q >> 1) * half, half}, most);
}
double area(double a, double b) { return (a * a * a + b * b * b) / 2 * (b - a); }
unsigned long long integrate(double a, double b, double tolerance, std::vector<double> &sums, int slot) {
  double middle = (a + b) / 2, parts = area(a, middle) + area(middle, b);
  if (std::fabs(area(a, b) - parts) < tolerance) return sums[slot] = parts, 1;
  return integrate(a, middle, tolerance, sums, 2 * slot + 1) + integrate(middle, b, tolerance, sums, 2 * slot + 2);
}
int dwell(int x, int y, int n) {
  float cx = 3.f * x / n - 2.f, cy = 3.f * y / n - 1.5f, a = 0, b = 0;
  int count = 0;
  for (; count < 40 && a * a + b * b < 4; ++count) {
    float t = a * a - b * b + cx;
    b = 2.f * a * b + cy;
    a = t;
  }
  return count;
}
int tile(std::vector<int> &image, int n, int x, int y, int size) {
  int low = 1000, high = -1;
  for (int i = 0; i < size; ++i)
    for (int d : {dwell(x + i, y, n), dwell(x + i, y + size - 1, n), dwell(x, y + i, n), dwell(x + size - 1, y + i, n)})
      low = std::min(low, d), high = std::max(high, d);
  if (low != high && size > 8) {
    int filled = 0;
    for (int q = 0; q < 4; ++q) filled += tile(image, n, x + q % 2 * (size / 2), y + q / 2 * (size / 2), size / 2);
    return filled;
  }
  for (int i = 0; i < size * size; ++i) image[(y + i / size) * n + x + i % size] = low == high ? low : dwell(x + i % size, y + i / size, n);
  return low == high;
}
void program() {
  std::vector<Point> points(300);
  for (auto &p : points) p = {float(random_bits() % 4096) / 4096, float(random_bits() % 4096) * float(random_bits() % 4096) / 16777216};
  std::vector<Node> nodes = {{0, 300, -1}}, place(400);
  place[0] = nodes[0];
  auto from = buffer(points), to = zeros<Point>(300), n = buffer(place), used = buffer(std::vector<int>{1});
  launch("divide", {1, 64}, from, to, n, 0, Box{0, 0, 1}, used, 6);
  divide(points, nodes, 0, {0, 0, 1}, 6);
  expect(used, std::vector<int>{int(nodes.size())});
  expect(n, nodes);

  std::vector<double> sums(256);
  auto count = zeros<uint64_t>(1), parts = zeros<double>(sums.size());
  launch("integrate", {1, 1}, -1.0, 2.5, 1e-3, count, parts, 0);
  expect(count, std::vector<uint64_t>{integrate(-1, 2.5, 1e-3, sums, 0)});
  expect(parts, sums, absolute(1e-9));

  std::vector<Curve> curves(20);
  for (auto &c : curves)
    for (auto &p : c.control) p = {float(random_bits() % 64) / 32, float(random_bits() % 64) / 32};
  auto all = buffer(curves), out = zeros<Point>(20 * 64);
  launch("curves", {1, 32}, all, 20);
  launch("collect", {20, 1}, all, out, 20);
  std::vector<Point> expected(20 * 64);
  for (int i = 0; i < 20; ++i) {
    auto &c = curves[i].control;
    float bend = std::fabs(c[0].x - 2 * c[1].x + c[2].x) + std::fabs(c[0].y - 2 * c[1].y + c[2].y);
    int count = std::min(std::max(int(bend * 16), 4), 64);
    for (int k = 0; k < count; ++k) {
      float u = k / float(count - 1), v = 1 - u;
      expected[64 * i + k] = {v * v * c[0].x + 2 * u * v * c[1].x + u * u * c[2].x, v * v * c[0].y + 2 * u * v * c[1].y + u * u * c[2].y};
    }
  }
  std::vector<float> flat;
  for (auto p : expected) flat.insert(flat.end(), {p.x, p.y});
  expect(out, flat, absolute(1e-5));

  std::vector<int> image(64 * 64);
  auto picture = zeros<int>(64 * 64), filled = zeros<int>(1);
  launch("tiles", {{4, 4}, 64}, picture, 64, 0, 0, 16, filled);
  int number = 0;
  for (int i = 0; i < 16; ++i) number += tile(image, 64, i % 4 * 16, i / 4 * 16, 16);
  expect(picture, image);
  expect(filled, std::vector<int>{number});
}
#endif
