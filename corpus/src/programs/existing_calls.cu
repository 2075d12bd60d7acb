// Kernels of ../cuda/calls.cu: recursion, virtual functions, tables of functions, variable arguments, an interpreter, printf.
#include "program.h"
void program() {
  for (const char *of : {"O3.sm_75", "O3.sm_90", "O3.sm_120", "G.sm_89", "rdc.sm_103"})
    module_file((std::string("nvcc/calls.") + of + ".ptx").c_str());
  auto r = buffer(std::vector<unsigned>{0, 2, 3, 6});
  launch("_Z9recursionPj", {1, 1}, r);
  expect(r, std::vector<unsigned>{10});
  for (int kind = 0; kind < 2; ++kind) {
    auto o = zeros<int>(1), f = buffer(std::vector<float>{2.5f, 0, 4});
    launch("_Z3zooPiPfi", {1, 1}, o, f, kind);
    expect(o, std::vector<int>{kind ? 2 : 4});
    expect(f + 4, std::vector<float>{kind ? 10.0f : 12.0f});
  }
  for (int k = 0; k < 3; ++k) {
    auto o = buffer(std::vector<int>{0, 20, 3, 0, 5});
    launch("_Z5tablePii", {1, 1}, o, k);
    expect(o, std::vector<int>{k == 0 ? 23 : k == 1 ? 17 : 60, 20, 3, k & 1 ? 5 * 2 + 'm' : 5 + 2 + 'a', 5});
  }
  auto v = buffer(std::vector<int>{0, 10, 20, 30});
  launch("_Z8variadicPi", {1, 1}, v);
  expect(v, std::vector<int>{62});
  auto h = buffer(std::vector<int>{0, 41});
  launch("uses_hook", {1, 1}, h);
  expect(h, std::vector<int>{41});

  std::vector<uint8_t> code{0, 12, 3, 1, 2, 3, 0, 4, 8, 7, 9, 13};
  std::vector<int> regs{9, 4, 5, 6, 7, 8, 1, 2};
  auto m = buffer(regs);
  launch("_Z7machinePKhPii", {1, 1}, buffer(code), m, 40);
  int a = 9, b = 4;
  a += b, a += b, std::swap(a, b), a -= b, a ^= b, std::swap(a, b), a += b, a <<= b & 31, a = __builtin_popcount(a);
  regs[b & 7] = a, b = a / (b | 1), regs[0] = a, regs[1] = b;
  expect(m, regs);
  auto t = buffer(std::vector<int>{-3, 5, 7, 2, 0, 0});
  std::string who = "corpus";
  launch("_Z4talkPiPKc", {1, 1}, t, buffer(std::vector<char>(who.c_str(), who.c_str() + 7)));
  expect_output("thread 0 of corpus: -3, 5, 3.500000, x\nno arguments\n");
  expect(t + 16, std::vector<int>{7, 0});
}
