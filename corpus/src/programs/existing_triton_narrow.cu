// Kernels of ../triton/kernels.py: conversions to e5m2, bfloat16 and bytes, and back.
#include "program.h"
float rounded(float f, int bits) {
  uint32_t u;
  memcpy(&u, &f, 4);
  uint32_t half = uint32_t(1) << (22 - bits), low = (u >> (23 - bits)) & 1;
  u = (u + half - 1 + low) & ~(2 * half - 1);
  memcpy(&f, &u, 4);
  return f;
}
void program() {
  for (const char *of : {"80", "90", "121"}) module_file((std::string("triton/narrow.sm_") + of + ".ptx").c_str());
  const int n = 128;
  auto x = random<float>(n, -100, 100);
  std::vector<float> both = x, sum;
  std::vector<uint8_t> e5m2;
  std::vector<uint16_t> brain;
  std::vector<int8_t> bytes;
  for (float f : x) {
    uint32_t u;
    float b = rounded(f, 7), e = rounded(f, 2);
    memcpy(&u, &b, 4);
    brain.push_back(u >> 16);
    _Float16 h = _Float16(e);
    uint16_t bits;
    memcpy(&bits, &h, 2);
    e5m2.push_back(bits >> 8);
    bytes.push_back(int8_t(f));
    both.push_back(b + e);
  }
  x.resize(2 * n);
  auto io = buffer(x), a = zeros<uint8_t>(n), b = zeros<uint16_t>(n), c = zeros<int8_t>(n);
  launch("narrow", {1, 128}, io, a, b, c, uint64_t(0), uint64_t(0));
  expect(a, e5m2);
  expect(b, brain);
  expect(c, bytes);
  expect(io, both);
}
