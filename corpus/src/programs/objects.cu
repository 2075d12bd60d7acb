// Virtual functions, pointers to functions and members, lambdas, templates, new and delete, structures passed and returned by value.
#include "program.h"
#ifdef KERNELS
struct Shape {
  float size;
  __device__ Shape(float s) : size(s) {}
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Square : Shape {
  __device__ Square(float s) : Shape(s) {}
  __device__ float area() const override { return size * size; }
  __device__ int corners() const override { return 4; }
};
struct Circle : Shape {
  __device__ Circle(float s) : Shape(s) {}
  __device__ float area() const override { return 3.0f * size * size; }
};
struct Named {
  __device__ virtual int name() const { return 7; }
};
struct Both : Square, Named {
  int tag;
  __device__ Both(float s, int t) : Square(s), tag(t) {}
  __device__ float area() const override { return -size; }
  __device__ int name() const override { return tag; }
};
KERNEL shapes(float *out, const float *sizes, int *names) {
  int i = threadIdx.x;
  Shape *s;
  Both *both = nullptr;
  switch (i % 3) {
    case 0: s = new Square(sizes[i]); break;
    case 1: s = new Circle(sizes[i]); break;
    default: s = both = new Both(sizes[i], 100 + i);
  }
  out[i] = s->area() + 1000 * s->corners();
  Named plain, *n = both ? both : &plain;
  names[i] = n->name();
  delete s;
}
typedef int (*Function)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ Function functions[3] = {add, subtract, multiply};
__constant__ Function chosen[2] = {multiply, add};
KERNEL tables(int *out) {
  int i = threadIdx.x;
  out[i] = functions[i % 3](i, 5) + 1000 * chosen[i & 1](i, 2);
}
struct Counter {
  int n;
  __device__ __noinline__ int up(int by) { return n += by; }
  __device__ __noinline__ int down(int by) { return n -= by; }
};
KERNEL members(int *out) {
  Counter c{10};
  int (Counter::*method)(int) = threadIdx.x & 1 ? &Counter::up : &Counter::down;
  int Counter::*field = &Counter::n;
  (c.*method)(threadIdx.x);
  out[threadIdx.x] = c.*field;
}
template <class F> __device__ void times(int n, F f) {
  for (int i = 0; i < n; ++i) f(i);
}
template <int N> struct Power {
  static __device__ long long of(long long x) { return x * Power<N - 1>::of(x); }
};
template <> struct Power<0> {
  static __device__ long long of(long long) { return 1; }
};
KERNEL lambdas(long long *out) {
  long long sum = 0;
  int step = threadIdx.x;
  times(5, [&](int i) { sum += i * step; });
  auto twice = [=](auto x) { return x + x + step; };
  out[threadIdx.x] = sum + twice(0.5) + twice(3) + Power<5>::of(step);
}
struct Big {
  int values[6];
  double weight;
  char tag;
};
struct Small {
  short a;
  unsigned char b;
};
__device__ __noinline__ Big rotate(Big b, Small s) {
  Big r = b;
  for (int i = 0; i < 6; ++i) r.values[i] = b.values[(i + s.a) % 6] + s.b;
  r.weight = b.weight * 2;
  ++r.tag;
  return r;
}
__device__ __noinline__ Small next(Small s) { return {(short)(s.a + 1), (unsigned char)(s.b * 3)}; }
KERNEL values(Big b, Small s, Big *out) {
  for (int i = 0; i < threadIdx.x; ++i) {
    b = rotate(b, s);
    s = next(s);
  }
  out[threadIdx.x] = b;
}
#else
struct Big {
  int values[6];
  double weight;
  char tag;
  char unused[7];
};
struct Small {
  short a;
  unsigned char b, unused;
};
void program() {
  auto sizes = random<float>(9, 1, 9);
  std::vector<float> areas;
  std::vector<int> names;
  for (int i = 0; i < 9; ++i) {
    float s = sizes[i];
    areas.push_back(i % 3 == 0 ? s * s + 4000 : i % 3 == 1 ? 3 * s * s : -s + 4000);
    names.push_back(i % 3 == 2 ? 100 + i : 7);
  }
  auto out = zeros<float>(9), n = zeros<int>(9);
  launch("shapes", {1, 9}, out, buffer(sizes), n);
  expect(out, areas, relative(1e-6));
  expect(n, names);

  std::vector<int> results, counters;
  std::vector<long long> sums;
  for (int i = 0; i < 16; ++i) {
    int all[] = {i + 5, i - 5, i * 5};
    results.push_back(all[i % 3] + 1000 * (i & 1 ? i + 2 : i * 2));
    counters.push_back(i & 1 ? 10 + i : 10 - i);
    sums.push_back((long long)(10 * i + (1.0 + i)) + 6 + i + (long long)i * i * i * i * i);
  }
  auto a = zeros<int>(16), b = zeros<int>(16), c = zeros<long long>(16);
  launch("tables", {1, 16}, a);
  launch("members", {1, 16}, b);
  launch("lambdas", {1, 16}, c);
  expect(a, results);
  expect(b, counters);
  expect(c, sums);

  Big big{{1, 2, 3, 4, 5, 6}, 1.5, 'a'};
  Small small{1, 2};
  std::vector<Big> bigs;
  auto d = zeros<Big>(5);
  launch("values", {1, 5}, big, small, d);
  for (int i = 0; i < 5; ++i) {
    bigs.push_back(big);
    Big old = big;
    for (int k = 0; k < 6; ++k) big.values[k] = old.values[(k + small.a) % 6] + small.b;
    big.weight *= 2, ++big.tag, ++small.a, small.b *= 3;
  }
  for (int i = 0; i < 5; ++i) {
    expect(d + i * sizeof(Big), std::vector<int>(bigs[i].values, bigs[i].values + 6));
    expect(d + i * sizeof(Big) + 24, std::vector<double>{bigs[i].weight});
    expect(d + i * sizeof(Big) + 32, std::vector<char>{bigs[i].tag});
  }
}
#endif
