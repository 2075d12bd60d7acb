// Fourier transforms: radix 2 in shared memory, the definition in doubles, and convolution by way of both.
#include "program.h"
#ifdef KERNELS
__device__ float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
KERNEL fft(float2 *data, int bits, int inverse) {
  extern __shared__ float2 s[];
  int t = threadIdx.x, n = 1 << bits;
  float2 *mine = data + blockIdx.x * n;
  s[__brev(t) >> (32 - bits)] = mine[t];
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    float2 sum, difference;
    int k = t % (2 * half);
    if (k < half) {
      float2 w;
      sincospif((inverse ? 1.0f : -1.0f) * k / half, &w.y, &w.x);
      float2 a = s[t], b = s[t + half] * w;
      sum = {a.x + b.x, a.y + b.y};
      difference = {a.x - b.x, a.y - b.y};
      s[t] = sum;
      s[t + half] = difference;
    }
  }
  __syncthreads();
  float scale = inverse ? 1.0f / n : 1.0f;
  mine[t] = {s[t].x * scale, s[t].y * scale};
}
KERNEL multiply(float2 *a, const float2 *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = a[i] * b[i];
}
KERNEL definition(const double *in, double2 *out, int n) {
  int k = threadIdx.x;
  double2 sum = {0, 0};
  for (int i = 0; i < n; ++i) {
    double sine, cosine;
    sincos(-2 * 3.14159265358979323846 * (i * k % n) / n, &sine, &cosine);
    sum.x += in[i] * cosine;
    sum.y += in[i] * sine;
  }
  out[k] = sum;
}
#else
typedef std::complex<double> C;
std::vector<C> transform(const std::vector<C> &in, int sign) {
  size_t n = in.size();
  std::vector<C> out(n);
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < n; ++i) out[k] += in[i] * std::polar(1.0, sign * 2 * M_PI * double(i * k % n) / n);
  return out;
}
std::vector<float> parts(const std::vector<C> &all) {
  std::vector<float> flat;
  for (C c : all) flat.push_back(c.real()), flat.push_back(c.imag());
  return flat;
}
void program() {
  const int n = 64;
  std::vector<C> a(n), b(n);
  for (C &c : a) c = {double(random_bits() % 16), double(random_bits() % 16)};
  for (int i = 0; i < n; ++i) b[i] = i < 5 ? 1.0 / (i + 1) : 0;
  auto x = buffer(parts(a)), y = buffer(parts(b));
  launch("fft", {1, n, n * 8}, x, 6, 0);
  expect(x, parts(transform(a, -1)), absolute(2e-3));
  launch("fft", {1, n, n * 8}, y, 6, 0);
  launch("multiply", {2, 32}, x, y);
  launch("fft", {1, n, n * 8}, x, 6, 1);
  std::vector<C> convolved(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) convolved[(i + j) % n] += a[i] * b[j];
  expect(x, parts(convolved), absolute(1e-4));

  auto real = random<double>(30, -5, 5);
  std::vector<C> wide(real.begin(), real.end());
  std::vector<double> flat;
  for (C c : transform(wide, -1)) flat.push_back(c.real()), flat.push_back(c.imag());
  auto out = zeros<double>(60);
  launch("definition", {1, 30}, buffer(real), out, 30);
  expect(out, flat, absolute(1e-11));
}
#endif
