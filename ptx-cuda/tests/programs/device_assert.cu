// A failed assertion of a kernel.
#include "check.h"
#include <cassert>

__global__ void kernel(int limit) { assert(threadIdx.x < limit); }

int main() {
  kernel<<<1, 32>>>(32);
  OK(cudaDeviceSynchronize());
  kernel<<<1, 32>>>(30);
  EXPECT_STATUS(cudaDeviceSynchronize(), cudaErrorAssert);
  EXPECT_STATUS(cudaGetLastError(), cudaErrorAssert);
}
