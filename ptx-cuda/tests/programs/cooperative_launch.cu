// A launch whose blocks wait for each other.
#include "check.h"
#include <cooperative_groups.h>

__global__ void shift(int *data, int rounds) {
  auto grid = cooperative_groups::this_grid();
  int rank = grid.thread_rank(), size = grid.size();
  for (int round = 0; round < rounds; round++) {
    int next = data[(rank + 1) % size];
    grid.sync();
    data[rank] = next;
    grid.sync();
  }
}

int main() {
  const int blocks = 5, threads = 64, n = blocks * threads;
  int host[n], *data, rounds = 3, supported;
  OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  EXPECT(supported == 1);
  for (int i = 0; i < n; i++) host[i] = i;
  OK(cudaMalloc(&data, sizeof host));
  OK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
  void *arguments[] = {&data, &rounds};
  OK(cudaLaunchCooperativeKernel((const void *)shift, dim3(blocks), dim3(threads), arguments, 0, 0));
  OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(host[i] == (i + rounds) % n);
}
