// Kernels of ../../../examples/rust-gpu, which rustc compiled: sums of products of neighbours in rows, and an index that is checked.
#include "program.h"
void program() {
  for (const char *of : {"70", "80", "90"}) module_file((std::string("rust/neighbours_in_rows.rustc196.sm_") + of + ".ptx").c_str());
  const unsigned rows = 50, width = 9;
  auto x = random_words<uint32_t>(rows * width);
  std::vector<uint32_t> sums(rows);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned i = 0; i + 1 < width; ++i) sums[r] += x[r * width + i] * x[r * width + i + 1];
  auto o = zeros<uint32_t>(rows);
  launch("neighbours_in_rows", {2, 32}, buffer(x), width, rows, o);
  expect(o, sums);
}
