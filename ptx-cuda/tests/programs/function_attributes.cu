// Attributes of kernels, and more dynamic shared memory than without an attribute.
#include "check.h"

__global__ void kernel(int *result, int last) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[16];
  fixed[threadIdx.x % 16] = threadIdx.x % 16;
  dynamic[last] = 77;
  __syncthreads();
  *result = dynamic[last] + fixed[*result];
}

int main() {
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, kernel));
  EXPECT(attributes.sharedSizeBytes == 64);
  EXPECT(attributes.maxThreadsPerBlock == 1024);
  EXPECT(attributes.maxDynamicSharedSizeBytes == 48 * 1024 - 64);
  EXPECT(attributes.numRegs > 0 && attributes.ptxVersion == 80);
  int *result, host = 0, bytes = 96 * 1024;
  OK(cudaMalloc(&result, 4));
  OK(cudaMemset(result, 0, 4));
  kernel<<<1, 32, bytes>>>(result, bytes / 4 - 1);
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  OK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  kernel<<<1, 32, bytes>>>(result, bytes / 4 - 1);
  OK(cudaMemcpy(&host, result, 4, cudaMemcpyDeviceToHost));
  EXPECT(host == 77);
  EXPECT_STATUS(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
                cudaErrorInvalidValue);
  OK(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
  const char *name = nullptr;
  OK(cudaFuncGetName(&name, (const void *)kernel));
  EXPECT(std::strstr(name, "kernel") != nullptr);
  size_t offset = 0, size = 0;
  OK(cudaFuncGetParamInfo((const void *)kernel, 1, &offset, &size));
  EXPECT(offset == 8 && size == 4);
}
