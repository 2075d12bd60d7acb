// A kernel of ../../../examples/rust-gpu, which rustc compiled: an index that is checked.
#include "program.h"
void program() {
  for (const char *of : {"70", "80", "90"}) module_file((std::string("rust/follow_in_rows.rustc196.sm_") + of + ".ptx").c_str());
  const unsigned rows = 40, width = 5;
  auto x = random_words<uint32_t>(rows * width);
  std::vector<uint32_t> followed;
  for (unsigned r = 0; r < rows; ++r) {
    x[r * width] %= width;
    followed.push_back(x[r * width + x[r * width]]);
  }
  auto o = zeros<uint32_t>(rows);
  launch("follow_in_rows", {2, 32}, buffer(x), width, rows, o);
  expect(o, followed);
  x[7] = width;
  expect_error("`trap` was executed");
  launch("follow_in_rows", {2, 32}, buffer(std::vector<uint32_t>(rows * width, 99)), width, rows, o);
}
