// printf with all kinds of arguments, failed assertions and traps.
#include "program.h"
#ifdef KERNELS
#include <cassert>
#include <cstdio>
KERNEL formats(int i, long long l, double d, const char *text) {
  printf("%d %i %u %x %X %o %c %%\n", i, -i, i, i, i, i, 'q');
  printf("[%6d] [%-6d] [%06d] [%+d] [% d]\n", i, i, i, i, i);
  printf("%lld %llu %llx %hd %hhd\n", l, l, l, (short)i, (signed char)i);
  printf("%f %.2f %10.3f %-10.1f| %e %.3E %g %G\n", d, d, d, d, d, d, d, d / 1e7);
  printf("%s and %10s and %-8s|%.3s\n", "text", text, text, text);
  printf("%*d %.*f\n", 7, i, 2, d);
  int n = printf("none\n");
  printf("%d %p\n", n, (void *)0x1234);
  printf("%f %f %f\n", 1.0 / 0.0 * d, -d / 0.0, 0.0f);
  printf("%5.1f%c%5.1f%c%s%d%lld\n", d, ',', -d, ';', "x", 1, 2ll);
}
KERNEL from_all() {
  printf("block %d thread (%d, %d)\n", blockIdx.x, threadIdx.x, threadIdx.y);
}
KERNEL divide(const int *in, int *out) {
  assert(in[threadIdx.x] != 0 && "a divisor");
  out[threadIdx.x] = 100 / in[threadIdx.x];
}
KERNEL stop(int *out, int at) {
  out[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == at) __trap();
}
KERNEL beyond(int *out, long long at) { out[at] = 1; }
#else
template <class... T> std::string format(const char *f, T... v) {
  char text[300];
  snprintf(text, sizeof text, f, v...);
  return text;
}
std::vector<char> chars(std::string s) { s.push_back(0); return {s.begin(), s.end()}; }
void program() {
  int i = 1234;
  long long l = -123456789012345;
  double d = 3.14159;
  const char *text = "hello";
  launch("formats", {1, 1}, i, l, d, buffer(chars(text)));
  std::string all;
  all += format("%d %i %u %x %X %o %c %%\n", i, -i, i, i, i, i, 'q');
  all += format("[%6d] [%-6d] [%06d] [%+d] [% d]\n", i, i, i, i, i);
  all += format("%lld %llu %llx %hd %hhd\n", l, l, l, (short)i, (signed char)i);
  all += format("%f %.2f %10.3f %-10.1f| %e %.3E %g %G\n", d, d, d, d, d, d, d, d / 1e7);
  all += format("%s and %10s and %-8s|%.3s\n", "text", text, text, text);
  all += format("%*d %.*f\n", 7, i, 2, d);
  all += "none\n";
  all += format("0 %p\n", (void *)0x1234);
  all += format("inf -inf %f\n", 0.0);
  all += format("%5.1f%c%5.1f%c%s%d%lld\n", d, ',', -d, ';', "x", 1, 2ll);
  expect_output(all);

  std::string lines;
  for (int b = 0; b < 3; ++b)
    for (int t = 0; t < 6; ++t) lines += format("block %d thread (%d, %d)\n", b, t % 3, t / 3);
  launch("from_all", {3, {3, 2}});
  expect_output(lines);

  auto out = zeros<int>(4);
  launch("divide", {1, 4}, buffer(std::vector<int>{1, 3, -7, 100}), out);
  expect(out, std::vector<int>{100, 33, -14, 1});
  expect_error("a divisor");
  launch("divide", {1, 4}, buffer(std::vector<int>{1, 3, 0, 100}), out);
  expect_error("trap");
  launch("stop", {1, 4}, out, 2);
  launch("stop", {1, 4}, out, 7);
  expect_error("out of bounds");
  launch("beyond", {1, 1}, out, 1ll << 40);
}
#endif
