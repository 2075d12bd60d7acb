// Kernels of ../triton/kernels.py: an activation with a bias, in halves.
#include "program.h"
void program() {
  for (const char *of : {"75", "90", "120"}) module_file((std::string("triton/gelu_bias.sm_") + of + ".ptx").c_str());
  const int n = 1000, width = 48;
  std::vector<_Float16> x, b;
  for (float f : random<float>(n, -4, 4)) x.push_back(_Float16(f));
  for (float f : random<float>(width, -1, 1)) b.push_back(_Float16(f));
  std::vector<float> y;
  for (int i = 0; i < n; ++i) {
    float v = float(x[i]) + float(b[i % width]);
    y.push_back(0.5f * v * (1 + std::erf(v * 0.70710678f)));
  }
  auto o = zeros<_Float16>(n);
  launch("gelu_bias", {2, 128}, buffer(x), buffer(b), o, n, width, uint64_t(0), uint64_t(0));
  expect(o, std::vector<_Float16>(y.begin(), y.end()), absolute(0.003));
}
