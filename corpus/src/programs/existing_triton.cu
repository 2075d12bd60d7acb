// A kernel of ../triton/kernels.py: root mean squares of rows of bfloat16.
#include "program.h"
uint16_t brain(float f) { uint32_t u; memcpy(&u, &f, 4); return (u + 0x7fff + (u >> 16 & 1)) >> 16; }
float wide(uint16_t b) { uint32_t u = uint32_t(b) << 16; float f; memcpy(&f, &u, 4); return f; }
void program() {
  module_file("triton/rms_norm.sm_80.ptx");
  module_file("triton/rms_norm.sm_100.ptx");
  const int rows = 2, n = 600;
  std::vector<uint16_t> x, out;
  for (float f : random<float>(rows * n, -4, 4)) x.push_back(brain(std::round(f * 16) / 16));
  // Powers of two, so that rounding to 8 bits has the same result whatever the last bits of the root are.
  std::vector<float> w(n);
  for (int i = 0; i < n; ++i) w[i] = std::ldexp(1, i % 5 - 2);
  auto o = zeros<uint16_t>(rows * n);
  launch("rms_norm", {rows, 128, 4096}, buffer(x), buffer(w), o, n, 0.0f, uint64_t(0), uint64_t(0));
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double(wide(x[r * n + i])) * wide(x[r * n + i]);
    for (int i = 0; i < n; ++i) out.push_back(brain(float(wide(x[r * n + i]) * w[i] / std::sqrt(sum / n))));
  }
  expect(o, out);
}
