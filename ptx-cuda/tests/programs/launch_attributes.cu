// Launches with attributes.
#include "check.h"
#include <cooperative_groups.h>

__global__ void kernel(int *result, int add) {
  cooperative_groups::this_grid().sync();
  atomicAdd(result, add);
}

int main() {
  int *result, host = 0;
  OK(cudaMalloc(&result, 4));
  OK(cudaMemset(result, 0, 4));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(4);
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cudaLaunchKernelEx(&config, kernel, result, 2));
  OK(cudaMemcpy(&host, result, 4, cudaMemcpyDeviceToHost));
  EXPECT(host == 4 * 32 * 2);
  config.blockDim = dim3(4096);
  EXPECT_STATUS(cudaLaunchKernelEx(&config, kernel, result, 2), cudaErrorInvalidConfiguration);
}
