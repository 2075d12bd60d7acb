// The error of a kernel stays until the device is reset.
#include "check.h"

__global__ void store(int *p) { *p = 1; }

int main() {
  int *p, *q;
  OK(cudaMalloc(&p, 4));
  store<<<1, 1>>>((int *)16);
  EXPECT_STATUS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_STATUS(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_STATUS(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_STATUS(cudaMalloc(&q, 4), cudaErrorIllegalAddress);
  store<<<1, 1>>>(p);
  EXPECT_STATUS(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  OK(cudaDeviceReset());
  OK((cudaGetLastError(), cudaGetLastError()));
  OK(cudaMalloc(&q, 4));
  store<<<1, 1>>>(q);
  OK(cudaDeviceSynchronize());
}
