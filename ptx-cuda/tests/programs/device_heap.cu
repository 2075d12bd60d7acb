// The heap of kernels, and limits.
#include "check.h"

__device__ int *pointers[32];

__global__ void allocate() {
  int *p = (int *)malloc(64);
  *p = threadIdx.x;
  pointers[threadIdx.x] = p;
}

__global__ void collect(int *sum) {
  atomicAdd(sum, *pointers[threadIdx.x]);
  free(pointers[threadIdx.x]);
}

int main() {
  size_t bytes = 0;
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
  OK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
  EXPECT(bytes >= 1 << 20);
  OK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT(bytes >= 1024);
  EXPECT_STATUS(cudaDeviceGetLimit(&bytes, (cudaLimit)99), cudaErrorUnsupportedLimit);
  int *sum, host = 0;
  OK(cudaMalloc(&sum, 4));
  OK(cudaMemset(sum, 0, 4));
  allocate<<<1, 32>>>();
  collect<<<1, 32>>>(sum);
  OK(cudaMemcpy(&host, sum, 4, cudaMemcpyDeviceToHost));
  EXPECT(host == 31 * 32 / 2);
}
