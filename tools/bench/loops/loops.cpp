// The loops of the kernels in loops.cu on one core of the CPU, with the same data as the benchmark `loops`.
//
//   g++ -O2 -fno-math-errno loops.cpp -o loops && valgrind --tool=callgrind ./loops matmul 1
//
// The second argument is the number of repetitions. Differences between numbers of repetitions do not contain the preparation of the data.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <vector>
using std::vector;
struct f4 { float x, y, z, w; };
static void __attribute__((noinline)) matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
static void __attribute__((noinline)) nbody(const f4* p, f4* out, int n) {
  for (int i = 0; i < n; i++) {
    f4 me = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
      f4 q = p[j];
      float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z;
      float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float s = q.w * inv * inv * inv;
      ax += dx * s; ay += dy * s; az += dz * s;
    }
    out[i] = {ax, ay, az, 0};
  }
}
static void __attribute__((noinline)) murmur(const uint32_t* in, uint32_t* out, int n, int rounds) {
  for (int i = 0; i < n; i++) {
    uint32_t h = in[i], k0 = h * 7 + 1;
    for (int r = 0; r < rounds; r++) {
      uint32_t k = k0 + r;
      k *= 0xcc9e2d51u; k = k << 15 | k >> 17; k *= 0x1b873593u;
      h ^= k; h = h << 13 | h >> 19; h = h * 5 + 0xe6546b64u;
    }
    out[i] = h;
  }
}
static void __attribute__((noinline)) histogram(const uint8_t* data, uint32_t* bins, int n) {
  for (int i = 0; i < n; i++) bins[data[i]]++;
}
static void __attribute__((noinline)) mandelbrot(int* out, int w, int h, int most) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      double cr = -2.0 + 3.0 * x / w, ci = -1.5 + 3.0 * y / h, zr = 0, zi = 0;
      int i = 0;
      while (i < most && zr * zr + zi * zi <= 4.0) {
        double t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci; zr = t; i++;
      }
      out[y * w + x] = i;
    }
}
int main(int argc, char** argv) {
  const char* what = argv[1]; int times = argc > 2 ? atoi(argv[2]) : 1;
  vector<uint32_t> a(1 << 20), b(1 << 20), c(1 << 20);
  uint32_t s = 1;
  for (auto* v : {&a, &b}) for (auto& e : *v) { s = s * 1664525u + 1013904223u; e = s; }
  if (!strcmp(what, "matmul") || !strcmp(what, "nbody"))
    for (auto* v : {&a, &b}) for (auto& e : *v) { float f = (int32_t)e / 2147483648.0f; memcpy(&e, &f, 4); }
  for (int t = 0; t < times; t++) {
    if (!strcmp(what, "matmul")) matmul((float*)a.data(), (float*)b.data(), (float*)c.data(), 256);
    if (!strcmp(what, "nbody")) nbody((f4*)a.data(), (f4*)c.data(), 2048);
    if (!strcmp(what, "murmur")) murmur(a.data(), c.data(), 65536, 256);
    if (!strcmp(what, "histogram")) histogram((uint8_t*)a.data(), c.data(), 4 << 20);
    if (!strcmp(what, "mandelbrot")) mandelbrot((int*)c.data(), 512, 512, 100);
  }
  uint32_t sum = 0; for (auto e : c) sum = sum * 31 + e;
  printf("%u\n", sum);
}
