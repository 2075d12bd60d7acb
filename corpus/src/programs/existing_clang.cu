// Kernels of ../llvm/kernels.c, which clang compiled.
#include "program.h"
void program() {
  for (const char *of : {"O2.sm_52.ptx63", "O0.sm_70.ptx70", "O1.sm_86.ptx81", "O3.sm_121a.ptx90", "g.sm_80.ptx80", "lines.sm_90.ptx84"})
    module_file((std::string("llvm/kernels.clang22.") + of + ".ptx").c_str());
  auto f = random<float>(80, -9, 9);
  auto b = buffer(f);
  launch("scale", {3, 32}, b, 0.5f, 70);
  for (int i = 0; i < 70; ++i) f[i] *= 0.5f;
  expect(b, f);
  auto v = random<int>(256, -999, 999);
  auto r = buffer(v);
  launch("reverse", {1, 256}, r);
  std::reverse(v.begin(), v.end());
  expect(r, v);
  struct Point { int x; double y; char tag[5]; short z; } p = {}, q = {};
  p.x = 5, p.y = 1.5, p.z = 9;
  auto bp = zeros<Point>(1);
  launch("points", {1, 1}, bp, p);
  q.x = 8, q.y = 4.5, q.tag[1] = 3, q.z = 8;
  expect(bp, std::vector<Point>{q});
  std::function<double(double, int)> series = [&](double x, int n) {
    const double roots[] = {1.0, 1.4142135623730951, 1.7320508075688772, 2.0};
    return n < 2 ? x : series(x * 0.5, n - 1) + series(x, n - 2) * roots[n & 3];
  };
  auto s = buffer(std::vector<double>{0, 3.25, 0});
  launch("sums", {1, 1}, s, 7);
  expect(s, std::vector<double>{series(3.25, 7), 3.25, "hello, \"ptx\"\n"[7] + 0.0}, relative(1e-14));
  expect_variable("total", std::vector<int>{19});
  for (int k = 0; k < 2; ++k) {
    auto o = buffer(std::vector<int>{0, 14});
    launch("pick", {1, 1}, o, k);
    expect(o, std::vector<int>{k ? 42 : 15});
  }
  for (int k = 0; k < 8; ++k) {
    std::vector<int> in{0, 1, 22, 333, 4444, 55555, 666666, 7777777};
    auto o = buffer(in);
    launch("interpret", {1, 1}, o, k);
    int results[] = {1, 154, 37, 4444 ^ 55555, 666666 << 3, 55553, 0, -1};
    expect(o, std::vector<int>{results[k]});
  }
  auto w = random_words<uint64_t>(8), n = random_words<uint64_t>(6);
  auto bw = buffer(w), bn = buffer(n);
  launch("wide", {1, 1}, bw, bn);
  auto wide = [&](int i) { return (unsigned __int128)(w[2 * i + 1]) << 64 | w[2 * i]; };
  unsigned __int128 product = wide(1) * wide(2) + (wide(3) >> 5);
  expect(bw, std::vector<uint64_t>{uint64_t(product), uint64_t(product >> 64)});
  expect(bn, std::vector<uint64_t>{n[1] / n[2] + n[3] % 11 + __builtin_popcountll(n[4]) + __builtin_ctzll(n[5])});
  auto x = random<float>(4 * 8, -4, 4);
  auto bx = buffer(x);
  launch("swizzle", {2, 4}, bx);
  auto y = x;
  for (int i = 0; i < 8; ++i) {
    const float *o = &x[4 * i], to[] = {o[3] * o[0] + 0.5f, o[0] * o[0] + 0.5f, o[1] * o[1] + 0.5f, o[2] * o[1] + 0.5f};
    std::copy(to, to + 4, y.begin() + 4 * i);
  }
  expect(bx, y, absolute(1e-5));
  auto bins = buffer(std::vector<int>{5, 6, 3, 0}), most = buffer(std::vector<uint64_t>{4});
  launch("bins", {1, 1}, bins, most);
  expect(bins, std::vector<int>{6, 2, 4, 3});
  expect(most, std::vector<uint64_t>{9});
  auto a = random<int>(24, -99, 99);
  auto ba = buffer(a);
  launch("private_array", {1, 1}, ba, 45);
  expect(ba, std::vector<int>{a[45 % 24] - a[(45 >> 3) % 24]});
}
