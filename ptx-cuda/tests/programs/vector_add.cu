// Allocations, copies and a launch.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 1000;
  float host[n], *a, *b, *c;
  OK(cudaMalloc(&a, sizeof host));
  OK(cudaMalloc(&b, sizeof host));
  OK(cudaMalloc(&c, sizeof host));
  for (int i = 0; i < n; i++) host[i] = i;
  OK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice));
  add<<<(n + 127) / 128, 128>>>(a, b, c, n);
  OK(cudaGetLastError());
  OK(cudaMemcpy(host, c, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(host[i] == 2 * i);
  OK(cudaFree(a));
  OK(cudaFree(b));
  OK(cudaFree(c));
  OK(cudaFree(nullptr));
  EXPECT_STATUS(cudaFree(a), cudaErrorInvalidValue);
}
