// After a reset, code is loaded again with the initial values of its variables.
#include "check.h"

__device__ int counter = 5;

__global__ void increment(int *result) { *result = ++counter; }

static int run() {
  int *result, host = 0;
  OK(cudaMalloc(&result, 4));
  increment<<<1, 1>>>(result);
  OK(cudaMemcpy(&host, result, 4, cudaMemcpyDeviceToHost));
  return host;
}

int main() {
  EXPECT(run() == 6);
  EXPECT(run() == 7);
  int *kept;
  OK(cudaMalloc(&kept, 1 << 20));
  OK(cudaDeviceReset());
  EXPECT(run() == 6);
  size_t free_bytes, total_bytes;
  OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT(total_bytes - free_bytes < 1 << 20);
  OK(cudaDeviceReset());
}
