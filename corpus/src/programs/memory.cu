// Memory: lists on the heap, tables in constant and shared memory, unions, packed structures, cache hints, volatile, varargs, alloca.
#include "program.h"
#ifdef KERNELS
#include <cstdarg>
#include <cstdlib>
#include <cstring>
struct Node { int value; Node *next; };
KERNEL lists(int *out, int n) {
  Node *head = nullptr;
  for (int i = 0; i < n; ++i) {
    Node *node = (Node *)malloc(sizeof(Node));
    node->value = i * (threadIdx.x + 1);
    node->next = head;
    head = node;
  }
  Node *reversed = nullptr;
  while (head) { Node *next = head->next; head->next = reversed; reversed = head; head = next; }
  int sum = 0, weight = 1;
  while (reversed) { sum += reversed->value * weight++; Node *dead = reversed; reversed = reversed->next; free(dead); }
  int *array = new int[n];
  for (int i = 0; i < n; ++i) array[i] = i;
  for (int i = 0; i < n; ++i) sum += array[i];
  delete[] array;
  out[threadIdx.x] = sum;
}
__device__ __noinline__ double average(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = va_arg(list, double);
  for (int i = 0; i < n; ++i) sum += va_arg(list, int);
  sum += va_arg(list, long long);
  const char *text = va_arg(list, const char *);
  va_end(list);
  return sum + text[0];
}
KERNEL variadic(double *out) { out[threadIdx.x] = average(3, 0.5, (int)threadIdx.x, -2, 10, 1000000000000ll, "a"); }
union Bits { float f; unsigned u; unsigned char b[4]; };
struct __attribute__((packed)) Packed { char tag; int value; short half; double wide; };
KERNEL layouts(Packed *out, const float *in) {
  Bits bits;
  bits.f = in[threadIdx.x];
  bits.b[0] ^= 0xff;
  Packed p = {(char)bits.b[3], (int)bits.u, (short)(bits.u >> 8), bits.f * 2.0};
  memcpy((char *)out + sizeof(Packed) * threadIdx.x, &p, sizeof p);
}
__constant__ int table[16];
__constant__ struct { float4 v[2]; const int *p; } more;
__device__ int counters[4] = {1, 2, 3, 4};
__device__ const char *const names[3] = {"zero", "one", "two"};
__managed__ double shared_with_host = 2.5;
KERNEL globals(int *out) {
  static __device__ int calls = 5;
  __shared__ int tile[64];
  int i = threadIdx.x;
  tile[i] = table[i % 16] + atomicAdd(&counters[i % 4], 1) * 0 + names[i % 3][i % 3];
  __syncthreads();
  out[i] = tile[63 - i] + (int)((const float *)more.v)[i % 8] + more.p[i] + (int)shared_with_host;
  if (i == 0) calls += 7, out[64] = calls;
}
KERNEL hints(const int *in, int *out, int n) {
  int i = threadIdx.x;
  const int *__restrict__ p = in;
  int sum = __ldg(p + i) + __ldcs(p + i + 1) + __ldcg(p + i + 2) + __ldca(p + i + 3) + __ldlu(p + i + 4) + __ldcv(p + i + 5);
  int4 v = *(const int4 *)(in + 4 * (i / 4));
  __stcs(out + i, sum + v.x - v.w); __stcg(out + n + i, sum); __stwt(out + 2 * n + i, v.y); __stwb(out + 3 * n + i, v.z);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
  volatile int *q = out + 4 * n + i;
  *q = i;
  *q = *q + 1;
}
KERNEL strides(const unsigned char *in, unsigned *out, int pitch) {
  // Words that are not aligned are read by bytes, and blocks of memory copied and filled.
  unsigned v;
  memcpy(&v, in + threadIdx.x * 5 + 1, 4);
  unsigned char buffer[40];
  memset(buffer, threadIdx.x, sizeof buffer);
  memcpy(buffer + 21, in + threadIdx.x, 9);
  for (int i = 0; i < 40; ++i) v = v * 31 + buffer[i];
  out[threadIdx.x] = v;
}
KERNEL dynamic(int *out, int n) {
  int *local = (int *)alloca(n * sizeof(int));
  for (int i = 0; i < n; ++i) local[i] = i ? local[i - 1] * 3 + threadIdx.x : 1;
  int *second = (int *)alloca((threadIdx.x + 1) * sizeof(int));
  for (int i = 0; i <= threadIdx.x; ++i) second[i] = local[i % n];
  out[threadIdx.x] = second[threadIdx.x] + local[n - 1];
}
#else
void program() {
  auto out = zeros<int>(8);
  std::vector<int> sums;
  for (int t = 0; t < 8; ++t) {
    int sum = 45;
    for (int i = 0; i < 10; ++i) sum += i * (t + 1) * (i + 1);
    sums.push_back(sum);
  }
  launch("lists", {1, 8}, out, 10);
  expect(out, sums);

  std::vector<double> averages;
  for (int t = 0; t < 8; ++t) averages.push_back(0.5 + t - 2 + 10 + 1000000000000ll + 'a');
  auto av = zeros<double>(8);
  launch("variadic", {1, 8}, av);
  expect(av, averages);

  auto in = random<float>(16, -100, 100);
  std::vector<char> packed;
  for (float f : in) {
    uint32_t u;
    memcpy(&u, &f, 4);
    u ^= 0xff;
    memcpy(&f, &u, 4);
    struct __attribute__((packed)) { char tag; int value; short half; double wide; } p = {char(u >> 24), int(u), short(u >> 8), f * 2.0};
    packed.insert(packed.end(), (char *)&p, (char *)(&p + 1));
  }
  auto bp = zeros<char>(packed.size());
  launch("layouts", {1, 16}, bp, buffer(in));
  expect(bp, packed);

  std::vector<int> table = random<int>(16, -99, 99), values = random<int>(64, 0, 9), found(65);
  auto bv = buffer(values);
  struct { float v[8]; uint64_t p; uint64_t unused; } more = {{1, 2, 3, 4, 5, 6, 7, 8}, bv.address, 0};
  set_variable("table", table);
  set_variable("more", std::vector<decltype(more)>{more});
  const char *names[] = {"zero", "one", "two"};
  for (int i = 0; i < 64; ++i) {
    int o = 63 - i;
    found[i] = table[o % 16] + names[o % 3][o % 3] + int(more.v[i % 8]) + values[i] + 2;
  }
  found[64] = 12;
  auto g = zeros<int>(65);
  launch("globals", {1, 64}, g);
  expect(g, found);
  expect_variable("counters", std::vector<int>{17, 18, 19, 20});

  auto h = random<int>(48, -1000, 1000);
  std::vector<int> hints(5 * 32);
  for (int i = 0; i < 32; ++i) {
    int sum = std::accumulate(h.begin() + i, h.begin() + i + 6, 0), v = i / 4 * 4;
    hints[i] = sum + h[v] - h[v + 3], hints[32 + i] = sum, hints[64 + i] = h[v + 1], hints[96 + i] = h[v + 2], hints[128 + i] = i + 1;
  }
  auto bh = zeros<int>(160);
  launch("hints", {1, 32}, buffer(h), bh, 32);
  expect(bh, hints);

  auto bytes = random_words<uint8_t>(100);
  std::vector<uint32_t> words;
  for (int t = 0; t < 16; ++t) {
    uint32_t v;
    memcpy(&v, &bytes[t * 5 + 1], 4);
    uint8_t b[40];
    memset(b, t, 40), memcpy(b + 21, &bytes[t], 9);
    for (int i = 0; i < 40; ++i) v = v * 31 + b[i];
    words.push_back(v);
  }
  auto bw = zeros<uint32_t>(16);
  launch("strides", {1, 16}, buffer(bytes), bw, 5);
  expect(bw, words);

  std::vector<int> dynamic;
  for (int t = 0; t < 16; ++t) {
    std::vector<int> l{1};
    for (int i = 1; i < 6; ++i) l.push_back(l.back() * 3 + t);
    dynamic.push_back(l[t % 6] + l[5]);
  }
  auto bd = zeros<int>(16);
  launch("dynamic", {1, 16}, bd, 6);
  expect(bd, dynamic);
}
#endif
