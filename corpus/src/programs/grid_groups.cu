// A cooperative launch: all blocks of the grid meet, several times.
// nvcc: -arch=sm_80
#include "program.h"
#ifdef KERNELS
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
KERNEL levels(const int *in, int *partial, int *out, int n) {
  auto grid = cg::this_grid();
  int sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
  atomicAdd(&partial[blockIdx.x], sum);
  grid.sync();
  if (grid.thread_rank() == 0)
    for (int i = 1; i < gridDim.x; ++i) partial[0] += partial[i];
  grid.sync();
  out[grid.thread_rank()] = partial[0] + blockIdx.x;
}
#else
void program() {
  auto in = random<int>(300, -99, 99);
  int sum = std::accumulate(in.begin(), in.end(), 0);
  std::vector<int> out;
  for (int i = 0; i < 128; ++i) out.push_back(sum + i / 32);
  auto b = zeros<int>(128);
  launch("levels", {4, 32}, buffer(in), zeros<int>(4), b, 300);
  expect(b, out);
}
#endif
