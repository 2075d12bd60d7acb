// Fills of memory.
#include "check.h"

int main() {
  unsigned char *p, host[512];
  OK(cudaMalloc(&p, sizeof host));
  OK(cudaMemset(p, 0x1ff, sizeof host));
  OK(cudaMemset2D(p, 32, 0, 10, 16));
  OK(cudaMemsetAsync(p + 100, 7, 3, 0));
  OK(cudaMemset2DAsync(p + 256, 64, 9, 1, 4, 0));
  OK(cudaMemset(p, 0, 0));
  OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 512; i++) {
    int expected = i % 32 < 10 ? 0 : 255;
    if (i >= 100 && i < 103) expected = 7;
    if (i >= 256 && i % 64 == 0) expected = 9;
    EXPECT(host[i] == expected);
  }
  EXPECT_STATUS(cudaMemset(p, 0, 513), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemset(host, 0, 1), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemset(nullptr, 0, 1), cudaErrorInvalidValue);
}
